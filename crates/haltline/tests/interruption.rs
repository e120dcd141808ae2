//! Whom the strongest stop of a client without one interrupts (E5): the process of the very session, where nobody sits
//! before it and nobody else works in it. Everybody else is only refused.
//!
//! The clients are shell scripts under their names, which tell hooks a loop and note if they are interrupted.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use support::{HALTLINE, Site};

/// What a client is: it does what the file of its variable says, and notes how it ends.
const CLIENT: &str = "#!/bin/sh\ntrap 'echo $NAME interrupted >> ends.txt; exit 130' INT\n. \"$PLAY\"\n\
    echo $NAME ended >> ends.txt\n";

struct Stage {
    site: Site,
}

impl Stage {
    fn new() -> Self {
        let site = Site::new();
        fs::create_dir_all(site.home().join("programs")).expect("created");
        Self { site }
    }

    fn program(&self, name: &str) -> PathBuf {
        let (text, path) = (self.write("client.sh", CLIENT), self.site.home().join("programs").join(name));
        // By a process of its own: what another test starts meanwhile would find it busy.
        let status = Command::new("install").args(["-m", "755"]).arg(text).arg(&path).status();
        assert!(status.expect("install starts").success());
        path
    }

    /// The line of a play that tells one event.
    fn tell(&self, client: &str, event: &Value) -> String {
        format!("'{HALTLINE}' hook {client} >> answers.txt <<'EVENT'\n{event}\nEVENT\n")
    }

    fn begin(&self, session: &str) -> String {
        self.tell("codex", &self.event(session, "SessionStart", json!({ "source": "startup" })))
    }

    fn event(&self, session: &str, name: &str, more: Value) -> Value {
        let mut event = json!({ "session_id": session, "hook_event_name": name, "cwd": self.site.project() });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        event
    }

    /// A session that asks the same again and again: the fourth is refused, the fifth ends the turn.
    fn again(&self, session: &str) -> String {
        let call = |number: u32| {
            let asked = json!({ "tool_name": "Bash", "tool_input": { "command": "make" }, "tool_use_id": number.to_string(),
                "tool_response": "no rule to make target" });
            ["PreToolUse", "PostToolUse"]
                .map(|name| self.tell("codex", &self.event(session, name, asked.clone())))
                // A refused call has no end.
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

    /// The line of a play that starts another client.
    fn start(&self, program: &Path, name: &str, play: &Path) -> String {
        format!("NAME={name} PLAY='{}' '{}' exec task\n", play.display(), program.display())
    }

    /// How the clients ended that this one and those it started were.
    fn ends(&self, program: &Path, arguments: &[&str], play: &str) -> Vec<String> {
        let mut command = Command::new(program);
        self.site.place(&mut command);
        command.env("NAME", "outer").env("PLAY", self.write("outer.sh", play)).env("XDG_RUNTIME_DIR", self.site.home());
        command.args(arguments).status().expect("a shell starts");
        let answers = fs::read_to_string(self.site.project().join("answers.txt")).expect("answers");
        assert!(answers.contains("HL-LOOP-01: stopped"), "the loop was stopped as far as an answer can: {answers}");
        let ends = fs::read_to_string(self.site.project().join("ends.txt")).expect("an end");
        ends.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_task_of_its_own_is_interrupted() {
    for arguments in [&["exec", "task"][..], &["-c", "a=b", "e"]] {
        let stage = Stage::new();
        let play = stage.begin("s1") + &stage.again("s1");
        assert_eq!(stage.ends(&stage.program("codex"), arguments, &play), ["outer interrupted"], "{arguments:?}");
    }
}

#[test]
fn a_terminal_and_a_server_are_not() {
    for arguments in [&[][..], &["task"], &["resume", "exec"], &["--profile", "exec"], &["app-server"]] {
        let stage = Stage::new();
        let play = stage.begin("s1") + &stage.again("s1");
        assert_eq!(stage.ends(&stage.program("codex"), arguments, &play), ["outer ended"], "{arguments:?}");
    }
}

#[test]
fn who_has_two_sessions_is_not_nor_who_began_unseen() {
    let stage = Stage::new();
    let two = stage.begin("s1") + &stage.begin("healthy") + &stage.again("s1");
    assert_eq!(stage.ends(&stage.program("codex"), &["exec"], &two), ["outer ended"]);
    let stage = Stage::new();
    let other = stage.begin("other") + &stage.again("s1");
    assert_eq!(stage.ends(&stage.program("codex"), &["exec"], &other), ["outer ended"]);
}

#[test]
fn a_client_inside_another_is_the_only_one_hit_and_under_a_strange_name_nobody_is() {
    for (name, ends) in [
        ("codex-x86_64-unknown-linux-musl", ["inner interrupted", "outer ended"]),
        ("my-agent", ["inner ended", "outer ended"]),
    ] {
        let stage = Stage::new();
        let inner = stage.write("inner.sh", &(stage.begin("inner") + &stage.again("inner")));
        let play = stage.begin("outer") + &stage.start(&stage.program(name), "inner", &inner);
        assert_eq!(stage.ends(&stage.program("codex"), &["exec", "task"], &play), ends, "{name}");
    }
}
