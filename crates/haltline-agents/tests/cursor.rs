//! Cursor's payloads and answers, by its documentation: no client was there to be asked.

mod golden;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::cursor::{answer, event, read};
use haltline_agents::hook::{Asked, ReadError};
use haltline_core::loop_::{Happening, Naming};
use serde_json::Value;

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

fn asked(name: &str) -> Asked {
    golden::asked(Client::Cursor, event(name), name)
}

#[test]
fn every_payload_is_read_as_agreed() {
    golden::compare(&folder(), "readings.txt", &golden::readings(Client::Cursor, &folder()));
}

#[test]
fn every_event_and_verdict_is_answered_as_agreed() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(asked)));
}

#[test]
fn no_answer_allows_a_call_or_keeps_an_agent_going() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            let line = answer(&asked(name), &verdict, Some("two\nlines")).unwrap_or_default();
            assert!(!line.contains('\n') && !line.contains("allow") && !line.contains("followup"), "{line}");
            let waits = matches!(name, "preToolUse" | "subagentStart" | "beforeSubmitPrompt");
            let is_warning = !verdict.refuses() && verdict.reason().is_some();
            // A warning waits until the call is over; the answer is then asked for anew, as a pass.
            assert_eq!(waits && !is_warning, waits && !line.is_empty(), "{name}: {line}");
            if !line.is_empty() {
                assert!(serde_json::from_str::<Value>(&line).is_ok_and(|value| value.is_object()), "{line}");
            }
        }
    }
}

#[test]
fn a_name_that_comes_again_is_another_call() {
    let call = |name: &str| {
        let text = std::fs::read(folder().join(name)).expect("the payload is there");
        match read(&text).expect("readable").what {
            Some(Happening::ToolStart { call, .. } | Happening::ToolEnd { call, .. }) => call,
            other => panic!("{other:?}"),
        }
    };
    let first = call("preToolUse.Shell.json");
    assert_eq!(first, call("postToolUse.Shell.json"), "before and after");
    assert_ne!(first, call("preToolUse.Shell.same-id-other-call.json"));
    assert_ne!(first, call("preToolUse.Shell.same-id-next-message.json"));
}

#[test]
fn wrong_kinds_are_unknown_and_without_a_session_there_is_nothing() {
    assert_eq!(read(br#"{"conversation_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let reading = read(
        br#"{"conversation_id":"s","hook_event_name":"postToolUse","cwd":7,"workspace_roots":{},"model":[],
        "tool_name":"Shell","tool_input":"ls","tool_use_id":12,"tool_output":"{\"exitCode\":\"x\""}"#,
    )
    .expect("readable");
    assert_eq!((reading.folder, reading.model), (None, None));
    assert_eq!(reading.asked.stream.naming, Naming::Counted);
    for input in [
        r#"{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":null}"#,
        r#"{"conversation_id":"s","hook_event_name":"subagentStart","subagent_id":3}"#,
        r#"{"conversation_id":"s","hook_event_name":9}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").what, None, "{input}");
    }
}
