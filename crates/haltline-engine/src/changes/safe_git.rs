//! git in a repository whose dangerous settings are found and switched off first.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
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
        let mut git = Git::at(top).timeout(timeout);
        if let Some(parent) = top.parent() {
            // In a broken repository, git must not fall back to the one around it.
            git = git.variable("GIT_CEILING_DIRECTORIES", parent);
        }
        let pattern = "^(filter\\..*\\.(clean|process|required)|status\\.showuntrackedfiles|core\\.worktree)$";
        let settings = match git.run(&["config", "-z", "--get-regexp", pattern]) {
            Ok(output) => output.bytes,
            // git exits with 1 if there is no such setting.
            Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut names = BTreeSet::new();
        let mut hides_untracked = false;
        let mut other_worktree = None;
        for setting in settings.split(|&byte| byte == 0).filter(|setting| !setting.is_empty()) {
            // A setting's name contains no line break.
            let end = setting.iter().position(|&byte| byte == b'\n').unwrap_or(setting.len());
            let (name, value) = setting.split_at(end);
            if name == b"status.showuntrackedfiles" {
                hides_untracked = value == b"\nno";
                continue;
            }
            if name == b"core.worktree" {
                other_worktree = value.strip_prefix(b"\n").map(|path| PathBuf::from(OsStr::from_bytes(path)));
                continue;
            }
            names.insert(name.to_vec());
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
