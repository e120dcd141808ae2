//! Concurrent hook processes on the real store: every call counts once, no acknowledged call is lost, and an event that
//! found the store busy is counted later (E2).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Child, Stdio};

use crate::support::Site;
use crate::support::hooks::{Client, facts, waiting};
use haltline_agents::self_test::AnswerEffect;
use haltline_core::identity::Digest;
use serde_json::{Value, json};

const AT_ONCE: usize = 6;
const ROUNDS: usize = 200;

fn call_of(round: usize, index: usize) -> Value {
    json!({
        "tool_name": "Read",
        "tool_input": {"file_path": format!("/src/{round}/{index}.rs")},
        "tool_use_id": format!("toolu_{round}_{index}"),
    })
}

fn with(mut call: Value, key: &str, value: Value) -> Value {
    call[key] = value;
    call
}

/// How often each call is in facts of one kind, by the digest of its id.
fn counted(facts: &[Value], path: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for fact in facts {
        if let Some(call) = fact["fact"].pointer(path) {
            *counts.entry(call.to_string()).or_default() += 1;
        }
    }
    counts
}

fn finish_all(event: &str, children: Vec<Child>) {
    for child in children {
        let result = Client::finish(event, child);
        assert_eq!(result.answer, AnswerEffect::Pass, "{result:?}");
        assert!(!result.to_person.contains("busy"), "{result:?}");
    }
}

#[test]
fn six_hooks_at_once_count_every_call_once_over_two_hundred_rounds() {
    let site = Site::new();
    let client = Client { site: &site, session: "race" };
    client.prompt("read everything");
    for round in 0..ROUNDS {
        let at_once = |event: &str, answer: Option<Value>| {
            let begin = |index| {
                let call = call_of(round, index);
                let call = answer.iter().fold(call, |call, answer| with(call, "tool_response", answer.clone()));
                client.begin(event, call)
            };
            finish_all(event, (0..AT_ONCE).map(begin).collect());
        };
        let answer = json!(format!("content {round}"));
        at_once("PreToolUse", None);
        at_once("PostToolUse", Some(answer.clone()));
        let calls: Vec<Value> =
            (0..AT_ONCE).map(|index| with(call_of(round, index), "tool_response", answer.clone())).collect();
        finish_all("PostToolBatch", vec![client.begin("PostToolBatch", json!({"tool_calls": calls}))]);
    }
    site.assert_verifies();
    let facts = facts(&site);
    let started = counted(&facts, "/lane/started/flight/call");
    let ended = counted(&facts, "/lane/ended/call");
    assert_eq!((started.len(), ended.len()), (ROUNDS * AT_ONCE, ROUNDS * AT_ONCE));
    assert!(started.values().chain(ended.values()).all(|count| *count == 1), "a call counted twice");
    assert_eq!(counted(&facts, "/lane/unended/call").len(), 0);
    assert_eq!(facts.iter().filter(|fact| fact["word"] == "turn_ended").count(), ROUNDS);
    // In whatever order, six starts are one turn.
    let turns = counted(&facts, "/lane/started/flight/turn");
    assert_eq!(turns.len(), ROUNDS);
    assert!(turns.values().all(|count| *count == AT_ONCE), "siblings of one response are in one turn");
    assert!(facts.iter().all(|fact| fact["word"] != "warned" && fact["word"] != "tripped"));
}

/// A small random generator, so that one seed gives one order of kills.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
fn fifty_rounds_of_killed_hooks_lose_no_acknowledged_call_and_leave_a_clean_journal() {
    const KILLS: usize = 50;
    let site = Site::new();
    let client = Client { site: &site, session: "killed" };
    client.prompt("read everything");
    let mut dice = Dice(7);
    let mut acknowledged = BTreeSet::new();
    for round in 0..KILLS {
        let mut children: Vec<Child> =
            (0..AT_ONCE).map(|index| client.begin("PreToolUse", call_of(round, index))).collect();
        // Spinning is not sleeping: the kill must fall anywhere between the first instruction and the last.
        for _ in 0..dice.roll(3_000_000) {
            std::hint::spin_loop();
        }
        // The ones that started last are the least likely to have ended.
        for child in children.iter_mut().rev().take(AT_ONCE / 2) {
            child.kill().expect("kill -9 reaches it, or it has ended");
        }
        for (index, child) in children.into_iter().enumerate() {
            if child.wait_with_output().expect("waited for").status.success() {
                acknowledged.insert((round, index));
            }
        }
        client.deliver("PostToolBatch", json!({"tool_calls": []}));
        if round % 10 == 9 {
            site.assert_verifies();
        }
    }
    let tried = KILLS * AT_ONCE;
    let started = counted(&facts(&site), "/lane/started/flight/call");
    assert!(started.values().all(|count| *count == 1), "a call counted twice");
    for (round, index) in &acknowledged {
        let name = Digest::from_parts(&[format!("toolu_{round}_{index}").as_bytes()]).0.to_string();
        assert!(started.contains_key(&name), "call {index} of round {round} was acknowledged and is lost");
    }
    assert!(started.len() <= tried, "{} are there, {tried} were tried", started.len());
    assert!(acknowledged.len() >= tried / 2, "those that nobody killed were acknowledged");
    assert!(acknowledged.len() < tried, "the kills came too late to mean anything");
    site.assert_verifies();
}

#[test]
fn an_event_that_found_the_store_busy_waits_in_the_spool_and_counts_exactly_once() {
    let site = Site::new();
    let client = Client { site: &site, session: "busy" };
    client.prompt("read everything");
    let before = facts(&site).len();
    let lock = std::fs::File::options().write(true).open(site.state().join("state.lock")).expect("there is a store");
    lock.lock().expect("locked");
    let result = client.deliver("PreToolUse", call_of(0, 0));
    assert_eq!(result.answer, AnswerEffect::Pass, "{result:?}");
    assert!(result.to_person.contains("haltline counts the event later"), "one notice: {result:?}");
    let result = client.deliver("PreToolUse", call_of(0, 1));
    assert_eq!((result.answer, result.to_person.as_str()), (AnswerEffect::Pass, ""), "and not again");
    assert_eq!(waiting(&site), 2);
    lock.unlock().expect("unlocked");
    assert_eq!(facts(&site).len(), before, "nothing was written meanwhile");
    assert_eq!(client.deliver("PreToolUse", call_of(0, 2)).answer, AnswerEffect::Pass);
    assert!(!site.state().join("spool").exists(), "taken in");
    for index in 0..3 {
        // The client's retry of the same call is not counted again.
        assert_eq!(client.deliver("PreToolUse", call_of(0, index)).answer, AnswerEffect::Pass);
    }
    let started = counted(&facts(&site), "/lane/started/flight/call");
    assert_eq!(started.values().copied().collect::<Vec<_>>(), [1, 1, 1]);
    site.assert_verifies();
}

#[test]
fn a_spooled_event_is_counted_by_its_own_project_only() {
    let site = Site::new();
    let other = site.project().join("vendor/other");
    std::fs::create_dir_all(other.join(".git")).expect("created");
    let client = Client { site: &site, session: "here" };
    client.prompt("read everything");
    let lock = std::fs::File::options().write(true).open(site.state().join("state.lock")).expect("there is a store");
    lock.lock().expect("locked");
    client.deliver("PreToolUse", call_of(0, 0));
    lock.unlock().expect("unlocked");
    let elsewhere = Client { site: &site, session: "elsewhere" };
    elsewhere.deliver("UserPromptSubmit", json!({"prompt": "hello", "cwd": other}));
    assert_eq!(waiting(&site), 1, "none of the other project's business");
    client.deliver("PreToolUse", call_of(0, 1));
    assert_eq!(waiting(&site), 0);
    assert_eq!(counted(&facts(&site), "/lane/started/flight/call").len(), 2);
    assert_eq!(site.run(&["journal", "verify", "--all"]).code, Some(0));
}

#[test]
fn twelve_hundred_events_behind_a_foreign_lock_are_all_counted_later() {
    const EVENTS: usize = 1200;
    let site = Site::new();
    let client = Client { site: &site, session: "backlog" };
    client.prompt("read everything");
    let lock = std::fs::File::options().write(true).open(site.state().join("state.lock")).expect("there is a store");
    lock.lock().expect("locked");
    // One process for all of them: after the first it no longer waits.
    let mut stream = site.command(&["hook", "claude", "--stream"]);
    let mut stream = stream.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let mut input = stream.stdin.take().expect("piped");
    for index in 0..EVENTS {
        let payload = with(call_of(1, index), "session_id", json!("backlog"));
        let payload = with(with(payload, "cwd", json!(site.project())), "hook_event_name", json!("PreToolUse"));
        writeln!(input, "{payload}").expect("read");
    }
    drop(input);
    assert!(stream.wait().expect("ends").success());
    assert_eq!(waiting(&site), EVENTS);
    lock.unlock().expect("unlocked");
    let mut hooks = 0;
    while waiting(&site) > 0 {
        client.deliver("PreToolUse", call_of(2, hooks));
        hooks += 1;
        assert!(hooks < EVENTS, "each hook takes some in");
    }
    assert_eq!(counted(&facts(&site), "/lane/started/flight/call").len(), EVENTS + hooks, "0 lost");
    site.assert_verifies();
}

/// A session of Codex whose transcript grows while its hooks run.
struct Growing<'a> {
    site: &'a Site,
    transcript: std::path::PathBuf,
}

impl Growing<'_> {
    fn write(&self, kind: &str, payload: Value) {
        let line = json!({ "timestamp": "2026-03-01T10:15:33.400Z", "type": kind, "payload": payload });
        let mut file = OpenOptions::new().append(true).create(true).open(&self.transcript).expect("a transcript");
        writeln!(file, "{line}").expect("written");
    }

    fn begin(&self, event: &str, call: &str, more: Value) -> Child {
        let mut payload = json!({
            "session_id": "growing",
            "transcript_path": self.transcript,
            "cwd": self.site.project(),
            "model": "gpt-5.4",
            "hook_event_name": event,
            "tool_name": "Bash",
            "tool_use_id": call,
            "tool_input": { "command": format!("echo {call}") },
        });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        let mut command = self.site.command(&["hook", "codex"]);
        command.env("XDG_RUNTIME_DIR", self.site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(payload.to_string().as_bytes()).expect("the hook reads its event");
        child
    }
}

fn finish_silently(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().expect("waited for");
        assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), Vec::new(), Vec::new()));
    }
}

#[test]
fn hooks_that_read_one_growing_transcript_at_once_count_each_response_once() {
    const RESPONSES: usize = 14;
    let site = Site::new();
    let growing = Growing { site: &site, transcript: site.home().join("rollout.jsonl") };
    for response in 0..RESPONSES {
        let names: Vec<String> = (0..AT_ONCE).map(|index| format!("call_{response}_{index}")).collect();
        for name in &names {
            growing.write("response_item", json!({ "type": "function_call", "call_id": name }));
        }
        let usage = json!({ "input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 0 });
        growing.write("token_usage_record", json!({ "response_id": format!("r{response}"), "usage": usage }));
        // Each hook finds one line more than the previous one.
        let begin = |event: &str, name: &String, more: Value| {
            growing.write("event_msg", json!({ "type": "item_completed" }));
            growing.begin(event, name, more)
        };
        finish_silently(names.iter().map(|name| begin("PreToolUse", name, json!({}))).collect());
        let after = |name: &String| begin("PostToolUse", name, json!({ "tool_response": name }));
        finish_silently(names.iter().map(after).collect());
        for name in &names {
            let output = format!("Process exited with code 0\nOutput:\n{name}");
            growing
                .write("response_item", json!({ "type": "function_call_output", "call_id": name, "output": output }));
        }
    }
    finish_silently((0..AT_ONCE).map(|_| growing.begin("Stop", "", json!({ "stop_hook_active": false }))).collect());
    let facts = facts(&site);
    let spent = facts.iter().filter_map(|fact| fact["fact"].pointer("/tree/spent/tokens")).filter_map(Value::as_u64);
    assert_eq!(spent.sum::<u64>(), 1000 * RESPONSES as u64);
    for path in ["/lane/started/flight/call", "/lane/ended/call"] {
        let counts = counted(&facts, path);
        assert_eq!((counts.len(), counts.values().max()), (RESPONSES * AT_ONCE, Some(&1)), "{path}");
    }
    assert_eq!(counted(&facts, "/lane/started/flight/turn").len(), RESPONSES);
    site.assert_verifies();
}
