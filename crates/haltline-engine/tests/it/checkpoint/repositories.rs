//! Unusual repositories and work trees, and several checkpoints and processes at once.

use std::fs;

use haltline_engine::checkpoint::{Checkpoints, RollBackOptions};

use crate::checkpoint::tree::{Tree, as_line, counts, differences, left_alone};

const WITH_COMMITS: RollBackOptions = RollBackOptions { with_commits: true };

#[test]
fn a_sub_folder_means_the_whole_work_tree() {
    let tree = Tree::new();
    let checkpoints = Checkpoints::open(&tree.path("sub")).expect("a work tree");
    assert_eq!(checkpoints.top(), tree.root());
    let start = checkpoints.create("start", tree.now()).expect("taken");
    tree.write("a", "now\n");
    tree.write("new", "now\n");
    assert_eq!(as_line(&checkpoints.changed_since(&start).expect("compared")), "a, new");
    checkpoints.roll_back(&start, RollBackOptions::default(), tree.now()).expect("rolled back");
    assert_eq!((tree.read("a"), tree.path("new").exists()), ("first a\n".to_owned(), false));
}

#[test]
fn names_of_all_kinds_are_found_listed_copied_and_removed() {
    let tree = Tree::new();
    let checkpoints = tree.checkpoints();
    let names = ["S-01", "S-01/test a::b", "s-01", "ünï/.lock", "a..b~^:"];
    for name in names {
        tree.checkpoint(name);
    }
    let listed =
        |prefix| -> Vec<String> { checkpoints.list(prefix).expect("listed").into_iter().map(|one| one.name).collect() };
    assert_eq!(listed("S-01"), ["S-01", "S-01/test a::b"]);
    assert_eq!(listed("").len(), names.len());
    let first = checkpoints.find("S-01").expect("searched").expect("there");
    let copy = checkpoints.copy(&first, "second name").expect("copied");
    assert_eq!((&copy.commit, copy.name.as_str()), (&first.commit, "second name"));
    checkpoints.remove(&first).expect("removed");
    assert_eq!(checkpoints.find("S-01").expect("searched"), None);
    assert_eq!(checkpoints.find("second name").expect("searched"), Some(copy.clone()));
    tree.write("a", "now\n");
    tree.roll_back(&copy);
    assert_eq!(tree.read("a"), "first a\n");
}

#[test]
fn a_reused_name_is_replaced_and_two_checkpoints_are_compared() {
    let tree = Tree::new();
    let first = tree.checkpoint("start");
    tree.write("a", "now\n");
    tree.folder("empty");
    let second = tree.checkpoint("start");
    assert_ne!(first.commit, second.commit);
    assert_eq!(tree.changed(&second), "");
    assert_eq!(as_line(&tree.checkpoints().changed_between(&first, &second).expect("compared")), "a, empty");
    assert!(tree.checkpoints().remove(&first).is_err(), "it is another one now");
    assert_eq!(tree.checkpoints().find("start").expect("searched"), Some(second));
}

#[test]
fn work_trees_of_one_repository_do_not_interfere() {
    let tree = Tree::new();
    tree.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = Checkpoints::open(&tree.path("../side")).expect("a work tree");
    let here = tree.checkpoint("start");
    assert_eq!(side.find("start").expect("searched"), None);
    tree.write("../side/a", "side then\n");
    let there = side.create("start", tree.now()).expect("taken");
    assert_ne!(here.reference, there.reference);
    tree.write("../side/a", "side now\n");
    tree.write("a", "main now\n");
    tree.git_at("../side", &["commit", "-q", "-a", "-m", "on the side"]);
    assert!(side.roll_back(&here, WITH_COMMITS, tree.now()).is_err(), "it is another work tree's");
    let done = side.roll_back(&there, WITH_COMMITS, tree.now()).expect("rolled back");
    assert_eq!((done.commits_since, counts(&done)), (1, (1, 0, 2)));
    assert_eq!((tree.read("../side/a"), tree.read("a")), ("side then\n".to_owned(), "main now\n".to_owned()));
    assert_eq!(tree.git(&["rev-parse", "side"]), tree.git(&["rev-parse", "main"]));
    tree.roll_back(&here);
    assert_eq!((tree.read("../side/a"), tree.read("a")), ("side then\n".to_owned(), "first a\n".to_owned()));
    assert_eq!(side.list("").expect("listed").len(), 1);
}

#[test]
fn a_detached_head_can_be_rolled_back_and_restored() {
    let tree = Tree::new();
    tree.git(&["checkout", "-q", "--detach"]);
    let start = tree.checkpoint("start");
    let then = tree.git_account();
    tree.write("a", "now\n");
    tree.commit("detached");
    let now = tree.git_account();
    let done = tree.checkpoints().roll_back(&start, WITH_COMMITS, tree.now()).expect("rolled back");
    assert_eq!((tree.git_account().head, done.commits_since), (then.head, 1));
    tree.checkpoints().roll_back(&done.kept, WITH_COMMITS, tree.now()).expect("undone");
    assert_eq!((tree.git_account().head, tree.git_account().branch), (now.head, String::new()));
    tree.git(&["checkout", "-q", "main"]);
    assert_eq!(tree.git(&["log", "--format=%s"]), "first", "the branch was never moved");
}

#[test]
fn a_repository_with_sha256_ids_works() {
    let tree = Tree::plain();
    tree.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    tree.write("a", "first\n");
    tree.commit("first");
    tree.write("loose", "x\n");
    let then = tree.account();
    let start = tree.checkpoint("start");
    assert_eq!(start.commit.len(), 64);
    tree.write("a", "now\n");
    tree.remove("loose");
    tree.commit("work");
    tree.checkpoints().roll_back(&start, WITH_COMMITS, tree.now()).expect("rolled back");
    assert_eq!(tree.account(), then);
    assert_eq!(tree.git(&["status", "--porcelain"]), "?? loose");
}

#[test]
fn files_outside_a_sparse_checkout_are_not_deleted_ones() {
    for is_sparse_index in ["--no-sparse-index", "--sparse-index"] {
        let tree = Tree::new();
        tree.write("out/far", "x\n");
        tree.write("in/near", "x\n");
        tree.commit("second");
        tree.git(&["sparse-checkout", "set", "--cone", is_sparse_index, "in"]);
        assert!(!tree.path("out").exists());
        let then = (tree.account(), tree.git_account());
        let start = tree.checkpoint("start");
        tree.write("in/near", "now\n");
        tree.write("in/new", "now\n");
        assert_eq!(tree.changed(&start), "in/near, in/new");
        tree.git(&["add", "in"]);
        tree.git(&["commit", "-q", "-m", "work"]);
        let done = tree.checkpoints().roll_back(&start, WITH_COMMITS, tree.now()).expect("rolled back");
        assert_eq!(left_alone(&done), [""; 0]);
        assert_eq!(tree.account(), then.0);
        assert_eq!((tree.git_account().entries, tree.git_account().status), (then.1.entries, then.1.status));
        tree.git(&["sparse-checkout", "disable"]);
        assert_eq!((tree.read("out/far"), tree.git(&["status", "--porcelain"])), ("x\n".to_owned(), String::new()));
    }
}

#[test]
fn a_shallow_clone_works() {
    let origin = Tree::new();
    for number in 0..5 {
        origin.write("a", format!("{number}\n"));
        origin.commit("more");
    }
    let tree = Tree::plain();
    let url = format!("file://{}", origin.root().display());
    tree.git(&["clone", "-q", "--depth=1", &url, "clone"]);
    let checkpoints = Checkpoints::open(&tree.path("clone")).expect("a work tree");
    let start = checkpoints.create("start", tree.now()).expect("taken");
    tree.write("clone/a", "now\n");
    tree.git_at("clone", &["commit", "-q", "-a", "-m", "work"]);
    let done = checkpoints.roll_back(&start, WITH_COMMITS, tree.now()).expect("rolled back");
    assert_eq!((done.commits_since, tree.read("clone/a")), (1, "4\n".to_owned()));
    assert_eq!(tree.git_at("clone", &["status", "--porcelain"]), "");
    tree.git_at("clone", &["gc", "-q", "--prune=now"]);
    checkpoints.roll_back(&done.kept, WITH_COMMITS, tree.now()).expect("undone");
    assert_eq!(tree.read("clone/a"), "now\n");
}

#[test]
fn a_checkpoint_survives_garbage_collection_and_the_next_one_is_complete() {
    let tree = Tree::new();
    tree.write("loose", "then\n");
    let start = tree.checkpoint("start");
    let then = tree.account();
    tree.write("loose", "now\n");
    let second = tree.checkpoint("second");
    tree.git(&["gc", "-q", "--prune=now"]);
    tree.checkpoints().remove(&second).expect("removed");
    tree.git(&["gc", "-q", "--prune=now"]);
    // Its objects are gone, so whatever relied on them must be gone too.
    let third = tree.checkpoint("third");
    tree.git(&["fsck", "--strict"]);
    tree.roll_back(&start);
    assert_eq!(differences(&tree.account(), &then), [""; 0]);
    tree.roll_back(&third);
    assert_eq!(tree.read("loose"), "now\n");
}

#[test]
fn concurrent_checkpoints_wait_for_each_other() {
    let tree = Tree::new();
    let start = tree.checkpoint("start");
    let then = tree.account();
    tree.write("a", "now\n");
    let moment = tree.now();
    let root = tree.root();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (root, start) = (&root, &start);
            scope.spawn(move || {
                let checkpoints = Checkpoints::open(root).expect("a work tree");
                checkpoints.create(&format!("at once {number}"), moment).expect("taken");
                checkpoints.roll_back(start, RollBackOptions::default(), moment).expect("rolled back");
            });
        }
    });
    assert_eq!(tree.account(), then);
    assert_eq!(tree.checkpoints().list("at once").expect("listed").len(), 6);
    assert_eq!(tree.checkpoints().kept().expect("listed").len(), 6);
    let left: Vec<_> = fs::read_dir(tree.path(".git/haltline")).expect("read").collect();
    let mut names: Vec<String> =
        left.into_iter().map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["index", "index.trust", "lock"]);
}
