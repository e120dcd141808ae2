//! Kinds of repositories: submodules, nested repositories, other work trees, subfolders, no repository at all.

use std::fs;

use crate::changes::work_tree::{WorkTree, as_line, round_trip};

/// Creates a repository in a folder, with one file committed.
fn nest(tree: &WorkTree, folder: &str) {
    tree.git(&["init", "-q", "-b", "main", folder]);
    tree.write(format!("{folder}/inner"), "first\n");
    tree.commit_at(folder, "inner first");
}

#[test]
fn a_nested_repository_is_covered_completely() {
    let tree = WorkTree::new();
    assert_eq!(tree.iteration(|tree| nest(tree, "nested")), "repositories 1 (nested/ (new repository))");
    let edited = tree.iteration(|tree| tree.write("nested/inner", "edited\n"));
    assert_eq!(edited, "repositories 1 (nested/inner)");
    let before = round_trip(&tree.snapshot());
    tree.commit_at("nested", "inner work");
    let committed = tree.snapshot().changes_since(&before);
    assert_eq!((committed.len(), committed[0].count), (1, 1));
    assert!(committed[0].examples[0].starts_with("nested/"), "{committed:?}");
    assert!(committed[0].examples[0].ends_with(" inner work"), "{committed:?}");
    let removed = tree.iteration(|tree| fs::remove_dir_all(tree.path("nested")).expect("removed"));
    assert_eq!(removed, "repositories 1 (nested/ (repository removed))");
}

#[test]
fn repositories_that_the_outer_one_ignores_are_covered_too() {
    let tree = WorkTree::new();
    tree.write(".gitignore", "projects/\nnode_modules/\n");
    tree.commit("ignore");
    nest(&tree, "projects/one");
    nest(&tree, "projects/deep/er/two");
    nest(&tree, "node_modules/package");
    let edited = tree.iteration(|tree| {
        tree.write("projects/one/inner", "edited\n");
        tree.write("projects/deep/er/two/new", "loose\n");
        tree.write("node_modules/package/inner", "edited\n");
    });
    assert_eq!(edited, "repositories 2 (projects/one/inner, projects/deep/er/two/new)");
}

#[test]
fn repositories_are_searched_six_folders_deep() {
    let tree = WorkTree::new();
    nest(&tree, "1/2/3/4/5/6");
    nest(&tree, "1/2/3/4/5/x/7");
    let edited = tree.iteration(|tree| {
        tree.write("1/2/3/4/5/6/inner", "edited\n");
        tree.write("1/2/3/4/5/x/7/inner", "edited\n");
    });
    assert_eq!(edited, "repositories 1 (1/2/3/4/5/6/inner)");
}

#[test]
fn a_submodule_is_a_separate_repository() {
    let library = WorkTree::new();
    let tree = WorkTree::new();
    let address = library.root().display().to_string();
    let added = tree.iteration(|tree| drop(tree.git(&["submodule", "--quiet", "add", &address, "library"])));
    assert_eq!(added, "staged 2 (.gitmodules, library); repositories 1 (library/ (new repository))");
    tree.commit("library");
    assert_eq!(tree.iteration(|tree| tree.write("library/a", "edited\n")), "repositories 1 (library/a)");
    let before = round_trip(&tree.snapshot());
    tree.commit_at("library", "library work");
    let committed = as_line(&tree.snapshot().changes_since(&before));
    assert!(committed.starts_with("repositories 1 (library/") && committed.ends_with(" library work)"), "{committed}");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["add", "library"]))), "staged 1 (library)");
    assert_eq!(tree.iteration(|tree| tree.commit("newer library")), "commits 1 (newer library)");
    tree.write("library/b", "dirty\n");
    let before = tree.snapshot();
    tree.git(&["submodule", "--quiet", "deinit", "-f", "library"]);
    assert_eq!(as_line(&tree.snapshot().changes_since(&before)), "repositories 1 (library/ (repository removed))");
}

#[test]
fn a_work_tree_below_the_root_counts_and_one_outside_does_not() {
    let tree = WorkTree::plain();
    tree.git(&["init", "-q", "-b", "main", "main"]);
    tree.write("main/a", "first\n");
    tree.commit_at("main", "first");
    assert_eq!(
        tree.iteration_at("main", |tree| drop(tree.git_at("main", &["worktree", "add", "-q", "target/inside"]))),
        ""
    );
    tree.git_at("main", &["worktree", "add", "-q", "../outside"]);
    let edited = tree.iteration_at("main", |tree| {
        tree.write("main/target/inside/a", "edited\n");
        tree.write("outside/a", "edited\n");
    });
    assert_eq!(edited, "worktrees 1 (target/inside/a)");
    let before = tree.snapshot_at("main");
    tree.commit_at("outside", "somebody else's work");
    assert_eq!(as_line(&tree.snapshot_at("main").changes_since(&before)), "");
    tree.commit_at("main/target/inside", "work inside");
    let committed = as_line(&tree.snapshot_at("main").changes_since(&before));
    assert!(committed.starts_with("worktrees 1 (target/inside/"), "{committed}");
    let merged = tree.iteration_at("main", |tree| drop(tree.git_at("main", &["merge", "-q", "inside"])));
    assert_eq!(merged, "");
    let arrived = tree.iteration_at("main", |tree| drop(tree.git_at("main", &["worktree", "remove", "../outside"])));
    assert_eq!(arrived, "");
    let outside = tree.iteration_at("main/target/inside", |tree| {
        tree.write("main/a", "edited\n");
        tree.commit_at("main", "work in the first work tree");
    });
    assert_eq!(outside, "");
}

#[test]
fn a_commit_reached_from_two_work_trees_counts_once() {
    let tree = WorkTree::new();
    tree.git(&["worktree", "add", "-q", "side"]);
    let both = tree.iteration(|tree| {
        tree.write("side/a", "edited\n");
        tree.commit_at("side", "work");
        tree.git(&["merge", "-q", "side"]);
    });
    assert_eq!(both, "commits 1 (work)");
}

#[test]
fn a_subfolder_covers_the_whole_repository() {
    let tree = WorkTree::new();
    let edited = tree.iteration_at("sub", |tree| {
        tree.write("a", "edited\n");
        tree.write("sub/new", "loose\n");
    });
    assert_eq!(edited, "unstaged 1 (a); untracked 1 (sub/new)");
    assert_eq!(tree.iteration_at("sub", |tree| tree.commit("all")), "commits 1 (all)");
}

#[test]
fn a_root_that_the_repository_around_it_ignores_is_walked() {
    let tree = WorkTree::new();
    tree.write(".gitignore", "scratch/\n");
    tree.write("scratch/x/file", "first\n");
    tree.commit("ignore");
    let edited = tree.iteration_at("scratch/x", |tree| tree.write("scratch/x/file", "edited\n"));
    assert_eq!(edited, "files 1 (file)");
    tree.git(&["config", "status.showUntrackedFiles", "no"]);
    fs::create_dir_all(tree.path("loose")).expect("created");
    let hidden = tree.iteration_at("loose", |tree| tree.write("loose/file", "new\n"));
    assert_eq!(hidden, "files 1 (file)");
    assert_eq!(tree.iteration(|tree| tree.write("seen", "new\n")), "untracked 1 (seen)");
}

#[test]
fn without_git_files_are_compared() {
    let tree = WorkTree::plain();
    tree.write("a", "first\n");
    tree.write("sub/b", "first\n");
    tree.write("large", vec![b'x'; 300_000]);
    tree.write("node_modules/x", "first\n");
    let first = tree.snapshot();
    assert_eq!(tree.iteration(|tree| tree.touch("a", 1_000)), "");
    assert_eq!(tree.iteration(|tree| tree.touch("large", 1_000)), "files 1 (large)");
    tree.touch("large", 2_000);
    let before = round_trip(&tree.snapshot());
    tree.write("a", "other\n");
    tree.remove("sub/b");
    tree.write("sub/c", "new\n");
    tree.write("node_modules/x", "other\n");
    tree.write(".prp-session/state", "other\n");
    assert_eq!(as_line(&tree.snapshot().changes_since(&before)), "files 3 (a, sub/c, sub/b)");
    assert_ne!(first.fingerprint(), tree.snapshot().fingerprint());
    tree.write("a", "first\n");
    tree.write("sub/b", "first\n");
    tree.remove("sub/c");
    assert_eq!(tree.snapshot().fingerprint(), before.fingerprint());
}

#[test]
fn a_folder_of_repositories_is_covered_though_it_is_none() {
    let tree = WorkTree::plain();
    nest(&tree, "one");
    nest(&tree, "two");
    tree.write("notes", "first\n");
    let done = tree.iteration(|tree| {
        tree.write("one/inner", "edited\n");
        tree.write("two/new", "loose\n");
        tree.write("notes", "edited\n");
    });
    assert_eq!(done, "repositories 2 (one/inner, two/new); files 1 (notes)");
}

#[test]
fn work_trees_beside_their_bare_repository_are_covered() {
    let tree = WorkTree::new();
    let address = tree.root().display().to_string();
    let outer = WorkTree::plain();
    outer.git(&["clone", "-q", "--bare", &address, ".bare"]);
    outer.write(".git", "gitdir: ./.bare\n");
    outer.git(&["worktree", "add", "-q", "one", "main"]);
    outer.git(&["worktree", "add", "-q", "-b", "second", "two"]);
    let before = outer.snapshot();
    outer.write("one/a", "edited\n");
    outer.write("two/b", "edited\n");
    outer.commit_at("two", "work");
    let done = as_line(&outer.snapshot().changes_since(&before));
    assert!(done.starts_with("repositories 2 (one/a, two/") && done.ends_with(" work)"), "{done}");
}

#[test]
fn a_folder_that_becomes_a_repository_is_one_change() {
    let tree = WorkTree::plain();
    tree.write("a", "first\n");
    let made = tree.iteration(|tree| {
        tree.git(&["init", "-q"]);
        tree.commit("first");
    });
    assert_eq!(made, "repositories 1 (./ (new repository))");
    let removed = tree.iteration(|tree| fs::remove_dir_all(tree.path(".git")).expect("removed"));
    assert_eq!(removed, "repositories 1 (./ (repository removed))");
}

#[test]
fn a_sub_folder_that_becomes_a_repository_is_one_change() {
    let tree = WorkTree::new();
    let made = tree.iteration_at("sub", |tree| drop(tree.git(&["init", "-q", "sub"])));
    assert_eq!(made, "repositories 1 (./ (new repository))");
}

#[test]
fn a_repository_whose_git_directory_moves_has_no_new_commits() {
    let tree = WorkTree::new();
    nest(&tree, "nested");
    let moved = tree.iteration(|tree| {
        fs::rename(tree.path("nested/.git"), tree.path(".git/moved")).expect("moved");
        tree.write("nested/.git", "gitdir: ../.git/moved\n");
    });
    assert_eq!(moved, "");
}

#[test]
fn repositories_with_sha256_ids_are_read_as_well() {
    let tree = WorkTree::plain();
    tree.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    tree.write("a", "first\n");
    assert_eq!(tree.iteration(|tree| tree.commit("first")), "commits 1 (first)");
    let edited = tree.iteration(|tree| {
        tree.write("a", "second\n");
        tree.commit("second");
        tree.write("b", "loose\n");
    });
    assert_eq!(edited, "commits 1 (second); untracked 1 (b)");
    tree.remove("b");
    assert_eq!(tree.iteration(|tree| drop(tree.git(&["reset", "-q", "HEAD~1"]))), "");
}

#[test]
fn a_broken_repository_is_skipped() {
    for broken in ["", "gitdir: /nowhere/at/all\n", "\u{0}\u{1}"] {
        let tree = WorkTree::plain();
        tree.write(".git", broken);
        assert_eq!(tree.iteration(|tree| tree.write("a", "x\n")), "files 1 (a)", "{broken:?}");
        assert_eq!(tree.snapshot().problems().count(), 1, "{broken:?}");
    }
    let tree = WorkTree::new();
    fs::create_dir_all(tree.path("empty/.git")).expect("created");
    assert_eq!(tree.iteration(|tree| tree.write("empty/a", "x\n")), "untracked 1 (empty/a)");
    assert_eq!(tree.iteration_at("empty", |tree| tree.write("empty/b", "x\n")), "untracked 1 (empty/b)");
    let bare = WorkTree::plain();
    bare.git(&["init", "-q", "--bare"]);
    assert_eq!(bare.iteration(|bare| bare.write("description", "x\n")), "files 1 (description)");
}

#[test]
fn a_root_that_is_not_there_is_a_problem_and_not_a_crash() {
    let tree = WorkTree::plain();
    let snapshot = tree.snapshot_at("nowhere");
    assert_eq!(snapshot.problems().count(), 1);
    assert_eq!(snapshot.changes_since(&snapshot), []);
}
