//! What OpenCode's plugin says and hears, and what holds of all of it. The plugin itself is run where there is a node.

mod golden;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haltline_agents::Client;
use haltline_agents::hook::{Asked, ReadError};
use haltline_agents::install::{Form, Hook};
use haltline_agents::opencode::{answer, event, read};
use haltline_core::identity::Outcome;
use haltline_core::loop_::Happening;
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::{Value, json};

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

fn asked(name: &str) -> Asked {
    golden::asked(Client::OpenCode, event(name, false), name)
}

#[test]
fn every_payload_is_read_as_agreed() {
    golden::compare(&folder(), "readings.txt", &golden::readings(Client::OpenCode, &folder()));
}

#[test]
fn every_event_and_verdict_is_answered_as_agreed() {
    let mut events = EVENTS.map(asked).to_vec();
    let of_children = ["session.created", "session.idle"];
    let of_child = |name: &str| golden::asked(Client::OpenCode, event(name, true), &format!("{name} of a child"));
    events.extend(of_children.map(of_child));
    golden::compare(&folder(), "answers.txt", &golden::answers(&events));
}

#[test]
fn only_what_waits_is_refused_and_always_with_a_reason() {
    for text in ["", " ", &"ü".repeat(30_000)] {
        let circuit = CircuitName::stored("loop/x".to_owned());
        let reason = Reason { circuit, code: "code", text: text.to_owned(), retry: Retry::Now };
        for verdict in [Verdict::Deny(reason.clone()), Verdict::Stop(reason)] {
            for name in EVENTS {
                let line = answer(&asked(name), &verdict, None).unwrap_or_else(|| "{}".to_owned());
                assert!(!line.contains('\n'), "{line}");
                let value: Value = serde_json::from_str(&line).expect("JSON");
                let waits = ["chat.message", "tool.execute.before"].contains(&name);
                let deny = value["deny"].as_str();
                assert_eq!(deny.is_some(), waits, "{name}: {line}");
                assert!(deny.is_none_or(|said| !said.trim().is_empty() && said.len() <= 8_000), "{line}");
            }
        }
    }
}

#[test]
fn a_call_of_the_same_id_in_another_response_is_another_call() {
    let named = |message: &str| {
        let line = json!({ "event": "tool.execute.before", "session": "s", "tool": "bash", "call": "call_0",
            "message": message, "input": { "command": "ls" } });
        match read(line.to_string().as_bytes()).expect("readable").what {
            Some(Happening::ToolStart { call, message, .. }) => (call, message),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(named("m1"), ("m1/call_0".to_owned(), Some("m1".to_owned())));
    assert_eq!(named("m2"), ("m2/call_0".to_owned(), Some("m2".to_owned())));
    assert_eq!(named(""), ("call_0".to_owned(), None));
}

#[test]
fn wrong_kinds_are_unknown_and_without_a_session_there_is_nothing() {
    assert_eq!(read(br#"{"session":7}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let line =
        br#"{"session":"s","event":"tool.execute.after","agent":[],"folder":7,"model":{},"tool":"bash","call":12,
        "message":[],"input":"ls","output":null,"metadata":[1],"isError":"yes"}"#;
    let reading = read(line).expect("readable");
    assert_eq!((reading.folder, reading.model, reading.asked.stream.agent), (None, None, None));
    let Some(Happening::ToolEnd { call, answer, .. }) = reading.what else { panic!("no end of a call") };
    assert_eq!((call.len(), answer.outcome), (16, Outcome::Ok));
    for line in [
        r#"{"session":"s","event":"tool.execute.before","tool":null}"#,
        r#"{"session":"s","event":"tool.failed"}"#,
        r#"{"session":"s","event":"step-finish","tokens":[],"cost":-1}"#,
        r#"{"session":"s","event":"step-finish","tokens":{"input":"many","cache":3},"cost":1e300}"#,
        r#"{"session":"s","event":9}"#,
    ] {
        assert_eq!(read(line.as_bytes()).expect("readable").what, None, "{line}");
    }
}

#[test]
fn an_answer_of_three_megabytes_and_hostile_bytes_is_read() {
    let mut line = br#"{"session":"s","event":"tool.execute.after","tool":"bash","call":"c","input":{"command":"cat x"},"metadata":{"exit":1},"output":""#.to_vec();
    for _ in 0..500_000 {
        line.extend_from_slice(b"\xff\\u0000\\ud83d");
    }
    line.extend_from_slice(b"\"}");
    let reading = read(&line).expect("readable");
    let Some(Happening::ToolEnd { answer, .. }) = reading.what else { panic!("no end of a call") };
    assert_eq!((answer.outcome, answer.exit), (Outcome::Failed, Some(1)));
}

/// The plugin as it is installed, with a program in haltline's place.
fn plugin(command: &str) -> String {
    let Form::Program(program) = Client::OpenCode.protocol().layout.form else { panic!("OpenCode has a plugin") };
    (program.text)(&Hook { command: command.to_owned(), args: vec!["hook".to_owned(), "opencode".to_owned()] })
}

#[test]
fn the_plugin_does_what_it_is_told_and_is_in_nobodys_way() {
    let has_node = Command::new("node").arg("--version").stdout(Stdio::null()).status().is_ok_and(|it| it.success());
    assert!(has_node || std::env::var_os("CI").is_none(), "node is needed in CI");
    if !has_node {
        eprintln!("there is no node here: the plugin is not run");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opencode");
    std::fs::create_dir_all(&folder).expect("created");
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opencode/plugin_checks.mjs");
    // In haltline's place a program of a few lines that answers as the event asks.
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opencode/stand_in.mjs");
    std::fs::write(folder.join("haltline.mjs"), plugin(&stand_in.display().to_string())).expect("written");
    std::fs::write(folder.join("missing.mjs"), plugin("/nowhere/haltline")).expect("written");
    std::fs::write(folder.join("leaving.mjs"), plugin("true")).expect("written");
    let run = Command::new("node").args(["--test", "--test-reporter=tap"]).arg(checks).env("PLUGINS", &folder).output();
    let output = run.expect("node runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
