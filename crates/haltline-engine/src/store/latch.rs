//! A copy of every circuit that is not CLOSED, one small file each, beside the store.
//!
//! The store is the truth; a latch is only read when the store is gone or damaged, so that an OPEN circuit
//! survives that as well. A stale latch can hold a circuit open too long, never closed.

use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::{CircuitName, State, digest_hex};
use serde::{Deserialize, Serialize};

use crate::file::{Lasting, write_whole};
use crate::project::{Project, ProjectKey};

/// What a latch file holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Latch {
    pub project: i64,
    pub identity: PathBuf,
    pub name: CircuitName,
    pub state: State,
}

fn path(folder: &Path, project: ProjectKey, name: &CircuitName) -> PathBuf {
    folder.join(format!("{:016x}-{}.json", project.0, digest_hex(&[name.as_str().as_bytes()], 8)))
}

/// Brings one circuit's latch in line with its state. Says nothing on failure: the store has committed already,
/// and the next change of state tries again.
pub(super) fn follow(folder: &Path, project: &Project, name: &CircuitName, before: Option<&State>, after: &State) {
    let was_held = before.is_some_and(State::is_held);
    let path = path(folder, project.key, name);
    if !after.is_held() {
        if was_held {
            fs::remove_file(path).ok();
        }
        return;
    }
    if was_held && before.map(State::generation) == Some(after.generation()) {
        return;
    }
    let latch =
        Latch { project: project.key.0, identity: project.identity.clone(), name: name.clone(), state: after.clone() };
    let text = serde_json::to_vec(&latch).expect("states hold nothing that JSON cannot");
    fs::create_dir_all(folder).and_then(|()| write_whole(&path, &text, Lasting::Synced)).ok();
}

/// Takes away the latch of a circuit that is forgotten.
pub(super) fn remove(folder: &Path, project: ProjectKey, name: &CircuitName) {
    fs::remove_file(path(folder, project, name)).ok();
}

/// The latch of one circuit, where there is one.
pub(super) fn of(folder: &Path, project: ProjectKey, name: &CircuitName) -> Option<Latch> {
    let text = fs::read(path(folder, project, name)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// All latches that can be read.
pub(super) fn all(folder: &Path) -> Vec<Latch> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let texts = files.flatten().filter_map(|file| fs::read(file.path()).ok());
    texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect()
}
