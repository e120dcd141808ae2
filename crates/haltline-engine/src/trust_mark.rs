//! A mark that a project has a row of trust. Most have none, and need not ask the store at every start.

use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::CircuitName;
use haltline_core::trust::{Trust, Values};

use crate::config::{BREAKER_FILE, PROJECT_FILE};
use crate::project::{Project, ProjectKey};
use crate::store::Store;

fn path(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("trust").join(project.0.to_string())
}

/// Leaves the mark; before the row is written, so that no row is ever without one.
pub(crate) fn leave(state_folder: &Path, project: ProjectKey) -> std::io::Result<()> {
    let mark = path(state_folder, project);
    if mark.exists() {
        return Ok(());
    }
    fs::create_dir_all(state_folder.join("trust"))?;
    fs::write(mark, [])
}

/// What the project's files are held to. Where the store cannot tell, nothing is trusted and nothing counts as first
/// seen, so that its failure loosens nothing.
pub fn trust_of(store: &impl Store, state_folder: &Path, project: &Project) -> Option<Trust> {
    let is_asked = path(state_folder, project.key).exists()
        || [PROJECT_FILE, BREAKER_FILE].iter().any(|file| project.root.join(file).exists());
    if !is_asked {
        return None;
    }
    match store.circuit(project.key, &CircuitName::trust()) {
        Ok(state) => state.as_ref().and_then(|state| state.as_trust()).cloned(),
        Err(_unreadable) => Some(Trust { digest: None, seen: Some(Values::new()) }),
    }
}
