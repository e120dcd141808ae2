//! Unusual things in a work tree, one test each.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::checkpoint::tree::{Tree, counts, differences, left_alone};

/// Creates a checkpoint, runs `work`, rolls back, undoes that, and compares. Returns what was left alone.
fn there_and_back(tree: &Tree, work: impl FnOnce(&Tree)) -> Vec<String> {
    let then = (tree.account(), tree.git_account().entries);
    let start = tree.checkpoint("start");
    work(tree);
    let now = tree.account();
    let done = tree.roll_back(&start);
    let back = (tree.account(), tree.git_account().entries);
    assert_eq!(differences(&back.0, &then.0), [""; 0], "{:?}", left_alone(&done));
    assert_eq!(back.1, then.1);
    let left_alone_lines = left_alone(&done);
    tree.roll_back(&done.kept);
    assert_eq!(differences(&tree.account(), &now), [""; 0], "forth again");
    left_alone_lines
}

#[test]
fn ordinary_work_is_counted() {
    let tree = Tree::new();
    let start = tree.checkpoint("start");
    tree.write("a", "now\n");
    tree.remove("b");
    tree.write("new", "now\n");
    tree.commit("work");
    assert_eq!(tree.changed(&start), "a, b, new");
    let done = tree.roll_back(&start);
    assert_eq!((counts(&done), done.commits_since), ((2, 1, 1), 1));
    let kept = tree.checkpoints().kept().expect("listed");
    assert_eq!(kept, [done.kept]);
}

#[test]
fn a_file_a_folder_and_a_link_replace_each_other() {
    let tree = Tree::new();
    tree.write("file", "x\n");
    tree.write("folder/one", "x\n");
    tree.write("folder/two/three", "x\n");
    tree.link("folder", "link");
    tree.commit("second");
    let left_alone_lines = there_and_back(&tree, |tree| {
        for path in ["file", "folder", "link"] {
            tree.remove(path);
        }
        tree.write("file/inside", "y\n");
        tree.link("sub", "folder");
        tree.write("link/deep/er", "y\n");
        tree.folder("link/empty");
    });
    assert_eq!(left_alone_lines, [""; 0]);
}

#[test]
fn nothing_outside_is_touched_through_a_link() {
    let tree = Tree::new();
    fs::create_dir_all(tree.path("../outside")).expect("made");
    fs::write(tree.path("../outside/c"), "precious\n").expect("written");
    fs::write(tree.path("../outside/new"), "precious\n").expect("written");
    let outside = tree.path("../outside");
    let left_alone_lines = there_and_back(&tree, |tree| {
        tree.remove("sub");
        tree.link(&outside, "sub");
        tree.link(&outside, "new");
    });
    assert_eq!(left_alone_lines, [""; 0]);
    assert_eq!(fs::read_to_string(outside.join("c")).expect("there"), "precious\n");
    assert_eq!(fs::read_to_string(outside.join("new")).expect("there"), "precious\n");
}

#[test]
fn an_ignored_link_in_the_way_of_a_folder_is_kept_and_not_followed() {
    let tree = Tree::new();
    fs::create_dir_all(tree.path("../outside")).expect("made");
    fs::write(tree.path("../outside/c"), "precious\n").expect("written");
    let outside = tree.path("../outside");
    there_and_back(&tree, |tree| {
        tree.remove("sub");
        tree.link(&outside, "sub");
        tree.write(".git/info/exclude", "sub\n");
    });
    assert_eq!(fs::read_to_string(outside.join("c")).expect("there"), "precious\n");
}

#[test]
fn modes_and_read_only_files_are_restored() {
    let tree = Tree::new();
    tree.write("secret", "x\n");
    tree.set_mode("secret", 0o600);
    tree.write("locked/file", "x\n");
    tree.set_mode("locked/file", 0o444);
    tree.set_mode("locked", 0o555);
    tree.folder("private");
    tree.set_mode("private", 0o700);
    let start = tree.checkpoint("start");
    let then = tree.account();
    tree.set_mode("secret", 0o644);
    tree.set_mode("a", 0o640);
    tree.set_mode("locked", 0o755);
    tree.set_mode("locked/file", 0o644);
    tree.write("locked/file", "y\n");
    tree.set_mode("private", 0o777);
    assert_eq!(tree.changed(&start), "a, locked/file, private, secret");
    tree.roll_back(&start);
    assert_eq!(differences(&tree.account(), &then), [""; 0]);
    // A read-only folder does not prevent the rollback either, and is read-only again in the end.
    tree.set_mode("locked", 0o755);
    tree.write("locked/new", "x\n");
    tree.write("locked/file.new", "z\n");
    fs::rename(tree.path("locked/file.new"), tree.path("locked/file")).expect("renamed");
    tree.set_mode("locked", 0o555);
    tree.roll_back(&start);
    assert_eq!(differences(&tree.account(), &then), [""; 0]);
    tree.set_mode("locked", 0o755);
}

#[test]
fn pipes_and_sockets_are_left_alone_and_reported() {
    let tree = Tree::new();
    tree.pipe("pipe");
    let start = tree.checkpoint("start");
    tree.remove("a");
    tree.pipe("a");
    tree.folder("new");
    let _socket = UnixListener::bind(tree.path("new/socket")).expect("bound");
    tree.write("new/file", "x\n");
    let done = tree.roll_back(&start);
    let why = "a pipe, a socket or a device";
    assert_eq!(left_alone(&done), [format!("a: {why}"), format!("new/socket: {why}"), format!("pipe: {why}")]);
    assert!(!tree.path("new/file").exists() && tree.path("new").exists());
}

#[test]
fn empty_folders_are_restored_and_new_ones_removed() {
    let tree = Tree::new();
    tree.folder("empty/inner");
    tree.folder("sub/empty");
    let left_alone_lines = there_and_back(&tree, |tree| {
        tree.remove("empty");
        tree.remove("sub/empty");
        tree.folder("new/inner/most");
        tree.folder("sub/new");
    });
    assert_eq!(left_alone_lines, [""; 0]);
}

#[test]
fn ignored_files_stay_with_the_folders_they_are_in() {
    let tree = Tree::new();
    tree.write(".gitignore", "*.log\ntarget/\n");
    tree.write("target/debug/big", "built\n");
    let start = tree.checkpoint("start");
    tree.write("new/file", "x\n");
    tree.write("new/trace.log", "x\n");
    tree.write("target/debug/more", "built\n");
    tree.remove("target/debug/big");
    let done = tree.roll_back(&start);
    assert_eq!((counts(&done), left_alone(&done)), ((0, 1, 4), vec![]));
    assert!(tree.path("new/trace.log").exists() && !tree.path("new/file").exists());
    assert!(tree.path("target/debug/more").exists() && !tree.path("target/debug/big").exists());
}

#[test]
fn changed_ignore_rules_lose_nothing() {
    let tree = Tree::new();
    tree.write(".gitignore", "*.env\n");
    tree.write("secret.env", "precious\n");
    tree.write("plain.tmp", "then\n");
    let start = tree.checkpoint("start");
    // What was ignored no longer is, and the other way round.
    tree.write(".gitignore", "*.tmp\n");
    tree.write("plain.tmp", "now, ignored\n");
    let done = tree.roll_back(&start);
    assert_eq!(
        left_alone(&done),
        ["secret.env: the checkpoint's ignore rules cover it, so it may be older than the checkpoint"]
    );
    assert_eq!((tree.read("secret.env"), tree.read("plain.tmp")), ("precious\n".to_owned(), "then\n".to_owned()));
    tree.roll_back(&done.kept);
    assert_eq!(tree.read("plain.tmp"), "now, ignored\n");
    tree.git(&["add", "-f", "secret.env"]);
    tree.roll_back(&start);
    assert_eq!(tree.read("secret.env"), "precious\n");
}

#[test]
fn a_folder_with_ignored_files_in_the_way_of_a_file_is_left_alone() {
    let tree = Tree::new();
    tree.write(".gitignore", "*.log\n");
    let start = tree.checkpoint("start");
    tree.remove("a");
    tree.write("a/trace.log", "precious\n");
    tree.write("a/file", "x\n");
    let done = tree.roll_back(&start);
    assert_eq!(left_alone(&done), ["a: is now a folder with files that haltline must not remove"]);
    assert_eq!(tree.read("a/trace.log"), "precious\n");
    tree.roll_back(&done.kept);
    assert_eq!(tree.read("a/file"), "x\n");
}

#[test]
fn nested_repositories_are_left_alone_and_reported() {
    let tree = Tree::new();
    for name in ["moved", "gone", "same", "unmade"] {
        tree.git(&["init", "-q", name]);
        tree.write(format!("{name}/x"), "first\n");
        tree.git_at(name, &["add", "-A"]);
        tree.git_at(name, &["commit", "-q", "-m", "first"]);
    }
    tree.git(&["init", "-q", "unborn"]);
    tree.write("was/plain", "x\n");
    let start = tree.checkpoint("start");
    tree.write("moved/x", "second\n");
    tree.git_at("moved", &["commit", "-q", "-a", "-m", "second"]);
    tree.write("same/x", "dirty\n");
    tree.remove("gone");
    tree.remove("unmade/.git");
    tree.write("unborn/y", "x\n");
    tree.git(&["init", "-q", "new"]);
    tree.write("new/z", "x\n");
    tree.git_at("was", &["init", "-q"]);
    tree.write("was/plain", "inside a repository now\n");
    let done = tree.roll_back(&start);
    let (came, moved) = (
        "a nested repository that was added after the checkpoint",
        "a nested repository that has another commit checked out",
    );
    let gone = "was a nested repository, which checkpoints do not contain";
    let expected = [("gone", gone), ("moved", moved), ("new", came), ("unmade", gone), ("was", came)];
    assert_eq!(left_alone(&done), expected.map(|(path, why)| format!("{path}: {why}")));
    assert_eq!((tree.read("moved/x"), tree.read("same/x")), ("second\n".to_owned(), "dirty\n".to_owned()));
    assert_eq!((tree.read("unmade/x"), tree.read("new/z")), ("first\n".to_owned(), "x\n".to_owned()));
    assert_eq!(tree.read("was/plain"), "inside a repository now\n");
}

#[test]
fn a_submodule_keeps_its_commit_and_its_entry_is_restored() {
    let (tree, other) = (Tree::new(), Tree::new());
    tree.git(&["submodule", "--quiet", "add", &other.root().display().to_string(), "module"]);
    tree.commit("with a module");
    let start = tree.checkpoint("start");
    let entries = tree.git_account().entries;
    tree.write("module/a", "second\n");
    tree.git_at("module", &["commit", "-q", "-a", "-m", "second"]);
    tree.commit("module moved");
    let done = tree.roll_back(&start);
    assert_eq!(left_alone(&done), ["module: a nested repository that has another commit checked out"]);
    assert_eq!((tree.read("module/a"), tree.git_account().entries), ("second\n".to_owned(), entries));
}

#[test]
fn large_files_are_streamed() {
    let tree = Tree::new();
    let large: Vec<u8> =
        (0..20_u32 * 1024 * 1024).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    tree.write("large", &large);
    let left_alone_lines = there_and_back(&tree, |tree| tree.write("large", b"small"));
    assert_eq!(left_alone_lines, [""; 0]);
}

#[test]
fn a_change_that_keeps_size_and_time_is_detected() {
    let tree = Tree::new();
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    let set = |path: &str, content: &str| {
        tree.write(path, content);
        let file = fs::File::options().write(true).open(tree.path(path)).expect("opened");
        file.set_modified(time).expect("set");
    };
    for round in 0..5 {
        set("a", &format!("one {round}\n"));
        let start = tree.checkpoint("start");
        set("a", &format!("two {round}\n"));
        assert_eq!(tree.changed(&start), "a", "round {round}");
        let done = tree.roll_back(&start);
        assert_eq!(tree.read("a"), format!("one {round}\n"));
        tree.roll_back(&done.kept);
        assert_eq!(tree.read("a"), format!("two {round}\n"));
    }
}

#[test]
fn hard_links_do_not_prevent_a_rollback() {
    let tree = Tree::new();
    tree.write("one", "now\n");
    let start = tree.checkpoint("start");
    tree.remove("one");
    tree.write("two", "x\n");
    fs::hard_link(tree.path("two"), tree.path("three")).expect("linked");
    fs::hard_link(tree.path("two"), tree.path("one")).expect("linked");
    let done = tree.roll_back(&start);
    assert_eq!((counts(&done), left_alone(&done)), ((1, 2, 3), vec![]));
    assert!(!Path::new(&tree.path("two")).exists());
}
