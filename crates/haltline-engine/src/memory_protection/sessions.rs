//! Session states that are old, or too many, are packed away; the active one never is.
//!
//! A state goes only after its packed copy is on disk and only if it was not written meanwhile. A crash between the two
//! leaves both; the next run sees that the copy holds the same and removes the state.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use haltline_core::Instant;

use super::pack::{holds, open_plain, pack, sync_folder};
use super::{Cleanup, DAY_MS, Entry, MemoryLimits, modified};

/// Where packed states are kept.
pub(super) const ARCHIVES: &str = "session_archives";

/// The session a state is of, by its name: `session_ID_state.json`.
pub(super) fn session_of(name: &str) -> Option<&str> {
    name.strip_prefix("session_")?.strip_suffix("_state.json").filter(|session| !session.is_empty())
}

/// A session's state.
pub(super) struct State {
    pub(super) session: String,
    pub(super) path: PathBuf,
    pub(super) modified: Instant,
}

/// All states, the active one first, then the newest.
pub(super) fn states(entries: &[Entry], active: Option<&str>) -> Vec<State> {
    let mut states: Vec<State> = entries
        .iter()
        .filter_map(|entry| {
            let (session, path) = (session_of(&entry.name)?.to_owned(), entry.path.clone());
            Some(State { session, path, modified: entry.modified })
        })
        .collect();
    let is_active = |state: &State| active == Some(state.session.as_str());
    states.sort_by(|left, right| {
        let newest = (right.modified, &right.session).cmp(&(left.modified, &left.session));
        is_active(right).cmp(&is_active(left)).then(newest)
    });
    states
}

/// Packs away what is old or too many; says which states stay.
pub(super) fn clean(
    folder: &Path,
    states: Vec<State>,
    active: Option<&str>,
    limits: &MemoryLimits,
    now: Instant,
    done: &mut Cleanup,
) -> Vec<State> {
    let mut staying = Vec::new();
    for (place, state) in states.into_iter().enumerate() {
        let age_ms = now.as_millis().saturating_sub(state.modified.as_millis());
        let is_due = place >= limits.sessions_max as usize || age_ms > i64::from(limits.session_age_days_max) * DAY_MS;
        if !is_due || active == Some(state.session.as_str()) {
            staying.push(state);
            continue;
        }
        let archived = archive(folder, &state).map(|is_gone| done.sessions_pruned += usize::from(is_gone));
        done.note(&state.path, archived);
    }
    staying
}

/// Whether the state is packed away; one that was written meanwhile is in use, and stays.
fn archive(folder: &Path, state: &State) -> io::Result<bool> {
    let archives = plain_folder(folder.join(ARCHIVES))?;
    let day = plain_folder(archives.join(state.modified.to_date_text()))?;
    let mut source = open_plain(&state.path)?;
    let before = source.metadata()?;
    let mut number = 1;
    loop {
        let packed = day.join(packed_name(&state.session, number));
        source.rewind()?;
        if fs::symlink_metadata(&packed).is_err() {
            pack(&mut source, &packed)?;
            break;
        }
        if holds(&packed, &mut source) {
            break;
        }
        // The session was resumed after it was packed away.
        number += 1;
    }
    let after = File::metadata(&open_plain(&state.path)?)?;
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

/// A folder that is one: a link could lead out of the directory.
fn plain_folder(path: PathBuf) -> io::Result<PathBuf> {
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
    fn a_state_is_known_by_its_name() {
        assert_eq!(session_of("session_abc_1_state.json"), Some("abc_1"));
        for name in ["session__state.json", "session_abc.json", "abc_state.json", "session_a_state.json.tmp"] {
            assert_eq!(session_of(name), None, "{name}");
        }
        assert_eq!(
            (packed_name("a", 1).as_str(), packed_name("a", 2).as_str()),
            ("a_state.json.gz", "a_state.2.json.gz")
        );
    }
}
