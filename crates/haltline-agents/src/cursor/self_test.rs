//! The self-test in Cursor's format, for `haltline doctor`. Nothing ends this client: the last round is a denial too.

use serde_json::Value;

use crate::self_test::{AnswerEffect, DENIED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "sessionStart",
    round: &[
        SelfTestStep::new("preToolUse", &[CALL]).even_when_denied(&[]),
        SelfTestStep::new(
            "postToolUse",
            &[
                CALL,
                // The client sends the output as JSON inside a string.
                r#"{"tool_output":
                    "{\"exitCode\":1,\"stdout\":\"\",\"stderr\":\"haltline-rehearsal: failed as it should\\n\"}"}"#,
            ],
        ),
    ],
    expected: DENIED,
    envelope: r#"{"conversation_id": "$session", "generation_id": "self-test", "model": "self-test",
        "hook_event_name": "$event", "cursor_version": "self-test", "workspace_roots": ["$folder"],
        "user_email": null, "transcript_path": null}"#,
    first_adds: "{}",
    effect_of_answer,
};

const CALL: &str = r#"{"tool_name": "Shell", "tool_input": {"command": "haltline-rehearsal --fail"},
    "tool_use_id": "call_$session_$round", "cwd": "$folder"}"#;

/// The effect that the client gives an answer.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let waits = matches!(event, "preToolUse" | "subagentStart" | "beforeSubmitPrompt");
    if waits && answer.is_null() {
        return Err(format!("haltline answered {event} with nothing"));
    }
    Ok(match event {
        "preToolUse" | "subagentStart" if answer["permission"] == "deny" && has_text(&answer["agent_message"]) => {
            AnswerEffect::Deny
        }
        "preToolUse" | "subagentStart" if !answer["permission"].is_null() => {
            return Err(format!("{event} was answered with {}", answer["permission"]));
        }
        "beforeSubmitPrompt" if answer["continue"] == false => AnswerEffect::Deny,
        "postToolUse" | "sessionStart" if has_text(&answer["additional_context"]) => AnswerEffect::Warn,
        _other => AnswerEffect::Pass,
    })
}
