//! How each fact changes a constraint's circuit. This file makes no decisions.

use super::circuit::is_in_window;
use super::{Circuit, CircuitState, Fact, RequestedRule, StateName, Trip, TripRecord, Weight};
use crate::circuit::{increment, keep_newest};
use crate::{Instant, Moment};

/// Returns the circuit after a fact.
pub fn apply(circuit: Option<Circuit>, fact: &Fact, at: Moment) -> Circuit {
    let mut circuit = circuit.unwrap_or_default();
    match fact {
        Fact::RuleSet { rule, source, .. } => {
            circuit.rule = rule.clone();
            circuit.source.clone_from(source);
            circuit.requested = None;
        }
        Fact::RuleRequested { rule, source } => {
            circuit.requested = Some(RequestedRule { rule: rule.clone(), source: source.clone() });
        }
        Fact::Adopted { state, last_trip, last_reset, trip } => {
            circuit.last_trip = last_trip.or(trip.as_ref().map(|trip| trip.since.at));
            circuit.last_reset = *last_reset;
            increment(&mut circuit.generation);
            if let Some(trip) = trip {
                circuit.trips.push(TripRecord { tripped: trip.since.at, closed: None, by_person: false });
                increment(&mut circuit.totals.trips);
            }
            circuit.state = match (state, trip) {
                (StateName::Open, Some(trip)) => CircuitState::Open(trip.clone()),
                (StateName::HalfOpen, Some(trip)) => CircuitState::HalfOpen(trip.clone()),
                (StateName::Closed | StateName::Retired, _) | (StateName::Open | StateName::HalfOpen, None) => {
                    CircuitState::Closed
                }
            };
        }
        Fact::Violated { weight, imported, .. } => violated(&mut circuit, *weight, *imported, at),
        Fact::Tripped { trip } => tripped(&mut circuit, trip),
        Fact::HalfOpened => {
            if let CircuitState::Open(trip) = circuit.state {
                circuit.state = CircuitState::HalfOpen(trip);
                increment(&mut circuit.generation);
            }
        }
        Fact::Passed => increment(&mut circuit.totals.passes),
        Fact::Recovered => {
            increment(&mut circuit.totals.passes);
            close(&mut circuit, at.at, false);
        }
        Fact::Reset { .. } => close(&mut circuit, at.at, true),
        Fact::Denied => increment(&mut circuit.totals.denied),
        Fact::OverrideGranted { granted } => circuit.granted = Some(granted.clone()),
        Fact::OverrideSpent => {
            increment(&mut circuit.totals.overrides);
            circuit.granted = None;
        }
        Fact::OverrideRevoked { .. } => circuit.granted = None,
        Fact::Retired { created, .. } => {
            circuit.created = *created;
            circuit.granted = None;
            circuit.requested = None;
            increment(&mut circuit.generation);
            let from = match circuit.state {
                CircuitState::Closed => StateName::Closed,
                CircuitState::Open(_) => StateName::Open,
                CircuitState::HalfOpen(_) => StateName::HalfOpen,
                CircuitState::Retired { from, .. } => from,
            };
            circuit.state = CircuitState::Retired { at: at.at, from };
        }
    }
    circuit.first = Some(circuit.first.map_or(at.at, |first| first.min(at.at)));
    circuit
}

fn violated(circuit: &mut Circuit, weight: Weight, imported: bool, at: Moment) {
    match weight {
        Weight::Counted => {
            increment(&mut circuit.totals.violations);
            increment(&mut circuit.totals.counted);
            // A violation that happens now is the newest by definition, whatever the clock says; an imported one is
            // sorted in.
            let index = if imported {
                circuit.counted.partition_point(|earlier| earlier.at <= at.at)
            } else {
                circuit.counted.len()
            };
            circuit.counted.insert(index, at);
            forget_oldest(circuit, at);
        }
        Weight::Deduplicated => increment(&mut circuit.totals.deduplicated),
        Weight::WhileOpen => {
            increment(&mut circuit.totals.violations);
            increment(&mut circuit.totals.while_open);
        }
        Weight::Expired => increment(&mut circuit.totals.violations),
    }
}

/// Keeps only as many violations as are needed to trip. Expired ones are dropped first, at any position: if the clock
/// went back, the age of the first one may be unknown.
fn forget_oldest(circuit: &mut Circuit, now: Moment) {
    let kept_max = circuit.rule.limits.violation_threshold as usize;
    let window = circuit.rule.limits.window_ms();
    while circuit.counted.len() > kept_max {
        let expired = circuit.counted.iter().position(|&then| !is_in_window(now, then, window));
        circuit.counted.remove(expired.unwrap_or(0));
    }
}

fn tripped(circuit: &mut Circuit, trip: &Trip) {
    increment(&mut circuit.generation);
    increment(&mut circuit.totals.trips);
    circuit.last_trip = Some(trip.since.at);
    circuit.trips.push(TripRecord { tripped: trip.since.at, closed: None, by_person: false });
    keep_newest(&mut circuit.trips, Circuit::TRIPS_MAX);
    circuit.state = CircuitState::Open(trip.clone());
    // An override allows one action under the previous trip only.
    circuit.granted = None;
}

/// Closes the circuit: earlier violations no longer count (C2), and every trip since the last close ends now.
fn close(circuit: &mut Circuit, at: Instant, by_person: bool) {
    for trip in circuit.trips.iter_mut().rev().take_while(|trip| trip.closed.is_none()) {
        trip.closed = Some(at);
        trip.by_person = by_person;
    }
    circuit.state = CircuitState::Closed;
    increment(&mut circuit.generation);
    circuit.counted.clear();
    circuit.last_reset = Some(at);
    circuit.granted = None;
}
