//! The attempt family: tries at one test of one slice, counted until they lead nowhere (seed 000; A1–A8).
//!
//! A *slice* is one piece of planned work. Each test that is run for it and fails is a failed attempt; the third of one
//! test, or the seventh of all, stops the slice until a person gives guidance. A run that never reached the test counts
//! for nothing. What a slice may change is fixed when it begins; anything else needs a justification, and a change of
//! architecture stops it at once.

mod apply;
mod decide;
mod guard;
mod justification;
mod report;
mod scope;
mod slice;
mod strategy;
mod test;
mod words;

pub use apply::apply;
pub use decide::{Question, decide};
pub(crate) use guard::guard;
pub use guard::{Place, Touched};
pub use justification::{Justification, form};
pub use report::{FIELDS, Known, Listed, LogLine, RecoveryOption, Report, ScopeViolation};
pub use scope::{Covered, Entry, EntryError, Letters, Origin, Scope, Source, file_digest, normalise};
pub use slice::{Deviation, Prior, PriorTest, RefusedPath, Slice, Stand, Totals, Trip, TripCause};
pub use test::{Attempted, Printed, TestName, TestNameError, TestResult, TestState};
pub use words::{prior_attempts, trip_text};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::identity::Digest;
use crate::name::is_plain;
use crate::{Operator, shorten};

/// What can happen to a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Work on it begins.
    Begin {
        /// What may be changed.
        scope: Scope,
        /// The tree before anything is changed.
        checkpoint: Option<String>,
        /// The person who wants another scope for a slice that is under way (E6).
        operator: Option<Operator>,
    },
    /// May work go on?
    Ask {
        /// On which test.
        test: Option<TestName>,
        /// What is about to be tried.
        strategy: Option<String>,
    },
    /// A test was run.
    Attempt(Box<Attempt>),
    /// A file is about to be changed (A5).
    Touch(Touch),
    /// These files were changed, as a look at the tree shows.
    Stray {
        /// Their paths.
        paths: Vec<String>,
    },
    /// A report is filed (A4).
    File {
        /// On which test.
        test: TestName,
        /// The report, without what the runner printed: that is known.
        report: Box<Report>,
    },
    /// Unplanned work is written down (A8).
    Deviate {
        /// Under which rule.
        rule: Rule,
        /// What.
        description: String,
        /// In which file.
        file: Option<String>,
    },
    /// The tree was taken back by a person (A6).
    RollBack {
        /// What was done.
        rollback: Rollback,
        /// Who.
        operator: Operator,
    },
    /// A person wants a fresh start (A7).
    Reset {
        /// What to do differently.
        guidance: String,
        /// How the tree was taken back before, where it could be.
        rollback: Option<Rollback>,
        /// Who.
        operator: Operator,
    },
    /// A new session can be told of the tries before.
    HandOut,
    /// The work is done, or a person gives it up.
    End {
        /// The person, where one says so.
        operator: Option<Operator>,
    },
}

/// A test that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which.
    pub test: TestName,
    /// What was tried.
    pub strategy: String,
    /// What was changed for it.
    pub files: Vec<String>,
    /// How many more files than are listed.
    pub files_more: u64,
    /// What came of it.
    pub result: TestResult,
    /// Somebody says so by hand.
    pub is_declared: bool,
    /// One sentence of what the runner said.
    pub said: String,
    /// What it printed, word for word.
    pub error: Option<Output>,
    /// The tree before anything was changed for this test: taken over with its first attempt.
    pub checkpoint: Option<String>,
    /// The generation the run began in.
    pub generation: Option<u64>,
}

/// What a runner printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// All of it, up to [`Printed::BYTES_MAX`].
    pub text: String,
    /// The lines that tell of the failure.
    pub excerpt: String,
    /// How long it was.
    pub bytes: u64,
    /// It holds what looks like a secret.
    pub has_secrets: bool,
}

/// A change that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Of this path within the project, or of the whole path where it lies outside.
    pub path: String,
    /// Where it lies.
    pub place: Place,
    /// Why it is needed all the same.
    pub justification: Option<Justification>,
    /// The asker says that nothing can justify it.
    pub is_unjustifiable: bool,
    /// Who asks: one response of a model is one asker.
    pub asker: Option<Digest>,
}

/// How a tree was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// To which checkpoint.
    pub to: String,
    /// Where what was there before is kept.
    pub kept: String,
}

/// The deviation rules (A8): the first three are mended at once, the fourth stops.
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
    /// The rule of a number.
    pub fn numbered(number: u8) -> Option<Self> {
        match number {
            1 => Some(Rule::BugFix),
            2 => Some(Rule::CriticalAdd),
            3 => Some(Rule::Unblock),
            4 => Some(Rule::ArchStop),
            0 | 5.. => None,
        }
    }

    /// The mark it has in lists.
    pub fn word(self) -> &'static str {
        match self {
            Rule::BugFix => "BUG-FIX",
            Rule::CriticalAdd => "CRITICAL-ADD",
            Rule::Unblock => "UNBLOCK",
            Rule::ArchStop => "ARCH-STOP",
        }
    }
}

impl Happening {
    /// The word the journal keeps.
    pub fn cause(&self) -> &'static str {
        match self {
            Happening::Begin { .. } => "begin",
            Happening::Ask { .. } => "ask",
            Happening::Attempt(_) => "attempt",
            Happening::Touch(_) => "scope",
            Happening::Stray { .. } => "look",
            Happening::File { .. } => "report",
            Happening::Deviate { .. } => "deviate",
            Happening::RollBack { .. } => "rollback",
            Happening::Reset { .. } => "reset",
            Happening::HandOut => "hand_out",
            Happening::End { .. } => "end",
        }
    }
}

/// What became true of a slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Work began; nothing counted before counts.
    Began {
        /// What may be changed.
        scope: Scope,
        /// The tree before anything was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
    },
    /// A person changed what may be changed.
    Rescoped {
        /// To this.
        scope: Scope,
        /// Who.
        who: String,
    },
    /// A test was run.
    Attempted {
        /// Which.
        test: TestName,
        /// How it went.
        attempt: Box<Attempted>,
        /// The tree before anything was changed for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
    },
    /// A strategy was tried before.
    Flagged {
        /// On which test.
        test: TestName,
        /// In which attempt.
        attempt: u64,
    },
    /// The circuit opened.
    Tripped {
        /// Why.
        trip: Trip,
    },
    /// Somebody wanted to go on while nothing may.
    Refused {
        /// Who, where one response of a model is known: its calls share the answer (E5).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asker: Option<Digest>,
    },
    /// A test was run while nothing may go on.
    Ignored {
        /// Which.
        test: TestName,
        /// What came of it.
        result: TestResult,
    },
    /// A change outside the scope was justified.
    Justified {
        /// How.
        justification: Justification,
    },
    /// A change outside the scope was refused.
    OutOfScope {
        /// Of this path.
        refused: RefusedPath,
    },
    /// Files outside the scope were changed without anybody asking.
    Strayed {
        /// Which.
        paths: Vec<String>,
    },
    /// A report was filed.
    Reported {
        /// On which test.
        test: TestName,
        /// The report.
        report: Box<Report>,
    },
    /// Unplanned work was written down.
    Deviated {
        /// What.
        deviation: Deviation,
    },
    /// A person took the tree back.
    RolledBack {
        /// How.
        rollback: Rollback,
        /// Who.
        who: String,
    },
    /// A person began anew.
    Reset {
        /// What to do differently.
        guidance: String,
        /// How the tree was taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rollback: Option<Rollback>,
        /// Who.
        who: String,
    },
    /// A session was told of the tries before.
    HandedOut,
    /// Nobody works on it any more.
    Ended {
        /// The person who gave it up; `None` = its tests pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
}

impl Fact {
    /// Trips, ends and what people do must survive a power cut.
    pub fn is_momentous(&self) -> bool {
        match self {
            Fact::Began { .. }
            | Fact::Rescoped { .. }
            | Fact::Tripped { .. }
            | Fact::RolledBack { .. }
            | Fact::Reset { .. }
            | Fact::Ended { .. } => true,
            Fact::Attempted { .. }
            | Fact::Flagged { .. }
            | Fact::Refused { .. }
            | Fact::Ignored { .. }
            | Fact::Justified { .. }
            | Fact::OutOfScope { .. }
            | Fact::Strayed { .. }
            | Fact::Reported { .. }
            | Fact::Deviated { .. }
            | Fact::HandedOut => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            Fact::Began { .. } => "began",
            Fact::Rescoped { .. } => "rescoped",
            Fact::Attempted { attempt, .. } if attempt.is_stale => "stale",
            Fact::Attempted { attempt, .. } => match attempt.result {
                TestResult::Pass => "passed",
                TestResult::Fail => "failed",
                TestResult::Infra => "infrastructure",
                TestResult::Unclear => "unclear",
            },
            Fact::Flagged { .. } => "flagged",
            Fact::Tripped { .. } => "tripped",
            Fact::Refused { .. } => "refused",
            Fact::Ignored { .. } => "ignored",
            Fact::Justified { .. } => "justified",
            Fact::OutOfScope { .. } => "out_of_scope",
            Fact::Strayed { .. } => "strayed",
            Fact::Reported { .. } => "reported",
            Fact::Deviated { .. } => "deviated",
            Fact::RolledBack { .. } => "rolled_back",
            Fact::Reset { .. } => "reset",
            Fact::HandedOut => "handed_out",
            Fact::Ended { .. } => "ended",
        }
    }
}

/// The name of a slice: `S-12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceId(String);

/// The text cannot name a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceIdError {
    shown: String,
}

impl SliceId {
    /// How long a name may be, in bytes.
    pub const BYTES_MAX: usize = 64;

    /// Takes a text as a name: letters, digits, `.`, `_` and `-`, beginning with a letter or digit, without `..`.
    pub fn parse(text: &str) -> Result<Self, SliceIdError> {
        let fits = is_plain(text, Self::BYTES_MAX) && !text.contains("..");
        if fits { Ok(Self(text.to_owned())) } else { Err(SliceIdError { shown: shorten(text) }) }
    }

    /// The name.
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
