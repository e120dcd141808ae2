//! The state of a slice: what was tried on each of its tests, and whether it may go on (A1, A2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Attempted, Covered, Justification, Letters, Report, Rule, Scope, TestName, TestState};
use crate::identity::Digest;
use crate::{Instant, Moment};

/// One slice of work in one work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// What may be changed without a justification, as it was at the begin.
    pub scope: Scope,
    /// Where it stands.
    pub stand: Stand,
    /// Its tests, by the names the runner gives them.
    #[serde(default)]
    pub tests: BTreeMap<TestName, TestState>,
    /// Failures of all tests. Falls only when a person resets the slice.
    #[serde(default)]
    pub total_failed_attempts: u32,
    /// The tree before anything was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Justifications that were given, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub justified: Vec<Justification>,
    /// Paths whose change was refused, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedPath>,
    /// Paths that were changed outside the scope without anybody asking, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strayed: Vec<String>,
    /// Unplanned work that was written down, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
    /// Tries before this one, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priors: Vec<Prior>,
    /// The last prior try waits to be told to the next session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_prior_untold: bool,
    /// When this execution began.
    pub begun: Moment,
    /// When the state last changed.
    pub changed: Moment,
    /// When it was last heard of.
    pub seen: Moment,
    /// Over its life.
    #[serde(default)]
    pub totals: Totals,
    /// Rises with every change of state (E12).
    #[serde(default)]
    pub generation: u64,
}

/// Where a slice stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// Attempts may be made.
    UnderWay,
    /// Stopped until a person decides.
    Open(Trip),
    /// Nobody works on it.
    Ended,
}

/// One opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    /// Names it everywhere.
    pub incident: String,
    /// When.
    pub since: Moment,
    /// Why.
    pub cause: TripCause,
    /// How many failures the slice had.
    pub total_failed_attempts: u32,
    /// How often somebody wanted to go on since.
    #[serde(default)]
    pub refused: u32,
    /// Who wanted to first: all calls of that response share the answer (E5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_asker: Option<Digest>,
}

/// What opened a circuit, the weightiest first (seed 000, section 7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TripCause {
    /// The work needs a change of architecture: rule 4 of the deviation rules.
    Architecture {
        /// Which.
        description: String,
    },
    /// One test failed too often.
    Test {
        /// Which.
        test: TestName,
        /// How often.
        failed: u32,
    },
    /// All tests together failed too often.
    Slice,
}

impl TripCause {
    /// A stable code with a page in the docs.
    pub fn code(&self) -> &'static str {
        match self {
            TripCause::Test { .. } => "HL-ATTEMPT-01",
            TripCause::Slice => "HL-ATTEMPT-02",
            TripCause::Architecture { .. } => "HL-ATTEMPT-03",
        }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            TripCause::Test { .. } => "test",
            TripCause::Slice => "slice",
            TripCause::Architecture { .. } => "architecture",
        }
    }
}

/// A path whose change was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPath {
    /// The path.
    pub path: String,
    /// Who asked: the answer to one response of a model is one refusal, however many calls it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<Digest>,
}

/// Unplanned work (A8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    /// Under which rule.
    pub rule: Rule,
    /// What.
    pub description: String,
    /// In which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// When.
    pub at: Instant,
}

/// A try that a person ended (A7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prior {
    /// How many failures it had.
    pub total_failed_attempts: u32,
    /// What was tried on each test that failed in it.
    pub tests: Vec<PriorTest>,
    /// What the person wants done differently.
    pub guidance: String,
    /// The tree was taken back to before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rolled_back: bool,
    /// When it ended.
    pub at: Instant,
}

/// What was tried on one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorTest {
    /// Which.
    pub test: TestName,
    /// The failed attempts.
    pub attempts: Vec<Attempted>,
    /// Its report, where one was filed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
}

/// Over a slice's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Attempts that passed.
    pub passed: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Runs that say nothing about the test.
    pub infrastructure: u64,
    /// Asked or reported while nothing may go on.
    pub refused: u64,
    /// Results of an older generation.
    pub stale: u64,
    /// Openings.
    pub trips: u64,
    /// Fresh starts.
    pub resets: u64,
}

impl Slice {
    /// Failures of one test that stop the slice. Nothing changes it (A2).
    pub const TEST_FAILURES_MAX: u32 = 3;
    /// Failures of all tests that stop the slice. Nothing changes it (A2).
    pub const SLICE_FAILURES_MAX: u32 = 7;
    /// Runs in a row that say nothing about a test before that is told as blocking (A3).
    pub const BLOCKED_AFTER: u32 = 3;
    /// How many tests are kept: beyond that those that pass are forgotten, the oldest first.
    pub(super) const TESTS_MAX: usize = 256;
    /// How many paths, justifications and deviations are kept. What is asked for beyond that is no work on a slice.
    pub(super) const NOTES_MAX: usize = 256;
    /// How many earlier tries are kept.
    pub(super) const PRIORS_MAX: usize = 8;

    /// A slice that begins.
    pub fn new(scope: Scope, checkpoint: Option<String>, at: Moment) -> Self {
        Self {
            scope,
            stand: Stand::UnderWay,
            tests: BTreeMap::new(),
            total_failed_attempts: 0,
            checkpoint,
            justified: Vec::new(),
            refused: Vec::new(),
            strayed: Vec::new(),
            deviations: Vec::new(),
            priors: Vec::new(),
            is_prior_untold: false,
            begun: at,
            changed: at,
            seen: at,
            totals: Totals::default(),
            generation: 0,
        }
    }

    /// The trip it is in.
    pub fn trip(&self) -> Option<&Trip> {
        match &self.stand {
            Stand::Open(trip) => Some(trip),
            Stand::UnderWay | Stand::Ended => None,
        }
    }

    /// Whether somebody works on it, or is kept from it.
    pub fn is_begun(&self) -> bool {
        match self.stand {
            Stand::UnderWay | Stand::Open(_) => true,
            Stand::Ended => false,
        }
    }

    /// The tests whose last counted attempt failed: each owes a report when the circuit opens (A4).
    pub fn failing(&self) -> impl Iterator<Item = (&TestName, &TestState)> {
        self.tests.iter().filter(|(_, test)| test.attempt_count > 0)
    }

    /// Whether losing this state would let something through that is counted, guarded or stopped now.
    pub fn is_held(&self) -> bool {
        self.is_begun()
    }

    /// Whether somebody justified a change of this path.
    pub fn justification(&self, path: &str, letters: Letters) -> Option<&Justification> {
        self.justified.iter().rev().find(|justification| letters.is_same(&justification.file, path))
    }

    /// Whether a change of this path is outside the scope, asked for by nobody, and nobody was told of it yet.
    pub fn is_stray(&self, path: &str, letters: Letters) -> bool {
        match self.scope.covers(path, letters) {
            Covered::Outside => {
                let is_told = self.strayed.iter().any(|known| letters.is_same(known, path));
                !is_told && self.justification(path, letters).is_none()
            }
            Covered::By(_) | Covered::LockOff => false,
        }
    }

    /// Whether a change of this path was refused in this try.
    pub fn refusal(&self, path: &str, letters: Letters) -> Option<&RefusedPath> {
        self.refused.iter().find(|refused| letters.is_same(&refused.path, path))
    }

    /// An attempt with the same strategy on this test, in this try or in one before it (A7). What never ran may be
    /// tried again.
    pub fn tried_before(&self, test: &TestName, strategy: &str) -> Option<&Attempted> {
        let current = self.tests.get(test).into_iter().flat_map(|state| &state.attempts);
        let prior = self.priors.iter().flat_map(|prior| &prior.tests).filter(|prior| prior.test == *test);
        let mut logged = prior.flat_map(|prior| &prior.attempts).chain(current);
        let mark = super::strategy::mark(strategy)?;
        logged.find(|attempt| attempt.is_failure() && super::strategy::mark(&attempt.strategy) == Some(mark))
    }
}

impl Stand {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Stand::UnderWay => "CLOSED",
            Stand::Open(_) => "OPEN",
            Stand::Ended => "ENDED",
        }
    }
}
