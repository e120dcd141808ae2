//! A queue of processes on a lock file: one at a time, and nobody waits forever.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::file::open_lock_file;

/// Holds the lock; dropping it lets the next process in.
pub(crate) struct QueueGuard {
    _lock: File,
}

/// Waits for the lock, at most `timeout`. `Ok(None)` if it did not get the lock in that time.
pub(crate) fn wait_in_queue(path: &Path, timeout: Duration) -> std::io::Result<Option<QueueGuard>> {
    let file = open_lock_file(path)?;
    match file.try_lock() {
        Ok(()) => return Ok(Some(QueueGuard { _lock: file })),
        Err(TryLockError::WouldBlock) if timeout.is_zero() => return Ok(None),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // A file lock has no timeout. If the waiting thread gets the lock too late, it releases it at once; otherwise it
    // ends with the process.
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let locked = file.lock().map(|()| file);
        if sender.send(locked).is_err() {
            // The caller gave up; dropping the file frees the lock.
        }
    });
    match receiver.recv_timeout(timeout) {
        Ok(locked) => locked.map(|file| Some(QueueGuard { _lock: file })),
        Err(_timeout) => Ok(None),
    }
}
