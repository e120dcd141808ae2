//! A loop in Qwen Code's words, for `haltline doctor`. What ends the agent is the answer to its next request.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told, is_said};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "SessionStart",
    round: &[
        Beat { event: "PreToolUse", comes_when_denied: true },
        Beat { event: "PostToolUse", comes_when_denied: false },
        Beat { event: "UserPromptSubmit", comes_when_denied: true },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Stop],
    says,
    takes,
};

fn says(told: &Told<'_>) -> Vec<Value> {
    let Told { event, session, folder, round, .. } = *told;
    let always = json!({
        "session_id": session,
        "transcript_path": "",
        "cwd": folder,
        "hook_event_name": event,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "permission_mode": "default",
    });
    let input = json!({ "command": "haltline-rehearsal --fail" });
    let call = format!("toolu_{session}_{round}");
    let more = match event {
        "SessionStart" => json!({ "source": "startup", "model": "rehearsal" }),
        "UserPromptSubmit" => json!({ "prompt": "" }),
        "PreToolUse" => json!({ "tool_name": "run_shell_command", "tool_input": input, "tool_use_id": call }),
        "PostToolUse" => json!({
            "tool_name": "run_shell_command", "tool_input": input, "tool_use_id": call,
            "tool_response": {
                "llmContent": "Command: haltline-rehearsal --fail\nDirectory: (root)\nOutput: failed as it should\n\
                    Error: (none)\nExit Code: 1\nSignal: 0\nProcess Group PGID: 1",
                "returnDisplay": "failed as it should",
            },
        }),
        _other => json!({}),
    };
    vec![always, more]
}

/// What an answer does, as the client takes it; an error where the client would show it to the person and go on.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let special = &answer["hookSpecificOutput"];
    Ok(match event {
        "PreToolUse" if special["permissionDecision"] == "deny" => {
            let is_given = is_said(&special["permissionDecisionReason"]);
            return if is_given { Ok(Answer::Deny) } else { Err("a call was refused without a reason".to_owned()) };
        }
        "PreToolUse" | "Stop" => Answer::Pass,
        "UserPromptSubmit" if answer["decision"] == "block" => Answer::Stop,
        _other if is_said(&special["additionalContext"]) => Answer::Warn,
        _other => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_the_client_takes_them() {
        let told = r#"{"hookSpecificOutput":{"additionalContext":"x"}}"#;
        assert_eq!(REHEARSAL.read_answer("PostToolUse", told), Ok(Answer::Warn));
        assert_eq!(
            REHEARSAL.read_answer("PreToolUse", told),
            Ok(Answer::Pass),
            "before a call the model is told nothing"
        );
        assert_eq!(REHEARSAL.read_answer("PreToolUse", r#"{"continue":false}"#), Ok(Answer::Pass));
        assert_eq!(REHEARSAL.read_answer("UserPromptSubmit", r#"{"decision":"block","reason":"x"}"#), Ok(Answer::Stop));
        assert!(REHEARSAL.read_answer("PreToolUse", "panicked").is_err());
    }
}
