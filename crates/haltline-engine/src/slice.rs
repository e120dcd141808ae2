//! Slices of work: their rows in the store, and markers for those that are active.
//!
//! A hook must know at once whether any slice guards the files of a project. So each active slice has an empty file
//! named after it, the marker; without the folder of markers there is nothing to check. A marker left behind does no
//! harm, because the row in the store decides. The marker is set before the slice's begin is committed, and checked
//! against the row afterwards.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haltline_core::attempt::{
    AttemptEvent, FileLocation, Scope, Slice, SliceId, Touched, conflicting_slice, warn_of_prior_attempts,
};
use haltline_core::identity::Action;
use haltline_core::{CircuitName, Event, State, Verdict, glob_matches};

use crate::engine::{Engine, EngineError};
use crate::file::if_exists;
use crate::out_of_scope;
use crate::project::{Project, ProjectKey};
use crate::scope_path::{ProjectRoot, ResolvedPath};
use crate::store::{Committed, Store, StoreError};

/// How many slices of a project are considered.
const SLICES_MAX: usize = 64;

/// A slice in a work tree.
#[derive(Clone, Debug)]
pub struct SliceLocation {
    /// Its name in the store.
    pub name: CircuitName,
    pub project_root: ProjectRoot,
}

impl SliceLocation {
    /// A slice in the project's work tree.
    pub fn new(project: &Project, id: &SliceId) -> io::Result<Self> {
        let name = CircuitName::slice(id, project.worktree().as_deref());
        Ok(Self { name, project_root: ProjectRoot::open(&project.root)? })
    }
}

/// True if a file outside the project belongs to no slice: a temporary file, or one in the client's own folder.
fn is_scratch(resolved: &ResolvedPath, client_folder: Option<&Path>) -> bool {
    let ResolvedPath::Outside(path) = resolved else { return false };
    let temporary = std::env::temp_dir();
    let folders = [Some(temporary.as_path()), Some(Path::new("/tmp")), Some(Path::new("/var/tmp")), client_folder];
    let real = |folder: &Path| fs::canonicalize(folder).unwrap_or_else(|_gone| folder.to_owned());
    folders.into_iter().flatten().any(|folder| path.starts_with(real(folder)))
}

fn markers_folder(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("slices").join(format!("{:016x}", project.0))
}

impl<S: Store> Engine<S> {
    /// Handles an event of a slice.
    pub fn attempt(
        &self,
        location: &SliceLocation,
        session: Option<&str>,
        event: AttemptEvent,
    ) -> Result<Committed, EngineError> {
        let begins = matches!(event, AttemptEvent::Begin { .. } | AttemptEvent::Attempt(_));
        if begins && self.uses_files() {
            self.set_marker(&location.name);
        }
        let (slice, case_sensitivity) = (location.name.clone(), location.project_root.case_sensitivity);
        let (session, others) = (session.map(str::to_owned), Vec::new());
        let event = Event::Attempt { slice, session, case_sensitivity, others, event };
        let outcome = self.handle(event);
        if self.uses_files() {
            self.update_marker(&location.name)?;
        }
        outcome
    }

    /// The event with the other slices of the work tree, if it may begin one. They are looked up under the writers' lock:
    /// a slice sets its marker before it waits for that lock, so of two that begin at once the later one sees the other.
    pub(crate) fn with_other_slices<'e>(&self, event: &'e Event) -> Cow<'e, Event> {
        let Event::Attempt { slice, session, case_sensitivity, others: _, event: attempt_event } = event else {
            return Cow::Borrowed(event);
        };
        let may_begin = matches!(attempt_event, AttemptEvent::Begin { .. } | AttemptEvent::Attempt(_));
        if !may_begin || !self.uses_files() {
            return Cow::Borrowed(event);
        }
        let mut others = self.active_slices();
        others.retain(|other| other != slice);
        if others.is_empty() {
            return Cow::Borrowed(event);
        }
        let (slice, session, event) = (slice.clone(), session.clone(), attempt_event.clone());
        Cow::Owned(Event::Attempt { slice, session, case_sensitivity: *case_sensitivity, others, event })
    }

    /// The slice that holds what a new slice with this scope would work on, so that only a person may begin it.
    pub fn find_conflicting_slice(
        &self,
        location: &SliceLocation,
        scope: &Scope,
    ) -> Result<Option<CircuitName>, StoreError> {
        let mut others = Vec::new();
        for name in self.active_slices().into_iter().filter(|name| *name != location.name) {
            others.extend(self.slice(&name)?.map(|slice| (name, slice)));
        }
        let others = others.iter().map(|(name, slice)| (name, slice));
        Ok(conflicting_slice(others, scope, location.project_root.case_sensitivity).cloned())
    }

    pub fn slice(&self, name: &CircuitName) -> Result<Option<Slice>, StoreError> {
        Ok(self.store().circuit(self.project().key, name)?.as_ref().and_then(State::as_slice).cloned())
    }

    /// The active slices of this work tree, by their markers.
    pub fn active_slices(&self) -> Vec<CircuitName> {
        let Ok(files) = fs::read_dir(markers_folder(self.state_folder(), self.project().key)) else {
            return Vec::new();
        };
        let worktree = self.project().worktree();
        let names = files.flatten().filter_map(|file| {
            let scope = file.file_name().into_string().ok()?;
            let of = scope.split_once('@').map(|(_, worktree)| worktree);
            (of == worktree.as_deref()).then(|| CircuitName::from_stored(format!("attempt/{scope}")))
        });
        let mut names: Vec<CircuitName> = names.take(SLICES_MAX).collect();
        names.sort();
        names
    }

    /// The files that an action changes, if slices of this work tree are active (A5). A relative path starts at
    /// `folder`, the agent's working directory. Files in the client's own folder belong to no slice.
    pub(crate) fn touched_files(&self, action: &Action, folder: &Path, client_folder: Option<&Path>) -> Vec<Touched> {
        if action.targets.is_empty() || action.command.is_some() || !self.config().attempt_lock() {
            return Vec::new();
        }
        let slices = self.active_slices();
        if slices.is_empty() {
            return Vec::new();
        }
        let is_writer = || self.config().attempt_writers().iter().any(|glob| glob_matches(glob, &action.tool));
        if !(action.is_write || is_writer()) {
            return Vec::new();
        }
        let Ok(project_root) = ProjectRoot::open(&self.project().root) else { return Vec::new() };
        let mut touched = Vec::new();
        for target in &action.targets {
            let paths = match project_root.resolve(folder, Path::new(target)) {
                Ok(resolved) => {
                    resolved.all().filter(|path| !is_scratch(path, client_folder)).map(ResolvedPath::describe).collect()
                }
                // The path is ambiguous or unreadable, so it counts as outside.
                Err(_unclear) => vec![(target.clone(), FileLocation::Outside)],
            };
            let case_sensitivity = project_root.case_sensitivity;
            let paths = paths.into_iter();
            touched.extend(paths.map(|(path, place)| Touched {
                slices: slices.clone(),
                path,
                location: place,
                case_sensitivity,
            }));
        }
        touched
    }

    /// Checks the tree after a shell command and reports files that changed since the slice began and are out of scope
    /// (A5). A file that any active slice may change is in scope.
    pub(crate) fn check_out_of_scope_changes(&self, session: &str) -> Result<Verdict, EngineError> {
        if !self.config().attempt_lock() {
            return Ok(Verdict::Pass);
        }
        let mut begun = Vec::new();
        for name in self.active_slices() {
            if let Some(slice) = self.slice(&name)?.filter(|slice| slice.is_begun()) {
                begun.push((name, slice));
            }
        }
        let Some(since) = begun.iter().map(|(_, slice)| slice.begun.at).min() else { return Ok(Verdict::Pass) };
        let Ok(project_root) = ProjectRoot::open(&self.project().root) else { return Ok(Verdict::Pass) };
        let is_out_of_scope = |path: &str| {
            begun.iter().all(|(_, slice)| slice.is_new_out_of_scope_change(path, project_root.case_sensitivity))
        };
        if begun.iter().any(|(_, slice)| slice.scope.is_lock_off()) {
            return Ok(Verdict::Pass);
        }
        let paths: Vec<String> = out_of_scope::changed_since(&self.project().root, since)
            .into_iter()
            .filter(|path| is_out_of_scope(path))
            .collect();
        let newest = begun.iter().max_by_key(|(_, slice)| slice.begun.at);
        match newest.filter(|_| !paths.is_empty()) {
            Some((name, _)) => {
                let location = SliceLocation { name: name.clone(), project_root: project_root.clone() };
                let committed = self.attempt(&location, Some(session), AttemptEvent::OutOfScopeChange { paths })?;
                Ok(committed.decision.verdict)
            }
            None => Ok(Verdict::Pass),
        }
    }

    /// Warns a new session of the attempts before it, once (A7).
    pub(crate) fn hand_out_prior_attempts(&self, session: &str) -> Result<Verdict, EngineError> {
        let mut handed_out = Vec::new();
        for name in self.active_slices() {
            let Some(slice) = self.slice(&name)?.filter(|slice| slice.is_begun() && slice.has_undelivered_prior) else {
                continue;
            };
            let Ok(project_root) = ProjectRoot::open(&self.project().root) else { continue };
            let location = SliceLocation { name: name.clone(), project_root };
            self.attempt(&location, Some(session), AttemptEvent::HandOut)?;
            handed_out.push((name, slice));
        }
        Ok(warn_of_prior_attempts(&handed_out))
    }

    /// Sets the marker of an active slice and removes that of any other.
    fn update_marker(&self, name: &CircuitName) -> Result<(), StoreError> {
        if !self.is_begun(name)? {
            self.remove_marker(name);
            // Another process may have begun it in between.
            if !self.is_begun(name)? {
                return Ok(());
            }
        }
        self.set_marker(name);
        Ok(())
    }

    fn is_begun(&self, name: &CircuitName) -> Result<bool, StoreError> {
        Ok(self.slice(name)?.is_some_and(|slice| slice.is_begun()))
    }

    fn marker_path(&self, name: &CircuitName) -> PathBuf {
        markers_folder(self.state_folder(), self.project().key).join(name.scope())
    }

    fn set_marker(&self, name: &CircuitName) {
        let path = self.marker_path(name);
        let set = || -> io::Result<()> {
            if !path.exists() {
                fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
                fs::File::create(&path)?;
            }
            Ok(())
        };
        if let Err(error) = set() {
            self.add_notice(format!("{}: {error}; hooks do not see the slice's scope", path.display()));
        }
    }

    fn remove_marker(&self, name: &CircuitName) {
        let path = self.marker_path(name);
        if let Err(error) = if_exists(fs::remove_file(&path)) {
            return self.add_notice(format!("{}: {error}", path.display()));
        }
        // Without markers the folder is removed too, so that hooks need not read it.
        fs::remove_dir(markers_folder(self.state_folder(), self.project().key)).ok();
    }
}
