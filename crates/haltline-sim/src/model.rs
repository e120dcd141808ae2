//! The commit protocol in the small (E1, E2): processes that each record one violation on one circuit, interleaved
//! in every way, each of which may die before any of its steps.
//!
//! The decision is the real one (`haltline_core::decide` and `apply`); what is modelled is who reads and writes
//! when. Rows and facts are kept as their JSON, as the stores keep them, so that states can be compared and hashed.
//! Time stands still: the order of steps is all that matters here. `tests/commit_protocol.rs` says which
//! [`Protocol`] keeps which promise.

use haltline_core::constraint::{Circuit, Happening, Limits, Rule, Seen, Source};
use haltline_core::{
    CircuitName, ConstraintId, Event, Fact, Instant, Memory, Moment, Policy, Recorded, State, Step, apply, decide,
};
use stateright::{Model, Property};

/// How what was decided reaches the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A lock is held from before the read until facts and state are written together: the SQLite store.
    Locked,
    /// No lock: facts and state are written together if the row is still the one that was read, else everything
    /// begins anew: the in-memory store.
    CompareAndSwap,
    /// No lock, no comparison: read, decide, write. What breakers do that get, then set.
    Blind,
    /// A lock, but facts and state are two writes.
    LockedInTwoWrites,
}

/// What never happens, whatever the interleaving.
pub mod promise {
    /// Each acknowledged record stands in the journal once and in the totals once; others at most once.
    pub const COUNTED_ONCE: &str = "every acknowledged record is counted exactly once";
    /// No second trip, and so no second incident.
    pub const TRIPS_ONCE: &str = "the circuit does not trip twice";
    /// The violation that reaches the threshold trips: none before, none later.
    pub const TRIPS_AT_THRESHOLD: &str = "the circuit trips at its threshold";
    /// Where nobody is writing, the state is the fold of the facts.
    pub const NO_HALF_COMMIT: &str = "facts and state are committed together";
    /// Until all have answered or died, somebody can go on.
    pub const NOBODY_STUCK: &str = "a dead process holds nobody up";
    /// Possible: all go through.
    pub const ALL_ANSWERED: &str = "all processes answer";
    /// Possible: the write is there, the answer is not.
    pub const DIED_UNANSWERED: &str = "a process dies between commit and answer";
}

/// The protocol under test.
#[derive(Clone, Debug)]
pub struct CommitProtocol {
    /// How it is written.
    pub protocol: Protocol,
    /// How many processes record.
    pub processes: usize,
    /// How many violations trip the circuit.
    pub threshold: u32,
}

/// Everything there is at one point of a history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Where each process stands.
    pub processes: Vec<Process>,
    /// Who holds the lock.
    pub lock: Option<usize>,
    /// What survives a crash.
    pub disk: Disk,
}

/// What survives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Disk {
    /// Rises with each write of the row.
    pub version: u64,
    /// The circuit.
    pub row: Option<String>,
    /// The facts; only ever added to.
    pub journal: Vec<Line>,
}

/// A fact, and the process that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// Which process.
    pub process: usize,
    /// The word for the fact.
    pub word: &'static str,
    /// The fact.
    pub fact: String,
}

/// Where a process stands, with what it remembers there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Process {
    /// It has a violation to record.
    Waiting,
    /// It holds the lock and has read nothing yet.
    Holding,
    /// It knows the row as it was.
    Read {
        /// The row's version then.
        version: u64,
        /// The row then.
        row: Option<String>,
    },
    /// It knows what to write.
    Decided {
        /// The version of the row it decided on.
        version: u64,
        /// The facts.
        facts: Vec<Line>,
        /// The row after them.
        row: String,
    },
    /// Its facts are written, its row is not.
    HalfWritten {
        /// The row that is to be written.
        row: String,
    },
    /// Everything is written; nobody was told yet.
    Committed,
    /// The asker has its answer.
    Answered,
    /// Killed.
    Dead,
}

/// One step of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Takes the lock.
    Lock(usize),
    /// Reads the row.
    Read(usize),
    /// Decides on what it read.
    Decide(usize),
    /// Writes what it decided, or finds that it must begin anew.
    Write(usize),
    /// Writes the second half.
    WriteRow(usize),
    /// Answers.
    Answer(usize),
    /// Is killed; the system gives its lock back.
    Die(usize),
}

impl CommitProtocol {
    fn is_locked(&self) -> bool {
        match self.protocol {
            Protocol::Locked | Protocol::LockedInTwoWrites => true,
            Protocol::CompareAndSwap | Protocol::Blind => false,
        }
    }

    fn next_act(&self, world: &World, process: usize) -> Option<Act> {
        match &world.processes[process] {
            Process::Waiting if self.is_locked() => world.lock.is_none().then_some(Act::Lock(process)),
            Process::Waiting | Process::Holding => Some(Act::Read(process)),
            Process::Read { .. } => Some(Act::Decide(process)),
            Process::Decided { .. } => Some(Act::Write(process)),
            Process::HalfWritten { .. } => Some(Act::WriteRow(process)),
            Process::Committed => Some(Act::Answer(process)),
            Process::Answered | Process::Dead => None,
        }
    }

    /// The real decision on the row as read: the facts, and the row after them.
    fn decide(&self, process: usize, row: Option<&str>) -> (Vec<Line>, String) {
        let id = ConstraintId::parse("force-push").expect("a valid id");
        let name = CircuitName::constraint(&id);
        let limits =
            Limits { violation_threshold: self.threshold, window_days: 30, cooldown_hours: 24, dedup_seconds: 0 };
        let source = Source { path: "docs/constraints/force-push.md".to_owned(), digest: String::new() };
        let seen = Some(Seen { rule: Rule { limits, guards: Vec::new() }, source, created: None });
        let session = Some(format!("process-{process}"));
        let what = Happening::Violation { action: "git push --force".to_owned() };
        let event = Event::Constraint { id, session, seen, what };
        let mut memory = Memory::default();
        let mut state = row.map(parse_state);
        memory.insert(name, state.clone());
        let Step::Decided(decision) = decide(&memory, &Policy::default(), &event, now()) else {
            unreachable!("the row was read, and a violation of a known constraint is always taken")
        };
        for recorded in &decision.facts {
            state = Some(apply(state, &recorded.fact, recorded.at));
        }
        let facts =
            decision.facts.iter().map(|Recorded { fact, .. }| Line { process, word: fact.word(), fact: to_json(fact) });
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
        let is_counted = |(process, place): (usize, &Process)| {
            let written = self.disk.violations(Some(process));
            match place {
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
        let mut places = self.processes.iter().enumerate();
        places.any(|(process, place)| *place == Process::Dead && self.disk.violations(Some(process)) == 1)
    }
}

impl Disk {
    /// The facts of violations, of one process or of all.
    pub fn violations(&self, of: Option<usize>) -> usize {
        let mut lines: Vec<&Line> = self.journal.iter().filter(|line| is_violation(line)).collect();
        lines.retain(|line| of.is_none_or(|of| of == line.process));
        lines.len()
    }

    /// For each trip in the journal, how many violations stand before it.
    pub fn trips(&self) -> Vec<usize> {
        let places = self.journal.iter().enumerate().filter(|(_, line)| line.word == "tripped");
        places.map(|(place, _)| self.journal[..place].iter().filter(|line| is_violation(line)).count()).collect()
    }

    /// The circuit in the row; the default one where there is none.
    pub fn circuit(&self) -> Circuit {
        self.row.as_deref().map(parse_state).as_ref().and_then(State::as_constraint).cloned().unwrap_or_default()
    }

    fn folded(&self) -> Circuit {
        let fold = |state, line: &Line| {
            let fact: Fact = serde_json::from_str(&line.fact).expect("written by us");
            Some(apply(state, &fact, now()))
        };
        let state = self.journal.iter().fold(None, fold);
        state.as_ref().and_then(State::as_constraint).cloned().unwrap_or_default()
    }
}

fn is_violation(line: &Line) -> bool {
    line.word.starts_with("violated")
}

impl Model for CommitProtocol {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World { processes: vec![Process::Waiting; self.processes], lock: None, disk: Disk::default() }]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        for (process, place) in world.processes.iter().enumerate() {
            acts.extend(self.next_act(world, process));
            if !matches!(place, Process::Answered | Process::Dead) {
                acts.push(Act::Die(process));
            }
        }
    }

    fn next_state(&self, world: &World, act: Act) -> Option<World> {
        let mut next = world.clone();
        match act {
            Act::Lock(process) => {
                next.lock = Some(process);
                next.processes[process] = Process::Holding;
            }
            Act::Read(process) => {
                let Disk { version, row, .. } = world.disk.clone();
                next.processes[process] = Process::Read { version, row };
            }
            Act::Decide(process) => {
                let Process::Read { version, row } = &world.processes[process] else { return None };
                let (facts, row) = self.decide(process, row.as_deref());
                next.processes[process] = Process::Decided { version: *version, facts, row };
            }
            Act::Write(process) => self.write(&mut next, process),
            Act::WriteRow(process) => {
                let Process::HalfWritten { row } = &world.processes[process] else { return None };
                next.write_row(process, row.clone());
            }
            Act::Answer(process) => next.processes[process] = Process::Answered,
            Act::Die(process) => {
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
            Property::<Self>::always(promise::NOBODY_STUCK, |model, world| {
                let can_go_on = |process| model.next_act(world, process).is_some();
                world.is_over() || (0..world.processes.len()).any(can_go_on)
            }),
            Property::<Self>::sometimes(promise::ALL_ANSWERED, |_, world| world.answered() == world.processes.len()),
            Property::<Self>::sometimes(promise::DIED_UNANSWERED, |_, world| world.has_died_unanswered()),
        ]
    }
}

/// The instant at which everything happens.
fn now() -> Moment {
    Moment::recorded(Instant::from_millis(1_770_890_400_000))
}

fn parse_state(text: &str) -> State {
    serde_json::from_str(text).expect("written by us")
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("facts and states hold nothing that JSON cannot")
}
