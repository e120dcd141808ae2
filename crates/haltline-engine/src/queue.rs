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
    wait_in_queue_for(path, || timeout)
}

/// As [`wait_in_queue`]; `timeout` is called only if another process has the lock.
pub(crate) fn wait_in_queue_for(
    path: &Path,
    timeout: impl FnOnce() -> Duration,
) -> std::io::Result<Option<QueueGuard>> {
    let file = match open_lock_file(path) {
        // Somebody has a lease on the file: as good as the lock.
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
        opened => opened?,
    };
    match file.try_lock() {
        Ok(()) => return Ok(Some(QueueGuard { _lock: file })),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let timeout = timeout();
    if timeout.is_zero() {
        return Ok(None);
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
