//! A loop in Gemini CLI's words, for `haltline doctor`.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told, is_said};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "SessionStart",
    round: &[
        Beat { event: "BeforeModel", comes_when_denied: true },
        Beat { event: "BeforeTool", comes_when_denied: true },
        Beat { event: "AfterTool", comes_when_denied: false },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Stop],
    says,
    takes,
};

fn says(told: &Told<'_>) -> Vec<Value> {
    let Told { event, session, folder, .. } = *told;
    let always = json!({
        "session_id": session,
        "transcript_path": "",
        "cwd": folder,
        "hook_event_name": event,
        "timestamp": "2026-01-01T00:00:00.000Z",
    });
    let input = json!({ "command": "haltline-rehearsal --fail" });
    let more = match event {
        "SessionStart" => json!({ "source": "startup" }),
        "BeforeModel" => json!({ "llm_request": { "model": "rehearsal", "messages": [], "config": {} } }),
        "BeforeTool" => json!({ "tool_name": "run_shell_command", "tool_input": input }),
        "AfterTool" => json!({
            "tool_name": "run_shell_command", "tool_input": input,
            "tool_response": {
                "llmContent": "Output: haltline-rehearsal: failed as it should\nExit Code: 1\nProcess Group PGID: 1",
                "returnDisplay": "haltline-rehearsal: failed as it should",
            },
        }),
        _other => json!({}),
    };
    vec![always, more]
}

/// What an answer does, as the client takes it; an error where the client would show it to the person and go on.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let is_denied = matches!(answer["decision"].as_str(), Some("deny" | "block"));
    if is_denied && !is_said(&answer["reason"]) {
        return Err(format!("{event} was refused without a reason"));
    }
    Ok(match event {
        "SessionStart" | "SessionEnd" => Answer::Pass,
        _any if answer["continue"] == false => Answer::Stop,
        "BeforeModel" if is_denied => Answer::Stop,
        "BeforeTool" | "BeforeAgent" | "AfterTool" if is_denied => Answer::Deny,
        "BeforeAgent" | "AfterTool" if is_said(&answer["hookSpecificOutput"]["additionalContext"]) => Answer::Warn,
        _other => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_the_client_takes_them() {
        let told = r#"{"hookSpecificOutput":{"additionalContext":"x"}}"#;
        assert_eq!(REHEARSAL.read_answer("AfterTool", told), Ok(Answer::Warn));
        assert_eq!(
            REHEARSAL.read_answer("BeforeTool", told),
            Ok(Answer::Pass),
            "before a call the model is told nothing"
        );
        assert_eq!(REHEARSAL.read_answer("BeforeTool", r#"{"decision":"deny","reason":"x"}"#), Ok(Answer::Deny));
        assert_eq!(
            REHEARSAL.read_answer("BeforeTool", r#"{"decision":"deny","continue":false,"reason":"x"}"#),
            Ok(Answer::Stop)
        );
        assert!(REHEARSAL.read_answer("BeforeTool", r#"{"decision":"deny"}"#).is_err());
        assert!(REHEARSAL.read_answer("BeforeTool", "panicked").is_err());
    }
}
