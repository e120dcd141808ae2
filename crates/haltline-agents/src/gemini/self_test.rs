//! The self-test in Gemini CLI's format, for `haltline doctor`.

use serde_json::Value;

use crate::self_test::{AnswerEffect, ENDED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "SessionStart",
    round: &[
        SelfTestStep::new("BeforeModel", &[r#"{"llm_request": {"model": "self-test", "messages": [], "config": {}}}"#])
            .even_when_denied(&[]),
        SelfTestStep::new("BeforeTool", &[CALL]).even_when_denied(&[]),
        SelfTestStep::new(
            "AfterTool",
            &[
                CALL,
                r#"{"tool_response": {
                    "llmContent": "Output: haltline-rehearsal: failed as it should\nExit Code: 1\nProcess Group PGID: 1",
                    "returnDisplay": "haltline-rehearsal: failed as it should"}}"#,
            ],
        ),
    ],
    expected: ENDED,
    envelope: r#"{"session_id": "$session", "transcript_path": "", "cwd": "$folder", "hook_event_name": "$event",
        "timestamp": "2026-01-01T00:00:00.000Z"}"#,
    first_adds: r#"{"source": "startup"}"#,
    effect_of_answer,
};

const CALL: &str = r#"{"tool_name": "run_shell_command", "tool_input": {"command": "haltline-rehearsal --fail"}}"#;

/// The effect that the client gives an answer; an error if the client would show the answer to the person and continue.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let is_denied = matches!(answer["decision"].as_str(), Some("deny" | "block"));
    if is_denied && !has_text(&answer["reason"]) {
        return Err(format!("the denial of {event} has no reason"));
    }
    Ok(match event {
        "SessionStart" | "SessionEnd" => AnswerEffect::Pass,
        _any if answer["continue"] == false => AnswerEffect::Stop,
        "BeforeModel" if is_denied => AnswerEffect::Stop,
        "BeforeTool" | "BeforeAgent" | "AfterTool" if is_denied => AnswerEffect::Deny,
        "BeforeAgent" | "AfterTool" if has_text(&answer["hookSpecificOutput"]["additionalContext"]) => {
            AnswerEffect::Warn
        }
        _other => AnswerEffect::Pass,
    })
}
