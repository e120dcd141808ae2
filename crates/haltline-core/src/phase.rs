//! The phase family: iterations of work, counted until one helps no more (seed 001; P1–P8).
//!
//! A *course* is one run through phases: the phases of a session folder, the iterations of `haltline run --loop`, or
//! the loops of Ralph. It is warned (HALF_OPEN) after two iterations without progress and opens at its phase's
//! threshold, or when the same error came too often. Only a person brings it back, except where the course has a
//! cooldown, which is Ralph's way.

mod apply;
mod course;
mod decide;
mod foreign;
mod limits;
mod metrics;
mod name;
mod report;
mod words;

pub use apply::apply;
pub use course::{Course, HistoryEvent, HistoryLine, Iterated, Over, Stand, Totals, Trip, TripCause, Underway};
pub use decide::{Question, decide};
pub use foreign::{Foreign, ForeignStand, Override};
pub use limits::{Bounds, Limits, Thresholds, Weights};
pub use metrics::{Measure, MetricError, Metrics};
pub use name::{Kind, PhaseName, PhaseNameError};
pub use report::{ErrorMark, ErrorSeen, Report, Signal, Source, Spent, Weighed};
pub use words::{GREEN_SUGGESTION, log_line, trip_text};

use serde::{Deserialize, Serialize};

use crate::Operator;
use crate::identity::Digest;

/// What can happen to a course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A phase is entered.
    Begin {
        /// Which.
        phase: PhaseName,
        /// How it joins what was before.
        joining: Joining,
        /// The person who allows it after an abort.
        operator: Option<Operator>,
    },
    /// May work go on? Hands out guidance that waits.
    Ask {
        /// An iteration begins now, so that one that is cut off is known.
        start: Option<Start>,
    },
    /// An iteration ended.
    Report(Box<Report>),
    /// A person decides what becomes of it (P6).
    Decide {
        /// What.
        choice: Choice,
        /// Who.
        operator: Operator,
    },
    /// Ralph's user wants open circuits closed at the start.
    AutoReset,
    /// A run came to its end.
    Finish(Finish),
    /// A state file was found.
    Found(Foreign),
}

/// An iteration that begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The content of the work tree, where it was looked at.
    pub tree: Option<Digest>,
}

/// How a phase that is entered joins what was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// The same course goes on; entering the phase one is in changes nothing.
    Same,
    /// A new run: nothing counted before counts.
    New,
    /// A run that was cut off goes on where it was.
    Resumed,
}

/// What a person can decide (P6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Close, and count anew.
    Reset,
    /// Leave the phase with what fails in it known.
    Skip,
    /// End the run for good.
    Abort,
    /// Close, and hand this to the next one who asks.
    Modify {
        /// What to do differently.
        guidance: String,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The work is done.
    Completed,
    /// A budget or a number of iterations is used up.
    Budget,
    /// A signal.
    Interrupted,
    /// The command could not be started.
    Unstartable,
}

impl Finish {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Finish::Completed => "completed",
            Finish::Budget => "budget",
            Finish::Interrupted => "interrupted",
            Finish::Unstartable => "unstartable",
        }
    }
}

impl Happening {
    /// The word the journal keeps.
    pub fn cause(&self) -> &'static str {
        match self {
            Happening::Begin { .. } => "begin",
            Happening::Ask { .. } => "ask",
            Happening::Report(_) => "report",
            Happening::Decide { choice: Choice::Reset, .. } => "reset",
            Happening::Decide { choice: Choice::Skip, .. } => "skip",
            Happening::Decide { choice: Choice::Abort, .. } => "abort",
            Happening::Decide { choice: Choice::Modify { .. }, .. } => "modify",
            Happening::AutoReset => "auto_reset",
            Happening::Finish(_) => "finish",
            Happening::Found(_) => "state_file",
        }
    }
}

/// What became true of a course.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// A new run began; what was counted before counts no more.
    Began {
        /// Its first phase.
        phase: PhaseName,
        /// The person who allowed it after an abort.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
    /// Another phase was entered.
    Entered {
        /// Which.
        phase: PhaseName,
    },
    /// A run that was cut off goes on.
    Resumed {
        /// The iteration that never ended, if one was under way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unfinished: Option<u64>,
    },
    /// An iteration began.
    Started {
        /// Its number.
        iteration: u64,
        /// The content of the work tree then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Digest>,
    },
    /// An iteration ended.
    Iterated(Box<Iterated>),
    /// Two iterations without progress: monitored from now on.
    Warned {
        /// How many.
        count: u32,
    },
    /// The circuit opened.
    Tripped {
        /// Why.
        trip: Trip,
    },
    /// Progress closed it.
    Recovered,
    /// The cooldown ended; monitored again.
    HalfOpened,
    /// Somebody asked while nothing may go on.
    Refused,
    /// An iteration was reported while nothing may go on.
    Ignored {
        /// What it took.
        #[serde(default)]
        spent: Spent,
    },
    /// Guidance was handed out.
    Guided {
        /// What was said.
        guidance: String,
    },
    /// A person closed it, or Ralph's user had it closed.
    Reset {
        /// Who.
        who: String,
        /// How often it opened is forgotten too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        opens_too: bool,
    },
    /// A person moved on.
    Skipped {
        /// Who.
        who: String,
        /// The phase that follows; `None` = the run is over.
        to: Option<PhaseName>,
    },
    /// A person ended the run.
    Aborted {
        /// Who.
        who: String,
    },
    /// A person closed it with guidance.
    Modified {
        /// Who.
        who: String,
        /// What to do differently.
        guidance: String,
    },
    /// The run ended.
    Finished {
        /// How.
        how: Finish,
    },
    /// A state file written elsewhere was taken over.
    Adopted(Box<Foreign>),
}

impl Fact {
    /// Trips, ends and what people do must survive a power cut.
    pub fn is_momentous(&self) -> bool {
        match self {
            Fact::Tripped { .. }
            | Fact::Reset { .. }
            | Fact::Skipped { .. }
            | Fact::Aborted { .. }
            | Fact::Modified { .. }
            | Fact::Finished { .. }
            | Fact::Adopted(_) => true,
            Fact::Began { who, .. } => who.is_some(),
            Fact::Entered { .. }
            | Fact::Resumed { .. }
            | Fact::Started { .. }
            | Fact::Iterated(_)
            | Fact::Warned { .. }
            | Fact::Recovered
            | Fact::HalfOpened
            | Fact::Refused
            | Fact::Ignored { .. }
            | Fact::Guided { .. } => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            Fact::Began { .. } => "began",
            Fact::Entered { .. } => "entered",
            Fact::Resumed { .. } => "resumed",
            Fact::Started { .. } => "started",
            Fact::Iterated(iterated) if iterated.stale => "stale",
            Fact::Iterated(iterated) if iterated.neutral => "neutral",
            Fact::Iterated(iterated) if iterated.progress => "progress",
            Fact::Iterated(_) => "no_progress",
            Fact::Warned { .. } => "warned",
            Fact::Tripped { .. } => "tripped",
            Fact::Recovered => "recovered",
            Fact::HalfOpened => "half_opened",
            Fact::Refused => "refused",
            Fact::Ignored { .. } => "ignored",
            Fact::Guided { .. } => "guided",
            Fact::Reset { .. } => "reset",
            Fact::Skipped { .. } => "skipped",
            Fact::Aborted { .. } => "aborted",
            Fact::Modified { .. } => "modified",
            Fact::Finished { .. } => "finished",
            Fact::Adopted(_) => "adopted",
        }
    }
}
