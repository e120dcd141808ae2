//! What a person has trusted. A marker file names the projects with a stored trust: most have none and need not read the
//! store at every start.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use haltline_core::trust::{Trust, TrustEvent, Values};
use haltline_core::{CircuitName, Event, Operator, Rejection, digest_hex};

use crate::config::{BREAKER_FILE, PROJECT_FILE};
use crate::control::everywhere;
use crate::engine::{Engine, EngineError};
use crate::file::{Links, read_regular};
use crate::project::{Project, ProjectKey};
use crate::store::Store;

/// Largest configuration file that a person can confirm.
const USER_CONFIG_BYTES_MAX: u64 = 1 << 20;

fn path(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("trust").join(project.0.to_string())
}

/// Creates the marker. Call this before the row is written, so that no row is ever without a marker.
pub(crate) fn create(state_folder: &Path, project: ProjectKey) -> std::io::Result<()> {
    let marker = path(state_folder, project);
    if marker.exists() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state_folder.join("trust"))?;
    fs::write(marker, [])
}

/// What the operator has trusted of the project's files. If the store cannot be read, nothing is trusted and nothing
/// counts as first seen, so that the failure loosens nothing.
pub fn load_trust(store: &impl Store, state_folder: &Path, project: &Project) -> Option<Trust> {
    let has_files = || [PROJECT_FILE, BREAKER_FILE].iter().any(|file| project.root.join(file).exists());
    load_trust_if(store, state_folder, project, has_files)
}

/// As [`load_trust`], for a caller that knows whether the project has configuration files.
pub(crate) fn load_trust_if(
    store: &impl Store,
    state_folder: &Path,
    project: &Project,
    has_files: impl FnOnce() -> bool,
) -> Option<Trust> {
    if !path(state_folder, project.key).exists() && !has_files() {
        return None;
    }
    match store.circuit(project.key, &CircuitName::trust()) {
        Ok(state) => state.as_ref().and_then(|state| state.as_trust()).cloned(),
        Err(_unreadable) => Some(Trust { digest: None, limits: Some(Values::new()) }),
    }
}

/// What a person confirms of the user's own configuration file: its path and its content.
fn digest_of(user_config: &Path) -> Option<String> {
    let content = read_regular(user_config, USER_CONFIG_BYTES_MAX, Links::Follow).ok()?;
    Some(digest_hex(&[user_config.as_os_str().as_encoded_bytes(), &content], 16))
}

impl<S: Store> Engine<S> {
    /// True if the user's own configuration file is as it was when a person last confirmed it. The store keeps that, so
    /// whoever points haltline at another file or another store confirms nothing.
    pub fn is_user_config_confirmed(&self, user_config: &Path) -> bool {
        let row = self.store().circuit(everywhere(self.state_folder()).key, &CircuitName::trust()).ok().flatten();
        let confirmed = row.as_ref().and_then(|state| state.as_trust()).and_then(|trust| trust.digest.clone());
        confirmed.is_some() && confirmed == digest_of(user_config)
    }

    /// A person confirms the user's own configuration file as it is.
    pub fn confirm_user_config(&self, user_config: &Path, operator: Operator) -> Result<(), EngineError> {
        let Some(digest) = digest_of(user_config) else { return Ok(()) };
        let event = Event::Trust(TrustEvent::TrustContent { digest, operator });
        match self.commit_in(&everywhere(self.state_folder()), event) {
            Ok(_) | Err(EngineError::Rejected(Rejection::NothingToTrust)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
