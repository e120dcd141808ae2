//! A loop that never happened: what Claude Code would tell its hooks while one command fails again and again, and what
//! their answers do to it. `haltline doctor` plays it through the installed command line (X2).

use serde_json::{Value, json};

/// What a hook's answer does, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Nothing.
    Pass,
    /// The model is told something.
    Warn,
    /// The call does not happen.
    Deny,
    /// The agent ends.
    Stop,
}

impl Answer {
    /// As it is spelled.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Pass => "pass",
            Answer::Warn => "warn",
            Answer::Deny => "deny",
            Answer::Stop => "stop",
        }
    }
}

/// The rounds of the loop and what each has to come to.
pub const EXPECTED: [Answer; 5] = [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Stop];

/// What happens before the first round.
pub const OPENING: &str = "SessionStart";
/// What happens in a round, in order.
pub const ROUND: [&str; 3] = ["PreToolUse", "PostToolUseFailure", "PostToolBatch"];

/// What the client says about an event of a round; `is_denied` when the call did not happen.
pub fn payload(event: &str, session: &str, folder: &str, round: usize, is_denied: bool) -> Value {
    let mut payload = json!({
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
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    payload
}

/// What an answer does, as the client takes it; an error where the client would ignore it.
pub fn read_answer(event: &str, out: &str) -> Result<Answer, String> {
    if out.trim().is_empty() {
        return Ok(Answer::Pass);
    }
    let answer: Value =
        serde_json::from_str(out).map_err(|error| format!("{event} was answered with what is not JSON ({error})"))?;
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
        _other if special["additionalContext"].as_str().is_some_and(|text| !text.is_empty()) => Answer::Warn,
        _other => Answer::Pass,
    })
}

/// What is wrong with the rounds, if anything.
pub fn judge(rounds: &[Answer]) -> Option<String> {
    if rounds == EXPECTED {
        return None;
    }
    let words = |answers: &[Answer]| answers.iter().map(|answer| answer.word()).collect::<Vec<_>>().join(", ");
    let seen = if rounds.is_empty() { "nothing".to_owned() } else { words(rounds) };
    let strongest = rounds.iter().max().copied().unwrap_or(Answer::Pass);
    let meaning = match strongest {
        Answer::Pass => "the loop was not noticed",
        Answer::Warn => "the loop was noticed and not refused",
        Answer::Deny => "the loop was refused and the agent not stopped",
        Answer::Stop => "the loop was stopped, at another point",
    };
    Some(format!("{meaning}: {seen} instead of {}", words(&EXPECTED)))
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
            assert_eq!(read_answer(event, &out), Ok(expected), "{event} {out}");
        }
    }

    #[test]
    fn an_answer_the_client_would_ignore_is_an_error() {
        for (event, out) in [
            ("PreToolUse", "panicked".to_owned()),
            ("PreToolUse", r#"{"continue": false}"#.to_owned()),
            ("PostToolBatch", context("PreToolUse")),
        ] {
            assert!(read_answer(event, &out).is_err(), "{event} {out}");
        }
    }

    #[test]
    fn rounds_are_judged_by_what_they_came_to() {
        assert_eq!(judge(&EXPECTED), None);
        let said = |rounds: &[Answer]| judge(rounds).unwrap_or_default();
        assert!(said(&[Answer::Pass; 5]).starts_with("the loop was not noticed: pass, pass, pass, pass, pass "));
        assert!(said(&[]).contains("nothing instead of pass, pass, warn, deny, stop"));
        assert!(said(&[Answer::Pass, Answer::Warn, Answer::Stop]).starts_with("the loop was stopped, at another"));
    }

    #[test]
    fn a_round_is_told_as_the_client_tells_it() {
        let failed = payload("PostToolUseFailure", "doctor-1", "/p", 2, false);
        assert_eq!(failed["tool_use_id"], payload("PreToolUse", "doctor-1", "/p", 2, false)["tool_use_id"]);
        assert!(failed["error"].as_str().is_some_and(|error| error.starts_with("Exit code 1\n")));
        let batch = payload("PostToolBatch", "doctor-1", "/p", 4, true);
        assert_eq!(batch["tool_calls"][0]["tool_response"], "Denied by a hook");
    }
}
