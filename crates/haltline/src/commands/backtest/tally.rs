//! What many sessions come to under one policy. It keeps sums and a short list, never the sessions.

use std::collections::BTreeMap;

use haltline_engine::replay::{KeptTrip, ReplayedSession, Severity, Trip};

use crate::view::backtest::{CircuitView, LookView, VerdictsView};

/// How many trips a person is asked to look at.
const LOOK_MAX: usize = 10;
/// A session that goes on for so many calls after a refusal, and commits, was probably not stuck.
const WENT_ON_CALLS: u64 = 5;

/// Sums over sessions.
#[derive(Debug, Default)]
pub struct Tally {
    warned: u64,
    refused: u64,
    stopped: u64,
    likely_false: u64,
    calls_after: u64,
    micros_after: Option<u64>,
    capacity: u64,
    capacity_sessions: u64,
    circuits: BTreeMap<(&'static str, String), [u64; 3]>,
    look: Vec<KeptTrip>,
}

impl Tally {
    /// Adds a session, as the policy at `which` judged it.
    pub fn add(&mut self, source: &str, format: &str, session: &ReplayedSession, which: usize) {
        let Some(judged) = session.judged.get(which) else { return };
        self.warned += u64::from(judged.first(Severity::Warn).is_some());
        self.stopped += u64::from(judged.first(Severity::Stop).is_some());
        self.capacity += judged.capacity;
        self.capacity_sessions += u64::from(judged.capacity > 0);
        let mut by_circuit: BTreeMap<(&'static str, String), [u64; 3]> = BTreeMap::new();
        for trip in &judged.trips {
            let row = by_circuit.entry((trip.code, pattern(trip))).or_default();
            row[place(trip.severity)] = 1;
        }
        for (circuit, [warned, denied, stopped]) in by_circuit {
            let row = self.circuits.entry(circuit).or_default();
            row[0] += warned;
            row[1] += denied.max(stopped);
            row[2] += stopped;
        }
        if let Some(first) = judged.first_refusal() {
            self.refused += 1;
            self.calls_after += first.calls_after;
            if let Some(micros) = first.micros_after {
                self.micros_after = Some(self.micros_after.unwrap_or_default().saturating_add(micros));
            }
            let trip = KeptTrip::new(source, format, session, first);
            self.likely_false += u64::from(is_likely_false(&trip));
            self.look_at(trip);
        }
    }

    fn look_at(&mut self, trip: KeptTrip) {
        self.look.push(trip);
        self.look.sort_by_key(|trip| std::cmp::Reverse((is_likely_false(trip), trip.calls_after)));
        self.look.truncate(LOOK_MAX);
    }

    /// The trips a person should look at first.
    pub fn look(&self) -> &[KeptTrip] {
        &self.look
    }

    /// The sums, as seen.
    pub fn view(&self, judged_by: String) -> VerdictsView {
        let circuit = |((code, pattern), [warned, refused, stopped]): (&(&'static str, String), &[u64; 3])| {
            let (pattern, warned, refused, stopped) = (pattern.clone(), *warned, *refused, *stopped);
            CircuitView { pattern, code, warned, refused, stopped }
        };
        let look = |trip: &KeptTrip| LookView {
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
            sessions_refused: self.refused,
            sessions_stopped: self.stopped,
            likely_false_alarms: self.likely_false,
            calls_after_refusal: self.calls_after,
            cost_after_refusal_micros: self.micros_after,
            limits_reached: self.capacity,
            limits_reached_sessions: self.capacity_sessions,
            circuits: self.circuits.iter().map(circuit).collect(),
            look_first: self.look.iter().map(look).collect(),
        }
    }
}

/// The session went on for long and ended in committed work.
fn is_likely_false(trip: &KeptTrip) -> bool {
    trip.is_committed_after && trip.calls_after >= WENT_ON_CALLS
}

/// The last part of the circuit's name.
fn pattern(trip: &Trip) -> String {
    trip.circuit.rsplit('/').next().unwrap_or_default().to_owned()
}

fn place(severity: Severity) -> usize {
    match severity {
        Severity::Warn => 0,
        Severity::Deny => 1,
        Severity::Stop => 2,
    }
}
