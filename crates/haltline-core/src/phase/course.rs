//! The state of a course of work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ErrorMark, Finish, Metrics, PhaseName, Spent, Weighed};
use crate::identity::Digest;
use crate::{Elapsed, Instant, Moment};

/// One run through phases, and what was counted in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// The phase one is in; unknown in a file another program wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseName>,
    /// The state.
    pub stand: Stand,
    /// Iterations of this phase.
    #[serde(default)]
    pub iteration: u64,
    /// The iteration under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underway: Option<Underway>,
    /// Iterations in a row without progress.
    #[serde(default)]
    pub no_progress: u32,
    /// Iterations in a row with the same error.
    #[serde(default)]
    pub same_error: u32,
    /// That error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorMark>,
    /// Iterations in a row with denied permissions.
    #[serde(default)]
    pub denials: u32,
    /// Neutral iterations in a row.
    #[serde(default)]
    pub neutral: u32,
    /// The last numbers of each phase.
    #[serde(default)]
    pub baselines: BTreeMap<PhaseName, Metrics>,
    /// Contents the work tree had after the last iterations, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<Digest>,
    /// What waits to be handed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Phases that were left with known failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_failures: Vec<PhaseName>,
    /// The last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Iterated>,
    /// The last iteration that made progress.
    #[serde(default)]
    pub last_progress: u64,
    /// What the run took so far.
    #[serde(default)]
    pub spent: Spent,
    /// How the last run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// How often it opened, as Ralph counts: a reset forgets it.
    #[serde(default)]
    pub opens: u64,
    /// The newest lines of seed 001's history, oldest first.
    #[serde(default)]
    pub history: Vec<HistoryLine>,
    /// When the state last changed.
    pub changed: Moment,
    /// When it was last closed by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Instant>,
    /// Over its life.
    #[serde(default)]
    pub totals: Totals,
    /// Rises with every change of state (E12).
    #[serde(default)]
    pub generation: u64,
    /// When it was last heard of.
    pub seen: Moment,
}

/// An iteration that began and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Underway {
    /// When it began.
    pub since: Moment,
    /// The generation it began in: one that ends in a later one moves nothing (E12).
    pub generation: u64,
}

/// Where a course stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// Normal.
    Closed,
    /// HALF_OPEN: warned, and still running.
    Warned,
    /// Halted.
    Open(Trip),
    /// The run is over.
    Over(Over),
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The work is done.
    Completed,
    /// The last phase was skipped.
    Skipped,
    /// A person ended it.
    Aborted,
}

/// One opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    /// Names it everywhere.
    pub incident: String,
    /// When.
    pub since: Moment,
    /// What was counted.
    pub cause: TripCause,
    /// How many.
    pub count: u32,
    /// How long it stays OPEN; `None` = until a person decides. Fixed at the trip (E3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown_ms: Option<u64>,
}

/// What opened a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TripCause {
    /// Iterations without progress.
    NoProgress,
    /// The same error.
    SameError,
    /// Denied permissions.
    Denials,
    /// Neutral iterations.
    Neutral,
    /// A state file says so, with this reason.
    Found {
        /// Its words.
        reason: String,
    },
}

impl TripCause {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            TripCause::NoProgress => "no_progress",
            TripCause::SameError => "same_error",
            TripCause::Denials => "permission_denials",
            TripCause::Neutral => "neutral",
            TripCause::Found { .. } => "state_file",
        }
    }

    /// A stable code with a page in the docs.
    pub fn code(&self) -> &'static str {
        match self {
            TripCause::NoProgress => "HL-PHASE-02",
            TripCause::SameError => "HL-PHASE-03",
            TripCause::Denials => "HL-PHASE-04",
            TripCause::Neutral => "HL-PHASE-05",
            TripCause::Found { .. } => "HL-PHASE-06",
        }
    }
}

impl Trip {
    /// When the cooldown ends, by the wall clock of the trip.
    pub fn until(&self) -> Option<Instant> {
        self.cooldown_ms.map(|millis| self.since.plus_millis(millis).at)
    }

    /// The moment the cooldown ended, if it has. One that began in the future of this clock has not (E3).
    pub fn cooled(&self, now: Moment) -> Option<Moment> {
        let cooldown_ms = self.cooldown_ms?;
        match now.since(self.since) {
            Elapsed::Known(elapsed) if elapsed >= cooldown_ms => Some(self.since.plus_millis(cooldown_ms)),
            Elapsed::Known(_) | Elapsed::Unknown => None,
        }
    }
}

/// An iteration, as it was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iterated {
    /// Its number.
    pub iteration: u64,
    /// It helped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// It says nothing about progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub neutral: bool,
    /// A permission was denied in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// It began before the state last changed, so it moves nothing (E12).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Numbers that got better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gains: Vec<String>,
    /// Its numbers.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// What was seen to change, weighed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<Weighed>,
    /// The content of the work tree afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// That content was there before: what was done is undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// Its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorMark>,
    /// What it took.
    #[serde(default)]
    pub spent: Spent,
}

/// A line of seed 001's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// When.
    pub at: Instant,
    /// What kind of thing.
    pub event: HistoryEvent,
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// In words.
    pub reason: String,
    /// The circuit opened; an abort, which files spell alike, did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_trip: bool,
    /// The iteration it belongs to.
    #[serde(default)]
    pub iteration: u64,
}

/// The kinds of lines of seed 001's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryEvent {
    /// The circuit's state changed.
    StateChange,
    /// An iteration helped.
    Progress,
    /// An iteration ended with an error.
    Error,
}

/// Over a course's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Iterations.
    pub iterations: u64,
    /// Those that helped.
    pub progress: u64,
    /// Those with an error.
    pub errors: u64,
    /// Neutral ones.
    pub neutral: u64,
    /// Asked or reported while nothing may go on.
    pub refused: u64,
    /// Openings.
    pub trips: u64,
    /// Iterations that never ended.
    pub unfinished: u64,
}

impl Course {
    /// How many lines of history are kept.
    pub const HISTORY_MAX: usize = 100;
    /// How many phases' numbers are remembered.
    pub(super) const BASELINES_MAX: usize = 16;
    /// How many contents of the work tree are remembered.
    pub(super) const TREES_MAX: usize = 16;

    /// A course nobody has heard of.
    pub fn new(at: Moment) -> Self {
        Self {
            phase: None,
            stand: Stand::Closed,
            iteration: 0,
            underway: None,
            no_progress: 0,
            same_error: 0,
            error: None,
            denials: 0,
            neutral: 0,
            baselines: BTreeMap::new(),
            trees: Vec::new(),
            guidance: None,
            known_failures: Vec::new(),
            last: None,
            last_progress: 0,
            spent: Spent::default(),
            finish: None,
            opens: 0,
            history: Vec::new(),
            changed: at,
            closed: None,
            totals: Totals::default(),
            generation: 0,
            seen: at,
        }
    }

    /// The state at a moment: a cooldown that is over has ended though nobody wrote it down yet.
    pub fn word_at(&self, now: Moment) -> &'static str {
        match &self.stand {
            Stand::Open(trip) if trip.cooled(now).is_some() => Stand::Warned.word(),
            stand @ (Stand::Closed | Stand::Warned | Stand::Open(_) | Stand::Over(_)) => stand.word(),
        }
    }

    /// The trip it is in.
    pub fn trip(&self) -> Option<&Trip> {
        match &self.stand {
            Stand::Open(trip) => Some(trip),
            Stand::Closed | Stand::Warned | Stand::Over(_) => None,
        }
    }

    /// The last numbers of the phase it is in.
    pub fn baseline(&self) -> Metrics {
        self.phase.as_ref().and_then(|phase| self.baselines.get(phase)).cloned().unwrap_or_default()
    }

    /// Whether losing this state would let something through that is halted or watched now.
    pub fn is_held(&self) -> bool {
        match self.stand {
            Stand::Warned | Stand::Open(_) | Stand::Over(Over::Aborted) => true,
            Stand::Closed | Stand::Over(Over::Completed | Over::Skipped) => false,
        }
    }
}

impl Stand {
    /// One of the three words state files know: a run that is over is halted for good, or has nothing to halt.
    pub fn file_word(&self) -> &'static str {
        match self {
            Stand::Over(Over::Aborted) | Stand::Open(_) => "OPEN",
            Stand::Over(Over::Completed | Over::Skipped) | Stand::Closed => "CLOSED",
            Stand::Warned => "HALF_OPEN",
        }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Stand::Closed => "CLOSED",
            Stand::Warned => "HALF_OPEN",
            Stand::Open(_) => "OPEN",
            Stand::Over(_) => "OVER",
        }
    }
}
