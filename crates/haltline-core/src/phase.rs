//! The phase breaker: counts iterations of work until they stop making progress (seed 001; P1–P8).
//!
//! A *phase run* is one pass through phases: the phases of a session folder, the iterations of `haltline run --loop`,
//! or the loops of Ralph. haltline warns (HALF_OPEN) after two iterations without progress and opens the circuit at the
//! phase's threshold, or when the same error repeats too often. Only a person closes it, except where the run has a
//! cooldown, as Ralph's runs do.

mod apply;
mod decide;
mod foreign;
mod limits;
mod messages;
mod metrics;
mod name;
mod phase_run;
mod report;

pub use apply::apply;
pub use decide::{PhaseRequest, decide};
pub use foreign::{ForeignRun, ForeignState, Precedence};
pub use limits::{Bounds, Limits, Thresholds, Weights};
pub use messages::{GREEN_SUGGESTION, log_line, trip_text};
pub use metrics::{Measure, MetricError, Metrics};
pub use name::{Kind, PhaseName, PhaseNameError};
pub use phase_run::{
    HistoryEvent, HistoryLine, Iterated, OverReason, PhaseRun, RunState, Totals, Trip, TripCause, Underway,
};
pub use report::{ErrorFingerprint, Report, ReportedError, Signal, Source, Spent, WeighedSignal};

use serde::{Deserialize, Serialize};

use crate::Operator;
use crate::fact::{FactKind, synced, unsynced};
use crate::identity::Digest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseEvent {
    /// The agent or runner enters a phase.
    Begin {
        phase: PhaseName,
        joining: Joining,
        /// The person who allows it after an abort.
        operator: Option<Operator>,
    },
    /// May work go on? The answer also delivers guidance that a person left.
    Ask {
        /// Set when an iteration begins now, so that haltline notices if it is cut off.
        start: Option<Start>,
    },
    /// A person looks whether work may go on. Guidance stays for the agent, and nothing is counted.
    Look,
    Report(Box<Report>),
    /// A person decides how the run continues (P6).
    Decide {
        choice: Choice,
        operator: Operator,
    },
    /// Ralph's user asked to close an open circuit at startup.
    AutoReset,
    /// The runner ended the run.
    Finish(Finish),
    /// haltline read a state file that another program may have written.
    StateFileFound(ForeignRun),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Digest of the work tree's content, if a snapshot was taken.
    pub tree: Option<Digest>,
}

/// How entering a phase relates to what happened before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// The same run continues. Entering the phase the run is already in changes nothing.
    Same,
    /// A new run: all counts start at zero.
    New,
    /// A run that was cut off continues where it was.
    Resumed,
}

/// What a person can decide about a run (P6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Close the circuit and restart the counts.
    Reset,
    /// Leave the phase and note that it has known failures.
    Skip,
    Abort,
    /// Close the circuit and deliver the guidance to the next caller that asks whether work may go on.
    Modify {
        guidance: String,
    },
}

/// How the runner ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Completed,
    /// A budget or the limit on iterations is used up.
    Budget,
    /// A signal stopped the runner.
    Interrupted,
    /// The runner could not start the command.
    Unstartable,
}

impl Finish {
    pub fn as_str(self) -> &'static str {
        match self {
            Finish::Completed => "completed",
            Finish::Budget => "budget",
            Finish::Interrupted => "interrupted",
            Finish::Unstartable => "unstartable",
        }
    }
}

impl PhaseEvent {
    pub fn cause(&self) -> &'static str {
        match self {
            PhaseEvent::Begin { .. } => "begin",
            PhaseEvent::Ask { .. } => "ask",
            PhaseEvent::Look => "look",
            PhaseEvent::Report(_) => "report",
            PhaseEvent::Decide { choice: Choice::Reset, .. } => "reset",
            PhaseEvent::Decide { choice: Choice::Skip, .. } => "skip",
            PhaseEvent::Decide { choice: Choice::Abort, .. } => "abort",
            PhaseEvent::Decide { choice: Choice::Modify { .. }, .. } => "modify",
            PhaseEvent::AutoReset => "auto_reset",
            PhaseEvent::Finish(_) => "finish",
            PhaseEvent::StateFileFound(_) => "state_file",
        }
    }
}

/// A change of a phase run, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// A new run began with all counts at zero.
    Began {
        phase: PhaseName,
        /// The person who allowed it after an abort.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
    Entered {
        phase: PhaseName,
    },
    /// A run that was cut off continues.
    Resumed {
        /// The iteration that was in progress and never ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unfinished: Option<u64>,
    },
    Started {
        iteration: u64,
        /// Digest of the work tree's content at that moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Digest>,
    },
    /// An iteration ended and was evaluated.
    Iterated(Box<Iterated>),
    /// haltline warned after iterations without progress; the circuit is HALF_OPEN.
    Warned {
        /// Iterations in a row without progress.
        count: u32,
    },
    Tripped {
        trip: Trip,
    },
    /// Progress closed the circuit.
    Recovered,
    /// The cooldown ended; the circuit is HALF_OPEN.
    HalfOpened,
    /// haltline denied a request to continue.
    #[serde(rename = "refused")]
    Denied,
    /// An iteration was reported while the circuit was OPEN; only its cost counts.
    Ignored {
        #[serde(default)]
        spent: Spent,
    },
    /// haltline delivered a person's guidance.
    Guided {
        guidance: String,
    },
    /// A person closed the circuit, or Ralph's startup option did.
    Reset {
        who: String,
        /// Also clears the count of openings that Ralph shows.
        #[serde(rename = "opens_too", default, skip_serializing_if = "std::ops::Not::not")]
        clears_open_count: bool,
    },
    Skipped {
        who: String,
        /// The phase that follows; `None` = the run is over.
        to: Option<PhaseName>,
    },
    Aborted {
        who: String,
    },
    /// A person closed the circuit and left guidance.
    Modified {
        who: String,
        guidance: String,
    },
    /// The runner ended the run.
    Finished {
        how: Finish,
    },
    /// haltline took over the state that it read from a state file.
    Adopted(Box<ForeignRun>),
}

impl Fact {
    /// The fact's stable name in listings, and whether it is synced: trips, ends and decisions of people are.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            Fact::Began { who, .. } => FactKind { name: "began", needs_sync: who.is_some() },
            Fact::Entered { .. } => unsynced("entered"),
            Fact::Resumed { .. } => unsynced("resumed"),
            Fact::Started { .. } => unsynced("started"),
            Fact::Iterated(iterated) => unsynced(iterated.as_str()),
            Fact::Warned { .. } => unsynced("warned"),
            Fact::Tripped { .. } => synced("tripped"),
            Fact::Recovered => unsynced("recovered"),
            Fact::HalfOpened => unsynced("half_opened"),
            Fact::Denied => unsynced("refused"),
            Fact::Ignored { .. } => unsynced("ignored"),
            Fact::Guided { .. } => unsynced("guided"),
            Fact::Reset { .. } => synced("reset"),
            Fact::Skipped { .. } => synced("skipped"),
            Fact::Aborted { .. } => synced("aborted"),
            Fact::Modified { .. } => synced("modified"),
            Fact::Finished { .. } => synced("finished"),
            Fact::Adopted(_) => synced("adopted"),
        }
    }
}
