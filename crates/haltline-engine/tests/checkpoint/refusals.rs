//! Where there is no checkpoint or no rollback, and what is said then.

use std::fs;
use std::process::Command;

use haltline_engine::checkpoint::{CheckpointError, Checkpoints, NoGit, RollBackOptions};

use crate::tree::{Tree, left};

fn no_git(tree: &Tree, folder: &str) -> NoGit {
    match Checkpoints::at(&tree.path(folder)) {
        Err(CheckpointError::NoGit(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_repository_a_bare_one_and_gits_own_folder_are_told_apart() {
    assert_eq!(no_git(&Tree::plain(), ""), NoGit::Repository);
    let tree = Tree::new();
    assert_eq!(no_git(&tree, ".git"), NoGit::Inside);
    tree.git(&["clone", "-q", "--bare", ".", "bare"]);
    assert_eq!(no_git(&tree, "bare"), NoGit::WorkTree);
}

#[test]
fn a_missing_git_is_told_apart() {
    const NAME: &str = "refusals::a_missing_git_is_told_apart";
    if let Some(root) = std::env::var_os("HALTLINE_TEST_ROOT") {
        let error = Checkpoints::at(root.as_ref()).expect_err("no git");
        assert!(matches!(error, CheckpointError::NoGit(NoGit::Program)), "{error}");
        return;
    }
    let tree = Tree::new();
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", NAME])
        .env("HALTLINE_TEST_ROOT", tree.root())
        .env("PATH", tree.root())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_work_tree_that_is_said_to_be_elsewhere_is_refused() {
    let tree = Tree::new();
    fs::create_dir(tree.path("../other")).expect("made");
    for elsewhere in ["../../other", "../.."] {
        tree.git(&["config", "core.worktree", elsewhere]);
        let error = Checkpoints::at(&tree.root()).expect_err("refused").to_string();
        assert!(error.contains("core.worktree") || error.contains("inside git's own"), "{error}");
    }
}

#[test]
fn commits_are_taken_back_on_their_branch_only() {
    let tree = Tree::new();
    let start = tree.take("start");
    tree.git(&["checkout", "-q", "-b", "side"]);
    tree.write("a", "side\n");
    tree.commit("on the side");
    let before = (tree.account(), tree.git_account());
    let with_commits = RollBackOptions { with_commits: true };
    let error = tree.checkpoints().roll_back(&start, with_commits, tree.now()).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "main was checked out at the checkpoint and side is now: check out the first, or roll back without the commits"
    );
    assert_eq!((tree.account(), tree.git_account()), before);
    let done = tree.roll_back(&start);
    assert_eq!((done.commits_since, done.branch.as_deref()), (1, Some("refs/heads/side")));
    assert_eq!(tree.read("a"), "first a\n");
}

#[test]
fn a_merge_that_came_since_is_refused_and_one_of_then_is_not() {
    let tree = Tree::new();
    tree.git(&["checkout", "-q", "-b", "side"]);
    tree.write("a", "side\n");
    tree.commit("side");
    tree.git(&["checkout", "-q", "main"]);
    tree.write("a", "main\n");
    tree.commit("main");
    let clean = tree.take("clean");
    assert!(!tree.try_git_at("", &["merge", "side"]).0);
    let before = (tree.account(), tree.git_account());
    let error = tree.checkpoints().roll_back(&clean, RollBackOptions::default(), tree.now()).expect_err("refused");
    assert_eq!(error.to_string(), "a merge is under way that was not at the checkpoint: finish or abort it first");
    assert_eq!((tree.account(), tree.git_account()), before);
    let merging = tree.take("merging");
    tree.write("a", "resolved\n");
    tree.git(&["add", "a"]);
    tree.roll_back(&merging);
    assert_eq!((tree.account(), tree.git_account()), before);
    tree.git(&["merge", "--abort"]);
    let done = tree.roll_back(&merging);
    assert_eq!(left(&done), [": a merge or rebase was under way then and is over"]);
    assert_eq!(tree.account(), before.0);
}

#[test]
fn an_index_that_git_has_locked_is_waited_for_by_nobody() {
    let tree = Tree::new();
    let start = tree.take("start");
    tree.write("a", "now\n");
    tree.write(".git/index.lock", "");
    let error = tree.checkpoints().roll_back(&start, RollBackOptions::default(), tree.now()).expect_err("refused");
    assert!(matches!(error, CheckpointError::IndexLocked(_)), "{error}");
    assert_eq!(tree.read("a"), "now\n");
    assert_eq!(tree.checkpoints().unfinished().expect("asked"), None);
    assert!(tree.path(".git/index.lock").exists());
    tree.remove(".git/index.lock");
    tree.roll_back(&start);
    assert_eq!(tree.read("a"), "first a\n");
}

#[test]
fn a_ref_that_somebody_else_wrote_is_refused() {
    let tree = Tree::new();
    let start = tree.take("start");
    tree.git(&["update-ref", &start.reference, "HEAD"]);
    assert!(matches!(tree.checkpoints().find("start"), Err(CheckpointError::Damaged { .. })));
    assert_eq!(tree.checkpoints().list("").expect("listed"), []);
    assert_eq!(tree.checkpoints().find("other").expect("looked for"), None);
}
