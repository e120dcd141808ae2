//! The circuit of a Ralph loop, as seen.

use haltline_core::phase::{Bounds, Course, Fact as PhaseFact, Totals};
use haltline_core::{CircuitName, Elapsed, Fact, Moment};
use haltline_engine::ralph_file;
use haltline_engine::store::Committed;
use serde::Serialize;

use super::SCHEMA;
use super::constraint::AuditView;
use super::phase::CountView;

/// The circuit.
#[derive(Debug, Serialize)]
pub struct RalphView {
    pub schema: u32,
    pub circuit: String,
    pub state: &'static str,
    pub reason: String,
    pub no_progress: CountView,
    pub same_error: CountView,
    pub permission_denials: CountView,
    pub last_progress_loop: u64,
    pub current_loop: u64,
    pub total_opens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenView>,
    pub totals: Totals,
    /// What changed in this step, in Ralph's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

/// An open circuit.
#[derive(Debug, Serialize)]
pub struct OpenView {
    pub incident: String,
    pub since: String,
    /// When it is monitored again.
    pub until: Option<String>,
    /// `None` where the clock says it opened in the future.
    pub cooldown_left_seconds: Option<u64>,
}

impl RalphView {
    /// The view of a course under its limits.
    pub fn new(name: &CircuitName, course: &Course, bounds: Bounds, now: Moment) -> Self {
        let counted = |count, threshold| CountView { count, threshold };
        let open = course.trip().map(|trip| OpenView {
            incident: trip.incident.clone(),
            since: trip.since.at.to_seconds_text(),
            until: trip.until().map(|until| until.to_seconds_text()),
            cooldown_left_seconds: match now.since(trip.since) {
                Elapsed::Known(elapsed) => {
                    trip.cooldown_ms.map(|cooldown_ms| cooldown_ms.saturating_sub(elapsed).div_ceil(1000))
                }
                Elapsed::Unknown => None,
            },
        });
        Self {
            schema: SCHEMA,
            circuit: name.to_string(),
            state: course.stand.file_word(),
            reason: ralph_file::reason(course),
            no_progress: counted(course.no_progress, bounds.thresholds.no_progress),
            same_error: counted(course.same_error, bounds.thresholds.same_error),
            permission_denials: counted(course.denials, bounds.denials.unwrap_or_default()),
            last_progress_loop: course.last_progress,
            current_loop: course.iteration,
            total_opens: course.opens,
            open,
            totals: course.totals,
            transitions: Vec::new(),
            audit: None,
        }
    }
}

/// What changed, one line each.
pub fn transitions(committed: &Committed) -> Vec<String> {
    let lines = committed.decision.facts.iter().filter_map(|recorded| {
        let Fact::Phase(fact) = &recorded.fact else { return None };
        match fact {
            PhaseFact::Tripped { trip } => Some(format!("CIRCUIT BREAKER OPENED: {}", ralph_file::trip_reason(trip))),
            PhaseFact::Warned { count } => {
                let loops = if *count == 1 { "loop" } else { "loops" };
                Some(format!("CIRCUIT BREAKER: Monitoring mode: {count} {loops} without progress"))
            }
            PhaseFact::HalfOpened => Some("CIRCUIT BREAKER: Monitoring mode: the cooldown is over".to_owned()),
            PhaseFact::Recovered => Some("CIRCUIT BREAKER: Normal operation: progress detected".to_owned()),
            PhaseFact::Reset { opens_too: false, .. } => {
                Some("CIRCUIT BREAKER: Normal operation: auto-reset on startup (CB_AUTO_RESET=true)".to_owned())
            }
            PhaseFact::Ignored { .. } => Some("CIRCUIT BREAKER is open: this loop is counted as ignored".to_owned()),
            PhaseFact::Iterated(_)
            | PhaseFact::Reset { .. }
            | PhaseFact::Began { .. }
            | PhaseFact::Entered { .. }
            | PhaseFact::Resumed { .. }
            | PhaseFact::Started { .. }
            | PhaseFact::Refused
            | PhaseFact::Guided { .. }
            | PhaseFact::Skipped { .. }
            | PhaseFact::Aborted { .. }
            | PhaseFact::Modified { .. }
            | PhaseFact::Finished { .. }
            | PhaseFact::Adopted(_) => None,
        }
    });
    lines.collect()
}
