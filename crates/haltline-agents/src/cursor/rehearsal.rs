//! A loop in Cursor's words, for `haltline doctor`. Nothing ends this client: the last round is a refusal too.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told, is_said};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "sessionStart",
    round: &[
        Beat { event: "preToolUse", comes_when_denied: true },
        Beat { event: "postToolUse", comes_when_denied: false },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Deny],
    says,
    takes,
};

fn says(told: &Told<'_>) -> Vec<Value> {
    let Told { event, session, folder, round, .. } = *told;
    let always = json!({
        "conversation_id": session,
        "generation_id": "rehearsal",
        "model": "rehearsal",
        "hook_event_name": event,
        "cursor_version": "rehearsal",
        "workspace_roots": [folder],
        "user_email": null,
        "transcript_path": null,
    });
    let call = json!({
        "tool_name": "Shell",
        "tool_input": { "command": "haltline-rehearsal --fail" },
        "tool_use_id": format!("call_{session}_{round}"),
        "cwd": folder,
    });
    let output = json!({ "exitCode": 1, "stdout": "", "stderr": "haltline-rehearsal: failed as it should\n" });
    let more = match event {
        "preToolUse" => call,
        "postToolUse" => {
            let mut call = call;
            call["tool_output"] = json!(output.to_string());
            call
        }
        _other => json!({}),
    };
    vec![always, more]
}

/// What an answer does, as the client takes it.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let waits = matches!(event, "preToolUse" | "subagentStart" | "beforeSubmitPrompt");
    if waits && answer.is_null() {
        return Err(format!("{event} was answered with nothing"));
    }
    Ok(match event {
        "preToolUse" | "subagentStart" if answer["permission"] == "deny" && is_said(&answer["agent_message"]) => {
            Answer::Deny
        }
        "preToolUse" | "subagentStart" if !answer["permission"].is_null() => {
            return Err(format!("{event} was answered with {}", answer["permission"]));
        }
        "beforeSubmitPrompt" if answer["continue"] == false => Answer::Deny,
        "postToolUse" | "sessionStart" if is_said(&answer["additional_context"]) => Answer::Warn,
        _other => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_permission_is_waited_for_silence_is_no_answer() {
        assert!(REHEARSAL.read_answer("preToolUse", "").is_err());
        assert_eq!(REHEARSAL.read_answer("preToolUse", "{}"), Ok(Answer::Pass));
        assert_eq!(REHEARSAL.read_answer("postToolUse", ""), Ok(Answer::Pass));
        assert!(REHEARSAL.read_answer("preToolUse", r#"{"permission":"allow"}"#).is_err());
        let denial = r#"{"permission":"deny","user_message":"x","agent_message":"y"}"#;
        assert_eq!(REHEARSAL.read_answer("preToolUse", denial), Ok(Answer::Deny));
        assert_eq!(REHEARSAL.read_answer("postToolUse", r#"{"additional_context":"x"}"#), Ok(Answer::Warn));
    }
}
