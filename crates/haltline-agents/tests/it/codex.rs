//! Codex's payloads and answers, and properties that hold for all of them: no answer has a field too many, which voids
//! it.

mod rollout;
mod self_test;
mod trust;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::codex::{answer, event, read};
use haltline_agents::hook::{HookCall, ReadError};
use haltline_core::identity::Outcome;
use haltline_core::loop_::LoopEvent;
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::Value;

use crate::golden;

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

fn hook_call(name: &str) -> HookCall {
    golden::hook_call(Client::Codex, event(name), name)
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::Codex, &folder()));
}

#[test]
fn every_event_and_verdict_gets_the_recorded_answer() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(hook_call)));
}

/// The fields that the client's own schemas of this version allow for an event, and those of `hookSpecificOutput`.
fn allowed(event: &str) -> (&'static [&'static str], &'static [&'static str]) {
    const CONTEXT: &[&str] = &["hookEventName", "additionalContext"];
    match event {
        "PreToolUse" => (
            &["hookSpecificOutput", "systemMessage"],
            &["hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"],
        ),
        "PostToolUse" | "SessionStart" | "SubagentStart" => (&["hookSpecificOutput", "systemMessage"], CONTEXT),
        "UserPromptSubmit" => (&["hookSpecificOutput", "systemMessage", "decision", "reason"], CONTEXT),
        "Stop" => (&["continue", "stopReason", "systemMessage"], &[]),
        "SubagentStop" | "PreCompact" | "Interrupt" => (&["systemMessage"], &[]),
        _unread => (&[], &[]),
    }
}

#[test]
fn no_answer_has_a_field_that_makes_the_client_discard_it() {
    for name in EVENTS {
        let (fields, special) = allowed(name);
        for verdict in golden::verdicts() {
            for notice in [None, Some("two\nlines")] {
                let Some(line) = answer(&hook_call(name), &verdict, notice) else { continue };
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
            let line = answer(&hook_call(name), &verdict, Some("x")).unwrap_or_default();
            assert!(!line.contains("block") && !line.contains("additionalContext"), "{line}");
        }
    }
}

#[test]
fn a_denial_always_has_a_reason_of_limited_length() {
    for text in ["", " ", &"ü".repeat(30_000)] {
        let circuit = CircuitName::from_stored("loop/x".to_owned());
        let reason = Reason { circuit, code: "code", text: text.to_owned(), retry: Retry::Now };
        let line = answer(&hook_call("PreToolUse"), &Verdict::Stop(reason), None).expect("a refusal");
        let value: Value = serde_json::from_str(&line).expect("JSON");
        let reason = value["hookSpecificOutput"]["permissionDecisionReason"].as_str().expect("a reason");
        assert!(!reason.trim().is_empty() && reason.len() <= 8_000, "{}", reason.len());
    }
}

#[test]
fn the_outcome_of_a_command_comes_from_the_transcript() {
    let payload = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"c1",
        "tool_input":{"command":"make"},"tool_response":"no rule\n","transcript_path":"/t.jsonl"}"#;
    let mut parsed = read(payload).expect("readable");
    let outcome = |loop_event: &Option<LoopEvent>| match loop_event {
        Some(LoopEvent::ToolEnd { result, .. }) => (result.outcome, result.exit),
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome(&parsed.loop_event), (Outcome::Unknown, None));
    parsed.complete(Outcome::Failed, Some(2));
    assert_eq!(outcome(&parsed.loop_event), (Outcome::Failed, Some(2)));
    parsed.complete(Outcome::Ok, Some(0));
    assert_eq!(outcome(&parsed.loop_event), (Outcome::Failed, Some(2)), "once is enough");
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_a_missing_session_is_an_error() {
    assert_eq!(read(br#"{"session_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let parsed = read(
        br#"{"session_id":"s","hook_event_name":"PostToolUse","cwd":7,"agent_id":[],"model":{},"tool_name":"Bash",
        "tool_input":"ls","tool_use_id":12,"tool_response":null,"transcript_path":3}"#,
    )
    .expect("readable");
    assert_eq!((parsed.folder, parsed.model, parsed.transcript_path), (None, None, None));
    assert_eq!(parsed.pending_outcome, None, "without a transcript there is nothing to wait for");
    let Some(LoopEvent::ToolEnd { call, result, .. }) = parsed.loop_event else { panic!("no end of a call") };
    assert_eq!((call.len(), result.outcome), (16, Outcome::Ok));
    for input in [
        r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":null}"#,
        r#"{"session_id":"s","hook_event_name":"PostToolUse"}"#,
        r#"{"session_id":"s","hook_event_name":"SubagentStop","agent_id":3}"#,
        r#"{"session_id":"s","hook_event_name":9}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").loop_event, None, "{input}");
    }
}
