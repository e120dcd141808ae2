//! Locks git's index the way git does, and restores the index of a checkpoint.
//!
//! The new index is written first and then hard-linked as the lock. A lock that a killed rollback left behind can
//! therefore be recognised: it is the same file as ours.

use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::Checkpoint;
use super::error::CheckpointError;
use super::record::object_id;
use super::work_tree::{WorkTree, run_for_bytes};
use crate::file::if_exists;
use crate::git::Git;

/// The lock on git's index, together with the content the index will get.
pub(super) struct IndexLock {
    index: PathBuf,
    lock: PathBuf,
    new: PathBuf,
    has_index: bool,
    is_released: bool,
}

impl IndexLock {
    pub(super) fn acquire(work_tree: &WorkTree, git: &Git, goal: &Checkpoint) -> Result<Self, CheckpointError> {
        let index = work_tree.git_folder.join("index");
        let (lock, new) = (work_tree.git_folder.join("index.lock"), work_tree.haltline_folder.join("index.new"));
        let failed = || CheckpointError::file(&new);
        if is_same_file(&lock, &new) {
            fs::remove_file(&lock).map_err(CheckpointError::file(&lock))?;
        }
        remove(&new).map_err(failed())?;
        let content = match goal.note.index_time {
            Some(_) => run_for_bytes(git, &["cat-file", "blob", &object_id(git, &goal.commit, "index")?], &[])?,
            None => Vec::new(),
        };
        fs::write(&new, content).map_err(failed())?;
        let written = File::options().write(true).open(&new).and_then(|file| {
            let mode = fs::metadata(&index).map_or(0o644, |found| found.mode() & 0o777);
            file.set_permissions(Permissions::from_mode(mode))?;
            // git treats a file as new as its index as possibly changed, so the index must not get a newer time.
            let time = goal.note.index_time.and_then(|(seconds, rest)| time(seconds, rest));
            time.map_or(Ok(()), |time| file.set_times(FileTimes::new().set_modified(time)))?;
            file.sync_all()
        });
        written.map_err(failed())?;
        match fs::hard_link(&new, &lock) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove(&new).ok();
                return Err(CheckpointError::IndexLocked(lock));
            }
            Err(error) => return Err(failed()(error)),
        }
        Ok(Self { index, lock, new, has_index: goal.note.index_time.is_some(), is_released: false })
    }

    /// Replaces the index and releases the lock.
    pub(super) fn finish(mut self) -> Result<(), CheckpointError> {
        self.is_released = true;
        let done = if self.has_index {
            fs::rename(&self.lock, &self.index)
        } else {
            remove(&self.index).and_then(|()| fs::remove_file(&self.lock))
        };
        done.map_err(CheckpointError::file(&self.index))?;
        remove(&self.new).map_err(CheckpointError::file(&self.new))
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        if !self.is_released {
            // The index is unchanged, so the lock must not keep git from using it.
            remove(&self.lock).and_then(|()| remove(&self.new)).ok();
        }
    }
}

/// Removes a file that need not exist.
fn remove(path: &PathBuf) -> io::Result<()> {
    if_exists(fs::remove_file(path)).map(drop)
}

fn is_same_file(one: &PathBuf, other: &PathBuf) -> bool {
    let identity = |path: &PathBuf| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    identity(one).is_some_and(|found| identity(other) == Some(found))
}

fn time(seconds: i64, rest: i64) -> Option<SystemTime> {
    let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(rest).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}
