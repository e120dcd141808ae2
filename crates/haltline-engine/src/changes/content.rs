//! What is at a path of the work tree, by its content and not by its times.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::budget::Budget;
use crate::file::open_regular;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    Absent,
    File {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_executable: bool,
        bytes: u64,
        /// When it was last written, in nanoseconds; compared where there is no digest.
        modified_ns: i64,
        /// `None` if the file is too large or unreadable, or the snapshot had read enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A symbolic link, as a digest of its target.
    Link(String),
    /// A folder: a submodule, a repository, or what replaced a file.
    Folder,
    /// A pipe, a socket or a device, which is never opened.
    Other,
}

impl Content {
    /// What is at `path` now. Never waits and never follows a link.
    pub(super) fn at(path: &Path, budget: &mut Budget) -> Self {
        Self::read_at(path, |bytes| budget.may_read(bytes))
    }

    /// Like [`Self::at`], but opens no file.
    pub(super) fn unread_at(path: &Path) -> Self {
        Self::read_at(path, |_bytes| false)
    }

    fn read_at(path: &Path, may_read: impl FnOnce(u64) -> bool) -> Self {
        let Ok(found) = fs::symlink_metadata(path) else { return Self::Absent };
        let kind = found.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(path);
            return target.map_or(Self::Absent, |target| Self::Link(hex(xxh3_128(target.as_os_str().as_bytes()))));
        }
        if kind.is_dir() {
            return Self::Folder;
        }
        if !kind.is_file() {
            return Self::Other;
        }
        let digest = if may_read(found.len()) {
            match digest(path, found.len()) {
                Ok(digest) => digest,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::Absent,
                Err(_unreadable) => None,
            }
        } else {
            None
        };
        Self::file(&found, digest)
    }

    fn file(found: &Metadata, digest: Option<String>) -> Self {
        let modified_ns = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Self::File { is_executable: found.mode() & 0o100 != 0, bytes: found.len(), modified_ns, digest }
    }

    /// True if both are the same. If one of two files was not read, size and time decide.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { is_executable, bytes, digest: Some(digest), .. },
                Self::File { is_executable: other_executable, bytes: other_bytes, digest: Some(other_digest), .. },
            ) => (is_executable, bytes, digest) == (other_executable, other_bytes, other_digest),
            (
                Self::File { is_executable, bytes, modified_ns, .. },
                Self::File { is_executable: other_executable, bytes: other_bytes, modified_ns: other_modified, .. },
            ) => (is_executable, bytes, modified_ns) == (other_executable, other_bytes, other_modified),
            _ => self == other,
        }
    }

    /// Adds the content to a fingerprint; the time only if there is no digest.
    pub(super) fn write_to(&self, sum: &mut Vec<u8>) {
        match self {
            Self::Absent => sum.push(b'-'),
            Self::File { is_executable, bytes, modified_ns, digest } => {
                sum.push(if *is_executable { b'x' } else { b'f' });
                sum.extend(bytes.to_be_bytes());
                match digest {
                    Some(digest) => sum.extend(digest.as_bytes()),
                    None => sum.extend(modified_ns.to_be_bytes()),
                }
            }
            Self::Link(digest) => {
                sum.push(b'l');
                sum.extend(digest.as_bytes());
            }
            Self::Folder => sum.push(b'd'),
            Self::Other => sum.push(b'?'),
        }
    }
}

/// The digest of a file, or `None` if it has grown since it was measured.
fn digest(path: &Path, bytes: u64) -> io::Result<Option<String>> {
    let mut file = open_regular(path)?.take(bytes.saturating_add(1));
    let mut hasher = Xxh3::new();
    let mut buffer = [0; 32 * 1024];
    let mut read = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                hasher.update(&buffer[..length]);
                read += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((read == bytes).then(|| hex(hasher.digest128())))
}

pub(super) fn hex(digest: u128) -> String {
    format!("{digest:032x}")
}
