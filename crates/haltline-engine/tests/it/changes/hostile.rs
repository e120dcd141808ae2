//! Hostile repositories that try to make a snapshot run a program, wait, or change the tree.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use haltline_engine::changes::{SnapshotOptions, Source, WorkTreeSnapshot};

use crate::changes::work_tree::WorkTree;
use crate::support::{assert_passed, in_own_process};

/// Makes every setting and hook that names a program name one that writes a marker file.
fn arm(tree: &WorkTree) -> PathBuf {
    let marker = tree.path(".git/mark");
    let leave = format!("echo ran >>'{}'; cat", marker.display());
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "pager.status",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil process.process",
        "filter.a=b \"c.clean",
        "credential.helper",
        "gpg.program",
        "interactive.diffFilter",
        "alias.status",
        "alias.config",
    ] {
        let value = if name.starts_with("alias") { format!("!{leave}") } else { leave.clone() };
        tree.git(&["config", name, &value]);
    }
    for (name, value) in [
        ("filter.evil.required", "true"),
        ("filter.a=b \"c.required", "true"),
        ("log.showSignature", "true"),
        ("status.submoduleSummary", "true"),
        ("core.untrackedCache", "true"),
        ("color.ui", "always"),
        ("status.relativePaths", "true"),
        ("core.quotePath", "true"),
        ("status.short", "true"),
        ("diff.renames", "copies"),
        ("diff.mnemonicPrefix", "true"),
    ] {
        tree.git(&["config", name, value]);
    }
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc"] {
        tree.write(format!(".git/hooks/{hook}"), format!("#!/bin/sh\n{leave}\n"));
        tree.set_mode(&format!(".git/hooks/{hook}"), 0o755);
    }
    marker
}

#[test]
fn a_snapshot_runs_no_program_of_the_repository() {
    let tree = WorkTree::new();
    tree.write("one.x", "first\n");
    tree.write("two.y", "first\n");
    tree.write("three.z", "first\n");
    tree.commit("filtered");
    tree.write(".git/info/attributes", "*.x filter=evil diff=evil merge=evil\n*.y filter=\"evil process\"\n");
    tree.write(".gitattributes", "*.x filter=evil diff=evil\n*.z filter=evil\n");
    let marker = arm(&tree);
    tree.write("two.y", "second\n");
    let done = tree.iteration(|tree| {
        for path in ["one.x", "two.y", "three.z", "a"] {
            tree.touch(path, 1_000);
        }
        tree.write("one.x", "other\n");
        tree.write("b", "edited\n");
        tree.write("new.x", "loose\n");
    });
    assert_eq!(done, "unstaged 2 (b, one.x); untracked 1 (new.x)");
    let first = tree.snapshot();
    tree.git(&["-c", "alias.x=", "update-ref", "refs/heads/other", "HEAD"]);
    let tip = tree.git(&["-c", "filter.evil.clean=", "commit-tree", "-m", "by hand", "-p", "HEAD", "HEAD^{tree}"]);
    tree.git(&["update-ref", "refs/heads/other", &tip]);
    assert_eq!(tree.snapshot().changes_since(&first), []);
    assert!(!marker.exists(), "a program of the repository ran");
    tree.try_git_at("", &["status"]);
    assert!(marker.exists(), "the traps do not work, so nothing was shown");
}

#[test]
fn going_back_runs_no_filter_either() {
    let tree = WorkTree::new();
    tree.write("one.x", "first\n");
    tree.commit("first");
    tree.write("one.x", "second\n");
    tree.commit("second");
    tree.write(".git/info/attributes", "*.x filter=evil\n");
    let marker = arm(&tree);
    let back = tree.iteration(|tree| {
        let parent = tree.git(&["rev-parse", "HEAD~1"]);
        tree.git(&["update-ref", "refs/heads/main", &parent]);
    });
    assert_eq!(back, "");
    assert!(!marker.exists(), "a filter ran");
}

#[test]
fn a_touched_file_under_a_filter_counts_once_at_most() {
    let tree = WorkTree::new();
    tree.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    tree.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    tree.write(".gitattributes", "*.up filter=upper\n");
    tree.write("f.up", "text\n");
    tree.commit("filtered");
    tree.touch("f.up", 1_000);
    tree.git(&["update-index", "-q", "--refresh"]);
    assert_eq!(tree.iteration(|_tree| {}), "");
    let touched = tree.iteration(|tree| tree.touch("f.up", 2_000));
    assert_eq!(touched, "unstaged 1 (f.up)");
    assert_eq!(tree.iteration(|tree| tree.touch("f.up", 3_000)), "");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["update-index", "-q", "--refresh"]))), "");
    assert_eq!(tree.iteration(|tree| tree.write("f.up", "other\n")), "unstaged 1 (f.up)");
    assert_eq!(tree.iteration(|tree| tree.commit("changed")), "commits 1 (changed)");
}

#[test]
fn a_snapshot_changes_nothing_and_a_lock_does_not_stop_it() {
    let tree = WorkTree::new();
    tree.touch("a", 1_000);
    let index = fs::read(tree.path(".git/index")).expect("an index");
    tree.write(".git/index.lock", "");
    assert_eq!(tree.iteration(|tree| tree.write("a", "edited\n")), "unstaged 1 (a)");
    assert_eq!(fs::read(tree.path(".git/index")).expect("an index"), index);
    assert!(tree.path(".git/index.lock").exists());
}

#[test]
fn a_damaged_index_is_a_problem_and_files_are_compared() {
    let tree = WorkTree::new();
    tree.write(".git/index", "no index\n");
    let snapshot = tree.snapshot();
    assert!(snapshot.problems().next().is_some_and(|problem| problem.contains("git status")), "{snapshot:?}");
    assert_eq!(tree.iteration(|tree| tree.write("a", "edited\n")), "files 1 (a)");
}

#[test]
fn a_work_tree_configured_elsewhere_is_not_read_there() {
    let (tree, other) = (WorkTree::new(), WorkTree::plain());
    other.write("secret", "x\n");
    tree.git(&["worktree", "add", "-q", "side"]);
    tree.git(&["config", "core.worktree", &other.root().display().to_string()]);
    let snapshot = tree.snapshot();
    assert!(!serde_json::to_string(&snapshot).expect("written").contains("secret"));
    assert!(snapshot.problems().next().is_some_and(|problem| problem.contains("core.worktree")), "{snapshot:?}");
    let edited = tree.iteration(|tree| {
        tree.write("a", "edited\n");
        tree.write("side/a", "edited\n");
    });
    assert_eq!(edited, "repositories 1 (side/a); files 1 (a)");
    tree.git_at(".git", &["config", "core.worktree", ".."]);
    assert_eq!(tree.iteration(|tree| tree.write("a", "once more\n")), "unstaged 1 (a)");
}

#[test]
fn a_repository_that_breaks_in_between_is_neither_new_nor_gone() {
    let tree = WorkTree::new();
    tree.git(&["init", "-q", "nested"]);
    tree.write("nested/x", "first\n");
    tree.commit_at("nested", "first");
    let head = fs::read(tree.path("nested/.git/HEAD")).expect("a head");
    let broken = tree.iteration(|tree| tree.write("nested/.git/HEAD", "nonsense"));
    assert!(!broken.contains("repositor"), "{broken}");
    let mended = tree.iteration(|tree| tree.write("nested/.git/HEAD", &head));
    assert!(!mended.contains("repositor"), "{mended}");
}

#[test]
fn a_forged_snapshot_gives_git_no_options() {
    let tree = WorkTree::new();
    let head = tree.git(&["rev-parse", "HEAD"]);
    let commit_tree = tree.git(&["rev-parse", "HEAD^{tree}"]);
    let forged = serde_json::to_string(&tree.snapshot()).expect("written");
    let forged = forged.replace(&head, "--all").replace(&commit_tree, "--output=forged");
    let forged: WorkTreeSnapshot = serde_json::from_str(&forged).expect("still a snapshot");
    tree.write("a", "edited\n");
    tree.commit("work");
    tree.write("b", "edited\n");
    let changes = tree.snapshot().changes_since(&forged);
    assert_eq!(changes.last().map(|change| change.source), Some(Source::Unstaged));
    assert!(!tree.path("forged").exists());
}

#[test]
fn the_callers_repository_is_not_captured() {
    // A runner started by a git hook has these variables. Only a separate process can have them here.
    if let Some(root) = std::env::var_os("HALTLINE_TEST_ROOT") {
        let snapshot = WorkTreeSnapshot::capture(root.as_ref(), &SnapshotOptions::default());
        assert_eq!(snapshot.problems().collect::<Vec<_>>(), Vec::<String>::new());
        let text = serde_json::to_string(&snapshot).expect("written");
        assert!(text.contains("only here") && !text.contains("only there"), "{text}");
        return;
    }
    let (tree, other) = (WorkTree::new(), WorkTree::new());
    tree.write("only here", "x\n");
    other.write("only there", "x\n");
    let output = in_own_process(the_callers_repository_is_not_captured)
        .env("HALTLINE_TEST_ROOT", tree.root())
        .env("GIT_DIR", other.path(".git"))
        .env("GIT_WORK_TREE", other.root())
        .env("GIT_INDEX_FILE", other.path(".git/index"))
        .env("GIT_PREFIX", "sub/")
        .output()
        .expect("it runs");
    assert_passed(&output);
}

#[test]
fn files_that_come_and_go_during_a_snapshot_do_no_harm() {
    let tree = WorkTree::new();
    let folder = tree.path("busy");
    fs::create_dir_all(&folder).expect("created");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                number = (number + 1) % 50;
                fs::write(folder.join(format!("file{number}")), number.to_string()).expect("written");
                fs::remove_file(folder.join(format!("file{}", (number + 25) % 50))).ok();
            }
        });
        let mut before = tree.snapshot();
        for _round in 0..20 {
            let now = tree.snapshot();
            assert!(now.changes_since(&before).iter().all(|change| change.source == Source::Untracked));
            before = now;
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
