//! git in a repository whose dangerous settings are found and switched off first.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::{Git, GitError};

/// A repository with more filter settings than this is rejected.
const FILTER_SETTINGS_MAX: usize = 600;

/// git that starts none of the programs with which a repository converts content.
///
/// `git status` compares files whose times changed, and would run `filter.*.clean` for that. An empty setting turns a
/// filter off. git then compares the file as it is on disk, so an unchanged file may be listed as changed.
pub(super) struct SafeGit {
    pub(super) git: Git,
    /// The configuration says that untracked files are not listed.
    pub(super) hides_untracked: bool,
    /// `core.worktree`, relative to the git directory.
    pub(super) other_worktree: Option<PathBuf>,
}

impl SafeGit {
    pub(super) fn at(top: &Path, timeout: Duration) -> Result<Self, GitError> {
        let mut git = Git::only_at(top).timeout(timeout);
        let pattern = "^(filter\\..*\\.(clean|process|required)|status\\.showuntrackedfiles|core\\.worktree)$";
        let mut names = BTreeSet::new();
        let mut hides_untracked = false;
        let mut other_worktree = None;
        for (name, value) in git.read_settings(pattern)? {
            match name.as_slice() {
                b"status.showuntrackedfiles" => hides_untracked = value.as_deref() == Some(b"no"),
                b"core.worktree" => other_worktree = value.map(|path| PathBuf::from(OsString::from_vec(path))),
                _filter => drop(names.insert(name)),
            }
            if names.len() > FILTER_SETTINGS_MAX {
                return Err(rejected("too many filters"));
            }
        }
        for name in names {
            let value = if name.ends_with(b".required") { "false" } else { "" };
            git = git.setting(OsString::from_vec(name), value);
        }
        Ok(Self { git, hides_untracked, other_worktree })
    }
}

/// The error for a configuration with which git would not report on this folder, or would start programs.
pub(super) fn rejected(reason: &str) -> GitError {
    GitError::Io { command: "config".to_owned(), source: std::io::Error::other(reason) }
}
