//! The self-test in Codex's format, for `haltline doctor`. No answer ends this client: the last round is a denial too,
//! and the self-test interrupts no process.

use serde_json::Value;

use crate::self_test::{AnswerEffect, DENIED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "SessionStart",
    round: &[
        SelfTestStep::new("PreToolUse", &[CALL]).even_when_denied(&[]),
        SelfTestStep::new("PostToolUse", &[CALL, r#"{"tool_response": "haltline-rehearsal: failed as it should\n"}"#]),
    ],
    expected: DENIED,
    envelope: r#"{"session_id": "$session", "transcript_path": null, "cwd": "$folder", "hook_event_name": "$event",
        "model": "self-test", "permission_mode": "default"}"#,
    first_adds: r#"{"source": "startup"}"#,
    effect_of_answer,
};

const CALL: &str = r#"{"tool_name": "Bash", "tool_input": {"command": "haltline-rehearsal --fail"},
    "tool_use_id": "call_$session_$round"}"#;

/// The effect that the client gives an answer; an error if the client would discard the answer.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let special = &answer["hookSpecificOutput"];
    if !special.is_null() && special["hookEventName"] != event {
        return Err(format!("{event} was answered for {}", special["hookEventName"]));
    }
    if event == "PreToolUse" {
        for field in ["continue", "stopReason", "suppressOutput"] {
            if !answer[field].is_null() {
                return Err(format!("haltline answered PreToolUse with {field}, so the client ignores the answer"));
            }
        }
    }
    if special["permissionDecision"] == "deny" {
        let has_reason = has_text(&special["permissionDecisionReason"]);
        return if has_reason {
            Ok(AnswerEffect::Deny)
        } else {
            Err("the client ignores a denial without a reason".to_owned())
        };
    }
    let is_stopped = answer["continue"] == false && event != "PostToolUse";
    Ok(match event {
        _any if is_stopped => AnswerEffect::Stop,
        "UserPromptSubmit" if answer["decision"] == "block" => AnswerEffect::Deny,
        _other if has_text(&special["additionalContext"]) => AnswerEffect::Warn,
        _other => AnswerEffect::Pass,
    })
}
