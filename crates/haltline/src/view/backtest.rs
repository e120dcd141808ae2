//! A replay of recorded sessions, as seen.

use haltline_engine::replay::{Judged, ReplayedSession, Severity, Trip};
use serde::Serialize;

/// One session on one line of `haltline backtest --json`. These fields are EVENTS.md's, and there are no others.
#[derive(Debug, Serialize)]
pub struct SessionView<'a> {
    pub session: &'a str,
    pub source: &'a str,
    pub format: &'static str,
    pub calls: u64,
    pub prompts: u64,
    pub cost_usd: Option<f64>,
    pub first: FirstView<'a>,
    pub trips: Vec<TripView<'a>>,
}

/// The first verdict of each kind.
#[derive(Debug, Serialize)]
pub struct FirstView<'a> {
    pub warn: Option<CallView<'a>>,
    pub deny: Option<CallView<'a>>,
    pub stop: Option<CallView<'a>>,
}

/// A call that something would have been said about.
#[derive(Debug, Serialize)]
pub struct CallView<'a> {
    pub call: u64,
    pub circuit: &'a str,
    pub code: &'static str,
}

/// A verdict that would have been given.
#[derive(Debug, Serialize)]
pub struct TripView<'a> {
    pub call: u64,
    pub circuit: &'a str,
    pub code: &'static str,
    pub verdict: &'static str,
    pub reason: &'a str,
    pub calls_after: u64,
}

impl<'a> SessionView<'a> {
    pub fn new(source: &'a str, format: &'static str, session: &'a ReplayedSession, judged: &'a Judged) -> Self {
        let first = |severity| {
            let call = |trip: &'a Trip| CallView { call: trip.call, circuit: &trip.circuit, code: trip.code };
            judged.first(severity).map(call)
        };
        let trip = |trip: &'a Trip| TripView {
            call: trip.call,
            circuit: &trip.circuit,
            code: trip.code,
            verdict: trip.severity.word(),
            reason: &trip.reason,
            calls_after: trip.calls_after,
        };
        Self {
            session: &session.session,
            source,
            format,
            calls: session.calls,
            prompts: session.prompts,
            cost_usd: session.micros.map(dollars),
            first: FirstView { warn: first(Severity::Warn), deny: first(Severity::Deny), stop: first(Severity::Stop) },
            trips: judged.trips.iter().map(trip).collect(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sums of money are far below 2^53 millionths")]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}
