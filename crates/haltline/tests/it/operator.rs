//! Operator actions are for people (E6): denied inside agents, confirmed by token where in doubt, audited.

use crate::support::Site;
use crate::support::terminal::Terminal;

/// A site with an OPEN circuit.
fn tripped() -> Site {
    let site = Site::new();
    site.constraint("rule", "violation_threshold: 1");
    assert!(site.record("rule", "x").out.starts_with("CIRCUIT TRIPPED"));
    site
}

const VERBS: [&[&str]; 9] = [
    &["constraint", "reset", "rule", "--reason", "fixed"],
    &["constraint", "retire", "rule"],
    &["constraint", "override", "rule", "--reason", "release"],
    &["purge", "unknown", "--yes"],
    &["pause", "30m"],
    &["pause", "today", "--project", "--reason", "just now"],
    &["config", "set", "mode", "observe"],
    &["config", "set", "loop.repeat.deny", "9", "--project"],
    &["config", "edit"],
];

#[test]
fn inside_an_agent_every_operator_action_is_denied_whatever_else_is_set() {
    let site = tripped();
    site.config("[operator]\nunattended = true\n");
    for verb in VERBS {
        for marker in ["CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "AI_AGENT"] {
            let answer = site.run_detached(verb, &[(marker, "1")]);
            assert_eq!(answer.code, Some(77), "{verb:?} {answer:?}");
            assert!(answer.err.starts_with("denied: ") && answer.err.contains(marker), "{answer:?}");
        }
    }
    assert_eq!(site.status("rule")["state"], "OPEN");
}

#[test]
fn without_a_terminal_they_are_denied_unless_the_user_allows_unattended_use() {
    let site = tripped();
    for verb in VERBS {
        let answer = site.run_detached(verb, &[]);
        assert_eq!(answer.code, Some(77), "{verb:?} {answer:?}");
        assert!(answer.err.contains("operator.unattended"), "{answer:?}");
    }
    site.config("[operator]\nunattended = true\n");
    let answer = site.run_detached(VERBS[0], &[]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.out.contains("Who:     ana (uid ") && answer.out.contains("Reason:  fixed"), "{answer:?}");
    assert_eq!(site.status("rule")["state"], "CLOSED");
}

#[test]
fn a_project_cannot_allow_unattended_use() {
    let site = tripped();
    site.file(".haltline.toml", "[operator]\nunattended = true\n");
    assert_eq!(site.run_detached(VERBS[0], &[]).code, Some(77));
}

#[test]
fn an_override_needs_the_token_typed_back_and_allows_one_action() {
    let site = tripped();
    let mut terminal =
        Terminal::start(&site, &["constraint", "override", "rule", "--reason", "release", "--for", "30m"]);
    let token = terminal.token();
    terminal.type_line(&token.to_lowercase());
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("OVERRIDE GRANTED: rule"), "{seen}");
    let enforce = ["constraint", "enforce", "rule", "--action", "git push -f", "--violated"];
    assert_eq!(site.run(&enforce).code, Some(0));
    assert_eq!(site.run(&enforce).code, Some(77));
    assert_eq!(site.status("rule")["state"], "OPEN");
}

#[test]
fn a_wrong_token_three_times_changes_nothing() {
    let site = tripped();
    let mut terminal = Terminal::start(&site, &["constraint", "override", "rule", "--reason", "release"]);
    terminal.token();
    for _ in 0..3 {
        terminal.type_line("WRONG!");
    }
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(77), "{seen}");
    assert!(seen.contains("wrong 3 times; haltline changed nothing"), "{seen}");
    assert_eq!(site.status("rule")["override_until"], serde_json::Value::Null);
}

#[test]
fn a_person_at_a_terminal_resets_and_the_journal_says_who_and_why() {
    let site = tripped();
    let mut terminal = Terminal::start(&site, &["constraint", "reset", "rule", "--reason", "cause found"]);
    // If the tests themselves run inside an agent, haltline asks for the token.
    if !terminal.read_until("CIRCUIT RESET: rule") || terminal.seen.contains("Token: ") {
        let token = terminal.token();
        terminal.type_line(&token);
    }
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    let journal = site.run(&["journal", "show", "--limit", "1", "--json"]).json();
    assert_eq!(journal["facts"][0]["word"], "reset");
    assert_eq!(journal["facts"][0]["text"], "cause found");
    assert!(
        journal["facts"][0]["fact"]["constraint"]["reset"]["who"].as_str().is_some_and(|who| who.starts_with("ana"))
    );
}

#[test]
fn impossible_actions_fail_before_the_person_is_prompted() {
    let site = tripped();
    let answer = site.run_detached(&["constraint", "reset", "missing"], &[]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.err.contains("Constraint not found: missing"), "{answer:?}");
}

#[test]
fn loosening_a_constraint_file_waits_for_trust_and_never_closes_an_open_circuit() {
    let site = tripped();
    site.config("[operator]\nunattended = true\n");
    site.constraint("rule", "violation_threshold: 9\ncooldown_hours: 1");
    assert_eq!(site.record("rule", "y").code, Some(0));
    let listed = site.run(&["trust", "--list", "--json"]).json();
    assert_eq!(listed["waiting"].as_array().map(Vec::len), Some(2), "{listed}");
    assert!(site.run(&["status"]).out.contains("2 settings wait for your trust: haltline trust"));
    assert_eq!(site.run_detached(&["trust"], &[("CLAUDECODE", "1")]).code, Some(77));
    let trusted = site.run_detached(&["trust", "--reason", "agreed"], &[]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    let status = site.status("rule");
    assert_eq!((&status["state"], &status["limits"]["violation_threshold"]), (&"OPEN".into(), &9.into()));
    assert_eq!(site.run(&["trust", "--list", "--json"]).json()["waiting"], serde_json::json!([]));
}

#[test]
fn a_project_file_loosens_only_when_trusted() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    site.file(".haltline.toml", "mode = \"observe\"\n[constraint]\ncooldown_hours = 48\n");
    let shown = site.run(&["config", "show"]).out;
    assert!(shown.contains("mode = \"enforce\"") && shown.contains("cooldown_hours = 48"), "{shown}");
    let trusted = site.run_detached(&["trust"], &[]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    assert!(site.run(&["config", "show"]).out.contains("mode = \"observe\""));
    site.file(".haltline.toml", "mode = \"observe\"\n# changed\n");
    assert!(site.run(&["config", "show"]).out.contains("mode = \"enforce\""), "trust is for one content");
}

#[test]
fn purging_a_session_forgets_its_texts_everywhere_and_keeps_the_counts() {
    let site = Site::new();
    site.config("[operator]\nunattended = true\n");
    site.constraint("rule", "violation_threshold: 5\ndedup_seconds: 0");
    for session in ["secret-session", "other"] {
        let action = format!("action of {session}");
        site.run(&["constraint", "record", "rule", "--action", &action, "--session", session]);
    }
    let purged = site.run_detached(&["purge", "secret-session", "--yes"], &[]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let exported = site.run(&["journal", "export"]).out;
    assert!(!exported.contains("secret-session") && exported.contains("action of other"), "{exported}");
    let mirror = std::fs::read_to_string(site.project().join("docs/constraints/.circuit-state.json")).expect("there");
    assert!(!mirror.contains("secret-session") && mirror.contains("[purged]"), "{mirror}");
    for name in crate::support::names(&site.state()) {
        let bytes = std::fs::read(site.state().join(&name)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("secret-session"), "{name} still holds it");
    }
    assert_eq!(site.record("rule", "later").code, Some(0));
    assert_eq!(site.status("rule")["totals"]["violations"], 3, "the purged line of the mirror is not imported again");
    site.assert_verifies();
    assert_eq!(site.run_detached(&["purge", "secret-session", "--yes"], &[]).code, Some(1), "nothing is left to purge");
}
