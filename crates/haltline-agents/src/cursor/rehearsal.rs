//! A loop in Cursor's words, for `haltline doctor`. Nothing ends this client: the last round is a refusal too.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "sessionStart",
    round: &[
        Beat { event: "preToolUse", comes_when_denied: true },
        Beat { event: "postToolUse", comes_when_denied: false },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Deny],
    payload,
    read_answer,
};

fn payload(told: &Told<'_>) -> Value {
    let Told { event, session, folder, round, .. } = *told;
    let mut payload = json!({
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
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    payload
}

/// What an answer does, as the client takes it.
fn read_answer(event: &str, out: &str) -> Result<Answer, String> {
    let waits = matches!(event, "preToolUse" | "subagentStart" | "beforeSubmitPrompt");
    if out.trim().is_empty() {
        return if waits { Err(format!("{event} was answered with nothing")) } else { Ok(Answer::Pass) };
    }
    let answer: Value =
        serde_json::from_str(out).map_err(|error| format!("{event} was answered with what is not JSON ({error})"))?;
    let says = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    Ok(match event {
        "preToolUse" | "subagentStart" if answer["permission"] == "deny" && says(&answer["agent_message"]) => {
            Answer::Deny
        }
        "preToolUse" | "subagentStart" if !answer["permission"].is_null() => {
            return Err(format!("{event} was answered with {}", answer["permission"]));
        }
        "beforeSubmitPrompt" if answer["continue"] == false => Answer::Deny,
        "postToolUse" | "sessionStart" if says(&answer["additional_context"]) => Answer::Warn,
        _other => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_permission_is_waited_for_silence_is_no_answer() {
        assert!(read_answer("preToolUse", "").is_err());
        assert_eq!(read_answer("preToolUse", "{}"), Ok(Answer::Pass));
        assert_eq!(read_answer("postToolUse", ""), Ok(Answer::Pass));
        assert!(read_answer("preToolUse", r#"{"permission":"allow"}"#).is_err());
        let denial = r#"{"permission":"deny","user_message":"x","agent_message":"y"}"#;
        assert_eq!(read_answer("preToolUse", denial), Ok(Answer::Deny));
        assert_eq!(read_answer("postToolUse", r#"{"additional_context":"x"}"#), Ok(Answer::Warn));
    }
}
