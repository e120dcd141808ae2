//! Copilot CLI's payloads and answers, and properties that hold for all of them: no text is put where the client
//! ignores it.

mod events;
mod self_test;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::copilot::{answer, event, read};
use haltline_agents::hook::{HookCall, ParsedHook, ReadError};
use haltline_core::identity::Outcome;
use haltline_core::loop_::{CallIds, LoopEvent};
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::Value;

use crate::golden;

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

fn hook_call(name: &str) -> HookCall {
    golden::hook_call(Client::Copilot, event(name), name)
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::Copilot, &folder()));
}

#[test]
fn every_event_and_verdict_gets_the_recorded_answer() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(hook_call)));
}

#[test]
fn no_answer_allows_a_call_or_keeps_an_agent_going() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            let Some(line) = answer(&hook_call(name), &verdict, Some("two\nlines")) else { continue };
            assert!(!line.contains('\n') && !line.contains("allow"), "{line}");
            assert!(!matches!(name, "Stop" | "SubagentStop"), "{line}");
            let value: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(
                value.as_object().map(|object| object.contains_key("decision")),
                Some(name == "UserPromptSubmit" && verdict.denies())
            );
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
        let reason = value["permissionDecisionReason"].as_str().expect("a reason");
        assert!(!reason.trim().is_empty() && reason.len() <= 8_000, "{}", reason.len());
    }
}

fn start_id(parsed: &ParsedHook) -> &str {
    match &parsed.loop_event {
        Some(LoopEvent::ToolStart { call, .. }) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_start_is_identified_by_its_timestamp_through_both_hook_sources() {
    let text = String::from_utf8(payload("PreToolUse.Bash.json")).expect("UTF-8");
    let later = text.replace("10:15:33", "10:15:34");
    let read_by = |client: Client, text: &str| (client.protocol().read)(text.as_bytes()).expect("readable");
    let own = read_by(Client::Copilot, &text);
    let claude = read_by(Client::Claude, &text);
    assert_eq!(
        (start_id(&own), own.loop_event.as_ref()),
        (start_id(&claude), claude.loop_event.as_ref()),
        "the same call"
    );
    assert_ne!(start_id(&own), start_id(&read_by(Client::Copilot, &later)), "the next one");
    assert_eq!((claude.hook.client, claude.transcript_path), (Client::Claude, None), "who speaks is who was called");
}

#[test]
fn a_copilot_payload_sent_to_claudes_hook_is_read_as_copilots() {
    let mut names: Vec<_> =
        std::fs::read_dir(folder()).expect("there").flatten().map(|file| file.file_name()).collect();
    names.retain(|name| name.to_string_lossy().ends_with(".json"));
    for name in names {
        let name = name.to_string_lossy();
        let [own, claude] = [Client::Copilot, Client::Claude].map(|client| {
            let parsed = (client.protocol().read)(&payload(&name)).expect("readable");
            (parsed.hook.event, parsed.hook.agent.session, parsed.hook.agent.sub_agent, parsed.loop_event)
        });
        assert_eq!(own, claude, "{name}");
    }
}

#[test]
fn a_long_output_without_its_last_line_waits_for_the_session_record() {
    let complete = read(&payload("PostToolUse.Bash.too-long.json")).expect("readable");
    assert_eq!(complete.pending_outcome, None);
    let mut parsed = read(&payload("PostToolUse.Bash.too-long-and-cut.json")).expect("readable");
    assert_eq!(
        parsed.transcript_path.as_deref(),
        Some("~/session-state/00000001-0000-4000-8000-000000000000/events.jsonl")
    );
    parsed.complete(Outcome::Failed, Some(1));
    let (Some(LoopEvent::ToolEnd { result, .. }), Some(LoopEvent::ToolEnd { result: known, .. })) =
        (&parsed.loop_event, &complete.loop_event)
    else {
        panic!("two ends")
    };
    assert_eq!((result.outcome, result.exit), (known.outcome, known.exit));
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_a_missing_session_is_an_error() {
    assert_eq!(read(br#"{"session_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let parsed = read(
        br#"{"session_id":"s","hook_event_name":"PostToolUse","cwd":7,"agent_id":[],"tool_name":"Bash","timestamp":{},
        "tool_input":"ls","tool_result":"plain"}"#,
    )
    .expect("readable");
    assert_eq!((parsed.folder, parsed.transcript_path, parsed.pending_outcome), (None, None, None));
    assert_eq!(parsed.hook.agent.call_ids, CallIds::StartOnly);
    let Some(LoopEvent::ToolEnd { result, .. }) = parsed.loop_event else { panic!("no end of a call") };
    assert_eq!(result.outcome, Outcome::Ok);
    for input in [
        r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":null}"#,
        r#"{"session_id":"s","hook_event_name":"PostToolUse"}"#,
        r#"{"session_id":"s","hook_event_name":"SubagentStop","agent_id":3}"#,
        r#"{"session_id":"s","hook_event_name":9}"#,
        r#"{"sessionId":"s","agentName":1,"agent_id":null}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").loop_event, None, "{input}");
    }
}
