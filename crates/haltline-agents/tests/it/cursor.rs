//! Cursor's payloads and answers, according to its documentation: no real client was available.

mod self_test;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::cursor::{answer, event, read};
use haltline_agents::hook::{HookCall, ReadError};
use haltline_core::loop_::{CallIds, LoopEvent};
use serde_json::Value;

use crate::golden;

const EVENTS: [&str; 11] = [
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "preCompact",
    "stop",
    "sessionEnd",
    "afterAgentThought",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cursor/documented")
}

fn hook_call(name: &str) -> HookCall {
    golden::hook_call(Client::Cursor, event(name), name)
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::Cursor, &folder()));
}

#[test]
fn every_event_and_verdict_gets_the_recorded_answer() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(hook_call)));
}

#[test]
fn no_answer_allows_a_call_or_keeps_an_agent_going() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            let line = answer(&hook_call(name), &verdict, Some("two\nlines")).unwrap_or_default();
            assert!(!line.contains('\n') && !line.contains("allow") && !line.contains("followup"), "{line}");
            let waits = matches!(name, "preToolUse" | "subagentStart" | "beforeSubmitPrompt");
            let is_warning = !verdict.denies() && verdict.reason().is_some();
            // A warning waits until the call is over; haltline answers this event itself as a pass.
            assert_eq!(waits && !is_warning, waits && !line.is_empty(), "{name}: {line}");
            if !line.is_empty() {
                assert!(serde_json::from_str::<Value>(&line).is_ok_and(|value| value.is_object()), "{line}");
            }
        }
    }
}

#[test]
fn a_reused_id_is_another_call() {
    let call = |name: &str| {
        let text = std::fs::read(folder().join(name)).expect("the payload is there");
        match read(&text).expect("readable").loop_event {
            Some(LoopEvent::ToolStart { call, .. } | LoopEvent::ToolEnd { call, .. }) => call,
            other => panic!("{other:?}"),
        }
    };
    let first = call("preToolUse.Shell.json");
    assert_eq!(first, call("postToolUse.Shell.json"), "before and after");
    assert_ne!(first, call("preToolUse.Shell.same-id-other-call.json"));
    assert_ne!(first, call("preToolUse.Shell.same-id-next-message.json"));
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_a_missing_session_is_an_error() {
    assert_eq!(read(br#"{"conversation_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let parsed = read(
        br#"{"conversation_id":"s","hook_event_name":"postToolUse","cwd":7,"workspace_roots":{},"model":[],
        "tool_name":"Shell","tool_input":"ls","tool_use_id":12,"tool_output":"{\"exitCode\":\"x\""}"#,
    )
    .expect("readable");
    assert_eq!((parsed.folder, parsed.model), (None, None));
    assert_eq!(parsed.hook.agent.call_ids, CallIds::None);
    for input in [
        r#"{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":null}"#,
        r#"{"conversation_id":"s","hook_event_name":"subagentStart","subagent_id":3}"#,
        r#"{"conversation_id":"s","hook_event_name":9}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").loop_event, None, "{input}");
    }
}
