//! The phase family once more, naively, from SPEC.md: it keeps everything that ever happened and works out each count
//! from the whole list. It shares nothing with the core but the moments, the words and the numbers of the defaults.

use std::collections::BTreeMap;

use haltline_core::Moment;
use haltline_core::phase::{Joining, Source};

use crate::phase_acts::{Act, Told};

/// Limits as the reference knows them.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Ralph's limits come with its events: 3 and 5, denials, a cooldown.
    pub is_ralph: bool,
}

const COOLDOWN_MS: u64 = 1_800_000;

/// Everything that happened, with what it came to.
#[derive(Clone, Debug)]
pub struct History {
    patience: Patience,
    past: Vec<Meaning>,
}

/// What a thing that happened amounted to.
#[derive(Clone, Debug)]
struct Meaning {
    kind: Kind,
    /// The state afterwards.
    state: State,
    phase: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A run or a phase begins; `bool`: a run.
    Entered(bool),
    /// A person closed it.
    Closed,
    /// An iteration was announced.
    Started { number: u64, tree: Option<u8> },
    /// An iteration ended and was judged.
    Judged { number: u64, told: Told, progress: bool, neutral: bool },
    /// An iteration ended that began before a person closed the circuit.
    Stale { number: u64 },
    /// An iteration ended while nothing may go on.
    Ignored { number: u64 },
    /// Nothing of the sort.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Warned,
    Open { since: Moment },
    Aborted,
    Done,
}

/// What there is to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub word: &'static str,
    pub no_progress: u32,
    pub same_error: u32,
    pub phase: Option<&'static str>,
    pub iteration: u64,
}

impl History {
    pub fn new(patience: Patience) -> Self {
        Self { patience, past: Vec::new() }
    }

    /// Something happens; answers the word of the verdict.
    pub fn happen(&mut self, act: &Act, at: Moment) -> &'static str {
        let is_known = !self.past.is_empty();
        let phase = self.past.last().and_then(|last| last.phase);
        let mut state = self.state(at);
        let was_open = matches!(self.past.last().map(|last| last.state), Some(State::Open { .. }));
        if was_open && state == State::Warned {
            self.past.push(Meaning { kind: Kind::Other, state, phase });
        }
        match act {
            Act::Wait(_) | Act::StepWall(_) | Act::Reboot | Act::Found { .. } | Act::Finish(_) => {
                unreachable!("the reference knows no {act:?}")
            }
            Act::Ask => {}
            Act::Start { .. } if !is_known => return "rejected",
            Act::Start { tree } => {
                if matches!(state, State::Closed | State::Warned) {
                    let number = self.iteration() + 1;
                    self.past.push(Meaning { kind: Kind::Started { number, tree: *tree }, state, phase });
                }
            }
            Act::Begin { phase: wanted, joining, by_person } => {
                let is_run = match (state, joining) {
                    (State::Open { .. }, _) => None,
                    (State::Aborted, _) => by_person.then_some(true),
                    (State::Done, _) | (_, Joining::New) => Some(true),
                    (State::Closed | State::Warned, Joining::Resumed) if is_known => None,
                    (State::Closed | State::Warned, Joining::Same) if is_known && phase == Some(wanted) => None,
                    (State::Closed | State::Warned, Joining::Same) if is_known => Some(false),
                    (State::Closed | State::Warned, Joining::Same | Joining::Resumed) => Some(true),
                };
                if let Some(is_run) = is_run {
                    self.enter(wanted, is_run);
                } else if is_known && *joining == Joining::Resumed && matches!(state, State::Closed | State::Warned) {
                    // The iteration that was cut off is under way no more.
                    let number = self.iteration();
                    self.past.push(Meaning { kind: Kind::Ignored { number }, state, phase });
                }
            }
            Act::Report(told) => match state {
                State::Aborted | State::Done => return "rejected",
                State::Open { .. } => {
                    let number = self.iteration();
                    self.past.push(Meaning { kind: Kind::Ignored { number }, state, phase });
                }
                State::Closed | State::Warned => {
                    match (told.phase, phase) {
                        (Some(named), Some(current)) if named != current => {
                            self.enter(named, false);
                        }
                        (Some(named), None) => self.enter(named, true),
                        (None, None) => return "rejected",
                        (Some(_) | None, Some(_)) => {}
                    }
                    self.judge(at, told);
                }
            },
            Act::Reset | Act::Skip | Act::Abort | Act::Modify => {
                if !is_known {
                    return "rejected";
                }
                state = match (state, act) {
                    (State::Aborted | State::Done, _) => return "rejected",
                    (_, Act::Abort) => State::Aborted,
                    (_, Act::Skip) => match next(phase) {
                        Some(next) => {
                            let is_underway = self.is_underway();
                            self.enter(next, false);
                            if is_underway {
                                // It may still end, in a phase that it does not belong to.
                                let kind = Kind::Started { number: 0, tree: None };
                                self.past.push(Meaning { kind, state: State::Closed, phase: Some(next) });
                                self.past.push(Meaning { kind: Kind::Closed, state: State::Closed, phase: Some(next) });
                            }
                            return self.word(at);
                        }
                        None => State::Done,
                    },
                    (_, _closing) => State::Closed,
                };
                let kind = if state == State::Aborted { Kind::Other } else { Kind::Closed };
                let kind = if state == State::Aborted { self.interrupted(kind) } else { kind };
                self.past.push(Meaning { kind, state, phase });
            }
            Act::AutoReset => {
                // Also one whose cooldown is over and nobody has looked since.
                if was_open {
                    self.past.push(Meaning { kind: Kind::Closed, state: State::Closed, phase });
                }
            }
        }
        self.word(at)
    }

    /// An abort ends the iteration that is under way, and keeps its number.
    fn interrupted(&self, otherwise: Kind) -> Kind {
        if self.is_underway() { Kind::Ignored { number: self.iteration() } } else { otherwise }
    }

    fn enter(&mut self, phase: &'static str, is_run: bool) {
        self.past.push(Meaning { kind: Kind::Entered(is_run), state: State::Closed, phase: Some(phase) });
    }

    /// `None` where nothing ever happened.
    pub fn outlook(&self, now: Moment) -> Option<Outlook> {
        let phase = self.past.last()?.phase;
        let word = match self.state(now) {
            State::Closed => "CLOSED",
            State::Warned => "HALF_OPEN",
            State::Open { .. } => "OPEN",
            State::Aborted | State::Done => "OVER",
        };
        let (no_progress, same_error) = (self.no_progress(), self.same_error());
        Some(Outlook { word, no_progress, same_error, phase, iteration: self.iteration() })
    }

    fn word(&self, now: Moment) -> &'static str {
        match self.state(now) {
            State::Closed => "pass",
            State::Warned => "warn",
            State::Open { .. } | State::Aborted | State::Done => "stop",
        }
    }

    /// The state now: Ralph's circuits are monitored again after their cooldown.
    fn state(&self, now: Moment) -> State {
        match self.past.last().map(|last| last.state) {
            Some(State::Open { since }) if self.patience.is_ralph && elapsed(now, since) >= COOLDOWN_MS => {
                State::Warned
            }
            Some(state) => state,
            None => State::Closed,
        }
    }

    /// What happened since the counters last began anew, newest first.
    fn since_counted(&self) -> impl Iterator<Item = &Meaning> {
        self.past.iter().rev().take_while(|meaning| !matches!(meaning.kind, Kind::Entered(_) | Kind::Closed))
    }

    /// The iterations that count, newest first, with whether they helped.
    fn counted(&self) -> impl Iterator<Item = (&Told, bool)> {
        self.since_counted().filter_map(|meaning| match &meaning.kind {
            Kind::Judged { told, progress, neutral: false, .. } => Some((told, *progress)),
            _other => None,
        })
    }

    fn no_progress(&self) -> u32 {
        count(self.counted().take_while(|(_, progress)| !progress).count())
    }

    /// P3: the newest error and how often it came in a row.
    fn same_error(&self) -> u32 {
        let errors: Vec<Option<u8>> = self.counted().map(|(told, _)| told.error.map(|(which, _)| which)).collect();
        match errors.first() {
            Some(Some(newest)) => count(errors.iter().take_while(|error| **error == Some(*newest)).count()),
            Some(None) | None => 0,
        }
    }

    /// P4: a neutral iteration neither counts nor resets, also where denials are counted.
    fn denials(&self) -> u32 {
        let judged = self.since_counted().filter_map(|meaning| match &meaning.kind {
            Kind::Judged { told, neutral, .. } if told.denied || !neutral => Some(told.denied),
            _other => None,
        });
        count(judged.take_while(|denied| *denied).count())
    }

    fn neutral(&self) -> u32 {
        let judged = self.since_counted().filter_map(|meaning| match &meaning.kind {
            Kind::Judged { neutral, .. } => Some(*neutral),
            _other => None,
        });
        count(judged.take_while(|neutral| *neutral).count())
    }

    /// The number of the newest iteration of this phase.
    fn iteration(&self) -> u64 {
        for meaning in self.past.iter().rev() {
            match &meaning.kind {
                Kind::Started { number, .. }
                | Kind::Judged { number, .. }
                | Kind::Stale { number }
                | Kind::Ignored { number } => {
                    return *number;
                }
                Kind::Entered(_) => return 0,
                Kind::Closed | Kind::Other => {}
            }
        }
        0
    }

    fn is_underway(&self) -> bool {
        let newest = self.past.iter().rev().find(|meaning| !matches!(meaning.kind, Kind::Other | Kind::Closed));
        newest.is_some_and(|meaning| matches!(meaning.kind, Kind::Started { .. }))
    }

    /// E12: the iteration under way began before a person closed the circuit.
    fn is_stale(&self) -> bool {
        let newest = self.past.iter().rev().find(|meaning| !matches!(meaning.kind, Kind::Other));
        self.is_underway() && newest.is_some_and(|meaning| matches!(meaning.kind, Kind::Closed))
    }

    fn number(&self, told: &Told) -> u64 {
        told.iteration.unwrap_or_else(|| self.iteration() + u64::from(!self.is_underway()))
    }

    fn judge(&mut self, at: Moment, told: &Told) {
        let phase = self.past.last().and_then(|last| last.phase);
        let progress = self.is_progress(phase.unwrap_or("SPIKE"), told);
        let neutral = told.neutral && !progress;
        let (number, before) = (self.number(told), self.state(at));
        if self.is_stale() {
            self.past.push(Meaning { kind: Kind::Stale { number }, state: before, phase });
            return;
        }
        let kind = Kind::Judged { number, told: told.clone(), progress, neutral };
        self.past.push(Meaning { kind, state: before, phase });
        let state = self.settled(at, before, progress, neutral, phase.unwrap_or("SPIKE"));
        self.past.last_mut().expect("just pushed").state = state;
    }

    fn settled(&self, at: Moment, before: State, progress: bool, neutral: bool, phase: &str) -> State {
        let open = State::Open { since: at };
        if self.patience.is_ralph && self.denials() >= 2 {
            return open;
        }
        if neutral {
            let is_limited = phase == "LOOP" && !self.patience.is_ralph;
            return if is_limited && self.neutral() >= 10 { open } else { before };
        }
        let (without_progress, same_error) = self.thresholds(phase);
        let no_progress = self.no_progress();
        match () {
            () if no_progress >= without_progress || self.same_error() >= same_error => open,
            () if progress => State::Closed,
            () if no_progress >= 2 => State::Warned,
            () => before,
        }
    }

    fn thresholds(&self, phase: &str) -> (u32, u32) {
        match phase {
            _any if self.patience.is_ralph => (3, 5),
            "GREEN" => (2, 3),
            "REFACTOR" => (5, 5),
            "QA" => (3, 3),
            _other => (3, 5),
        }
    }

    /// The numbers that were told since the run began, newest first, of iterations of this phase that counted.
    fn last(&self, phase: &str, name: &str) -> Option<u64> {
        let run = self.past.iter().rev().take_while(|meaning| !matches!(meaning.kind, Kind::Entered(true)));
        run.filter(|meaning| meaning.phase == Some(phase)).find_map(|meaning| match &meaning.kind {
            Kind::Judged { told, neutral: false, .. } => number(told, name),
            _other => None,
        })
    }

    fn is_progress(&self, phase: &str, told: &Told) -> bool {
        let higher = |name: &str| number(told, name).is_some_and(|now| now > self.last(phase, name).unwrap_or(0));
        let lower =
            |name: &str| number(told, name).is_some_and(|now| self.last(phase, name).is_none_or(|then| now < then));
        let total = |of: &dyn Fn(&str) -> Option<u64>| Some(of("tests_passing")? + of("tests_failing")?);
        let is_same_total = total(&|name| number(told, name)) == total(&|name| self.last(phase, name));
        let is_first = self.last(phase, "tests_failing").is_none();
        let tests = higher("tests_passing") || (lower("tests_failing") && (is_first || is_same_total));
        let by_numbers = match phase {
            "RED" => higher("tests_generated") || higher("criteria_covered"),
            "GREEN" => tests,
            "REFACTOR" => higher("patterns_applied") || lower("complexity_score"),
            "DOCUMENT" => higher("docs_generated") || higher("diagrams_valid"),
            "QA" => higher("tests_passing") || lower("findings"),
            "LOOP" => false,
            _unknown => told.numbers.iter().any(|(name, _)| higher(name)),
        };
        let weigh = |(source, count): &(Source, u64)| match source {
            _none if *count == 0 => 0,
            Source::Status => 1,
            Source::Tests | Source::Caller => 2,
            _of_tree if self.is_undone(told.tree) => 0,
            _of_tree => 2,
        };
        let own = if phase == "LOOP" && tests { 2 } else { 0 };
        // A sign that is told twice is one sign, and so are tests that were told and seen.
        let mut signs: BTreeMap<Source, u64> = BTreeMap::new();
        for signal in &told.signals {
            let sign = signs.entry(signal.0).or_default();
            *sign = (*sign).max(weigh(signal));
        }
        let sign = signs.entry(Source::Tests).or_default();
        *sign = (*sign).max(own);
        by_numbers || signs.values().sum::<u64>() >= 2
    }

    /// The tree is as it was before, but not as it was last.
    fn is_undone(&self, tree: Option<u8>) -> bool {
        let run = self.past.iter().rev().take_while(|meaning| !matches!(meaning.kind, Kind::Entered(true)));
        let mut trees = run.filter_map(|meaning| match &meaning.kind {
            Kind::Started { tree, .. } => *tree,
            Kind::Judged { told, neutral: false, .. } => told.tree,
            _other => None,
        });
        let last = trees.next();
        tree.is_some() && last != tree && trees.any(|known| Some(known) == tree)
    }
}

fn number(told: &Told, name: &str) -> Option<u64> {
    // The last of two numbers under one name is the one that was told.
    told.numbers.iter().rev().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

fn next(phase: Option<&str>) -> Option<&'static str> {
    match phase? {
        "RED" => Some("GREEN"),
        "GREEN" => Some("REFACTOR"),
        "REFACTOR" => Some("DOCUMENT"),
        _last => None,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("short histories")
}

/// Elapsed milliseconds within one boot.
fn elapsed(now: Moment, then: Moment) -> u64 {
    match (now.boot, then.boot) {
        (Some(now), Some(then)) => now.uptime_ms - then.uptime_ms,
        _unread => unreachable!("the machines of these histories have boot clocks"),
    }
}
