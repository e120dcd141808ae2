//! What a rollback left alone, and why.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How many entries are listed one by one.
pub const LEFT_ALONE_MAX: usize = 1_000;

/// Something that a rollback left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAlone {
    /// Relative to the top of the work tree; empty for the work tree itself.
    pub path: PathBuf,
    pub reason: LeftAloneReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftAloneReason {
    /// A nested repository that did not exist at the checkpoint.
    NewRepository,
    /// A nested repository or submodule that has another commit checked out than at the checkpoint.
    RepositoryMoved,
    /// A nested repository that no longer exists or is no longer a repository.
    RepositoryGone,
    /// A pipe, a socket or a device.
    Special,
    /// A file that could not be kept because haltline may not read it.
    Unreadable,
    /// A path that git reserves for itself.
    GitName,
    /// A file that was not in the checkpoint and that the checkpoint's ignore rules match.
    Ignored,
    /// A file that was created after an interrupted rollback had begun.
    NewSinceRollbackBegan,
    /// A file that another process wrote while the rollback ran.
    ChangedMeanwhile,
    /// A folder is where a file was, and it contains something that the rollback may not remove.
    FolderInTheWay,
    /// A merge or rebase that was in progress at the checkpoint has ended.
    OperationEnded,
    /// The system returned an error.
    Failed(String),
}

impl fmt::Display for LeftAloneReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewRepository => "a nested repository that was added after the checkpoint",
            Self::RepositoryMoved => "a nested repository that has another commit checked out",
            Self::RepositoryGone => "was a nested repository, which checkpoints do not contain",
            Self::Special => "a pipe, a socket or a device",
            Self::Unreadable => "cannot be read, so haltline could not keep it",
            Self::GitName => "has a part with the name of git's own folder",
            Self::Ignored => "the checkpoint's ignore rules cover it, so it may be older than the checkpoint",
            Self::NewSinceRollbackBegan => "appeared after the rollback began",
            Self::ChangedMeanwhile => "was written while the rollback ran",
            Self::FolderInTheWay => "is now a folder with files that haltline must not remove",
            Self::OperationEnded => "a merge or rebase was in progress at the checkpoint and has ended",
            Self::Failed(error) => return write!(f, "failed: {error}"),
        })
    }
}

/// Collects what was left alone, up to [`LEFT_ALONE_MAX`] entries.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    list: Vec<LeftAlone>,
    more: u64,
}

impl Remarks {
    pub(super) fn add(&mut self, path: &[u8], reason: LeftAloneReason) {
        if self.list.len() < LEFT_ALONE_MAX {
            self.list.push(LeftAlone { path: PathBuf::from(OsStr::from_bytes(path)), reason });
        } else {
            self.more += 1;
        }
    }

    /// The list sorted by path, and how many more entries there were.
    pub(super) fn into_sorted(mut self) -> (Vec<LeftAlone>, u64) {
        self.list.sort_by(|one, other| one.path.cmp(&other.path));
        (self.list, self.more)
    }
}
