//! The self-test in Claude Code's format, for `haltline doctor`.

use serde_json::Value;

use crate::self_test::{AnswerEffect, ENDED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "SessionStart",
    round: &[
        SelfTestStep::new("PreToolUse", &[CALL]).even_when_denied(&[]),
        SelfTestStep::new(
            "PostToolUseFailure",
            &[
                CALL,
                r#"{"error": "Exit code 1\nhaltline-rehearsal: failed as it should", "is_interrupt": false,
                    "duration_ms": 12}"#,
            ],
        ),
        SelfTestStep::new("PostToolBatch", &[BATCH]).even_when_denied(&[DENIED_BATCH]),
    ],
    expected: ENDED,
    envelope: r#"{"session_id": "$session", "transcript_path": "$folder/$session.jsonl", "cwd": "$folder",
        "permission_mode": "default", "hook_event_name": "$event"}"#,
    first_adds: r#"{"source": "startup"}"#,
    effect_of_answer,
};

const CALL: &str = r#"{"tool_name": "Bash", "tool_input": {"command": "haltline-rehearsal --fail",
    "description": "A command that always fails"}, "tool_use_id": "toolu_$session_$round"}"#;

const BATCH: &str = r#"{"tool_calls": [{"tool_name": "Bash", "tool_input": {"command": "haltline-rehearsal --fail",
    "description": "A command that always fails"}, "tool_use_id": "toolu_$session_$round",
    "tool_response": "Exit code 1\nhaltline-rehearsal: failed as it should"}]}"#;

const DENIED_BATCH: &str = r#"{"tool_calls": [{"tool_name": "Bash", "tool_input": {"command":
    "haltline-rehearsal --fail", "description": "A command that always fails"},
    "tool_use_id": "toolu_$session_$round", "tool_response": "Denied by a hook"}]}"#;

/// The effect that the client gives an answer; an error if the client would ignore the answer.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
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
        // The client ignores both.
        "PostToolUseFailure" if is_stopped || is_denied => AnswerEffect::Warn,
        "PostToolBatch" if is_stopped || is_denied => AnswerEffect::Stop,
        _other if is_stopped => AnswerEffect::Stop,
        _other if is_denied => AnswerEffect::Deny,
        _other if has_text(&special["additionalContext"]) => AnswerEffect::Warn,
        _other => AnswerEffect::Pass,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::self_test::SelfTestEvent;

    fn context(event: &str) -> String {
        json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "twice"}}).to_string()
    }

    fn denial(should_continue: bool) -> String {
        let special = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny"});
        json!({"continue": should_continue, "hookSpecificOutput": special}).to_string()
    }

    #[test]
    fn answers_have_the_effect_that_the_client_gives_them() {
        for (event, out, expected) in [
            ("PreToolUse", String::new(), AnswerEffect::Pass),
            ("PreToolUse", "\n".to_owned(), AnswerEffect::Pass),
            ("PreToolUse", "{}".to_owned(), AnswerEffect::Pass),
            ("PreToolUse", context("PreToolUse"), AnswerEffect::Warn),
            ("PreToolUse", denial(true), AnswerEffect::Deny),
            ("PreToolUse", denial(false), AnswerEffect::Stop),
            ("PostToolUseFailure", r#"{"continue": false}"#.to_owned(), AnswerEffect::Warn),
            ("PostToolBatch", r#"{"continue": false}"#.to_owned(), AnswerEffect::Stop),
            ("PostToolBatch", r#"{"decision": "block"}"#.to_owned(), AnswerEffect::Stop),
        ] {
            assert_eq!(SELF_TEST.effect_of_output(event, &out), Ok(expected), "{event} {out}");
        }
    }

    #[test]
    fn an_answer_the_client_would_ignore_is_an_error() {
        for (event, out) in [
            ("PreToolUse", "panicked".to_owned()),
            ("PreToolUse", r#"{"continue": false}"#.to_owned()),
            ("PostToolBatch", context("PreToolUse")),
        ] {
            assert!(SELF_TEST.effect_of_output(event, &out).is_err(), "{event} {out}");
        }
    }

    #[test]
    fn payloads_have_the_format_of_the_client() {
        let payload_of = |event, round, is_denied| {
            SELF_TEST.payload(&SelfTestEvent { event, session: "doctor-1", folder: "/p", round, is_denied })
        };
        let failed = payload_of("PostToolUseFailure", 2, false);
        assert_eq!(failed["tool_use_id"], payload_of("PreToolUse", 2, false)["tool_use_id"]);
        assert!(failed["error"].as_str().is_some_and(|error| error.starts_with("Exit code 1\n")));
        let batch = payload_of("PostToolBatch", 4, true);
        assert_eq!(batch["tool_calls"][0]["tool_response"], "Denied by a hook");
    }
}
