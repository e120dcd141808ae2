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
            cost_usd: session.micros.map(usd),
            first: FirstView { warn: first(Severity::Warn), deny: first(Severity::Deny), stop: first(Severity::Stop) },
            trips: judged.trips.iter().map(trip).collect(),
        }
    }
}

/// Millionths of a dollar as dollars.
#[expect(clippy::cast_precision_loss, reason = "sums of money are far below 2^53 millionths")]
pub fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// As dollars, which is what every answer has.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn as_usd<S: serde::Serializer>(micros: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    micros.map(usd).serialize(serializer)
}

/// What is the same whoever judges.
#[derive(Debug, Serialize)]
pub struct CorpusView {
    pub files: u64,
    pub files_unknown: u64,
    pub files_broken: u64,
    pub bytes: u64,
    pub damaged: u64,
    pub sessions: u64,
    /// Sessions left out because of `--since`.
    pub sessions_before: u64,
    /// Sessions that `--since` cannot tell the age of; they are not left out.
    pub sessions_untimed: u64,
    pub calls: u64,
    pub prompts: u64,
    #[serde(rename = "cost_usd", serialize_with = "as_usd")]
    pub cost_micros: Option<u64>,
    /// Sessions of which some cost is known.
    pub sessions_priced: u64,
    /// The day of the list of prices; what a transcript says itself is believed.
    pub prices: &'static str,
}

/// What one configuration says of the sessions.
#[derive(Debug, Serialize)]
pub struct VerdictsView {
    pub judged_by: String,
    pub sessions_warned: u64,
    /// Refused a call, or stopped.
    pub sessions_refused: u64,
    pub sessions_stopped: u64,
    /// Refused sessions that went on and ended in committed work.
    pub likely_false_alarms: u64,
    /// Calls that came after the first refusal of their session.
    pub calls_after_refusal: u64,
    #[serde(rename = "cost_after_refusal_usd", serialize_with = "as_usd")]
    pub cost_after_refusal_micros: Option<u64>,
    /// Refusals for want of room, which are no detections.
    pub limits_reached: u64,
    pub limits_reached_sessions: u64,
    pub circuits: Vec<CircuitView>,
    /// Likely false alarms first, then those with the most calls after.
    pub look_first: Vec<LookView>,
}

/// How many sessions met a circuit.
#[derive(Debug, Serialize)]
pub struct CircuitView {
    pub pattern: String,
    pub code: &'static str,
    pub warned: u64,
    pub refused: u64,
    pub stopped: u64,
}

/// A trip that a person should look at.
#[derive(Debug, Serialize)]
pub struct LookView {
    pub incident: String,
    pub code: String,
    pub verdict: String,
    pub session: String,
    pub source: String,
    pub call: u64,
    pub calls: u64,
    pub calls_after: u64,
    /// The session went on and ended in committed work.
    pub is_likely_false: bool,
}

/// The report of `haltline backtest`; with `--compare` it has two columns.
#[derive(Debug, Serialize)]
pub struct ReportView {
    pub schema: u32,
    pub corpus: CorpusView,
    pub verdicts: Vec<VerdictsView>,
}
