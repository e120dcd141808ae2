//! Copilot CLI's payloads and answers, and what holds of all of them: nothing is said where the client does not look.

mod golden;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::copilot::{answer, event, read};
use haltline_agents::hook::{Asked, ReadError, Reading};
use haltline_core::identity::Outcome;
use haltline_core::loop_::{Happening, Naming};
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::Value;

const EVENTS: [&str; 11] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "SessionEnd",
    "PermissionRequest",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/copilot/1.0.102")
}

fn payload(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).expect("the payload is there")
}

fn asked(name: &str) -> Asked {
    golden::asked(Client::Copilot, event(name), name)
}

#[test]
fn every_payload_is_read_as_agreed() {
    golden::compare(&folder(), "readings.txt", &golden::readings(Client::Copilot, &folder()));
}

#[test]
fn every_event_and_verdict_is_answered_as_agreed() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(asked)));
}

#[test]
fn no_answer_allows_a_call_or_keeps_an_agent_going() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            let Some(line) = answer(&asked(name), &verdict, Some("two\nlines")) else { continue };
            assert!(!line.contains('\n') && !line.contains("allow"), "{line}");
            assert!(!matches!(name, "Stop" | "SubagentStop"), "{line}");
            let value: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(
                value.as_object().map(|object| object.contains_key("decision")),
                Some(name == "UserPromptSubmit" && verdict.refuses())
            );
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
        let said = value["permissionDecisionReason"].as_str().expect("a reason");
        assert!(!said.trim().is_empty() && said.len() <= 8_000, "{}", said.len());
    }
}

fn start(reading: &Reading) -> &str {
    match &reading.what {
        Some(Happening::ToolStart { call, .. }) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_start_is_known_by_its_moment_through_both_doors() {
    let text = String::from_utf8(payload("PreToolUse.Bash.json")).expect("UTF-8");
    let later = text.replace("10:15:33", "10:15:34");
    let read_by = |client: Client, text: &str| (client.protocol().read)(text.as_bytes()).expect("readable");
    let own = read_by(Client::Copilot, &text);
    let claude = read_by(Client::Claude, &text);
    assert_eq!((start(&own), own.what.as_ref()), (start(&claude), claude.what.as_ref()), "the same call");
    assert_ne!(start(&own), start(&read_by(Client::Copilot, &later)), "the next one");
    assert_eq!((claude.asked.client, claude.feed), (Client::Claude, None), "who speaks is who was called");
}

#[test]
fn what_copilot_says_to_claudes_hook_is_read_as_its_own() {
    let mut names: Vec<_> =
        std::fs::read_dir(folder()).expect("there").flatten().map(|file| file.file_name()).collect();
    names.retain(|name| name.to_string_lossy().ends_with(".json"));
    for name in names {
        let name = name.to_string_lossy();
        let [own, claude] = [Client::Copilot, Client::Claude].map(|client| {
            let reading = (client.protocol().read)(&payload(&name)).expect("readable");
            (reading.asked.event, reading.asked.stream.session, reading.asked.stream.agent, reading.what)
        });
        assert_eq!(own, claude, "{name}");
    }
}

#[test]
fn a_long_output_without_its_last_line_waits_for_the_record_of_the_session() {
    let settled = read(&payload("PostToolUse.Bash.too-long.json")).expect("readable");
    assert_eq!(settled.unsettled, None);
    let mut reading = read(&payload("PostToolUse.Bash.too-long-and-cut.json")).expect("readable");
    assert_eq!(reading.feed.as_deref(), Some("~/session-state/00000001-0000-4000-8000-000000000000/events.jsonl"));
    reading.settle(Outcome::Failed, Some(1));
    let (Some(Happening::ToolEnd { answer, .. }), Some(Happening::ToolEnd { answer: known, .. })) =
        (&reading.what, &settled.what)
    else {
        panic!("two ends")
    };
    assert_eq!((answer.outcome, answer.exit), (known.outcome, known.exit));
}

#[test]
fn wrong_kinds_are_unknown_and_without_a_session_there_is_nothing() {
    assert_eq!(read(br#"{"session_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let reading = read(
        br#"{"session_id":"s","hook_event_name":"PostToolUse","cwd":7,"agent_id":[],"tool_name":"Bash","timestamp":{},
        "tool_input":"ls","tool_result":"plain"}"#,
    )
    .expect("readable");
    assert_eq!((reading.folder, reading.feed, reading.unsettled), (None, None, None));
    assert_eq!(reading.asked.stream.naming, Naming::Begun);
    let Some(Happening::ToolEnd { answer, .. }) = reading.what else { panic!("no end of a call") };
    assert_eq!(answer.outcome, Outcome::Ok);
    for input in [
        r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":null}"#,
        r#"{"session_id":"s","hook_event_name":"PostToolUse"}"#,
        r#"{"session_id":"s","hook_event_name":"SubagentStop","agent_id":3}"#,
        r#"{"session_id":"s","hook_event_name":9}"#,
        r#"{"sessionId":"s","agentName":1,"agent_id":null}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").what, None, "{input}");
    }
}
