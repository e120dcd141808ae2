//! How each fact changes a constraint's circuit. Nothing is decided here.

use super::circuit::is_in_window;
use super::{Circuit, Condition, Fact, RuleAsked, Standing, Trip, TripRecord, Weight};
use crate::memory::rise;
use crate::{Instant, Moment};

/// The circuit after a fact.
pub fn apply(circuit: Option<Circuit>, fact: &Fact, at: Moment) -> Circuit {
    let mut circuit = circuit.unwrap_or_default();
    match fact {
        Fact::RuleSet { rule, source, .. } => {
            circuit.rule = rule.clone();
            circuit.source.clone_from(source);
            circuit.asked = None;
        }
        Fact::RuleAsked { rule, source } => {
            circuit.asked = Some(RuleAsked { rule: rule.clone(), source: source.clone() });
        }
        Fact::Adopted { state, last_trip, last_reset, trip } => {
            circuit.last_trip = last_trip.or(trip.as_ref().map(|trip| trip.since.at));
            circuit.last_reset = *last_reset;
            rise(&mut circuit.generation);
            if let Some(trip) = trip {
                circuit.trips.push(TripRecord { tripped: trip.since.at, closed: None, by_person: false });
                rise(&mut circuit.totals.trips);
            }
            circuit.standing = match (state, trip) {
                (Condition::Open, Some(trip)) => Standing::Open(trip.clone()),
                (Condition::HalfOpen, Some(trip)) => Standing::HalfOpen(trip.clone()),
                (Condition::Closed | Condition::Retired, _) | (Condition::Open | Condition::HalfOpen, None) => {
                    Standing::Closed
                }
            };
        }
        Fact::Violated { weight, imported, .. } => violated(&mut circuit, *weight, *imported, at),
        Fact::Tripped { trip } => tripped(&mut circuit, trip),
        Fact::HalfOpened => {
            if let Standing::Open(trip) = circuit.standing {
                circuit.standing = Standing::HalfOpen(trip);
                rise(&mut circuit.generation);
            }
        }
        Fact::Passed => rise(&mut circuit.totals.passes),
        Fact::Recovered => {
            rise(&mut circuit.totals.passes);
            close(&mut circuit, at.at, false);
        }
        Fact::Reset { .. } => close(&mut circuit, at.at, true),
        Fact::Refused => rise(&mut circuit.totals.refused),
        Fact::OverrideGranted { granted } => circuit.granted = Some(granted.clone()),
        Fact::OverrideSpent => {
            rise(&mut circuit.totals.overrides);
            circuit.granted = None;
        }
        Fact::OverrideRevoked { .. } => circuit.granted = None,
        Fact::Retired { created, .. } => {
            circuit.created = *created;
            circuit.granted = None;
            circuit.asked = None;
            rise(&mut circuit.generation);
            let from = match circuit.standing {
                Standing::Closed => Condition::Closed,
                Standing::Open(_) => Condition::Open,
                Standing::HalfOpen(_) => Condition::HalfOpen,
                Standing::Retired { from, .. } => from,
            };
            circuit.standing = Standing::Retired { at: at.at, from };
        }
    }
    circuit.first = Some(circuit.first.map_or(at.at, |first| first.min(at.at)));
    circuit
}

fn violated(circuit: &mut Circuit, weight: Weight, imported: bool, at: Moment) {
    match weight {
        Weight::Counted => {
            rise(&mut circuit.totals.violations);
            rise(&mut circuit.totals.counted);
            // What happens here is newest by definition, whatever the clock says; what is imported finds its place.
            let place = if imported {
                circuit.counted.partition_point(|earlier| earlier.at <= at.at)
            } else {
                circuit.counted.len()
            };
            circuit.counted.insert(place, at);
            forget_oldest(circuit, at);
        }
        Weight::Deduplicated => rise(&mut circuit.totals.deduplicated),
        Weight::WhileOpen => {
            rise(&mut circuit.totals.violations);
            rise(&mut circuit.totals.while_open);
        }
        Weight::Past => rise(&mut circuit.totals.violations),
    }
}

/// Only as many as can trip are kept. Those that no longer count go first, wherever they stand: after a clock
/// that went back, the first in line may be the one whose age cannot be told.
fn forget_oldest(circuit: &mut Circuit, now: Moment) {
    let keep = circuit.rule.limits.violation_threshold as usize;
    let window = circuit.rule.limits.window_ms();
    while circuit.counted.len() > keep {
        let spent = circuit.counted.iter().position(|&then| !is_in_window(now, then, window));
        circuit.counted.remove(spent.unwrap_or(0));
    }
}

fn tripped(circuit: &mut Circuit, trip: &Trip) {
    rise(&mut circuit.generation);
    rise(&mut circuit.totals.trips);
    circuit.last_trip = Some(trip.since.at);
    circuit.trips.push(TripRecord { tripped: trip.since.at, closed: None, by_person: false });
    let excess = circuit.trips.len().saturating_sub(Circuit::TRIPS_MAX);
    circuit.trips.drain(..excess);
    circuit.standing = Standing::Open(trip.clone());
    // What a person allowed was one action of the trip before.
    circuit.granted = None;
}

/// Closes: what counted so far counts no more (C2), and every trip since the last close ended now.
fn close(circuit: &mut Circuit, at: Instant, by_person: bool) {
    for trip in circuit.trips.iter_mut().rev().take_while(|trip| trip.closed.is_none()) {
        trip.closed = Some(at);
        trip.by_person = by_person;
    }
    circuit.standing = Standing::Closed;
    rise(&mut circuit.generation);
    circuit.counted.clear();
    circuit.last_reset = Some(at);
    circuit.granted = None;
}
