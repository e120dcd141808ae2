//! Ralph's state and history files, in its own words (P8).

use std::collections::BTreeMap;

use haltline_core::phase::{
    Bounds, Course, Foreign, ForeignStand, HistoryEvent, Override, PhaseName, Stand, Trip, TripCause,
};
use haltline_core::{Instant, digest_hex, shorten};
use serde_json::{Map, Value, json};

use crate::redact::storable;

/// The state file's name in Ralph's folder.
pub const NAME: &str = ".circuit_breaker_state";
/// The history's name beside it.
pub const HISTORY: &str = ".circuit_breaker_history";

/// How many changes of state the history keeps.
const HISTORY_LINES_MAX: usize = 1000;

/// The state file as it is written. `said` is what a person said at the reset that was the last thing to happen.
pub fn render(course: &Course, said: Option<&str>) -> Vec<u8> {
    let mut file = json!({
        "state": course.stand.file_word(),
        "last_change": course.changed.at.to_seconds_text(),
        "consecutive_no_progress": course.no_progress,
        "consecutive_same_error": course.same_error,
        "consecutive_permission_denials": course.denials,
        "last_progress_loop": course.last_progress,
        "total_opens": course.opens,
        "reason": said.map_or_else(|| reason(course), str::to_owned),
        "current_loop": course.iteration,
    });
    if let Stand::Open(trip) = &course.stand {
        file["opened_at"] = trip.since.at.to_seconds_text().into();
    }
    let mut text = serde_json::to_vec_pretty(&file).expect("texts and numbers can be written");
    text.push(b'\n');
    text
}

/// Why it is in the state it is in.
pub fn reason(course: &Course) -> String {
    let change = course.history.iter().rev().find(|line| line.event == HistoryEvent::StateChange);
    match &course.stand {
        Stand::Open(trip) => trip_reason(trip),
        Stand::Warned if change.is_none_or(|line| line.from == "CLOSED") => {
            format!("Monitoring: {} loops without progress", course.no_progress)
        }
        Stand::Warned | Stand::Closed | Stand::Over(_) => change.map(|line| line.reason.clone()).unwrap_or_default(),
    }
}

/// Why it opened, in Ralph's words.
pub fn trip_reason(trip: &Trip) -> String {
    let count = trip.count;
    match &trip.cause {
        TripCause::NoProgress => format!("No progress detected in {count} consecutive loops"),
        TripCause::SameError => format!("Same error repeated in {count} consecutive loops"),
        TripCause::Denials => format!("Permission denied in {count} consecutive loops"),
        TripCause::Neutral => format!("{count} loops in a row that could not work"),
        TripCause::Found { reason } => reason.clone(),
    }
}

/// The history as it is written: what the file has already, and the changes of state it lacks.
pub fn render_history(course: &Course, written: Vec<Value>) -> Vec<u8> {
    let mut lines = written;
    let changes = course.history.iter().filter(|line| line.event == HistoryEvent::StateChange && line.from != line.to);
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
    let mut text = serde_json::to_vec_pretty(&lines).expect("texts and numbers can be written");
    text.push(b'\n');
    text
}

/// The lines of a history.
pub fn parse_history(content: &[u8]) -> Result<Vec<Value>, String> {
    serde_json::from_slice(content).map_err(|error| format!("not a JSON list ({})", shorten(&error.to_string())))
}

/// What tells haltline's own writing from a person's.
pub fn stamp(content: &[u8]) -> String {
    digest_hex(&[content], 16)
}

/// The word for what a file claims.
pub fn word(stand: &ForeignStand) -> &'static str {
    match stand {
        ForeignStand::Closed => "CLOSED",
        ForeignStand::Warned => "HALF_OPEN",
        ForeignStand::Open { .. } => "OPEN",
    }
}

/// What a file says; old files lack keys. A number Ralph's shell would take for 0 is 0 here.
pub fn parse(content: &[u8], bounds: Option<Bounds>) -> Result<Foreign, String> {
    let file: Map<String, Value> = serde_json::from_slice(content)
        .map_err(|error| format!("not a JSON object ({})", shorten(&error.to_string())))?;
    let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| match file.get(key) {
        Some(Value::String(text)) => text.trim().parse().unwrap_or(0),
        Some(value) => value.as_u64().unwrap_or(0),
        None => 0,
    };
    let count = |key: &str| u32::try_from(number(key)).unwrap_or(u32::MAX);
    let stand = match text("state") {
        "CLOSED" => ForeignStand::Closed,
        "HALF_OPEN" | "HALF-OPEN" => ForeignStand::Warned,
        "OPEN" => {
            // Files from before `opened_at` have only the last change.
            let since = [text("opened_at"), text("last_change")].into_iter().find_map(|at| Instant::parse(at).ok());
            let reason = match text("reason") {
                "" => "OPEN in the state file".to_owned(),
                reason => storable(reason),
            };
            ForeignStand::Open { since, reason, cooldown_ms: bounds.and_then(|bounds| bounds.cooldown_ms) }
        }
        other => return Err(format!("state {}: expected \"CLOSED\", \"HALF_OPEN\" or \"OPEN\"", shorten(other))),
    };
    Ok(Foreign {
        wins: Override::File,
        stand,
        no_progress: count("consecutive_no_progress"),
        same_error: count("consecutive_same_error"),
        error: None,
        denials: count("consecutive_permission_denials"),
        baselines: BTreeMap::new(),
        phase: Some(PhaseName::known(PhaseName::RALPH)),
        iteration: number("current_loop"),
        last_progress: number("last_progress_loop"),
        opens: number("total_opens"),
        history: Vec::new(),
    })
}
