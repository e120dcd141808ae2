//! Codex's payloads and answers, and what holds of all of them: an answer with a field too many counts as none.

mod golden;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::codex::{answer, event, read};
use haltline_agents::hook::{Asked, ReadError};
use haltline_core::identity::Outcome;
use haltline_core::loop_::Happening;
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::Value;

const EVENTS: [&str; 11] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "Interrupt",
    "SessionEnd",
    "PermissionRequest",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/codex/0.166.0")
}

fn asked(name: &str) -> Asked {
    golden::asked(Client::Codex, event(name), name)
}

#[test]
fn every_payload_is_read_as_agreed() {
    golden::compare(&folder(), "readings.txt", &golden::readings(Client::Codex, &folder()));
}

#[test]
fn every_event_and_verdict_is_answered_as_agreed() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(asked)));
}

/// The fields that the client's own schemas of this version allow for an event, and those of `hookSpecificOutput`.
fn allowed(event: &str) -> (&'static [&'static str], &'static [&'static str]) {
    const TOLD: &[&str] = &["hookEventName", "additionalContext"];
    match event {
        "PreToolUse" => (
            &["hookSpecificOutput", "systemMessage"],
            &["hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"],
        ),
        "PostToolUse" | "SessionStart" | "SubagentStart" => (&["hookSpecificOutput", "systemMessage"], TOLD),
        "UserPromptSubmit" => (&["hookSpecificOutput", "systemMessage", "decision", "reason"], TOLD),
        "Stop" => (&["continue", "stopReason", "systemMessage"], &[]),
        "SubagentStop" | "PreCompact" | "Interrupt" => (&["systemMessage"], &[]),
        _unread => (&[], &[]),
    }
}

#[test]
fn no_answer_has_a_field_the_client_would_throw_it_away_for() {
    for name in EVENTS {
        let (fields, special) = allowed(name);
        for verdict in golden::verdicts() {
            for notice in [None, Some("two\nlines")] {
                let Some(line) = answer(&asked(name), &verdict, notice) else { continue };
                assert!(!line.contains('\n') && !line.contains("allow"), "{line}");
                let value: Value = serde_json::from_str(&line).expect("JSON");
                let object = value.as_object().expect("an object");
                assert!(object.keys().all(|key| fields.contains(&key.as_str())), "{name}: {line}");
                let within = value["hookSpecificOutput"].as_object();
                assert!(within.into_iter().flatten().all(|(key, _)| special.contains(&key.as_str())), "{name}: {line}");
                if within.is_some_and(|within| within.contains_key("permissionDecision")) {
                    assert_eq!(object.len(), 1, "a refusal stands alone: {line}");
                }
            }
        }
    }
}

#[test]
fn no_answer_keeps_an_agent_going_that_wants_to_end() {
    for name in ["Stop", "SubagentStop"] {
        for verdict in golden::verdicts() {
            let line = answer(&asked(name), &verdict, Some("x")).unwrap_or_default();
            assert!(!line.contains("block") && !line.contains("additionalContext"), "{line}");
        }
    }
}

#[test]
fn a_refusal_always_has_a_reason_and_never_too_long_a_one() {
    for text in ["", " ", &"ü".repeat(30_000)] {
        let circuit = CircuitName::stored("loop/x".to_owned());
        let reason = Reason { circuit, code: "code", text: text.to_owned(), retry: Retry::Now };
        let line = answer(&asked("PreToolUse"), &Verdict::Stop(reason), None).expect("a refusal");
        let value: Value = serde_json::from_str(&line).expect("JSON");
        let said = value["hookSpecificOutput"]["permissionDecisionReason"].as_str().expect("a reason");
        assert!(!said.trim().is_empty() && said.len() <= 8_000, "{}", said.len());
    }
}

#[test]
fn the_end_of_a_command_waits_for_the_transcript() {
    let payload = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"c1",
        "tool_input":{"command":"make"},"tool_response":"no rule\n","transcript_path":"/t.jsonl"}"#;
    let mut reading = read(payload).expect("readable");
    let outcome = |what: &Option<Happening>| match what {
        Some(Happening::ToolEnd { answer, .. }) => (answer.outcome, answer.exit),
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome(&reading.what), (Outcome::Unknown, None));
    reading.settle(Outcome::Failed, Some(2));
    assert_eq!(outcome(&reading.what), (Outcome::Failed, Some(2)));
    reading.settle(Outcome::Ok, Some(0));
    assert_eq!(outcome(&reading.what), (Outcome::Failed, Some(2)), "once is enough");
}

#[test]
fn wrong_kinds_are_unknown_and_without_a_session_there_is_nothing() {
    assert_eq!(read(br#"{"session_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let reading = read(
        br#"{"session_id":"s","hook_event_name":"PostToolUse","cwd":7,"agent_id":[],"model":{},"tool_name":"Bash",
        "tool_input":"ls","tool_use_id":12,"tool_response":null,"transcript_path":3}"#,
    )
    .expect("readable");
    assert_eq!((reading.folder, reading.model, reading.feed), (None, None, None));
    assert_eq!(reading.unsettled, None, "without a transcript there is nothing to wait for");
    let Some(Happening::ToolEnd { call, answer, .. }) = reading.what else { panic!("no end of a call") };
    assert_eq!((call.len(), answer.outcome), (16, Outcome::Ok));
    for input in [
        r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":null}"#,
        r#"{"session_id":"s","hook_event_name":"PostToolUse"}"#,
        r#"{"session_id":"s","hook_event_name":"SubagentStop","agent_id":3}"#,
        r#"{"session_id":"s","hook_event_name":9}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").what, None, "{input}");
    }
}
