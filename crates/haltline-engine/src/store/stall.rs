//! Tells a slow holder of the store's locks from a stuck one: under a slow one the store changes while others wait.
//!
//! What is remembered of a stuck holder only shortens a wait, and only while the store is as it was then. A false memory
//! therefore loses nothing: events wait in the spool, and what is OPEN is denied.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Deadline;
use crate::file::{Durability, Links, Stamp, read_regular, with_suffix, write_atomically};

/// A holder under which nothing was written for this long is stuck.
const STUCK_AFTER: Duration = Duration::from_millis(500);
/// How long others wait for a holder that is known to be stuck.
const STUCK_PATIENCE: Duration = Duration::from_millis(40);
const MARK_BYTES_MAX: u64 = 4096;

/// Why somebody waited for the store in vain.
#[derive(Clone, Debug)]
pub(super) struct Stall {
    pub is_stalled: bool,
    /// The process that holds the lock, if it is stuck and the system says which one it is.
    pub holder: Option<String>,
}

/// What changes when somebody writes to the store.
pub(super) type Progress = [Option<Stamp>; 2];

pub(super) fn progress(database: &Path) -> Progress {
    [database.to_owned(), with_suffix(database, "-wal")].map(|path| Stamp::read(&path))
}

/// True if nobody wrote between the two. SQLite gives the log to the owner of the database whenever root opens it, which
/// changes its change time and nothing else.
pub(super) fn is_unwritten(before: &Progress, after: &Progress) -> bool {
    before.iter().zip(after).all(|files| match files {
        (Some(before), Some(after)) => before.is_same_but_for_change_time(after),
        (before, after) => before == after,
    })
}

/// Watches the store while somebody waits for it.
pub(super) struct StallWatch {
    mark: PathBuf,
    before: Progress,
    is_known: bool,
}

impl StallWatch {
    /// Starts when somebody begins to wait for this database.
    pub(super) fn begin(database: &Path) -> Self {
        let mark = database.with_file_name("stuck.json");
        let before = progress(database);
        let known = read_regular(&mark, MARK_BYTES_MAX, Links::Reject).ok();
        let known: Option<Progress> = known.and_then(|text| serde_json::from_slice(&text).ok());
        Self { mark, before, is_known: known == Some(before) }
    }

    /// How much of the time that is left to wait.
    pub(super) fn wait_limit(&self, deadline: &Deadline) -> Duration {
        if self.is_known { deadline.remaining().min(STUCK_PATIENCE) } else { deadline.remaining() }
    }

    /// True if the holder is stuck, which the next process then knows. Call this when the time is over.
    pub(super) fn is_stalled(&self, database: &Path, waited: Duration) -> bool {
        if self.is_known {
            return true;
        }
        if waited < STUCK_AFTER || progress(database) != self.before {
            return false;
        }
        if let Ok(text) = serde_json::to_vec(&self.before) {
            // Without the mark the next process waits as long as this one.
            write_atomically(&self.mark, &text, Durability::Rebuildable).ok();
        }
        true
    }
}

/// The process that holds a lock of the whole file at this path, where the system tells.
#[cfg(target_os = "linux")]
pub(super) fn lock_holder(path: &Path) -> Option<i32> {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{}", fs::metadata(path).ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; those who wait have `->` after the number.
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[_number, "FLOCK", _advisory, _kind, process, file, ..] = words.as_slice() else { return None };
        if !file.ends_with(&inode) {
            return None;
        }
        process.parse().ok().filter(|process| *process > 0)
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn lock_holder(_path: &Path) -> Option<i32> {
    None
}

/// A process as people know it: `process 4711 (python3)`.
pub(super) fn describe_process(process: i32) -> String {
    match fs::read_to_string(format!("/proc/{process}/comm")) {
        Ok(name) => format!("process {process} ({})", name.trim_end().escape_debug()),
        Err(_unknown) => format!("process {process}"),
    }
}
