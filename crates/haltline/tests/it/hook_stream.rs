//! `haltline hook CLIENT --stream` with the real binary: one process that answers each line as a hook would.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::support::hooks::{facts, waiting};
use crate::support::{HALTLINE, Site};
use serde_json::{Value, json};

/// A stream process, seen from the plugin.
struct StreamProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl StreamProcess {
    fn start(site: &Site) -> Self {
        Self::start_as(HALTLINE.as_ref(), site)
    }

    fn start_as(program: &Path, site: &Site) -> Self {
        let mut command = Command::new(program);
        site.configure(&mut command);
        command.args(["hook", "opencode", "--stream"]);
        command.env("XDG_RUNTIME_DIR", site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output }
    }

    fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.receive()
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it reads its events");
    }

    fn receive(&mut self) -> Value {
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// Closes the input and expects the process to end.
    fn end(self) {
        drop(self.input);
        let output = self.child.wait_with_output().expect("waited for");
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    }
}

fn call(site: &Site, event: &str, number: usize) -> String {
    let folder = site.project().display().to_string();
    let mut line = json!({ "event": event, "session": "ses_1", "folder": folder, "tool": "bash", "call": "call_0",
        "message": format!("msg_{number}"), "input": { "command": "make check" } });
    if event == "tool.execute.after" {
        line["output"] = json!("no rule to make it\n");
        line["metadata"] = json!({ "exit": 2 });
    }
    line.to_string()
}

fn read_call(site: &Site, number: usize) -> String {
    let folder = site.project().display().to_string();
    let path = format!("/src/{number}.rs");
    json!({ "event": "tool.execute.before", "session": "ses_1", "folder": folder, "tool": "read", "message": "msg_9",
        "call": format!("call_{number}"), "input": { "filePath": path } })
    .to_string()
}

/// What the answer does, as one word.
fn effect(answer: &Value) -> &'static str {
    match (answer["stop"] == true, answer["deny"].is_string(), answer["tell"].is_string()) {
        (true, _, _) => "stop",
        (false, true, _) => "deny",
        (false, false, true) => "tell",
        (false, false, false) => "pass",
    }
}

#[test]
fn a_loop_is_stopped_although_the_process_dies_in_between() {
    let site = Site::new();
    let mut stream = StreamProcess::start(&site);
    let mut effects = Vec::new();
    for number in 1..=5 {
        if number == 3 {
            stream.child.kill().expect("it runs");
            stream.child.wait().expect("it ends");
            stream = StreamProcess::start(&site);
        }
        let before = effect(&stream.ask(&call(&site, "tool.execute.before", number)));
        effects.push(before);
        if ["pass", "tell"].contains(&before) {
            assert_eq!(effect(&stream.ask(&call(&site, "tool.execute.after", number))), "pass");
        }
    }
    stream.end();
    assert_eq!(effects, ["pass", "pass", "tell", "deny", "stop"]);
    site.assert_verifies();
}

#[test]
fn every_line_gets_a_line_whatever_it_is() {
    let site = Site::new();
    let mut stream = StreamProcess::start(&site);
    let big = "x".repeat(3_000_000);
    let event = |more: &str| format!(r#"{{"session":"s","event":"tool.execute.after","tool":"bash",{more}}}"#);
    for line in [
        "",
        "this is no JSON",
        "[]",
        "{}",
        r#"{"session":"s","event":"never heard of"}"#,
        r#"{"session":"s\u0000\ud83d","event":"session.idle"}"#,
        &event(&format!(r#""output":"{big}""#)),
        &event(&format!(r#""output":{}{}"#, "[".repeat(100_000), "]".repeat(100_000))),
    ] {
        assert_eq!(effect(&stream.ask(line)), "pass", "{}", line.get(..80).unwrap_or(line));
    }
    assert_eq!(effect(&stream.ask(&call(&site, "tool.execute.before", 1))), "pass");
    stream.end();
}

#[test]
fn lines_that_find_the_store_busy_together_are_all_counted_later() {
    let site = Site::new();
    let mut stream = StreamProcess::start(&site);
    assert_eq!(effect(&stream.ask(&call(&site, "tool.execute.before", 0))), "pass");
    let lock = fs::File::options().write(true).open(site.state().join("state.lock")).expect("there is a store");
    lock.lock().expect("locked");
    for number in 1..=8 {
        stream.send(&read_call(&site, number));
    }
    for _ in 1..=8 {
        assert_eq!(effect(&stream.receive()), "pass");
    }
    assert_eq!(waiting(&site), 8);
    lock.unlock().expect("unlocked");
    stream.ask(&read_call(&site, 9));
    stream.end();
    assert_eq!(waiting(&site), 0);
    let started = facts(&site).iter().filter(|fact| !fact["fact"]["lane"]["started"].is_null()).count();
    assert_eq!(started, 10);
    site.assert_verifies();
}

#[test]
fn a_stream_ends_when_haltline_was_replaced_and_not_when_it_was_removed() {
    let site = Site::new();
    let program = site.home().join("haltline");
    symlink(HALTLINE, &program).expect("linked");
    let mut stream = StreamProcess::start_as(&program, &site);
    assert_eq!(effect(&stream.ask(&read_call(&site, 1))), "pass");
    fs::remove_file(&program).expect("it was there");
    assert_eq!(effect(&stream.ask(&read_call(&site, 2))), "pass");
    symlink(site.file("new", ""), &program).expect("linked");
    stream.send(&read_call(&site, 3));
    let mut rest = String::new();
    stream.output.read_to_string(&mut rest).expect("it ends");
    assert_eq!(rest, "");
    stream.end();
    let started = facts(&site).iter().filter(|fact| !fact["fact"]["lane"]["started"].is_null()).count();
    assert_eq!(started, 2, "what was not answered was not counted");
}

#[test]
fn notification_processes_leave_nothing_behind() {
    let site = Site::new();
    site.config("[notify]\ncommand = [\"true\"]\n");
    let mut stream = StreamProcess::start(&site);
    for number in 1..=3 {
        stream.ask(&call(&site, "tool.execute.before", number));
        stream.ask(&call(&site, "tool.execute.after", number));
    }
    assert_eq!(effect(&stream.ask(&call(&site, "tool.execute.before", 4))), "deny");
    let id = stream.child.id();
    let children = || fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("it runs");
    assert_ne!(children(), "", "a notification was started");
    let has_ended = |child: &str| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    };
    while !children().split_whitespace().all(has_ended) {
        std::thread::yield_now();
    }
    stream.ask(&read_call(&site, 1));
    assert_eq!(children(), "");
    stream.end();
}
