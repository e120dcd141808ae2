//! A work tree, operations on it, and an independent account of everything in it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use haltline_core::Instant;
use haltline_engine::checkpoint::{ChangedPaths, Checkpoint, Checkpoints, RollBackOptions, RolledBack};

/// What is at a path.
#[derive(Clone, PartialEq, Eq)]
pub enum Thing {
    File { mode: u32, bytes: Vec<u8> },
    Link(PathBuf),
    Folder { mode: u32 },
    Pipe,
}

impl std::fmt::Debug for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { mode, bytes } => {
                let start = &bytes[..bytes.len().min(24)];
                write!(f, "file {mode:o} {} {:?}", bytes.len(), String::from_utf8_lossy(start))
            }
            Self::Link(target) => write!(f, "link {target:?}"),
            Self::Folder { mode } => write!(f, "folder {mode:o}"),
            Self::Pipe => f.write_str("pipe"),
        }
    }
}

/// Every path below a folder except git's own.
pub type Account = BTreeMap<PathBuf, Thing>;

/// What git has beside the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAccount {
    pub entries: String,
    pub head: String,
    pub branch: String,
    pub branches: String,
    pub log: String,
    pub stash: String,
    pub status: String,
}

/// A repository in a temporary folder.
pub struct Tree {
    folder: tempfile::TempDir,
    seconds: Cell<i64>,
}

impl Tree {
    /// A folder without git.
    pub fn plain() -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        fs::create_dir(folder.path().join("tree")).expect("made");
        Self { folder, seconds: Cell::new(1_700_000_000) }
    }

    /// A repository without a commit.
    pub fn unborn() -> Self {
        let tree = Self::plain();
        tree.git(&["init", "-q", "-b", "main"]);
        tree
    }

    /// A repository with `a`, `b` and `sub/c` committed.
    pub fn new() -> Self {
        let tree = Self::unborn();
        for path in ["a", "b", "sub/c"] {
            tree.write(path, format!("first {path}\n"));
        }
        tree.commit("first");
        tree
    }

    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("it is there").join("tree")
    }

    /// A path below the root; `..` is beside it.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("made");
        fs::write(path, content).expect("written");
    }

    pub fn remove(&self, path: impl AsRef<Path>) {
        let path = self.path(path);
        let is_folder = fs::symlink_metadata(&path).expect("there").is_dir();
        if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
    }

    pub fn folder(&self, path: &str) {
        fs::create_dir_all(self.path(path)).expect("made");
    }

    pub fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(path)).expect("linked");
    }

    pub fn pipe(&self, path: &str) {
        let made = Command::new("mkfifo").arg(self.path(path)).status().expect("mkfifo is there");
        assert!(made.success());
    }

    pub fn set_mode(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).expect("permitted");
    }

    pub fn read(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8_lossy(&fs::read(self.path(path)).expect("there")).into_owned()
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_at("", arguments)
    }

    pub fn git_at(&self, folder: impl AsRef<Path>, arguments: &[impl AsRef<OsStr>]) -> String {
        let (is_well, text) = self.try_git_at(folder, arguments);
        assert!(is_well, "{text}");
        text
    }

    pub fn try_git_at(&self, folder: impl AsRef<Path>, arguments: &[impl AsRef<OsStr>]) -> (bool, String) {
        self.seconds.set(self.seconds.get() + 1);
        let date = format!("{} +0000", self.seconds.get());
        let mut command = Command::new("git");
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "Agent"),
            ("GIT_AUTHOR_EMAIL", "agent@example.org"),
            ("GIT_COMMITTER_NAME", "Agent"),
            ("GIT_COMMITTER_EMAIL", "agent@example.org"),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_DATE", &date),
            ("GIT_EDITOR", "true"),
            ("GIT_OPTIONAL_LOCKS", "0"),
        ] {
            command.env(name, value);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.args(["-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false"]);
        let output = command.current_dir(self.path(folder)).args(arguments).output().expect("git is there");
        let output_bytes = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8_lossy(&output_bytes).trim().to_owned())
    }

    pub fn commit(&self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::open(&self.root()).expect("a work tree")
    }

    pub fn now(&self) -> Instant {
        self.seconds.set(self.seconds.get() + 1);
        Instant::from_millis(self.seconds.get() * 1000 + 123)
    }

    /// Creates a checkpoint and checks that this changed nothing.
    pub fn checkpoint(&self, name: &str) -> Checkpoint {
        let before = (self.account(), self.git_account(), fs::read(self.path(".git/index")).ok());
        let taken = self.checkpoints().create(name, self.now()).expect("taken");
        let after = (self.account(), self.git_account(), fs::read(self.path(".git/index")).ok());
        assert!(before == after, "a checkpoint changed something:\n{before:?}\n{after:?}");
        assert_eq!(self.checkpoints().find(name).expect("searched").as_ref(), Some(&taken));
        taken
    }

    pub fn changed(&self, since: &Checkpoint) -> String {
        as_line(&self.checkpoints().changed_since(since).expect("compared"))
    }

    pub fn roll_back(&self, to: &Checkpoint) -> RolledBack {
        self.checkpoints().roll_back(to, RollBackOptions::default(), self.now()).expect("rolled back")
    }

    /// Everything below the root.
    pub fn account(&self) -> Account {
        let mut account = Account::new();
        add(&self.root(), &self.root(), &mut account);
        account
    }

    pub fn git_account(&self) -> GitAccount {
        let git = |arguments: &[&str]| self.try_git_at("", arguments).1;
        GitAccount {
            entries: git(&["ls-files", "-s", "-v", "-z"]),
            head: git(&["rev-parse", "HEAD"]),
            branch: git(&["symbolic-ref", "-q", "HEAD"]),
            branches: git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"]),
            log: fs::read_to_string(self.path(".git/logs/HEAD")).unwrap_or_default(),
            stash: git(&["stash", "list"]),
            status: git(&["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored"]),
        }
    }
}

fn add(folder: &Path, root: &Path, account: &mut Account) {
    for entry in fs::read_dir(folder).expect("read").map(|entry| entry.expect("entry").path()) {
        if entry == root.join(".git") {
            continue;
        }
        let found = fs::symlink_metadata(&entry).expect("there");
        let mode = found.permissions().mode() & 0o7777;
        let thing = if found.is_symlink() {
            Thing::Link(fs::read_link(&entry).expect("a link"))
        } else if found.is_dir() {
            add(&entry, root, account);
            Thing::Folder { mode }
        } else if found.file_type().is_fifo() {
            Thing::Pipe
        } else {
            Thing::File { mode, bytes: fs::read(&entry).expect("read") }
        };
        account.insert(entry.strip_prefix(root).expect("below").to_owned(), thing);
    }
}

/// Paths as one line.
pub fn as_line(changed: &ChangedPaths) -> String {
    let paths: Vec<String> = changed.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    assert_eq!(changed.more, 0);
    paths.join(", ")
}

/// What was left alone, one line each.
pub fn left_alone(done: &RolledBack) -> Vec<String> {
    done.left_alone.iter().map(|one| format!("{}: {}", one.path.display(), one.reason)).collect()
}

/// The counts of a rollback: restored, removed, unchanged.
pub fn counts(done: &RolledBack) -> (u64, u64, u64) {
    (done.restored, done.removed, done.unchanged)
}

/// Where two accounts differ.
pub fn differences(one: &Account, other: &Account) -> Vec<String> {
    let paths: std::collections::BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    let differs = paths.into_iter().filter(|path| one.get(*path) != other.get(*path));
    differs.map(|path| format!("{path:?}: {:?} and {:?}", one.get(path), other.get(path))).collect()
}
