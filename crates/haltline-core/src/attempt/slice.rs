//! The state of a slice: the attempts on each of its tests, and whether work may go on (A1, A2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Attempted, CaseSensitivity, Covered, FileLocation, Justification, Report, Rule, Scope, TestName, TestState, Touch,
};
use crate::identity::Digest;
use crate::{Instant, Moment};

/// One slice of work in one work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// What may be changed without a justification; fixed at the begin.
    pub scope: Scope,
    #[serde(rename = "stand")]
    pub state: SliceState,
    /// The tests by the names that the runner gives them.
    #[serde(default)]
    pub tests: BTreeMap<TestName, TestState>,
    /// Failures of all tests. Only a person's reset lowers it.
    #[serde(default)]
    pub total_failed_attempts: u32,
    /// The tree before anything was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Justifications that the agent gave, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub justified: Vec<Justification>,
    /// Paths whose change haltline denied, newest last.
    #[serde(rename = "refused", default, skip_serializing_if = "Vec::is_empty")]
    pub denied_paths: Vec<DeniedPath>,
    /// Paths outside the scope that were changed without a request, newest last.
    #[serde(rename = "strayed", default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_scope_changes: Vec<String>,
    /// Unplanned work that the agent recorded, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
    /// Attempts from before each reset, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priors: Vec<Prior>,
    /// The next session has yet to receive the last of the priors.
    #[serde(rename = "is_prior_untold", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_undelivered_prior: bool,
    /// When this execution of the slice began.
    pub begun: Moment,
    pub changed: Moment,
    #[serde(rename = "seen")]
    pub last_seen: Moment,
    #[serde(default)]
    pub totals: Totals,
    /// Increases with every change of state (E12).
    #[serde(default)]
    pub generation: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SliceState {
    /// Attempts may be made.
    #[default]
    UnderWay,
    /// Stopped until a person decides.
    Open(Trip),
    /// The work is done or was given up.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    pub incident: String,
    pub since: Moment,
    pub cause: TripCause,
    /// Failures of all tests at that time.
    pub total_failed_attempts: u32,
    /// Requests that haltline denied since.
    #[serde(rename = "refused", default)]
    pub denials: u32,
    /// The requester that was denied first: all calls of that model response share one verdict (E5).
    #[serde(rename = "first_asker", default, skip_serializing_if = "Option::is_none")]
    pub first_requester: Option<Digest>,
}

/// What opened a circuit, the most important first (seed 000, section 7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TripCause {
    /// The work needs a change of architecture: rule 4 of the deviation rules.
    Architecture { description: String },
    /// One test failed too often.
    Test { test: TestName, failed: u32 },
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

    pub fn as_str(&self) -> &'static str {
        match self {
            TripCause::Test { .. } => "test",
            TripCause::Slice => "slice",
            TripCause::Architecture { .. } => "architecture",
        }
    }
}

/// A path whose change haltline denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedPath {
    pub path: String,
    /// The requester: all calls of one model response count as one denial.
    #[serde(rename = "asker", default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<Digest>,
}

/// Unplanned work (A8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    pub rule: Rule,
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub at: Instant,
}

/// The attempts up to a person's reset (A7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prior {
    /// Failures of all tests.
    pub total_failed_attempts: u32,
    pub tests: Vec<PriorTest>,
    /// What the person wants done differently.
    pub guidance: String,
    /// The tree was rolled back to before these attempts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rolled_back: bool,
    /// When the person reset the slice.
    pub at: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorTest {
    pub test: TestName,
    pub attempts: Vec<Attempted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub passed: u64,
    pub failed: u64,
    /// Runs that say nothing about the test.
    pub infrastructure: u64,
    /// Requests and results that came while the slice was OPEN.
    #[serde(rename = "refused")]
    pub denied: u64,
    /// Results of an older generation.
    pub stale: u64,
    pub trips: u64,
    pub resets: u64,
}

impl Slice {
    /// Failures of one test that stop the slice. Nothing changes this limit (A2).
    pub const TEST_FAILURES_MAX: u32 = 3;
    /// Failures of all tests that stop the slice. Nothing changes this limit (A2).
    pub const SLICE_FAILURES_MAX: u32 = 7;
    /// After this many runs in a row that say nothing about a test, haltline warns that something blocks it (A3).
    pub const BLOCKED_AFTER: u32 = 3;
    /// The one file that an agent may write while its slice is OPEN: messages name it for the report (A4).
    pub const REPORT_FILE: &str = "report.yaml";
    /// Limit on the tests that are kept: beyond it haltline forgets passing tests, oldest first.
    pub(super) const TESTS_MAX: usize = 256;
    /// Limit on paths, justifications and deviations each. Work that needs more does not fit the slice.
    pub(super) const NOTES_MAX: usize = 256;
    pub(super) const PRIORS_MAX: usize = 8;

    pub fn new(scope: Scope, checkpoint: Option<String>, at: Moment) -> Self {
        Self { scope, checkpoint, begun: at, changed: at, last_seen: at, ..Self::default() }
    }

    /// The trip that opened the circuit, while it is OPEN.
    pub fn trip(&self) -> Option<&Trip> {
        match &self.state {
            SliceState::Open(trip) => Some(trip),
            SliceState::UnderWay | SliceState::Ended => None,
        }
    }

    /// True while the slice is under way or OPEN.
    pub fn is_begun(&self) -> bool {
        match self.state {
            SliceState::UnderWay | SliceState::Open(_) => true,
            SliceState::Ended => false,
        }
    }

    /// The tests whose last counted attempt failed: each needs a report when the circuit opens (A4).
    pub fn failing(&self) -> impl Iterator<Item = (&TestName, &TestState)> {
        self.tests.iter().filter(|(_, test)| test.attempt_count > 0)
    }

    /// True if losing this state would let through what haltline counts, guards or stops now.
    pub fn is_tripped(&self) -> bool {
        self.is_begun()
    }

    /// The newest justification for a change of this path.
    pub fn justification(&self, path: &str, case_sensitivity: CaseSensitivity) -> Option<&Justification> {
        self.justified.iter().rev().find(|justification| case_sensitivity.is_same(&justification.file, path))
    }

    /// True if a change of this path is out of scope, has no justification, and was not reported yet.
    pub fn is_new_out_of_scope_change(&self, path: &str, case_sensitivity: CaseSensitivity) -> bool {
        match self.scope.covers(path, case_sensitivity) {
            Covered::Outside => {
                let is_reported = self.out_of_scope_changes.iter().any(|known| case_sensitivity.is_same(known, path));
                !is_reported && self.justification(path, case_sensitivity).is_none()
            }
            Covered::By(_) | Covered::LockOff => false,
        }
    }

    /// The denial of a change of this path, if there was one since the last reset.
    pub fn denial(&self, path: &str, case_sensitivity: CaseSensitivity) -> Option<&DeniedPath> {
        self.denied_paths.iter().find(|denied| case_sensitivity.is_same(&denied.path, path))
    }

    /// True if the slice is OPEN and denies this change: its scope lock outlives the trip, and its own files stand still
    /// until a person decides. Without a scope, its own files are those that its attempts changed. The report stays
    /// writable.
    pub fn halts(&self, touch: &Touch, case_sensitivity: CaseSensitivity) -> bool {
        let is_report = touch.location == FileLocation::Inside && touch.path == Self::REPORT_FILE;
        let is_locked = !self.scope.is_lock_off() || self.has_attempted(&touch.path, case_sensitivity);
        self.trip().is_some() && !is_report && is_locked
    }

    /// True if an attempt of this slice changed the file.
    pub fn has_attempted(&self, path: &str, case_sensitivity: CaseSensitivity) -> bool {
        self.attempted_files().any(|file| case_sensitivity.is_same(file, path))
    }

    /// The files that attempts of this slice changed.
    pub fn attempted_files(&self) -> impl Iterator<Item = &str> {
        let attempts = self.tests.values().flat_map(|test| &test.attempts);
        attempts.flat_map(|attempt| &attempt.files).map(String::as_str)
    }

    /// A failed attempt with the same strategy on this test, including those before a reset (A7). A strategy whose test
    /// never ran may be tried again.
    pub fn tried_before(&self, test: &TestName, strategy: &str) -> Option<&Attempted> {
        let current = self.tests.get(test).into_iter().flat_map(|state| &state.attempts);
        let prior = self.priors.iter().flat_map(|prior| &prior.tests).filter(|prior| prior.test == *test);
        let mut logged = prior.flat_map(|prior| &prior.attempts).chain(current);
        let digest = super::strategy::strategy_digest(strategy)?;
        logged
            .find(|attempt| attempt.is_failure() && super::strategy::strategy_digest(&attempt.strategy) == Some(digest))
    }
}

impl SliceState {
    pub fn as_str(&self) -> &'static str {
        match self {
            SliceState::UnderWay => "CLOSED",
            SliceState::Open(_) => "OPEN",
            SliceState::Ended => "ENDED",
        }
    }
}
