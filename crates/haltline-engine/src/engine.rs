//! Events in, committed decisions out, effects after the commit.

use std::cell::{Cell, OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::constraint::{Check, Circuit, ConstraintEvent, Rule, RuleFile, Source};
use haltline_core::{
    CircuitName, ConstraintId, Decision, Effect, Event, Halt, Instant, Memory, Moment, Policy, Rejection, State, decide,
};

use crate::clock::Clock;
use crate::config::{Config, ConfigLocations, load_or_compile};
use crate::constraint_file::{self, ConstraintFile};
use crate::control::Watch;
use crate::notify;
use crate::project::Project;
use crate::project_mark::{self, Known};
use crate::storable_event::storable_event;
use crate::store::{Committed, InMemory, Provenance, Sqlite, SqliteOptions, Store, StoreError, TransactionOutcome};
use crate::trip_notice::{Trips, trips};
use crate::trust_marker::{self, load_trust, load_trust_if};

/// Handles events, reads and effects for one project.
pub struct Engine<S> {
    store: S,
    project: Project,
    config: Config,
    clock: Clock,
    own_files: OwnFiles,
    file_use: FileUse,
    delivery: Delivery,
    has_deferred: Cell<bool>,
    /// True for a hook: a client waits for the answer.
    answers_soon: bool,
    has_deferred_cleanup: Cell<bool>,
    notices: RefCell<Vec<String>>,
    /// The trips of the decision that is being committed.
    trips: RefCell<Trips>,
    trip_notices: RefCell<Vec<String>>,
    policy_digest: OnceCell<String>,
    pub(crate) watch: Cell<Watch>,
    /// True for a hook that found no pause in force.
    pub(crate) is_unpaused: Cell<bool>,
    /// Whether the work tree had another identity before.
    pub(crate) known: RefCell<Known>,
}

/// Where haltline keeps its own files. An agent must not change them (E6).
#[derive(Clone, Debug)]
pub struct OwnFiles {
    pub state_folder: PathBuf,
    pub user_config: PathBuf,
}

/// How an engine gets its configuration.
#[derive(Clone, Copy, Debug)]
pub enum ConfigReading {
    /// Reads and checks every file.
    Files,
    /// Takes the compiled snapshot if its inputs have not changed: for hooks, which run on every call, and wait for the
    /// store only once.
    Snapshot,
}

/// Which files of the project an engine reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileUse {
    /// Everything: rules, guards, state files, mirrors, notifications.
    All,
    /// Reads what constraints' files say and writes nothing: for replays, which must not touch what is live.
    RulesOnly,
    /// None: an engine in memory has no project folder to protect.
    Nothing,
}

/// Who sends the notifications of a trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// The engine, before it returns.
    Inline,
    /// The caller, when [`Engine::take_deferred_notifications`] says so.
    Deferred,
}

/// Why an event was not committed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The event cannot happen in the current state.
    #[error("rejected")]
    Rejected(Rejection),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine<Sqlite> {
    /// Opens the engine of a project from files. Nothing fails here: a bad configuration file is left out and listed in
    /// [`Config::errors`], and the store is opened by the first event.
    pub fn open(
        own_files: OwnFiles,
        project: Project,
        store_timeout: Duration,
        reading: ConfigReading,
        clock: Clock,
    ) -> Self {
        let store = Self::store_in(&own_files.state_folder, store_timeout, reading, clock, None);
        Self::open_with(store, own_files, project, reading, clock)
    }

    /// The store of a state folder for one engine. `before` is the store of an earlier engine of this process: if it is
    /// the same, it stays open.
    pub fn store_in(
        state_folder: &Path,
        timeout: Duration,
        reading: ConfigReading,
        clock: Clock,
        before: Option<Sqlite>,
    ) -> Sqlite {
        let options = SqliteOptions { timeout, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
        let mut store = match before.filter(|before| before.folder() == state_folder) {
            Some(before) => before.renewed(options),
            None => Sqlite::new(state_folder, options),
        };
        if matches!(reading, ConfigReading::Snapshot) {
            store.share_timeout();
        }
        store
    }

    /// As [`Self::open`], with a store from [`Self::store_in`].
    pub fn open_with(
        mut store: Sqlite,
        own_files: OwnFiles,
        project: Project,
        reading: ConfigReading,
        clock: Clock,
    ) -> Self {
        let answers_soon = matches!(reading, ConfigReading::Snapshot);
        let (project, known) = project_mark::settle(&own_files.state_folder, project);
        let trusted = |has_files: bool| load_trust_if(&store, &own_files.state_folder, &project, || has_files);
        let OwnFiles { state_folder, user_config: user_file } = &own_files;
        let locations = ConfigLocations { state_folder, user_file, project: &project };
        let (config, altered) = match reading {
            ConfigReading::Files => {
                let trusted = || load_trust(&store, state_folder, &project);
                (Config::load(user_file, Some(&project.root), trusted), None)
            }
            ConfigReading::Snapshot => load_or_compile(locations, clock.now().at, trusted),
        };
        store.set_limits(config.state_bytes_max(), config.journal_days());
        let known = RefCell::new(known);
        let engine = Self { answers_soon, known, ..Self::new(store, project, config, clock, own_files) };
        if let Some(snapshot) = altered {
            engine.add_notice(altered_cache(&snapshot));
        }
        engine
    }
}

impl<S> Engine<S> {
    /// The store, for the next engine.
    pub fn into_store(self) -> S {
        self.store
    }
}

impl Engine<InMemory> {
    /// An engine that keeps everything in memory: it reads and writes no file and sends nothing.
    pub fn in_memory(policy: Policy, clock: Clock) -> Self {
        let nowhere = PathBuf::new();
        let project = Project::new(nowhere.clone(), nowhere.clone());
        let own_files = OwnFiles { state_folder: nowhere.clone(), user_config: nowhere };
        let config = Config::from_policy(policy);
        Self { file_use: FileUse::Nothing, ..Self::new(InMemory::default(), project, config, clock, own_files) }
    }

    /// An engine for recorded events of this engine's project: the same configuration, the same rules of constraints,
    /// and a store in memory. Whatever it decides, no live circuit, file or person learns of it.
    pub fn for_replay(live: &Engine<Sqlite>) -> Self {
        let (project, config) = (live.project.clone(), live.config.clone());
        let replay = Self::new(InMemory::default(), project, config, live.clock, live.own_files.clone());
        Self { file_use: FileUse::RulesOnly, ..replay }
    }
}

impl Engine<InMemory> {
    /// Makes the engine decide events at this recorded instant from now on, instead of the present one (L13). Only a
    /// store in memory can do this: no instant from input ever governs a live circuit.
    pub fn use_recorded_time(&mut self, at: Instant) {
        self.clock = Clock::Fixed(Moment::from_wall_clock(at));
    }
}

impl<S: Store> Engine<S> {
    pub fn new(store: S, project: Project, config: Config, clock: Clock, own_files: OwnFiles) -> Self {
        Self {
            store,
            project,
            config,
            clock,
            own_files,
            file_use: FileUse::All,
            delivery: Delivery::Inline,
            has_deferred: Cell::new(false),
            answers_soon: false,
            has_deferred_cleanup: Cell::new(false),
            notices: RefCell::new(Vec::new()),
            trips: RefCell::new(Trips::new()),
            trip_notices: RefCell::new(Vec::new()),
            policy_digest: OnceCell::new(),
            watch: Cell::default(),
            is_unpaused: Cell::new(false),
            known: RefCell::new(Known::Same),
        }
    }

    /// Leaves it to the caller to have notifications delivered, because somebody waits for its answer first.
    pub fn defer_notifications(&mut self) {
        self.delivery = Delivery::Deferred;
    }

    /// True, once, if a trip waits for the caller to have its notifications delivered.
    pub fn take_deferred_notifications(&self) -> bool {
        self.has_deferred.take()
    }

    /// Leaves it to the caller to have the memory folder cleaned by another process.
    pub(crate) fn defer_cleanup(&self) {
        self.has_deferred_cleanup.set(true);
    }

    /// True, once, if the memory folder waits for the caller to have it cleaned.
    pub fn take_deferred_cleanup(&self) -> bool {
        self.has_deferred_cleanup.take()
    }

    /// The store, for reading only.
    pub fn store(&self) -> &S {
        &self.store
    }

    pub fn state_folder(&self) -> &Path {
        &self.own_files.state_folder
    }

    /// True if the engine reads and writes the project's files.
    pub(crate) fn uses_files(&self) -> bool {
        self.file_use == FileUse::All
    }

    /// True if a client waits for the answer.
    pub(crate) fn answers_soon(&self) -> bool {
        self.answers_soon
    }

    pub(crate) fn own_files(&self) -> &OwnFiles {
        &self.own_files
    }

    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The clock by which this engine decides.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Takes the notices that the person should see; each is returned once.
    pub fn take_notices(&self) -> Vec<String> {
        self.notices.take()
    }

    pub(crate) fn add_notice(&self, notice: impl ToString) {
        self.notices.borrow_mut().push(notice.to_string());
    }

    /// Takes what the person should read in the client about trips that were committed; each is returned once.
    pub fn take_trip_notices(&self) -> Vec<String> {
        self.trip_notices.take()
    }

    pub(crate) fn add_trip_notice(&self, notice: String) {
        self.trip_notices.borrow_mut().push(notice);
    }

    /// What an action against a constraint would meet now. Nothing is recorded.
    pub fn check_constraint(&self, id: &ConstraintId) -> Result<Check, EngineError> {
        let name = CircuitName::constraint(id);
        let state = self.store.circuit(self.project.key, &name)?;
        let circuit = state.as_ref().and_then(State::as_constraint);
        Ok(Check::new(&name, circuit, self.config.policy().mode, self.now()))
    }

    /// Reads the constraint's file as it is now, if there is one; `circuit` knows where it was before. Problems in the
    /// file become notices.
    pub fn constraint_file(&self, id: &ConstraintId, circuit: Option<&Circuit>) -> Option<ConstraintFile> {
        let source = circuit.and_then(|circuit| circuit.source.as_ref());
        let (root, directory) = (&self.project.root, self.config.constraint_directory());
        let file = constraint_file::find(root, directory, id, source, &self.config.policy().constraint);
        for problem in file.iter().flat_map(|file| &file.problems) {
            let path = file.as_ref().map(|file| file.seen.source.path.as_str()).unwrap_or_default();
            self.add_notice(format!("{path}: {problem}"));
        }
        file
    }

    /// What the constraint's file says. The file is read again only if it has changed.
    pub(crate) fn rule_file(&self, id: &ConstraintId) -> Result<Option<RuleFile>, StoreError> {
        if self.file_use == FileUse::Nothing {
            // Without files every constraint is known, with the policy's limits.
            let rule = Rule { limits: self.config.policy().constraint, guards: Vec::new() };
            let source = Source { path: String::new(), digest: String::new() };
            return Ok(Some(RuleFile { rule, source, created: None }));
        }
        let known = self.store.circuit(self.project.key, &CircuitName::constraint(id))?;
        let circuit = known.as_ref().and_then(State::as_constraint);
        if let Some(circuit) = circuit
            && let Some(source) = &circuit.source
            && constraint_file::is_unchanged(&self.project.root, source, &self.config.policy().constraint)
        {
            return Ok(Some(RuleFile { rule: circuit.rule.clone(), source: source.clone(), created: None }));
        }
        Ok(self.constraint_file(id, circuit).filter(|file| file.is_active).map(|file| file.seen))
    }

    /// Commits an event of a constraint and runs its effects. What another program wrote into the state file is imported
    /// first, so that the event is decided on everything that is known.
    pub fn constraint(
        &self,
        id: &ConstraintId,
        session: Option<&str>,
        event: ConstraintEvent,
    ) -> Result<Committed, EngineError> {
        self.import_mirror();
        let seen = match &event {
            // The archive records when the constraint was created, which only the file knows.
            ConstraintEvent::Retire(_) if self.file_use != FileUse::Nothing => {
                self.constraint_file(id, None).filter(|file| file.is_active).map(|file| file.seen)
            }
            _other => self.rule_file(id)?,
        };
        self.handle(Event::Constraint { id: id.clone(), session: session.map(str::to_owned), file: seen, event })
    }

    pub(crate) fn policy_digest(&self) -> &str {
        self.policy_digest.get_or_init(|| self.config.policy().digest())
    }

    /// Decides and commits an event, then runs its effects.
    pub fn handle(&self, event: Event) -> Result<Committed, EngineError> {
        let committed = self.commit(event)?;
        self.run_effects(&committed.decision);
        Ok(committed)
    }

    /// Records values of seed 002's file that haltline has not seen before (E9). A process that cannot write leaves
    /// this to the next one.
    pub fn record_seen_values(&self) {
        if let Some(see) = self.config.seen_values_event() {
            self.handle(Event::Trust(see.clone())).ok();
        }
    }

    /// Decides and commits an event, with its secrets masked.
    pub(crate) fn commit(&self, event: Event) -> Result<Committed, EngineError> {
        self.commit_in(&self.project, event)
    }

    /// The same in the journal of another project.
    pub(crate) fn commit_in(&self, project: &Project, event: Event) -> Result<Committed, EngineError> {
        let event = &storable_event(event);
        if matches!(event, Event::Trust(_))
            && let Err(source) = trust_marker::create(self.state_folder(), project.key)
        {
            let hint = "set HALTLINE_STATE_DIR to a writable folder";
            return Err(StoreError::Io { path: self.state_folder().to_owned(), hint, source }.into());
        }
        let provenance = Provenance { cause: event.cause(), policy: self.policy_digest() };
        let policy = self.config.policy();
        let outcome = self.store.transact(project, provenance, &|memory| self.decide(memory, policy, event))?;
        match outcome {
            TransactionOutcome::Committed(committed) => {
                self.mark_root();
                self.keep_trip_notices(self.trips.take());
                Ok(*committed)
            }
            TransactionOutcome::Rejected(rejection) => Err(EngineError::Rejected(rejection)),
        }
    }

    /// Runs the effects of a committed decision: mirror and archive files, seed 002's incidents file, notifications. An
    /// effect never decides and never commits an event.
    pub(crate) fn run_effects(&self, decision: &Decision) {
        if !self.uses_files() {
            return;
        }
        self.write_incidents(decision);
        let effects = &decision.effects;
        let has_archive = effects.iter().any(|effect| matches!(effect, Effect::Archive(_)));
        if has_archive || (self.config.constraint_mirror() && effects.contains(&Effect::Mirror)) {
            self.write_mirror();
        }
        if effects.iter().any(is_notify) {
            self.notify();
        }
    }

    /// Has the notifications of a trip sent, by the engine or by its caller.
    pub(crate) fn notify(&self) {
        match self.delivery {
            Delivery::Inline => self.deliver_notifications(),
            Delivery::Deferred => self.has_deferred.set(true),
        }
    }

    /// Decides inside the store's transaction. The clock is read here, under the writers' lock, so that moments are in
    /// commit order.
    fn decide(&self, memory: &Memory, policy: &Policy, event: &Event) -> Result<Decision, Halt> {
        let mut decision = decide(memory, policy, &self.with_other_slices(event), self.clock.now())?;
        // The store may run the decision again, so only the last run counts.
        self.trips.replace(trips(&decision));
        if !notify::is_configured(&self.config) {
            decision.effects.retain(|effect| !is_notify(effect));
        }
        Ok(decision)
    }
}

/// The notice about a cache that another program changed.
pub(crate) fn altered_cache(path: &Path) -> String {
    format!(
        "haltline: {} was changed by another program; haltline did not use it and made it again from its sources. What is \
         OPEN stays OPEN.",
        path.display()
    )
}

pub(crate) fn is_notify(effect: &Effect) -> bool {
    matches!(effect, Effect::Notify { .. })
}
