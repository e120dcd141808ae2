//! Events that found the store busy wait here, one file each, until the next writer of their project takes them in (E2).
//!
//! Only what clients report comes here, never what a person decides. A file is taken in by whoever moves it first. One that
//! was taken in twice, because its taker died between its commit and the removal of the file, is recognised by the names of
//! its calls; an event without a name, or a call of a client that names none, then counts twice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haltline_core::Moment;

use crate::file::{Lasting, write_whole};
use crate::project::ProjectKey;
use crate::queue::line_up;

/// Beyond this many the oldest are dropped: a store that is busy for so long will not be helped by more.
const FILES_MAX: usize = 1000;

/// How many events this process put here: two may come in the same millisecond.
static PUT: AtomicU32 = AtomicU32::new(0);

/// Each project's events wait apart: circuits never meet by accident (E14).
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
    let (process, number) = (std::process::id(), PUT.fetch_add(1, Ordering::Relaxed));
    let name = format!("{:015}-{uptime:012}-{process}-{number:010}.json", now.at.as_millis());
    write_whole(&folder.join(name), content, Lasting::Remade)
}

/// Whether anything waits: one look at a folder that mostly is not there.
pub fn is_waiting(state_folder: &Path, project: ProjectKey) -> bool {
    folder(state_folder, project).exists()
}

/// Takes everything in that waits, oldest first. What `take` does not take stays for the next one.
pub fn take(state_folder: &Path, project: ProjectKey, mut take: impl FnMut(&[u8]) -> bool) {
    let folder = folder(state_folder, project);
    // One taker at a time: what another one holds is not taken for what a dead one left.
    let Ok(Some(_turn)) = line_up(&state_folder.join("spool.lock"), Duration::ZERO) else { return };
    let Ok(files) = fs::read_dir(&folder) else { return };
    let mut waiting: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    waiting.retain(|path| path.extension().is_some_and(|ending| ending == "json" || ending == "taken"));
    waiting.sort();
    for path in waiting {
        let mine = path.with_extension("taken");
        if path != mine && fs::rename(&path, &mine).is_err() {
            continue;
        }
        let Ok(content) = fs::read(&mine) else { continue };
        if take(&content) {
            fs::remove_file(&mine).ok();
        } else {
            fs::rename(&mine, path.with_extension("json")).ok();
            return;
        }
    }
    // Only an empty folder can be removed; the next look is then a cheap one.
    fs::remove_dir(&folder).and_then(|()| fs::remove_dir(state_folder.join("spool"))).ok();
}

#[cfg(test)]
mod tests {
    use haltline_core::Instant;

    use super::*;

    #[test]
    fn what_waits_is_taken_in_once_and_in_order_and_the_folder_goes() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (here, elsewhere) = (ProjectKey(1), ProjectKey(2));
        assert!(!is_waiting(folder.path(), here));
        for (at, text) in [(2, "second"), (2, "third"), (1, "first")] {
            put(folder.path(), here, Moment::recorded(Instant::from_millis(at)), text.as_bytes()).expect("kept");
        }
        let mut seen = Vec::new();
        take(folder.path(), elsewhere, |_| panic!("another project's events"));
        take(folder.path(), here, |content| {
            seen.push(String::from_utf8_lossy(content).into_owned());
            seen.len() != 2
        });
        assert_eq!(seen, ["first", "second"]);
        assert!(!is_waiting(folder.path(), elsewhere));
        assert!(is_waiting(folder.path(), here), "what was not taken stays");
        take(folder.path(), here, |content| {
            seen.push(String::from_utf8_lossy(content).into_owned());
            true
        });
        assert_eq!(seen[2..], ["second", "third"]);
        assert!(!folder.path().join("spool").exists());
    }
}
