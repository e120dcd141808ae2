//! Incidents of every breaker as facts tell of them: which fact begins one, which fact ends it, and how.
//!
//! A store keeps a short record of every incident, so that its id outlives the journal. It compares the incidents that
//! are open before and after each fact; nothing here knows which facts end what.

use serde::{Deserialize, Serialize};

use crate::constraint::{self, CircuitState};
use crate::identity::Digest;
use crate::loop_::{self, CircuitFact};
use crate::{Fact, Instant, Recorded, State, attempt, claim, phase};

/// What is known of an incident when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentStart {
    pub id: String,
    /// What tripped, in one word.
    pub pattern: String,
    /// A stable code with a page in the docs.
    pub code: String,
    pub at: Instant,
    /// The count that reached its limit.
    pub count: u32,
    /// When the cooldown ends; `None` if only a person ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// What the circuit of a session is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
    /// The identities of the calls that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Digest>,
}

/// The parts of an incident's record that can be purged: free text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentTexts {
    /// What it is about, such as a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Why it tripped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the person who ended it gave as the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
}

/// How an incident ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentEnd {
    pub at: Instant,
    /// The name of the fact that ended it.
    pub how: String,
    /// The person who ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The incident that took its place because the circuit opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed_by: Option<String>,
}

impl State {
    /// The incidents of this row that have not ended.
    pub fn open_incidents(&self) -> Vec<&str> {
        match self {
            State::Constraint(circuit) => match &circuit.state {
                CircuitState::Open(trip) | CircuitState::HalfOpen(trip) => vec![&trip.incident],
                CircuitState::Closed | CircuitState::Retired { .. } => Vec::new(),
            },
            State::Agent(agent) => agent.circuits.open_incidents().collect(),
            State::Tree(tree) => tree.circuits.open_incidents().collect(),
            State::Provider(provider) => provider.circuits.open_incidents().collect(),
            State::Slice(slice) => slice.trip().map(|trip| trip.incident.as_str()).into_iter().collect(),
            State::PhaseRun(phase_run) => phase_run.trip().map(|trip| trip.incident.as_str()).into_iter().collect(),
            State::Claim(claim) => claim.dispute().map(|dispute| dispute.incident.as_str()).into_iter().collect(),
            State::Exemptions(_) | State::Pipeline(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => {
                Vec::new()
            }
        }
    }
}

/// The incident that a fact began in a row; `after` is the row's state after it. `None` if the fact began none.
pub fn incident_start(after: &State, recorded: &Recorded) -> Option<(IncidentStart, IncidentTexts)> {
    let Recorded { circuit, fact, texts, at } = recorded;
    let start = |id: &str, pattern: &str, code: &str, since: Instant, count: u32, until: Option<Instant>| {
        let (id, pattern, code) = (id.to_owned(), pattern.to_owned(), code.to_owned());
        IncidentStart { id, pattern, code, at: since, count, until, key: None, calls: Vec::new() }
    };
    let explained = |start: IncidentStart, reason: String| {
        (start, IncidentTexts { about: Some(circuit.scope().to_owned()), reason: Some(reason), end_reason: None })
    };
    match after {
        State::Agent(_) | State::Tree(_) | State::Provider(_) => {
            let (begun, key, calls) = match fact.as_circuit()? {
                CircuitFact::Tripped { trip } => {
                    let code = loop_::code(trip.pattern, trip.key);
                    let (since, until) = (trip.since.at, Some(trip.until()));
                    let begun = start(&trip.incident, trip.pattern.as_str(), code, since, trip.count, until);
                    (begun, trip.key, trip.calls.clone())
                }
                CircuitFact::Limited { incident, pattern, key, count } => {
                    let code = loop_::code(*pattern, *key);
                    (start(incident, pattern.as_str(), code, at.at, *count, None), *key, Vec::new())
                }
                CircuitFact::Warned { .. }
                | CircuitFact::HalfOpened { .. }
                | CircuitFact::Allowed { .. }
                | CircuitFact::AllowanceUsed { .. }
                | CircuitFact::ProbeTaken { .. }
                | CircuitFact::ProbeAbandoned { .. }
                | CircuitFact::Recovered { .. }
                | CircuitFact::Lapsed { .. }
                | CircuitFact::Denied { .. }
                | CircuitFact::Reset { .. }
                | CircuitFact::FalsePositive { .. } => return None,
            };
            let texts = IncidentTexts { about: texts.about.clone(), reason: texts.text.clone(), end_reason: None };
            Some((IncidentStart { key: Some(key), calls, ..begun }, texts))
        }
        State::Constraint(circuit) => match &circuit.state {
            CircuitState::Open(trip) | CircuitState::HalfOpen(trip) => {
                let (since, until) = (trip.since.at, Some(trip.until()));
                let begun = start(&trip.incident, "constraint", constraint::TRIP_CODE, since, trip.count, until);
                let reason = constraint::trip_text(trip.count, circuit.limits().window_days);
                Some(explained(begun, reason))
            }
            CircuitState::Closed | CircuitState::Retired { .. } => None,
        },
        State::PhaseRun(phase_run) => phase_run.trip().map(|trip| {
            let (pattern, code) = (trip.cause.as_str(), trip.cause.code());
            let begun = start(&trip.incident, pattern, code, trip.since.at, trip.count, trip.until());
            explained(begun, phase::trip_text(trip))
        }),
        State::Slice(slice) => slice.trip().map(|trip| {
            let (pattern, code, count) = (trip.cause.as_str(), trip.cause.code(), trip.total_failed_attempts);
            explained(start(&trip.incident, pattern, code, trip.since.at, count, None), attempt::trip_text(trip))
        }),
        State::Claim(claim) => claim.dispute().map(|dispute| {
            let (pattern, code) = (dispute.cause.pattern(), dispute.cause.code());
            let begun = start(&dispute.incident, pattern, code, dispute.since.at, dispute.count, None);
            explained(begun, claim::dispute_text(dispute))
        }),
        State::Exemptions(_) | State::Pipeline(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => None,
    }
}

/// How a fact ended an incident that was open `before` it. `followed_by` is the incident that the same fact began.
pub fn incident_end(
    before: &State,
    recorded: &Recorded,
    incident: &str,
    followed_by: Option<&IncidentStart>,
) -> IncidentEnd {
    let is_replaced = |follower: &&IncidentStart| match (before.circuits(), follower.key) {
        // A row of a session has many circuits; a new trip may also push out an old one.
        (Some(circuits), Some(key)) => circuits.tripped_for(key).is_some_and(|old| old.trip.incident == incident),
        (Some(_) | None, _) => true,
    };
    let how = if let Fact::Claim(claim::Fact::Resolved { how, .. }) = &recorded.fact {
        how.as_str()
    } else {
        recorded.fact.as_str()
    };
    IncidentEnd {
        at: recorded.at.at,
        how: how.to_owned(),
        who: recorded.fact.operator().map(str::to_owned),
        followed_by: followed_by.filter(is_replaced).map(|follower| follower.id.clone()),
    }
}

impl Fact {
    /// The person whose action the fact records.
    pub fn operator(&self) -> Option<&str> {
        if let Some(fact) = self.as_circuit() {
            return match fact {
                CircuitFact::Reset { who, .. }
                | CircuitFact::FalsePositive { who, .. }
                | CircuitFact::Allowed { who, .. } => Some(who),
                CircuitFact::HalfOpened { who, .. } => who.as_deref(),
                CircuitFact::Warned { .. }
                | CircuitFact::Tripped { .. }
                | CircuitFact::Limited { .. }
                | CircuitFact::AllowanceUsed { .. }
                | CircuitFact::ProbeTaken { .. }
                | CircuitFact::ProbeAbandoned { .. }
                | CircuitFact::Recovered { .. }
                | CircuitFact::Lapsed { .. }
                | CircuitFact::Denied { .. } => None,
            };
        }
        match self {
            Fact::Constraint(
                constraint::Fact::Reset { who }
                | constraint::Fact::Retired { who, .. }
                | constraint::Fact::OverrideRevoked { who },
            )
            | Fact::Phase(
                phase::Fact::Reset { who, .. }
                | phase::Fact::Skipped { who, .. }
                | phase::Fact::Aborted { who }
                | phase::Fact::Modified { who, .. },
            )
            | Fact::Attempt(attempt::Fact::Reset { who, .. } | attempt::Fact::RolledBack { who, .. }) => Some(who),
            Fact::Constraint(constraint::Fact::OverrideGranted { granted }) => Some(&granted.who),
            Fact::Phase(phase::Fact::Began { who, .. }) | Fact::Attempt(attempt::Fact::Ended { who }) => who.as_deref(),
            Fact::Claim(claim::Fact::Resolved { how, .. }) => how.operator(),
            Fact::Agent(_)
            | Fact::Tree(_)
            | Fact::Constraint(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Exemption(_)
            | Fact::Trust(_)
            | Fact::Control(_)
            | Fact::Ledger(_)
            | Fact::Provider(_) => None,
        }
    }
}
