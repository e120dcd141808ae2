//! Cline's payloads and answers, and what holds of all of them: a refusal never ends the run, and a stop always does.

mod golden;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::cline::{answer, event, read};
use haltline_agents::hook::{Asked, HookEvent, ReadError};
use haltline_core::identity::Outcome;
use haltline_core::loop_::Happening;
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::{Value, json};

const EVENTS: [&str; 9] = [
    "agent_start",
    "agent_resume",
    "prompt_submit",
    "tool_call",
    "tool_result",
    "agent_end",
    "agent_error",
    "agent_abort",
    "session_shutdown",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cline/3.0.65")
}

fn asked(name: &str) -> Asked {
    golden::asked(Client::Cline, event(name), name)
}

#[test]
fn every_payload_is_read_as_agreed() {
    golden::compare(&folder(), "readings.txt", &golden::readings(Client::Cline, &folder()));
}

#[test]
fn every_event_and_verdict_is_answered_as_agreed() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(asked)));
}

#[test]
fn only_a_stop_ends_the_run_and_only_a_refusal_touches_the_arguments() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            let Some(line) = answer(&asked(name), &verdict, Some("a notice")) else { continue };
            assert!(!line.contains('\n') && !line.contains("a notice"), "{line}");
            let value: Value = serde_json::from_str(&line).expect("JSON");
            let is_stop = matches!(verdict, Verdict::Stop(_));
            assert_eq!(value.get("cancel").is_some(), is_stop, "{name}: {line}");
            let is_refusal = matches!(verdict, Verdict::Deny(_)) && event(name) == HookEvent::ToolStart;
            assert_eq!(value.get("overrideInput").is_some(), is_refusal, "{name}: {line}");
            assert!(value.get("review").is_none(), "nobody is asked: {line}");
        }
    }
}

#[test]
fn a_text_is_never_longer_than_the_client_keeps() {
    let circuit = CircuitName::stored("loop/x".to_owned());
    let reason = Reason { circuit, code: "code", text: "ü".repeat(60_000), retry: Retry::Now };
    let line = answer(&asked("tool_call"), &Verdict::Deny(reason), None).expect("a refusal");
    let value: Value = serde_json::from_str(&line).expect("JSON");
    assert!(value["contextModification"].as_str().is_some_and(|text| text.len() <= 40_000));
}

fn told(payload: &Value) -> Happening {
    read(payload.to_string().as_bytes()).expect("readable").what.expect("it happened")
}

fn call(iteration: Value, id: Value, input: Value) -> Value {
    json!({ "hookName": "tool_call", "taskId": "conv_1", "agent_id": "agent_1", "parent_agent_id": null,
        "iteration": iteration, "tool_call": { "id": id, "name": "run_commands", "input": input } })
}

#[test]
fn an_id_that_comes_again_in_the_next_response_is_another_call() {
    let name = |payload: &Value| match told(payload) {
        Happening::ToolStart { call, message, .. } => (call, message),
        other => panic!("{other:?}"),
    };
    let first = name(&call(json!(1), json!("call_0"), json!({ "commands": ["make"] })));
    let second = name(&call(json!(2), json!("call_0"), json!({ "commands": ["make"] })));
    assert_ne!(first, second);
    assert_eq!(first, name(&call(json!(1), json!("call_0"), json!({ "commands": ["make"] }))), "told twice, it is one");
}

#[test]
fn the_forms_of_a_command_are_one_action() {
    let identity = |input: Value| match told(&call(json!(1), json!("c"), input)) {
        Happening::ToolStart { action, .. } => (action.identity, action.command),
        other => panic!("{other:?}"),
    };
    let plain = identity(json!({ "commands": ["make test"] }));
    assert_eq!(plain.1.as_deref(), Some("make test"));
    for form in [json!("make test"), json!({ "command": "make", "args": ["test"] }), json!(["make test"])] {
        assert_eq!(identity(form.clone()), plain, "{form}");
    }
    assert_ne!(identity(json!({ "commands": ["make test", "make lint"] })).0, plain.0);
}

#[test]
fn the_end_of_a_refused_call_says_nothing_of_an_action() {
    let refused = json!({ "hookName": "tool_result", "taskId": "conv_1", "iteration": 4, "tool_result": { "id": "c",
        "name": "run_commands", "input": null, "output": { "error": "Invalid input" }, "error": "[object Object]" } });
    let Happening::ToolEnd { call, action, answer } = told(&refused) else { panic!("no end") };
    assert_eq!((call.as_str(), action, answer.outcome), ("4/c", None, Outcome::Failed));
}

#[test]
fn wrong_kinds_are_unknown_and_without_a_session_there_is_nothing() {
    assert_eq!(read(br#"{"taskId":7,"sessionContext":[]}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let reading = read(
        br#"{"taskId":"t","sessionContext":7,"workspaceRoots":[null],"agent_id":[],"parent_agent_id":"p",
        "hookName":"tool_call","iteration":{},"tool_call":{"id":12,"name":"read_files","input":"x"}}"#,
    )
    .expect("readable");
    assert_eq!((reading.asked.stream.session.as_str(), reading.asked.stream.agent, reading.folder), ("t", None, None));
    assert!(matches!(reading.what, Some(Happening::ToolStart { .. })));
    for input in [
        r#"{"taskId":"t","hookName":"tool_call","tool_call":{"name":7}}"#,
        r#"{"taskId":"t","hookName":"tool_call","tool_call":[]}"#,
        r#"{"taskId":"t","hookName":"tool_result"}"#,
        r#"{"taskId":"t","hookName":9}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").what, None, "{input}");
    }
}
