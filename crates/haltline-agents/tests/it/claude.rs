//! Claude Code's payloads and answers, and properties that hold for all of them.

mod self_test;
mod transcript;

use std::fs;
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::claude::{answer, event, read};
use haltline_agents::hook::{HookCall, ReadError};
use haltline_core::identity::Outcome;
use haltline_core::loop_::{LoopEvent, TurnEnd};
use haltline_core::{CircuitName, Reason, Retry, Verdict};

use crate::golden;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/claude/2.1.325")
}

fn payload(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).expect("the payload is there")
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::Claude, &folder()));
}

const EVENTS: [&str; 14] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PreCompact",
    "SessionEnd",
    "ConfigChange",
    "Notification",
];

fn hook_call(name: &str) -> HookCall {
    golden::hook_call(Client::Claude, event(name), name)
}

#[test]
fn every_event_and_verdict_gets_the_recorded_answer() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(hook_call)));
}

#[test]
fn no_answer_allows_a_call_prolongs_a_turn_or_breaks_the_line() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            for notice in [None, Some("two\nlines")] {
                let Some(line) = answer(&hook_call(name), &verdict, notice) else { continue };
                assert!(!line.contains("allow") && !line.contains('\n'), "{line}");
                let prolongs = line.contains("additionalContext") || line.contains("decision");
                assert!(!(name.ends_with("Stop") && prolongs), "{name}: {line}");
            }
        }
    }
}

#[test]
fn long_reasons_are_capped_in_every_field() {
    let circuit = CircuitName::from_stored("loop/x".to_owned());
    let reason = Reason { circuit, code: "code", text: "ü".repeat(30_000), retry: Retry::Now };
    let notice = "😀".repeat(30_000);
    for name in EVENTS {
        let verdict = Verdict::Stop(reason.clone());
        let Some(line) = answer(&hook_call(name), &verdict, Some(&notice)) else { continue };
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let mut texts = vec![&value];
        while let Some(value) = texts.pop() {
            assert!(value.as_str().is_none_or(|text| text.encode_utf16().count() <= 10_000), "{name}");
            texts.extend(value.as_object().into_iter().flat_map(|fields| fields.values()));
        }
    }
}

#[test]
fn a_payload_without_a_session_is_an_error() {
    for input in [r#"{"hook_event_name":"Stop"}"#, r#"{"session_id":7}"#, r#"{"session_id":""}"#, "{}"] {
        assert_eq!(read(input.as_bytes()), Err(ReadError::NoSession), "{input}");
    }
    for input in ["", "null", "[\"s\"]", "\"s\"", "7"] {
        assert_eq!(read(input.as_bytes()), Err(ReadError::NotAnObject), "{input}");
    }
    let broken = read(b"{\"session_id\":\"s\",").expect_err("broken").to_string();
    assert_eq!(broken, "hook input: malformed at line 1 column 18, expected a JSON object");
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_nothing_else_is_lost() {
    let parsed = read(
        br#"{"session_id":"s","hook_event_name":"PostToolUse","cwd":7,"agent_id":[],"prompt_id":{},
        "tool_name":"Bash","tool_input":"ls","tool_use_id":12,"tool_response":null}"#,
    )
    .expect("readable");
    assert_eq!((parsed.folder, parsed.hook.agent.sub_agent), (None, None));
    let Some(LoopEvent::ToolEnd { call, result, .. }) = parsed.loop_event else { panic!("no end of a call") };
    assert_eq!(call.len(), 16);
    assert_eq!(result.outcome, Outcome::Ok);
    for (input, expected) in [
        (r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":null}"#, None),
        (r#"{"session_id":"s","hook_event_name":"SubagentStart","agent_id":3}"#, None),
        (r#"{"session_id":"s","hook_event_name":9}"#, None),
        (
            r#"{"session_id":"s","hook_event_name":"Stop","stop_hook_active":"yes","background_tasks":{}}"#,
            Some(LoopEvent::Stop { blocked: false, running: None, end: TurnEnd::Idle }),
        ),
        (
            r#"{"session_id":"s","hook_event_name":"Stop","background_tasks":[3,null,{"id":1,"type":"subagent","status":"running"}]}"#,
            Some(LoopEvent::Stop { blocked: false, running: Some(Vec::new()), end: TurnEnd::Waiting }),
        ),
        (
            r#"{"session_id":"s","hook_event_name":"PostToolBatch","tool_calls":7}"#,
            Some(LoopEvent::Batch { ends: Vec::new() }),
        ),
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").loop_event, expected, "{input}");
    }
    let batch = br#"{"session_id":"s","hook_event_name":"PostToolBatch","tool_calls":[null,{"tool_name":"Bash"},5]}"#;
    let Some(LoopEvent::Batch { ends }) = read(batch).expect("readable").loop_event else { panic!("no batch") };
    assert_eq!(ends.len(), 1);
}

#[test]
fn invalid_utf8_and_bytes_after_the_object_do_no_harm() {
    let mut input =
        b"\xef\xbb\xbf\n{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"\xff\xfe".to_vec();
    input.extend_from_slice(b"\\nSUDO PARALLEL\\n\\u0000\\ud83d\"}\n\0\0");
    let parsed = read(&input).expect("readable");
    assert_eq!(parsed.loop_event, Some(LoopEvent::Prompt { by_user: true, bypass: true }));
}

#[test]
fn a_call_without_an_id_gets_the_same_id_before_and_after() {
    let call_id = |file: &str| match read(&payload(file)).expect("readable").loop_event {
        Some(LoopEvent::ToolStart { call, .. } | LoopEvent::ToolEnd { call, .. }) => call,
        other => panic!("{other:?}"),
    };
    assert_eq!(call_id("PreToolUse.without-id.json"), call_id("PostToolUse.Bash.without-id.json"));
    assert_ne!(call_id("PreToolUse.without-id.json"), call_id("PreToolUse.Edit.json"));
}

#[test]
fn a_call_with_a_timestamp_is_still_claudes() {
    let mut names: Vec<_> = fs::read_dir(folder()).expect("there").flatten().map(|file| file.file_name()).collect();
    names.retain(|name| name.to_string_lossy().ends_with(".json"));
    let mut calls = 0;
    for name in names {
        let mut dated: serde_json::Value = serde_json::from_slice(&payload(&name.to_string_lossy())).expect("JSON");
        let plain = dated.to_string();
        if !["tool_use_id", "tool_response", "tool_calls"].iter().any(|field| dated.get(field).is_some()) {
            continue;
        }
        calls += 1;
        dated["timestamp"] = "2026-03-01T10:15:33.400Z".into();
        assert_eq!(read(dated.to_string().as_bytes()), read(plain.as_bytes()), "{name:?}");
    }
    assert!(calls > 5, "{calls}");
}
