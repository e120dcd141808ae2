//! Constraints that deny through the hooks: guards by meaning, notices of trips in the client, and `constraint new` (C8,
//! E16).

use std::fs;

use haltline_agents::self_test::AnswerEffect;
use serde_json::json;

use crate::support::Site;
use crate::support::hooks::Client;

/// A constraint with a guard, and these limits.
fn guarded(site: &Site, id: &str, pattern: &str, limits: &str) {
    let limits: String = limits.lines().map(|line| format!("  {line}\n")).collect();
    let text =
        format!("---\nid: {id}\ncircuit_breaker:\n{limits}guards:\n  - tool: Bash\n    command: \"{pattern}\"\n---\n");
    site.file(&format!("docs/constraints/active/{id}.md"), &text);
}

/// Runs a command as the agent's shell does: with the client's session, and with the site's own markers.
fn in_shell(site: &Site, session: &str, arguments: &[&str]) {
    let mut command = site.command(arguments);
    command.env("XDG_RUNTIME_DIR", site.home()).env("HALTLINE_SESSION", session);
    let output = command.output().expect("the binary starts");
    assert!(output.status.code().is_some_and(|code| code == 0 || code == 77), "{output:?}");
}

#[test]
fn an_open_guard_denies_every_spelling_and_no_mention() {
    let site = Site::new();
    guarded(&site, "no-force", "git push --force*", "violation_threshold: 1");
    site.record("no-force", "git push --force");
    let client = Client { site: &site, session: "spellings" };
    let denied = ["cd . && git push -f", "git  -C x push origin +main", "bash -lc 'git push --force-with-lease'"];
    for (number, command) in denied.iter().enumerate() {
        let answer = client.ask(&format!("d{number}"), "Bash", &json!({"command": command}));
        assert!(answer.answer >= AnswerEffect::Deny && answer.to_agent.contains("HL-CON-02"), "{command}: {answer:?}");
    }
    let mcp = client.ask("m1", "mcp__x__run", &json!({"command": "git push --force"}));
    assert!(mcp.answer >= AnswerEffect::Deny, "{mcp:?}");
    let other = Client { site: &site, session: "mentions" };
    for (number, command) in ["git push", "echo git push --force", "git commit -m 'git push -f'"].iter().enumerate() {
        let answer = other.ask(&format!("p{number}"), "Bash", &json!({"command": command}));
        assert!(answer.answer < AnswerEffect::Deny, "{command}: {answer:?}");
    }
    let hidden = format!("{}git push --force", "a;".repeat(100_000));
    let answer = other.ask("h1", "Bash", &json!({"command": hidden}));
    assert!(answer.answer >= AnswerEffect::Deny, "what was not read is not passed: {answer:?}");
}

#[test]
fn a_guarded_call_that_trips_tells_agent_and_person_once() {
    let site = Site::new();
    guarded(&site, "no-force", "git push --force*", "violation_threshold: 2\ndedup_seconds: 0");
    let client = Client { site: &site, session: "trips" };
    let first = client.shell("c1", "git push -f", Ok("done"));
    assert!(first.to_agent.contains("HL-CON-01"), "the agent reads that one more trips it: {first:?}");
    let second = client.ask("c2", "Bash", &json!({"command": "git push --force"}));
    assert!(second.answer < AnswerEffect::Deny, "the action that trips it still runs: {second:?}");
    assert!(
        second.to_person.contains("constraint/no-force tripped") && second.to_person.contains("haltline why"),
        "{second:?}"
    );
    let third = client.ask("c3", "Bash", &json!({"command": "ls"}));
    assert!(!third.to_person.contains("tripped"), "only once: {third:?}");
}

#[test]
fn trips_of_the_agents_own_commands_reach_the_person_with_the_next_hook() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    let client = Client { site: &site, session: "told" };
    let next = |circuit: &str| {
        let printed = client.prompt("go on").to_person;
        assert!(printed.contains(circuit) && printed.contains("haltline why"), "{circuit}: {printed:?}");
        assert!(!client.prompt("and on").to_person.contains(circuit), "only once: {circuit}");
    };
    in_shell(&site, "told", &["constraint", "record", "rule", "--action", "x"]);
    next("constraint/rule tripped");
    in_shell(&site, "told", &["phase", "begin", "GREEN"]);
    for _iteration in 0..6 {
        in_shell(&site, "told", &["phase", "report", "--metric", "tests_passing=3", "--metric", "tests_total=10"]);
    }
    next("phase/");
    in_shell(&site, "told", &["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    for number in 0..7 {
        let (test, strategy) = (format!("t{number}"), format!("s{number}"));
        let record =
            ["attempt", "record", "--slice", "S-1", "--test", &test, "--result", "fail", "--strategy", &strategy];
        in_shell(&site, "told", &record);
    }
    next("attempt/");
    in_shell(&site, "told", &["claim", "add", "C-1", "--text", "x holds"]);
    for _round in 0..3 {
        in_shell(&site, "told", &["claim", "round", "C-1", "--objection", "run the harness", "--answer", "no data"]);
    }
    next("claim/");
}

#[test]
fn a_trip_without_a_session_is_reported_in_the_next_session_of_the_project() {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    let mut command = site.command(&["constraint", "record", "rule", "--action", "x"]);
    assert!(command.env("XDG_RUNTIME_DIR", site.home()).status().expect("starts").success());
    let client = Client { site: &site, session: "later" };
    assert!(client.prompt("hello").to_person.contains("constraint/rule tripped"));
}

#[test]
fn file_tools_of_mcp_servers_are_known_by_their_arguments() {
    let site = Site::new();
    let client = Client { site: &site, session: "files" };
    let config = site.state().join("x").display().to_string();
    for (number, input) in [json!({"path": config, "content": "x"}), json!({"source": "a", "destination": config})]
        .iter()
        .chain(&[json!({"target": config}), json!({"uri": format!("file://{config}"), "text": "x"})])
        .enumerate()
    {
        let answer = client.ask(&format!("w{number}"), "mcp__any__apply", input);
        assert!(answer.answer >= AnswerEffect::Deny && answer.to_agent.contains("HL-OWN-01"), "{input}: {answer:?}");
    }
    let other = Client { site: &site, session: "readers" };
    let read = other.ask("r1", "mcp__any__read_file", &json!({"path": config}));
    assert!(read.answer < AnswerEffect::Deny, "{read:?}");
}

#[test]
fn a_new_constraint_gets_its_guards_and_shows_what_they_would_have_caught() {
    let site = Site::new();
    let calls = [("git status", "1"), ("cd x && git push -f origin main", "2"), ("git push", "3")];
    let lines: String = calls
        .iter()
        .map(|(command, id)| {
            let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}});
            let message = json!({"role": "assistant", "id": format!("m{id}"), "model": "x", "content": [call]});
            let line = json!({
                "type": "assistant", "sessionId": "s", "uuid": id, "cwd": "/p", "version": "2",
                "timestamp": format!("2026-02-01T10:00:0{id}.000Z"), "message": message,
            });
            format!("{line}\n")
        })
        .collect();
    let folder = site.home().join(".claude/projects/-p");
    fs::create_dir_all(&folder).expect("created");
    fs::write(folder.join("s.jsonl"), lines).expect("written");
    let new = ["constraint", "new", "no-force", "--guard", "git push --force", "--severity", "CRITICAL"];
    let answer = site.run(&new);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.out.contains("caught 1 call in 1 session"), "{}", answer.out);
    assert!(answer.out.contains("git push -f origin main"), "{}", answer.out);
    let file = fs::read_to_string(site.project().join("docs/constraints/active/no-force.md")).expect("written");
    assert!(file.contains("command: \"git push --force\"") && file.contains("severity: \"CRITICAL\""), "{file}");
    assert_eq!(site.status("no-force")["guards"][0]["command"], "git push --force");
    let again = site.run(&new);
    assert!(again.code == Some(1) && again.err.contains("exists already"), "{again:?}");
    let bare = site.run(&["constraint", "new", "bare"]);
    assert!(bare.out.contains("bare has no guard"), "{bare:?}");
    assert!(site.run(&["constraint", "status", "--all"]).out.contains("bare has no guard"));
    assert!(site.run(&["doctor"]).out.contains("bare"), "doctor names it");
    let none = Site::new();
    assert!(none.run(&new).out.contains("No transcripts"), "says that there is nothing to compare with");
}

#[test]
fn a_file_whose_name_is_no_id_is_named_with_the_reason() {
    let site = Site::new();
    site.file("docs/constraints/active/règle-日本-1.md", "---\nstatus: active\n---\n");
    let answer = site.run(&["constraint", "status", "--all"]);
    assert!(answer.out.contains("règle-日本-1.md is not used") && answer.out.contains("rename"), "{answer:?}");
}

#[test]
fn a_limit_says_where_it_comes_from_after_the_default_changed() {
    let site = Site::new();
    site.config("[constraint]\ndedup_seconds = 0\n");
    site.constraint("rule", "violation_threshold: 3");
    site.record("rule", "x");
    site.config("");
    let answer = site.run(&["constraint", "config", "rule", "--json"]).json();
    let origin = |key: &str| {
        let limits = answer["configuration"].as_array().expect("a list");
        limits.iter().find(|limit| limit["key"] == key).expect("a limit")["origin"].clone()
    };
    assert_eq!(origin("dedup_seconds"), "kept from before");
    assert_eq!(origin("violation_threshold"), "docs/constraints/active/rule.md");
    assert_eq!(origin("window_days"), "default");
}

#[test]
fn the_next_command_in_another_work_tree_brings_its_state_file_up_to_date() {
    let site = Site::new();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        site.configure(&mut command);
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        assert!(command.args(identity).args(arguments).output().expect("git").status.success(), "{arguments:?}");
    };
    fs::remove_dir_all(site.project().join(".git")).expect("removed");
    git(&["init", "-q"]);
    site.constraint("rule", "violation_threshold: 2\ndedup_seconds: 0");
    git(&["add", "."]);
    git(&["commit", "-qm", "x"]);
    git(&["worktree", "add", "-q", "../second"]);
    site.record("rule", "here");
    let mut second = site.command(&["constraint", "record", "rule", "--action", "there"]);
    assert!(second.current_dir(site.home().join("second")).status().expect("starts").success());
    let mirror = site.project().join("docs/constraints/.circuit-state.json");
    site.run(&["constraint", "check", "rule"]);
    let text = fs::read_to_string(mirror).expect("written");
    assert!(text.contains("\"OPEN\"") && text.contains("there"), "{text}");
}
