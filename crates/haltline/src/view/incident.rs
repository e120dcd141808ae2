//! Views of incidents, and of operator actions on them.

use haltline_core::claim::PipelineName;
use haltline_core::loop_::{AgentTree, CircuitState, Circuits, Exemption, Pattern, dollars};
use haltline_core::{Instant, Moment};
use haltline_engine::config::Config;
use haltline_engine::replay::KeptTrip;
use haltline_engine::{Incident, IncidentBreaker, IncidentEvent, IncidentState};
use serde::Serialize;

use super::SCHEMA;
use super::config::ValueView;
use super::constraint::AuditView;

/// The result of `haltline why`.
#[derive(Debug, Serialize)]
pub struct WhyView {
    pub schema: u32,
    pub incident: String,
    pub circuit: String,
    pub pattern: &'static str,
    pub code: &'static str,
    /// `OPEN`, `HALF_OPEN` or `CLOSED`; `DISPUTED` for a claim.
    pub state: IncidentState,
    pub tripped: String,
    pub turn: Option<u64>,
    pub count: u32,
    /// Length of the streak of trips, starting at 1; 0 for a limit.
    #[serde(rename = "level")]
    pub streak: u32,
    pub why: String,
    pub until: Option<String>,
    pub remaining_s: Option<u64>,
    /// The current limits of the pattern.
    pub limits: Vec<ValueView>,
    /// What led to the trip, newest first where it has an order.
    pub evidence: Vec<IncidentEventView>,
    /// Number of calls denied because of it.
    #[serde(rename = "refused")]
    pub denied: u32,
    /// What happened afterwards, oldest first.
    pub after: Vec<IncidentEventView>,
    pub followed_by: Option<String>,
    pub ended: Option<IncidentEventView>,
    /// What the session has cost so far: `unknown`, `$1.23` or `at least $1.23`.
    pub session_cost: String,
    /// What a person can do, as commands.
    pub next: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct IncidentEventView {
    pub at: String,
    pub kind: &'static str,
    /// The kind again, under the key of the first version.
    #[serde(rename = "what")]
    pub kind_before: &'static str,
    pub text: Option<String>,
}

impl IncidentEventView {
    fn new(event: &IncidentEvent) -> Self {
        let IncidentEvent { at, kind, text } = event;
        Self { at: at.to_seconds_text(), kind, kind_before: kind, text: text.clone() }
    }
}

/// What a session's row and tree say about its incident now.
pub struct SessionNow<'a> {
    pub circuits: Option<&'a Circuits>,
    pub tree: Option<&'a AgentTree>,
    pub config: &'a Config,
    pub now: Moment,
}

impl WhyView {
    pub fn new(incident: &Incident) -> Self {
        Self {
            schema: SCHEMA,
            incident: incident.id.clone(),
            circuit: incident.circuit().to_string(),
            pattern: incident.pattern.unwrap_or_default(),
            code: incident.code.unwrap_or_default(),
            state: incident.state,
            tripped: incident.tripped.map(Instant::to_seconds_text).unwrap_or_default(),
            turn: incident.turn,
            count: incident.count,
            streak: incident.streak,
            why: incident.reason.clone().unwrap_or_else(|| "its texts were purged".to_owned()),
            until: incident.until.map(Instant::to_seconds_text),
            remaining_s: None,
            limits: Vec::new(),
            evidence: incident
                .evidence
                .iter()
                .take(evidence_max(incident))
                .map(|entry| IncidentEventView::new(&entry.event))
                .collect(),
            denied: incident.denied,
            after: incident.after.iter().map(IncidentEventView::new).collect(),
            followed_by: incident.followed_by.clone(),
            ended: incident.closed.as_ref().map(IncidentEventView::new),
            session_cost: incident.cost_micros.map_or("unknown".to_owned(), dollars),
            next: next(incident, incident.state),
        }
    }

    /// Adds what only the session's current state tells.
    pub fn with_session(mut self, incident: &Incident, session: &SessionNow<'_>) -> Self {
        let IncidentBreaker::Loop { pattern, key } = incident.breaker else { return self };
        let SessionNow { circuits, tree, config, now } = *session;
        let circuit_state = circuits.filter(|circuits| circuits.tripped_by(&incident.id).is_some());
        let circuit_state = circuit_state.map_or(CircuitState::Closed, |circuits| circuits.state_at(key, now));
        let is_limit_reached = circuits.is_some_and(|circuits| circuits.has_incident(&incident.id));
        let (state, remaining) = match circuit_state {
            CircuitState::Open(trip) => (IncidentState::Open, trip.remaining_ms(now)),
            CircuitState::HalfOpen(..) | CircuitState::Probing(_) => (IncidentState::HalfOpen, None),
            CircuitState::Closed if is_limit_reached => (IncidentState::Open, None),
            CircuitState::Closed => (IncidentState::Closed, None),
        };
        self.state = state;
        self.remaining_s = remaining.map(|left| left.div_ceil(1000));
        self.limits = limits(config, pattern);
        self.session_cost = cost(tree);
        self.next = next(incident, state);
        self
    }
}

/// How many entries of evidence are shown; notifications carry more.
fn evidence_max(incident: &Incident) -> usize {
    match incident.breaker {
        IncidentBreaker::Loop { .. } | IncidentBreaker::Constraint | IncidentBreaker::Phase { .. } => 5,
        IncidentBreaker::Attempt | IncidentBreaker::Claim { .. } => 7,
    }
}

/// The result of `haltline why` for a trip of the last backtest.
#[derive(Debug, Serialize)]
pub struct ReplayWhyView {
    pub schema: u32,
    pub incident: String,
    /// Always true: no live session was affected.
    pub is_replay: bool,
    pub source: String,
    pub format: String,
    pub session: String,
    pub circuit: String,
    pub pattern: String,
    pub code: String,
    pub verdict: String,
    /// Number of the call, starting at 1.
    pub call: u64,
    pub calls: u64,
    pub at: Option<String>,
    /// What the agent would have read.
    pub reason: String,
    /// The last results before it, newest first.
    pub evidence: Vec<ResultView>,
    pub calls_after: u64,
    pub cost_after_usd: Option<f64>,
    /// The session went on and committed work.
    pub is_committed_after: bool,
}

/// The result of a call.
#[derive(Debug, Serialize)]
pub struct ResultView {
    pub at: Option<String>,
    #[serde(rename = "answer")]
    pub result: String,
    pub kind: &'static str,
    /// The result again, under the key that every kind of evidence has.
    pub text: String,
}

impl ReplayWhyView {
    pub fn new(trip: KeptTrip) -> Self {
        let result_view = |(at, result): (Option<Instant>, String)| ResultView {
            at: at.map(Instant::to_seconds_text),
            kind: "ended",
            text: result.clone(),
            result,
        };
        Self {
            schema: SCHEMA,
            pattern: trip.circuit.rsplit('/').next().unwrap_or_default().to_owned(),
            incident: trip.incident,
            is_replay: true,
            source: trip.source,
            format: trip.format,
            session: trip.session,
            circuit: trip.circuit,
            code: trip.code,
            verdict: trip.verdict,
            call: trip.call,
            calls: trip.calls,
            at: trip.at.map(Instant::to_seconds_text),
            reason: trip.reason,
            evidence: trip.evidence.into_iter().map(result_view).collect(),
            calls_after: trip.calls_after,
            cost_after_usd: trip.micros_after.map(super::backtest::usd),
            is_committed_after: trip.is_committed_after,
        }
    }
}

/// Cost of a session with its sub-agents. An unknown cost is never shown as zero.
pub fn cost(tree: Option<&AgentTree>) -> String {
    match tree.map(|tree| tree.spent) {
        Some(spent) if spent.is_priced && spent.is_partial => format!("at least {}", dollars(spent.micros)),
        Some(spent) if spent.is_priced => dollars(spent.micros),
        Some(_) | None => "unknown".to_owned(),
    }
}

fn limits(config: &Config, pattern: Pattern) -> Vec<ValueView> {
    let own = format!("loop.{}.", pattern.as_str());
    let other = match pattern {
        Pattern::AgentSpawn => "agents.",
        Pattern::ExternalApi => "api.",
        Pattern::Budget => "budget.",
        _own => "\0",
    };
    let is_limit = |name: &str| {
        (name.starts_with(&own) || name.starts_with(other))
            && !["enabled", "commands", "tools", "usd_per_call"].iter().any(|end| name.ends_with(end))
    };
    config.settings().iter().filter(|setting| is_limit(setting.key.name)).map(ValueView::new).collect()
}

/// What a person can do now, as commands.
fn next(incident: &Incident, state: IncidentState) -> Vec<String> {
    let scope = incident.row.scope();
    let show = match &incident.breaker {
        IncidentBreaker::Loop { .. } => return next_for_session(incident, state),
        IncidentBreaker::Constraint => {
            return vec![
                format!("haltline constraint status {scope}"),
                format!("haltline constraint reset {scope} --reason TEXT"),
            ];
        }
        IncidentBreaker::Phase { .. } => match scope.split_once('/') {
            Some(("run", run)) => format!("haltline phase status --run={}", run.split('@').next().unwrap_or(run)),
            Some(_) | None => "haltline phase status".to_owned(),
        },
        IncidentBreaker::Attempt => return incident.options.clone(),
        IncidentBreaker::Claim { .. } if state == IncidentState::Closed => return Vec::new(),
        IncidentBreaker::Claim { .. } => match scope.split_once('/') {
            Some((PipelineName::DEFAULT, id)) => format!("haltline claim show {id}"),
            Some((pipeline, id)) => format!("haltline claim show {id} --pipeline {pipeline}"),
            None => format!("haltline claim show {scope}"),
        },
    };
    let mut next = vec![show];
    next.extend(incident.options.iter().cloned());
    next
}

fn next_for_session(incident: &Incident, state: IncidentState) -> Vec<String> {
    let id = &incident.id;
    if let Some(later) = &incident.followed_by {
        return vec![format!("haltline why {later}")];
    }
    if state == IncidentState::Closed {
        return Vec::new();
    }
    let mut next = Vec::new();
    if incident.until.is_some() {
        next.push(format!("haltline resume {id} --hint TEXT"));
        next.push(format!("haltline false-positive {id}"));
    }
    next.push(format!("haltline reset {id}"));
    next
}

/// An operator action on the circuits of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncidentVerb {
    Reset,
    Resume,
    FalsePositive,
    /// Ends the exemption of a false positive.
    Revoke,
}

impl IncidentVerb {
    pub fn as_str(self) -> &'static str {
        match self {
            IncidentVerb::Reset => "reset",
            IncidentVerb::Resume => "resume",
            IncidentVerb::FalsePositive => "false-positive",
            IncidentVerb::Revoke => "revoke",
        }
    }
}

/// The result of `haltline reset`, `resume` and `false-positive`.
#[derive(Debug, Serialize)]
pub struct CircuitsView {
    pub schema: u32,
    pub verb: IncidentVerb,
    pub incident: Option<String>,
    pub circuits: Vec<String>,
    pub audit: AuditView,
}

/// The result of `haltline false-positive --list`.
#[derive(Debug, Serialize)]
pub struct FalsePositivesView {
    pub schema: u32,
    pub false_positives: Vec<ExemptionView>,
}

#[derive(Debug, Serialize)]
pub struct ExemptionView {
    pub incident: String,
    pub pattern: &'static str,
    pub who: String,
    pub at: String,
}

impl ExemptionView {
    pub fn new(exemption: &Exemption) -> Self {
        let Exemption { pattern, incident, who, at, .. } = exemption;
        Self { incident: incident.clone(), pattern: pattern.as_str(), who: who.clone(), at: at.to_seconds_text() }
    }
}
