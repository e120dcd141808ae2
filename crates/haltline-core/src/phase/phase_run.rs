//! The state of a phase run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ErrorFingerprint, Finish, Metrics, PhaseName, Spent, WeighedSignal};
use crate::circuit::{OpenPeriod, StateName};
use crate::identity::Digest;
use crate::{Instant, Moment};

/// One pass through phases, with its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRun {
    /// The current phase; `None` if another program's file did not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseName>,
    #[serde(rename = "stand")]
    pub state: RunState,
    /// Number of the newest iteration of this phase.
    #[serde(default)]
    pub iteration: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underway: Option<Underway>,
    /// Iterations in a row without progress.
    #[serde(default)]
    pub no_progress: u32,
    /// Iterations in a row with the same error.
    #[serde(default)]
    pub same_error: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorFingerprint>,
    /// Iterations in a row in which a permission was denied.
    #[serde(rename = "denials", default)]
    pub permission_denials: u32,
    /// Neutral iterations in a row.
    #[serde(default)]
    pub neutral: u32,
    #[serde(default)]
    pub baselines: BTreeMap<PhaseName, Metrics>,
    /// Digests of the work tree's last contents, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<Digest>,
    /// A person's guidance that haltline has not delivered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Phases that a person skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_failures: Vec<PhaseName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Iterated>,
    /// Number of the last iteration that made progress.
    #[serde(default)]
    pub last_progress: u64,
    /// Cost of the run so far.
    #[serde(default)]
    pub spent: Spent,
    /// How the last run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// How often the circuit opened, as Ralph counts: a reset by a person sets it to 0.
    #[serde(rename = "opens", default)]
    pub open_count: u64,
    /// The newest lines of seed 001's history, oldest first.
    #[serde(default)]
    pub history: Vec<HistoryLine>,
    pub changed: Moment,
    /// When a person, or Ralph's startup option, last closed the circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Instant>,
    #[serde(default)]
    pub totals: Totals,
    /// Increases with every change of state (E12).
    #[serde(default)]
    pub generation: u64,
    #[serde(rename = "seen")]
    pub last_seen: Moment,
}

/// An iteration that began and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Underway {
    pub since: Moment,
    /// The generation in which it began. If the generation has changed when it ends, it affects no count (E12).
    pub generation: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    #[default]
    Closed,
    /// HALF_OPEN: haltline warned, and work goes on.
    Warned,
    /// haltline stops the work.
    Open(Trip),
    /// The run is over; this is not a circuit state.
    Over(OverReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverReason {
    Completed,
    /// A person skipped the last phase.
    Skipped,
    Aborted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    pub incident: String,
    pub since: Moment,
    pub cause: TripCause,
    /// The count that reached its limit.
    pub count: u32,
    /// How long the circuit stays OPEN; `None` = until a person decides. Fixed at the trip (E3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TripCause {
    NoProgress,
    SameError,
    #[serde(rename = "denials")]
    PermissionDenials,
    Neutral,
    /// A state file says that the circuit is OPEN.
    #[serde(rename = "found")]
    StateFile {
        reason: String,
    },
}

impl TripCause {
    pub fn as_str(&self) -> &'static str {
        match self {
            TripCause::NoProgress => "no_progress",
            TripCause::SameError => "same_error",
            TripCause::PermissionDenials => "permission_denials",
            TripCause::Neutral => "neutral",
            TripCause::StateFile { .. } => "state_file",
        }
    }

    /// A stable code with a page in the docs.
    pub fn code(&self) -> &'static str {
        match self {
            TripCause::NoProgress => "HL-PHASE-02",
            TripCause::SameError => "HL-PHASE-03",
            TripCause::PermissionDenials => "HL-PHASE-04",
            TripCause::Neutral => "HL-PHASE-05",
            TripCause::StateFile { .. } => "HL-PHASE-06",
        }
    }
}

impl Trip {
    /// The wait of the circuit after this trip, unless only a person ends it.
    pub fn open_period(&self) -> Option<OpenPeriod> {
        self.cooldown_ms.map(|cooldown_ms| OpenPeriod { since: self.since, cooldown_ms })
    }

    /// When the cooldown ends, by the wall clock of the trip.
    pub fn until(&self) -> Option<Instant> {
        self.open_period().map(OpenPeriod::until)
    }

    /// The moment at which the cooldown ended, if it has.
    pub fn cooldown_ended_at(&self, now: Moment) -> Option<Moment> {
        self.open_period()?.ended_at(now)
    }
}

/// An iteration after its evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iterated {
    pub iteration: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// It says nothing about progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub neutral: bool,
    #[serde(rename = "denied", default, skip_serializing_if = "std::ops::Not::not")]
    pub permission_denied: bool,
    /// It began before the state last changed, so it affects no count (E12).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Names of the metrics that improved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gains: Vec<String>,
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// The observed signals with their weights.
    #[serde(rename = "signs", default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<WeighedSignal>,
    /// Digest of the work tree's content afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// The work tree returned to an earlier content, so the work in between was undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorFingerprint>,
    #[serde(default)]
    pub spent: Spent,
}

impl Iterated {
    /// How the iteration counts.
    pub fn as_str(&self) -> &'static str {
        match (self.stale, self.neutral, self.progress) {
            (true, _, _) => "stale",
            (false, true, _) => "neutral",
            (false, false, true) => "progress",
            (false, false, false) => "no_progress",
        }
    }
}

/// A line of seed 001's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    pub at: Instant,
    pub event: HistoryEvent,
    /// The state before, as state files name it.
    pub from: String,
    /// The state after, as state files name it.
    pub to: String,
    pub reason: String,
    /// True if the circuit opened. State files write an abort as OPEN too, but an abort is not a trip.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_trip: bool,
    #[serde(default)]
    pub iteration: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryEvent {
    StateChange,
    Progress,
    Error,
}

/// Totals over the life of a phase run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub iterations: u64,
    pub progress: u64,
    pub errors: u64,
    pub neutral: u64,
    /// Requests and reports that came while the run was OPEN or over.
    #[serde(rename = "refused")]
    pub denied: u64,
    pub trips: u64,
    /// Iterations that never ended.
    pub unfinished: u64,
}

impl PhaseRun {
    /// Limit on the history lines that are kept.
    pub const HISTORY_MAX: usize = 100;
    /// Limit on the phases whose metrics are kept.
    pub(super) const BASELINES_MAX: usize = 16;
    /// Limit on the contents of the work tree that are kept.
    pub(super) const TREES_MAX: usize = 16;

    /// A run without any history.
    pub fn new(at: Moment) -> Self {
        Self { changed: at, last_seen: at, ..Self::default() }
    }

    /// The state's name at a moment. A cooldown that is over counts as ended even if no fact says so yet.
    pub fn state_name_at(&self, now: Moment) -> &'static str {
        match &self.state {
            RunState::Open(trip) if trip.cooldown_ended_at(now).is_some() => RunState::Warned.as_str(),
            state @ (RunState::Closed | RunState::Warned | RunState::Open(_) | RunState::Over(_)) => state.as_str(),
        }
    }

    /// The trip that opened the circuit, while it is OPEN.
    pub fn trip(&self) -> Option<&Trip> {
        match &self.state {
            RunState::Open(trip) => Some(trip),
            RunState::Closed | RunState::Warned | RunState::Over(_) => None,
        }
    }

    pub fn baseline(&self) -> Metrics {
        self.phase.as_ref().and_then(|phase| self.baselines.get(phase)).cloned().unwrap_or_default()
    }

    /// True if losing this state would let work go on that haltline stops or watches now.
    pub fn is_tripped(&self) -> bool {
        match self.state {
            RunState::Warned | RunState::Open(_) | RunState::Over(OverReason::Aborted) => true,
            RunState::Closed | RunState::Over(OverReason::Completed | OverReason::Skipped) => false,
        }
    }
}

impl RunState {
    /// The state as state files name it. They know three states: an aborted run is OPEN, any other ended run is CLOSED.
    pub fn as_file_str(&self) -> &'static str {
        match self {
            RunState::Over(OverReason::Aborted) => StateName::Open.as_str(),
            RunState::Over(OverReason::Completed | OverReason::Skipped) => StateName::Closed.as_str(),
            RunState::Closed | RunState::Warned | RunState::Open(_) => self.as_str(),
        }
    }

    pub fn as_str(&self) -> &'static str {
        match self {
            RunState::Closed => StateName::Closed.as_str(),
            RunState::Warned => StateName::HalfOpen.as_str(),
            RunState::Open(_) => StateName::Open.as_str(),
            RunState::Over(_) => "OVER",
        }
    }
}
