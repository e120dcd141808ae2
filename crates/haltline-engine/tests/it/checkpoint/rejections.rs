//! When a checkpoint or rollback is not possible, and what the error says.

use std::fs;

use haltline_engine::checkpoint::{CheckpointError, Checkpoints, NoGit, RollBackOptions};

use crate::checkpoint::tree::{Tree, left_alone};
use crate::support::{assert_passed, in_own_process};

fn no_git(tree: &Tree, folder: &str) -> NoGit {
    match Checkpoints::open(&tree.path(folder)) {
        Err(CheckpointError::NoGit(missing)) => missing,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_repository_a_bare_one_and_gits_own_folder_are_distinguished() {
    assert_eq!(no_git(&Tree::plain(), ""), NoGit::Repository);
    let tree = Tree::new();
    assert_eq!(no_git(&tree, ".git"), NoGit::InsideGitFolder);
    tree.git(&["clone", "-q", "--bare", ".", "bare"]);
    assert_eq!(no_git(&tree, "bare"), NoGit::WorkTree);
}

#[test]
fn a_missing_git_is_distinguished() {
    if let Some(root) = std::env::var_os("HALTLINE_TEST_ROOT") {
        let error = Checkpoints::open(root.as_ref()).expect_err("no git");
        assert!(matches!(error, CheckpointError::NoGit(NoGit::Program)), "{error}");
        return;
    }
    let tree = Tree::new();
    let output = in_own_process(a_missing_git_is_distinguished)
        .env("HALTLINE_TEST_ROOT", tree.root())
        .env("PATH", tree.root())
        .output()
        .expect("it runs");
    assert_passed(&output);
}

#[test]
fn a_work_tree_configured_elsewhere_is_rejected() {
    let tree = Tree::new();
    fs::create_dir(tree.path("../other")).expect("made");
    for elsewhere in ["../../other", "../.."] {
        tree.git(&["config", "core.worktree", elsewhere]);
        let error = Checkpoints::open(&tree.root()).expect_err("rejected").to_string();
        assert!(error.contains("core.worktree") || error.contains("inside git's own"), "{error}");
    }
}

#[test]
fn commits_are_undone_on_their_branch_only() {
    let tree = Tree::new();
    let start = tree.checkpoint("start");
    tree.git(&["checkout", "-q", "-b", "side"]);
    tree.write("a", "side\n");
    tree.commit("on the side");
    let before = (tree.account(), tree.git_account());
    let with_commits = RollBackOptions { with_commits: true };
    let error = tree.checkpoints().roll_back(&start, with_commits, tree.now()).expect_err("rejected");
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
fn a_merge_begun_after_the_checkpoint_is_rejected_and_an_earlier_one_is_not() {
    let tree = Tree::new();
    tree.git(&["checkout", "-q", "-b", "side"]);
    tree.write("a", "side\n");
    tree.commit("side");
    tree.git(&["checkout", "-q", "main"]);
    tree.write("a", "main\n");
    tree.commit("main");
    let clean = tree.checkpoint("clean");
    assert!(!tree.try_git_at("", &["merge", "side"]).0);
    let before = (tree.account(), tree.git_account());
    let error = tree.checkpoints().roll_back(&clean, RollBackOptions::default(), tree.now()).expect_err("rejected");
    assert_eq!(error.to_string(), "a merge is in progress that began after the checkpoint: finish or abort it first");
    assert_eq!((tree.account(), tree.git_account()), before);
    let merging = tree.checkpoint("merging");
    tree.write("a", "resolved\n");
    tree.git(&["add", "a"]);
    tree.roll_back(&merging);
    assert_eq!((tree.account(), tree.git_account()), before);
    tree.git(&["merge", "--abort"]);
    let done = tree.roll_back(&merging);
    assert_eq!(left_alone(&done), [": a merge or rebase was in progress at the checkpoint and has ended"]);
    assert_eq!(tree.account(), before.0);
}

#[test]
fn a_locked_index_fails_at_once() {
    let tree = Tree::new();
    let start = tree.checkpoint("start");
    tree.write("a", "now\n");
    tree.write(".git/index.lock", "");
    let error = tree.checkpoints().roll_back(&start, RollBackOptions::default(), tree.now()).expect_err("rejected");
    assert!(matches!(error, CheckpointError::IndexLocked(_)), "{error}");
    assert_eq!(tree.read("a"), "now\n");
    assert_eq!(tree.checkpoints().unfinished().expect("asked"), None);
    assert!(tree.path(".git/index.lock").exists());
    tree.remove(".git/index.lock");
    tree.roll_back(&start);
    assert_eq!(tree.read("a"), "first a\n");
}

#[test]
fn a_ref_that_haltline_did_not_write_is_rejected() {
    let tree = Tree::new();
    let start = tree.checkpoint("start");
    tree.git(&["update-ref", &start.reference, "HEAD"]);
    assert!(matches!(tree.checkpoints().find("start"), Err(CheckpointError::Damaged { .. })));
    assert_eq!(tree.checkpoints().list("").expect("listed"), []);
    assert_eq!(tree.checkpoints().find("other").expect("searched"), None);
}
