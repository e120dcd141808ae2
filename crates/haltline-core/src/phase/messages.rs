//! Texts about a phase run; they are seed 001's texts where the seed has them.

use super::{Fact, Kind, PhaseRun, RunState, Trip, TripCause};
use crate::counted;

/// Suggestion that haltline adds when the circuit of GREEN opens (seed 001).
pub const GREEN_SUGGESTION: &str = "Consider refactoring approach or splitting the feature";

/// Reason in the history when Ralph's startup option closed an open circuit.
pub(super) const AUTO_RESET: &str = "Auto-reset on startup";

/// Why a circuit opened: `open_reason` of the state file.
pub fn trip_text(trip: &Trip) -> String {
    let Trip { count, cause, .. } = trip;
    match cause {
        TripCause::NoProgress => format!("No progress for {}", counted(*count, "iteration")),
        TripCause::SameError => format!("Same error repeated {}", counted(*count, "time")),
        TripCause::PermissionDenials => format!("Permission denied in {} in a row", counted(*count, "iteration")),
        TripCause::Neutral => {
            format!(
                "{} in a row without work: only questions, plans, limits or external problems",
                counted(*count, "iteration")
            )
        }
        TripCause::StateFile { reason } => reason.clone(),
    }
}

/// The log line for a fact, where the seed asks for one.
pub fn log_line(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Warned { count } => Some(format!("WARNING: No progress detected for {}", counted(*count, "iteration"))),
        Fact::Tripped { trip: Trip { cause: TripCause::NoProgress, count, .. } } => {
            Some(format!("CIRCUIT OPEN: Execution halted after {count} no-progress iterations"))
        }
        Fact::Tripped { trip } => Some(format!("CIRCUIT OPEN: {}", trip_text(trip))),
        Fact::Recovered => Some("Progress detected, circuit closing".to_owned()),
        Fact::Reset { clears_open_count: false, .. } => Some(AUTO_RESET.to_owned()),
        Fact::Reset { clears_open_count: true, .. } | Fact::Modified { .. } => Some("Circuit reset by user".to_owned()),
        Fact::Began { .. }
        | Fact::Entered { .. }
        | Fact::Resumed { .. }
        | Fact::Started { .. }
        | Fact::Iterated(_)
        | Fact::HalfOpened
        | Fact::Denied
        | Fact::Ignored { .. }
        | Fact::Guided { .. }
        | Fact::Skipped { .. }
        | Fact::Aborted { .. }
        | Fact::Finished { .. }
        | Fact::Adopted(_) => None,
    }
}

impl PhaseRun {
    /// One line that tells the caller what to do next.
    pub fn recommendation(&self) -> String {
        let is_green = self.phase.as_ref().is_some_and(|phase| phase.kind() == Kind::Green);
        match &self.state {
            RunState::Closed => "Continue".to_owned(),
            RunState::Warned => match (self.no_progress, self.permission_denials, self.same_error) {
                (0, 0, 0) => "Monitoring after the cooldown.".to_owned(),
                (0, 0, errors) => {
                    format!("Same error repeated {}. Monitoring after the cooldown.", counted(errors, "time"))
                }
                (0, denials, _) => {
                    format!(
                        "Permission denied in {} in a row. Monitoring after the cooldown.",
                        counted(denials, "iteration")
                    )
                }
                (idle, _, _) => {
                    format!("No progress for {}. Try another way before the circuit opens.", counted(idle, "iteration"))
                }
            },
            RunState::Open(_) if is_green => {
                format!("Circuit breaker opened. Review and provide guidance. {GREEN_SUGGESTION}.")
            }
            RunState::Open(_) => "Circuit breaker opened. Review and provide guidance.".to_owned(),
            RunState::Over(_) => "This run is over.".to_owned(),
        }
    }
}
