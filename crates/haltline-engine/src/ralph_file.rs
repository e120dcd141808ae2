//! Ralph's state and history files, in its own format and wording (P8).

use std::collections::BTreeMap;

use haltline_core::phase::{
    Bounds, ForeignRun, ForeignState, HistoryEvent, PhaseName, PhaseRun, Precedence, RunState, Trip, TripCause,
};
use haltline_core::{Instant, digest_hex, shorten};
use serde_json::{Map, Value, json};

use crate::file::pretty_json;
use crate::redact::storable;

pub const NAME: &str = ".circuit_breaker_state";
/// The name of the history file beside it.
pub const HISTORY: &str = ".circuit_breaker_history";

/// How many state changes the history keeps.
const HISTORY_LINES_MAX: usize = 1000;

/// The content of the state file. `reset_reason` is what a person gave as reason, if a reset was the last event.
/// `written` is the file as it is now: while the circuit stays OPEN, the spelling of its `opened_at` is kept.
pub fn render(phase_run: &PhaseRun, reset_reason: Option<&str>, written: Option<&[u8]>) -> Vec<u8> {
    let mut file = json!({
        "state": phase_run.state.as_file_str(),
        "last_change": phase_run.changed.at.to_seconds_text(),
        "consecutive_no_progress": phase_run.no_progress,
        "consecutive_same_error": phase_run.same_error,
        "consecutive_permission_denials": phase_run.permission_denials,
        "last_progress_loop": phase_run.last_progress,
        "total_opens": phase_run.open_count,
        "reason": reset_reason.map_or_else(|| reason(phase_run), str::to_owned),
        "current_loop": phase_run.iteration,
    });
    if let RunState::Open(trip) = &phase_run.state {
        let opened_at = trip.since.at.to_seconds_text();
        let is_same = |text: &String| Instant::parse(text).is_ok_and(|at| at.to_seconds_text() == opened_at);
        let kept = written.and_then(written_opened_at).filter(is_same);
        file["opened_at"] = kept.unwrap_or(opened_at).into();
    }
    pretty_json(&file)
}

fn written_opened_at(content: &[u8]) -> Option<String> {
    let file: Map<String, Value> = serde_json::from_slice(content).ok()?;
    file.get("opened_at")?.as_str().map(str::to_owned)
}

/// Why the circuit is in its current state.
pub fn reason(phase_run: &PhaseRun) -> String {
    let change = phase_run.history.iter().rev().find(|line| line.event == HistoryEvent::StateChange);
    match &phase_run.state {
        RunState::Open(trip) => trip_reason(trip),
        RunState::Warned if change.is_none_or(|line| line.from == "CLOSED") => {
            format!("Monitoring: {} loops without progress", phase_run.no_progress)
        }
        RunState::Warned | RunState::Closed | RunState::Over(_) => {
            change.map(|line| line.reason.clone()).unwrap_or_default()
        }
    }
}

/// Why the circuit tripped, in Ralph's wording.
pub fn trip_reason(trip: &Trip) -> String {
    let count = trip.count;
    match &trip.cause {
        TripCause::NoProgress => format!("No progress detected in {count} consecutive loops"),
        TripCause::SameError => format!("Same error repeated in {count} consecutive loops"),
        TripCause::PermissionDenials => format!("Permission denied in {count} consecutive loops"),
        TripCause::Neutral => format!("{count} loops in a row without work"),
        TripCause::StateFile { reason } => reason.clone(),
    }
}

/// The content of the history file: the lines it already has, and the state changes it lacks.
pub fn render_history(phase_run: &PhaseRun, written: Vec<Value>) -> Vec<u8> {
    let mut lines = written;
    let changes =
        phase_run.history.iter().filter(|line| line.event == HistoryEvent::StateChange && line.from != line.to);
    for change in changes {
        let line = json!({
            "timestamp": change.at.to_seconds_text(),
            "loop": change.iteration,
            "from_state": change.from,
            "to_state": change.to,
            "reason": change.reason,
        });
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.drain(..lines.len().saturating_sub(HISTORY_LINES_MAX));
    pretty_json(&lines)
}

pub fn parse_history(content: &[u8]) -> Result<Vec<Value>, String> {
    serde_json::from_slice(content).map_err(|error| format!("not a JSON list ({})", shorten(&error.to_string())))
}

/// A digest that distinguishes haltline's own writing from a person's edit.
pub fn stamp(content: &[u8]) -> String {
    digest_hex(&[content], 16)
}

/// The text for the state that a file claims.
pub fn state_text(state: &ForeignState) -> &'static str {
    match state {
        ForeignState::Closed => "CLOSED",
        ForeignState::Warned => "HALF_OPEN",
        ForeignState::Open { .. } => "OPEN",
    }
}

/// Parses a state file; old files lack keys. A number that Ralph's shell would read as 0 is 0 here.
pub fn parse(content: &[u8], bounds: Option<Bounds>) -> Result<ForeignRun, String> {
    let file: Map<String, Value> = serde_json::from_slice(content)
        .map_err(|error| format!("not a JSON object ({})", shorten(&error.to_string())))?;
    let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| match file.get(key) {
        Some(Value::String(text)) => text.trim().parse().unwrap_or(0),
        Some(value) => value.as_u64().unwrap_or(0),
        None => 0,
    };
    let count = |key: &str| u32::try_from(number(key)).unwrap_or(u32::MAX);
    let state = match text("state") {
        "CLOSED" => ForeignState::Closed,
        "HALF_OPEN" | "HALF-OPEN" => ForeignState::Warned,
        "OPEN" => {
            // Older files have no `opened_at`, only the last change.
            let since = [text("opened_at"), text("last_change")].into_iter().find_map(|at| Instant::parse(at).ok());
            let reason = match text("reason") {
                "" => "OPEN in the state file".to_owned(),
                reason => storable(reason),
            };
            ForeignState::Open { since, reason, cooldown_ms: bounds.and_then(|bounds| bounds.cooldown_ms) }
        }
        other => return Err(format!("state {}: expected \"CLOSED\", \"HALF_OPEN\" or \"OPEN\"", shorten(other))),
    };
    Ok(ForeignRun {
        precedence: Precedence::File,
        state,
        no_progress: count("consecutive_no_progress"),
        same_error: count("consecutive_same_error"),
        error: None,
        permission_denials: count("consecutive_permission_denials"),
        baselines: BTreeMap::new(),
        phase: Some(PhaseName::from_static(PhaseName::RALPH)),
        iteration: number("current_loop"),
        last_progress: number("last_progress_loop"),
        open_count: number("total_opens"),
        history: Vec::new(),
    })
}
