//! git's index, locked as git itself does it, and put back as it was.
//!
//! The new index is written first and then linked to be the lock, so that a lock left by a killed rollback can be
//! told from anybody else's: it is the same file as ours.

use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::Checkpoint;
use super::error::CheckpointError;
use super::place::{Place, whole};
use super::record::part;
use crate::git::Git;

/// The lock on git's index, with what the index will be.
pub(super) struct IndexLock {
    index: PathBuf,
    lock: PathBuf,
    new: PathBuf,
    has_index: bool,
    is_released: bool,
}

impl IndexLock {
    pub(super) fn take(place: &Place, git: &Git, goal: &Checkpoint) -> Result<Self, CheckpointError> {
        let index = place.git_folder.join("index");
        let (lock, new) = (place.git_folder.join("index.lock"), place.own.join("index.new"));
        let failed = || CheckpointError::file(&new);
        if is_same_file(&lock, &new) {
            fs::remove_file(&lock).map_err(CheckpointError::file(&lock))?;
        }
        remove(&new).map_err(failed())?;
        let content = match goal.note.index_time {
            Some(_) => whole(git, &["cat-file", "blob", &part(git, &goal.commit, "index")?], &[])?,
            None => Vec::new(),
        };
        fs::write(&new, content).map_err(failed())?;
        let written = File::options().write(true).open(&new).and_then(|file| {
            let mode = fs::metadata(&index).map_or(0o644, |found| found.mode() & 0o777);
            file.set_permissions(Permissions::from_mode(mode))?;
            // git takes a file as new as its index for one that may have changed since: the index must not get younger.
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

    /// Puts the index in its place and lets go of the lock.
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
            // The index is as it was; git must not be locked out.
            remove(&self.lock).and_then(|()| remove(&self.new)).ok();
        }
    }
}

fn remove(path: &PathBuf) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn is_same_file(one: &PathBuf, other: &PathBuf) -> bool {
    let name = |path: &PathBuf| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    name(one).is_some_and(|found| name(other) == Some(found))
}

fn time(seconds: i64, rest: i64) -> Option<SystemTime> {
    let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(rest).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}
