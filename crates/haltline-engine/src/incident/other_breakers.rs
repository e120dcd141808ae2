//! Incidents of constraints, phase runs, slices and claims, from their rows.

use haltline_core::attempt::{self, Slice, SliceState};
use haltline_core::claim::{self, Claim};
use haltline_core::constraint::{self, Circuit, CircuitState, StateName};
use haltline_core::loop_::Pattern;
use haltline_core::phase::{self, PhaseRun, RunState};
use haltline_core::{CircuitName, Moment};
use serde_json::{Value, json};

use super::{EVIDENCE_MAX, Evidence, Incident, IncidentBreaker, IncidentEvent, IncidentState};
use crate::claims::claim_options;
use crate::mirror::Violation;
use crate::notify::{phase_run_options, slice_options};
use crate::redact::mask;

/// The incident of a constraint. `violations` holds the newest, newest first.
pub(crate) fn of_constraint(
    row: &CircuitName,
    id: &str,
    circuit: &Circuit,
    violations: &[Violation],
    now: Moment,
) -> Incident {
    let trip = match &circuit.state {
        CircuitState::Open(trip) | CircuitState::HalfOpen(trip) => Some(trip).filter(|trip| trip.incident == id),
        CircuitState::Closed | CircuitState::Retired { .. } => None,
    };
    let limits = circuit.limits();
    let count = trip.map_or_else(|| circuit.in_window(now), |trip| trip.count);
    let state = match circuit.state_at(now).name() {
        StateName::Closed => IncidentState::Closed,
        StateName::Open => IncidentState::Open,
        StateName::HalfOpen => IncidentState::HalfOpen,
        StateName::Retired => IncidentState::Retired,
    };
    let evidence = violations.iter().take(EVIDENCE_MAX).map(|violation| {
        let event = IncidentEvent { at: violation.at, kind: "violated", text: violation.action.clone(), who: None };
        Evidence::new(event, vec![("action", json!(violation.action)), ("session", json!(violation.session))])
    });
    let scope = row.scope();
    Incident {
        pattern: Some(Pattern::Constraint.as_str()),
        code: Some(constraint::TRIP_CODE),
        tripped: trip.map(|trip| trip.since.at).or(circuit.last_trip),
        until: trip.map(|trip| trip.until()),
        cooldown_ms: trip.map(|trip| trip.cooldown_ms),
        count,
        reason: Some(constraint::trip_text(count, limits.window_days)),
        evidence: evidence.collect(),
        denied: u32::try_from(circuit.totals.denied).unwrap_or(u32::MAX),
        options: vec![
            format!("wait: the cooldown is {} hours", limits.cooldown_hours),
            format!("haltline constraint reset {scope} --reason TEXT"),
            format!("haltline constraint override {scope} --reason TEXT"),
        ],
        ..Incident::unknown(row, id, IncidentBreaker::Constraint, state)
    }
}

/// The incident of a phase run.
pub(crate) fn of_phase_run(row: &CircuitName, id: &str, phase_run: &PhaseRun, now: Moment) -> Incident {
    let trip = phase_run.trip().filter(|trip| trip.incident == id);
    let state = match &phase_run.state {
        RunState::Open(trip) if trip.cooldown_ended_at(now).is_some() => IncidentState::HalfOpen,
        RunState::Open(_) => IncidentState::Open,
        RunState::Warned => IncidentState::HalfOpen,
        RunState::Closed => IncidentState::Closed,
        RunState::Over(_) => IncidentState::Over,
    };
    let is_before = |line: &&phase::HistoryLine| trip.is_none_or(|trip| line.at <= trip.since.at);
    let evidence = phase_run.history.iter().rev().filter(is_before).take(EVIDENCE_MAX).map(|line| {
        let kind = match line.event {
            phase::HistoryEvent::StateChange => "state_change",
            phase::HistoryEvent::Progress => "progress",
            phase::HistoryEvent::Error => "error",
        };
        let event = IncidentEvent { at: line.at, kind, text: Some(line.reason.clone()), who: None };
        Evidence::new(event, vec![("iteration", json!(line.iteration)), ("what", json!(line.reason))])
    });
    let breaker = IncidentBreaker::Phase { phase: phase_run.phase.as_ref().map(|phase| phase.as_str().to_owned()) };
    Incident {
        pattern: trip.map(|trip| trip.cause.as_str()),
        code: trip.map(|trip| trip.cause.code()),
        tripped: trip.map(|trip| trip.since.at),
        until: trip.and_then(phase::Trip::until),
        cooldown_ms: trip.and_then(|trip| trip.cooldown_ms),
        count: trip.map_or(0, |trip| trip.count),
        reason: trip.map(phase::trip_text),
        cost_micros: phase_run.spent.micros,
        evidence: evidence.collect(),
        denied: u32::try_from(phase_run.totals.denied).unwrap_or(u32::MAX),
        options: phase_run_options(row),
        ..Incident::unknown(row, id, breaker, state)
    }
}

/// The incident of a slice.
pub(crate) fn of_slice(row: &CircuitName, id: &str, slice: &Slice) -> Incident {
    let trip = slice.trip().filter(|trip| trip.incident == id);
    let state = match slice.state {
        SliceState::UnderWay => IncidentState::Closed,
        SliceState::Open(_) => IncidentState::Open,
        SliceState::Ended => IncidentState::Ended,
    };
    let attempts = slice.failing().flat_map(|(test, state)| state.log().into_iter().map(move |tried| (test, tried)));
    let evidence = attempts.take(EVIDENCE_MAX).map(|(test, tried)| {
        let summary = if tried.summary.is_empty() { &tried.strategy } else { &tried.summary };
        let event = IncidentEvent { at: tried.at, kind: "failed", text: Some(format!("{test}: {summary}")), who: None };
        let own: Vec<(&'static str, Value)> =
            vec![("test", json!(test.as_str())), ("strategy", json!(tried.strategy)), ("what", json!(tried.summary))];
        Evidence::new(event, own)
    });
    Incident {
        pattern: trip.map(|trip| trip.cause.as_str()),
        code: trip.map(|trip| trip.cause.code()),
        tripped: trip.map(|trip| trip.since.at),
        count: trip.map_or(0, |trip| trip.total_failed_attempts),
        reason: trip.map(attempt::trip_text),
        evidence: evidence.collect(),
        denied: trip.map_or(0, |trip| trip.denials),
        options: slice_options(row),
        ..Incident::unknown(row, id, IncidentBreaker::Attempt, state)
    }
}

/// A dispute, with secrets masked; `None` if the claim no longer keeps it.
pub(crate) fn of_claim(row: &CircuitName, id: &str, claim: &Claim) -> Option<Incident> {
    let resolved = claim.resolved_disputes.iter().find(|resolved| resolved.dispute.incident == id);
    let open = claim.dispute().filter(|dispute| dispute.incident == id);
    let dispute = open.or(resolved.map(|resolved| &resolved.dispute))?;
    let masked = |text: &str| mask(text).into_owned();
    let entry = |kind: &'static str, text: &str| {
        Evidence::new(IncidentEvent { at: dispute.since.at, kind, text: Some(masked(text)), who: None }, Vec::new())
    };
    let mut evidence = vec![entry("objection", &dispute.reason)];
    evidence.extend(dispute.position.as_deref().map(|position| entry("position", position)));
    let until = resolved.map(|resolved| resolved.at);
    let is_after =
        |line: &&claim::HistoryLine| line.at > dispute.since.at && until.is_none_or(|until| line.at <= until);
    let after = claim.history.iter().filter(is_after);
    let after =
        after.map(|line| IncidentEvent { at: line.at, kind: "history", text: Some(line.text.clone()), who: None });
    let breaker = IncidentBreaker::Claim {
        status: claim.listed_status(),
        claim: masked(&claim.text),
        dispute_reason: masked(&dispute.reason),
        researcher_position: dispute.position.as_deref().map(masked),
        dispute_cycle: dispute.cycle,
    };
    let state = if resolved.is_some() { IncidentState::Closed } else { IncidentState::Disputed };
    Some(Incident {
        pattern: Some(dispute.cause.pattern()),
        code: Some(dispute.cause.code()),
        tripped: Some(dispute.since.at),
        count: dispute.count,
        reason: Some(claim::dispute_text(dispute)),
        evidence,
        after: after.collect(),
        denied: u32::try_from(claim.totals.denied).unwrap_or(u32::MAX),
        closed: resolved.map(|resolved| IncidentEvent {
            at: resolved.at,
            kind: resolved.how.as_str(),
            text: Some(masked(resolved.how.text())),
            who: resolved.how.operator().map(str::to_owned),
        }),
        options: claim_options(row),
        ..Incident::unknown(row, id, breaker, state)
    })
}
