//! A naive second implementation of the phase breaker, written from SPEC.md: it keeps every event and computes each
//! count from the whole list. It shares only the moments, the event types and the default limits with the core.

use std::collections::BTreeMap;

use haltline_core::Moment;
use haltline_core::phase::{Joining, Source};

use crate::phase::acts::{Act, IterationInput};

/// The limits that the reference applies.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceLimits {
    /// Ralph's limits come with its events: 3 and 5, permission denials, a cooldown.
    pub is_ralph: bool,
}

const COOLDOWN_MS: u64 = 1_800_000;

/// Every event so far, with its effect.
#[derive(Clone, Debug)]
pub struct History {
    limits: ReferenceLimits,
    events: Vec<RecordedEvent>,
}

/// The effect of one event.
#[derive(Clone, Debug)]
struct RecordedEvent {
    kind: Kind,
    /// The state afterwards.
    state: State,
    phase: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A run (`true`) or a phase begins.
    Entered(bool),
    /// A person closed the circuit.
    Closed,
    /// The start of an iteration was recorded.
    Started {
        number: u64,
        tree: Option<u8>,
    },
    /// An iteration ended and was evaluated.
    Evaluated {
        number: u64,
        input: IterationInput,
        progress: bool,
        neutral: bool,
    },
    /// An iteration ended that began before a person closed the circuit.
    Stale {
        number: u64,
    },
    /// An iteration ended while the circuit was OPEN or was cut off.
    Ignored {
        number: u64,
    },
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

/// What a test can compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    pub state: &'static str,
    pub no_progress: u32,
    pub same_error: u32,
    pub phase: Option<&'static str>,
    pub iteration: u64,
}

impl History {
    pub fn new(limits: ReferenceLimits) -> Self {
        Self { limits, events: Vec::new() }
    }

    /// Handles an event; returns the verdict's name.
    pub fn handle(&mut self, act: &Act, at: Moment) -> &'static str {
        let is_known = !self.events.is_empty();
        let phase = self.events.last().and_then(|last| last.phase);
        let mut state = self.state(at);
        let was_open = matches!(self.events.last().map(|last| last.state), Some(State::Open { .. }));
        if was_open && state == State::Warned {
            self.events.push(RecordedEvent { kind: Kind::Other, state, phase });
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
                    self.events.push(RecordedEvent { kind: Kind::Started { number, tree: *tree }, state, phase });
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
                    // The iteration that was cut off is no longer in progress.
                    let number = self.iteration();
                    self.events.push(RecordedEvent { kind: Kind::Ignored { number }, state, phase });
                }
            }
            Act::Report(input) => match state {
                State::Aborted | State::Done => return "rejected",
                State::Open { .. } => {
                    let number = self.iteration();
                    self.events.push(RecordedEvent { kind: Kind::Ignored { number }, state, phase });
                }
                State::Closed | State::Warned => {
                    match (input.phase, phase) {
                        (Some(named), Some(current)) if named != current => {
                            self.enter(named, false);
                        }
                        (Some(named), None) => self.enter(named, true),
                        (None, None) => return "rejected",
                        (Some(_) | None, Some(_)) => {}
                    }
                    self.evaluate(at, input);
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
                                // The iteration may still end, in a phase that it does not belong to.
                                let kind = Kind::Started { number: 0, tree: None };
                                self.events.push(RecordedEvent { kind, state: State::Closed, phase: Some(next) });
                                self.events.push(RecordedEvent {
                                    kind: Kind::Closed,
                                    state: State::Closed,
                                    phase: Some(next),
                                });
                            }
                            return self.verdict_name(at);
                        }
                        None => State::Done,
                    },
                    (_, _closing) => State::Closed,
                };
                let kind = if state == State::Aborted { Kind::Other } else { Kind::Closed };
                let kind = if state == State::Aborted { self.interrupted(kind) } else { kind };
                self.events.push(RecordedEvent { kind, state, phase });
            }
            Act::AutoReset => {
                // This includes a circuit whose cooldown is over without an event since.
                if was_open {
                    self.events.push(RecordedEvent { kind: Kind::Closed, state: State::Closed, phase });
                }
            }
        }
        self.verdict_name(at)
    }

    /// An abort ends the iteration in progress and keeps its number.
    fn interrupted(&self, otherwise: Kind) -> Kind {
        if self.is_underway() { Kind::Ignored { number: self.iteration() } } else { otherwise }
    }

    fn enter(&mut self, phase: &'static str, is_run: bool) {
        self.events.push(RecordedEvent { kind: Kind::Entered(is_run), state: State::Closed, phase: Some(phase) });
    }

    /// `None` if there was no event.
    pub fn observed(&self, now: Moment) -> Option<Observed> {
        let phase = self.events.last()?.phase;
        let state = match self.state(now) {
            State::Closed => "CLOSED",
            State::Warned => "HALF_OPEN",
            State::Open { .. } => "OPEN",
            State::Aborted | State::Done => "OVER",
        };
        let (no_progress, same_error) = (self.no_progress(), self.same_error());
        Some(Observed { state, no_progress, same_error, phase, iteration: self.iteration() })
    }

    fn verdict_name(&self, now: Moment) -> &'static str {
        match self.state(now) {
            State::Closed => "pass",
            State::Warned => "warn",
            State::Open { .. } | State::Aborted | State::Done => "stop",
        }
    }

    /// The state now: a circuit with a cooldown (Ralph's) is HALF_OPEN after it.
    fn state(&self, now: Moment) -> State {
        match self.events.last().map(|last| last.state) {
            Some(State::Open { since }) if self.limits.is_ralph && elapsed(now, since) >= COOLDOWN_MS => State::Warned,
            Some(state) => state,
            None => State::Closed,
        }
    }

    /// The events since the counts last restarted, newest first.
    fn since_counted(&self) -> impl Iterator<Item = &RecordedEvent> {
        self.events.iter().rev().take_while(|event| !matches!(event.kind, Kind::Entered(_) | Kind::Closed))
    }

    /// The iterations that count, newest first, with whether they made progress.
    fn counted(&self) -> impl Iterator<Item = (&IterationInput, bool)> {
        self.since_counted().filter_map(|event| match &event.kind {
            Kind::Evaluated { input, progress, neutral: false, .. } => Some((input, *progress)),
            _other => None,
        })
    }

    fn no_progress(&self) -> u32 {
        count(self.counted().take_while(|(_, progress)| !progress).count())
    }

    /// P3: how often the newest error occurred in a row.
    fn same_error(&self) -> u32 {
        let errors: Vec<Option<u8>> = self.counted().map(|(input, _)| input.error.map(|(which, _)| which)).collect();
        match errors.first() {
            Some(Some(newest)) => count(errors.iter().take_while(|error| **error == Some(*newest)).count()),
            Some(None) | None => 0,
        }
    }

    /// P4: a neutral iteration neither counts nor resets, also where permission denials are counted.
    fn denials(&self) -> u32 {
        let evaluated = self.since_counted().filter_map(|event| match &event.kind {
            Kind::Evaluated { input, neutral, .. } if input.denied || !neutral => Some(input.denied),
            _other => None,
        });
        count(evaluated.take_while(|denied| *denied).count())
    }

    fn neutral(&self) -> u32 {
        let evaluated = self.since_counted().filter_map(|event| match &event.kind {
            Kind::Evaluated { neutral, .. } => Some(*neutral),
            _other => None,
        });
        count(evaluated.take_while(|neutral| *neutral).count())
    }

    /// The number of the newest iteration of this phase.
    fn iteration(&self) -> u64 {
        for event in self.events.iter().rev() {
            match &event.kind {
                Kind::Started { number, .. }
                | Kind::Evaluated { number, .. }
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
        let newest = self.events.iter().rev().find(|event| !matches!(event.kind, Kind::Other | Kind::Closed));
        newest.is_some_and(|event| matches!(event.kind, Kind::Started { .. }))
    }

    /// E12: the iteration in progress began before a person closed the circuit.
    fn is_stale(&self) -> bool {
        let newest = self.events.iter().rev().find(|event| !matches!(event.kind, Kind::Other));
        self.is_underway() && newest.is_some_and(|event| matches!(event.kind, Kind::Closed))
    }

    fn number(&self, input: &IterationInput) -> u64 {
        input.iteration.unwrap_or_else(|| self.iteration() + u64::from(!self.is_underway()))
    }

    fn evaluate(&mut self, at: Moment, input: &IterationInput) {
        let phase = self.events.last().and_then(|last| last.phase);
        let progress = self.is_progress(phase.unwrap_or("SPIKE"), input);
        let neutral = input.neutral && !progress;
        let (number, before) = (self.number(input), self.state(at));
        if self.is_stale() {
            self.events.push(RecordedEvent { kind: Kind::Stale { number }, state: before, phase });
            return;
        }
        let kind = Kind::Evaluated { number, input: input.clone(), progress, neutral };
        self.events.push(RecordedEvent { kind, state: before, phase });
        let state = self.state_after(at, before, progress, neutral, phase.unwrap_or("SPIKE"));
        self.events.last_mut().expect("just pushed").state = state;
    }

    fn state_after(&self, at: Moment, before: State, progress: bool, neutral: bool, phase: &str) -> State {
        let open = State::Open { since: at };
        if self.limits.is_ralph && self.denials() >= 2 {
            return open;
        }
        if neutral {
            let is_limited = phase == "LOOP" && !self.limits.is_ralph;
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
            _any if self.limits.is_ralph => (3, 5),
            "GREEN" => (2, 3),
            "REFACTOR" => (5, 5),
            "QA" => (3, 3),
            _other => (3, 5),
        }
    }

    /// The newest value of a metric since the run began, from iterations of this phase that counted.
    fn last_value(&self, phase: &str, name: &str) -> Option<u64> {
        let run = self.events.iter().rev().take_while(|event| !matches!(event.kind, Kind::Entered(true)));
        run.filter(|event| event.phase == Some(phase)).find_map(|event| match &event.kind {
            Kind::Evaluated { input, neutral: false, .. } => number(input, name),
            _other => None,
        })
    }

    fn is_progress(&self, phase: &str, input: &IterationInput) -> bool {
        let higher =
            |name: &str| number(input, name).is_some_and(|now| now > self.last_value(phase, name).unwrap_or(0));
        let lower = |name: &str| {
            number(input, name).is_some_and(|now| self.last_value(phase, name).is_none_or(|then| now < then))
        };
        let total =
            |value_of: &dyn Fn(&str) -> Option<u64>| Some(value_of("tests_passing")? + value_of("tests_failing")?);
        let is_same_total = total(&|name| number(input, name)) == total(&|name| self.last_value(phase, name));
        let is_first = self.last_value(phase, "tests_failing").is_none();
        let tests = higher("tests_passing") || (lower("tests_failing") && (is_first || is_same_total));
        let by_numbers = match phase {
            "RED" => higher("tests_generated") || higher("criteria_covered"),
            "GREEN" => tests,
            "REFACTOR" => higher("patterns_applied") || lower("complexity_score"),
            "DOCUMENT" => higher("docs_generated") || higher("diagrams_valid"),
            "QA" => higher("tests_passing") || lower("findings"),
            "LOOP" => false,
            _unknown => input.numbers.iter().any(|(name, _)| higher(name)),
        };
        let weigh = |(source, count): &(Source, u64)| match source {
            _none if *count == 0 => 0,
            Source::Status => 1,
            Source::Tests | Source::Caller => 2,
            _of_tree if self.is_undone(input.tree) => 0,
            _of_tree => 2,
        };
        let own = if phase == "LOOP" && tests { 2 } else { 0 };
        // Two signals of one source count once, and so do test results that were both reported and computed.
        let mut weights: BTreeMap<Source, u64> = BTreeMap::new();
        for signal in &input.signals {
            let weight = weights.entry(signal.0).or_default();
            *weight = (*weight).max(weigh(signal));
        }
        let weight = weights.entry(Source::Tests).or_default();
        *weight = (*weight).max(own);
        by_numbers || weights.values().sum::<u64>() >= 2
    }

    /// The tree has an earlier content again, but not the last one.
    fn is_undone(&self, tree: Option<u8>) -> bool {
        let run = self.events.iter().rev().take_while(|event| !matches!(event.kind, Kind::Entered(true)));
        let mut trees = run.filter_map(|event| match &event.kind {
            Kind::Started { tree, .. } => *tree,
            Kind::Evaluated { input, neutral: false, .. } => input.tree,
            _other => None,
        });
        let last = trees.next();
        tree.is_some() && last != tree && trees.any(|known| Some(known) == tree)
    }
}

fn number(input: &IterationInput, name: &str) -> Option<u64> {
    // If a metric is given twice, the last value applies.
    input.numbers.iter().rev().find(|(known, _)| *known == name).map(|(_, number)| *number)
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
