//! Qwen Code's payloads and answers, and what holds of all of them.

mod golden;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::hook::{Asked, HookEvent, ReadError};
use haltline_agents::qwen::{answer, event, read};
use haltline_core::identity::Outcome;
use haltline_core::loop_::Happening;
use serde_json::{Value, json};

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

fn asked(name: &str) -> Asked {
    let (name, has_prompt) = name.strip_suffix(", empty").map_or((name, true), |name| (name, false));
    golden::asked(Client::Qwen, event(name, has_prompt), name)
}

#[test]
fn every_payload_is_read_as_agreed() {
    golden::compare(&folder(), "readings.txt", &golden::readings(Client::Qwen, &folder()));
}

#[test]
fn every_event_and_verdict_is_answered_as_agreed() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(asked)));
}

#[test]
fn no_answer_allows_a_call_or_keeps_an_agent_going_that_wants_to_end() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            for notice in [None, Some("two\nlines")] {
                let Some(line) = answer(&asked(name), &verdict, notice) else { continue };
                let value: Value = serde_json::from_str(&line).expect("JSON");
                assert!(!line.contains('\n') && !line.contains("allow"), "{line}");
                assert!(!name.contains("Stop") || value["decision"].is_null(), "{line}");
            }
        }
    }
}

#[test]
fn a_prompt_without_words_is_the_next_request_and_no_prompt() {
    let told = |prompt: &str| {
        let payload = format!(r#"{{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":{prompt}}}"#);
        let reading = read(payload.as_bytes()).expect("readable");
        (reading.asked.event, reading.what)
    };
    for prompt in [r#""""#, "null", "7", r#"" \n""#, r#""\n\nbranch: main""#] {
        assert_eq!(told(prompt), (HookEvent::ModelStart, Some(Happening::ModelStart)), "{prompt}");
    }
    let by_person = Happening::Prompt { by_user: true, bypass: false };
    assert_eq!(told(r#""go on""#), (HookEvent::Prompt, Some(by_person)));
}

#[test]
fn where_a_large_output_was_saved_is_no_part_of_an_answer() {
    for tool in ["run_shell_command", "mcp__logs__read"] {
        let told = |file: &str| {
            let text = format!(
                "Tool output was too large and has been truncated.\nThe full output has been saved to: /home/dev/{file}\n\
                 To read the complete output, use another tool.\n\nTruncated part of the output:\nCommand: make\n\
                 Directory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: 0\nProcess Group PGID: 1"
            );
            let payload = json!({ "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": tool,
                "tool_input": {}, "tool_response": { "llmContent": text } });
            read(payload.to_string().as_bytes()).expect("readable").what
        };
        assert_eq!(told("d28aeaa68078.output"), told("0b1f6d3e9a77.output"), "{tool}");
    }
}

#[test]
fn an_end_is_never_blamed_on_a_hook() {
    let payload = br#"{"session_id":"s","hook_event_name":"Stop","stop_hook_active":true}"#;
    let what = read(payload).expect("readable").what;
    assert_eq!(what, Some(Happening::Stop { blocked: false, running: None }));
}

#[test]
fn wrong_kinds_are_unknown_and_without_a_session_there_is_nothing() {
    assert_eq!(read(br#"{"session_id":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    for response in ["null", "[]", "{}", "7", "\"text\"", r#"{"llmContent":7}"#] {
        let input = format!(
            r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"run_shell_command","tool_input":{{}},"tool_response":{response}}}"#
        );
        assert!(read(input.as_bytes()).expect("readable").what.is_some(), "{input}");
    }
    let cancelled = br#"{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"x","tool_input":{},
        "error":"User cancelled tool execution.","is_interrupt":true}"#;
    let Some(Happening::ToolEnd { answer, .. }) = read(cancelled).expect("readable").what else { panic!("an end") };
    assert_eq!(answer.outcome, Outcome::Cancelled);
}
