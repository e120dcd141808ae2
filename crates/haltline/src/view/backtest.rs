//! Views of a replay of recorded sessions.

use haltline_core::loop_::CAPACITY_CODE;
use haltline_engine::replay::{Brought, ReplayedSession, SessionVerdicts, Severity, Trip};
use serde::Serialize;

/// One session, one line of `haltline backtest --json`: the fields of docs/reference/events.md, and `limits` where a session
/// reached one.
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
    /// Calls denied because of a limit on a number, which is not a detected loop.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<SessionLimitView>,
}

/// A limit that a session reached.
#[derive(Debug, Serialize)]
pub struct SessionLimitView {
    pub code: &'static str,
    pub key: &'static str,
    pub denied: u64,
}

/// The first verdict of each kind.
#[derive(Debug, Serialize)]
pub struct FirstView<'a> {
    pub warn: Option<CallView<'a>>,
    pub deny: Option<CallView<'a>>,
    pub stop: Option<CallView<'a>>,
}

/// A call that would have received a verdict.
#[derive(Debug, Serialize)]
pub struct CallView<'a> {
    pub call: u64,
    pub circuit: &'a str,
    pub code: &'static str,
}

/// A verdict that haltline would have given.
#[derive(Debug, Serialize)]
pub struct TripView<'a> {
    pub call: u64,
    pub circuit: &'a str,
    pub code: &'static str,
    pub verdict: &'static str,
    pub reason: &'a str,
    pub calls_after: u64,
    /// What the denied call brought when the session made it: `new`, `known` or `failure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brought: Option<&'static str>,
}

impl<'a> SessionView<'a> {
    pub fn new(
        source: &'a str,
        format: &'static str,
        session: &'a ReplayedSession,
        result: &'a SessionVerdicts,
    ) -> Self {
        let first = |severity| {
            let call = |trip: &'a Trip| CallView { call: trip.call, circuit: &trip.circuit, code: trip.code };
            result.first(severity).map(call)
        };
        let trip = |trip: &'a Trip| TripView {
            call: trip.call,
            circuit: &trip.circuit,
            code: trip.code,
            verdict: trip.severity.as_str(),
            reason: &trip.reason,
            calls_after: trip.calls_after,
            brought: trip.brought.map(Brought::as_str),
        };
        Self {
            session: &session.session,
            source,
            format,
            calls: session.calls,
            prompts: session.prompts,
            cost_usd: session.micros.map(usd),
            first: FirstView { warn: first(Severity::Warn), deny: first(Severity::Deny), stop: first(Severity::Stop) },
            trips: result.trips.iter().map(trip).collect(),
            limits: Some(result.capacity_denials)
                .filter(|denied| *denied > 0)
                .map(|denied| SessionLimitView { code: CAPACITY_CODE, key: CAPACITY_KEY, denied })
                .into_iter()
                .collect(),
        }
    }
}

/// Converts millionths of a dollar to dollars.
#[expect(clippy::cast_precision_loss, reason = "sums of money are far below 2^53 millionths")]
pub fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Serializes millionths as dollars, the unit of all JSON output.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn as_usd<S: serde::Serializer>(micros: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    micros.map(usd).serialize(serializer)
}

/// What does not depend on the policy.
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
    /// Sessions of unknown age; `--since` does not leave them out.
    pub sessions_untimed: u64,
    pub calls: u64,
    pub prompts: u64,
    #[serde(rename = "cost_usd", serialize_with = "as_usd")]
    pub cost_micros: Option<u64>,
    /// Sessions with at least some known cost.
    pub sessions_priced: u64,
    /// Date of the price list. A price in a transcript takes precedence.
    pub prices: &'static str,
}

/// The results of the sessions under one configuration.
#[derive(Debug, Serialize)]
pub struct VerdictsView {
    pub judged_by: String,
    pub sessions_warned: u64,
    /// Sessions in which a call was denied or the turn ended.
    #[serde(rename = "sessions_refused")]
    pub sessions_denied: u64,
    pub sessions_stopped: u64,
    /// Sessions with a denial that went on and ended in committed work.
    #[serde(rename = "likely_false_alarms")]
    pub likely_false_positives: u64,
    /// Calls after the first denial of their session.
    #[serde(rename = "calls_after_refusal")]
    pub calls_after_denial: u64,
    #[serde(rename = "cost_after_refusal_usd", serialize_with = "as_usd")]
    pub cost_after_denial_micros: Option<u64>,
    /// Denied calls whose result the recording has.
    #[serde(rename = "refusals_judged")]
    pub denials_judged: u64,
    /// Those that brought a new result, and no failure.
    #[serde(rename = "refusals_regretted")]
    pub denials_regretted: u64,
    /// Denials because a limit on a number was reached, which is not a detected loop.
    pub limits_reached: u64,
    pub limits_reached_sessions: u64,
    /// The limits that were reached, with their keys and sessions.
    pub limits: Vec<LimitReachedView>,
    pub circuits: Vec<CircuitView>,
    /// Likely false positives first, then those with the most calls after them.
    #[serde(rename = "look_first")]
    pub review_first: Vec<TripToReviewView>,
}

/// The key that raises the capacity limit.
pub const CAPACITY_KEY: &str = "agents.max_concurrent";

/// A limit on a number that sessions reached.
#[derive(Debug, Serialize)]
pub struct LimitReachedView {
    pub code: &'static str,
    /// The configuration key that raises it.
    pub key: &'static str,
    pub value: u32,
    /// Denied sub-agent starts.
    pub denied: u64,
    /// The first 20 sessions that reached it.
    pub sessions: Vec<LimitedSessionView>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LimitedSessionView {
    pub session: String,
    pub source: String,
    pub denied: u64,
}

/// How many sessions met a circuit.
#[derive(Debug, Serialize)]
pub struct CircuitView {
    pub pattern: String,
    pub code: &'static str,
    pub warned: u64,
    #[serde(rename = "refused")]
    pub denied: u64,
    pub stopped: u64,
    /// Denied calls that brought a new result, and no failure.
    pub regretted: u64,
}

/// A trip that a person should review.
#[derive(Debug, Serialize)]
pub struct TripToReviewView {
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

/// The report of `haltline backtest`; `--compare` gives two entries in `verdicts`.
#[derive(Debug, Serialize)]
pub struct ReportView {
    pub schema: u32,
    pub corpus: CorpusView,
    pub verdicts: Vec<VerdictsView>,
}
