//! Events that found the store busy wait here, one file each, until the next writer of their project commits them (E2).
//!
//! The spool has limits in files and bytes. What does not fit is lost, but counted, and the person reads how many events it
//! was. An event takes in only as many as it has time for; then it waits behind the rest.
//!
//! Only events that clients report are spooled, never operator actions. The process that renames a file first handles
//! it. If that process dies between its commit and the removal of the file, the event is handled twice. Its call ids
//! reveal that; an event without an id, or a call of a client that sends no call ids, then counts twice.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haltline_core::Moment;

use crate::clock::Deadline;
use crate::file::{Durability, Links, append_regular, read_regular, write_atomically};
use crate::project::ProjectKey;
use crate::queue::wait_in_queue;

/// At most this many events of a project wait.
const FILES_MAX: u64 = 5000;
/// At most this many bytes of a project wait: a quarter of what the whole state folder may use.
const BYTES_MAX: u64 = 16 << 20;
/// At most this many bytes of all projects wait.
const BYTES_OF_ALL_MAX: u64 = 2 * BYTES_MAX;
/// The file whose length is the number of lost events.
const LOST: &str = "lost";

/// Number of events this process spooled, because two may come in the same millisecond.
static EVENTS_PUT: AtomicU32 = AtomicU32::new(0);

/// Each project has its own folder, so that circuits of projects never mix (E14).
fn folder(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("spool").join(format!("{:016x}", project.0))
}

/// Number and size of the files in a folder, or of those up to a name: names sort by time.
fn usage(folder: &Path, until: Option<&str>) -> (u64, u64) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files =
        files.filter(|file| until.is_none_or(|until| file.file_name().to_str().is_some_and(|name| name <= until)));
    files.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.metadata().map_or(0, |file| file.len())))
}

/// The size of all events that wait in a state folder.
pub fn bytes_waiting(state_folder: &Path) -> u64 {
    let projects = fs::read_dir(state_folder.join("spool")).into_iter().flatten().flatten();
    projects.map(|project| usage(&project.path(), None).1).sum()
}

/// Keeps an event for later. One that does not fit is counted as lost.
pub fn put(state_folder: &Path, project: ProjectKey, now: Moment, content: &[u8]) -> io::Result<()> {
    let folder = folder(state_folder, project);
    fs::create_dir_all(&folder)?;
    let lose = || {
        append_regular(&folder.join(LOST)).and_then(|mut lost| lost.write_all(b"."))?;
        Err(io::Error::new(io::ErrorKind::StorageFull, "too many events wait for the store"))
    };
    let length = content.len() as u64;
    let (files, bytes) = usage(&folder, None);
    let fits = files < FILES_MAX && bytes.saturating_add(length) <= BYTES_MAX;
    if !fits || bytes_waiting(state_folder).saturating_add(length) > BYTES_OF_ALL_MAX {
        return lose();
    }
    let uptime = now.boot.map_or(0, |boot| boot.uptime_ms);
    let (process, number) = (std::process::id(), EVENTS_PUT.fetch_add(1, Ordering::Relaxed));
    let name = format!("{:015}-{uptime:012}-{process}-{number:010}.json", now.at.as_millis());
    let path = folder.join(&name);
    write_atomically(&path, content, Durability::Rebuildable)?;
    // Others may have found the same room at the same time: of these, the events that came last give way.
    if usage(&folder, Some(&name)).1 > BYTES_MAX && fs::remove_file(&path).is_ok() {
        return lose();
    }
    Ok(())
}

/// True if events wait. This is cheap, because the folder usually does not exist.
pub fn has_events(state_folder: &Path, project: ProjectKey) -> bool {
    folder(state_folder, project).exists()
}

/// What became of the waiting events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Some still wait, because the time was over.
    pub is_partial: bool,
    /// Number of events that were lost because the spool was full, until [`forget_lost`] is called.
    pub lost: u64,
}

/// Passes waiting events to `accept`, oldest first, until the deadline. Stops at the first that it does not accept; that
/// one stays.
pub fn drain(
    state_folder: &Path,
    project: ProjectKey,
    deadline: &Deadline,
    mut accept: impl FnMut(&[u8]) -> bool,
) -> Drained {
    let folder = folder(state_folder, project);
    let mut drained = Drained::default();
    // One process at a time: otherwise a file that another process is handling looks like one that a dead process left.
    let Ok(Some(_guard)) = wait_in_queue(&state_folder.join("spool.lock"), Duration::ZERO) else { return drained };
    let Ok(files) = fs::read_dir(&folder) else { return drained };
    let mut waiting: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    waiting.retain(|path| path.extension().is_some_and(|ending| ending == "json" || ending == "taken"));
    waiting.sort();
    for path in waiting {
        let mine = path.with_extension("taken");
        if path != mine && fs::rename(&path, &mine).is_err() {
            continue;
        }
        let Ok(content) = read_regular(&mine, BYTES_MAX, Links::Reject) else {
            // Somebody planted a pipe or a link here. What cannot be removed delays nobody.
            fs::remove_file(&mine).ok();
            continue;
        };
        if !accept(&content) {
            fs::rename(&mine, path.with_extension("json")).ok();
            return drained;
        }
        fs::remove_file(&mine).ok();
        if deadline.remaining().is_zero() {
            drained.is_partial = usage(&folder, None).0 > u64::from(folder.join(LOST).exists());
            break;
        }
    }
    if !drained.is_partial {
        drained.lost = fs::symlink_metadata(folder.join(LOST)).map_or(0, |lost| lost.len());
        remove_if_empty(state_folder, &folder);
    }
    drained
}

/// Forgets so many lost events, because the person will read of them. Call this once that is certain: a process that is
/// killed before makes the next one say it again.
pub fn forget_lost(state_folder: &Path, project: ProjectKey, reported: u64) {
    let folder = folder(state_folder, project);
    let (lost, mine) = (folder.join(LOST), folder.join("lost.counted"));
    let Ok(Some(_guard)) = wait_in_queue(&state_folder.join("spool.lock"), Duration::ZERO) else { return };
    // A process that counts another one meanwhile begins a new file.
    if fs::rename(&lost, &mine).is_ok() {
        let since = fs::symlink_metadata(&mine).map_or(0, |lost| lost.len()).saturating_sub(reported);
        if since > 0 {
            let dots = vec![b'.'; usize::try_from(since).unwrap_or_default()];
            append_regular(&lost).and_then(|mut lost| lost.write_all(&dots)).ok();
        }
        fs::remove_file(&mine).ok();
    }
    remove_if_empty(state_folder, &folder);
}

/// Only an empty folder can be removed; the next check is then cheap.
fn remove_if_empty(state_folder: &Path, folder: &Path) {
    fs::remove_dir(folder).and_then(|()| fs::remove_dir(state_folder.join("spool"))).ok();
}
