//! Qwen Code's payloads and answers, and properties that hold for all of them.

mod chat;
mod self_test;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::hook::{HookCall, HookEvent, ReadError};
use haltline_agents::qwen::{answer, event, read};
use haltline_core::identity::Outcome;
use haltline_core::loop_::{LoopEvent, TurnEnd};
use serde_json::{Value, json};

use crate::golden;

const EVENTS: [&str; 12] = [
    "SessionStart",
    "UserPromptSubmit",
    "UserPromptSubmit, empty",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "SessionEnd",
    "Notification",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/qwen/0.15.10")
}

fn hook_call(name: &str) -> HookCall {
    let (name, has_prompt) = name.strip_suffix(", empty").map_or((name, true), |name| (name, false));
    golden::hook_call(Client::Qwen, event(name, has_prompt), name)
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::Qwen, &folder()));
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
                assert!(!line.contains('\n') && !line.contains("allow"), "{line}");
                assert!(!name.contains("Stop") || value["decision"].is_null(), "{line}");
            }
        }
    }
}

#[test]
fn an_empty_prompt_is_the_next_request_and_not_a_prompt() {
    let parse = |prompt: &str| {
        let payload = format!(r#"{{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":{prompt}}}"#);
        let parsed = read(payload.as_bytes()).expect("readable");
        (parsed.hook.event, parsed.loop_event)
    };
    for prompt in [r#""""#, "null", "7", r#"" \n""#, r#""\n\nbranch: main""#] {
        assert_eq!(parse(prompt), (HookEvent::ModelStart, Some(LoopEvent::ModelStart)), "{prompt}");
    }
    let by_person = LoopEvent::Prompt { by_user: true, bypass: false };
    assert_eq!(parse(r#""go on""#), (HookEvent::Prompt, Some(by_person)));
}

#[test]
fn the_file_of_a_large_output_is_not_part_of_the_result() {
    for tool in ["run_shell_command", "mcp__logs__read"] {
        let parse = |file: &str| {
            let text = format!(
                "Tool output was too large and has been truncated.\nThe full output has been saved to: /home/dev/{file}\n\
                 To read the complete output, use another tool.\n\nTruncated part of the output:\nCommand: make\n\
                 Directory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: 0\nProcess Group PGID: 1"
            );
            let payload = json!({ "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": tool,
                "tool_input": {}, "tool_response": { "llmContent": text } });
            read(payload.to_string().as_bytes()).expect("readable").loop_event
        };
        assert_eq!(parse("d28aeaa68078.output"), parse("0b1f6d3e9a77.output"), "{tool}");
    }
}

#[test]
fn the_end_of_a_turn_is_never_attributed_to_a_hook() {
    let payload = br#"{"session_id":"s","hook_event_name":"Stop","stop_hook_active":true}"#;
    let loop_event = read(payload).expect("readable").loop_event;
    assert_eq!(loop_event, Some(LoopEvent::Stop { blocked: false, running: None, end: TurnEnd::Idle }));
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_a_missing_session_is_an_error() {
    assert_eq!(read(br#"{"session_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    for response in ["null", "[]", "{}", "7", "\"text\"", r#"{"llmContent":7}"#] {
        let input = format!(
            r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"run_shell_command","tool_input":{{}},"tool_response":{response}}}"#
        );
        assert!(read(input.as_bytes()).expect("readable").loop_event.is_some(), "{input}");
    }
    let cancelled = br#"{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"x","tool_input":{},
        "error":"User cancelled tool execution.","is_interrupt":true}"#;
    let Some(LoopEvent::ToolEnd { result, .. }) = read(cancelled).expect("readable").loop_event else {
        panic!("an end")
    };
    assert_eq!(result.outcome, Outcome::Cancelled);
}
