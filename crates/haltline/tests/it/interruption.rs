//! Which process haltline interrupts when a client has no other way to end a turn (E5): the one of this very session,
//! if no person is at it and no other session runs in it. In all other cases haltline only denies.
//!
//! The clients are shell scripts with the clients' names, which deliver a loop to hooks and note an interruption.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{HALTLINE, Site};
use serde_json::{Value, json};

/// A fake client: it runs the script that its variable names, and notes how it ends.
const CLIENT: &str = "#!/bin/sh\ntrap 'echo $NAME interrupted >> ends.txt; exit 130' INT\n. \"$PLAY\"\n\
    echo $NAME ended >> ends.txt\n";

struct FakeClients {
    site: Site,
}

impl FakeClients {
    fn new() -> Self {
        let site = Site::new();
        fs::create_dir_all(site.home().join("programs")).expect("created");
        Self { site }
    }

    fn program(&self, name: &str) -> PathBuf {
        let (text, path) = (self.write("client.sh", CLIENT), self.site.home().join("programs").join(name));
        // In a separate process: a program that another test starts meanwhile would make the file busy.
        let status = Command::new("install").args(["-m", "755"]).arg(text).arg(&path).status();
        assert!(status.expect("install starts").success());
        path
    }

    /// The script line that delivers one event.
    fn event_line(&self, client: &str, event: &Value) -> String {
        format!("'{HALTLINE}' hook {client} >> answers.txt <<'EVENT'\n{event}\nEVENT\n")
    }

    fn begin(&self, session: &str) -> String {
        self.event_line("codex", &self.event(session, "SessionStart", json!({ "source": "startup" })))
    }

    fn event(&self, session: &str, name: &str, more: Value) -> Value {
        let mut event = json!({ "session_id": session, "hook_event_name": name, "cwd": self.site.project() });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        event
    }

    /// A session that repeats the same call: haltline denies the fourth and ends the turn at the fifth.
    fn repeated_call(&self, session: &str) -> String {
        let call = |number: u32| {
            let call_fields = json!({ "tool_name": "Bash", "tool_input": { "command": "make" }, "tool_use_id": number.to_string(),
                "tool_response": "no rule to make target" });
            ["PreToolUse", "PostToolUse"]
                .map(|name| self.event_line("codex", &self.event(session, name, call_fields.clone())))
                // A denied call has no end.
                .into_iter()
                .take(if number <= 3 { 2 } else { 1 })
                .collect::<String>()
        };
        (1..=6).map(call).collect()
    }

    fn write(&self, name: &str, play: &str) -> PathBuf {
        let path = self.site.home().join(name);
        fs::write(&path, play).expect("written");
        path
    }

    /// The script line that starts another client.
    fn start(&self, program: &Path, name: &str, play: &Path) -> String {
        format!("NAME={name} PLAY='{}' '{}' exec task\n", play.display(), program.display())
    }

    /// Runs a client; returns how it and the clients it started ended.
    fn ends(&self, program: &Path, arguments: &[&str], play: &str) -> Vec<String> {
        let mut command = Command::new(program);
        self.site.configure(&mut command);
        command.env("NAME", "outer").env("PLAY", self.write("outer.sh", play)).env("XDG_RUNTIME_DIR", self.site.home());
        command.args(arguments).status().expect("a shell starts");
        let answers = fs::read_to_string(self.site.project().join("answers.txt")).expect("answers");
        assert!(answers.contains("HL-LOOP-01: stopped"), "the loop was stopped as far as an answer can: {answers}");
        let ends = fs::read_to_string(self.site.project().join("ends.txt")).expect("an end");
        ends.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_process_with_one_task_is_interrupted() {
    for arguments in [&["exec", "task"][..], &["-c", "a=b", "e"]] {
        let clients = FakeClients::new();
        let play = clients.begin("s1") + &clients.repeated_call("s1");
        assert_eq!(clients.ends(&clients.program("codex"), arguments, &play), ["outer interrupted"], "{arguments:?}");
    }
}

#[test]
fn a_terminal_and_a_server_are_not_interrupted() {
    for arguments in [&[][..], &["task"], &["resume", "exec"], &["--profile", "exec"], &["app-server"]] {
        let clients = FakeClients::new();
        let play = clients.begin("s1") + &clients.repeated_call("s1");
        assert_eq!(clients.ends(&clients.program("codex"), arguments, &play), ["outer ended"], "{arguments:?}");
    }
}

#[test]
fn a_process_with_two_sessions_or_an_unseen_start_is_not_interrupted() {
    let clients = FakeClients::new();
    let two = clients.begin("s1") + &clients.begin("healthy") + &clients.repeated_call("s1");
    assert_eq!(clients.ends(&clients.program("codex"), &["exec"], &two), ["outer ended"]);
    let clients = FakeClients::new();
    let other = clients.begin("other") + &clients.repeated_call("s1");
    assert_eq!(clients.ends(&clients.program("codex"), &["exec"], &other), ["outer ended"]);
}

#[test]
fn a_nested_client_is_interrupted_alone_and_an_unknown_program_never() {
    for (name, ends) in [
        ("codex-x86_64-unknown-linux-musl", ["inner interrupted", "outer ended"]),
        ("my-agent", ["inner ended", "outer ended"]),
    ] {
        let clients = FakeClients::new();
        let inner = clients.write("inner.sh", &(clients.begin("inner") + &clients.repeated_call("inner")));
        let play = clients.begin("outer") + &clients.start(&clients.program(name), "inner", &inner);
        assert_eq!(clients.ends(&clients.program("codex"), &["exec", "task"], &play), ends, "{name}");
    }
}
