//! Many processes meet the limit of one account at a model service: one trip, one probe at a time, and a probe that was
//! killed makes room for the next (L7, E12).

use std::io::Write;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// How many sessions hear of the limit, or begin.
const SESSIONS: usize = 64;
/// How many processes run at once: a hook that waits too long for the others lets its agent go on.
const AT_ONCE: usize = 8;

struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("hl").tempdir().expect("temp folder");
        for project in 0..AT_ONCE {
            std::fs::create_dir_all(folder.path().join(project.to_string()).join(".git")).expect("created");
        }
        Self { folder }
    }

    fn command(&self, at: &str, project: usize) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haltline-at"));
        command.current_dir(self.folder.path().join(project.to_string()));
        command.env_clear().env("HOME", self.folder.path()).env("HALTLINE_AT", at).env("TZ", "UTC");
        command
    }

    /// Starts a hook. Every session is in one of several projects.
    fn begin(&self, at: &str, session: usize, event: &str, more: &Value) -> Child {
        let project = session % AT_ONCE;
        let mut payload = json!({
            "session_id": format!("{event}-{session}-{at}"),
            "cwd": self.folder.path().join(project.to_string()),
            "hook_event_name": event,
        });
        let (Some(all), Value::Object(more)) = (payload.as_object_mut(), more) else { panic!("objects") };
        all.extend(more.clone());
        let mut command = self.command(at, project);
        command.args(["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        child.stdin.take().expect("piped").write_all(payload.to_string().as_bytes()).expect("the hook reads its event");
        child
    }

    /// What the hooks of this event printed; every third is killed at once if that is wanted.
    fn deliver(&self, at: &str, event: &str, more: &Value, are_some_killed: bool) -> Vec<String> {
        let mut answers = Vec::new();
        for first in (0..SESSIONS).step_by(AT_ONCE) {
            let children: Vec<(usize, Child)> =
                (first..first + AT_ONCE).map(|session| (session, self.begin(at, session, event, more))).collect();
            for (session, mut child) in children {
                let is_killed = are_some_killed && session % 3 == 0;
                if is_killed {
                    child.kill().expect("killed, or over");
                }
                let output = child.wait_with_output().expect("waited for");
                let text = String::from_utf8(output.stdout).expect("UTF-8");
                assert!(!text.contains("busy"), "{text}");
                answers.extend((!is_killed).then_some(text));
            }
        }
        answers
    }

    /// How many sessions may begin.
    fn begun(&self, at: &str, are_some_killed: bool) -> usize {
        let answers = self.deliver(at, "UserPromptSubmit", &json!({"prompt": "go"}), are_some_killed);
        let denied = answers.iter().filter(|answer| answer.contains("HL-PROVIDER-01")).count();
        answers.len() - denied
    }

    fn open_incidents(&self, at: &str) -> Vec<Value> {
        let output = self.command(at, 1).args(["incidents", "--json"]).output().expect("it runs");
        let view: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        view["incidents"].as_array().expect("a list").iter().filter(|one| one["state"] != "CLOSED").cloned().collect()
    }
}

#[test]
fn sixty_four_processes_are_one_trip_and_one_probe_and_a_killed_probe_makes_room() {
    let machine = Machine::new();
    let limit = json!({"error": "rate_limit", "last_assistant_message": "You've hit your limit · resets 3pm (UTC)"});
    machine.deliver("2026-02-01T10:00:00Z", "StopFailure", &limit, false);
    let open = machine.open_incidents("2026-02-01T10:00:01Z");
    assert_eq!(open.len(), 1, "{open:#?}");
    assert_eq!((&open[0]["code"], &open[0]["state"]), (&json!("HL-PROVIDER-01"), &json!("OPEN")));
    assert_eq!(machine.begun("2026-02-01T14:59:59Z", false), 0);
    // Whatever a killed process had done, at most one of the others is the probe.
    assert!(machine.begun("2026-02-01T15:00:00Z", true) <= 1);
    // Every lease is over.
    assert_eq!(machine.begun("2026-02-01T15:11:00Z", false), 1);
}
