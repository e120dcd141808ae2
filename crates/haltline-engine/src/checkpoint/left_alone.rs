//! What a rollback did not touch, and why.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How many things are listed one by one.
pub const LEFT_ALONE_MAX: usize = 1_000;

/// Something a rollback left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAlone {
    /// From the top of the work tree; empty: the work tree itself.
    pub path: PathBuf,
    /// Why.
    pub reason: Reason,
}

/// Why something was left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A repository of its own that came after the checkpoint.
    NewRepository,
    /// A repository of its own, or a submodule, that has another commit checked out than then.
    RepositoryMoved,
    /// A repository of its own that is no longer there, or no longer one.
    RepositoryGone,
    /// A pipe, a socket or a device.
    Special,
    /// A file that may not be read, so it could not be kept.
    Unreadable,
    /// A path that git takes for its own.
    GitsName,
    /// A file that was not in the checkpoint and that its rules ignore.
    Ignored,
    /// A file that came after a rollback that was cut off had begun.
    CameLater,
    /// A file that somebody wrote while the rollback ran.
    JustChanged,
    /// A folder that holds more than the rollback may remove stands where a file was.
    InTheWay,
    /// A merge or rebase that was under way then is over.
    OperationOver,
    /// The system refused.
    Failed(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewRepository => "a repository of its own that came after the checkpoint",
            Self::RepositoryMoved => "a repository of its own; another commit is checked out in it than then",
            Self::RepositoryGone => "was a repository of its own then, which no checkpoint keeps",
            Self::Special => "a pipe, a socket or a device",
            Self::Unreadable => "may not be read, so it could not be kept",
            Self::GitsName => "has a part called like git's own folder",
            Self::Ignored => "is ignored by the rules of the checkpoint, so it may have been there",
            Self::CameLater => "came after the rollback had begun",
            Self::JustChanged => "was written while the rollback ran",
            Self::InTheWay => "a folder stands there with more in it than may be removed",
            Self::OperationOver => "a merge or rebase was under way then and is over",
            Self::Failed(error) => return write!(f, "failed: {error}"),
        })
    }
}

/// Collects them, with a limit.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    list: Vec<LeftAlone>,
    more: u64,
}

impl Remarks {
    pub(super) fn add(&mut self, path: &[u8], reason: Reason) {
        if self.list.len() < LEFT_ALONE_MAX {
            self.list.push(LeftAlone { path: PathBuf::from(OsStr::from_bytes(path)), reason });
        } else {
            self.more += 1;
        }
    }

    /// The list by path, and how many more there were.
    pub(super) fn end(mut self) -> (Vec<LeftAlone>, u64) {
        self.list.sort_by(|one, other| one.path.cmp(&other.path));
        (self.list, self.more)
    }
}
