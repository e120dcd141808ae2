//! `haltline config get`, `set`, `unset`, `edit` and `check`: checked before anything is written, and audited.

use std::fs;

use crate::support::Site;
use crate::support::terminal::Terminal;

const UNATTENDED: &str = "# mine\n[operator]\nunattended = true # for the tests\n";

fn user_file(site: &Site) -> String {
    fs::read_to_string(site.home().join("config.toml")).unwrap_or_default()
}

#[test]
fn a_value_is_set_read_and_removed_and_the_journal_says_by_whom() {
    let site = Site::new();
    site.config(UNATTENDED);
    let set = site.run_detached(&["config", "set", "mode", "observe", "--reason", "trying it"], &[]);
    assert_eq!((set.code, set.out.lines().next()), (Some(0), Some("mode = \"observe\"")), "{set:?}");
    assert_eq!(site.run(&["config", "get", "mode"]).out, "observe\n");
    let file = user_file(&site);
    assert!(file.contains("# mine\n") && file.contains("unattended = true # for the tests"), "{file}");
    let shown = site.run(&["config", "get", "mode", "--json"]).json();
    assert_eq!((shown["value"].as_str(), shown["origin"].as_str()), (Some("observe"), Some("user")), "{shown}");
    let again = site.run_detached(&["config", "set", "mode", "observe"], &[]);
    assert!(again.out.starts_with("Nothing has changed."), "{again:?}");
    assert_eq!(site.run_detached(&["config", "unset", "mode"], &[]).code, Some(0));
    assert_eq!(user_file(&site), UNATTENDED);
    assert_eq!(site.run(&["config", "get", "mode"]).out, "enforce\n");
    let journal = site.run(&["journal", "show", "--everywhere", "--json"]).json();
    let mut facts = journal["facts"].as_array().expect("a list").clone();
    facts.retain(|fact| fact["word"] != "trusted");
    assert_eq!(facts.len(), 2, "{journal}");
    assert_eq!(facts[1]["word"], "config_changed");
    assert_eq!(facts[1]["text"], "not set → \"observe\" (trying it)");
    let changed = &facts[1]["fact"]["control"]["config_changed"];
    assert_eq!((changed["file"].as_str(), changed["key"].as_str()), (Some("user"), Some("mode")), "{changed}");
    assert!(changed["who"].as_str().is_some_and(|who| who.starts_with("ana")), "{changed}");
    let verified = site.run(&["journal", "verify", "--all"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_bad_value_or_key_changes_nothing() {
    let site = Site::new();
    site.config(UNATTENDED);
    for (arguments, expected) in [
        (&["config", "set", "mode", "observ"][..], "expected"),
        (&["config", "set", "mod", "observe"], "did you mean `mode`?"),
        (&["config", "set", "operator.unattended", "true", "--project"], "only the user's own file can set"),
        (&["config", "unset", "mod"], "did you mean `mode`?"),
    ] {
        let answer = site.run_detached(arguments, &[]);
        assert_eq!(answer.code, Some(1), "{answer:?}");
        assert!(answer.err.contains(expected) && answer.err.contains("haltline changed nothing"), "{answer:?}");
    }
    assert_eq!(user_file(&site), UNATTENDED);
    assert!(!site.project().join(".haltline.toml").exists());
}

#[test]
fn an_agent_cannot_change_the_configuration() {
    let site = Site::new();
    site.config(UNATTENDED);
    for arguments in [
        &["config", "set", "mode", "observe"][..],
        &["config", "set", "mode", "observe", "--project"],
        &["config", "set", "operator.unattended", "false"],
        &["config", "edit"],
    ] {
        let answer = site.run_detached(arguments, &[("CLAUDECODE", "1"), ("EDITOR", "echo 'mode = \"observe\"' >")]);
        assert_eq!(answer.code, Some(77), "{answer:?}");
    }
    assert_eq!(user_file(&site), UNATTENDED);
    assert!(!site.project().join(".haltline.toml").exists());
    assert_eq!(site.run_detached(&["config", "get", "mode"], &[("CLAUDECODE", "1")]).code, Some(0));
}

#[test]
fn a_person_who_loosens_the_projects_file_trusts_their_own_change_and_nothing_else() {
    let site = Site::new();
    site.config(UNATTENDED);
    let set = site.run_detached(&["config", "set", "mode", "observe", "--project"], &[]);
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(site.run(&["config", "get", "mode"]).out, "observe\n", "it is in force at once");
    site.file(".haltline.toml", "[constraint]\ncooldown_hours = 1\n");
    let set = site.run_detached(&["config", "set", "mode", "observe", "--project"], &[]);
    assert!(set.out.contains("wait for `haltline trust`"), "{set:?}");
    assert_eq!(site.run(&["config", "get", "mode"]).out, "enforce\n", "somebody else's change waits in the file");
}

#[test]
fn the_editors_text_is_taken_over_only_if_it_has_no_error() {
    let site = Site::new();
    site.config(UNATTENDED);
    let bad = "printf 'mode = \"observ\"\\n[loop]\\ntreshold = 3\\n' >";
    let answer = site.run_detached(&["config", "edit"], &[("EDITOR", bad)]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.err.contains("mode = \"observ\"") && answer.err.contains("loop.treshold"), "{answer:?}");
    assert_eq!(user_file(&site), UNATTENDED);
    let good = "printf '[operator]\\nunattended = true\\n' >";
    let answer = site.run_detached(&["config", "edit"], &[("EDITOR", good)]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(user_file(&site), "[operator]\nunattended = true\n");
    let unchanged = site.run_detached(&["config", "edit"], &[("EDITOR", "true")]);
    assert_eq!((unchanged.code, unchanged.err.as_str()), (Some(0), "Nothing has changed.\n"), "{unchanged:?}");
    assert_eq!(site.run_detached(&["config", "edit"], &[("EDITOR", "false")]).code, Some(1));
    let terminal = Terminal::start(&site, &["config", "set", "mode", "observe"]);
    let (code, seen) = terminal.confirm_and_end("mode = ");
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn check_reports_all_errors_of_both_files() {
    let site = Site::new();
    site.config("mode = \"observ\"\n[loop]\ntreshold = 3\n[loop.repeat]\ndeny = -1\n");
    site.file(".haltline.toml", "[operator]\nunattended = true\n[loop]\ntreshold = 4\n");
    let check = site.run(&["config", "check", "--json"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert_eq!(check.json()["errors"].as_array().map(Vec::len), Some(5), "{check:?}");
    let text = site.run(&["config", "check"]).out;
    for part in ["mode = \"observ\"", "loop.treshold", "loop.repeat.deny = -1", "only the user's own file can set"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
