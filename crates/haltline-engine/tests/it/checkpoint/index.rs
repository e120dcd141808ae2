//! A rollback restores git's index as it was, and the index stays usable.

use std::fs;

use crate::checkpoint::tree::{Tree, left_alone};

fn conflicted() -> Tree {
    let tree = Tree::new();
    tree.git(&["checkout", "-q", "-b", "side"]);
    tree.write("a", "side\n");
    tree.write("b", "side\n");
    tree.commit("side");
    tree.git(&["checkout", "-q", "main"]);
    tree.write("a", "main\n");
    tree.write("b", "main\n");
    tree.commit("main");
    assert!(!tree.try_git_at("", &["merge", "side"]).0);
    tree
}

#[test]
fn bytes_and_time_of_the_index_are_restored() {
    let tree = Tree::new();
    tree.write("staged", "one\n");
    tree.git(&["add", "staged"]);
    tree.write("staged", "two\n");
    let file = || {
        let path = tree.path(".git/index");
        (fs::read(&path).expect("there"), fs::metadata(&path).and_then(|found| found.modified()).expect("timed"))
    };
    let then = file();
    let start = tree.checkpoint("start");
    tree.commit("all");
    tree.roll_back(&start);
    assert_eq!(file(), then);
    assert_eq!(tree.git(&["diff", "--name-only"]), "staged");
    assert_eq!(tree.git(&["show", ":staged"]), "one");
}

#[test]
fn objects_that_only_the_index_refers_to_survive_garbage_collection() {
    let tree = conflicted();
    tree.write("staged", "only in the index\n");
    tree.git(&["add", "staged"]);
    tree.remove("staged");
    tree.write("b", "resolved\n");
    tree.git(&["add", "b"]);
    let start = tree.checkpoint("start");
    let (then, account) = (tree.git_account(), tree.account());
    tree.git(&["merge", "--abort"]);
    tree.git(&["branch", "-q", "-D", "side"]);
    fs::remove_dir_all(tree.path(".git/logs")).expect("removed");
    tree.git(&["gc", "-q", "--prune=now"]);
    let done = tree.roll_back(&start);
    assert_eq!(left_alone(&done), [": a merge or rebase was in progress at the checkpoint and has ended"]);
    assert_eq!((tree.git_account().entries, tree.account()), (then.entries, account));
    assert_eq!(tree.git(&["show", ":staged"]), "only in the index");
    assert_eq!(tree.git(&["show", ":3:a"]), "side");
    tree.git(&["checkout", "--merge", "--", "b"]);
    assert!(tree.read("b").contains("<<<<<<<"), "the other sides of b are there");
    tree.git(&["gc", "-q", "--prune=now"]);
    tree.git(&["fsck", "--strict"]);
}

#[test]
fn clean_files_do_not_stay_dirty_after_a_rollback() {
    let tree = Tree::new();
    let start = tree.checkpoint("start");
    for path in ["a", "b", "sub/c"] {
        tree.write(path, "now\n");
    }
    tree.commit("work");
    let options = haltline_engine::checkpoint::RollBackOptions { with_commits: true };
    tree.checkpoints().roll_back(&start, options, tree.now()).expect("rolled back");
    assert_eq!(tree.git(&["status", "--porcelain"]), "");
    tree.git(&["update-index", "--refresh"]);
    assert_eq!(tree.git(&["diff-files"]), "");
}

#[test]
fn an_index_that_is_split_becomes_a_whole_one() {
    let tree = Tree::new();
    tree.git(&["update-index", "--split-index"]);
    tree.write("b", "staged\n");
    tree.git(&["add", "b"]);
    let start = tree.checkpoint("start");
    let then = tree.git_account();
    tree.commit("work");
    for entry in fs::read_dir(tree.path(".git")).expect("read").map(|entry| entry.expect("entry")) {
        if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
            fs::remove_file(entry.path()).expect("removed");
        }
    }
    tree.git(&["read-tree", "HEAD"]);
    tree.roll_back(&start);
    assert_eq!(tree.git_account().entries, then.entries);
}

#[test]
fn a_missing_index_is_restored_as_missing() {
    let tree = Tree::unborn();
    tree.write("loose", "x\n");
    let start = tree.checkpoint("start");
    tree.commit("first");
    let options = haltline_engine::checkpoint::RollBackOptions { with_commits: true };
    let done = tree.checkpoints().roll_back(&start, options, tree.now()).expect("rolled back");
    assert_eq!((done.commits_since, left_alone(&done)), (1, vec![]));
    assert!(!tree.path(".git/index").exists() && !tree.path(".git/index.lock").exists());
    assert_eq!(tree.git(&["status", "--porcelain"]), "?? loose");
    assert!(!tree.try_git_at("", &["rev-parse", "--verify", "HEAD"]).0);
    tree.checkpoints().roll_back(&done.kept, options, tree.now()).expect("undone");
    assert_eq!(tree.git(&["log", "--format=%s"]), "first");
    assert_eq!(tree.git(&["status", "--porcelain"]), "");
}
