//! Pauses and other operator actions on a whole project or on everything (E6).
//!
//! What concerns everything is kept as a project of its own, whose identity is the state folder. Hooks ask at every event
//! whether haltline is paused, so a marker file says until when a pause may be in force; only then is the store read. The
//! row decides, never the marker: without the marker the pause has ended.

use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::control::{ControlEvent, Pause};
use haltline_core::{CircuitName, Event, Instant, Moment, State};

use crate::engine::{Engine, EngineError};
use crate::file::{Durability, if_exists, write_atomically};
use crate::project::{Project, ProjectKey};
use crate::store::{Committed, Store, StoreError};

/// What an operator action concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlScope {
    /// The current project.
    Project,
    /// All projects of this user.
    Everywhere,
}

/// Whether haltline watches the events of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Unless a pause is in force.
    #[default]
    UnlessPaused,
    /// Even during a pause: for the self-test.
    Always,
    /// Not at all: a person started the client with `HALTLINE=off`.
    Never,
}

/// A pause that is in force, with its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedPause {
    pub scope: ControlScope,
    pub pause: Pause,
}

/// The project that keeps what concerns everything.
pub fn everywhere(state_folder: &Path) -> Project {
    Project::new(state_folder.to_owned(), state_folder.to_owned())
}

/// The rows of a project, and those of the accounts at model services, which all projects share.
pub fn rows_with_providers(
    store: &impl Store,
    state_folder: &Path,
    project: ProjectKey,
) -> Result<Vec<(CircuitName, State)>, StoreError> {
    let mut rows = store.circuits(project)?;
    let everything = everywhere(state_folder).key;
    if everything != project {
        let shared = store.circuits(everything)?.into_iter();
        rows.extend(shared.filter(|(_, state)| matches!(state, State::Provider(_))));
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    Ok(rows)
}

/// The pauses in force for a project: its own and the one of everything. Reads the store only if a marker says that
/// there may be one.
pub fn pauses(
    store: &impl Store,
    state_folder: &Path,
    project: ProjectKey,
    now: Moment,
) -> Result<Vec<ScopedPause>, StoreError> {
    let scopes = [(ControlScope::Everywhere, everywhere(state_folder).key), (ControlScope::Project, project)];
    let mut found = Vec::new();
    for (scope, key) in scopes {
        if !may_be_paused(state_folder, key, now.at) {
            continue;
        }
        let row = store.circuit(key, &CircuitName::control())?;
        let pause = row.as_ref().and_then(State::as_control).and_then(|control| control.pause.clone());
        let pause = pause.filter(|pause| pause.is_in_force(now));
        found.extend(pause.map(|pause| ScopedPause { scope, pause }));
    }
    Ok(found)
}

fn marker(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("paused").join(project.0.to_string())
}

/// True if the marker names an end in the future. A marker that cannot be read ends the pause.
fn may_be_paused(state_folder: &Path, project: ProjectKey, now: Instant) -> bool {
    let until = fs::read_to_string(marker(state_folder, project)).ok();
    let until = until.and_then(|text| text.trim().parse().ok()).map(Instant::from_millis);
    until.is_some_and(|until| now < until)
}

impl<S: Store> Engine<S> {
    /// Commits an operator action and brings the marker of the scope up to date.
    pub fn control(&self, scope: ControlScope, event: ControlEvent) -> Result<Committed, EngineError> {
        let project = match scope {
            ControlScope::Project => self.project().clone(),
            ControlScope::Everywhere => everywhere(self.state_folder()),
        };
        let committed = self.commit_in(&project, Event::Control(event))?;
        let row = committed.after.state(&CircuitName::control()).and_then(State::as_control);
        let marker = marker(self.state_folder(), project.key);
        let written = match row.and_then(|control| control.pause.as_ref()) {
            Some(pause) => {
                let until = pause.until().as_millis().to_string();
                let folder = marker.parent().unwrap_or(self.state_folder());
                fs::create_dir_all(folder)
                    .and_then(|()| write_atomically(&marker, until.as_bytes(), Durability::Rebuildable))
            }
            None => if_exists(fs::remove_file(&marker)).map(|_| ()),
        };
        let hint = "set HALTLINE_STATE_DIR to a writable folder";
        written.map_err(|source| StoreError::Io { path: marker, hint, source })?;
        Ok(committed)
    }

    /// The pauses in force for this project.
    pub fn pauses(&self) -> Result<Vec<ScopedPause>, StoreError> {
        pauses(self.store(), self.state_folder(), self.project().key, self.now())
    }

    /// Sets whether the engine watches the events of agents.
    pub fn set_watch(&self, watch: Watch) {
        self.watch.set(watch);
    }

    /// True if events of this session are let through and not counted. If the store cannot be read, nothing is paused.
    pub fn is_suspended(&self, session: &str) -> bool {
        match self.watch.get() {
            Watch::Always => false,
            Watch::Never => true,
            Watch::UnlessPaused if !self.uses_files() || self.is_unpaused.get() => false,
            Watch::UnlessPaused => self.pauses().is_ok_and(|pauses| {
                // A hook lives for one event, so it need not ask again.
                self.is_unpaused.set(self.answers_soon() && pauses.is_empty());
                pauses.iter().any(|found| found.pause.covers(session))
            }),
        }
    }
}
