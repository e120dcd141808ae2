//! A marker file for projects with a stored trust. Most projects have none and need not read the store at every start.

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

/// Creates the marker. Call this before the row is written, so that no row is ever without a marker.
pub(crate) fn create(state_folder: &Path, project: ProjectKey) -> std::io::Result<()> {
    let marker = path(state_folder, project);
    if marker.exists() {
        return Ok(());
    }
    fs::create_dir_all(state_folder.join("trust"))?;
    fs::write(marker, [])
}

/// What the operator has trusted of the project's files. If the store cannot be read, nothing is trusted and nothing
/// counts as first seen, so that the failure loosens nothing.
pub fn load_trust(store: &impl Store, state_folder: &Path, project: &Project) -> Option<Trust> {
    let may_have_trust = path(state_folder, project.key).exists()
        || [PROJECT_FILE, BREAKER_FILE].iter().any(|file| project.root.join(file).exists());
    if !may_have_trust {
        return None;
    }
    match store.circuit(project.key, &CircuitName::trust()) {
        Ok(state) => state.as_ref().and_then(|state| state.as_trust()).cloned(),
        Err(_unreadable) => Some(Trust { digest: None, limits: Some(Values::new()) }),
    }
}
