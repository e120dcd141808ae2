//! Archives session states that are old or too many, but never the active one.
//!
//! A state is removed only after its packed copy is on disk, and only if it was not written meanwhile. A crash between
//! the two leaves both; the next cleanup sees that the copy has the same content and removes the state.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use haltline_core::Instant;

use super::pack::{has_same_content, pack};
use super::{Cleanup, DAY_MS, Entry, MemoryLimits, modified};
use crate::file::{open_regular, sync_folder};

/// The folder of archived states.
pub(super) const ARCHIVES: &str = "session_archives";

/// The session of a state file, from its name: `session_ID_state.json`.
pub(super) fn session_from_name(name: &str) -> Option<&str> {
    name.strip_prefix("session_")?.strip_suffix("_state.json").filter(|session| !session.is_empty())
}

pub(super) struct SessionState {
    pub(super) session: String,
    pub(super) path: PathBuf,
    pub(super) modified: Instant,
}

/// All states, the active one first, then the newest.
pub(super) fn states(entries: &[Entry], active: Option<&str>) -> Vec<SessionState> {
    let mut states: Vec<SessionState> = entries
        .iter()
        .filter_map(|entry| {
            let (session, path) = (session_from_name(&entry.name)?.to_owned(), entry.path.clone());
            Some(SessionState { session, path, modified: entry.modified })
        })
        .collect();
    let is_active = |state: &SessionState| active == Some(state.session.as_str());
    states.sort_by(|left, right| {
        let newest = (right.modified, &right.session).cmp(&(left.modified, &left.session));
        is_active(right).cmp(&is_active(left)).then(newest)
    });
    states
}

/// Archives the states that are old or too many, and returns those that stay.
pub(super) fn clean(
    folder: &Path,
    states: Vec<SessionState>,
    active: Option<&str>,
    limits: &MemoryLimits,
    now: Instant,
    done: &mut Cleanup,
) -> Vec<SessionState> {
    let mut staying = Vec::new();
    for (index, state) in states.into_iter().enumerate() {
        let age_ms = now.as_millis().saturating_sub(state.modified.as_millis());
        let is_due = index >= limits.sessions_max as usize || age_ms > i64::from(limits.session_age_days_max) * DAY_MS;
        if !is_due || active == Some(state.session.as_str()) {
            staying.push(state);
            continue;
        }
        let archived = archive(folder, &state).map(|is_gone| done.sessions_pruned += usize::from(is_gone));
        done.note_result(&state.path, archived);
    }
    staying
}

/// Archives a state. Returns false if the state was written meanwhile: it is in use, and stays.
fn archive(folder: &Path, state: &SessionState) -> io::Result<bool> {
    let archives = ensure_folder(folder.join(ARCHIVES))?;
    let day = ensure_folder(archives.join(state.modified.to_date_text()))?;
    let mut source = open_regular(&state.path)?;
    let before = source.metadata()?;
    let mut number = 1;
    loop {
        let packed = day.join(packed_name(&state.session, number));
        source.rewind()?;
        if fs::symlink_metadata(&packed).is_err() {
            pack(&mut source, &packed)?;
            break;
        }
        if has_same_content(&packed, &mut source) {
            break;
        }
        // The session was resumed after it was archived.
        number += 1;
    }
    let after = File::metadata(&open_regular(&state.path)?)?;
    let is_same = (before.len(), modified(&before)) == (after.len(), modified(&after));
    if is_same {
        fs::remove_file(&state.path)?;
    }
    Ok(is_same)
}

fn packed_name(session: &str, number: u32) -> String {
    match number {
        1 => format!("{session}_state.json.gz"),
        more => format!("{session}_state.{more}.json.gz"),
    }
}

/// Creates the folder if it is missing, and rejects a link, which could lead out of the directory.
fn ensure_folder(path: PathBuf) -> io::Result<PathBuf> {
    match fs::symlink_metadata(&path) {
        Ok(kind) if kind.is_dir() => Ok(path),
        Ok(_other) => Err(io::Error::other(format!("{} is not a folder", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(&path)?;
            sync_folder(&path)?;
            Ok(path)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_recognised_by_its_name() {
        assert_eq!(session_from_name("session_abc_1_state.json"), Some("abc_1"));
        for name in ["session__state.json", "session_abc.json", "abc_state.json", "session_a_state.json.tmp"] {
            assert_eq!(session_from_name(name), None, "{name}");
        }
        assert_eq!(
            (packed_name("a", 1).as_str(), packed_name("a", 2).as_str()),
            ("a_state.json.gz", "a_state.2.json.gz")
        );
    }
}
