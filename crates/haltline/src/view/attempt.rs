//! Slices, as seen: the seed's eight fields for each test, and what is known beside them.

use haltline_core::attempt::{
    self, Attempted, Deviation, Fact as AttemptFact, Justification, Origin, Prior, Slice, TestName, TestState, Totals,
};
use haltline_core::{CircuitName, Fact, Reason, Verdict};
use haltline_engine::redact::mask;
use haltline_engine::slice_options;
use haltline_engine::store::{Committed, Entry};
use serde::Serialize;

use super::SCHEMA;
use super::constraint::AuditView;
use super::phase::CountView;

/// One slice.
#[derive(Debug, Serialize)]
pub struct SliceView {
    pub schema: u32,
    pub slice: String,
    pub circuit: String,
    pub state: &'static str,
    pub begun: String,
    pub total_failed_attempts: CountView,
    pub scope: ScopeView,
    /// The tree before anything was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_tag: Option<String>,
    pub tests: Vec<TestView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trip: Option<SliceTripView>,
    /// Failing tests without a filed report, where the circuit is open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports_owed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub justified: Vec<Justification>,
    /// Changed outside the scope without asking.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strayed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<DeviationView>,
    /// Tries that a person ended.
    pub prior_tries: usize,
    pub totals: Totals,
    /// What a person can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// What may be changed.
#[derive(Debug, Serialize)]
pub struct ScopeView {
    pub lock: &'static str,
    pub origin: Origin,
    pub entries: Vec<EntryView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_sha256: Option<String>,
}

/// Something in scope.
#[derive(Debug, Serialize)]
pub struct EntryView {
    pub path: String,
    pub source: String,
}

/// One test: the seed's fields first.
#[derive(Debug, Serialize)]
pub struct TestView {
    pub slice_id: String,
    pub test_name: String,
    pub attempt_count: u32,
    pub files_touched: Vec<String>,
    pub description: String,
    pub last_error: String,
    pub checkpoint_tag: String,
    pub total_failed_attempts: u32,
    pub infrastructure_in_a_row: u32,
    pub is_blocked: bool,
    pub is_reported: bool,
    pub attempts: Vec<AttemptView>,
}

/// One attempt.
#[derive(Debug, Serialize)]
pub struct AttemptView {
    pub attempt: u64,
    pub at: String,
    pub strategy: String,
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub files_more: u64,
    pub result: &'static str,
    pub said: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_declared: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_stale: bool,
    /// What was printed holds what looks like a secret; it is masked here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_secrets: bool,
}

/// Why it stopped.
#[derive(Debug, Serialize)]
pub struct SliceTripView {
    pub incident: String,
    pub cause: &'static str,
    pub code: &'static str,
    pub since: String,
    pub reason: String,
    pub refused: u32,
}

/// Unplanned work.
#[derive(Debug, Serialize)]
pub struct DeviationView {
    pub rule: &'static str,
    pub file: Option<String>,
    pub description: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The slice's name without that of its work tree.
pub fn slice_id(name: &CircuitName) -> &str {
    name.scope().split('@').next().unwrap_or_default()
}

impl SliceView {
    pub fn new(name: &CircuitName, slice: &Slice) -> Self {
        let owed = slice.failing().filter(|(_, state)| state.report.is_none());
        let is_open = slice.trip().is_some();
        Self {
            schema: SCHEMA,
            slice: slice_id(name).to_owned(),
            circuit: name.to_string(),
            state: slice.stand.word(),
            begun: slice.begun.at.to_seconds_text(),
            total_failed_attempts: CountView {
                count: slice.total_failed_attempts,
                threshold: Slice::SLICE_FAILURES_MAX,
            },
            scope: ScopeView {
                lock: if slice.scope.is_off() { "off" } else { "on" },
                origin: slice.scope.origin,
                entries: slice
                    .scope
                    .entries
                    .iter()
                    .map(|entry| EntryView { path: entry.path.clone(), source: entry.source.to_string() })
                    .collect(),
                graph_sha256: slice.scope.graph.clone(),
            },
            checkpoint_tag: slice.checkpoint.clone(),
            tests: slice.tests.iter().map(|(test, state)| TestView::new(name, slice, test, state)).collect(),
            trip: slice.trip().map(|trip| SliceTripView {
                incident: trip.incident.clone(),
                cause: trip.cause.word(),
                code: trip.cause.code(),
                since: trip.since.at.to_seconds_text(),
                reason: attempt::trip_text(trip),
                refused: trip.refused,
            }),
            reports_owed: if is_open { owed.map(|(test, _)| test.to_string()).collect() } else { Vec::new() },
            justified: slice.justified.clone(),
            strayed: slice.strayed.clone(),
            deviations: slice.deviations.iter().map(DeviationView::new).collect(),
            prior_tries: slice.priors.len(),
            totals: slice.totals,
            options: if is_open { slice_options(name) } else { Vec::new() },
        }
    }
}

impl TestView {
    fn new(name: &CircuitName, slice: &Slice, test: &TestName, state: &TestState) -> Self {
        let last = state.last();
        let failed = state.attempts.iter().rev().find(|attempt| attempt.error.is_some());
        let error = failed.and_then(|attempt| attempt.error.as_ref());
        Self {
            slice_id: slice_id(name).to_owned(),
            test_name: test.as_str().to_owned(),
            attempt_count: state.attempt_count,
            files_touched: state.files_touched.clone(),
            description: last.map(|attempt| attempt.strategy.clone()).unwrap_or_default(),
            last_error: error.map(|error| mask(&error.excerpt).into_owned()).unwrap_or_default(),
            checkpoint_tag: state.checkpoint.clone().unwrap_or_default(),
            total_failed_attempts: slice.total_failed_attempts,
            infrastructure_in_a_row: state.infrastructure_in_a_row,
            is_blocked: state.infrastructure_in_a_row >= Slice::BLOCKED_AFTER,
            is_reported: state.report.is_some(),
            attempts: state.attempts.iter().map(AttemptView::new).collect(),
        }
    }
}

impl AttemptView {
    fn new(attempt: &Attempted) -> Self {
        Self {
            attempt: attempt.number,
            at: attempt.at.to_seconds_text(),
            strategy: attempt.strategy.clone(),
            files: attempt.files.clone(),
            files_more: attempt.files_more,
            result: attempt.result.word(),
            said: attempt.said.clone(),
            is_declared: attempt.is_declared,
            is_stale: attempt.is_stale,
            has_secrets: attempt.error.as_ref().is_some_and(|error| error.has_secrets),
        }
    }
}

impl DeviationView {
    fn new(deviation: &Deviation) -> Self {
        let (file, description) = (deviation.file.clone(), deviation.description.clone());
        Self { rule: deviation.rule.word(), file, description }
    }
}

/// What a verb came to.
#[derive(Debug, Serialize)]
pub struct AttemptAnswerView {
    pub schema: u32,
    pub verb: &'static str,
    pub verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The attempt that was written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub slice: SliceView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<RollbackView>,
    /// For the next implementer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_attempts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

/// How a tree was taken back.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RollbackView {
    pub to: String,
    pub kept: String,
    pub restored: u64,
    pub removed: u64,
    pub commits_since: u64,
    pub are_commits_undone: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_alone: Vec<String>,
}

impl AttemptAnswerView {
    pub fn new(verb: &'static str, name: &CircuitName, committed: &Committed, slice: &Slice) -> Self {
        let verdict: &Verdict = &committed.decision.verdict;
        let attempted = committed.decision.facts.iter().find_map(|recorded| match &recorded.fact {
            Fact::Attempt(AttemptFact::Attempted { test, attempt, .. }) => Some((test, attempt.as_ref())),
            _other => None,
        });
        Self {
            schema: SCHEMA,
            verb,
            verdict: verdict.word(),
            reason: verdict.reason().cloned(),
            test: attempted.map(|(test, _)| test.to_string()),
            attempt: attempted.map(|(_, attempt)| AttemptView::new(attempt)),
            slice: SliceView::new(name, slice),
            rollback: None,
            prior_attempts: None,
            audit: None,
        }
    }
}

/// What a question about files came to.
#[derive(Debug, Serialize)]
pub struct ScopeAnswerView {
    pub schema: u32,
    pub slice: String,
    pub lock: &'static str,
    pub paths: Vec<PathView>,
}

/// One file.
#[derive(Debug, Serialize)]
pub struct PathView {
    pub path: String,
    pub verdict: &'static str,
    /// In scope, by this entry; or how else.
    pub because: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl PathView {
    /// Whether it may not be changed.
    pub fn is_refused(&self) -> bool {
        matches!(self.verdict, "deny" | "stop")
    }
}

/// All that happened to a slice.
#[derive(Debug, Serialize)]
pub struct SliceHistoryView {
    pub schema: u32,
    pub circuit: String,
    pub history: Vec<SliceHistoryLine>,
    pub totals: Totals,
    pub priors: Vec<Prior>,
}

/// One thing that happened.
#[derive(Debug, Serialize)]
pub struct SliceHistoryLine {
    pub at: String,
    pub what: &'static str,
    pub text: String,
}

impl SliceHistoryView {
    pub fn new(name: &CircuitName, slice: &Slice, entries: &[Entry]) -> Self {
        let lines = entries.iter().filter_map(|entry| {
            let read = entry.read().ok()?;
            let Fact::Attempt(fact) = read.fact? else { return None };
            let at = read.at.at.to_seconds_text();
            Some(SliceHistoryLine { at, what: fact.word(), text: told(&fact) })
        });
        let (totals, priors) = (slice.totals, slice.priors.clone());
        Self { schema: SCHEMA, circuit: name.to_string(), history: lines.collect(), totals, priors }
    }
}

/// A fact on one line.
fn told(fact: &AttemptFact) -> String {
    match fact {
        AttemptFact::Began { scope, .. } if scope.is_off() => "scope lock off".to_owned(),
        AttemptFact::Began { scope, .. } | AttemptFact::Rescoped { scope, .. } => match scope.entries.len() {
            1 => "1 entry in scope".to_owned(),
            number => format!("{number} entries in scope"),
        },
        AttemptFact::Attempted { test, attempt, .. } => {
            let strategy = if attempt.strategy.is_empty() { "" } else { ": " };
            format!("{test}, attempt {}{strategy}{}", attempt.number, attempt.strategy)
        }
        AttemptFact::Flagged { test, attempt } => format!("{test}: tried before in attempt {attempt}"),
        AttemptFact::Tripped { trip } => format!("{} (incident {})", attempt::trip_text(trip), trip.incident),
        AttemptFact::Refused { .. } => String::new(),
        AttemptFact::Ignored { test, result } => format!("{test}: {}, while OPEN", result.word()),
        AttemptFact::Justified { justification } => {
            format!("{} for {}: {}", justification.file, justification.failing_test, justification.reason)
        }
        AttemptFact::OutOfScope { refused } => refused.path.clone(),
        AttemptFact::Strayed { paths } => paths.join(", "),
        AttemptFact::Reported { test, .. } => test.to_string(),
        AttemptFact::Deviated { deviation } => format!("[{}] {}", deviation.rule.word(), deviation.description),
        AttemptFact::RolledBack { rollback, who } => format!("to {} by {who}; kept as {}", rollback.to, rollback.kept),
        AttemptFact::Reset { guidance, who, .. } => format!("by {who}: {guidance}"),
        AttemptFact::HandedOut => "the earlier tries were told to a session".to_owned(),
        AttemptFact::Ended { who: Some(who) } => format!("given up by {who}"),
        AttemptFact::Ended { who: None } => "its tests pass".to_owned(),
    }
}
