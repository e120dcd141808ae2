//! Calls of a client that the scope lock denies before they run (A5), through the hook itself.

use std::io::Write;
use std::process::Stdio;

use crate::support::Site;
use crate::support::hooks::Client;
use haltline_agents::self_test::AnswerEffect;
use serde_json::{Value, json};

fn site() -> Site {
    let site = Site::new();
    site.file("src/a.rs", "a\n");
    site.file("lib/b.rs", "b\n");
    std::os::unix::fs::symlink("../lib", site.project().join("src/link")).expect("linked");
    let begun = site.run(&["attempt", "begin", "--slice", "S-1", "--in-scope", "src/"]);
    assert_eq!(begun.code, Some(0), "{begun:?}");
    site
}

/// Calls that change something outside the scope, each another file.
fn outside(site: &Site) -> Vec<(&'static str, Value)> {
    let whole = |path: &str| site.project().join(path).display().to_string();
    vec![
        ("Edit", json!({"file_path": whole("lib/1.rs"), "old_string": "a", "new_string": "b"})),
        ("Write", json!({"file_path": "lib/2.rs", "content": "x"})),
        ("NotebookEdit", json!({"notebook_path": whole("lib/3.ipynb"), "new_source": "x"})),
        ("MultiEdit", json!({"file_path": whole("lib/4.rs"), "edits": [{"old_string": "a", "new_string": "b"}]})),
        ("Write", json!({"file_path": "src/../lib/5.rs", "content": "x"})),
        ("Write", json!({"file_path": whole("src/link/6.rs"), "content": "x"})),
        ("Write", json!({"file_path": "/etc/haltline-7", "content": "x"})),
        ("mcp__fs__write_file", json!({"path": "lib/8.rs", "content": "x"})),
        ("mcp__fs__move_file", json!({"source": "src/a.rs", "destination": "lib/9.rs"})),
        ("mcp__serena__replace_symbol_body", json!({"relative_path": "lib/10.rs", "body": "x"})),
        ("mcp__fs__edit_files", json!({"edits": [{"path": "src/a.rs"}, {"path": "lib/11.rs"}]})),
        ("mcp__fs__write_files", json!({"files": [{"path": "src/a.rs"}, {"path": "lib/13.rs"}]})),
        ("mcp__fs__write_file", json!({"uri": format!("file://{}", whole("lib/14.rs"))})),
        ("mcp__ide__create_new_file", json!({"pathInProject": "lib/15.rs"})),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Update File: src/a.rs\n*** Add File: lib/12.rs\n"})),
    ]
}

#[test]
fn any_tool_that_writes_outside_the_scope_is_denied_with_the_form() {
    let site = site();
    let client = Client { site: &site, session: "writes" };
    for (number, (tool, input)) in outside(&site).into_iter().enumerate() {
        client.prompt("go on");
        let result = client.ask(&format!("c{number}"), tool, &input);
        assert_eq!(result.answer, AnswerEffect::Deny, "{tool} {input}: {result:?}");
        assert!(result.to_agent.contains("HL-ATTEMPT-04") && result.to_agent.contains("Failing test:"), "{result:?}");
    }
    let status = site.run(&["attempt", "status", "--json"]).json();
    assert_eq!(status["state"], "CLOSED");
}

/// A second slice has its own counts and its own scope: an agent cannot free itself with one, and a person can.
#[test]
fn a_second_slice_frees_an_agent_of_nothing() {
    let site = site();
    let client = Client { site: &site, session: "second" };
    let edit = json!({"file_path": "lib/b.rs", "old_string": "a", "new_string": "b"});
    assert_eq!(client.ask("c1", "Edit", &edit).answer, AnswerEffect::Deny);
    let attacks: [&[&str]; 6] = [
        &["attempt", "begin", "--slice", "S-2", "--in-scope", "./"],
        &["attempt", "begin", "--slice", "S-2", "--in-scope", "lib/"],
        &["attempt", "begin", "--slice", "S-2", "--in-scope", "src/a.rs"],
        &["attempt", "begin", "--slice", "S-2", "--in-scope", "**/*.rs"],
        &["attempt", "begin", "--slice", "S-2"],
        &["attempt", "begin", "--slice", "S-2", "--in-scope", "lib/", "--reason", "mine"],
    ];
    for attack in attacks {
        let answer = site.run_detached(attack, &[("CLAUDECODE", "1")]);
        assert_eq!(answer.code, Some(77), "{attack:?} {answer:?}");
    }
    let plain = r#"{"v":1,"type":"attempt","session":"s","slice":"S-2","test":"t","result":"fail","strategy":"x"}"#;
    let mut child = site.command(&["event"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    writeln!(child.stdin.take().expect("piped"), "{plain}").expect("read");
    let output = child.wait_with_output().expect("ends");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("slice S-1 is in progress"), "{out}");
    client.prompt("go on");
    assert!(client.ask("c2", "Edit", &edit).answer >= AnswerEffect::Deny, "still");
    for number in ["1", "2", "3"] {
        let strategy = format!("try {number}");
        let record =
            ["attempt", "record", "--slice", "S-1", "--test", "t", "--result", "fail", "--strategy", &strategy];
        site.run(&record);
    }
    let answer = site.run(&["attempt", "begin", "--slice", "S-3", "--in-scope", "src/"]);
    assert_eq!(answer.code, Some(77), "{answer:?}");
    assert!(answer.err.contains("slice S-1 is in progress") && answer.err.contains("--reason TEXT"), "{answer:?}");
    let other = site.run(&["attempt", "begin", "--slice", "S-3", "--in-scope", "docs/"]);
    assert_eq!(other.code, Some(0), "other files are free: {other:?}");
    site.config("[operator]\nunattended = true\n");
    let person =
        site.run_detached(&["attempt", "begin", "--slice", "S-4", "--in-scope", "src/", "--reason", "split"], &[]);
    assert_eq!(person.code, Some(0), "{person:?}");
}

/// Of slices that begin at once over the same files, one begins.
#[test]
fn of_twenty_slices_that_begin_at_once_over_the_same_files_one_begins() {
    let site = Site::new();
    site.file("src/a.rs", "a\n");
    let children: Vec<_> = (0..20)
        .map(|number| {
            let slice = format!("S-{number}");
            let mut command = site.command(&["attempt", "begin", "--slice", &slice, "--in-scope", "src/"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
        })
        .collect();
    let ended = children.into_iter().map(|mut child| child.wait().expect("ends").code());
    let codes: Vec<_> = ended.collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(77)).count(), 19, "{codes:?}");
}

#[test]
fn reads_writes_in_scope_and_files_of_no_slice_pass() {
    let site = site();
    let client = Client { site: &site, session: "reads" };
    let whole = |path: &str| site.project().join(path).display().to_string();
    let scratch = site.home().join("notes.md").display().to_string();
    for (number, (tool, input)) in [
        ("Read", json!({"file_path": whole("lib/b.rs")})),
        ("Edit", json!({"file_path": whole("src/a.rs"), "old_string": "a", "new_string": "b"})),
        ("Write", json!({"file_path": "src/deep/er/new.rs", "content": "lib/b.rs"})),
        ("Write", json!({"file_path": scratch, "content": "x"})),
        ("mcp__fs__read_text_file", json!({"path": "lib/b.rs"})),
        ("mcp__jira__create_issue", json!({"title": "lib/b.rs", "path": "lib/b.rs"})),
        ("Bash", json!({"command": "cat lib/b.rs"})),
        ("Grep", json!({"pattern": "x", "path": whole("lib")})),
    ]
    .into_iter()
    .enumerate()
    {
        client.prompt("go on");
        let result = client.ask(&format!("c{number}"), tool, &input);
        assert_eq!(result.answer, AnswerEffect::Pass, "{tool} {input}: {result:?}");
    }
}

#[test]
fn without_a_slice_or_with_the_lock_off_nothing_is_denied() {
    let without = Site::new();
    let switched_off = site();
    switched_off.config("[attempt]\nlock = false\n");
    for site in [&without, &switched_off] {
        let client = Client { site, session: "free" };
        let result = client.ask("c1", "Write", &json!({"file_path": "lib/new.rs", "content": "x"}));
        assert_eq!(result.answer, AnswerEffect::Pass, "{result:?}");
    }
}

/// A client's own folder in the user's home belongs to no slice, whichever folder the hooks are configured in.
#[test]
fn a_clients_own_folder_is_outside_every_scope() {
    let site = site();
    // Not in the temporary folder, where everything passes.
    let home = "/home/nobody-of-this-name";
    let copilot = |path: &str| {
        json!({"session_id": "s", "hook_event_name": "PreToolUse", "cwd": site.project(), "timestamp": "2026-01-01T00:00:00Z",
            "tool_name": "Create", "tool_input": {"path": format!("{home}/{path}"), "file_text": "x"}})
    };
    let cline = |path: &str| {
        json!({"hookName": "tool_call", "taskId": "t", "workspaceRoots": [site.project()], "agent_id": "a", "iteration": 1,
            "tool_call": {"id": path, "name": "editor", "input": {
                "command": "create", "path": format!("{home}/{path}"), "new_text": "x"}}})
    };
    let opencode = |path: &str| {
        json!({"event": "tool.execute.before", "session": "o", "folder": site.project(), "tool": "write", "call": path,
            "message": path, "input": {"filePath": format!("{home}/{path}"), "content": "x"}})
    };
    for (client, payload, is_denied) in [
        ("copilot", copilot(".copilot/session-state/plan.md"), false),
        ("copilot", copilot("plan.md"), true),
        ("cline", cline(".cline/data/notes.md"), false),
        ("cline", cline("notes.md"), true),
        ("opencode", opencode(".config/opencode/notes.md"), false),
        ("opencode", opencode("more.md"), true),
    ] {
        let mut command = site.command(&["hook", client]);
        command.env("HOME", home).env("XDG_RUNTIME_DIR", site.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        child.stdin.take().expect("piped").write_all(payload.to_string().as_bytes()).expect("the hook reads its event");
        let output = child.wait_with_output().expect("waited for");
        let out = String::from_utf8_lossy(&output.stdout);
        assert_eq!(out.contains("HL-ATTEMPT-04"), is_denied, "{client} {payload}: {out}");
    }
}
