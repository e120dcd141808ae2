//! Random iterations, against a naive reference that copies every file. One seed is one history.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_engine::changes::{Change, Source};

use crate::changes::work_tree::{WorkTree, as_line, round_trip};

const SEEDS: u64 = 10;
const ITERATIONS: usize = 12;
const NAMES: [&str; 6] = ["a", "b", "sub/c", "new one", "sub/new", "deep/er/new"];

/// Every file with its bytes and whether it is executable.
type Copy = BTreeMap<PathBuf, (Vec<u8>, bool)>;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("small")
    }
}

fn copy(folder: &Path, root: &Path, all: &mut Copy) {
    for entry in fs::read_dir(folder).expect("read").map(|entry| entry.expect("entry").path()) {
        if entry.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        if entry.is_dir() {
            copy(&entry, root, all);
        } else {
            let mode = fs::metadata(&entry).expect("there").permissions().mode();
            let path = entry.strip_prefix(root).expect("below").to_owned();
            all.insert(path, (fs::read(&entry).expect("read"), mode & 0o100 != 0));
        }
    }
}

fn act(tree: &WorkTree, random: &mut Random) -> String {
    let name = NAMES[random.below(NAMES.len())];
    let exists = tree.path(name).exists();
    let git = |arguments: &[&str]| {
        // If git fails (nothing to commit, no such path), the act does nothing.
        tree.try_git_at("", arguments);
        arguments.join(" ")
    };
    match random.below(14) {
        0..=3 => {
            tree.write(name, format!("text {}\n", random.below(4)));
            format!("write {name}")
        }
        4 if exists => {
            tree.remove(name);
            format!("remove {name}")
        }
        5 if exists => {
            tree.touch(name, 1_000 + random.below(1_000) as u64);
            format!("touch {name}")
        }
        6 if exists => {
            tree.set_mode(name, if random.below(2) == 0 { 0o755 } else { 0o644 });
            format!("mode {name}")
        }
        4..=7 => git(&["add", "--", name]),
        8 => git(&["add", "-A"]),
        9 => git(&["reset", "-q"]),
        10 => git(&["commit", "-q", "-m", "staged"]),
        11 => git(&["commit", "-q", "-a", "-m", "all"]),
        12 => git(&["commit", "-q", "--amend", "-m", "amended"]),
        _ => git(&["rm", "-q", "--cached", "--", name]),
    }
}

#[test]
fn a_snapshot_agrees_with_a_copy_of_every_file() {
    for seed in 1..=SEEDS {
        let tree = WorkTree::new();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut fingerprints_seen: BTreeMap<(String, Copy), [u8; 32]> = BTreeMap::new();
        for iteration in 0..ITERATIONS {
            let state = || {
                let mut all = Copy::new();
                copy(&tree.root(), &tree.root(), &mut all);
                (tree.git(&["rev-parse", "HEAD"]), tree.git(&["rev-parse", "HEAD^{tree}"]), all)
            };
            let (head_before, tree_before, copy_before) = state();
            let before = round_trip(&tree.snapshot());
            let acts: Vec<String> = (0..=random.below(4)).map(|_act| act(&tree, &mut random)).collect();
            let (head, head_tree, copy) = state();
            let snapshot = tree.snapshot();
            let changes = snapshot.changes_since(&before);
            let context = format!("seed {seed} iteration {iteration}: {acts:?}: {}", as_line(&changes));
            let is_only = |sources: &[Source]| changes.iter().all(|Change { source, .. }| sources.contains(source));
            if copy == copy_before {
                // Only the index and the history can be new.
                assert!(is_only(&[Source::Commits, Source::Staged]), "{context}");
            } else if head == head_before {
                assert!(!changes.is_empty(), "{context}");
            }
            if head_tree == tree_before {
                assert!(!changes.iter().any(|change| change.source == Source::Commits), "{context}");
            }
            let fingerprint = snapshot.fingerprint();
            let known = fingerprints_seen.entry((head_tree, copy)).or_insert(fingerprint);
            assert_eq!(*known, fingerprint, "{context}");
        }
        let fingerprints: std::collections::BTreeSet<[u8; 32]> = fingerprints_seen.values().copied().collect();
        assert_eq!(fingerprints.len(), fingerprints_seen.len(), "seed {seed}: two trees look the same");
    }
}
