//! Commits that are created, rewritten, undone or merged, on this branch or another.

use crate::changes::work_tree::{WorkTree, as_line};

#[test]
fn committing_work_that_was_there_is_exactly_a_commit() {
    let tree = WorkTree::new();
    tree.write("a", "edited\n");
    tree.write("b", "edited\n");
    tree.git(&["add", "b"]);
    tree.write("new", "loose\n");
    tree.remove("sub/c");
    assert_eq!(tree.iteration(|tree| tree.commit("yesterday's work")), "commits 1 (yesterday's work)");
}

#[test]
fn work_that_is_edited_further_and_committed_is_a_commit() {
    let tree = WorkTree::new();
    tree.write("a", "edited\n");
    let done = tree.iteration(|tree| {
        tree.write("a", "edited further\n");
        tree.commit("work");
    });
    assert_eq!(done, "commits 1 (work)");
    tree.write("a", "again\n");
    let other = tree.iteration(|tree| {
        tree.git(&["checkout", "-q", "a"]);
        tree.write("b", "edited\n");
        tree.commit("other work");
    });
    assert_eq!(other, "commits 1 (other work); unstaged 1 (a)");
    let after = tree.iteration(|tree| {
        tree.write("b", "committed\n");
        tree.commit("work on b");
        tree.write("b", "and more\n");
    });
    assert_eq!(after, "commits 1 (work on b); unstaged 1 (b)");
}

#[test]
fn the_first_commit_is_a_commit() {
    let tree = WorkTree::unborn();
    assert_eq!(tree.iteration(|_tree| {}), "");
    assert_eq!(tree.iteration(|tree| tree.write("a", "x\n")), "untracked 1 (a)");
    let staged = tree.iteration(|tree| {
        tree.write("b", "x\n");
        tree.git(&["add", "b"]);
    });
    assert_eq!(staged, "staged 1 (b)");
    assert_eq!(tree.iteration(|tree| tree.commit("born")), "commits 1 (born)");
    let orphan = tree.iteration(|tree| drop(tree.git(&["checkout", "-q", "--orphan", "fresh"])));
    assert_eq!(orphan, "");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["rm", "-q", "-f", "a"]))), "staged 1 (a)");
}

#[test]
fn empty_and_rewritten_commits_do_not_count() {
    let tree = WorkTree::new();
    tree.write("a", "second\n");
    tree.commit("second");
    tree.write("b", "third\n");
    tree.commit("third");
    let none: [&[&str]; 4] = [
        &["commit", "-q", "--allow-empty", "-m", "empty"],
        &["commit", "-q", "--amend", "--allow-empty", "-m", "another word"],
        &["rebase", "-q", "--root", "--exec", "git commit -q --amend --allow-empty -m reworded"],
        &["rebase", "-q", "--force-rebase", "HEAD~2"],
    ];
    for command in none {
        assert_eq!(tree.iteration(|tree| drop(tree.git(command))), "", "{command:?}");
    }
    let squashed = tree.iteration(|tree| {
        tree.git(&["reset", "-q", "--soft", "HEAD~2"]);
        tree.git(&["commit", "-q", "-m", "squashed"]);
    });
    assert_eq!(squashed, "");
    let amended = tree.iteration(|tree| {
        tree.write("a", "more\n");
        tree.git(&["commit", "-q", "-a", "--amend", "-m", "with more"]);
    });
    assert_eq!(amended, "commits 1 (with more)");
}

#[test]
fn an_amended_message_is_no_change_even_if_a_backup_branch_keeps_the_old_one() {
    let tree = WorkTree::new();
    let reworded = tree.iteration(|tree| {
        tree.git(&["branch", "backup"]);
        tree.git(&["commit", "-q", "--amend", "-m", "reworded"]);
    });
    assert_eq!(reworded, "");
}

#[test]
fn a_reset_is_no_commit_and_no_work() {
    let tree = WorkTree::new();
    let first = tree.snapshot();
    tree.write("a", "second\n");
    tree.write("fresh", "second\n");
    tree.remove("b");
    tree.commit("second");
    let second = tree.snapshot();
    for how in ["--soft", "--mixed"] {
        assert_eq!(tree.iteration(|tree| drop(tree.git(&["reset", "-q", how, "HEAD~1"]))), "", "{how}");
        assert_ne!(tree.snapshot().fingerprint(), first.fingerprint());
        tree.git(&["add", "-A"]);
        tree.git(&["commit", "-q", "-m", "second again"]);
        assert_eq!(tree.snapshot().fingerprint(), second.fingerprint());
    }
    let edited = tree.iteration(|tree| {
        tree.git(&["reset", "-q", "HEAD~1"]);
        tree.write("a", "third\n");
    });
    assert_eq!(edited, "unstaged 1 (a)");
    tree.git(&["add", "-A"]);
    tree.git(&["commit", "-q", "-m", "third"]);
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["reset", "-q", "--hard", "HEAD~1"]))), "");
    assert_eq!(tree.snapshot().fingerprint(), first.fingerprint());
}

#[test]
fn a_revert_is_a_commit_and_restores_the_fingerprint() {
    let tree = WorkTree::new();
    let first = tree.snapshot();
    tree.write("a", "second\n");
    tree.commit("second");
    let reverted = tree.iteration(|tree| drop(tree.git(&["revert", "--no-edit", "HEAD"])));
    assert_eq!(reverted, "commits 1 (Revert \"second\")");
    assert_eq!(tree.snapshot().fingerprint(), first.fingerprint());
    let to_and_fro = tree.iteration(|tree| {
        tree.write("a", "there\n");
        tree.commit("there");
        tree.write("a", "first a\n");
        tree.commit("and back");
    });
    assert_eq!(to_and_fro, "commits 1 (there)");
}

#[test]
fn switching_branches_is_no_work_but_commits_on_any_branch_are() {
    let tree = WorkTree::new();
    let main = tree.snapshot();
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["switch", "-q", "-c", "other"]))), "");
    assert_eq!(tree.snapshot().fingerprint(), main.fingerprint());
    let there = tree.iteration(|tree| {
        tree.write("a", "on other\n");
        tree.commit("on other");
        tree.git(&["switch", "-q", "main"]);
    });
    assert_eq!(there, "commits 1 (on other)");
    tree.write("new", "carried\n");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["switch", "-q", "other"]))), "");
    assert_ne!(tree.snapshot().fingerprint(), main.fingerprint());
    let discarded = tree.iteration(|tree| {
        tree.write("a", "dirty\n");
        tree.git(&["switch", "-q", "-f", "main"]);
    });
    assert_eq!(discarded, "");
}

#[test]
fn a_detached_commit_counts_and_stays_counted() {
    let tree = WorkTree::new();
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["checkout", "-q", "--detach"]))), "");
    let detached = tree.iteration(|tree| {
        tree.write("a", "detached\n");
        tree.commit("detached");
    });
    assert_eq!(detached, "commits 1 (detached)");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["switch", "-q", "-c", "named"]))), "");
}

#[test]
fn a_merge_counts_if_it_brings_something() {
    let tree = WorkTree::new();
    tree.git(&["switch", "-q", "-c", "other"]);
    tree.write("a", "on other\n");
    tree.commit("on other");
    tree.git(&["switch", "-q", "main"]);
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["merge", "-q", "--no-ff", "--no-edit", "other"]))), "");
    tree.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["merge", "-q", "--ff-only", "other"]))), "");
    tree.git(&["reset", "-q", "--hard", "HEAD~1"]);
    tree.write("b", "on main\n");
    tree.commit("on main");
    let merged = tree.iteration(|tree| drop(tree.git(&["merge", "-q", "-m", "both", "other"])));
    assert_eq!(merged, "commits 1 (both)");
}

#[test]
fn a_merge_with_conflicts_is_work_in_the_tree() {
    let tree = WorkTree::new();
    tree.git(&["switch", "-q", "-c", "other"]);
    tree.write("a", "on other\n");
    tree.write("b", "on other\n");
    tree.commit("on other");
    tree.git(&["switch", "-q", "main"]);
    tree.write("a", "on main\n");
    tree.commit("on main");
    let stopped = tree.iteration(|tree| assert!(!tree.try_git_at("", &["merge", "-q", "other"]).0));
    assert_eq!(stopped, "staged 1 (b); unstaged 1 (a)");
    assert_eq!(tree.iteration(|tree| tree.write("a", "both\n")), "unstaged 1 (a)");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["add", "a"]))), "");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["commit", "-q", "-m", "merged"]))), "commits 1 (merged)");
}

#[test]
fn a_rebase_onto_other_content_makes_other_trees() {
    let tree = WorkTree::new();
    tree.git(&["switch", "-q", "-c", "other"]);
    tree.write("b", "on other\n");
    tree.commit("on other");
    tree.git(&["switch", "-q", "main"]);
    tree.write("a", "on main\n");
    tree.commit("on main");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["rebase", "-q", "other"]))), "commits 1 (on main)");
}

#[test]
fn a_stash_removes_work_and_restores_it() {
    let tree = WorkTree::new();
    tree.write("a", "edited\n");
    tree.write("new", "loose\n");
    let dirty = tree.snapshot();
    let stashed = tree.iteration(|tree| drop(tree.git(&["stash", "-q", "--include-untracked"])));
    assert_eq!(stashed, "unstaged 1 (a); untracked 1 (new)");
    let back = tree.iteration(|tree| drop(tree.git(&["stash", "pop", "-q"])));
    assert_eq!(back, "unstaged 1 (a); untracked 1 (new)");
    assert_eq!(tree.snapshot().fingerprint(), dirty.fingerprint());
}

#[test]
fn old_commits_that_are_gone_are_not_all_counted_again() {
    let tree = WorkTree::new();
    for number in 0..5 {
        tree.write("a", format!("{number}\n"));
        tree.commit(&format!("number {number}"));
    }
    let before = tree.snapshot();
    tree.write("b", "more\n");
    tree.git(&["commit", "-q", "-a", "--amend", "-m", "amended"]);
    tree.git(&["reflog", "expire", "--expire=now", "--all"]);
    tree.git(&["gc", "-q", "--prune=now"]);
    let changes = tree.snapshot().changes_since(&before);
    assert_eq!(changes.iter().map(|change| change.count).collect::<Vec<_>>(), [1], "{}", as_line(&changes));
}

#[test]
fn a_shallow_clone_counts_only_what_is_new() {
    let origin = WorkTree::new();
    origin.write("a", "second\n");
    origin.commit("second");
    let tree = WorkTree::plain();
    let address = format!("file://{}", origin.root().display());
    tree.git(&["clone", "-q", "--depth=1", &address, "clone"]);
    let done = tree.iteration_at("clone", |tree| {
        tree.write("clone/a", "third\n");
        tree.commit_at("clone", "third");
    });
    assert_eq!(done, "commits 1 (third)");
    let deeper = tree.iteration_at("clone", |tree| drop(tree.git_at("clone", &["fetch", "-q", "--unshallow"])));
    assert_eq!(deeper, "");
}

#[test]
fn many_commits_are_counted_and_a_few_shown() {
    let tree = WorkTree::new();
    let done = tree.iteration(|tree| {
        for number in 0..7 {
            tree.write("a", format!("{number}\n"));
            tree.commit(&format!("number {number} \u{1b}[31m {}", "long ".repeat(40)));
        }
    });
    assert!(done.starts_with("commits 7 (number 6 \\x1b[31m long long"), "{done}");
    assert!(done.len() < 5 * 70 + 20, "{done}");
}
