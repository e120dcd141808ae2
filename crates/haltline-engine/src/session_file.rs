//! The state file of seed 001, with exactly its eight keys, for programs that read it (P5).

use std::collections::BTreeMap;

use haltline_core::phase::{
    ForeignRun, ForeignState, HistoryEvent, HistoryLine, Measure, Metrics, PhaseName, PhaseRun, Precedence, RunState,
    trip_text,
};
use haltline_core::{Instant, Moment, shorten};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::file::pretty_json;
use crate::redact::storable;

pub const NAME: &str = "circuit-breaker.json";
/// The phases in the seed's schema, with the metric it shows for each.
const SEED_METRICS: [(&str, &str); 4] = [
    ("RED", "tests_generated"),
    ("GREEN", "tests_passing"),
    ("REFACTOR", "patterns_applied"),
    ("DOCUMENT", "docs_generated"),
];

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    timestamp: String,
    event: HistoryEvent,
    from_state: String,
    to_state: String,
    reason: String,
}

pub fn render(phase_run: &PhaseRun, now: Moment) -> Vec<u8> {
    // In the seed's order, which a map of phase names would not keep.
    let mut metrics: Map<String, Value> =
        SEED_METRICS.iter().map(|(phase, name)| ((*phase).to_owned(), json!({ *name: 0 }))).collect();
    for (phase, baseline) in &phase_run.baselines {
        let numbers = metrics.entry(phase.as_str()).or_insert_with(|| json!({}));
        for (name, measure) in baseline.iter() {
            numbers[name] = number(measure);
        }
    }
    let trip = phase_run.trip();
    let history: Vec<Line> = phase_run.history.iter().map(line).collect();
    let state = match &phase_run.state {
        RunState::Open(trip) if trip.cooldown_ended_at(now).is_some() => "HALF_OPEN",
        state => state.as_file_str(),
    };
    pretty_json(&json!({
        "state": state,
        "no_progress_count": phase_run.no_progress,
        "same_error_count": phase_run.same_error,
        "last_progress_metric": metrics,
        "last_error_hash": phase_run.error.as_ref().map(|error| error.raw.as_str()),
        "opened_at": trip.map(|trip| trip.since.at.to_string()),
        "open_reason": trip.map(trip_text),
        "history": history,
    }))
}

fn number(measure: Measure) -> Value {
    let text = measure.to_string();
    let whole = text.parse::<u64>().map(Value::from);
    whole.or_else(|_fraction| text.parse::<f64>().map(Value::from)).unwrap_or_default()
}

fn line(line: &HistoryLine) -> Line {
    Line {
        timestamp: line.at.to_string(),
        event: line.event,
        from_state: line.from.clone(),
        to_state: line.to.clone(),
        reason: line.reason.clone(),
    }
}

/// Parses a file. Missing keys have the values of a new file; an error names the wrong key.
pub fn parse(content: &[u8]) -> Result<ForeignRun, String> {
    let file: Map<String, Value> = serde_json::from_slice(content)
        .map_err(|error| format!("not a JSON object ({})", shorten(&error.to_string())))?;
    let text = |key: &str| match file.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(format!("{key} {}: expected a string or null", shorten(&other.to_string()))),
    };
    let count = |key: &str| match file.get(key) {
        None | Some(Value::Null) => Ok(0),
        Some(value) => value
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| format!("{key} {}: expected a whole number", shorten(&value.to_string()))),
    };
    let opened_at = text("opened_at")?.map(Instant::parse).transpose().map_err(|error| error.to_string())?;
    let state = match text("state")? {
        Some("CLOSED") => ForeignState::Closed,
        Some("HALF_OPEN" | "HALF-OPEN") => ForeignState::Warned,
        Some("OPEN") => ForeignState::Open {
            since: opened_at,
            reason: storable(text("open_reason")?.unwrap_or("OPEN in the state file")),
            cooldown_ms: None,
        },
        other => {
            let shown = shorten(other.unwrap_or_default());
            return Err(format!("state {shown}: expected \"CLOSED\", \"HALF_OPEN\" or \"OPEN\""));
        }
    };
    let mut baselines = BTreeMap::new();
    for (phase, numbers) in file.get("last_progress_metric").and_then(Value::as_object).into_iter().flatten() {
        let phase = PhaseName::parse(phase).map_err(|error| error.to_string())?;
        let mut metrics = Metrics::default();
        for (name, value) in numbers.as_object().into_iter().flatten() {
            metrics.set(name, &value.to_string()).map_err(|error| error.to_string())?;
        }
        baselines.insert(phase, metrics);
    }
    let lines: Vec<Line> = match file.get("history") {
        None | Some(Value::Null) => Vec::new(),
        Some(lines) => serde_json::from_value(lines.clone())
            .map_err(|error| format!("history: {}", shorten(&error.to_string())))?,
    };
    let excess = lines.len().saturating_sub(PhaseRun::HISTORY_MAX);
    let mut history = Vec::new();
    for Line { timestamp, event, from_state, to_state, reason } in lines.into_iter().skip(excess) {
        let at = Instant::parse(&timestamp).map_err(|error| error.to_string())?;
        let (from, to, reason) = (storable(&from_state), storable(&to_state), storable(&reason));
        let is_trip = event == HistoryEvent::StateChange && to == "OPEN";
        history.push(HistoryLine { at, event, from, to, reason, is_trip, iteration: 0 });
    }
    Ok(ForeignRun {
        precedence: Precedence::Store,
        state,
        no_progress: count("no_progress_count")?,
        same_error: count("same_error_count")?,
        error: text("last_error_hash")?.map(storable),
        permission_denials: 0,
        baselines,
        phase: None,
        iteration: 0,
        last_progress: 0,
        open_count: 0,
        history,
    })
}
