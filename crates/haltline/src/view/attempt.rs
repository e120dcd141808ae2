//! Views of slices: the seed's eight fields for each test, and what else is known.

use haltline_core::attempt::{
    self, Attempted, Deviation, Fact as AttemptFact, Justification, Origin, Prior, Slice, TestName, TestResult,
    TestState, Totals,
};
use haltline_core::{CircuitName, Fact, Reason};
use haltline_engine::redact::mask;
use haltline_engine::slice_options;
use haltline_engine::store::{Committed, Entry};
use serde::Serialize;

use super::{AnswerView, AuditView, CountView, SCHEMA, VerdictName};

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
    /// Failing tests without a filed report while the circuit is open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports_owed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub justified: Vec<Justification>,
    /// Files changed outside the scope without asking.
    #[serde(rename = "strayed", skip_serializing_if = "Vec::is_empty")]
    pub out_of_scope_changes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<DeviationView>,
    /// Tries that a person ended.
    pub prior_tries: usize,
    pub totals: Totals,
    /// What a person can do, as commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Which files may be changed.
#[derive(Debug, Serialize)]
pub struct ScopeView {
    pub lock: &'static str,
    pub origin: Origin,
    pub entries: Vec<EntryView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_sha256: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct EntryView {
    pub path: String,
    pub source: String,
}

/// One test; the seed's fields come first.
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

#[derive(Debug, Serialize)]
pub struct AttemptView {
    pub attempt: u64,
    pub at: String,
    pub strategy: String,
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub files_more: u64,
    pub result: TestResult,
    #[serde(rename = "said")]
    pub summary: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_declared: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_stale: bool,
    /// The output contains what looks like a secret; it is masked here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_secrets: bool,
}

/// Why the slice was stopped.
#[derive(Debug, Serialize)]
pub struct SliceTripView {
    pub incident: String,
    pub cause: &'static str,
    pub code: &'static str,
    pub since: String,
    pub reason: String,
    #[serde(rename = "refused")]
    pub denied: u32,
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

/// The slice's id without the name of its work tree.
pub fn slice_id(name: &CircuitName) -> &str {
    name.scope().split('@').next().unwrap_or_default()
}

/// What was tried, or that nobody said so.
pub fn shown_strategy(attempt: &Attempted) -> String {
    if attempt.strategy.is_empty() { "not given".to_owned() } else { attempt.strategy.clone() }
}

impl SliceView {
    pub fn new(name: &CircuitName, slice: &Slice) -> Self {
        let owed = slice.failing().filter(|(_, state)| state.report.is_none());
        let is_open = slice.trip().is_some();
        Self {
            schema: SCHEMA,
            slice: slice_id(name).to_owned(),
            circuit: name.to_string(),
            state: slice.state.as_str(),
            begun: slice.begun.at.to_string(),
            total_failed_attempts: CountView {
                count: slice.total_failed_attempts,
                threshold: Slice::SLICE_FAILURES_MAX,
            },
            scope: ScopeView {
                lock: if slice.scope.is_lock_off() { "off" } else { "on" },
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
                cause: trip.cause.as_str(),
                code: trip.cause.code(),
                since: trip.since.at.to_string(),
                reason: attempt::trip_text(trip),
                denied: trip.denials,
            }),
            reports_owed: if is_open { owed.map(|(test, _)| test.to_string()).collect() } else { Vec::new() },
            justified: slice.justified.clone(),
            out_of_scope_changes: slice.out_of_scope_changes.clone(),
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
            at: attempt.at.to_string(),
            strategy: shown_strategy(attempt),
            files: attempt.files.clone(),
            files_more: attempt.files_more,
            result: attempt.result,
            summary: attempt.summary.clone(),
            is_declared: attempt.is_declared,
            is_stale: attempt.is_stale,
            has_secrets: attempt.error.as_ref().is_some_and(|error| error.has_secrets),
        }
    }
}

impl DeviationView {
    fn new(deviation: &Deviation) -> Self {
        let (file, description) = (deviation.file.clone(), deviation.description.clone());
        Self { rule: deviation.rule.as_str(), file, description }
    }
}

/// A verb of `haltline attempt` that is answered with the slice. `record` answers as `run` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptVerb {
    Begin,
    Check,
    Run,
    Deviate,
    Rollback,
    Reset,
    End,
}

/// The result of a verb.
#[derive(Debug, Serialize)]
pub struct AttemptAnswerView {
    #[serde(flatten)]
    pub answer: AnswerView<AttemptVerb>,
    /// The attempt that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub slice: SliceView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<RollbackView>,
    /// Summary of earlier tries for the next implementer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_attempts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

/// How a tree was rolled back.
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
    pub fn new(verb: AttemptVerb, name: &CircuitName, committed: &Committed, slice: &Slice) -> Self {
        let attempted = committed.decision.facts.iter().find_map(|recorded| match &recorded.fact {
            Fact::Attempt(AttemptFact::Attempted { test, attempt, .. }) => Some((test, attempt.as_ref())),
            _other => None,
        });
        Self {
            answer: AnswerView::new(verb, &committed.decision.verdict),
            test: attempted.map(|(test, _)| test.to_string()),
            attempt: attempted.map(|(_, attempt)| AttemptView::new(attempt)),
            slice: SliceView::new(name, slice),
            rollback: None,
            prior_attempts: None,
            audit: None,
        }
    }
}

/// The result of `attempt scope`.
#[derive(Debug, Serialize)]
pub struct ScopeAnswerView {
    pub schema: u32,
    pub slice: String,
    pub lock: &'static str,
    pub paths: Vec<PathView>,
}

#[derive(Debug, Serialize)]
pub struct PathView {
    pub path: String,
    pub verdict: VerdictName,
    /// The scope entry that covers the file, or another explanation.
    pub because: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Everything that happened to a slice.
#[derive(Debug, Serialize)]
pub struct SliceHistoryView {
    pub schema: u32,
    pub circuit: String,
    pub history: Vec<SliceHistoryLine>,
    pub totals: Totals,
    pub priors: Vec<Prior>,
}

#[derive(Debug, Serialize)]
pub struct SliceHistoryLine {
    pub at: String,
    #[serde(rename = "what")]
    pub kind: &'static str,
    pub text: String,
}

impl SliceHistoryView {
    pub fn new(name: &CircuitName, slice: &Slice, entries: &[Entry]) -> Self {
        let lines = entries.iter().filter_map(|entry| {
            let read = entry.read().ok()?;
            let Fact::Attempt(fact) = read.fact? else { return None };
            let at = read.at.at.to_string();
            Some(SliceHistoryLine { at, kind: fact.as_str(), text: describe_fact(&fact) })
        });
        let (totals, priors) = (slice.totals, slice.priors.clone());
        Self { schema: SCHEMA, circuit: name.to_string(), history: lines.collect(), totals, priors }
    }
}

/// Describes a fact on one line.
fn describe_fact(fact: &AttemptFact) -> String {
    match fact {
        AttemptFact::Began { scope, .. } if scope.is_lock_off() => "scope lock off".to_owned(),
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
        AttemptFact::Denied { .. } => String::new(),
        AttemptFact::Ignored { test, result } => format!("{test}: {}, while OPEN", result.as_str()),
        AttemptFact::Justified { justification } => {
            format!("{} for {}: {}", justification.file, justification.failing_test, justification.reason)
        }
        AttemptFact::DeniedOutOfScope { denied } => denied.path.clone(),
        AttemptFact::ChangedOutOfScope { paths } => paths.join(", "),
        AttemptFact::Reported { test, .. } => test.to_string(),
        AttemptFact::Deviated { deviation } => format!("[{}] {}", deviation.rule.as_str(), deviation.description),
        AttemptFact::RolledBack { rollback, who } => format!("to {} by {who}; kept as {}", rollback.to, rollback.kept),
        AttemptFact::Reset { guidance, who, .. } => format!("by {who}: {guidance}"),
        AttemptFact::HandedOut => "haltline gave the list of earlier attempts to a session".to_owned(),
        AttemptFact::Ended { who: Some(who) } => format!("given up by {who}"),
        AttemptFact::Ended { who: None } => "its tests pass".to_owned(),
    }
}
