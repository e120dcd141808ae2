//! Cline's payloads and answers, and properties that hold for all of them: a denial never ends the run, a stop always
//! does.

mod self_test;

use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::cline::{answer, event, read};
use haltline_agents::hook::{HookCall, HookEvent, ReadError};
use haltline_core::identity::Outcome;
use haltline_core::loop_::LoopEvent;
use haltline_core::{CircuitName, Reason, Retry, Verdict};
use serde_json::{Value, json};

use crate::golden;

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

fn hook_call(name: &str) -> HookCall {
    golden::hook_call(Client::Cline, event(name), name)
}

#[test]
fn every_payload_is_parsed_as_recorded() {
    golden::compare(&folder(), "readings.txt", &golden::parsed_payloads(Client::Cline, &folder()));
}

#[test]
fn every_event_and_verdict_gets_the_recorded_answer() {
    golden::compare(&folder(), "answers.txt", &golden::answers(&EVENTS.map(hook_call)));
}

#[test]
fn only_a_stop_ends_the_run_and_only_a_denial_removes_the_arguments() {
    for name in EVENTS {
        for verdict in golden::verdicts() {
            let Some(line) = answer(&hook_call(name), &verdict, Some("a notice")) else { continue };
            assert!(!line.contains('\n') && !line.contains("a notice"), "{line}");
            let value: Value = serde_json::from_str(&line).expect("JSON");
            let is_stop = matches!(verdict, Verdict::Stop(_));
            assert_eq!(value.get("cancel").is_some(), is_stop, "{name}: {line}");
            let is_denial = matches!(verdict, Verdict::Deny(_)) && event(name) == HookEvent::ToolStart;
            assert_eq!(value.get("overrideInput").is_some(), is_denial, "{name}: {line}");
            assert!(value.get("review").is_none(), "nobody is asked: {line}");
        }
    }
}

#[test]
fn a_text_is_never_longer_than_the_client_keeps() {
    let circuit = CircuitName::from_stored("loop/x".to_owned());
    let reason = Reason { circuit, code: "code", text: "ü".repeat(60_000), retry: Retry::Now };
    let line = answer(&hook_call("tool_call"), &Verdict::Deny(reason), None).expect("a refusal");
    let value: Value = serde_json::from_str(&line).expect("JSON");
    assert!(value["contextModification"].as_str().is_some_and(|text| text.len() <= 40_000));
}

fn parse(payload: &Value) -> LoopEvent {
    read(payload.to_string().as_bytes()).expect("readable").loop_event.expect("it happened")
}

fn call(iteration: Value, id: Value, input: Value) -> Value {
    json!({ "hookName": "tool_call", "taskId": "conv_1", "agent_id": "agent_1", "parent_agent_id": null,
        "iteration": iteration, "tool_call": { "id": id, "name": "run_commands", "input": input } })
}

#[test]
fn an_id_reused_in_the_next_response_is_another_call() {
    let ids = |payload: &Value| match parse(payload) {
        LoopEvent::ToolStart { call, response: message, .. } => (call, message),
        other => panic!("{other:?}"),
    };
    let first = ids(&call(json!(1), json!("call_0"), json!({ "commands": ["make"] })));
    let second = ids(&call(json!(2), json!("call_0"), json!({ "commands": ["make"] })));
    assert_ne!(first, second);
    assert_eq!(first, ids(&call(json!(1), json!("call_0"), json!({ "commands": ["make"] }))), "told twice, it is one");
}

#[test]
fn all_forms_of_a_command_are_one_action() {
    let identity = |input: Value| match parse(&call(json!(1), json!("c"), input)) {
        LoopEvent::ToolStart { action, .. } => (action.identity, action.command),
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
fn the_end_of_a_denied_call_has_no_action() {
    let denied = json!({ "hookName": "tool_result", "taskId": "conv_1", "iteration": 4, "tool_result": { "id": "c",
        "name": "run_commands", "input": null, "output": { "error": "Invalid input" }, "error": "[object Object]" } });
    let LoopEvent::ToolEnd { call, action, result } = parse(&denied) else { panic!("no end") };
    assert_eq!((call.as_str(), action, result.outcome), ("4/c", None, Outcome::Failed));
}

#[test]
fn a_field_of_the_wrong_type_is_unknown_and_a_missing_session_is_an_error() {
    assert_eq!(read(br#"{"taskId":7,"sessionContext":[]}"#), Err(ReadError::NoSession));
    assert_eq!(read(b"[]"), Err(ReadError::NotAnObject));
    let parsed = read(
        br#"{"taskId":"t","sessionContext":7,"workspaceRoots":[null],"agent_id":[],"parent_agent_id":"p",
        "hookName":"tool_call","iteration":{},"tool_call":{"id":12,"name":"read_files","input":"x"}}"#,
    )
    .expect("readable");
    assert_eq!((parsed.hook.agent.session.as_str(), parsed.hook.agent.sub_agent, parsed.folder), ("t", None, None));
    assert!(matches!(parsed.loop_event, Some(LoopEvent::ToolStart { .. })));
    for input in [
        r#"{"taskId":"t","hookName":"tool_call","tool_call":{"name":7}}"#,
        r#"{"taskId":"t","hookName":"tool_call","tool_call":[]}"#,
        r#"{"taskId":"t","hookName":"tool_result"}"#,
        r#"{"taskId":"t","hookName":9}"#,
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").loop_event, None, "{input}");
    }
}
