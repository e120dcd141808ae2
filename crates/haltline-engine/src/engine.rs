//! Events in, committed decisions out, effects after the commit.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use haltline_core::attempt::{self, Justification};
use haltline_core::constraint::{Circuit, Happening, Seen};
use haltline_core::identity::{Action, Digest};
use haltline_core::loop_::{self, Guarded, Stream, Verb};
use haltline_core::{
    CircuitName, ConstraintId, Decision, Effect, Event, Instant, Memory, Moment, Operator, Policy, Rejection, State,
    Step, decide, phase, trust,
};

use crate::archive::ARCHIVE_FILE;
use crate::claims;
use crate::clock::Clock;
use crate::config::Config;
use crate::constraint_file::{self, ConstraintFile};
use crate::guards::{self, Guards};
use crate::incident::{self, Incident};
use crate::memory_protection;
use crate::mirror::{Mirror, MirrorError, violations};
use crate::notify;
use crate::project::Project;
use crate::redact::{mask, storable};
use crate::store::{Committed, Outcome, Store, StoreError, Writing};
use crate::trust_mark;

/// The engine of one project.
pub struct Engine<S> {
    store: S,
    project: Project,
    config: Config,
    clock: Clock,
    state_folder: PathBuf,
    notices: RefCell<Vec<String>>,
    digest: OnceCell<String>,
}

/// Where seed 002 keeps its incidents, in its memory folder.
pub const INCIDENTS_FILE: &str = "circuit_breaker_incidents.jsonl";
/// How many facts of one row are looked at for its incidents.
const HISTORY_MAX: usize = 20_000;
/// How many facts are looked at for the last answer.
const EVIDENCE_FACTS_MAX: usize = 64;

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
        Self { store, project, config, clock, state_folder, notices: RefCell::new(Vec::new()), digest: OnceCell::new() }
    }

    /// The store, for reading.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Where state is kept.
    pub fn state_folder(&self) -> &Path {
        &self.state_folder
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

    /// From now on events are decided at this recorded instant, not at the present one (L13).
    pub fn set_recorded(&mut self, at: Instant) {
        self.clock = Clock::Fixed(Moment::recorded(at));
    }

    /// What a person should hear of, once.
    pub fn notices(&self) -> Vec<String> {
        self.notices.take()
    }

    pub(crate) fn note(&self, notice: impl ToString) {
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

    /// Takes what an agent did: decides and commits. What follows is the caller's: a hook does not wait for it.
    pub fn report(&self, stream: &Stream, what: loop_::Happening) -> Result<Committed, EngineError> {
        let event = Event::Loop { stream: stream.clone(), what, policy: self.policy_digest().to_owned() };
        self.commit(&storable_event(event))
    }

    /// The constraints in front of an action, with what their files say now (C8).
    pub fn guarding(&self, action: &Action) -> Vec<Guarded> {
        let list = guards::path(&self.state_folder, self.project.key);
        let (root, directory) = (&self.project.root, self.config.constraint_directory());
        let circuits = || guards::rules(self.store.circuits(self.project.key).unwrap_or_default());
        let guards = Guards::load(&list, root, directory, &self.config.policy().constraint, circuits);
        let ids = guards.covering(action).into_iter();
        ids.map(|id| Guarded { seen: self.seen(&id).ok().flatten(), id }).collect()
    }

    /// The incidents of running sessions of this project, newest first.
    pub fn incidents(&self) -> Result<Vec<Incident>, StoreError> {
        let mut incidents = Vec::new();
        for (name, state) in self.store.circuits(self.project.key)? {
            let trips = match &state {
                State::Lane(lane) => lane.board.trips,
                State::Tree(tree) => tree.board.trips,
                State::Constraint(_)
                | State::Exempt(_)
                | State::Course(_)
                | State::Slice(_)
                | State::Claim(_)
                | State::Pipeline(_)
                | State::Trust(_) => 0,
            };
            if trips > 0 {
                incidents.extend(self.incidents_of(&name)?);
            }
        }
        incidents.sort_by_key(|incident| std::cmp::Reverse(incident.tripped));
        Ok(incidents)
    }

    /// The row whose circuits hold an incident that has not ended.
    pub fn row_of(&self, incident: &str) -> Result<Option<CircuitName>, StoreError> {
        let rows = self.store.circuits(self.project.key)?;
        let held = rows.into_iter().find(|(_, state)| state.board().is_some_and(|board| board.knows(incident)));
        Ok(held.map(|(name, _)| name))
    }

    /// The incidents of one row, newest first.
    pub fn incidents_of(&self, row: &CircuitName) -> Result<Vec<Incident>, StoreError> {
        Ok(incident::of_history(row, &self.store.history(self.project.key, row, HISTORY_MAX)?))
    }

    /// The last answer that was kept for an action of this stream: what a refusal is shown with.
    pub fn last_answer(&self, stream: &Stream, identity: Digest) -> Option<String> {
        let row = CircuitName::lane(&stream.session, stream.agent.as_deref());
        let history = self.store.history(self.project.key, &row, EVIDENCE_FACTS_MAX).ok()?;
        incident::last_answer(&history, identity)
    }

    /// Carries out what follows a decision.
    pub fn follow_up(&self, decision: &Decision) {
        let effects = &decision.effects;
        let is_archived = effects.iter().any(|effect| matches!(effect, Effect::Archive(_)));
        if is_archived || (self.config.constraint_mirror() && effects.contains(&Effect::Mirror)) {
            self.mirror_out();
        }
        if effects.iter().any(is_notify) {
            self.deliver();
        }
    }

    /// Cleans the project's memory folder at the start of a session (L9), and says what it did where it did something.
    pub fn protect_memory(&self, stream: &Stream) -> Option<String> {
        let folder = self.project.root.join(self.config.memory_directory());
        if !folder.is_dir() {
            return None;
        }
        match memory_protection::clean(&folder, &self.config.memory_limits(), Some(&stream.session), self.now().at) {
            Ok(done) => {
                for problem in &done.problems {
                    self.note(problem);
                }
                let has_work = done.files_rotated + done.sessions_pruned + done.states_truncated > 0;
                has_work.then(|| {
                    let cleanup = loop_::Happening::Cleanup {
                        files_rotated: done.files_rotated as u64,
                        sessions_pruned: done.sessions_pruned as u64,
                        bytes_freed: done.bytes_freed(),
                    };
                    if let Err(error) = self.report(stream, cleanup) {
                        self.note(error);
                    }
                    let freed = done.bytes_freed().div_ceil(1024);
                    format!(
                        "Memory cleanup: {} files rotated, {} sessions pruned, {freed} KB freed",
                        done.files_rotated, done.sessions_pruned
                    )
                })
            }
            Err(error) => Some(format!("haltline: {}: {error}", folder.display())),
        }
    }

    /// Writes trips into seed 002's incidents file, where its layout is in use (L10).
    pub fn write_incidents(&self, decision: &Decision) {
        let folder = self.project.root.join(self.config.memory_directory());
        let lines: String = decision.facts.iter().filter_map(incident::line).map(|line| format!("{line}\n")).collect();
        if lines.is_empty() || !folder.is_dir() {
            return;
        }
        let file = folder.join(INCIDENTS_FILE);
        let append = || OpenOptions::new().create(true).append(true).open(&file)?.write_all(lines.as_bytes());
        if let Err(error) = append() {
            self.note(format!("{}: {error}", file.display()));
        }
    }

    fn policy_digest(&self) -> &str {
        self.digest.get_or_init(|| self.config.policy().digest())
    }

    /// Takes an event: decides, commits, and then carries out what follows.
    pub fn handle(&self, event: Event) -> Result<Committed, EngineError> {
        let event = storable_event(event);
        let committed = self.commit(&event)?;
        self.follow_up(&committed.decision);
        Ok(committed)
    }

    /// Remembers what seed 002's file says, where that is new (E9). A process that cannot write leaves it to the next.
    pub fn remember_sighting(&self) {
        if let Some(see) = self.config.sighting() {
            self.handle(Event::Trust(see.clone())).ok();
        }
    }

    fn commit(&self, event: &Event) -> Result<Committed, EngineError> {
        if matches!(event, Event::Trust(_))
            && let Err(source) = trust_mark::leave(&self.state_folder, self.project.key)
        {
            let hint = "set HALTLINE_STATE_DIR to a folder that can be written";
            return Err(StoreError::Io { path: self.state_folder.clone(), hint, source }.into());
        }
        let writing = Writing { cause: event.cause(), policy: self.policy_digest() };
        let policy = self.config.policy();
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

    /// Sends a made-up incident to whoever is configured; `None` where nobody is.
    pub fn notify_sample(&self) -> Option<Result<(), String>> {
        let project = self.project.identity.display().to_string();
        let sample = || notify::sample(&project, self.now());
        notify::is_configured(&self.config).then(|| notify::tell(&self.config, &sample()))
    }

    fn try_deliver(&self) -> Result<(), StoreError> {
        for message in self.store.undelivered(self.project.key)? {
            let state = self.store.circuit(self.project.key, &message.circuit)?;
            let told = match &state {
                Some(State::Lane(_) | State::Tree(_)) => {
                    let incidents = self.incidents_of(&message.circuit)?;
                    match incidents.iter().find(|incident| incident.id == message.incident) {
                        Some(incident) => {
                            let project = self.project.identity.display().to_string();
                            notify::tell(&self.config, &incident.to_json(&project))
                        }
                        None => Ok(()),
                    }
                }
                Some(State::Constraint(circuit)) => {
                    let history = self.store.history(self.project.key, &message.circuit, notify::EVIDENCE_MAX * 4)?;
                    let project = self.project.identity.display().to_string();
                    let evidence = violations(&history);
                    let now = self.now();
                    let text = notify::incident(&project, &message.circuit, &message.incident, circuit, &evidence, now);
                    notify::tell(&self.config, &text)
                }
                Some(State::Course(course)) => {
                    let project = self.project.identity.display().to_string();
                    let text = notify::of_course(&project, &message.circuit, &message.incident, course, self.now());
                    notify::tell(&self.config, &text)
                }
                Some(State::Slice(slice)) => {
                    let project = self.project.identity.display().to_string();
                    notify::tell(&self.config, &notify::of_slice(&project, &message.circuit, &message.incident, slice))
                }
                Some(State::Claim(claim)) => {
                    let project = self.project.identity.display().to_string();
                    let text = claims::incident(&project, &message.circuit, &message.incident, claim);
                    text.map_or(Ok(()), |text| notify::tell(&self.config, &text))
                }
                Some(State::Exempt(_) | State::Pipeline(_) | State::Trust(_)) | None => Ok(()),
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
        Event::Loop { stream, what, policy } => Event::Loop { stream, what: storable_happening(what), policy },
        Event::Circuits { row, verb, operator } => {
            let verb = match verb {
                Verb::Resume { incident, hint } => Verb::Resume { incident, hint: hint.map(|hint| storable(&hint)) },
                Verb::Reset { .. } | Verb::FalseAlarm { .. } => verb,
            };
            Event::Circuits { row, verb, operator: storable_operator(operator) }
        }
        Event::Revoke { incident, operator } => Event::Revoke { incident, operator: storable_operator(operator) },
        Event::Attempt { slice, session, letters, what } => Event::Attempt {
            slice,
            session: session.map(|session| storable(&session)),
            letters,
            what: storable_attempt(what),
        },
        Event::Phase { course, session, bounds, what } => Event::Phase {
            course,
            session: session.map(|session| storable(&session)),
            bounds,
            what: storable_phase(what),
        },
        // Kept word for word; secrets are flagged where they come in, and masked where they are shown (E10).
        Event::Claim { pipeline, session, what } => {
            Event::Claim { pipeline, session: session.map(|session| storable(&session)), what }
        }
        Event::Trust(what) => Event::Trust(match what {
            trust::Happening::TrustContent { digest, operator } => {
                trust::Happening::TrustContent { digest, operator: storable_operator(operator) }
            }
            trust::Happening::TrustSeen { values, operator } => {
                trust::Happening::TrustSeen { values, operator: storable_operator(operator) }
            }
            see @ trust::Happening::See { .. } => see,
        }),
    }
}

fn storable_operator(operator: Operator) -> Operator {
    Operator { who: operator.who, reason: operator.reason.map(|reason| storable(&reason)) }
}

/// Errors were marked by their whole text before; what is shown of them is stored as any text.
fn storable_phase(what: phase::Happening) -> phase::Happening {
    use phase::{Choice, Happening};
    match what {
        Happening::Begin { phase, joining, operator } => {
            Happening::Begin { phase, joining, operator: operator.map(storable_operator) }
        }
        Happening::Report(mut report) => {
            if let Some(error) = &mut report.error {
                error.shown = storable(&error.shown);
                error.kind = storable(&error.kind);
            }
            report.neutral = report.neutral.map(|reason| storable(&reason));
            Happening::Report(report)
        }
        Happening::Decide { choice, operator } => {
            let choice = match choice {
                Choice::Modify { guidance } => Choice::Modify { guidance: storable(&guidance) },
                choice @ (Choice::Reset | Choice::Skip | Choice::Abort) => choice,
            };
            Happening::Decide { choice, operator: storable_operator(operator) }
        }
        // Redacted when it was read.
        other @ (Happening::Found(_) | Happening::Ask { .. } | Happening::AutoReset | Happening::Finish(_)) => other,
    }
}

/// What a runner printed is kept as it is, and only masked where it is shown; the rest is stored as any text (E10).
fn storable_attempt(what: attempt::Happening) -> attempt::Happening {
    use attempt::Happening;
    match what {
        Happening::Begin { scope, checkpoint, operator } => {
            Happening::Begin { scope, checkpoint, operator: operator.map(storable_operator) }
        }
        Happening::Ask { test, strategy } => {
            Happening::Ask { test, strategy: strategy.map(|strategy| storable(&strategy)) }
        }
        Happening::Attempt(mut attempt) => {
            attempt.strategy = storable(&attempt.strategy);
            attempt.said = storable(&attempt.said);
            if let Some(error) = &mut attempt.error {
                // Whoever reports it need not know what is kept, and what looks like a secret.
                let from = error.text.ceil_char_boundary(error.text.len().saturating_sub(attempt::Printed::BYTES_MAX));
                error.text.drain(..from);
                error.has_secrets = matches!(mask(&error.text), Cow::Owned(_));
            }
            Happening::Attempt(attempt)
        }
        Happening::Touch(mut touch) => {
            if let Some(justification) = &mut touch.justification {
                let Justification { failing_test, reason, relationship, .. } = justification;
                for text in [failing_test, reason, relationship] {
                    *text = storable(text);
                }
            }
            Happening::Touch(touch)
        }
        Happening::Deviate { rule, description, file } => {
            Happening::Deviate { rule, description: storable(&description), file }
        }
        Happening::RollBack { rollback, operator } => {
            Happening::RollBack { rollback, operator: storable_operator(operator) }
        }
        Happening::Reset { guidance, rollback, operator } => {
            Happening::Reset { guidance: storable(&guidance), rollback, operator: storable_operator(operator) }
        }
        Happening::End { operator } => Happening::End { operator: operator.map(storable_operator) },
        // A report was masked when it was read.
        other @ (Happening::Stray { .. } | Happening::File { .. } | Happening::HandOut) => other,
    }
}

/// Only what is shown of calls and answers is ever stored.
fn storable_happening(what: loop_::Happening) -> loop_::Happening {
    use loop_::Happening::{Batch, ToolEnd, ToolStart};
    match what {
        ToolStart { call, message, mut action, guarded, touched, tampering } => {
            action.shown = storable(&action.shown);
            ToolStart { call, message, action, guarded, touched, tampering }
        }
        ToolEnd { call, mut action, mut answer } => {
            if let Some(action) = &mut action {
                action.shown = storable(&action.shown);
            }
            answer.shown = storable(&answer.shown);
            ToolEnd { call, action, answer }
        }
        Batch { mut ends } => {
            for end in &mut ends {
                end.action.shown = storable(&end.action.shown);
                end.answer.shown = storable(&end.answer.shown);
            }
            Batch { ends }
        }
        other => other,
    }
}
