//! Trees that exceed the limits: snapshots stay bounded, and say so.

use std::time::Duration;

use haltline_engine::changes::{SnapshotOptions, WorkTreeSnapshot};

use crate::changes::work_tree::{WorkTree, as_line, round_trip};

#[test]
fn large_files_are_compared_by_size_and_time() {
    let mut tree = WorkTree::new();
    tree.options.content_file_bytes_max = 10;
    tree.write("large", "more than ten bytes\n");
    assert_eq!(tree.iteration(|_tree| {}), "");
    assert_eq!(tree.iteration(|tree| tree.touch("large", 1_000)), "untracked 1 (large)");
    assert_eq!(tree.iteration(|tree| tree.commit("large")), "commits 1 (large)");
    assert!(!tree.snapshot().is_truncated());
}

#[test]
fn beyond_the_read_limit_size_and_time_decide() {
    let mut tree = WorkTree::new();
    for number in 0..5 {
        tree.write(format!("new{number}"), "ten bytes\n");
    }
    let all = tree.snapshot();
    tree.options.content_bytes_max = 25;
    let some = tree.snapshot();
    assert_eq!(as_line(&some.changes_since(&all)), "");
    assert_eq!(as_line(&all.changes_since(&some)), "");
}

#[test]
fn paths_beyond_the_limit_are_summed_up_and_reported() {
    let mut tree = WorkTree::new();
    tree.options.paths_max = 5;
    assert_eq!(tree.iteration(|_tree| {}), "");
    let made = tree.iteration(|tree| (0..20).for_each(|number| tree.write(format!("new{number:02}"), "x\n")));
    assert_eq!(made, "untracked 20 (new00, new01, new02, new03, new04)");
    let snapshot = tree.snapshot();
    assert!(snapshot.is_truncated());
    assert_eq!(tree.iteration(|_tree| {}), "");
    let edited = tree.iteration(|tree| tree.write("new15", "longer\n"));
    assert_eq!(edited, "untracked 1 (a path beyond those that haltline keeps)");
    assert_eq!(tree.iteration(|tree| tree.write("new02", "longer\n")), "untracked 1 (new02)");
    assert_eq!(tree.iteration(|tree| tree.commit("all of them")), "commits 1 (all of them)");
    assert!(!tree.snapshot().is_truncated());
}

#[test]
fn files_beyond_the_limit_are_summed_up_without_git_too() {
    let mut tree = WorkTree::plain();
    tree.options.paths_max = 5;
    (0..20).for_each(|number| tree.write(format!("new{number:02}"), "x\n"));
    assert!(tree.snapshot().is_truncated());
    assert_eq!(tree.iteration(|_tree| {}), "");
    let edited = tree.iteration(|tree| (0..20).for_each(|number| tree.write(format!("new{number:02}"), "longer\n")));
    assert!(edited.starts_with("files 6 ("), "{edited}");
}

#[test]
fn repositories_beyond_the_limit_are_left_out_and_neither_new_nor_gone() {
    let tree = WorkTree::plain();
    (0..65).for_each(|number| drop(tree.git(&["init", "-q", &format!("r{number:02}")])));
    let snapshot = tree.snapshot();
    assert!(snapshot.is_truncated());
    let edited = tree.iteration(|tree| {
        tree.git(&["init", "-q", "a-new-one"]);
        tree.write("r10/x", "x\n");
    });
    assert_eq!(edited, "repositories 1 (r10/x)");
}

#[test]
fn a_snapshot_without_time_is_empty_and_says_so() {
    let tree = WorkTree::new();
    let options = SnapshotOptions { timeout: Duration::ZERO, ..SnapshotOptions::default() };
    let snapshot = WorkTreeSnapshot::capture(&tree.root(), &options);
    assert!(snapshot.is_truncated());
    assert!(snapshot.problems().next().is_some_and(|problem| problem.contains("did not end within")), "{snapshot:?}");
    assert_eq!(as_line(&tree.snapshot().changes_since(&snapshot)), "");
}

#[test]
fn a_snapshot_of_ten_thousand_files_is_small() {
    let tree = WorkTree::new();
    for folder in 0..20 {
        (0..500).for_each(|number| tree.write(format!("folder{folder}/file{number}"), format!("{folder} {number}\n")));
    }
    tree.commit("many");
    let clean = serde_json::to_string(&tree.snapshot()).expect("written");
    assert!(clean.len() < 2_000, "{} bytes", clean.len());
    (0..500).for_each(|number| tree.write(format!("folder7/file{number}"), "edited\n"));
    let before = round_trip(&tree.snapshot());
    let dirty = serde_json::to_string(&before).expect("written");
    assert!(dirty.len() < 150_000, "{} bytes", dirty.len());
    tree.commit("edited");
    assert_eq!(as_line(&tree.snapshot().changes_since(&before)), "commits 1 (edited)");
}
