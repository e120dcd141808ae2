//! Tests of `project.rs`.

use haltline_engine::project::Project;
use std::fs;

#[test]
fn worktrees_share_a_project_and_sub_folders_find_its_root() {
    let folder = tempfile::tempdir().expect("temp folder");
    let top = fs::canonicalize(folder.path()).expect("exists");
    for path in ["main/.git/worktrees/side", "main/src/deep", "side"] {
        fs::create_dir_all(top.join(path)).expect("create");
    }
    fs::write(top.join("main/.git/worktrees/side/commondir"), "../..\n").expect("write");
    fs::write(top.join("side/.git"), "gitdir: ../main/.git/worktrees/side\n").expect("write");
    let main = Project::find(&top.join("main/src/deep"), &[]).expect("found");
    let side = Project::find(&top.join("side"), &[]).expect("found");
    assert_eq!((&main.root, &side.root), (&top.join("main"), &top.join("side")));
    assert_eq!((main.key, &main.identity), (side.key, &side.identity));
    assert_eq!((main.main_checkout(), side.main_checkout()), (&*main.root, &*main.root));
}

#[test]
fn without_git_a_marker_or_the_folder_itself_is_the_root() {
    let folder = tempfile::tempdir().expect("temp folder");
    let top = fs::canonicalize(folder.path()).expect("exists");
    fs::create_dir_all(top.join("a/docs/constraints")).expect("create");
    fs::create_dir_all(top.join("a/b")).expect("create");
    let marked = Project::find(&top.join("a/b"), &["docs/constraints"]).expect("found");
    assert_eq!(marked.root, top.join("a"));
    let bare = Project::find(&top, &["docs/constraints"]).expect("found");
    assert_eq!(bare.root, top);
    assert_ne!(marked.key, bare.key);
}
