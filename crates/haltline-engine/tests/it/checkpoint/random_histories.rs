//! Random work, a rollback, and the rollback undone. One seed is one history.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use haltline_engine::checkpoint::RollBackOptions;

use crate::checkpoint::tree::{Account, GitAccount, Thing, Tree, differences, left_alone};

const SEEDS: u64 = 16;
/// Some are files in one history and folders in another, or both in turn.
const NAMES: [&[u8]; 14] = [
    b"a",
    b"b",
    b"sub/c",
    b"sub/deep/d",
    b"with space",
    b"line\nbreak",
    "Zürich/ünter".as_bytes(),
    b"odd\xff\xfe",
    b"swap",
    b"swap/inner",
    b"swap/inner/most",
    b":(top)magic",
    b"-rf",
    b"\"quoted\"\t*?[",
];
const IGNORED: [&[u8]; 3] = [b"noise.log", b"sub/more.log", b"build/out"];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("small")
    }

    fn content(&mut self) -> Vec<u8> {
        match self.below(6) {
            0 => Vec::new(),
            1 => b"one\r\ntwo\r\n".to_vec(),
            2 => (0..=255).collect(),
            3 => vec![b'x'; 70_000],
            number => format!("text {number}\n").into_bytes(),
        }
    }
}

/// Removes what is in the way of a path, as an agent would do it.
fn make_room(tree: &Tree, path: &Path) {
    let mut folder = tree.root();
    for part in path.parent().into_iter().flatten() {
        folder.push(part);
        if fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(&folder).expect("removed");
        }
    }
    fs::create_dir_all(&folder).expect("made");
    if fs::symlink_metadata(tree.path(path)).is_ok() {
        tree.remove(path);
    }
}

fn act(tree: &Tree, random: &mut Random) -> String {
    let name = NAMES[random.below(NAMES.len())];
    let path = Path::new(OsStr::from_bytes(name));
    let is_file = fs::symlink_metadata(tree.path(path)).is_ok_and(|found| found.is_file());
    let git = |arguments: &[&OsStr]| {
        // If git fails, the act does nothing.
        tree.try_git_at("", arguments);
        format!("{arguments:?}")
    };
    let words = |words: &[&str]| {
        tree.try_git_at("", words);
        words.join(" ")
    };
    let exact = OsStr::from_bytes(name);
    let literal = OsStr::new("--literal-pathspecs");
    match random.below(26) {
        0..=6 => {
            make_room(tree, path);
            tree.write(path, random.content());
            format!("write {path:?}")
        }
        7 => {
            make_room(tree, path);
            tree.link(["a", "sub", "nowhere", ".."][random.below(4)], path);
            format!("link {path:?}")
        }
        8 => {
            make_room(tree, path);
            fs::create_dir(tree.path(path)).expect("made");
            format!("folder {path:?}")
        }
        9 | 10 if fs::symlink_metadata(tree.path(path)).is_ok() => {
            tree.remove(path);
            format!("remove {path:?}")
        }
        11 | 12 if is_file => {
            let mode = [0o755, 0o644, 0o600, 0o444, 0o640, 0o700][random.below(6)];
            tree.set_mode(path, mode);
            format!("mode {mode:o} {path:?}")
        }
        13 if is_file => {
            let to = Path::new(OsStr::from_bytes(NAMES[random.below(4)]));
            let bytes = fs::read(tree.path(path)).expect("read");
            tree.remove(path);
            make_room(tree, to);
            tree.write(to, bytes);
            format!("rename {path:?} {to:?}")
        }
        14 => {
            let ignored = Path::new(OsStr::from_bytes(IGNORED[random.below(IGNORED.len())]));
            make_room(tree, ignored);
            tree.write(ignored, random.content());
            format!("write {ignored:?}")
        }
        15 => git(&[literal, OsStr::new("add"), OsStr::new("-N"), OsStr::new("--"), exact]),
        16 | 17 => git(&[literal, OsStr::new("add"), OsStr::new("--"), exact]),
        18 => git(&[literal, OsStr::new("rm"), OsStr::new("-q"), OsStr::new("--cached"), OsStr::new("--"), exact]),
        19 => words(&["add", "-A"]),
        20 => words(&["commit", "-q", "-m", "staged"]),
        21 => words(&["commit", "-q", "-a", "-m", "all"]),
        22 => words(&["commit", "-q", "--amend", "-m", "amended"]),
        23 => words(&["reset", "-q"]),
        24 => words(&["update-index", "--assume-unchanged", "a"]),
        _ => words(&["update-index", "--no-assume-unchanged", "a"]),
    }
}

fn is_ignored(path: &Path) -> bool {
    path.starts_with("build") || path.extension().is_some_and(|end| end == "log")
}

/// An account without ignored paths, and without the folders that contain something ignored in `around`.
fn kept(account: &Account, around: &Account) -> Account {
    let holds_ignored = |folder: &PathBuf| around.keys().any(|path| is_ignored(path) && path.starts_with(folder));
    let kept = account.iter().filter(|(path, thing)| {
        let is_around = matches!(thing, Thing::Folder { .. }) && holds_ignored(path);
        !(is_ignored(path) || is_around)
    });
    kept.map(|(path, thing)| (path.clone(), thing.clone())).collect()
}

fn ignored(account: &Account) -> Account {
    let ignored = account.iter().filter(|(path, _thing)| is_ignored(path));
    ignored.map(|(path, thing)| (path.clone(), thing.clone())).collect()
}

/// The status without ignored paths, which a rollback does not restore.
fn status(git: &GitAccount) -> String {
    git.status.split('\0').filter(|line| !line.starts_with('!')).collect::<Vec<_>>().join("\n")
}

fn history(seed: u64) {
    let tree = Tree::unborn();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    tree.write(".gitignore", "*.log\n/build/\n");
    let mut acts = Vec::new();
    if !seed.is_multiple_of(4) {
        tree.commit("first");
    }
    for _act in 0..15 + random.below(15) {
        acts.push(act(&tree, &mut random));
    }
    for round in 0..2 {
        let then = (tree.account(), tree.git_account());
        let checkpoint = tree.checkpoint("start");
        acts.push("checkpoint".to_owned());
        for _act in 0..1 + random.below(20) {
            acts.push(act(&tree, &mut random));
        }
        let before = (tree.account(), tree.git_account());
        let context = format!("seed {seed} round {round}: {acts:#?}");
        let with_commits = random.below(2) == 0;
        let options = RollBackOptions { with_commits };
        let changed = tree.changed(&checkpoint);
        let done = tree.checkpoints().roll_back(&checkpoint, options, tree.now()).expect("rolled back");
        assert_eq!(left_alone(&done), Vec::<String>::new(), "{context}");
        let after = (tree.account(), tree.git_account());
        assert_eq!(differences(&kept(&after.0, &after.0), &kept(&then.0, &after.0)), [""; 0], "{context}");
        assert_eq!(differences(&ignored(&after.0), &ignored(&before.0)), [""; 0], "{context}");
        assert_eq!(after.1.entries, then.1.entries, "{context}");
        assert_eq!(after.1.stash, before.1.stash, "{context}");
        if with_commits {
            assert_eq!((&after.1.head, &after.1.branch), (&then.1.head, &then.1.branch), "{context}");
            assert_eq!(status(&after.1), status(&then.1), "{context}");
        } else {
            let (now, was) = (&after.1, &before.1);
            assert_eq!((&now.head, &now.branch, &now.log), (&was.head, &was.branch, &was.log), "{context}");
        }
        assert_eq!(tree.changed(&checkpoint), "", "{context}");
        // A second time there is nothing to do.
        let again = tree.roll_back(&checkpoint);
        assert_eq!((again.restored, again.removed), (0, 0), "{context}");
        // Undoes the rollback.
        let undone = tree.checkpoints().roll_back(&done.kept, options, tree.now()).expect("undone");
        assert_eq!(left_alone(&undone), Vec::<String>::new(), "{context}");
        let forth = (tree.account(), tree.git_account());
        assert_eq!(differences(&forth.0, &before.0), [""; 0], "{context}");
        let without_log = |git: &GitAccount| GitAccount { log: String::new(), ..git.clone() };
        assert_eq!(without_log(&forth.1), without_log(&before.1), "{context}");
        assert_eq!(tree.changed(&checkpoint), changed, "{context}");
        tree.git(&["fsck", "--strict"]);
    }
}

#[test]
fn a_rollback_restores_everything_and_can_be_undone() {
    for seed in 1..=SEEDS / 2 {
        history(seed);
    }
}

#[test]
fn a_rollback_restores_everything_and_can_be_undone_in_other_histories() {
    for seed in SEEDS / 2 + 1..=SEEDS {
        history(seed);
    }
}
