//! The self-test in Qwen Code's format, for `haltline doctor`. The answer to the agent's next request ends the agent.

use serde_json::Value;

use crate::self_test::{AnswerEffect, ENDED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "SessionStart",
    round: &[
        SelfTestStep::new("PreToolUse", &[CALL]).even_when_denied(&[]),
        SelfTestStep::new(
            "PostToolUse",
            &[
                CALL,
                r#"{"tool_response": {
                    "llmContent": "Command: haltline-rehearsal --fail\nDirectory: (root)\nOutput: failed as it should\nError: (none)\nExit Code: 1\nSignal: 0\nProcess Group PGID: 1",
                    "returnDisplay": "failed as it should"}}"#,
            ],
        ),
        SelfTestStep::new("UserPromptSubmit", &[r#"{"prompt": ""}"#]).even_when_denied(&[]),
    ],
    expected: ENDED,
    envelope: r#"{"session_id": "$session", "transcript_path": "", "cwd": "$folder", "hook_event_name": "$event",
        "timestamp": "2026-01-01T00:00:00.000Z", "permission_mode": "default"}"#,
    first_adds: r#"{"source": "startup", "model": "self-test"}"#,
    effect_of_answer,
};

const CALL: &str = r#"{"tool_name": "run_shell_command", "tool_input": {"command": "haltline-rehearsal --fail"},
    "tool_use_id": "toolu_$session_$round"}"#;

/// The effect that the client gives an answer; an error if the client would show the answer to the person and continue.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let special = &answer["hookSpecificOutput"];
    Ok(match event {
        "PreToolUse" if special["permissionDecision"] == "deny" => {
            let has_reason = has_text(&special["permissionDecisionReason"]);
            return if has_reason { Ok(AnswerEffect::Deny) } else { Err("the denial has no reason".to_owned()) };
        }
        "PreToolUse" | "Stop" => AnswerEffect::Pass,
        "UserPromptSubmit" if answer["decision"] == "block" => AnswerEffect::Stop,
        _other if has_text(&special["additionalContext"]) => AnswerEffect::Warn,
        _other => AnswerEffect::Pass,
    })
}
