//! A work tree that an iteration changes. The first snapshot always goes through a file, as a resumed runner reads it.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use haltline_engine::changes::{Change, EXAMPLES_MAX, SnapshotOptions, Source, WorkTreeSnapshot};

/// A temporary folder and what an agent can do in it.
pub struct WorkTree {
    folder: tempfile::TempDir,
    pub options: SnapshotOptions,
    seconds: Cell<u64>,
}

impl WorkTree {
    /// A folder without git.
    pub fn plain() -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        Self { folder, options: SnapshotOptions::default(), seconds: Cell::new(1_700_000_000) }
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
        fs::canonicalize(self.folder.path()).expect("it is there")
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("created");
        fs::write(path, text).expect("written");
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("removed");
    }

    /// Sets the time of a file and nothing else.
    pub fn touch(&self, path: &str, seconds: u64) {
        let file = File::options().write(true).open(self.path(path)).expect("opened");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("touched");
    }

    pub fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).expect("permitted");
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_at("", arguments)
    }

    /// Runs git in a folder, as an agent does. It must succeed.
    pub fn git_at(&self, folder: impl AsRef<Path>, arguments: &[impl AsRef<OsStr>]) -> String {
        let (is_well, text) = self.try_git_at(folder, arguments);
        assert!(is_well, "{text}");
        text
    }

    pub fn try_git_at(&self, folder: impl AsRef<Path>, arguments: &[impl AsRef<OsStr>]) -> (bool, String) {
        // Every commit has its own second, so that a rewritten one has another id.
        self.seconds.set(self.seconds.get() + 1);
        let date = format!("{} +0000", self.seconds.get());
        let output = Command::new("git")
            .current_dir(self.path(folder))
            .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Agent")
            .env("GIT_AUTHOR_EMAIL", "agent@example.org")
            .env("GIT_COMMITTER_NAME", "Agent")
            .env("GIT_COMMITTER_EMAIL", "agent@example.org")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .env("GIT_EDITOR", "true")
            .output()
            .expect("git is there");
        let output_bytes = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&output_bytes).trim().to_owned())
    }

    pub fn commit(&self, subject: &str) {
        self.commit_at("", subject);
    }

    pub fn commit_at(&self, folder: &str, subject: &str) {
        self.git_at(folder, &["add", "-A"]);
        self.git_at(folder, &["commit", "-q", "-m", subject]);
    }

    pub fn snapshot(&self) -> WorkTreeSnapshot {
        self.snapshot_at("")
    }

    pub fn snapshot_at(&self, root: &str) -> WorkTreeSnapshot {
        WorkTreeSnapshot::capture(&self.path(root), &self.options)
    }

    /// What an iteration changed, as one line.
    pub fn iteration(&self, work: impl FnOnce(&Self)) -> String {
        self.iteration_at("", work)
    }

    pub fn iteration_at(&self, root: &str, work: impl FnOnce(&Self)) -> String {
        let before = round_trip(&self.snapshot_at(root));
        work(self);
        as_line(&self.snapshot_at(root).changes_since(&before))
    }
}

/// A snapshot as another process reads it.
pub fn round_trip(snapshot: &WorkTreeSnapshot) -> WorkTreeSnapshot {
    let text = serde_json::to_string(snapshot).expect("a snapshot can be written");
    let back: WorkTreeSnapshot = serde_json::from_str(&text).expect("and read");
    assert_eq!(back, *snapshot);
    assert_eq!(back.fingerprint(), snapshot.fingerprint());
    back
}

/// Changes as one line: `commits 1 (subject); unstaged 2 (a, b)`.
pub fn as_line(changes: &[Change]) -> String {
    let parts = changes.iter().map(|change| {
        assert!(
            change.examples.len() as u64 == change.count.min(EXAMPLES_MAX as u64) || change.count > 1,
            "{change:?}"
        );
        let examples: Vec<&str> = change.examples.iter().map(|example| without_id(change.source, example)).collect();
        format!("{} {} ({})", change.source.as_str(), change.count, examples.join(", "))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// A commit's subject without its id, which tests do not compare.
fn without_id(source: Source, example: &str) -> &str {
    match example.split_once(' ') {
        Some((id, subject)) if source == Source::Commits && id.len() == 8 => subject,
        _ => example,
    }
}
