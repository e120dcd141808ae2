//! The events and answers of OpenCode's plugin, and properties that hold for all of them. The plugin itself runs if
//! there is a `node`.

mod self_test;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haltline_agents::Client;
use haltline_agents::hook::{HookCall, ReadError};
use haltline_agents::install::{Form, Hook};
use haltline_agents::opencode::{answer, event, read};
use haltline_core::identity::Outcome;
use haltline_core::loop_::LoopEvent;
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::{Value, json};

use crate::golden;

const EVENTS: [&str; 10] = [
    "session.created",
    "chat.message",
    "tool.execute.before",
    "tool.execute.after",
    "tool.failed",
    "step-finish",
    "session.idle",
    "session.compacted",
    "session.deleted",
    "session.ended",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/opencode/1.18.33")
}

fn hook_call(name: &str) -> HookCall {
    golden::hook_call(Client::OpenCode, event(name, false), name)
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::OpenCode, &folder()));
}

#[test]
fn every_event_and_verdict_gets_the_recorded_answer() {
    let mut events = EVENTS.map(hook_call).to_vec();
    let sub_agent_events = ["session.created", "session.idle"];
    let sub_agent_call =
        |name: &str| golden::hook_call(Client::OpenCode, event(name, true), &format!("{name} of a child"));
    events.extend(sub_agent_events.map(sub_agent_call));
    golden::compare(&folder(), "answers.txt", &golden::answers(&events));
}

#[test]
fn only_events_that_wait_are_denied_and_always_with_a_reason() {
    for text in ["", " ", &"ü".repeat(30_000)] {
        let circuit = CircuitName::from_stored("loop/x".to_owned());
        let reason = Reason { circuit, code: "code", text: text.to_owned(), retry: Retry::Now };
        for verdict in [Verdict::Deny(reason.clone()), Verdict::Stop(reason)] {
            for name in EVENTS {
                let line = answer(&hook_call(name), &verdict, None).unwrap_or_else(|| "{}".to_owned());
                assert!(!line.contains('\n'), "{line}");
                let value: Value = serde_json::from_str(&line).expect("JSON");
                let waits = ["chat.message", "tool.execute.before"].contains(&name);
                let deny = value["deny"].as_str();
                assert_eq!(deny.is_some(), waits, "{name}: {line}");
                assert!(deny.is_none_or(|reason| !reason.trim().is_empty() && reason.len() <= 8_000), "{line}");
            }
        }
    }
}

#[test]
fn a_call_with_the_same_id_in_another_response_is_another_call() {
    let ids = |message: &str| {
        let line = json!({ "event": "tool.execute.before", "session": "s", "tool": "bash", "call": "call_0",
            "message": message, "input": { "command": "ls" } });
        match read(line.to_string().as_bytes()).expect("readable").loop_event {
            Some(LoopEvent::ToolStart { call, response: message, .. }) => (call, message),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ids("m1"), ("m1/call_0".to_owned(), Some("m1".to_owned())));
    assert_eq!(ids("m2"), ("m2/call_0".to_owned(), Some("m2".to_owned())));
    assert_eq!(ids(""), ("call_0".to_owned(), None));
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_a_missing_session_is_an_error() {
    assert_eq!(read(br#"{"session":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let line =
        br#"{"session":"s","event":"tool.execute.after","agent":[],"folder":7,"model":{},"tool":"bash","call":12,
        "message":[],"input":"ls","output":null,"metadata":[1],"isError":"yes"}"#;
    let parsed = read(line).expect("readable");
    assert_eq!((parsed.folder, parsed.model, parsed.hook.agent.sub_agent), (None, None, None));
    let Some(LoopEvent::ToolEnd { call, result, .. }) = parsed.loop_event else { panic!("no end of a call") };
    assert_eq!((call.len(), result.outcome), (16, Outcome::Ok));
    for line in [
        r#"{"session":"s","event":"tool.execute.before","tool":null}"#,
        r#"{"session":"s","event":"tool.failed"}"#,
        r#"{"session":"s","event":"step-finish","tokens":[],"cost":-1}"#,
        r#"{"session":"s","event":"step-finish","tokens":{"input":"many","cache":3},"cost":1e300}"#,
        r#"{"session":"s","event":9}"#,
    ] {
        assert_eq!(read(line.as_bytes()).expect("readable").loop_event, None, "{line}");
    }
}

#[test]
fn a_result_of_megabytes_with_hostile_bytes_is_read() {
    let mut line = br#"{"session":"s","event":"tool.execute.after","tool":"bash","call":"c","input":{"command":"cat x"},"metadata":{"exit":1},"output":""#.to_vec();
    for _ in 0..500_000 {
        line.extend_from_slice(b"\xff\\u0000\\ud83d");
    }
    line.extend_from_slice(b"\"}");
    let parsed = read(&line).expect("readable");
    let Some(LoopEvent::ToolEnd { result, .. }) = parsed.loop_event else { panic!("no end of a call") };
    assert_eq!((result.outcome, result.exit), (Outcome::Failed, Some(1)));
}

/// The plugin as it is installed, with another program instead of haltline.
fn plugin(command: &str) -> String {
    let Form::GeneratedFile(program) = Client::OpenCode.protocol().layout.form else { panic!("OpenCode has a plugin") };
    (program.text)(&Hook { command: command.to_owned(), args: vec!["hook".to_owned(), "opencode".to_owned()] })
}

#[test]
fn the_plugin_obeys_answers_and_never_blocks_the_client() {
    let has_node = Command::new("node").arg("--version").stdout(Stdio::null()).status().is_ok_and(|it| it.success());
    assert!(has_node || std::env::var_os("CI").is_none(), "node is needed in CI");
    if !has_node {
        eprintln!("there is no node here: the plugin is not run");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opencode");
    std::fs::create_dir_all(&folder).expect("created");
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/opencode/plugin_checks.mjs");
    // Instead of haltline, a short program that answers as the event demands.
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/opencode/stand_in.mjs");
    std::fs::write(folder.join("haltline.mjs"), plugin(&stand_in.display().to_string())).expect("written");
    std::fs::write(folder.join("missing.mjs"), plugin("/nowhere/haltline")).expect("written");
    std::fs::write(folder.join("leaving.mjs"), plugin("true")).expect("written");
    let run = Command::new("node").args(["--test", "--test-reporter=tap"]).arg(checks).env("PLUGINS", &folder).output();
    let output = run.expect("node runs");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
}
