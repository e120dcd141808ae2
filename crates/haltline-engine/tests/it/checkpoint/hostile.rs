//! Hostile repositories that try to make a checkpoint run a program, or keep other bytes than those on disk.

use std::path::PathBuf;
use std::process::Command;

use haltline_engine::checkpoint::{Checkpoints, RollBackOptions};

use crate::checkpoint::tree::{Tree, differences};
use crate::support::{assert_passed, in_own_process};

/// Makes every setting and hook that names a program name one that writes a marker file.
fn arm(tree: &Tree) -> PathBuf {
    let marker = tree.path(".git/mark");
    let leave = format!("echo ran >>'{}'; cat", marker.display());
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil process.process",
        "gpg.program",
        "core.alternateRefsCommand",
    ] {
        tree.git(&["config", name, &leave]);
    }
    tree.write(".git/more", format!("[filter \"far\"]\n\tclean = \"{leave}\"\n\tsmudge = \"{leave}\"\n"));
    for (name, value) in [
        ("filter.evil.required", "true"),
        ("include.path", "more"),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("core.untrackedCache", "true"),
        ("core.autocrlf", "true"),
        ("core.quotePath", "true"),
        ("core.fileMode", "false"),
        ("core.logAllRefUpdates", "always"),
        ("color.ui", "always"),
        ("diff.renames", "copies"),
    ] {
        tree.git(&["config", name, value]);
    }
    for hook in [
        "post-index-change",
        "fsmonitor-watchman",
        "reference-transaction",
        "post-checkout",
        "pre-commit",
        "post-commit",
        "post-rewrite",
        "pre-auto-gc",
    ] {
        tree.write(format!(".git/hooks/{hook}"), format!("#!/bin/sh\n{leave} >/dev/null\n"));
        tree.set_mode(format!(".git/hooks/{hook}"), 0o755);
    }
    marker
}

#[test]
fn no_program_of_the_repository_runs_and_no_byte_is_converted() {
    let tree = Tree::new();
    tree.write("one.x", "first\r\n");
    tree.write("two.y", "first $Id$\n");
    tree.write("three.z", "first\n");
    tree.write("four.w", "caf\u{e9}\n");
    tree.commit("plain");
    let attributes = "*.x filter=evil diff=evil merge=evil text eol=crlf\n*.y filter=\"evil process\" ident\n\
                      *.z filter=far\n*.w working-tree-encoding=UTF-16\n";
    tree.write(".gitattributes", attributes);
    tree.write(".git/info/attributes", attributes);
    let then = tree.account();
    let marker = arm(&tree);
    let checkpoints = tree.checkpoints();
    let start = checkpoints.create("start", tree.now()).expect("taken");
    for path in ["one.x", "two.y", "three.z", "four.w"] {
        tree.write(path, "other\r\nlines $Id$\n");
    }
    tree.write("new.x", "new\n");
    let now = tree.account();
    checkpoints.changed_since(&start).expect("compared");
    let options = RollBackOptions { with_commits: true };
    let done = checkpoints.roll_back(&start, options, tree.now()).expect("rolled back");
    assert_eq!(differences(&tree.account(), &then), [""; 0]);
    checkpoints.roll_back(&done.kept, options, tree.now()).expect("undone");
    assert_eq!(differences(&tree.account(), &now), [""; 0]);
    checkpoints.copy(&start, "copy").expect("copied");
    checkpoints.remove(&start).expect("removed");
    assert!(!marker.exists(), "a program of the repository ran");
    tree.try_git_at("", &["status"]);
    assert!(marker.exists(), "the traps do not work, so nothing was shown");
}

#[test]
fn bytes_on_disk_are_kept_where_git_has_others() {
    let tree = Tree::unborn();
    tree.git(&["config", "core.autocrlf", "input"]);
    tree.git(&["config", "filter.turn.clean", "tr a-z b-za"]);
    tree.git(&["config", "filter.turn.smudge", "tr b-za a-z"]);
    tree.write(".gitattributes", "*.turn filter=turn\n*.id ident\n*.wide working-tree-encoding=UTF-16\n");
    tree.write("lines", "one\r\ntwo\r\n");
    tree.write("same.turn", "as many bytes\n");
    tree.write("name.id", "$Id: something$\n");
    tree.write("text.wide", b"\xff\xfeh\0i\0\n\0");
    tree.commit("first");
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    for path in ["lines", "same.turn", "name.id", "text.wide"] {
        std::fs::File::options()
            .write(true)
            .open(tree.path(path))
            .and_then(|file| file.set_modified(old))
            .expect("set");
    }
    tree.git(&["add", "-A"]);
    let then = (tree.account(), tree.git_account());
    // With and without the filter configured: the index of the second repository has everything that the first has.
    for is_filtered in [true, false] {
        if !is_filtered {
            tree.git(&["config", "--remove-section", "filter.turn"]);
        }
        let start = tree.checkpoint("start");
        for path in ["lines", "same.turn", "name.id", "text.wide"] {
            tree.remove(path);
        }
        tree.roll_back(&start);
        assert_eq!(differences(&tree.account(), &then.0), [""; 0]);
        assert_eq!(tree.git_account().entries, then.1.entries);
        tree.remove(".git/haltline");
    }
}

#[test]
fn the_callers_repository_is_not_the_one_that_is_kept() {
    if let Some(root) = std::env::var_os("HALTLINE_TEST_ROOT") {
        let checkpoints = Checkpoints::open(root.as_ref()).expect("a work tree");
        let at = haltline_core::Instant::from_millis(1_700_000_000_000);
        let start = checkpoints.create("start", at).expect("taken");
        checkpoints.roll_back(&start, RollBackOptions::default(), at).expect("rolled back");
        return;
    }
    let (tree, other) = (Tree::new(), Tree::new());
    let before = (other.account(), other.git_account());
    let output = in_own_process(the_callers_repository_is_not_the_one_that_is_kept)
        .env("HALTLINE_TEST_ROOT", tree.root())
        .env("GIT_DIR", other.path(".git"))
        .env("GIT_WORK_TREE", other.root())
        .env("GIT_INDEX_FILE", other.path(".git/index"))
        .env("GIT_OBJECT_DIRECTORY", other.path(".git/objects"))
        .env("GIT_PREFIX", "sub/")
        .output()
        .expect("it runs");
    assert_passed(&output);
    assert_eq!((other.account(), other.git_account()), before);
    assert_eq!(other.checkpoints().list("").expect("listed"), []);
    assert_eq!(tree.checkpoints().list("").expect("listed").len(), 1);
}

#[test]
fn a_tree_that_leads_out_of_the_work_tree_is_rejected() {
    let tree = Tree::new();
    let start = tree.checkpoint("start");
    let blob = tree.git(&["rev-parse", "HEAD:a"]);
    let inner = tree.path("../lines");
    let make = |lines: String| {
        std::fs::write(&inner, lines).expect("written");
        let command = format!("git mktree <'{}'", inner.display());
        let output = Command::new("sh").args(["-c", &command]).current_dir(tree.root()).output().expect("sh");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let manifest = tree.git(&["rev-parse", &format!("{}:manifest", start.commit)]);
    let index = tree.git(&["rev-parse", &format!("{}:index", start.commit)]);
    let message = tree.git(&["log", "-1", "--format=%B", &start.commit]);
    for name in [".git", "..", ".GIT"] {
        let bad = make(format!("100755 blob {blob}\thook\n"));
        let bad = make(format!("040000 tree {bad}\t{name}\n"));
        let top =
            make(format!("040000 tree {bad}\ttree\n100644 blob {manifest}\tmanifest\n100644 blob {index}\tindex\n"));
        let commit = tree.git(&["commit-tree", &top, "-m", &message]);
        tree.git(&["update-ref", &start.reference, &commit]);
        let forged = tree.checkpoints().find("start").expect("searched").expect("a forged one");
        let before = tree.account();
        assert!(tree.checkpoints().roll_back(&forged, RollBackOptions::default(), tree.now()).is_err(), "{name}");
        assert_eq!(tree.account(), before);
        assert!(!tree.path(".git/hook").exists() && !tree.path("../hook").exists());
    }
}
