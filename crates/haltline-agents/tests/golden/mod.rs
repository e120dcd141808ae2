//! Payloads of one version of a client with what each is read as, and every answer to every event. Both are text files
//! for people; `UPDATE_GOLDEN=1` writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use haltline_agents::Client;
use haltline_agents::hook::{Asked, HookEvent, Reading};
use haltline_core::identity::Answer;
use haltline_core::loop_::{Happening, Stream};
use haltline_core::{CircuitName, Reason, Retry, Verdict};

/// Compares with, or writes, a file of what was once agreed on.
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

fn told(answer: &Answer) -> String {
    let mut text = format!("{:?}", answer.outcome).to_lowercase();
    if let Some(exit) = answer.exit {
        write!(text, " exit {exit}").expect("a String takes it");
    }
    if let Some(child) = &answer.child {
        write!(text, " child {child}{}", if answer.is_running { " running" } else { "" }).expect("a String takes it");
    }
    text
}

fn happened(what: &Happening) -> String {
    let word = what.cause();
    match what {
        Happening::SessionStart { model, resumed, is_nested } => {
            format!("{word} model {model:?} resumed {resumed} nested {is_nested}")
        }
        Happening::Prompt { by_user, bypass } => format!("{word} by_user {by_user} bypass {bypass}"),
        Happening::ToolStart { call, action, .. } => format!("{word} {call} {}", action.tool),
        Happening::ToolEnd { call, action, answer } => {
            let tool = action.as_ref().map_or("?", |action| action.tool.as_str());
            format!("{word} {call} {tool}: {}", told(answer))
        }
        Happening::Batch { ends } => {
            let each = ends.iter().map(|end| format!("\n    {} {}: {}", end.call, end.action.tool, told(&end.answer)));
            format!("{word} of {}{}", ends.len(), each.collect::<String>())
        }
        Happening::SpawnStart { child, depth } => format!("{word} {child} depth {depth:?}"),
        Happening::SpawnEnd { child } => format!("{word} {}", child.as_deref().unwrap_or("of the oldest")),
        Happening::Stop { blocked, running } => format!("{word} blocked {blocked} running {running:?}"),
        Happening::Compaction { trigger } => format!("{word} {trigger}"),
        Happening::Cleanup { .. } | Happening::ModelStart => word.to_owned(),
        Happening::SessionEnd { reason } => format!("{word} {reason}"),
        Happening::Message { usage, cost, last, .. } => {
            let tokens = usage.map(|usage| [usage.input, usage.output, usage.cache_read, usage.cache_write]);
            format!("{word} {last:?} tokens {tokens:?} cost {cost:?}")
        }
        Happening::Hook { .. } => format!("{word}: not from a hook"),
    }
}

fn shown(reading: &Reading) -> String {
    let Asked { name, stream, .. } = &reading.asked;
    let agent = stream.agent.as_deref().unwrap_or("main");
    let batched = if stream.is_batched { "batched" } else { "not batched" };
    let mut text = format!("  {name} of {} {agent}, {}, {batched}\n", stream.session, stream.client);
    let what = reading.what.as_ref().map_or("nothing to decide".to_owned(), happened);
    writeln!(text, "  {what}").expect("a String takes it");
    for (name, value) in [
        ("folder", &reading.folder),
        ("model", &reading.model),
        ("transcript to read now", &reading.feed),
        ("settled by the transcript", &reading.unsettled.as_ref().map(|unsettled| unsettled.call.clone())),
        ("config file", &reading.config_file),
    ] {
        if let Some(value) = value {
            writeln!(text, "  {name} {value}").expect("a String takes it");
        }
    }
    text
}

/// Every payload of a folder with what it is read as.
pub fn readings(client: Client, folder: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".json"))
        .collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let payload = fs::read(folder.join(&name)).expect("the payload is there");
        let reading = (client.protocol().read)(&payload).expect("a payload of the client can be read");
        writeln!(text, "{name}\n{}", shown(&reading)).expect("a String takes it");
    }
    text
}

/// One reason in each verdict.
pub fn verdicts() -> [Verdict; 4] {
    let circuit = CircuitName::stored("loop/tool_failure".to_owned());
    let reason = Reason { circuit, code: "code", text: "the same call failed 3 times".to_owned(), retry: Retry::Now };
    [Verdict::Pass, Verdict::Warn(reason.clone()), Verdict::Deny(reason.clone()), Verdict::Stop(reason)]
}

/// An event of a client that waits for an answer.
pub fn asked(client: Client, event: HookEvent, name: &str) -> Asked {
    Asked { client, event, name: name.to_owned(), stream: Stream::default() }
}

/// Every answer to every event. A notice is given only where the client shows it.
pub fn answers(events: &[Asked]) -> String {
    let mut text = String::new();
    for asked in events {
        let protocol = asked.client.protocol();
        writeln!(text, "{}", asked.name).expect("a String takes it");
        for verdict in verdicts() {
            for notice in [None, Some("for the person")] {
                let is_shown = (protocol.shows_notice)(asked, &verdict);
                let line = match notice {
                    Some(_) if !is_shown => "the notice waits".to_owned(),
                    notice => (protocol.answer)(asked, &verdict, notice).unwrap_or_else(|| "silence".to_owned()),
                };
                let word = if notice.is_some() { "and a notice" } else { "" };
                writeln!(text, "  {:5}{word:13}{line}", verdict.word()).expect("a String takes it");
            }
        }
        text.push('\n');
    }
    text
}
