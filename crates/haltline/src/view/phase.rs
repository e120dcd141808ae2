//! Views of phase runs.

use haltline_core::phase::{
    self, Bounds, Fact as PhaseFact, Finish, HistoryEvent, HistoryLine, Iterated, PhaseName, PhaseRun, RunState, Totals,
};
use haltline_core::{CircuitName, Fact, Moment, Verdict};
use haltline_engine::phase_run_options;
use haltline_engine::store::{Committed, Entry};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{AnswerView, AuditView, CountView, SCHEMA};

#[derive(Debug, Serialize)]
pub struct PhaseRunView {
    pub schema: u32,
    pub circuit: String,
    pub state: &'static str,
    pub phase: Option<String>,
    pub iteration: u64,
    /// Start of the current iteration, if one is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub underway_since: Option<String>,
    pub no_progress: CountView,
    pub same_error: CountView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_denials: Option<CountView>,
    pub metrics: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trip: Option<PhaseRunTripView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<IterationView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Guidance that the next check hands out.
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
    /// What a person can do, as commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// The trip that keeps a phase run open.
#[derive(Debug, Serialize)]
pub struct PhaseRunTripView {
    pub incident: String,
    pub since: String,
    pub reason: String,
    /// When the cooldown ends; `None` = a person has to decide.
    pub until: Option<String>,
}

/// The last iteration and how it was evaluated.
#[derive(Debug, Serialize)]
pub struct IterationView {
    pub iteration: u64,
    /// `progress`, `no_progress` or `neutral`.
    pub judged: &'static str,
    pub gains: Vec<String>,
    pub signs: Vec<phase::WeighedSignal>,
    pub weight: u64,
    pub enough: u32,
    /// The work tree had this content before: the work was undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// What a run has spent so far; unknown values are null.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SpentView {
    pub wall_seconds: u64,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl PhaseRunView {
    pub fn new(
        name: &CircuitName,
        phase_run: &PhaseRun,
        bounds: Bounds,
        enough: u32,
        history: &[Entry],
        now: Moment,
    ) -> Self {
        let counted = |count, threshold| CountView { count, threshold };
        let is_open = matches!(phase_run.state, RunState::Open(_));
        Self {
            schema: SCHEMA,
            circuit: name.to_string(),
            state: phase_run.state_name_at(now),
            phase: phase_run.phase.as_ref().map(ToString::to_string),
            iteration: phase_run.iteration,
            underway_since: phase_run.underway.map(|underway| underway.since.at.to_string()),
            no_progress: counted(phase_run.no_progress, bounds.thresholds.no_progress),
            same_error: counted(phase_run.same_error, bounds.thresholds.same_error),
            permission_denials: bounds.permission_denials.map(|limit| counted(phase_run.permission_denials, limit)),
            metrics: metrics(phase_run),
            trip: phase_run.trip().map(|trip| PhaseRunTripView {
                incident: trip.incident.clone(),
                since: trip.since.at.to_string(),
                reason: phase::trip_text(trip),
                until: trip.until().map(|until| until.to_string()),
            }),
            last: phase_run.last.as_ref().map(|last| IterationView::new(last, enough)),
            last_error: last_error(history),
            guidance: phase_run.guidance.clone(),
            known_failures: phase_run.known_failures.iter().map(ToString::to_string).collect(),
            spent: SpentView::new(phase_run.spent),
            finish: phase_run.finish,
            last_progress: phase_run.last_progress,
            opens: phase_run.open_count,
            totals: phase_run.totals,
            recommendation: phase_run.recommendation(),
            options: if is_open { phase_run_options(name) } else { Vec::new() },
        }
    }

    /// True for the phase run of `run --loop`, which has one phase and none to skip to.
    pub fn is_loop(&self) -> bool {
        self.phase.as_deref() == Some(PhaseName::LOOP)
    }

    pub fn is_open(&self) -> bool {
        self.state == "OPEN"
    }

    /// The last value of a metric, if it is a whole number.
    pub fn metric(&self, name: &str) -> Option<u64> {
        self.metrics.get(name).and_then(Value::as_u64)
    }

    /// True if the last iteration improved any metric.
    pub fn has_gained(&self) -> bool {
        self.last.as_ref().is_some_and(|last| !last.gains.is_empty())
    }
}

impl IterationView {
    fn new(last: &Iterated, enough: u32) -> Self {
        Self {
            iteration: last.iteration,
            judged: last.as_str(),
            gains: last.gains.clone(),
            signs: last.signals.clone(),
            weight: last.signals.iter().map(|sign| u64::from(sign.weight)).sum(),
            enough,
            undone: last.undone,
        }
    }
}

impl SpentView {
    pub fn new(spent: phase::Spent) -> Self {
        Self {
            wall_seconds: spent.wall_ms / 1000,
            tokens: spent.tokens,
            cost_usd: spent.micros.map(|micros| micros as f64 / 1e6),
        }
    }
}

/// The last metrics of the current phase.
fn metrics(phase_run: &PhaseRun) -> Map<String, Value> {
    let number = |text: String| text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from));
    let known = phase_run.baseline();
    known.iter().map(|(name, value)| (name.to_owned(), number(value.to_string()).unwrap_or_default())).collect()
}

/// Returns the text of the newest error since the circuit was last closed or the phase was entered. `history` has the
/// phase run's facts, newest first.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseVerb {
    Begin,
    Check,
    Report,
    Decide,
}

/// The result of `phase check`, `begin`, `report` and `decide`.
#[derive(Debug, Serialize)]
pub struct PhaseAnswerView {
    #[serde(flatten)]
    pub answer: AnswerView<PhaseVerb>,
    /// Guidance that was handed out just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The seed's log lines for this event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    #[serde(rename = "course")]
    pub phase_run: Option<PhaseRunView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

impl PhaseAnswerView {
    /// The result where no phase has begun.
    pub fn nothing(verb: PhaseVerb) -> Self {
        let answer = AnswerView::new(verb, &Verdict::Pass);
        Self { answer, guidance: None, log: Vec::new(), phase_run: None, audit: None }
    }

    /// The result of a committed event.
    pub fn new(verb: PhaseVerb, committed: &Committed, phase_run: Option<PhaseRunView>) -> Self {
        let facts = || {
            committed.decision.facts.iter().filter_map(|recorded| match &recorded.fact {
                Fact::Phase(fact) => Some(fact),
                _other => None,
            })
        };
        Self {
            answer: AnswerView::new(verb, &committed.decision.verdict),
            guidance: facts().find_map(|fact| match fact {
                PhaseFact::Guided { guidance } => Some(guidance.clone()),
                _other => None,
            }),
            log: facts().filter_map(phase::log_line).collect(),
            phase_run,
            audit: None,
        }
    }
}

/// The result of `phase history`.
#[derive(Debug, Serialize)]
pub struct PhaseHistoryView {
    pub schema: u32,
    pub circuit: String,
    pub phase: Option<String>,
    pub totals: Totals,
    /// Newest first.
    pub history: Vec<HistoryLineView>,
}

#[derive(Debug, Serialize)]
pub struct HistoryLineView {
    pub at: String,
    /// The same instant, under the key of the first version.
    pub timestamp: String,
    pub event: HistoryEvent,
    pub from_state: String,
    pub to_state: String,
    pub reason: String,
    pub iteration: u64,
}

impl PhaseHistoryView {
    pub fn new(name: &CircuitName, phase_run: &PhaseRun, limit: usize) -> Self {
        let line = |line: &HistoryLine| HistoryLineView {
            at: line.at.to_string(),
            timestamp: line.at.to_string(),
            event: line.event,
            from_state: line.from.clone(),
            to_state: line.to.clone(),
            reason: line.reason.clone(),
            iteration: line.iteration,
        };
        Self {
            schema: SCHEMA,
            circuit: name.to_string(),
            phase: phase_run.phase.as_ref().map(PhaseName::to_string),
            totals: phase_run.totals,
            history: phase_run.history.iter().rev().take(limit).map(line).collect(),
        }
    }
}
