//! Kills a rollback at every step: each file is old or new, nothing is lost, and a second run finishes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use haltline_core::Instant;
use haltline_engine::checkpoint::{CheckpointError, CheckpointStep, Checkpoints, RollBackOptions};

use crate::checkpoint::tree::{Account, Thing, Tree, differences};
use crate::support::{assert_passed, in_own_process};

/// How many steps the child process may still take.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

const ROOT: &str = "HALTLINE_TEST_ROOT";
const STEPS: &str = "HALTLINE_TEST_STEPS";
const ACT: &str = "HALTLINE_TEST_ACT";

fn die_after_steps(_step: CheckpointStep) {
    if LEFT.fetch_sub(1, Ordering::SeqCst) == 0 {
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("it may kill itself");
    }
}

/// Not a test by itself: what the killed process runs.
#[test]
fn child() {
    let Some(root) = std::env::var_os(ROOT) else { return };
    let variable = |name: &str| std::env::var(name).expect("the parent says");
    LEFT.store(variable(STEPS).parse().expect("a number"), Ordering::SeqCst);
    let checkpoints = Checkpoints::open(Path::new(&root)).expect("a work tree").with_observer(die_after_steps);
    let at = Instant::from_millis(1_800_000_000_000);
    match variable(ACT).as_str() {
        "take" => drop(checkpoints.create("start", at).expect("taken")),
        "resume" => drop(checkpoints.resume(at).expect("resumed")),
        act => {
            let start = checkpoints.find("start").expect("searched").expect("it is there");
            let options = RollBackOptions { with_commits: act == "with commits" };
            drop(checkpoints.roll_back(&start, options, at).expect("rolled back"));
        }
    }
}

/// True if the child process ended before it had taken this many steps.
fn run_child(tree: &Tree, act: &str, steps: usize) -> bool {
    let output = in_own_process(child)
        .env(ROOT, tree.root())
        .env(STEPS, steps.to_string())
        .env(ACT, act)
        .output()
        .expect("it runs");
    let is_killed = std::os::unix::process::ExitStatusExt::signal(&output.status) == Some(9);
    if !is_killed {
        assert_passed(&output);
    }
    !is_killed
}

fn prepared() -> Tree {
    let tree = Tree::new();
    tree.write(".gitignore", "*.log\n");
    tree.write("swap/file", "then\n");
    tree.write("other", "then\n");
    tree.write("mode", "then\n");
    tree.link("a", "link");
    tree.commit("second");
    tree.write("b", "dirty\n");
    tree.write("loose", "untracked\n");
    tree.write("kept.log", "ignored\n");
    tree.folder("empty/inside");
    tree.git(&["add", "b"]);
    tree
}

fn work(tree: &Tree) {
    tree.write("a", "now\n");
    tree.write("new/deep/file", "now\n");
    tree.remove("swap");
    tree.write("swap", "a file now\n");
    tree.remove("other");
    tree.write("other/inside", "a folder now\n");
    tree.set_mode("mode", 0o700);
    tree.remove("link");
    tree.link("b", "link");
    tree.remove("loose");
    tree.remove("empty");
    tree.folder("fresh/folder");
    tree.write(".gitignore", "*.log\n*.tmp\n");
    tree.git(&["add", "-A"]);
    tree.git(&["commit", "-q", "-m", "work"]);
    tree.write("sub/c", "now, not staged\n");
    tree.write("came.tmp", "ignored since\n");
}

/// The files that are neither as before nor as after. Folders may come and go around them.
fn is_between(half: &Account, old: &Account, new: &Account) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = half.keys().chain(old.keys()).chain(new.keys()).collect();
    let is_folder = |account: &Account, path: &PathBuf| matches!(account.get(path), Some(Thing::Folder { .. }) | None);
    let wrong = paths.into_iter().filter(|path| {
        let is_one = half.get(*path) == old.get(*path) || half.get(*path) == new.get(*path);
        !is_one && !(is_folder(half, path) && (is_folder(old, path) || is_folder(new, path)))
    });
    wrong.map(|path| format!("{path:?}: {:?}", half.get(path))).collect()
}

fn killed_at_every_step(act: &str) {
    let tree = prepared();
    tree.checkpoint("start");
    let (then, entries) = (tree.account(), tree.git_account().entries);
    work(&tree);
    let now = (tree.account(), tree.git_account());
    // Ignored files stay.
    let mut goal = then.clone();
    goal.insert("came.tmp".into(), now.0[Path::new("came.tmp")].clone());
    let mut steps = 0;
    loop {
        let is_over = run_child(&tree, act, steps);
        let half = tree.account();
        assert_eq!(is_between(&half, &now.0, &goal), [""; 0], "{act}, step {steps}");
        let checkpoints = tree.checkpoints();
        let unfinished = checkpoints.unfinished().expect("asked");
        let kept = match &unfinished {
            Some(unfinished) => {
                assert!(matches!(checkpoints.create("other", tree.now()), Err(CheckpointError::RollbackUnfinished)));
                // Killed once more, at an early and at a late step, before it is finished.
                run_child(&tree, "resume", steps % 7 + 3);
                match checkpoints.resume(tree.now()) {
                    Ok(done) => assert_eq!(done.kept, unfinished.kept),
                    Err(error) => assert!(matches!(error, CheckpointError::NothingToFinish), "{error}"),
                }
                unfinished.kept.clone()
            }
            // It was killed after its last step.
            None if half == goal => checkpoints.kept().expect("listed").remove(0),
            None => {
                let start = checkpoints.find("start").expect("searched").expect("it is there");
                let options = RollBackOptions { with_commits: act == "with commits" };
                checkpoints.roll_back(&start, options, tree.now()).expect("done anyhow").kept
            }
        };
        let done = (tree.account(), tree.git_account());
        assert_eq!(differences(&done.0, &goal), [""; 0], "{act}, step {steps}");
        assert_eq!(done.1.entries, entries, "{act}, step {steps}");
        assert_eq!(checkpoints.unfinished().expect("asked"), None);
        assert!(!tree.path(".git/index.lock").exists());
        // Nothing is lost: everything that was there before is under the first ref.
        let options = RollBackOptions { with_commits: act == "with commits" };
        checkpoints.roll_back(&kept, options, tree.now()).expect("undone");
        let undone = (tree.account(), tree.git_account());
        assert_eq!(differences(&undone.0, &now.0), [""; 0], "{act}, step {steps}");
        assert_eq!((undone.1.entries, undone.1.head), (now.1.entries.clone(), now.1.head.clone()));
        for kept in checkpoints.kept().expect("listed") {
            checkpoints.remove(&kept).expect("removed");
        }
        if is_over {
            break;
        }
        steps += 1;
    }
    assert!(steps > 25, "only {steps} steps were seen");
}

#[test]
fn a_rollback_killed_at_any_step_is_finished_by_the_next() {
    killed_at_every_step("roll back");
}

#[test]
fn a_rollback_with_commits_killed_at_any_step_is_finished_by_the_next() {
    killed_at_every_step("with commits");
}

#[test]
fn a_checkpoint_killed_at_any_step_leaves_the_old_one_or_is_the_new_one() {
    let tree = prepared();
    let old = tree.checkpoint("start");
    work(&tree);
    let now = (tree.account(), tree.git_account());
    let mut steps = 0;
    loop {
        let is_over = run_child(&tree, "take", steps);
        assert_eq!((tree.account(), tree.git_account()), now);
        let found = tree.checkpoints().find("start").expect("searched").expect("one of both");
        let is_old = found == old;
        assert!(is_old || tree.changed(&found).is_empty(), "step {steps}");
        if is_over {
            assert!(!is_old);
            break;
        }
        steps += 1;
    }
    assert_eq!(steps, 3);
}

#[test]
fn edits_after_an_interruption_are_kept_too() {
    let tree = prepared();
    tree.checkpoint("start");
    work(&tree);
    let now = tree.account();
    assert!(!run_child(&tree, "roll back", 9));
    tree.write("a", "written by a person after the cut\n");
    tree.write("mine", "new after the cut\n");
    let done = tree.checkpoints().resume(tree.now()).expect("resumed");
    let left: Vec<String> = crate::checkpoint::tree::left_alone(&done);
    let why = "appeared after the rollback began";
    assert_eq!(left, [format!("came.tmp: {why}"), format!("mine: {why}")]);
    assert_eq!(tree.read("a"), "first a\n");
    assert_eq!(tree.read("mine"), "new after the cut\n");
    let between = done.kept_between.expect("what was there");
    tree.roll_back(&between);
    assert_eq!(tree.read("a"), "written by a person after the cut\n");
    tree.roll_back(&done.kept);
    assert_eq!(tree.read("a"), "now\n");
    assert!(!tree.path("mine").exists());
    assert_eq!(differences(&tree.account(), &now), [""; 0]);
}
