//! Slices of work: their rows, and which of them are under way.
//!
//! A hook must know at once whether any slice guards the files of a project. For each one that is under way there is an
//! empty file, named after it; where there is no such folder there is nothing to ask. A mark left behind does no harm:
//! the row is what is believed. A mark is set before the begin is committed and looked after once it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haltline_core::attempt::{Happening, Place, Slice, SliceId, Touched, prior_attempts};
use haltline_core::identity::Action;
use haltline_core::{CircuitName, Event, State, Verdict, glob_matches};

use crate::engine::{Engine, EngineError};
use crate::project::{Project, ProjectKey};
use crate::scope_path::{Ground, Landing};
use crate::store::{Committed, Store, StoreError};
use crate::strays;

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

/// Whether a file outside the project is nobody's work: a temporary one, or one in the client's own folder.
fn is_scratch(landing: &Landing, own: Option<&Path>) -> bool {
    let Landing::Outside(path) = landing else { return false };
    let temporary = std::env::temp_dir();
    let places = [Some(temporary.as_path()), Some(Path::new("/tmp")), Some(Path::new("/var/tmp")), own];
    let real = |place: &Path| fs::canonicalize(place).unwrap_or_else(|_gone| place.to_owned());
    places.into_iter().flatten().any(|place| path.starts_with(real(place)))
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
        let names = files.flatten().filter_map(|file| {
            let scope = file.file_name().into_string().ok()?;
            let of = scope.split_once('@').map(|(_, worktree)| worktree);
            (of == worktree.as_deref()).then(|| CircuitName::stored(format!("attempt/{scope}")))
        });
        let mut names: Vec<CircuitName> = names.take(SLICES_MAX).collect();
        names.sort();
        names
    }

    /// The files an action changes, where slices of this work tree are under way (A5). A relative path starts at
    /// `folder`, where the agent works; what lies in the client's `own` folder is nobody's work.
    pub fn touching(&self, action: &Action, folder: &Path, own: Option<&Path>) -> Vec<Touched> {
        if action.targets.is_empty() || action.command.is_some() || !self.config().attempt_lock() {
            return Vec::new();
        }
        let slices = self.marked_slices();
        if slices.is_empty() {
            return Vec::new();
        }
        let is_writer = || self.config().attempt_writers().iter().any(|glob| glob_matches(glob, &action.tool));
        if !(action.is_write || is_writer()) {
            return Vec::new();
        }
        let Ok(ground) = Ground::of(&self.project().root) else { return Vec::new() };
        let mut touched = Vec::new();
        for target in &action.targets {
            let places = match ground.landings(folder, Path::new(target)) {
                Ok(landings) => {
                    landings.all().filter(|landing| !is_scratch(landing, own)).map(Landing::shown).collect()
                }
                // Where it leads nobody can tell.
                Err(_unclear) => vec![(target.clone(), Place::Outside)],
            };
            let letters = ground.letters;
            let asked = places.into_iter();
            touched.extend(asked.map(|(path, place)| Touched { slices: slices.clone(), path, place, letters }));
        }
        touched
    }

    /// Looks at the tree after a shell command, and tells of files outside the scope that changed since the slice began
    /// (A5). One slice that may change a file is enough.
    pub fn look_for_strays(&self, session: &str) -> Result<Verdict, EngineError> {
        if !self.config().attempt_lock() {
            return Ok(Verdict::Pass);
        }
        let mut begun = Vec::new();
        for name in self.marked_slices() {
            if let Some(slice) = self.slice(&name)?.filter(|slice| slice.is_begun()) {
                begun.push((name, slice));
            }
        }
        let Some(since) = begun.iter().map(|(_, slice)| slice.begun.at).min() else { return Ok(Verdict::Pass) };
        let Ok(ground) = Ground::of(&self.project().root) else { return Ok(Verdict::Pass) };
        let is_foreign = |path: &str| begun.iter().all(|(_, slice)| slice.is_stray(path, ground.letters));
        if begun.iter().any(|(_, slice)| slice.scope.is_off()) {
            return Ok(Verdict::Pass);
        }
        let paths: Vec<String> =
            strays::changed(&self.project().root, since).into_iter().filter(|path| is_foreign(path)).collect();
        let newest = begun.iter().max_by_key(|(_, slice)| slice.begun.at);
        match newest.filter(|_| !paths.is_empty()) {
            Some((name, _)) => {
                let place = SlicePlace { name: name.clone(), ground: ground.clone() };
                let committed = self.attempt(&place, Some(session), Happening::Stray { paths })?;
                Ok(committed.decision.verdict)
            }
            None => Ok(Verdict::Pass),
        }
    }

    /// What a new session is told of tries before: once (A7).
    pub fn hand_out(&self, session: &str) -> Result<Vec<(CircuitName, String)>, EngineError> {
        let mut told = Vec::new();
        for name in self.marked_slices() {
            let Some(slice) = self.slice(&name)?.filter(|slice| slice.is_begun() && slice.is_prior_untold) else {
                continue;
            };
            let Ok(ground) = Ground::of(&self.project().root) else { continue };
            let place = SlicePlace { name: name.clone(), ground };
            self.attempt(&place, Some(session), Happening::HandOut)?;
            told.extend(prior_attempts(&slice).map(|block| (name, block)));
        }
        Ok(told)
    }

    /// A slice that is under way has a mark when this returns, and one that is not has none.
    fn settle_mark(&self, name: &CircuitName) -> Result<(), StoreError> {
        if !self.is_begun(name)? {
            self.unmark(name);
            // Somebody may have begun it in between.
            if !self.is_begun(name)? {
                return Ok(());
            }
        }
        self.mark(name);
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
