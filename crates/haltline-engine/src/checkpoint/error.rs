//! Why there is no checkpoint or no rollback, each in a sentence that says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::git::GitError;

/// What is missing where there can be no checkpoints at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoGit {
    /// The program.
    Program,
    /// A repository around the folder.
    Repository,
    /// A work tree: the repository is bare.
    WorkTree,
    /// A work tree: the folder is inside git's own one.
    Inside,
}

impl std::fmt::Display for NoGit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Program => "no checkpoints: git is not installed, or not on PATH",
            Self::Repository => "no checkpoints: the folder is in no git repository; `git init` makes one",
            Self::WorkTree => "no checkpoints: the repository is bare, it has no files to keep",
            Self::Inside => "no checkpoints: the folder is inside git's own folder; start in the work tree",
        })
    }
}

/// What went wrong. The work tree is as it was unless the text says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There is no git here.
    #[error("{0}")]
    NoGit(NoGit),
    /// `core.worktree` names another folder than the one that has `.git`.
    #[error("the repository's core.worktree says its files are in {0:?}; no checkpoint is taken of another folder")]
    Elsewhere(PathBuf),
    /// A name that no ref can have.
    #[error("checkpoint name {0:?}: expected 1 to {NAME_BYTES_MAX} bytes once encoded")]
    Name(String),
    /// There is no such checkpoint.
    #[error("there is no checkpoint {0:?}")]
    Unknown(String),
    /// Another process works on the same work tree.
    #[error("another checkpoint or rollback of this work tree is under way")]
    Busy,
    /// git's own lock is held.
    #[error("git's index is locked by {0:?}: wait for the other git, or remove the file if none runs")]
    IndexLocked(PathBuf),
    /// A rollback was cut off.
    #[error("a rollback was cut off and its files are half old, half new: finish it first")]
    Unfinished,
    /// There is nothing to finish.
    #[error("no rollback was cut off")]
    Finished,
    /// Commits can only be taken back on the branch they are on.
    #[error(
        "{} was checked out at the checkpoint and {} is now: check out the first, or roll back without the commits",
        branch(then),
        branch(now)
    )]
    OtherBranch {
        /// The branch then; `None`: none.
        then: Option<String>,
        /// The branch now.
        now: Option<String>,
    },
    /// An index of before would turn what is under way into something else.
    #[error("a {0} is under way that was not at the checkpoint: finish or abort it first")]
    Underway(String),
    /// A ref under ours holds something else.
    #[error("checkpoint {name:?} cannot be read: {reason}")]
    Damaged {
        /// The ref.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The tree has more than fits into the limits.
    #[error("git listed more than {0} bytes; the tree is too large for a checkpoint")]
    TooMuch(usize),
    /// git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// How long an encoded name may be: file systems take 255 bytes, and git adds `.lock`.
pub(super) const NAME_BYTES_MAX: usize = 200;

impl CheckpointError {
    /// For `map_err`.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    pub(super) fn damaged(name: &str, reason: impl Into<String>) -> Self {
        Self::Damaged { name: name.to_owned(), reason: reason.into() }
    }
}

fn branch(name: &Option<String>) -> &str {
    name.as_deref().map_or("no branch", |name| name.strip_prefix("refs/heads/").unwrap_or(name))
}
