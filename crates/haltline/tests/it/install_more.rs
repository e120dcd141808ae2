//! Installations of all clients, settings with comments, the state folder after `uninstall`, and git's exclude file.

use std::fs;

use crate::install::{init, read, uninstall, write_settings};
use crate::support::{Site, names};

#[test]
fn comments_and_trailing_commas_stay_and_come_back_byte_for_byte() {
    for text in [
        "{\n  // mine\n  \"model\": \"opus\" // the big one\n}\n",
        "{\n  /* nothing yet */\n}\n",
        "{\n  \"hooks\": {\n    // none\n    \"Stop\": [\n      // later\n    ],\n  },\n}\n",
        "{ \"a\": [1, /* two */ 2,], }",
    ] {
        let site = Site::new();
        let path = write_settings(&site, text);
        init(&site, &[]);
        let installed = read(&path);
        let comments = ["// mine", "// the big one", "/* nothing yet */", "// none", "// later", "/* two */"];
        for comment in comments.iter().filter(|comment| text.contains(**comment)) {
            assert!(installed.contains(comment), "{comment} is gone: {installed}");
        }
        let again = site.run(&["init", "--yes"]);
        assert!(again.out.starts_with("already installed"), "{again:?}");
        fs::write(&path, installed.replacen('{', "{ // added later\n", 1)).expect("written");
        uninstall(&site, &[]);
        assert_eq!(read(&path), text.replacen('{', "{ // added later\n", 1), "without the backup");
        fs::write(&path, text).expect("written");
        init(&site, &[]);
        uninstall(&site, &[]);
        assert_eq!(read(&path), text);
    }
}

#[test]
fn clients_on_this_machine_are_installed_together_and_an_absent_one_is_named() {
    let site = Site::new();
    let none = site.command(&["init", "--all", "--yes"]).env("PATH", "").output().expect("it starts");
    let text = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(none.status.code() == Some(1) && text.contains("found no client"), "{text}");
    let absent = site.command(&["init", "--dry-run"]).env("PATH", "").output().expect("it starts");
    let text = String::from_utf8_lossy(&absent.stdout).into_owned();
    assert!(text.contains("Claude Code is not on this machine") && text.contains("no `claude` on the PATH"), "{text}");
    fs::create_dir_all(site.home().join(".codex")).expect("created");
    fs::create_dir_all(site.home().join(".gemini")).expect("created");
    let all = site.command(&["init", "--all", "--yes", "--json"]).env("PATH", "").output().expect("it starts");
    let view: serde_json::Value = serde_json::from_slice(&all.stdout).expect("one JSON answer");
    let clients: Vec<&str> =
        view["clients"].as_array().expect("a list").iter().filter_map(|one| one["client"].as_str()).collect();
    assert_eq!(clients, ["codex", "gemini"]);
    assert!(site.home().join(".codex/hooks.json").exists() && site.home().join(".gemini/settings.json").exists());
}

#[test]
fn uninstall_says_where_the_state_is_and_purge_deletes_it() {
    let site = Site::new();
    init(&site, &[]);
    init(&site, &["--client", "codex"]);
    site.record("x", "y");
    site.config("[operator]\nunattended = true\n");
    let state = site.state().display().to_string();
    let denied = site.run_detached(&["uninstall", "--purge"], &[]);
    assert!(denied.code == Some(1) && denied.err.contains("hooks.json still use this state"), "{denied:?}");
    let kept = uninstall(&site, &["--client", "codex"]);
    assert!(kept.out.contains(&state) && kept.out.contains("haltline uninstall --purge"), "{kept:?}");
    fs::write(site.state().join("mine.txt"), "mine").expect("written");
    let purged = uninstall(&site, &["--purge"]);
    assert!(purged.out.contains("did not write mine.txt"), "{purged:?}");
    assert_eq!(names(&site.state()), ["mine.txt"]);
    fs::remove_file(site.state().join("mine.txt")).expect("removed");
    let purged = uninstall(&site, &["--purge"]);
    assert!(purged.out.contains("state folder deleted") && !site.state().exists(), "{purged:?}");
    let inside = site.run_detached(&["uninstall", "--purge"], &[("CLAUDECODE", "1")]);
    assert_eq!(inside.code, Some(77), "{inside:?}");
}

#[test]
fn state_files_are_excluded_from_git_only_on_request_and_the_lines_go_with_uninstall() {
    let site = Site::new();
    fs::write(site.project().join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    let exclude = site.project().join(".git/info/exclude");
    init(&site, &[]);
    assert!(!exclude.exists());
    fs::create_dir_all(exclude.parent().expect("a folder")).expect("created");
    fs::write(&exclude, "*.log").expect("written");
    init(&site, &["--git-exclude"]);
    init(&site, &["--git-exclude"]);
    assert_eq!(read(&exclude), "*.log\n# haltline's state files\n.prp-session/\n.circuit-state*.json\n");
    uninstall(&site, &[]);
    assert_eq!(read(&exclude), "*.log\n");
}
