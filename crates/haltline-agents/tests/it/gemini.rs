//! Gemini CLI's payloads and answers, and properties that hold for all of them.

mod self_test;
mod shell_text;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::gemini::{answer, event, read};
use haltline_agents::hook::{HookCall, HookEvent, ReadError};
use haltline_core::identity::Outcome;
use haltline_core::loop_::{CallIds, LoopEvent};
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::{Value, json};

use crate::golden;

const EVENTS: [&str; 8] = [
    "SessionStart",
    "BeforeAgent",
    "BeforeModel",
    "BeforeTool",
    "AfterTool",
    "AfterAgent",
    "SessionEnd",
    "PreCompress",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/gemini/0.61.0")
}

fn hook_call(name: &str) -> HookCall {
    golden::hook_call(Client::Gemini, event(name), name)
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::Gemini, &folder()));
}

#[test]
fn every_event_and_verdict_gets_the_recorded_answer() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(hook_call)));
}

#[test]
fn no_answer_allows_a_call_or_keeps_an_agent_going_that_wants_to_end() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            for notice in [None, Some("two\nlines")] {
                let Some(line) = answer(&hook_call(name), &verdict, notice) else { continue };
                let value: Value = serde_json::from_str(&line).expect("JSON");
                assert!(!line.contains('\n') && value["decision"] != "allow", "{line}");
                // The client restarts the turn whenever a hook rejects its end, without a limit.
                assert!(name != "AfterAgent" || value["decision"].is_null(), "{line}");
                assert!(value["decision"].is_null() || value["reason"].is_string(), "{line}");
            }
        }
    }
}

#[test]
fn a_text_is_never_too_long() {
    let circuit = CircuitName::from_stored("loop/x".to_owned());
    let reason = Reason { circuit, code: "code", text: "ü".repeat(30_000), retry: Retry::Now };
    let line = answer(&hook_call("BeforeTool"), &Verdict::Stop(reason), None).expect("a refusal");
    let value: Value = serde_json::from_str(&line).expect("JSON");
    for field in ["reason", "stopReason"] {
        assert!(value[field].as_str().expect("a text").len() <= 8_000, "{field}");
    }
}

#[test]
fn calls_have_no_ids_and_are_reported_as_such() {
    let payload = br#"{"session_id":"s","hook_event_name":"BeforeTool","tool_name":"run_shell_command",
        "tool_input":{"command":"make"},"timestamp":"2026-11-16T10:00:00.000Z"}"#;
    let parsed = read(payload).expect("readable");
    assert_eq!(parsed.hook.agent.call_ids, CallIds::None);
}

#[test]
fn megabytes_of_output_are_read_and_the_exit_code_is_found() {
    let output = format!("Output: {}\nExit Code: 3\nProcess Group PGID: 1", "line \u{0}\u{1b}[0m\n".repeat(150_000));
    let payload = json!({ "session_id": "s", "hook_event_name": "AfterTool", "tool_name": "run_shell_command",
        "tool_input": { "command": "make" }, "tool_response": { "llmContent": output, "returnDisplay": output } });
    let mut bytes = payload.to_string().into_bytes();
    assert!(bytes.len() > 3_000_000, "{}", bytes.len());
    let outcome = |bytes: &[u8]| match read(bytes).expect("readable").loop_event {
        Some(LoopEvent::ToolEnd { result, .. }) => (result.outcome, result.exit),
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome(&bytes), (Outcome::Failed, Some(3)));
    let position = bytes.windows(5).position(|window| window == b"line ").expect("the output");
    bytes[position] = 0xff;
    assert_eq!(outcome(&bytes), (Outcome::Failed, Some(3)), "what is no text is mended");
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_a_missing_session_is_an_error() {
    assert_eq!(read(br#"{"session_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let parsed = read(
        br#"{"session_id":"s","hook_event_name":"AfterTool","cwd":7,"llm_request":[],"tool_name":"run_shell_command",
        "tool_input":"ls","tool_response":null,"transcript_path":3}"#,
    )
    .expect("readable");
    assert_eq!((parsed.folder, parsed.model, parsed.transcript_path), (None, None, None));
    for input in [
        r#"{"session_id":"s","hook_event_name":"BeforeTool","tool_name":null}"#,
        r#"{"session_id":"s","hook_event_name":"AfterTool"}"#,
        r#"{"session_id":"s","hook_event_name":9}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").loop_event, None, "{input}");
    }
    for response in ["[]", "{}", "7", "\"text\"", r#"{"error":7}"#, r#"{"llmContent":{},"error":{"message":[]}}"#] {
        let input = format!(
            r#"{{"session_id":"s","hook_event_name":"AfterTool","tool_name":"x","tool_input":{{}},"tool_response":{response}}}"#
        );
        assert!(read(input.as_bytes()).expect("readable").loop_event.is_some(), "{input}");
    }
    assert_eq!(event("PreCompress"), HookEvent::Other, "it comes with every turn and says nothing");
}
