//! Why a checkpoint or rollback failed, each with a message that says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::git::GitError;

/// What is missing where there can be no checkpoints at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGit {
    #[error("no checkpoints: git is not installed, or not on PATH")]
    Program,
    #[error("no checkpoints: the folder is not in a git repository; `git init` creates one")]
    Repository,
    #[error("no checkpoints: the repository is bare, it has no files to keep")]
    WorkTree,
    #[error("no checkpoints: the folder is inside git's own folder; start in the work tree")]
    InsideGitFolder,
}

/// Why a checkpoint or rollback failed. The work tree is unchanged unless the message says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{0}")]
    NoGit(NoGit),
    /// `core.worktree` names another folder than the one that has `.git`.
    #[error("core.worktree of the repository points to {0:?}; haltline makes no checkpoint of another folder")]
    WorkTreeElsewhere(PathBuf),
    /// The name cannot be part of a ref.
    #[error("checkpoint name {0:?}: expected 1 to {NAME_BYTES_MAX} bytes once encoded")]
    InvalidName(String),
    #[error("there is no checkpoint {0:?}")]
    Unknown(String),
    /// Another process works on the same work tree.
    #[error("another checkpoint or rollback of this work tree is running")]
    Busy,
    #[error("git's index is locked by {0:?}: wait for the other git, or remove the file if none runs")]
    IndexLocked(PathBuf),
    /// An earlier rollback was interrupted.
    #[error("a rollback was interrupted, so some files are old and some are new: finish it first")]
    RollbackUnfinished,
    /// There is no interrupted rollback.
    #[error("no rollback was interrupted")]
    NothingToFinish,
    /// Commits can only be undone on the branch they are on.
    #[error(
        "{} was checked out at the checkpoint and {} is now: check out the first, or roll back without the commits",
        branch(then),
        branch(now)
    )]
    OtherBranch {
        /// `None` if HEAD was detached.
        then: Option<String>,
        /// `None` if HEAD is detached.
        now: Option<String>,
    },
    /// Restoring the old index would corrupt the git operation that is in progress now.
    #[error("a {0} is in progress that began after the checkpoint: finish or abort it first")]
    OperationInProgress(String),
    /// A haltline ref points to something that is no readable checkpoint.
    #[error("checkpoint {name:?} cannot be read: {reason}")]
    Damaged {
        /// The ref, commit, tree or file that is damaged.
        name: String,
        reason: String,
    },
    /// git listed more than the limit.
    #[error("git listed more than {0} bytes; the tree is too large for a checkpoint")]
    TooLarge(usize),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Limit on an encoded name: file systems allow 255 bytes, and git adds `.lock`.
pub(super) const NAME_BYTES_MAX: usize = 200;

impl CheckpointError {
    /// Adds the path to an I/O error; for `map_err`.
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
