//! `haltline serve --stdio` with the real binary: the conformance script, the example clients, and what a program that
//! breaks the rules sees.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Answer, HALTLINE, Site};

fn example(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/NAME lies two folders below the root").join("examples/protocol").join(name)
}

/// A process that answers requests, seen from the program that started it.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(site: &Site, arguments: &[&str]) -> Self {
        let mut command = site.command(&["serve", "--stdio"]);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output }
    }

    fn ask_bytes(&mut self, line: &[u8]) -> Value {
        self.input.write_all(line).and_then(|()| self.input.write_all(b"\n")).expect("it reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    fn ask(&mut self, method: &str, mut fields: Value) -> Value {
        fields["v"] = json!(1);
        fields["id"] = json!(1);
        fields["method"] = json!(method);
        self.ask_bytes(fields.to_string().as_bytes())
    }

    /// Reports a call and its failure; returns the verdict on the call.
    fn fail(&mut self, session: &str, number: usize) -> Value {
        let call = format!("{session}-{number}");
        let input = json!({ "command": "make check" });
        let verdict = self.ask("before", json!({ "session": session, "call": call, "tool": "bash", "input": input }));
        if matches!(verdict["verdict"].as_str(), Some("pass" | "warn")) {
            let output = "no rule to make it";
            self.ask("after", json!({ "session": session, "call": call, "outcome": "failed", "output": output }));
        }
        verdict
    }

    /// Closes the input and expects the process to end.
    fn end(self) {
        drop(self.input);
        let output = self.child.wait_with_output().expect("waited for");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn run_example(program: &str, arguments: &[&str]) -> Answer {
    let site = Site::new();
    let mut command = Command::new(program);
    site.configure(&mut command);
    Answer::new(&command.args(arguments).output().expect("the program starts"))
}

#[test]
fn the_conformance_script_accepts_haltline_and_rejects_a_program_that_answers_something_else() {
    let script = example("conformance.py");
    let script = script.to_str().expect("a plain path");
    let answer = run_example("python3", &[script, HALTLINE, "serve", "--stdio", "--memory"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert_eq!(run_example("python3", &[script, "cat"]).code, Some(1));
}

#[test]
fn the_example_client_in_python_stops_at_the_fourth_attempt() {
    let script = example("client.py");
    let answer = run_example("python3", &[script.to_str().expect("a plain path"), HALTLINE]);
    let expected = "attempt 1: failed\nattempt 2: failed\nattempt 3: failed\nattempt 4: deny HL-FAIL-01\n";
    assert_eq!((answer.out.as_str(), answer.code), (expected, Some(0)), "{}", answer.err);
}

#[test]
fn the_examples_and_the_schema_know_every_method() {
    let site = Site::new();
    let mut server = Server::start(&site, &["--memory"]);
    let hello = server.ask("hello", json!({}));
    server.end();
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/reference/protocol.schema.json"))
        .expect("the schema is JSON");
    assert_eq!(schema["$defs"]["request"]["properties"]["method"]["enum"], hello["methods"]);
    let page = include_str!("../../../../docs/reference/protocol.md");
    for method in hello["methods"].as_array().expect("a list") {
        assert!(page.contains(&format!("`{}`", method.as_str().expect("a name"))), "{method} is not in protocol.md");
    }
}

#[test]
fn no_input_ends_the_process_and_no_bad_line_is_counted() {
    let site = Site::new();
    let mut server = Server::start(&site, &[]);
    let deep = "[".repeat(200_000);
    let wrong: [&[u8]; 8] =
        [b"x", b"{", b"\xff\xfe", b"null", b"{\"v\":1}", b"{\"v\":1,\"id\":[]}", b"\0", deep.as_bytes()];
    for line in wrong {
        let answer = server.ask_bytes(line);
        assert_eq!((&answer["id"], &answer["error"]["kind"]), (&Value::Null, &json!("usage")), "{line:?}: {answer}");
    }
    let huge = "a".repeat(3 << 20);
    let answer = server.ask("before", json!({ "session": "s", "tool": "write", "input": { "content": huge } }));
    assert_eq!(answer["verdict"], "pass", "{answer}");
    let operator = server.ask("command", json!({ "arguments": ["resume", "--all"] }));
    assert_eq!(operator["error"]["kind"], "usage", "{operator}");
    let reads_stdin = server.ask("command", json!({ "arguments": ["phase", "report"] }));
    assert_eq!(reads_stdin["error"]["kind"], "error", "{reads_stdin}");
    assert_eq!(server.ask("hello", json!({}))["protocol"], 1);
    server.end();
}

#[test]
fn sessions_share_the_store_with_commands_and_outlive_the_process() {
    let site = Site::new();
    let mut server = Server::start(&site, &[]);
    let verdicts: Vec<Value> = (1..=3).map(|number| server.fail("s1", number)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["pass", "pass", "warn"]);
    assert_eq!(server.fail("s2", 1)["verdict"], "pass");
    let status = server.ask("command", json!({ "arguments": ["status"] }));
    assert_eq!(status["result"]["summary"]["open"], 1, "{status}");
    assert_eq!(site.run(&["status", "--json"]).json()["summary"]["open"], 1);
    server.end();
    let mut second = Server::start(&site, &[]);
    let denied = second.fail("s1", 4);
    assert_eq!((&denied["verdict"], &denied["code"]), (&json!("deny"), &json!("HL-FAIL-01")), "{denied}");
    second.end();
    site.assert_verifies();
}

#[test]
fn the_verbs_of_the_other_breakers_are_commands() {
    let site = Site::new();
    site.constraint("no-push", "violation_threshold: 2");
    let mut server = Server::start(&site, &[]);
    let mut command = |arguments: &[&str]| server.ask("command", json!({ "arguments": arguments }))["result"].clone();
    for action in ["git push a", "git push b"] {
        command(&["constraint", "record", "no-push", "--action", action]);
    }
    assert_eq!(command(&["phase", "begin", "RED"])["course"]["state"], "CLOSED");
    assert_eq!(command(&["phase", "report", "--metric", "tests_passing=3"])["course"]["iteration"], 1);
    let claim = command(&["claim", "add", "C-1", "--text", "it is the cache", "--confidence", "0.5"]);
    assert_eq!((&claim["verb"], &claim["verdict"]), (&json!("add"), &json!("pass")), "{claim}");
    assert_eq!(command(&["constraint", "status", "no-push"])["state"], site.status("no-push")["state"]);
    server.end();
}

/// A store that cannot be written: a folder lies where the database should.
fn break_store(site: &Site) {
    let found = std::fs::read_dir(site.state()).expect("a state folder").flatten().map(|entry| entry.path());
    for path in found.filter(|path| path.is_file()) {
        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir_all(path.join("in-the-way")).expect("created");
    }
}

#[test]
fn a_failing_store_lets_calls_pass_and_says_so_unless_fail_is_closed() {
    for (setting, verdict, code) in [("open", "pass", Value::Null), ("closed", "deny", json!("HL-OWN-04"))] {
        let site = Site::new();
        site.config(&format!("fail = \"{setting}\"\n"));
        let mut first = Server::start(&site, &[]);
        assert_eq!(first.fail("s", 1)["verdict"], "pass");
        first.end();
        break_store(&site);
        let mut server = Server::start(&site, &[]);
        assert_eq!(server.ask("hello", json!({}))["fail"], setting);
        let answer = server.ask("before", json!({ "session": "s", "call": "c", "tool": "bash" }));
        assert_eq!((&answer["verdict"], &answer["code"]), (&json!(verdict), &code), "{answer}");
        assert!(answer["unguarded"].as_str().is_some_and(|text| text.contains("haltline doctor")), "{answer}");
        let after = server.ask("after", json!({ "session": "s", "call": "c", "outcome": "ok" }));
        let expected = if setting == "open" { json!("pass") } else { Value::Null };
        assert_eq!(after["verdict"], expected, "{after}");
        server.end();
    }
}
