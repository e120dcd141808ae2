//! `HALTLINE=off`: honoured for a client that a person starts with it, ignored below an agent (E6).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::hooks::{Client, facts};
use crate::support::{HALTLINE, Site};

/// A program with the name of a client that runs a script: hooks find it among their ancestors.
fn program(site: &Site, folder: &str, name: &str, script: &str) -> PathBuf {
    let path = site.home().join(folder).join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("created");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// The line of a script that delivers an event to the hook.
fn hook(site: &Site, event: &str, session: &str) -> String {
    let payload = json!({
        "session_id": session, "cwd": site.project(), "hook_event_name": event, "source": "startup",
        "tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_use_id": event,
    });
    let file = site.home().join(format!("{event}-{session}.json"));
    fs::write(&file, payload.to_string()).expect("written");
    format!("{HALTLINE} hook claude < {}", file.display())
}

/// Runs a program as a person would who is no descendant of these tests: its parent has ended.
fn run_alone(site: &Site, program: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new("sh");
    site.configure(&mut command);
    command.env("XDG_RUNTIME_DIR", site.home()).envs(variables.iter().copied());
    command.arg("-c").arg("\"$0\" & exit").arg(program);
    let output = command.stdin(Stdio::null()).output().expect("sh starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A site where `npm test` is denied in a session.
fn tripped(site: &Site) {
    site.config("[loop.tool_failure]\ncooldown_base_seconds = 3600\n[loop]\ninterrupt = false\n");
    let client = Client { site, session: "s1" };
    client.prompt("make the tests pass");
    for call in ["a", "b", "c"] {
        client.shell(call, "npm test", Err("Exit code 1\n1 failing"));
    }
}

#[test]
fn a_client_that_a_person_starts_with_it_is_not_watched_and_says_so_once() {
    let site = Site::new();
    tripped(&site);
    let ask = hook(&site, "PreToolUse", "s1");
    let script = format!("{ask}\n{ask}\n{HALTLINE} statusline < /dev/null\n{HALTLINE} status\n");
    let script = format!("{}\n{script}", hook(&site, "SessionStart", "s1"));
    let client = program(&site, "bin", "claude", &script);
    let watched = run_alone(&site, &client, &[]);
    assert!(watched.contains("\"deny\"") && watched.contains("HL-FAIL-01"), "{watched}");
    let before = facts(&site).len();
    let off = run_alone(&site, &client, &[("HALTLINE", "off")]);
    assert!(!off.contains("\"deny\""), "{off}");
    assert_eq!(off.matches("started with HALTLINE=off: it neither").count(), 1, "{off}");
    assert!(off.contains("haltline off"), "the status line: {off}");
    assert!(off.contains("haltline is off in 1 running client"), "the status: {off}");
    let after = facts(&site);
    assert_eq!(after.len(), before + 1, "only that it is off is recorded");
    assert_eq!(after.last().expect("a fact")["word"], "switched_off");
    for value in ["0", "OFF", "on", ""] {
        let other = run_alone(&site, &client, &[("HALTLINE", value)]);
        assert!(other.contains("\"deny\""), "HALTLINE={value}: {other}");
    }
}

#[test]
fn it_is_ignored_below_an_agent_whether_recorded_known_by_name_or_marked() {
    let site = Site::new();
    tripped(&site);
    let inner = program(&site, "inner", "claude", &hook(&site, "PreToolUse", "s1"));
    let start = format!("HALTLINE=off {}", inner.display());
    let is_denied = |seen: &str| seen.contains("\"deny\"");
    let named = program(&site, "named", "codex", &start);
    assert!(is_denied(&run_alone(&site, &named, &[])), "an ancestor with the name of a client");
    let record = hook(&site, "SessionStart", "outer");
    let recorded = program(&site, "recorded", "claude", &format!("{record} > /dev/null\nsh -c '{start}; true'"));
    assert!(is_denied(&run_alone(&site, &recorded, &[])), "an ancestor that a hook recorded");
    let marked = run_alone(&site, &inner, &[("HALTLINE", "off"), ("CLAUDECODE", "1")]);
    assert!(is_denied(&marked), "a variable that only a client sets");
    let hook_only =
        program(&site, "hook-only", "claude", &format!("export HALTLINE=off\n{}", hook(&site, "PreToolUse", "s1")));
    assert!(is_denied(&run_alone(&site, &hook_only, &[])), "the client itself was started without it");
    assert!(!is_denied(&run_alone(&site, &inner, &[("HALTLINE", "off")])), "a person");
}
