//! Golden files: how each payload of one version of a client is parsed, and every answer to every event. Both are text
//! files for people; `UPDATE_GOLDEN=1` rewrites them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use haltline_agents::Client;
use haltline_agents::hook::{HookCall, HookEvent, ParsedHook};
use haltline_core::identity::CallResult;
use haltline_core::loop_::{AgentRef, LoopEvent, TurnEnd};
use haltline_core::{CircuitName, Reason, Retry, Verdict};

/// Compares the text with a golden file, or writes the file.
pub fn compare(folder: &Path, name: &str, found: &str) {
    let path = folder.join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).expect("the tree can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}: run with UPDATE_GOLDEN=1 if it is meant", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}: run with UPDATE_GOLDEN=1 if it is meant");
}

fn describe_result(result: &CallResult) -> String {
    let mut text = format!("{:?}", result.outcome).to_lowercase();
    if let Some(exit) = result.exit {
        write!(text, " exit {exit}").expect("a String takes it");
    }
    if let Some(child) = &result.sub_agent {
        write!(text, " child {child}{}", if result.is_sub_agent_running { " running" } else { "" })
            .expect("a String takes it");
    }
    text
}

fn describe_event(event: &LoopEvent) -> String {
    let word = event.cause();
    match event {
        LoopEvent::SessionStart { model, resumed, is_nested } => {
            format!("{word} model {model:?} resumed {resumed} nested {is_nested}")
        }
        LoopEvent::Prompt { by_user, bypass } => format!("{word} by_user {by_user} bypass {bypass}"),
        LoopEvent::ToolStart { call, action, .. } => format!("{word} {call} {}", action.tool),
        LoopEvent::ToolEnd { call, action, result } => {
            let tool = action.as_ref().map_or("?", |action| action.tool.as_str());
            format!("{word} {call} {tool}: {}", describe_result(result))
        }
        LoopEvent::Batch { ends } => {
            let each = ends
                .iter()
                .map(|end| format!("\n    {} {}: {}", end.call, end.action.tool, describe_result(&end.result)));
            format!("{word} of {}{}", ends.len(), each.collect::<String>())
        }
        LoopEvent::SpawnStart { sub_agent: child, depth } => format!("{word} {child} depth {depth:?}"),
        LoopEvent::SpawnEnd { sub_agent: child } => format!("{word} {}", child.as_deref().unwrap_or("of the oldest")),
        LoopEvent::Stop { blocked, running, end } => {
            let waiting = if *end == TurnEnd::Waiting { " waiting" } else { "" };
            format!("{word} blocked {blocked} running {running:?}{waiting}")
        }
        LoopEvent::Compaction { trigger, .. } => format!("{word} {trigger}"),
        LoopEvent::Cleanup { .. }
        | LoopEvent::HooksRemoved { .. }
        | LoopEvent::Forged { .. }
        | LoopEvent::ModelStart
        | LoopEvent::ProviderFault(_) => word.to_owned(),
        LoopEvent::SessionEnd { reason } => format!("{word} {reason}"),
        LoopEvent::Message { usage, cost, last_response: last, .. } => {
            let tokens = usage.map(|usage| [usage.input, usage.output, usage.cache_read, usage.cache_write]);
            format!("{word} {last:?} tokens {tokens:?} cost {cost:?}")
        }
        LoopEvent::Hook { .. } => format!("{word}: not from a hook"),
    }
}

fn describe_parsed_hook(parsed: &ParsedHook) -> String {
    let HookCall { name, agent: agent_ref, .. } = &parsed.hook;
    let agent = agent_ref.sub_agent.as_deref().unwrap_or("main");
    let batched = if agent_ref.marks_batches { "batched" } else { "not batched" };
    let mut text = format!("  {name} of {} {agent}, {}, {batched}\n", agent_ref.session, agent_ref.client);
    let what = parsed.loop_event.as_ref().map_or("nothing to decide".to_owned(), describe_event);
    writeln!(text, "  {what}").expect("a String takes it");
    let fault = parsed.stated_fault.as_ref();
    for (name, value) in [
        ("service fault", &fault.map(|fault| format!("{:?} {:?}", fault.kind, fault.reset))),
        ("folder", &parsed.folder),
        ("model", &parsed.model),
        ("transcript to read now", &parsed.transcript_path),
        (
            "settled by the transcript",
            &parsed.pending_outcome.as_ref().map(|pending_outcome| pending_outcome.call.clone()),
        ),
        ("config file", &parsed.config_file),
    ] {
        if let Some(value) = value {
            writeln!(text, "  {name} {value}").expect("a String takes it");
        }
    }
    text
}

/// Every payload of a folder with what haltline reads from it.
pub fn parsed_payloads(client: Client, folder: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".json"))
        .collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let payload = fs::read(folder.join(&name)).expect("the payload is there");
        let parsed = (client.protocol().read)(&payload).expect("a payload of the client can be read");
        writeln!(text, "{name}\n{}", describe_parsed_hook(&parsed)).expect("a String takes it");
    }
    text
}

/// One verdict of each kind, with the same reason.
pub fn verdicts() -> [Verdict; 4] {
    let circuit = CircuitName::from_stored("loop/tool_failure".to_owned());
    let reason = Reason { circuit, code: "code", text: "the same call failed 3 times".to_owned(), retry: Retry::Now };
    [Verdict::Pass, Verdict::Warn(reason.clone()), Verdict::Deny(reason.clone()), Verdict::Stop(reason)]
}

/// A hook of a client that waits for an answer.
pub fn hook_call(client: Client, event: HookEvent, name: &str) -> HookCall {
    HookCall { client, event, name: name.to_owned(), agent: AgentRef::default() }
}

/// Every answer to every event. A notice is given only if the client shows it.
pub fn answers(events: &[HookCall]) -> String {
    let mut text = String::new();
    for hook in events {
        let protocol = hook.client.protocol();
        writeln!(text, "{}", hook.name).expect("a String takes it");
        for verdict in verdicts() {
            for notice in [None, Some("for the person")] {
                let is_shown = protocol.shows_notice(hook, &verdict);
                let line = match notice {
                    Some(_) if !is_shown => "the notice waits".to_owned(),
                    notice => (protocol.answer)(hook, &verdict, notice).unwrap_or_else(|| "silence".to_owned()),
                };
                let word = if notice.is_some() { "and a notice" } else { "" };
                writeln!(text, "  {:5}{word:13}{line}", verdict.as_str()).expect("a String takes it");
            }
        }
        text.push('\n');
    }
    text
}
