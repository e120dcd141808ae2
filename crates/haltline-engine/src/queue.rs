//! Processes line up on a lock file: one at a time, woken in turn, never waiting without end.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A place at the head of the line; leaving it lets the next one in.
pub(crate) struct Turn {
    _lock: File,
}

/// Waits for one's turn, at most `patience`. `Ok(None)` where that was not enough.
pub(crate) fn line_up(path: &Path, patience: Duration) -> std::io::Result<Option<Turn>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => return Ok(Some(Turn { _lock: file })),
        Err(TryLockError::WouldBlock) if patience.is_zero() => return Ok(None),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // A lock has no timeout of its own. The thread that waits too long ends with the process, or gives the lock
    // back at once when it gets it after all.
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let locked = file.lock().map(|()| file);
        if sender.send(locked).is_err() {
            // Nobody waits any more; dropping the file frees the lock.
        }
    });
    match receiver.recv_timeout(patience) {
        Ok(locked) => locked.map(|file| Some(Turn { _lock: file })),
        Err(_timeout) => Ok(None),
    }
}
