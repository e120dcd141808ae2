//! The attempt breaker: counts failed attempts at the tests of one slice (seed 000; A1–A8).
//!
//! A *slice* is one piece of planned work. Each run of one of its tests that fails is a failed attempt; the third
//! failure of one test, or the seventh of all tests, stops the slice until a person gives guidance. A run that never
//! reached the test does not count. The files that a slice may change are fixed when it begins; any other change needs
//! a justification, and a change of architecture stops the slice at once.

mod apply;
mod decide;
mod guard;
mod justification;
mod messages;
mod overlap;
mod report;
mod scope;
mod slice;
mod strategy;
mod test;

pub use apply::apply;
pub use decide::{AttemptRequest, decide};
pub(crate) use guard::guard;
pub use guard::{FileLocation, Touched};
pub use justification::{Justification, form};
pub use messages::{prior_attempts, trip_text, warn_of_prior_attempts};
pub use overlap::conflicting_slice;
pub use report::{FIELDS, JournalEvidence, Listed, LogLine, RecoveryOption, Report, ScopeViolation};
pub use scope::{CaseSensitivity, Covered, Entry, EntryError, Origin, Scope, Source, file_digest, normalise};
pub use slice::{DeniedPath, Deviation, Prior, PriorTest, Slice, SliceState, Totals, Trip, TripCause};
pub use test::{Attempted, Printed, TestName, TestNameError, TestResult, TestState};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fact::{FactKind, synced, unsynced};
use crate::identity::Digest;
use crate::name::is_plain;
use crate::{Operator, shorten};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEvent {
    /// Work on the slice begins.
    Begin {
        scope: Scope,
        /// The tree before anything is changed.
        checkpoint: Option<String>,
        /// The person who sets another scope for a slice that is under way, or who begins a slice beside one that holds
        /// its files (E6).
        operator: Option<Operator>,
    },
    /// May work go on?
    Ask {
        test: Option<TestName>,
        /// What the agent is about to try.
        strategy: Option<String>,
    },
    /// A test was run.
    Attempt(Box<Attempt>),
    /// A tool is about to change a file (A5).
    Touch(Touch),
    /// A snapshot of the tree shows that these files changed.
    OutOfScopeChange { paths: Vec<String> },
    /// The agent files a report (A4).
    File {
        test: TestName,
        /// The report without the runner's output, which haltline already has.
        report: Box<Report>,
    },
    /// The agent records unplanned work (A8).
    Deviate { rule: Rule, description: String, file: Option<String> },
    /// A person rolled the tree back (A6).
    RollBack { rollback: Rollback, operator: Operator },
    /// A person restarts the slice (A7).
    Reset {
        /// What the agent must do differently.
        guidance: String,
        /// The rollback that preceded the reset, if there was one.
        rollback: Option<Rollback>,
        operator: Operator,
    },
    /// A new session can receive the attempts that were made before the last reset.
    HandOut,
    /// The work is done, or a person gives it up.
    End {
        /// The person, if one ended the slice.
        operator: Option<Operator>,
    },
}

/// A test that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub test: TestName,
    /// What the agent tried.
    pub strategy: String,
    pub files: Vec<String>,
    /// Number of changed files beyond those listed.
    pub files_more: u64,
    pub result: TestResult,
    /// The result was entered by hand; no runner reported it.
    pub is_declared: bool,
    /// One sentence about what the runner reported.
    pub summary: String,
    /// The runner's output, verbatim.
    pub error: Option<Output>,
    /// The tree before anything was changed for this test. haltline keeps the one of the test's first attempt.
    pub checkpoint: Option<String>,
    /// The slice's generation when the run began.
    pub generation: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// All of it, up to [`Printed::BYTES_MAX`].
    pub text: String,
    /// The lines that describe the failure.
    pub excerpt: String,
    /// Length of the whole output.
    pub bytes: u64,
    /// It contains something that looks like a secret.
    pub has_secrets: bool,
    /// The exit code of the test command, if haltline ran it.
    pub exit: Option<u8>,
}

/// A change that a tool is about to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Path within the project, or the whole path if the file lies outside.
    pub path: String,
    pub location: FileLocation,
    /// Why the slice needs this change although the file is out of scope.
    pub justification: Option<Justification>,
    /// The agent states that nothing can justify the change.
    pub is_unjustifiable: bool,
    /// Digest of who requests the change: all calls of one model response have the same requester.
    pub requester: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// The checkpoint that was restored.
    pub to: String,
    /// Where the content from before the rollback is kept.
    pub kept: String,
}

/// The deviation rules (A8): the agent fixes the first three kinds at once, the fourth stops the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// 1: a bug.
    BugFix,
    /// 2: something critical is missing.
    CriticalAdd,
    /// 3: something blocks the work.
    Unblock,
    /// 4: the architecture has to change.
    ArchStop,
}

impl Rule {
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Rule::BugFix),
            2 => Some(Rule::CriticalAdd),
            3 => Some(Rule::Unblock),
            4 => Some(Rule::ArchStop),
            0 | 5.. => None,
        }
    }

    /// The rule's label in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::BugFix => "BUG-FIX",
            Rule::CriticalAdd => "CRITICAL-ADD",
            Rule::Unblock => "UNBLOCK",
            Rule::ArchStop => "ARCH-STOP",
        }
    }
}

impl AttemptEvent {
    /// The event's name in the journal.
    pub fn cause(&self) -> &'static str {
        match self {
            AttemptEvent::Begin { .. } => "begin",
            AttemptEvent::Ask { .. } => "ask",
            AttemptEvent::Attempt(_) => "attempt",
            AttemptEvent::Touch(_) => "scope",
            AttemptEvent::OutOfScopeChange { .. } => "look",
            AttemptEvent::File { .. } => "report",
            AttemptEvent::Deviate { .. } => "deviate",
            AttemptEvent::RollBack { .. } => "rollback",
            AttemptEvent::Reset { .. } => "reset",
            AttemptEvent::HandOut => "hand_out",
            AttemptEvent::End { .. } => "end",
        }
    }
}

/// A change of a slice, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Work began with all counts at zero.
    Began {
        scope: Scope,
        /// The tree before anything was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
        /// The person who let it begin although another slice holds its files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
    /// A person set another scope.
    Rescoped { scope: Scope, who: String },
    /// A test was run.
    Attempted {
        test: TestName,
        attempt: Box<Attempted>,
        /// The tree before anything was changed for this test.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
    },
    /// haltline warned that the strategy had failed before.
    Flagged {
        test: TestName,
        /// Number of the attempt that failed with it.
        attempt: u64,
    },
    /// The circuit opened.
    Tripped { trip: Trip },
    /// haltline denied a request while the slice was OPEN.
    #[serde(rename = "refused")]
    Denied {
        /// The requester, if the model response is known: all its calls share one verdict (E5).
        #[serde(rename = "asker", default, skip_serializing_if = "Option::is_none")]
        requester: Option<Digest>,
    },
    /// A test was run while the slice was OPEN; its result does not count.
    Ignored { test: TestName, result: TestResult },
    /// The agent justified a change outside the scope.
    Justified { justification: Justification },
    /// haltline denied a change outside the scope.
    #[serde(rename = "out_of_scope")]
    DeniedOutOfScope {
        #[serde(rename = "refused")]
        denied: DeniedPath,
    },
    /// Files outside the scope were changed without a request.
    #[serde(rename = "strayed")]
    ChangedOutOfScope { paths: Vec<String> },
    /// The agent filed a report.
    Reported { test: TestName, report: Box<Report> },
    /// The agent recorded unplanned work.
    Deviated { deviation: Deviation },
    /// A person rolled the tree back.
    RolledBack { rollback: Rollback, who: String },
    /// A person restarted the slice.
    Reset {
        /// What the agent must do differently.
        guidance: String,
        /// The rollback that preceded the reset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rollback: Option<Rollback>,
        who: String,
    },
    /// A session received the attempts that were made before the last reset.
    HandedOut,
    /// Work on the slice ended.
    Ended {
        /// The person who gave it up; `None` = its tests pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
}

impl Fact {
    /// The fact's stable name in listings, and whether it is synced: trips, begins, ends and decisions of people are.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            Fact::Began { .. } => synced("began"),
            Fact::Rescoped { .. } => synced("rescoped"),
            Fact::Attempted { attempt, .. } if attempt.is_stale => unsynced("stale"),
            Fact::Attempted { attempt, .. } => match attempt.result {
                TestResult::Pass => unsynced("passed"),
                TestResult::Fail => unsynced("failed"),
                TestResult::Infra => unsynced("infrastructure"),
                TestResult::Unclear => unsynced("unclear"),
            },
            Fact::Flagged { .. } => unsynced("flagged"),
            Fact::Tripped { .. } => synced("tripped"),
            Fact::Denied { .. } => unsynced("refused"),
            Fact::Ignored { .. } => unsynced("ignored"),
            Fact::Justified { .. } => unsynced("justified"),
            Fact::DeniedOutOfScope { .. } => unsynced("out_of_scope"),
            Fact::ChangedOutOfScope { .. } => unsynced("strayed"),
            Fact::Reported { .. } => unsynced("reported"),
            Fact::Deviated { .. } => unsynced("deviated"),
            Fact::RolledBack { .. } => synced("rolled_back"),
            Fact::Reset { .. } => synced("reset"),
            Fact::HandedOut => unsynced("handed_out"),
            Fact::Ended { .. } => synced("ended"),
        }
    }

    /// The fact's name in listings.
    pub fn as_str(&self) -> &'static str {
        self.kind().name
    }
}

/// The name of a slice: `S-12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceId(String);

/// The text is not a valid name of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceIdError {
    shown: String,
}

impl SliceId {
    pub const BYTES_MAX: usize = 64;

    /// Parses a name: letters, digits, `.`, `_` and `-`, beginning with a letter or digit, without `..`.
    pub fn parse(text: &str) -> Result<Self, SliceIdError> {
        let fits = is_plain(text, Self::BYTES_MAX) && !text.contains("..");
        if fits { Ok(Self(text.to_owned())) } else { Err(SliceIdError { shown: shorten(text) }) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SliceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for SliceIdError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self { shown }, max) = (self, SliceId::BYTES_MAX);
        write!(
            formatter,
            "slice {shown}: expected a name such as S-12: letters, digits, '.', '_' or '-', at most {max} bytes"
        )
    }
}

impl std::error::Error for SliceIdError {}
