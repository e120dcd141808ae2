//! A work tree that an iteration changes. The first look always goes through a file, as a resumed runner reads it.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use haltline_engine::changes::{Change, EXAMPLES_MAX, Look, LookOptions, Source};

/// A temporary folder and what an agent can do in it.
pub struct WorkTree {
    folder: tempfile::TempDir,
    pub options: LookOptions,
    seconds: Cell<u64>,
}

impl WorkTree {
    /// A folder without git.
    pub fn plain() -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        Self { folder, options: LookOptions::default(), seconds: Cell::new(1_700_000_000) }
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

    /// git in a folder, as an agent runs it. It must succeed.
    pub fn git_at(&self, folder: impl AsRef<Path>, arguments: &[impl AsRef<OsStr>]) -> String {
        let (is_well, said) = self.try_git_at(folder, arguments);
        assert!(is_well, "{said}");
        said
    }

    pub fn try_git_at(&self, folder: impl AsRef<Path>, arguments: &[impl AsRef<OsStr>]) -> (bool, String) {
        // Every commit has a second of its own, so that one written anew has another name.
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
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).trim().to_owned())
    }

    pub fn commit(&self, subject: &str) {
        self.commit_at("", subject);
    }

    pub fn commit_at(&self, folder: &str, subject: &str) {
        self.git_at(folder, &["add", "-A"]);
        self.git_at(folder, &["commit", "-q", "-m", subject]);
    }

    pub fn look(&self) -> Look {
        self.look_at("")
    }

    pub fn look_at(&self, root: &str) -> Look {
        Look::take(&self.path(root), &self.options)
    }

    /// What an iteration changed, as one line.
    pub fn iteration(&self, work: impl FnOnce(&Self)) -> String {
        self.iteration_at("", work)
    }

    pub fn iteration_at(&self, root: &str, work: impl FnOnce(&Self)) -> String {
        let before = kept(&self.look_at(root));
        work(self);
        told(&self.look_at(root).changes_since(&before))
    }
}

/// A look as another process reads it.
pub fn kept(look: &Look) -> Look {
    let text = serde_json::to_string(look).expect("a look can be written");
    let back: Look = serde_json::from_str(&text).expect("and read");
    assert_eq!(back, *look);
    assert_eq!(back.fingerprint(), look.fingerprint());
    back
}

/// Changes as one line: `commits 1 (subject); unstaged 2 (a, b)`.
pub fn told(changes: &[Change]) -> String {
    let parts = changes.iter().map(|change| {
        assert!(
            change.examples.len() as u64 == change.count.min(EXAMPLES_MAX as u64) || change.count > 1,
            "{change:?}"
        );
        let examples: Vec<&str> = change.examples.iter().map(|example| without_id(change.source, example)).collect();
        format!("{} {} ({})", change.source.word(), change.count, examples.join(", "))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// A commit's subject: its id is nothing a test wants to know.
fn without_id(source: Source, example: &str) -> &str {
    match example.split_once(' ') {
        Some((id, subject)) if source == Source::Commits && id.len() == 8 => subject,
        _ => example,
    }
}
