//! Paths that are edited, staged, added, removed, renamed, touched.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;

use crate::changes::work_tree::{WorkTree, as_line, round_trip};

#[test]
fn nothing_done_is_nothing_changed() {
    let tree = WorkTree::new();
    tree.write("a", "dirty\n");
    tree.write("new", "loose\n");
    assert_eq!(tree.iteration(|_tree| {}), "");
    assert!(!tree.snapshot().is_truncated());
    assert_eq!(tree.snapshot().problems().count(), 0);
}

#[test]
fn each_source_is_reported_alone() {
    let tree = WorkTree::new();
    assert_eq!(tree.iteration(|tree| tree.write("a", "edited\n")), "unstaged 1 (a)");
    tree.git(&["checkout", "-q", "a"]);
    assert_eq!(tree.iteration(|tree| tree.write("new", "loose\n")), "untracked 1 (new)");
    tree.remove("new");
    let staged = tree.iteration(|tree| {
        tree.write("b", "edited\n");
        tree.git(&["add", "b"]);
    });
    assert_eq!(staged, "staged 1 (b)");
    tree.git(&["reset", "-q", "--hard"]);
    let committed = tree.iteration(|tree| {
        tree.write("b", "edited\n");
        tree.commit("work");
    });
    assert_eq!(committed, "commits 1 (work)");
}

#[test]
fn all_sources_are_reported_together() {
    let tree = WorkTree::new();
    let all = tree.iteration(|tree| {
        tree.write("a", "edited\n");
        tree.commit("work");
        tree.write("b", "edited\n");
        tree.git(&["add", "b"]);
        tree.write("sub/c", "edited\n");
        tree.write("sub/new", "loose\n");
        tree.git(&["init", "-q", "nested"]);
        tree.git(&["worktree", "add", "-q", "side"]);
        tree.write("side/a", "edited elsewhere\n");
    });
    let expected = "commits 1 (work); staged 1 (b); unstaged 1 (sub/c); untracked 1 (sub/new); \
                    repositories 1 (nested/ (new repository)); worktrees 1 (side/a)";
    assert_eq!(all, expected);
}

#[test]
fn a_second_edit_of_a_dirty_file_is_a_change() {
    let tree = WorkTree::new();
    tree.write("a", "edited once\n");
    tree.write("new", "loose once\n");
    tree.write("b", "edited once\n");
    tree.git(&["add", "b"]);
    assert_eq!(tree.iteration(|tree| tree.write("a", "edited more\n")), "unstaged 1 (a)");
    assert_eq!(tree.iteration(|tree| tree.write("new", "loose more\n")), "untracked 1 (new)");
    assert_eq!(tree.iteration(|tree| tree.write("b", "edited more\n")), "unstaged 1 (b)");
    let staged = tree.iteration(|tree| {
        tree.write("b", "edited last\n");
        tree.git(&["add", "b"]);
    });
    assert_eq!(staged, "staged 1 (b)");
}

#[test]
fn a_touched_file_is_not_changed() {
    let tree = WorkTree::new();
    tree.write("b", "edited\n");
    tree.write("new", "loose\n");
    let touched = tree.iteration(|tree| {
        tree.touch("a", 1_000);
        tree.touch("b", 2_000);
        tree.touch("new", 3_000);
    });
    assert_eq!(touched, "");
    assert_eq!(tree.iteration(|tree| tree.write("a", "first a\n")), "");
}

#[test]
fn staging_and_unstaging_alone_are_no_work() {
    let tree = WorkTree::new();
    tree.write("a", "edited\n");
    tree.write("new", "loose\n");
    tree.remove("b");
    let before = tree.snapshot();
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["add", "-A"]))), "");
    assert_eq!(tree.snapshot().fingerprint(), before.fingerprint());
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["reset", "-q"]))), "");
    assert_eq!(tree.snapshot().fingerprint(), before.fingerprint());
}

#[test]
fn changes_in_the_index_alone_are_reported() {
    let tree = WorkTree::new();
    let only_index = tree.iteration(|tree| {
        tree.write("a", "in the index\n");
        tree.git(&["add", "a"]);
        tree.write("a", "in the tree\n");
    });
    assert_eq!(only_index, "staged 1 (a); unstaged 1 (a)");
    let other_index = tree.iteration(|tree| {
        tree.write("a", "in the index now\n");
        tree.git(&["add", "a"]);
        tree.write("a", "in the tree\n");
    });
    assert_eq!(other_index, "staged 1 (a)");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["rm", "-q", "--cached", "sub/c"]))), "staged 1 (sub/c)");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["add", "-N", "sub/c"]))), "");
    tree.git(&["reset", "-q", "--hard"]);
    let clean = tree.snapshot();
    let hidden = tree.iteration(|tree| {
        tree.write("b", "in the index\n");
        tree.git(&["add", "b"]);
        tree.write("b", "first b\n");
    });
    assert_eq!(hidden, "staged 1 (b)");
    tree.write("sub/new", "staged\n");
    tree.git(&["add", "sub/new"]);
    assert_eq!(tree.iteration(|tree| tree.remove("sub/new")), "staged 1 (sub/new)");
    assert_eq!(tree.snapshot().fingerprint(), clean.fingerprint());
}

#[test]
fn undoing_an_edit_is_a_change_and_restores_the_fingerprint() {
    let tree = WorkTree::new();
    let clean = tree.snapshot();
    tree.write("a", "edited\n");
    tree.write("new", "loose\n");
    let dirty = tree.snapshot();
    let undone = tree.iteration(|tree| {
        tree.write("a", "first a\n");
        tree.remove("new");
    });
    assert_eq!(undone, "unstaged 1 (a); untracked 1 (new)");
    assert_eq!(tree.snapshot().fingerprint(), clean.fingerprint());
    assert_ne!(dirty.fingerprint(), clean.fingerprint());
    tree.write("a", "edited\n");
    tree.write("new", "loose\n");
    tree.touch("new", 5_000);
    assert_eq!(tree.snapshot().fingerprint(), dirty.fingerprint());
}

#[test]
fn a_mode_a_link_and_a_kind_are_content() {
    let tree = WorkTree::new();
    tree.write("loose", "x\n");
    assert_eq!(tree.iteration(|tree| tree.set_mode("a", 0o755)), "unstaged 1 (a)");
    assert_eq!(tree.iteration(|tree| tree.set_mode("loose", 0o755)), "untracked 1 (loose)");
    let linked = tree.iteration(|tree| symlink("a", tree.path("link")).expect("linked"));
    assert_eq!(linked, "untracked 1 (link)");
    let other = tree.iteration(|tree| {
        tree.remove("link");
        symlink("nowhere", tree.path("link")).expect("linked");
    });
    assert_eq!(other, "untracked 1 (link)");
    let replaced = tree.iteration(|tree| {
        tree.remove("b");
        symlink("a", tree.path("b")).expect("linked");
    });
    assert_eq!(replaced, "unstaged 1 (b)");
    let folder = tree.iteration(|tree| {
        tree.remove("b");
        tree.write("b/inside", "x\n");
    });
    assert_eq!(folder, "unstaged 1 (b); untracked 1 (b/inside)");
}

#[test]
fn renames_and_deletions_are_changes() {
    let tree = WorkTree::new();
    let renamed = tree.iteration(|tree| fs::rename(tree.path("a"), tree.path("z")).expect("renamed"));
    assert_eq!(renamed, "unstaged 1 (a); untracked 1 (z)");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["mv", "b", "y"]))), "staged 2 (b, y)");
    assert_eq!(tree.iteration(|tree| tree.remove("sub/c")), "unstaged 1 (sub/c)");
    assert_eq!(tree.iteration(|tree| tree.remove("z")), "untracked 1 (z)");
    assert_eq!(tree.iteration(|tree| tree.commit("all of it")), "commits 1 (all of it)");
}

#[test]
fn binary_files_are_files() {
    let tree = WorkTree::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(tree.iteration(|tree| tree.write("image", &bytes)), "untracked 1 (image)");
    tree.commit("image");
    let mut other = bytes;
    other[70_000] ^= 1;
    assert_eq!(tree.iteration(|tree| tree.write("image", &other)), "unstaged 1 (image)");
}

#[test]
fn odd_names_are_kept_apart_and_shown_on_one_line() {
    let tree = WorkTree::new();
    let names: [&[u8]; 5] = [b"with space", b"line\nbreak", b"\"quoted\" \\", "élan 日".as_bytes(), b"\xff\xfe raw"];
    let path = |name: &[u8]| OsString::from_vec(name.to_vec());
    let made = tree.iteration(|tree| names.iter().for_each(|name| tree.write(path(name), "x\n")));
    let shown = "\"quoted\" \\\\, line\\nbreak, with space, élan 日, \\xff\\xfe raw";
    assert_eq!(made, format!("untracked 5 ({shown})"));
    assert_eq!(tree.iteration(|tree| tree.commit("odd")), "commits 1 (odd)");
    let edited = tree.iteration(|tree| names.iter().for_each(|name| tree.write(path(name), "y\n")));
    assert_eq!(edited, format!("unstaged 5 ({shown})"));
    let undone = tree.iteration(|tree| names.iter().for_each(|name| tree.write(path(name), "x\n")));
    assert_eq!(undone, format!("unstaged 5 ({shown})"));
}

#[test]
fn ignored_files_and_what_runners_write_do_not_count() {
    let mut tree = WorkTree::new();
    tree.write(".gitignore", "built/\n*.tmp\n");
    tree.commit("ignore");
    tree.options.excluded = vec!["own/state".into(), tree.path("notes.txt")];
    let written = tree.iteration(|tree| {
        for path in [
            "built/out",
            "x.tmp",
            ".prp-session/circuit-breaker.json",
            ".ralph/.circuit_breaker_state",
            ".ralph/logs/run.txt",
            ".ralph/live.log",
            ".ralph/status.json",
            ".haltline.toml",
            "own/state/file",
            "notes.txt",
        ] {
            tree.write(path, "x\n");
        }
    });
    assert_eq!(written, "");
    assert_eq!(tree.iteration(|tree| tree.write(".ralph/fix_plan.md", "x\n")), "untracked 1 (.ralph/fix_plan.md)");
    tree.remove(".ralph/fix_plan.md");
    assert_eq!(tree.iteration(|tree| tree.commit("state of the runner")), "");
    let both = tree.iteration(|tree| {
        tree.write(".ralph/status.json", "y\n");
        tree.write("a", "edited\n");
        tree.commit("state and work");
    });
    assert_eq!(both, "commits 1 (state and work)");
}

#[test]
fn files_that_become_ignored_have_not_changed() {
    let tree = WorkTree::new();
    tree.write("noise", "x\n");
    assert_eq!(tree.iteration(|tree| tree.write(".gitignore", "noise\n")), "untracked 1 (.gitignore)");
}

#[test]
fn line_ends_that_git_converts_are_not_a_change() {
    let tree = WorkTree::new();
    tree.write(".gitattributes", "*.txt text eol=crlf\n");
    tree.write("t.txt", "one\r\ntwo\r\n");
    tree.commit("converted");
    assert_eq!(tree.iteration(|tree| tree.touch("t.txt", 1_000)), "");
    assert_eq!(tree.iteration(|tree| tree.write("t.txt", "one\r\n2\r\n")), "unstaged 1 (t.txt)");
}

#[test]
fn an_unreadable_file_is_compared_by_size_and_time_and_a_missing_one_is_no_error() {
    let tree = WorkTree::new();
    tree.write("secret", "x\n");
    tree.set_mode("secret", 0o000);
    let grown = tree.iteration(|tree| {
        tree.set_mode("secret", 0o600);
        tree.write("secret", "longer\n");
        tree.set_mode("secret", 0o000);
    });
    assert_eq!(grown, "untracked 1 (secret)");
    let before = round_trip(&tree.snapshot());
    let after = tree.snapshot();
    tree.set_mode("secret", 0o600);
    tree.remove("secret");
    assert_eq!(as_line(&after.changes_since(&before)), "");
}

#[test]
fn a_pipe_is_never_opened() {
    let tree = WorkTree::new();
    tree.remove("a");
    let path = tree.path("a");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
    assert!(made.success());
    assert_eq!(tree.iteration(|tree| fs::remove_file(tree.path("a")).expect("removed")), "unstaged 1 (a)");
}
