//! `haltline demo` shows a loop being stopped without touching anything outside one temporary folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{HALTLINE, names};

/// A machine on which nothing may change: a home folder, a project, and a folder for temporary files.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().expect("temp folder") };
        for folder in ["home", "project/.git", "tmp"] {
            fs::create_dir_all(machine.path(folder)).expect("created");
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the demo in an environment that has only these variables and `TMPDIR`.
    fn demo(&self, arguments: &[&str], variables: &[(&str, PathBuf)]) -> Output {
        let mut command = Command::new(HALTLINE);
        command.arg("demo").args(arguments).current_dir(self.path("project")).env_clear();
        command.env("TMPDIR", self.path("tmp")).envs(variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        output
    }

    fn verdicts(&self, variables: &[(&str, PathBuf)]) -> Vec<Value> {
        let view: Value = serde_json::from_slice(&self.demo(&["--json"], variables).stdout).expect("JSON");
        let calls = view["calls"].as_array().expect("a list").iter();
        calls.map(|call| call["verdict"].clone()).collect()
    }

    fn assert_untouched(&self) {
        let mut files = Vec::new();
        list(self.folder.path(), &mut files);
        assert_eq!(files, Vec::<PathBuf>::new());
        assert_eq!(names(&self.path("tmp")), Vec::<String>::new());
        assert_eq!(names(self.folder.path()), ["home", "project", "tmp"]);
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() { list(&entry.path(), files) } else { files.push(entry.path()) }
    }
}

#[test]
fn the_demo_warns_denies_and_ends_the_turn_without_a_home_and_leaves_nothing() {
    let machine = Machine::new();
    assert_eq!(machine.verdicts(&[]), ["pass", "pass", "warn", "deny", "stop"]);
    machine.assert_untouched();
}

#[test]
fn neither_an_agent_around_it_nor_the_configuration_of_the_person_changes_the_demo() {
    let machine = Machine::new();
    let observing = machine.path("home/observe.toml");
    fs::write(&observing, "mode = \"observe\"\n").expect("written");
    let variables = [
        ("HOME", machine.path("home")),
        ("XDG_RUNTIME_DIR", machine.path("home")),
        ("HALTLINE_STATE_DIR", machine.path("home/state")),
        ("HALTLINE_CONFIG", observing.clone()),
        ("HALTLINE_SESSION", PathBuf::from("outer")),
        ("CLAUDECODE", PathBuf::from("1")),
        ("CLAUDE_CODE_SESSION_ID", PathBuf::from("outer")),
        ("CLAUDE_PROJECT_DIR", machine.path("project")),
    ];
    assert_eq!(machine.verdicts(&variables), ["pass", "pass", "warn", "deny", "stop"]);
    fs::remove_file(observing).expect("still there");
    machine.assert_untouched();
}

#[test]
fn the_screen_shows_the_calls_the_reasons_the_incident_the_price_and_the_next_command() {
    let machine = Machine::new();
    let screen = String::from_utf8(machine.demo(&[], &[]).stdout).expect("UTF-8");
    let mut rest = screen.as_str();
    for part in [
        "call 1    $ npm test",
        "haltline warns the agent:",
        "haltline denies the call.",
        "HL-FAIL-01",
        "haltline ends the turn.",
        "You type `haltline why`",
        "INCIDENT",
        "Left alone until morning: one call a minute for 8 hours is 480 calls",
        "$19.50",
        "  haltline init\n",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing after the parts before it:\n{screen}"));
        rest = &rest[at + part.len()..];
    }
    assert_eq!(rest, "", "the command to install comes last");
}

#[test]
fn the_json_of_the_demo_has_the_incident_and_what_the_estimate_is_made_of() {
    let machine = Machine::new();
    let view: Value = serde_json::from_slice(&machine.demo(&["--json"], &[]).stdout).expect("JSON");
    assert_eq!((&view["schema"], &view["install"]), (&json!(1), &json!("haltline init")));
    assert_eq!(view["why"]["code"], "HL-FAIL-01");
    assert_eq!(view["left_alone"]["cost_micros"], json!(19_500_000));
    let denied = &view["calls"][3];
    assert!(denied["to_agent"].as_str().is_some_and(|text| text.contains("npm test")), "{denied}");
    assert_eq!(denied["result"], Value::Null, "a denied call has no result");
}
