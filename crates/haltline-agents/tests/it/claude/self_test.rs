//! Tests of `claude/self_test.rs`.

use haltline_agents::claude::SELF_TEST;
use haltline_agents::self_test::{AnswerEffect, SelfTestEvent};
use serde_json::json;

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
