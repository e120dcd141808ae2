//! A moved identity is noticed (E14): a project whose git directory was moved, replaced or made anew keeps its circuits, what
//! is OPEN is denied, and the person is told in the client.

use std::fs;
use std::process::Command;

use haltline_agents::self_test::AnswerEffect;
use serde_json::json;

use crate::support::Site;
use crate::support::hooks::Client;
use crate::support::terminal::Terminal;

/// A site with a rule that guards a push, OPEN.
fn guarded(site: &Site) {
    site.file(
        "docs/constraints/active/no-push.md",
        "---\nid: no-push\ncircuit_breaker:\n  violation_threshold: 1\nguards:\n  - tool: Bash\n    command: \"git push*\"\n---\n",
    );
    assert!(site.record("no-push", "git push").out.contains("CIRCUIT TRIPPED"));
}

/// Everything that loses the link between a work tree and its circuits, as one line of a shell in the project.
const ATTACKS: &[&str] = &[
    "mv .git .git2",
    "rm -rf .git",
    "mv .git .git2; git init -q .",
    "rm -rf .git; git init -q --separate-git-dir ../git .",
    "mv .git ../git; echo gitdir: ../git > .git",
    "mv .git .git2; ln -s .git2 .git",
    "git init -q ../other; rm -rf .git; git -C ../other worktree list > /dev/null; echo gitdir: ../other/.git > .git",
];

#[test]
fn a_guarded_call_is_denied_whatever_became_of_the_git_directory() {
    for attack in ATTACKS {
        for mirror in ["", "rm -f docs/constraints/.circuit-state.json; "] {
            let site = Site::new();
            guarded(&site);
            let line = format!("{mirror}{attack}");
            let done = Command::new("sh").args(["-c", &line]).current_dir(site.project()).status().expect("sh starts");
            assert!(done.success(), "{line}");
            let check = site.run(&["constraint", "check", "no-push"]);
            assert_eq!(check.code, Some(77), "{line}: {check:?}");
            let client = Client { site: &site, session: "s1" };
            let denied = client.ask("a", "Bash", &json!({"command": "git push origin main"}));
            assert!(denied.answer >= AnswerEffect::Deny, "{line}: {denied:?}");
            // With git at the same path, nothing has changed for haltline.
            if !attack.contains("ln -s") && !attack.ends_with("git init -q .") {
                assert!(check.err.contains("looks like"), "{line}: {check:?}");
            }
        }
    }
}

#[test]
fn a_folder_without_git_keeps_its_circuits_when_git_is_made_there() {
    let site = Site::new();
    fs::remove_dir_all(site.project().join(".git")).expect("removed");
    guarded(&site);
    fs::remove_file(site.project().join("docs/constraints/.circuit-state.json")).expect("removed");
    fs::create_dir(site.project().join(".git")).expect("made");
    assert_eq!(site.run(&["constraint", "check", "no-push"]).code, Some(77));
}

#[test]
fn below_a_work_tree_that_lost_git_a_folder_is_still_the_project() {
    let site = Site::new();
    guarded(&site);
    fs::create_dir_all(site.project().join("src/.claude")).expect("made");
    fs::remove_dir_all(site.project().join(".git")).expect("removed");
    let mut command = site.command(&["constraint", "check", "no-push"]);
    let output = command.current_dir(site.project().join("src")).output().expect("starts");
    assert_eq!(output.status.code(), Some(77), "{output:?}");
}

#[test]
fn a_project_folder_that_moved_takes_its_circuits_along() {
    let site = Site::new();
    guarded(&site);
    let moved = site.home().join("moved");
    fs::rename(site.project(), &moved).expect("moved");
    fs::remove_file(moved.join("docs/constraints/.circuit-state.json")).expect("removed");
    let mut command = site.command(&["constraint", "check", "no-push"]);
    let output = command.current_dir(&moved).output().expect("starts");
    assert_eq!(output.status.code(), Some(77), "{output:?}");
}

#[test]
fn the_client_reports_it_once_and_can_accept_another_project() {
    let site = Site::new();
    guarded(&site);
    fs::remove_dir_all(site.project().join(".git")).expect("removed");
    let client = Client { site: &site, session: "s1" };
    let ask = |call: &str| client.ask(call, "Bash", &json!({"command": "ls"}));
    let first = ask("a");
    assert!(first.to_person.contains("looks like") && first.to_person.contains("haltline trust"), "{first:?}");
    assert!(!ask("b").to_person.contains("looks like"));
    assert!(site.run(&["trust", "--list"]).out.contains("project"));
    let (code, seen) = Terminal::start(&site, &["trust"]).confirm_and_end("Trusted:");
    assert_eq!(code, Some(0), "{seen}");
    assert!(!site.run(&["status"]).err.contains("looks like"));
    let journal = site.run(&["journal", "show", "--everywhere"]).out;
    assert!(journal.contains("config_changed"), "{journal}");
}
