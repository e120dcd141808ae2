//! Events that found the store busy wait here, one file each, until the next writer of their project commits them (E2).
//!
//! Only events that clients report are spooled, never operator actions. The process that renames a file first handles
//! it. If that process dies between its commit and the removal of the file, the event is handled twice. Its call ids
//! reveal that; an event without an id, or a call of a client that sends no call ids, then counts twice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haltline_core::Moment;

use crate::file::{Durability, Links, read_regular, write_atomically};
use crate::project::ProjectKey;
use crate::queue::wait_in_queue;

/// Beyond this many files the oldest are dropped: more events do not help a store that is busy for so long.
const FILES_MAX: usize = 1000;
/// Largest event that is read back.
const EVENT_BYTES_MAX: u64 = 64 << 20;

/// Number of events this process spooled, because two may come in the same millisecond.
static EVENTS_PUT: AtomicU32 = AtomicU32::new(0);

/// Each project has its own folder, so that circuits of projects never mix (E14).
fn folder(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("spool").join(format!("{:016x}", project.0))
}

/// Keeps an event for later.
pub fn put(state_folder: &Path, project: ProjectKey, now: Moment, content: &[u8]) -> io::Result<()> {
    let folder = folder(state_folder, project);
    fs::create_dir_all(&folder)?;
    if fs::read_dir(&folder)?.count() >= FILES_MAX {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "too many events wait for the store"));
    }
    let uptime = now.boot.map_or(0, |boot| boot.uptime_ms);
    let (process, number) = (std::process::id(), EVENTS_PUT.fetch_add(1, Ordering::Relaxed));
    let name = format!("{:015}-{uptime:012}-{process}-{number:010}.json", now.at.as_millis());
    write_atomically(&folder.join(name), content, Durability::Rebuildable)
}

/// True if events wait. This is cheap, because the folder usually does not exist.
pub fn has_events(state_folder: &Path, project: ProjectKey) -> bool {
    folder(state_folder, project).exists()
}

/// Passes every waiting event to `accept`, oldest first. Stops at the first that it does not accept; that one stays.
pub fn drain(state_folder: &Path, project: ProjectKey, mut accept: impl FnMut(&[u8]) -> bool) {
    let folder = folder(state_folder, project);
    // One process at a time: otherwise a file that another process is handling looks like one that a dead process left.
    let Ok(Some(_guard)) = wait_in_queue(&state_folder.join("spool.lock"), Duration::ZERO) else { return };
    let Ok(files) = fs::read_dir(&folder) else { return };
    let mut waiting: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    waiting.retain(|path| path.extension().is_some_and(|ending| ending == "json" || ending == "taken"));
    waiting.sort();
    for path in waiting {
        let mine = path.with_extension("taken");
        if path != mine && fs::rename(&path, &mine).is_err() {
            continue;
        }
        let Ok(content) = read_regular(&mine, EVENT_BYTES_MAX, Links::Reject) else { continue };
        if accept(&content) {
            fs::remove_file(&mine).ok();
        } else {
            fs::rename(&mine, path.with_extension("json")).ok();
            return;
        }
    }
    // Only an empty folder can be removed; the next check is then cheap.
    fs::remove_dir(&folder).and_then(|()| fs::remove_dir(state_folder.join("spool"))).ok();
}
