//! git in a repository whose configuration is read before it can do harm.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::{Git, GitError};

/// How many settings of programs that convert content there may be before the repository is refused.
const FILTER_SETTINGS_MAX: usize = 600;

/// git that starts none of the programs with which a repository converts content.
///
/// `git status` compares files whose times changed, and would run `filter.*.clean` for that. An empty setting turns a
/// filter off. What is compared then is the file as it is; such a file may be listed although it is unchanged.
pub(super) struct Quiet {
    pub(super) git: Git,
    /// The configuration says that files git does not know are not to be looked for.
    pub(super) hides_untracked: bool,
    /// The configuration says where the work tree is, from the git directory.
    pub(super) other_worktree: Option<PathBuf>,
}

impl Quiet {
    pub(super) fn at(top: &Path, deadline: Duration) -> Result<Self, GitError> {
        let mut git = Git::at(top).deadline(deadline);
        if let Some(parent) = top.parent() {
            // A broken repository must not lead to the one around it.
            git = git.variable("GIT_CEILING_DIRECTORIES", parent);
        }
        let asked = "^(filter\\..*\\.(clean|process|required)|status\\.showuntrackedfiles|core\\.worktree)$";
        let settings = match git.run(&["config", "-z", "--get-regexp", asked]) {
            Ok(answer) => answer.bytes,
            // It says by its code that there is none.
            Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut names = BTreeSet::new();
        let mut hides_untracked = false;
        let mut other_worktree = None;
        for setting in settings.split(|&byte| byte == 0).filter(|setting| !setting.is_empty()) {
            // No name holds a line break.
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
                return Err(refused("too many filters"));
            }
        }
        for name in names {
            let value = if name.ends_with(b".required") { "false" } else { "" };
            git = git.setting(OsString::from_vec(name), value);
        }
        Ok(Self { git, hides_untracked, other_worktree })
    }
}

/// A configuration with which a look would not be one at this folder.
pub(super) fn refused(reason: &str) -> GitError {
    GitError::Lost { command: "config".to_owned(), source: std::io::Error::other(reason) }
}
