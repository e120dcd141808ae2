//! The constraint breaker's state file as a source of events and as an effect (C6).
//!
//! Before a constraint is read or an event of one is decided, [`Engine::import_mirror`] turns what another program wrote
//! into events. After a commit, the effect only writes the file: it commits nothing.

use std::time::Duration;

use haltline_core::constraint::ConstraintEvent;
use haltline_core::{CircuitName, Event, State};

use crate::archive::ARCHIVE_FILE;
use crate::engine::{Engine, EngineError, is_notify};
use crate::mirror::{Mirror, MirrorError};
use crate::store::Store;

/// How long a hook waits for another process that reads or writes the state file. The next event tries again.
const HOOK_LOCK_TIMEOUT: Duration = Duration::from_millis(100);

impl<S: Store> Engine<S> {
    fn mirror(&self) -> Mirror {
        let directory = self.config().constraint_directory();
        let mirror = Mirror::new(self.config().constraint_mirror(), self.project(), directory, self.state_folder());
        match self.answers_soon() {
            true => mirror.with_lock_timeout(HOOK_LOCK_TIMEOUT),
            false => mirror,
        }
    }

    /// Imports what another program wrote into the state file. Call this before every read or event of a constraint.
    pub fn import_mirror(&self) {
        let mirror = self.mirror();
        if !self.uses_files() || !mirror.exists() {
            return;
        }
        let result = match self.store().head(self.project().key) {
            Ok(head) if mirror.is_foreign(head) => self.import_and_write(&mirror),
            Ok(head) if mirror.is_behind(head) => {
                // Another work tree has its own copy of the file. Whoever cannot write here leaves it to the next one.
                self.try_write_mirror(&mirror).ok();
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = result {
            self.add_notice(error);
        }
    }

    /// Turns foreign changes into events and then writes the file, under one lock, so that no foreign change is
    /// overwritten unread.
    fn import_and_write(&self, mirror: &Mirror) -> Result<(), MirrorError> {
        let _lock = mirror.lock()?;
        // If the store is damaged, this repairs it. What follows must come from one store, not from before and after.
        self.store().circuits(self.project().key)?;
        let head = self.store().head(self.project().key)?;
        let folded_until = self.store().anchor(self.project().key)?.folded_until;
        let (foreign_file, kept) = mirror.read_foreign(head, self.now())?;
        let mut has_tripped = false;
        for (id, mut foreign) in foreign_file.circuits {
            let name = CircuitName::constraint(&id);
            let known = self.store().circuit(self.project().key, &name)?;
            if let Some(circuit) = known.as_ref().and_then(State::as_constraint) {
                let history = self.store().history(self.project().key, &name, usize::MAX)?;
                Mirror::retain_unknown(&mut foreign, circuit, &history, folded_until.get(&name).copied());
                if foreign.violations.is_empty() {
                    continue;
                }
            }
            let seen = self.rule_file(&id)?;
            let event =
                Event::Constraint { id, session: None, file: seen, event: ConstraintEvent::StateFileFound(foreign) };
            match self.commit(event) {
                Ok(committed) => has_tripped |= committed.decision.effects.iter().any(is_notify),
                Err(EngineError::Rejected(_retired)) => {}
                Err(EngineError::Store(error)) => return Err(error.into()),
            }
        }
        if let Some(kept) = kept {
            let path = mirror.path().display();
            let problem = foreign_file.problems.join("; ");
            self.add_notice(format!(
                "{path}: {problem}; haltline kept it as {} and rebuilt it from the store",
                kept.display()
            ));
        }
        self.write_under_lock(mirror)?;
        if has_tripped {
            self.notify();
        }
        Ok(())
    }

    fn write_under_lock(&self, mirror: &Mirror) -> Result<(), MirrorError> {
        if let Some(kept) = mirror.write(self.store(), self.project(), self.now())? {
            let archive = mirror.path().with_file_name(ARCHIVE_FILE);
            self.add_notice(format!(
                "{}: not JSON; haltline kept it as {} and wrote a new one",
                archive.display(),
                kept.display()
            ));
        }
        Ok(())
    }

    /// Brings the state file and the archive up to date. A file that another program changed since it was last imported
    /// is left alone: the next event imports it first.
    pub(crate) fn write_mirror(&self) {
        if let Err(error) = self.try_write_mirror(&self.mirror()) {
            self.add_notice(error);
        }
    }

    fn try_write_mirror(&self, mirror: &Mirror) -> Result<(), MirrorError> {
        let _lock = mirror.lock()?;
        if mirror.is_foreign(self.store().head(self.project().key)?) {
            return Ok(());
        }
        self.write_under_lock(mirror)
    }

    /// Writes the state file again although no fact was added, because texts were purged.
    pub fn rebuild_mirror(&self) {
        let mirror = self.mirror();
        self.import_mirror();
        mirror.invalidate_stamp();
        self.write_mirror();
    }
}
