//! A loop in Claude Code's words, for `haltline doctor`.

use serde_json::{Value, json};

use crate::rehearsal::{Answer, Beat, Rehearsal, Told, is_said};

/// How the loop is played.
pub const REHEARSAL: Rehearsal = Rehearsal {
    opening: "SessionStart",
    round: &[
        Beat { event: "PreToolUse", comes_when_denied: true },
        Beat { event: "PostToolUseFailure", comes_when_denied: false },
        Beat { event: "PostToolBatch", comes_when_denied: true },
    ],
    expected: [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Stop],
    says,
    takes,
};

fn says(told: &Told<'_>) -> Vec<Value> {
    let Told { event, session, folder, round, is_denied } = *told;
    let always = json!({
        "session_id": session,
        "transcript_path": format!("{folder}/{session}.jsonl"),
        "cwd": folder,
        "permission_mode": "default",
        "hook_event_name": event,
    });
    let input = json!({"command": "haltline-rehearsal --fail", "description": "A command that always fails"});
    let call = format!("toolu_{session}_{round}");
    let error = "Exit code 1\nhaltline-rehearsal: failed as it should";
    let more = match event {
        "SessionStart" => json!({"source": "startup"}),
        "PreToolUse" => json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": call}),
        "PostToolUseFailure" => json!({
            "tool_name": "Bash", "tool_input": input, "tool_use_id": call,
            "error": error, "is_interrupt": false, "duration_ms": 12,
        }),
        "PostToolBatch" => {
            let response = if is_denied { "Denied by a hook" } else { error };
            json!({"tool_calls": [
                {"tool_name": "Bash", "tool_input": input, "tool_use_id": call, "tool_response": response},
            ]})
        }
        _other => json!({}),
    };
    vec![always, more]
}

/// What an answer does, as the client takes it; an error where the client would ignore it.
fn takes(event: &str, answer: &Value) -> Result<Answer, String> {
    let special = &answer["hookSpecificOutput"];
    if !special.is_null() && special["hookEventName"] != event {
        return Err(format!("{event} was answered for {}", special["hookEventName"]));
    }
    let is_denied = special["permissionDecision"] == "deny" || answer["decision"] == "block";
    let is_stopped = answer["continue"] == false;
    Ok(match event {
        // Without the denial the client runs the call first.
        "PreToolUse" if is_stopped && !is_denied => {
            return Err("PreToolUse was answered with continue: false but no denial".to_owned());
        }
        // The client heeds neither.
        "PostToolUseFailure" if is_stopped || is_denied => Answer::Warn,
        "PostToolBatch" if is_stopped || is_denied => Answer::Stop,
        _other if is_stopped => Answer::Stop,
        _other if is_denied => Answer::Deny,
        _other if is_said(&special["additionalContext"]) => Answer::Warn,
        _other => Answer::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(event: &str) -> String {
        json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "twice"}}).to_string()
    }

    fn denial(is_going_on: bool) -> String {
        let special = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny"});
        json!({"continue": is_going_on, "hookSpecificOutput": special}).to_string()
    }

    #[test]
    fn an_answer_is_taken_as_the_client_takes_it() {
        for (event, out, expected) in [
            ("PreToolUse", String::new(), Answer::Pass),
            ("PreToolUse", "\n".to_owned(), Answer::Pass),
            ("PreToolUse", "{}".to_owned(), Answer::Pass),
            ("PreToolUse", context("PreToolUse"), Answer::Warn),
            ("PreToolUse", denial(true), Answer::Deny),
            ("PreToolUse", denial(false), Answer::Stop),
            ("PostToolUseFailure", r#"{"continue": false}"#.to_owned(), Answer::Warn),
            ("PostToolBatch", r#"{"continue": false}"#.to_owned(), Answer::Stop),
            ("PostToolBatch", r#"{"decision": "block"}"#.to_owned(), Answer::Stop),
        ] {
            assert_eq!(REHEARSAL.read_answer(event, &out), Ok(expected), "{event} {out}");
        }
    }

    #[test]
    fn an_answer_the_client_would_ignore_is_an_error() {
        for (event, out) in [
            ("PreToolUse", "panicked".to_owned()),
            ("PreToolUse", r#"{"continue": false}"#.to_owned()),
            ("PostToolBatch", context("PreToolUse")),
        ] {
            assert!(REHEARSAL.read_answer(event, &out).is_err(), "{event} {out}");
        }
    }

    #[test]
    fn a_round_is_told_as_the_client_tells_it() {
        let told = |event, round, is_denied| {
            REHEARSAL.payload(&Told { event, session: "doctor-1", folder: "/p", round, is_denied })
        };
        let failed = told("PostToolUseFailure", 2, false);
        assert_eq!(failed["tool_use_id"], told("PreToolUse", 2, false)["tool_use_id"]);
        assert!(failed["error"].as_str().is_some_and(|error| error.starts_with("Exit code 1\n")));
        let batch = told("PostToolBatch", 4, true);
        assert_eq!(batch["tool_calls"][0]["tool_response"], "Denied by a hook");
    }
}
