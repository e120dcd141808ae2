//! The self-test in Copilot CLI's format, for `haltline doctor`. No answer ends this client: the last round is a denial
//! too, and the self-test interrupts no process.

use serde_json::Value;

use crate::self_test::{AnswerEffect, DENIED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "SessionStart",
    round: &[
        SelfTestStep::new("PreToolUse", &[CALL]).even_when_denied(&[]),
        SelfTestStep::new(
            "PostToolUse",
            &[
                CALL,
                r#"{"tool_result": {"result_type": "success", "text_result_for_llm":
                    "haltline-rehearsal: failed as it should\n<shellId: 0 completed with exit code 1>"}}"#,
            ],
        ),
    ],
    expected: DENIED,
    // The timestamp distinguishes a call from the previous one.
    envelope: r#"{"hook_event_name": "$event", "session_id": "$session", "timestamp": "2026-01-01T00:00:0$round.000Z",
        "cwd": "$folder"}"#,
    first_adds: r#"{"source": "new"}"#,
    effect_of_answer,
};

const CALL: &str = r#"{"tool_name": "Bash", "tool_input": {"command": "haltline-rehearsal --fail",
    "description": "rehearse"}}"#;

/// The effect that the client gives an answer; an error if the client would not read the answer.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let (flat, nested) = (&answer["additionalContext"], &answer["hookSpecificOutput"]["additionalContext"]);
    Ok(match event {
        "PreToolUse" if answer["permissionDecision"] == "deny" => {
            let has_reason = has_text(&answer["permissionDecisionReason"]);
            return if has_reason { Ok(AnswerEffect::Deny) } else { Err("the denial has no reason".to_owned()) };
        }
        "PreToolUse" if has_text(flat) => {
            return Err("haltline answered PreToolUse in a place where the client does not look".to_owned());
        }
        "PreToolUse" if has_text(nested) => AnswerEffect::Warn,
        "UserPromptSubmit" if answer["decision"] == "block" => AnswerEffect::Deny,
        "PreToolUse" => AnswerEffect::Pass,
        _other if has_text(flat) => AnswerEffect::Warn,
        _other => AnswerEffect::Pass,
    })
}
