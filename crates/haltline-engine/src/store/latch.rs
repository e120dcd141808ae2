//! A copy of every row with a circuit that is not CLOSED, in one small file each, next to the store.
//!
//! The store is the truth. A row that is older than its latch counts as damage, and a store that is gone or damaged is
//! rebuilt from its latches too, so that an OPEN circuit survives that as well. A stale latch can keep a circuit open too
//! long; it can never close one.

use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::{CircuitName, State, digest_hex};
use serde::{Deserialize, Serialize};

use crate::file::{Durability, Links, read_regular, write_atomically};
use crate::project::{Project, ProjectKey};

/// Largest latch that is read.
const LATCH_BYTES_MAX: u64 = 16 << 20;

/// Content of a latch file.
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

/// Updates the latch of one row after a commit. Failures are ignored: the store has committed already, and the next
/// change of state tries again.
pub(super) fn update(folder: &Path, project: &Project, name: &CircuitName, before: Option<&State>, after: &State) {
    let was_tripped = before.is_some_and(State::is_tripped);
    let path = path(folder, project.key, name);
    if !after.is_tripped() {
        if was_tripped {
            fs::remove_file(path).ok();
        }
        return;
    }
    if was_tripped && before.map(State::generation) == Some(after.generation()) {
        return;
    }
    let latch =
        Latch { project: project.key.0, identity: project.identity.clone(), name: name.clone(), state: after.clone() };
    let text = serde_json::to_vec(&latch).expect("states hold nothing that JSON cannot");
    fs::create_dir_all(folder).and_then(|()| write_atomically(&path, &text, Durability::Synced)).ok();
}

/// Removes the latch of a row that the store forgets.
pub(super) fn remove(folder: &Path, project: ProjectKey, name: &CircuitName) {
    fs::remove_file(path(folder, project, name)).ok();
}

/// The latch of one row, if there is one that can be read.
pub(super) fn read(folder: &Path, project: ProjectKey, name: &CircuitName) -> Option<Latch> {
    read_file(&path(folder, project, name))
}

/// All latches that can be read.
pub(super) fn read_all(folder: &Path) -> Vec<Latch> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    files.flatten().filter_map(|file| read_file(&file.path())).collect()
}

fn read_file(path: &Path) -> Option<Latch> {
    serde_json::from_slice(&read_regular(path, LATCH_BYTES_MAX, Links::Reject).ok()?).ok()
}
