//! A small model of the commit protocol (E1, E2): processes that each record one violation on one circuit, interleaved
//! in every possible way, each of which may die before any of its steps.
//!
//! The decision is the real one (`haltline_core::decide` and `apply`); the model covers which process reads and writes
//! when. Rows and facts are kept as JSON, as the stores keep them, so that states can be compared and hashed.
//! Time stands still: only the order of steps matters here. `tests/it/commit_protocol.rs` says which [`Protocol`] keeps
//! which promise.

use haltline_core::constraint::{Circuit, ConstraintEvent, Limits, Rule, RuleFile, Source};
use haltline_core::{
    CircuitName, ConstraintId, Event, Fact, Instant, Memory, Moment, Policy, Recorded, State, apply, decide,
};
use stateright::{Model, Property};

/// How a decision reaches the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A process takes a lock before the read and keeps it until it has written facts and state together: the SQLite
    /// store.
    Locked,
    /// No lock: a process writes facts and state together if the row is still the one that it read, else it starts
    /// over: the in-memory store.
    CompareAndSwap,
    /// No lock and no comparison: read, decide, write. Breakers that get and then set work like this.
    Blind,
    /// A lock, but facts and state are two separate writes.
    LockedInTwoWrites,
}

/// Properties that must hold in every interleaving, and two that must be possible.
pub mod promise {
    /// Each acknowledged record is in the journal once and in the totals once; others at most once.
    pub const COUNTED_ONCE: &str = "every acknowledged record is counted exactly once";
    /// No second trip, and so no second incident.
    pub const TRIPS_ONCE: &str = "the circuit does not trip twice";
    /// The violation that reaches the threshold trips the circuit: none before it, none after it.
    pub const TRIPS_AT_THRESHOLD: &str = "the circuit trips at its threshold";
    /// While no process is writing, the state is the fold of the facts.
    pub const NO_HALF_COMMIT: &str = "facts and state are committed together";
    /// Until all processes have answered or died, at least one can continue.
    pub const NOBODY_BLOCKED: &str = "a dead process holds nobody up";
    /// Possible: all processes finish.
    pub const ALL_ANSWERED: &str = "all processes answer";
    /// Possible: the write is on disk, but the process died before it answered.
    pub const DIED_UNANSWERED: &str = "a process dies between commit and answer";
}

#[derive(Clone, Debug)]
pub struct CommitProtocol {
    pub protocol: Protocol,
    pub processes: usize,
    /// The number of violations that trip the circuit.
    pub threshold: u32,
}

/// The complete state at one point of a history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub processes: Vec<Process>,
    /// The process that holds the lock.
    pub lock: Option<usize>,
    pub disk: Disk,
}

/// What survives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Disk {
    /// Incremented with each write of the row.
    pub version: u64,
    /// The circuit, as JSON.
    pub row: Option<String>,
    /// The facts; the journal is append-only.
    pub journal: Vec<JournalEntry>,
}

/// A fact, and the process that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JournalEntry {
    pub process: usize,
    /// The stable name of the fact.
    pub name: &'static str,
    /// The fact, as JSON.
    pub fact: String,
}

/// The state of a process, with what it remembers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Process {
    /// It has a violation to record.
    Waiting,
    /// It holds the lock and has read nothing yet.
    Holding,
    /// It has read the row.
    Read { version: u64, row: Option<String> },
    /// It has decided what to write.
    Decided {
        /// The version of the row that it decided on.
        version: u64,
        facts: Vec<JournalEntry>,
        /// The row after the facts.
        row: String,
    },
    /// Its facts are written, its row is not.
    HalfWritten { row: String },
    /// Everything is written, but it has not answered yet.
    Committed,
    /// The caller has its answer.
    Answered,
    /// It was killed.
    Dead,
}

/// One step of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessStep {
    Lock(usize),
    Read(usize),
    Decide(usize),
    /// Writes what it decided, or finds that it must start over.
    Write(usize),
    /// Writes the row after the facts.
    WriteRow(usize),
    Answer(usize),
    /// It is killed; the operating system releases its lock.
    Die(usize),
}

impl CommitProtocol {
    fn is_locked(&self) -> bool {
        match self.protocol {
            Protocol::Locked | Protocol::LockedInTwoWrites => true,
            Protocol::CompareAndSwap | Protocol::Blind => false,
        }
    }

    fn next_step(&self, world: &World, process: usize) -> Option<ProcessStep> {
        match &world.processes[process] {
            Process::Waiting if self.is_locked() => world.lock.is_none().then_some(ProcessStep::Lock(process)),
            Process::Waiting | Process::Holding => Some(ProcessStep::Read(process)),
            Process::Read { .. } => Some(ProcessStep::Decide(process)),
            Process::Decided { .. } => Some(ProcessStep::Write(process)),
            Process::HalfWritten { .. } => Some(ProcessStep::WriteRow(process)),
            Process::Committed => Some(ProcessStep::Answer(process)),
            Process::Answered | Process::Dead => None,
        }
    }

    /// The real decision on the row that was read: the facts, and the row after them.
    fn decide(&self, process: usize, row: Option<&str>) -> (Vec<JournalEntry>, String) {
        let id = ConstraintId::parse("force-push").expect("a valid id");
        let name = CircuitName::constraint(&id);
        let limits =
            Limits { violation_threshold: self.threshold, window_days: 30, cooldown_hours: 24, dedup_seconds: 0 };
        let source = Source { path: "docs/constraints/force-push.md".to_owned(), digest: String::new() };
        let seen = Some(RuleFile { rule: Rule { limits, guards: Vec::new() }, source, created: None });
        let session = Some(format!("process-{process}"));
        let violation = ConstraintEvent::Violation { action: "git push --force".to_owned() };
        let event = Event::Constraint { id, session, file: seen, event: violation };
        let mut memory = Memory::default();
        let mut state = row.map(parse_state);
        memory.insert(name, state.clone());
        let Ok(decision) = decide(&memory, &Policy::default(), &event, now()) else {
            unreachable!("the row was read, and a violation of a known constraint is always taken")
        };
        for recorded in &decision.facts {
            state = Some(apply(state, &recorded.fact, recorded.at));
        }
        let facts = decision.facts.iter().map(|Recorded { fact, .. }| JournalEntry {
            process,
            name: fact.as_str(),
            fact: to_json(fact),
        });
        (facts.collect(), to_json(&state.expect("a violation is at least one fact")))
    }

    fn write(&self, world: &mut World, process: usize) {
        let Process::Decided { version, facts, row } = world.processes[process].clone() else { return };
        if self.protocol == Protocol::CompareAndSwap && world.disk.version != version {
            world.processes[process] = Process::Waiting;
            return;
        }
        world.disk.journal.extend(facts);
        if self.protocol == Protocol::LockedInTwoWrites {
            world.processes[process] = Process::HalfWritten { row };
        } else {
            world.write_row(process, row);
        }
    }
}

impl World {
    fn write_row(&mut self, process: usize, row: String) {
        self.disk.version += 1;
        self.disk.row = Some(row);
        self.processes[process] = Process::Committed;
        self.unlock(process);
    }

    fn unlock(&mut self, process: usize) {
        if self.lock == Some(process) {
            self.lock = None;
        }
    }
}

impl World {
    fn is_over(&self) -> bool {
        self.processes.iter().all(|process| matches!(process, Process::Answered | Process::Dead))
    }

    fn answered(&self) -> usize {
        self.processes.iter().filter(|process| **process == Process::Answered).count()
    }

    fn counts_once(&self) -> bool {
        let is_counted = |(process, state): (usize, &Process)| {
            let written = self.disk.violations(Some(process));
            match state {
                Process::Committed | Process::Answered => written == 1,
                Process::Dead | Process::HalfWritten { .. } => written <= 1,
                Process::Waiting | Process::Holding | Process::Read { .. } | Process::Decided { .. } => written == 0,
            }
        };
        let total = usize::try_from(self.disk.circuit().totals.violations).expect("a few");
        let possible = self.answered()..=self.disk.violations(None);
        self.processes.iter().enumerate().all(is_counted) && possible.contains(&total)
    }

    fn has_died_unanswered(&self) -> bool {
        let mut states = self.processes.iter().enumerate();
        states.any(|(process, state)| *state == Process::Dead && self.disk.violations(Some(process)) == 1)
    }
}

impl Disk {
    /// The number of violation facts, of one process or of all.
    pub fn violations(&self, process: Option<usize>) -> usize {
        let mut lines: Vec<&JournalEntry> = self.journal.iter().filter(|line| is_violation(line)).collect();
        lines.retain(|line| process.is_none_or(|process| process == line.process));
        lines.len()
    }

    /// For each trip in the journal, the number of violations before it.
    pub fn trips(&self) -> Vec<usize> {
        let trips = self.journal.iter().enumerate().filter(|(_, line)| line.name == "tripped");
        trips.map(|(index, _)| self.journal[..index].iter().filter(|line| is_violation(line)).count()).collect()
    }

    /// The circuit in the row; the default one if there is no row.
    pub fn circuit(&self) -> Circuit {
        self.row.as_deref().map(parse_state).as_ref().and_then(State::as_constraint).cloned().unwrap_or_default()
    }

    fn folded(&self) -> Circuit {
        let fold = |state, line: &JournalEntry| {
            let fact: Fact = serde_json::from_str(&line.fact).expect("written by us");
            Some(apply(state, &fact, now()))
        };
        let state = self.journal.iter().fold(None, fold);
        state.as_ref().and_then(State::as_constraint).cloned().unwrap_or_default()
    }
}

fn is_violation(line: &JournalEntry) -> bool {
    line.name.starts_with("violated")
}

impl Model for CommitProtocol {
    type State = World;
    type Action = ProcessStep;

    fn init_states(&self) -> Vec<World> {
        vec![World { processes: vec![Process::Waiting; self.processes], lock: None, disk: Disk::default() }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<ProcessStep>) {
        for (process, state) in world.processes.iter().enumerate() {
            steps.extend(self.next_step(world, process));
            if !matches!(state, Process::Answered | Process::Dead) {
                steps.push(ProcessStep::Die(process));
            }
        }
    }

    fn next_state(&self, world: &World, step: ProcessStep) -> Option<World> {
        let mut next = world.clone();
        match step {
            ProcessStep::Lock(process) => {
                next.lock = Some(process);
                next.processes[process] = Process::Holding;
            }
            ProcessStep::Read(process) => {
                let Disk { version, row, .. } = world.disk.clone();
                next.processes[process] = Process::Read { version, row };
            }
            ProcessStep::Decide(process) => {
                let Process::Read { version, row } = &world.processes[process] else { return None };
                let (facts, row) = self.decide(process, row.as_deref());
                next.processes[process] = Process::Decided { version: *version, facts, row };
            }
            ProcessStep::Write(process) => self.write(&mut next, process),
            ProcessStep::WriteRow(process) => {
                let Process::HalfWritten { row } = &world.processes[process] else { return None };
                next.write_row(process, row.clone());
            }
            ProcessStep::Answer(process) => next.processes[process] = Process::Answered,
            ProcessStep::Die(process) => {
                next.processes[process] = Process::Dead;
                next.unlock(process);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always(promise::COUNTED_ONCE, |_, world| world.counts_once()),
            Property::<Self>::always(promise::TRIPS_ONCE, |_, world| world.disk.trips().len() <= 1),
            Property::<Self>::always(promise::TRIPS_AT_THRESHOLD, |model, world| {
                let threshold = model.threshold as usize;
                let due = (world.disk.violations(None) >= threshold).then_some(threshold);
                world.disk.trips().first().copied() == due
            }),
            Property::<Self>::always(promise::NO_HALF_COMMIT, |_, world| {
                world.lock.is_some() || world.disk.circuit() == world.disk.folded()
            }),
            Property::<Self>::always(promise::NOBODY_BLOCKED, |model, world| {
                let can_go_on = |process| model.next_step(world, process).is_some();
                world.is_over() || (0..world.processes.len()).any(can_go_on)
            }),
            Property::<Self>::sometimes(promise::ALL_ANSWERED, |_, world| world.answered() == world.processes.len()),
            Property::<Self>::sometimes(promise::DIED_UNANSWERED, |_, world| world.has_died_unanswered()),
        ]
    }
}

/// The instant at which everything happens.
fn now() -> Moment {
    Moment::from_wall_clock(Instant::from_millis(1_770_890_400_000))
}

fn parse_state(text: &str) -> State {
    serde_json::from_str(text).expect("written by us")
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("facts and states hold nothing that JSON cannot")
}
