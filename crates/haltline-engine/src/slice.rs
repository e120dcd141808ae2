//! Slices of work: their rows, and which of them are under way.
//!
//! A hook must know at once whether any slice guards the files of a project. For each one that is under way there is an
//! empty file, named after it; where there is no such folder there is nothing to ask. A mark left behind does no harm:
//! the row is what is believed. A mark is set before the begin is committed and looked after once it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haltline_core::attempt::{Happening, Slice, SliceId};
use haltline_core::{CircuitName, Event, State};

use crate::engine::{Engine, EngineError};
use crate::project::{Project, ProjectKey};
use crate::scope_path::Ground;
use crate::store::{Committed, Store, StoreError};

/// How many slices of a project are looked at.
const SLICES_MAX: usize = 64;

/// A slice in a work tree.
#[derive(Clone, Debug)]
pub struct SlicePlace {
    /// Its name in the store.
    pub name: CircuitName,
    /// Its files.
    pub ground: Ground,
}

impl SlicePlace {
    /// A slice of the project's work tree.
    pub fn new(project: &Project, id: &SliceId) -> io::Result<Self> {
        let name = CircuitName::slice(id, project.worktree().as_deref());
        Ok(Self { name, ground: Ground::of(&project.root)? })
    }
}

fn marks(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("slices").join(format!("{:016x}", project.0))
}

impl<S: Store> Engine<S> {
    /// Takes an event of a slice.
    pub fn attempt(
        &self,
        place: &SlicePlace,
        session: Option<&str>,
        what: Happening,
    ) -> Result<Committed, EngineError> {
        let begins = matches!(what, Happening::Begin { .. } | Happening::Attempt(_));
        if begins {
            self.mark(&place.name);
        }
        let (slice, letters) = (place.name.clone(), place.ground.letters);
        let event = Event::Attempt { slice, session: session.map(str::to_owned), letters, what };
        let outcome = self.handle(event);
        self.settle_mark(&place.name)?;
        outcome
    }

    /// The slice as the store knows it.
    pub fn slice(&self, name: &CircuitName) -> Result<Option<Slice>, StoreError> {
        let state = self.store().circuit(self.project().key, name)?;
        Ok(match state {
            Some(State::Slice(slice)) => Some(*slice),
            Some(_) | None => None,
        })
    }

    /// The slices of this work tree that are under way, by their marks.
    pub fn marked_slices(&self) -> Vec<CircuitName> {
        let Ok(files) = fs::read_dir(marks(self.state_folder(), self.project().key)) else { return Vec::new() };
        let worktree = self.project().worktree();
        let names = files.flatten().take(SLICES_MAX).filter_map(|file| {
            let scope = file.file_name().into_string().ok()?;
            let of = scope.split_once('@').map(|(_, worktree)| worktree);
            (of == worktree.as_deref()).then(|| CircuitName::stored(format!("attempt/{scope}")))
        });
        let mut names: Vec<CircuitName> = names.collect();
        names.sort();
        names
    }

    /// A slice that is under way has a mark when this returns, and one that is not has none.
    fn settle_mark(&self, name: &CircuitName) -> Result<(), StoreError> {
        if !self.is_begun(name)? {
            self.unmark(name);
        }
        // Somebody may have begun it in between.
        if self.is_begun(name)? {
            self.mark(name);
        }
        Ok(())
    }

    fn is_begun(&self, name: &CircuitName) -> Result<bool, StoreError> {
        Ok(self.slice(name)?.is_some_and(|slice| slice.is_begun()))
    }

    fn mark_path(&self, name: &CircuitName) -> PathBuf {
        marks(self.state_folder(), self.project().key).join(name.scope())
    }

    fn mark(&self, name: &CircuitName) {
        let path = self.mark_path(name);
        let set = || -> io::Result<()> {
            if !path.exists() {
                fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
                fs::File::create(&path)?;
            }
            Ok(())
        };
        if let Err(error) = set() {
            self.note(format!("{}: {error}; hooks do not see the slice's scope", path.display()));
        }
    }

    fn unmark(&self, name: &CircuitName) {
        let path = self.mark_path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.note(format!("{}: {error}", path.display()));
            }
            Ok(()) | Err(_) => {
                // The last one takes the folder along, so that hooks need not look into it.
                fs::remove_dir(marks(self.state_folder(), self.project().key)).ok();
            }
        }
    }
}
