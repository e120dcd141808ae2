//! Events in, committed decisions out, effects after the commit.

use std::cell::RefCell;
use std::path::PathBuf;

use haltline_core::constraint::{Circuit, Happening, Seen};
use haltline_core::{
    CircuitName, ConstraintId, Decision, Effect, Event, Memory, Moment, Operator, Policy, Rejection, State, Step,
    decide,
};

use crate::archive::ARCHIVE_FILE;
use crate::clock::Clock;
use crate::config::Config;
use crate::constraint_file::{self, ConstraintFile};
use crate::mirror::{Mirror, MirrorError, violations};
use crate::notify;
use crate::project::Project;
use crate::redact::storable;
use crate::store::{Committed, Outcome, Store, StoreError, Writing};

/// The engine of one project.
pub struct Engine<S> {
    store: S,
    project: Project,
    config: Config,
    clock: Clock,
    state_folder: PathBuf,
    notices: RefCell<Vec<String>>,
}

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It cannot happen in this state.
    #[error("rejected")]
    Rejected(Rejection),
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<S: Store> Engine<S> {
    /// An engine over a store.
    pub fn new(store: S, project: Project, config: Config, clock: Clock, state_folder: PathBuf) -> Self {
        Self { store, project, config, clock, state_folder, notices: RefCell::new(Vec::new()) }
    }

    /// The store, for reading.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The present moment.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// What a person should hear of, once.
    pub fn notices(&self) -> Vec<String> {
        self.notices.take()
    }

    fn note(&self, notice: impl ToString) {
        self.notices.borrow_mut().push(notice.to_string());
    }

    /// The constraint's file as it is now, where there is one; `circuit` knows where it was. What is wrong with it is
    /// noted.
    pub fn constraint_file(&self, id: &ConstraintId, circuit: Option<&Circuit>) -> Option<ConstraintFile> {
        let source = circuit.and_then(|circuit| circuit.source.as_ref());
        let (root, directory) = (&self.project.root, self.config.constraint_directory());
        let file = constraint_file::find(root, directory, id, source, &self.config.policy().constraint);
        for problem in file.iter().flat_map(|file| &file.problems) {
            let path = file.as_ref().map(|file| file.seen.source.path.as_str()).unwrap_or_default();
            self.note(format!("{path}: {problem}"));
        }
        file
    }

    /// What the constraint's file says, read again only where it changed.
    fn seen(&self, id: &ConstraintId) -> Result<Option<Seen>, StoreError> {
        let known = self.store.circuit(self.project.key, &CircuitName::constraint(id))?;
        let circuit = known.as_ref().and_then(State::as_constraint);
        if let Some(circuit) = circuit
            && let Some(source) = &circuit.source
            && constraint_file::is_unchanged(&self.project.root, source, &self.config.policy().constraint)
        {
            return Ok(Some(Seen { rule: circuit.rule.clone(), source: source.clone(), created: None }));
        }
        Ok(self.constraint_file(id, circuit).filter(|file| file.is_active).map(|file| file.seen))
    }

    /// Takes an event of a constraint.
    pub fn constraint(
        &self,
        id: &ConstraintId,
        session: Option<&str>,
        what: Happening,
    ) -> Result<Committed, EngineError> {
        let seen = match &what {
            // The archive tells when the constraint was made, which only the file knows.
            Happening::Retire(_) => self.constraint_file(id, None).filter(|file| file.is_active).map(|file| file.seen),
            _other => self.seen(id)?,
        };
        self.handle(Event::Constraint { id: id.clone(), session: session.map(str::to_owned), seen, what })
    }

    /// Takes an event: decides, commits, and then carries out what follows.
    pub fn handle(&self, event: Event) -> Result<Committed, EngineError> {
        let event = storable_event(event);
        let committed = self.commit(&event)?;
        let effects = &committed.decision.effects;
        let is_archived = effects.iter().any(|effect| matches!(effect, Effect::Archive(_)));
        if is_archived || (self.config.constraint_mirror() && effects.contains(&Effect::Mirror)) {
            self.mirror_out();
        }
        if effects.iter().any(is_notify) {
            self.deliver();
        }
        Ok(committed)
    }

    fn commit(&self, event: &Event) -> Result<Committed, EngineError> {
        let policy = self.config.policy();
        let digest = policy.digest();
        let writing = Writing { cause: event.cause(), policy: &digest };
        let outcome = self.store.transact(&self.project, writing, &|memory| self.decide(memory, policy, event))?;
        match outcome {
            Outcome::Committed(committed) => Ok(*committed),
            Outcome::Rejected(rejection) => Err(EngineError::Rejected(rejection)),
        }
    }

    /// The clock is read where the decision is made: in the store's turn, so that moments come in order.
    fn decide(&self, memory: &Memory, policy: &Policy, event: &Event) -> Step {
        match decide(memory, policy, event, self.clock.now()) {
            Step::Decided(decision) if !notify::is_configured(&self.config) => {
                let effects = decision.effects.into_iter().filter(|effect| !is_notify(effect)).collect();
                Step::Decided(Decision { effects, ..decision })
            }
            step => step,
        }
    }

    fn mirror(&self) -> Mirror {
        let directory = self.config.constraint_directory();
        Mirror::new(self.config.constraint_mirror(), &self.project, directory, &self.state_folder)
    }

    /// Takes over what somebody else wrote into the state file. Called before anything is asked or told.
    pub fn mirror_in(&self) {
        let mirror = self.mirror();
        if !mirror.is_there() {
            return;
        }
        let result = match self.store.head(self.project.key) {
            Ok(head) if mirror.is_foreign(head) => self.bring_in_step(&mirror),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = result {
            self.note(error);
        }
    }

    /// Reads what somebody else wrote, then writes: both under one lock, so that nothing is written over unread.
    fn bring_in_step(&self, mirror: &Mirror) -> Result<(), MirrorError> {
        let _lock = mirror.lock()?;
        let head = self.store.head(self.project.key)?;
        let (reading, kept) = mirror.read_foreign(head, self.now())?;
        let mut has_tripped = false;
        for (id, mut foreign) in reading.circuits {
            let name = CircuitName::constraint(&id);
            let known = self.store.circuit(self.project.key, &name)?;
            if let Some(circuit) = known.as_ref().and_then(State::as_constraint) {
                let history = self.store.history(self.project.key, &name, usize::MAX)?;
                Mirror::keep_unknown(&mut foreign, circuit, &history);
                if foreign.violations.is_empty() {
                    continue;
                }
            }
            let seen = self.seen(&id)?;
            let event = Event::Constraint { id, session: None, seen, what: Happening::Found(foreign) };
            match self.commit(&event) {
                Ok(committed) => has_tripped |= committed.decision.effects.iter().any(is_notify),
                Err(EngineError::Rejected(_retired)) => {}
                Err(EngineError::Store(error)) => return Err(error.into()),
            }
        }
        if let Some(kept) = kept {
            let path = mirror.path().display();
            let problem = reading.problems.join("; ");
            self.note(format!("{path}: {problem}; kept as {}, rebuilt from the store", kept.display()));
        }
        if let Some(kept) = mirror.write(&self.store, &self.project, self.now())? {
            let archive = mirror.path().with_file_name(ARCHIVE_FILE);
            self.note(format!("{}: not JSON; kept as {}, begun anew", archive.display(), kept.display()));
        }
        if has_tripped {
            self.deliver();
        }
        Ok(())
    }

    /// Brings the state file and the archive up to date.
    pub fn mirror_out(&self) {
        if let Err(error) = self.bring_in_step(&self.mirror()) {
            self.note(error);
        }
    }

    /// Makes the state file anew although no fact was added: texts were purged.
    pub fn remake_mirror(&self) {
        let mirror = self.mirror();
        mirror.forget_stamp_order();
        self.mirror_out();
    }

    /// Tells people of trips they have not heard of.
    pub fn deliver(&self) {
        if let Err(error) = self.try_deliver() {
            self.note(error);
        }
    }

    fn try_deliver(&self) -> Result<(), StoreError> {
        for message in self.store.undelivered(self.project.key)? {
            let state = self.store.circuit(self.project.key, &message.circuit)?;
            let told = match state.as_ref().and_then(State::as_constraint) {
                Some(circuit) => {
                    let history = self.store.history(self.project.key, &message.circuit, notify::EVIDENCE_MAX * 4)?;
                    let project = self.project.identity.display().to_string();
                    let evidence = violations(&history);
                    let now = self.now();
                    let text = notify::incident(&project, &message.circuit, &message.incident, circuit, &evidence, now);
                    notify::tell(&self.config, &text)
                }
                None => Ok(()),
            };
            if let Err(problem) = &told {
                self.note(format!("incident {} was not delivered: {problem}", message.incident));
            }
            self.store.delivered(message.id, told.is_ok())?;
        }
        Ok(())
    }
}

fn is_notify(effect: &Effect) -> bool {
    matches!(effect, Effect::Notify { .. })
}

/// The event with its texts as they may be stored (E10).
fn storable_event(event: Event) -> Event {
    match event {
        Event::Constraint { id, session, seen, what } => Event::Constraint {
            id,
            session: session.map(|session| storable(&session)),
            seen,
            what: match what {
                Happening::Violation { action } => Happening::Violation { action: storable(&action) },
                Happening::Clean { action, generation } => {
                    Happening::Clean { action: action.map(|action| storable(&action)), generation }
                }
                Happening::Enforce { action, violated } => Happening::Enforce { action: storable(&action), violated },
                Happening::Reset(operator) => Happening::Reset(storable_operator(operator)),
                Happening::Retire(operator) => Happening::Retire(storable_operator(operator)),
                Happening::Override { lifetime_ms, operator } => {
                    Happening::Override { lifetime_ms, operator: storable_operator(operator) }
                }
                Happening::Revoke(operator) => Happening::Revoke(storable_operator(operator)),
                Happening::TrustRule(operator) => Happening::TrustRule(storable_operator(operator)),
                // Redacted when it was read.
                Happening::Found(foreign) => Happening::Found(foreign),
            },
        },
        Event::Trust { digest, operator } => Event::Trust { digest, operator: storable_operator(operator) },
    }
}

fn storable_operator(operator: Operator) -> Operator {
    Operator { who: operator.who, reason: operator.reason.map(|reason| storable(&reason)) }
}
