//! Views of the circuit of a Ralph loop.

use haltline_core::phase::{Bounds, Fact as PhaseFact, PhaseRun, Totals};
use haltline_core::{CircuitName, Elapsed, Fact, Moment};
use haltline_engine::ralph_file;
use haltline_engine::store::Committed;
use serde::Serialize;

use super::{AuditView, CountView, SCHEMA};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

#[derive(Debug, Serialize)]
pub struct OpenView {
    pub incident: String,
    pub since: String,
    /// End of the cooldown.
    pub until: Option<String>,
    /// `None` if the trip is later than this clock's time.
    pub cooldown_left_seconds: Option<u64>,
}

impl RalphView {
    pub fn new(name: &CircuitName, phase_run: &PhaseRun, bounds: Bounds, now: Moment) -> Self {
        let counted = |count, threshold| CountView { count, threshold };
        let open = phase_run.trip().map(|trip| OpenView {
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
            state: phase_run.state.as_file_str(),
            reason: ralph_file::reason(phase_run),
            no_progress: counted(phase_run.no_progress, bounds.thresholds.no_progress),
            same_error: counted(phase_run.same_error, bounds.thresholds.same_error),
            permission_denials: counted(phase_run.permission_denials, bounds.permission_denials.unwrap_or_default()),
            last_progress_loop: phase_run.last_progress,
            current_loop: phase_run.iteration,
            total_opens: phase_run.open_count,
            open,
            totals: phase_run.totals,
            audit: None,
        }
    }
}

/// Describes the state changes of an event, one line each.
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
            PhaseFact::Reset { clears_open_count: false, .. } => {
                Some("CIRCUIT BREAKER: Normal operation: auto-reset on startup (CB_AUTO_RESET=true)".to_owned())
            }
            PhaseFact::Ignored { .. } => Some("CIRCUIT BREAKER is open: haltline ignores this loop".to_owned()),
            PhaseFact::Iterated(_)
            | PhaseFact::Reset { .. }
            | PhaseFact::Began { .. }
            | PhaseFact::Entered { .. }
            | PhaseFact::Resumed { .. }
            | PhaseFact::Started { .. }
            | PhaseFact::Denied
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
