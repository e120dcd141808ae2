//! Sums the results of many sessions under one policy. It keeps sums and a short list, never the sessions.

use std::collections::BTreeMap;

use haltline_core::loop_::{CAPACITY_CODE, Limits};
use haltline_engine::replay::{Brought, KeptTrip, ReplayedSession, Severity, Trip};

use crate::view::backtest::{
    CAPACITY_KEY, CircuitView, LimitReachedView, LimitedSessionView, TripToReviewView, VerdictsView,
};

/// How many trips a person is asked to review.
const REVIEW_MAX: usize = 10;
/// How many sessions that reached a capacity limit are named.
const LIMITED_MAX: usize = 20;
/// A session with this many calls after a denial, which then commits, was probably doing useful work.
const USEFUL_CALLS_MIN: u64 = 5;

#[derive(Debug, Default)]
pub struct Tally {
    warned: u64,
    denied: u64,
    stopped: u64,
    likely_false: u64,
    calls_after: u64,
    micros_after: Option<u64>,
    capacity: u64,
    /// Sessions with a denial because of a capacity limit, and how many each had; at most [`LIMITED_MAX`].
    limited: Vec<LimitedSessionView>,
    capacity_sessions: u64,
    judged: u64,
    regretted: u64,
    circuits: BTreeMap<(&'static str, String), [u64; 4]>,
    to_review: Vec<KeptTrip>,
}

impl Tally {
    /// Adds a session's results under the policy with index `which`.
    pub fn add(&mut self, source: &str, format: &str, session: &ReplayedSession, policy_index: usize) {
        let Some(result) = session.verdicts.get(policy_index) else { return };
        self.warned += u64::from(result.first(Severity::Warn).is_some());
        self.stopped += u64::from(result.first(Severity::Stop).is_some());
        self.capacity += result.capacity_denials;
        if result.capacity_denials > 0 {
            self.capacity_sessions += 1;
            if self.limited.len() < LIMITED_MAX {
                let (session, source) = (session.session.clone(), source.to_owned());
                self.limited.push(LimitedSessionView { session, source, denied: result.capacity_denials });
            }
        }
        let mut by_circuit: BTreeMap<(&'static str, String), [u64; 4]> = BTreeMap::new();
        for trip in &result.trips {
            let counts = by_circuit.entry((trip.code, pattern(trip))).or_default();
            counts[severity_index(trip.severity)] = 1;
            let is_regretted = u64::from(trip.brought == Some(Brought::New));
            counts[3] += is_regretted;
            self.judged += u64::from(trip.brought.is_some());
            self.regretted += is_regretted;
        }
        for (circuit, [warned, denied, stopped, regretted]) in by_circuit {
            let counts = self.circuits.entry(circuit).or_default();
            counts[0] += warned;
            counts[1] += denied.max(stopped);
            counts[2] += stopped;
            counts[3] += regretted;
        }
        if let Some(first) = result.first_denial() {
            self.denied += 1;
            self.calls_after += first.calls_after;
            if let Some(micros) = first.micros_after {
                self.micros_after = Some(self.micros_after.unwrap_or_default().saturating_add(micros));
            }
            let trip = KeptTrip::new(source, format, session, first);
            self.likely_false += u64::from(is_likely_false(&trip));
            self.add_to_review(trip);
        }
    }

    fn add_to_review(&mut self, trip: KeptTrip) {
        self.to_review.push(trip);
        self.to_review.sort_by_key(|trip| std::cmp::Reverse((is_likely_false(trip), trip.calls_after)));
        self.to_review.truncate(REVIEW_MAX);
    }

    /// The trips that a person should review first.
    pub fn trips_to_review(&self) -> &[KeptTrip] {
        &self.to_review
    }

    pub fn view(&self, judged_by: String, limits: &Limits) -> VerdictsView {
        let circuit = |((code, pattern), counts): (&(&'static str, String), &[u64; 4])| {
            let (pattern, [warned, denied, stopped, regretted]) = (pattern.clone(), *counts);
            CircuitView { pattern, code, warned, denied, stopped, regretted }
        };
        let review_view = |trip: &KeptTrip| TripToReviewView {
            incident: trip.incident.clone(),
            code: trip.code.clone(),
            verdict: trip.verdict.clone(),
            session: trip.session.clone(),
            source: trip.source.clone(),
            call: trip.call,
            calls: trip.calls,
            calls_after: trip.calls_after,
            is_likely_false: is_likely_false(trip),
        };
        VerdictsView {
            judged_by,
            sessions_warned: self.warned,
            sessions_denied: self.denied,
            sessions_stopped: self.stopped,
            likely_false_positives: self.likely_false,
            calls_after_denial: self.calls_after,
            cost_after_denial_micros: self.micros_after,
            denials_judged: self.judged,
            denials_regretted: self.regretted,
            limits_reached: self.capacity,
            limits_reached_sessions: self.capacity_sessions,
            limits: (self.capacity > 0)
                .then(|| LimitReachedView {
                    code: CAPACITY_CODE,
                    key: CAPACITY_KEY,
                    value: limits.agents.concurrent_max,
                    denied: self.capacity,
                    sessions: self.limited.clone(),
                })
                .into_iter()
                .collect(),
            circuits: self.circuits.iter().map(circuit).collect(),
            review_first: self.to_review.iter().map(review_view).collect(),
        }
    }
}

/// True if the session went on for long and ended in committed work.
fn is_likely_false(trip: &KeptTrip) -> bool {
    trip.is_committed_after && trip.calls_after >= USEFUL_CALLS_MIN
}

/// The last part of the circuit's name.
fn pattern(trip: &Trip) -> String {
    trip.circuit.rsplit('/').next().unwrap_or_default().to_owned()
}

fn severity_index(severity: Severity) -> usize {
    match severity {
        Severity::Warn => 0,
        Severity::Deny => 1,
        Severity::Stop => 2,
    }
}
