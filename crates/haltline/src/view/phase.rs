//! Courses of work, as seen.

use haltline_core::phase::{
    self, Bounds, Course, Fact as PhaseFact, Finish, HistoryEvent, HistoryLine, Iterated, PhaseName, Stand, Totals,
};
use haltline_core::{CircuitName, Fact, Moment, Reason, Verdict};
use haltline_engine::course_options;
use haltline_engine::store::{Committed, Entry};
use serde::Serialize;
use serde_json::{Map, Value};

use super::SCHEMA;
use super::constraint::AuditView;

/// One course.
#[derive(Debug, Serialize)]
pub struct CourseView {
    pub schema: u32,
    pub circuit: String,
    pub state: &'static str,
    pub phase: Option<String>,
    pub iteration: u64,
    /// An iteration is under way since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub underway_since: Option<String>,
    pub no_progress: CountView,
    pub same_error: CountView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_denials: Option<CountView>,
    pub metrics: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trip: Option<CourseTripView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<IterationView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Waits to be handed out at the next check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known_failures: Vec<String>,
    pub spent: SpentView,
    /// How the last run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    pub last_progress: u64,
    pub opens: u64,
    pub totals: Totals,
    pub recommendation: String,
    /// What a person can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// A count and the limit it runs towards.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CountView {
    pub count: u32,
    pub threshold: u32,
}

/// The trip a course is in.
#[derive(Debug, Serialize)]
pub struct CourseTripView {
    pub incident: String,
    pub since: String,
    pub reason: String,
    /// When it is monitored again by itself; `None` = a person decides.
    pub until: Option<String>,
}

/// The last iteration, and what it was judged by.
#[derive(Debug, Serialize)]
pub struct IterationView {
    pub iteration: u64,
    /// `progress`, `no_progress` or `neutral`.
    pub judged: &'static str,
    pub gains: Vec<String>,
    pub signs: Vec<phase::Weighed>,
    pub weight: u64,
    pub enough: u32,
    /// The work tree had this content before: what was done is undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// What a run took so far; unknown is null.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SpentView {
    pub wall_seconds: u64,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl CourseView {
    /// The view of a course under its limits.
    pub fn new(
        name: &CircuitName,
        course: &Course,
        bounds: Bounds,
        enough: u32,
        history: &[Entry],
        now: Moment,
    ) -> Self {
        let counted = |count, threshold| CountView { count, threshold };
        let is_held = matches!(course.stand, Stand::Open(_));
        Self {
            schema: SCHEMA,
            circuit: name.to_string(),
            state: course.word_at(now),
            phase: course.phase.as_ref().map(ToString::to_string),
            iteration: course.iteration,
            underway_since: course.underway.map(|underway| underway.since.at.to_seconds_text()),
            no_progress: counted(course.no_progress, bounds.thresholds.no_progress),
            same_error: counted(course.same_error, bounds.thresholds.same_error),
            permission_denials: bounds.denials.map(|limit| counted(course.denials, limit)),
            metrics: metrics(course),
            trip: course.trip().map(|trip| CourseTripView {
                incident: trip.incident.clone(),
                since: trip.since.at.to_seconds_text(),
                reason: phase::trip_text(trip),
                until: trip.until().map(|until| until.to_seconds_text()),
            }),
            last: course.last.as_ref().map(|last| IterationView::new(last, enough)),
            last_error: last_error(history),
            guidance: course.guidance.clone(),
            known_failures: course.known_failures.iter().map(ToString::to_string).collect(),
            spent: SpentView::new(course.spent),
            finish: course.finish,
            last_progress: course.last_progress,
            opens: course.opens,
            totals: course.totals,
            recommendation: course.recommendation(),
            options: if is_held { course_options(name) } else { Vec::new() },
        }
    }

    /// Whether the last iteration moved any number.
    pub fn has_gained(&self) -> bool {
        self.last.as_ref().is_some_and(|last| !last.gains.is_empty())
    }
}

impl IterationView {
    fn new(last: &Iterated, enough: u32) -> Self {
        Self {
            iteration: last.iteration,
            judged: PhaseFact::Iterated(Box::new(last.clone())).word(),
            gains: last.gains.clone(),
            signs: last.signs.clone(),
            weight: last.signs.iter().map(|sign| u64::from(sign.weight)).sum(),
            enough,
            undone: last.undone,
        }
    }
}

impl SpentView {
    /// What was spent, in the units people read.
    pub fn new(spent: phase::Spent) -> Self {
        Self {
            wall_seconds: spent.wall_ms / 1000,
            tokens: spent.tokens,
            cost_usd: spent.micros.map(|micros| micros as f64 / 1e6),
        }
    }
}

/// The last numbers of the phase the course is in.
fn metrics(course: &Course) -> Map<String, Value> {
    let number = |text: String| text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from));
    let known = course.baseline();
    known.iter().map(|(name, value)| (name.to_owned(), number(value.to_string()).unwrap_or_default())).collect()
}

/// What was shown of the newest error since the circuit was last closed or the phase entered, from a course's facts,
/// newest first.
fn last_error(history: &[Entry]) -> Option<String> {
    for entry in history {
        let Fact::Phase(fact) = entry.read().ok()?.fact? else { continue };
        match fact {
            PhaseFact::Iterated(iterated) if iterated.error.is_some() => return entry.texts().text,
            PhaseFact::Began { .. }
            | PhaseFact::Entered { .. }
            | PhaseFact::Reset { .. }
            | PhaseFact::Modified { .. }
            | PhaseFact::Skipped { .. } => {
                return None;
            }
            _other => {}
        }
    }
    None
}

/// `phase check`, `begin` and `report`.
#[derive(Debug, Serialize)]
pub struct PhaseAnswerView {
    pub schema: u32,
    pub verb: &'static str,
    pub verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What was handed out just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The seed's log lines of this step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    pub course: Option<CourseView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

impl PhaseAnswerView {
    /// What is said where nothing has begun.
    pub fn nothing(verb: &'static str) -> Self {
        let (reason, guidance, log, course, audit) = (None, None, Vec::new(), None, None);
        Self { schema: SCHEMA, verb, verdict: Verdict::Pass.word(), reason, guidance, log, course, audit }
    }

    /// What came of an event.
    pub fn new(verb: &'static str, committed: &Committed, course: Option<CourseView>) -> Self {
        let facts = || {
            committed.decision.facts.iter().filter_map(|recorded| match &recorded.fact {
                Fact::Phase(fact) => Some(fact),
                _other => None,
            })
        };
        let verdict: &Verdict = &committed.decision.verdict;
        Self {
            schema: SCHEMA,
            verb,
            verdict: verdict.word(),
            reason: verdict.reason().cloned(),
            guidance: facts().find_map(|fact| match fact {
                PhaseFact::Guided { guidance } => Some(guidance.clone()),
                _other => None,
            }),
            log: facts().filter_map(phase::log_line).collect(),
            course,
            audit: None,
        }
    }
}

/// `phase history`.
#[derive(Debug, Serialize)]
pub struct PhaseHistoryView {
    pub schema: u32,
    pub circuit: String,
    pub phase: Option<String>,
    pub totals: Totals,
    /// Newest first.
    pub history: Vec<HistoryLineView>,
}

/// A line of history.
#[derive(Debug, Serialize)]
pub struct HistoryLineView {
    pub timestamp: String,
    pub event: HistoryEvent,
    pub from_state: String,
    pub to_state: String,
    pub reason: String,
    pub iteration: u64,
}

impl PhaseHistoryView {
    /// The newest `limit` lines.
    pub fn new(name: &CircuitName, course: &Course, limit: usize) -> Self {
        let line = |line: &HistoryLine| HistoryLineView {
            timestamp: line.at.to_seconds_text(),
            event: line.event,
            from_state: line.from.clone(),
            to_state: line.to.clone(),
            reason: line.reason.clone(),
            iteration: line.iteration,
        };
        Self {
            schema: SCHEMA,
            circuit: name.to_string(),
            phase: course.phase.as_ref().map(PhaseName::to_string),
            totals: course.totals,
            history: course.history.iter().rev().take(limit).map(line).collect(),
        }
    }
}
