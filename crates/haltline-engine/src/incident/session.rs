//! Incidents of agents and their trees, collected from the journal.

use std::collections::BTreeMap;

use haltline_core::identity::Digest;
use haltline_core::loop_::ProviderFact;
use haltline_core::loop_::{
    self, AgentFact, AgentTreeFact, CircuitFact, CircuitState, Circuits, Ending, HalfOpenCause, Pattern, Trip,
};
use haltline_core::{CircuitName, Fact, Moment, Recorded, Texts};
use serde_json::json;

use super::{Evidence, Incident, IncidentBreaker, IncidentEvent, IncidentState};
use crate::store::Entry;

/// How many results are kept as evidence.
const RESULTS_MAX: usize = 5;

/// An incident that did not happen, to test whether notifications arrive.
pub(crate) fn sample(now: Moment) -> Incident {
    let text = "this is a test of haltline's notifications: nothing tripped".to_owned();
    let event = IncidentEvent { at: now.at, kind: "tripped", text: Some(text), who: None };
    let row = CircuitName::agent("sample", None);
    let about = (Pattern::ToolFailure, Digest::default());
    Incident {
        state: IncidentState::Closed,
        options: vec!["you need not do anything".to_owned()],
        ..new(&row, "00000000", about, &event, (now, None))
    }
}

/// The trip that a fact records, without evidence; `None` for any other fact.
pub(super) fn from_fact(recorded: &Recorded) -> Option<Incident> {
    let fact = recorded.fact.as_circuit()?;
    let (kind, text) = (recorded.fact.as_str(), recorded.texts.text.clone());
    let event = IncidentEvent { at: recorded.at.at, kind, text, who: None };
    let mut found = Vec::new();
    add_fact(&mut found, &[], &recorded.circuit, fact, &event, (recorded.at, None));
    found.pop()
}

/// The incidents of one row, newest first. `history` holds its facts, newest first.
pub(crate) fn from_history(row: &CircuitName, history: &[Entry]) -> Vec<Incident> {
    let mut incidents: Vec<Incident> = Vec::new();
    let mut turn = None;
    let mut identities: BTreeMap<Digest, Digest> = BTreeMap::new();
    let mut results: Vec<CompletedEvidence> = Vec::new();
    for entry in history.iter().rev() {
        let Ok(content) = entry.read() else { continue };
        let Some(fact) = content.fact else { continue };
        let Texts { text, about, .. } = entry.texts();
        let who = fact.operator().map(str::to_owned);
        let event = |kind| IncidentEvent { at: content.at.at, kind, text: text.clone(), who: who.clone() };
        let kind = fact.as_str();
        match fact {
            Fact::Agent(AgentFact::Started { call: started, .. }) => {
                turn = Some(started.turn);
                identities.insert(started.id, started.identity);
            }
            Fact::Agent(AgentFact::Ended(Ending { call, normal, .. })) => {
                let identity = identities.remove(&call).unwrap_or_default();
                results.push(CompletedEvidence { identity, normal, event: event(kind) });
                let excess = results.len().saturating_sub(64);
                results.drain(..excess);
            }
            Fact::Agent(AgentFact::Circuit(fact))
            | Fact::Tree(AgentTreeFact::Circuit(fact))
            | Fact::Provider(ProviderFact::Circuit(fact)) => {
                let known = incidents.len();
                add_fact(&mut incidents, &results, row, &fact, &event(kind), (content.at, turn));
                if let Some(incident) = incidents.get_mut(known) {
                    incident.about = about;
                }
            }
            Fact::Agent(
                AgentFact::Began { .. }
                | AgentFact::PolicyChanged { .. }
                | AgentFact::Prompted { .. }
                | AgentFact::Unended { .. }
                | AgentFact::EndWithoutStart { .. }
                | AgentFact::PermissionDenied { .. }
                | AgentFact::PromptUncached { .. }
                | AgentFact::PromptCached
                | AgentFact::TurnEnded
                | AgentFact::SubAgentReported
                | AgentFact::HooksRemoved
                | AgentFact::EventForged
                | AgentFact::HookRan { .. }
                | AgentFact::Spawned { .. }
                | AgentFact::Stopped { .. }
                | AgentFact::Compacted { .. }
                | AgentFact::TranscriptRead { .. }
                | AgentFact::Responded { .. }
                | AgentFact::Spoke { .. }
                | AgentFact::MemoryCleaned { .. }
                | AgentFact::SessionEnded { .. },
            )
            | Fact::Tree(_)
            | Fact::Exemption(_)
            | Fact::Constraint(_)
            | Fact::Attempt(_)
            | Fact::Phase(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_)
            | Fact::Control(_)
            | Fact::Ledger(_) => {}
        }
    }
    incidents.reverse();
    incidents
}

/// The newest result of a call with this identity. `history` holds the row's facts, newest first.
pub(crate) fn last_result(history: &[Entry], identity: Digest) -> Option<String> {
    let mut kept: Vec<(Digest, String)> = Vec::new();
    for entry in history {
        let Fact::Agent(fact) = entry.read().ok()?.fact? else { continue };
        if let AgentFact::Ended(Ending { call, .. }) = fact {
            kept.extend(entry.texts().text.map(|text| (call, text)));
        } else if let AgentFact::Started { call: started, .. } = fact
            && started.identity == identity
            && let Some((_, text)) = kept.iter().find(|(call, _)| *call == started.id)
        {
            return Some(text.clone()).filter(|text| !text.is_empty());
        }
    }
    None
}

/// A completed call, as evidence of a later trip.
struct CompletedEvidence {
    identity: Digest,
    normal: Digest,
    event: IncidentEvent,
}

fn add_fact(
    incidents: &mut Vec<Incident>,
    results: &[CompletedEvidence],
    row: &CircuitName,
    fact: &CircuitFact,
    event: &IncidentEvent,
    (at, turn): (Moment, Option<u64>),
) {
    match fact {
        CircuitFact::Tripped { trip } => {
            let last = incidents.iter_mut().rev().find(|known| is_about(known, trip.key));
            if let Some(last) = last.filter(|last| last.closed.is_none()) {
                last.followed_by = Some(trip.incident.clone());
            }
            let evidence = results.iter().rev().filter(|completed| {
                // A pattern over many calls has no identity: the result they share is its evidence, or else their last
                // results.
                let is_shared = trip.normal.is_none_or(|normal| normal == completed.normal);
                completed.event.text.is_some() && (completed.identity == trip.key || is_shared)
            });
            let mut incident = new(row, &trip.incident, (trip.pattern, trip.key), event, (at, turn));
            incident.breaker =
                IncidentBreaker::Loop { pattern: trip.pattern, key: trip.key, calls: trip.calls.clone() };
            incident.until = Some(trip.until());
            incident.cooldown_ms = Some(trip.cooldown_ms);
            incident.count = trip.count;
            incident.streak = trip.streak;
            incident.evidence = evidence.take(RESULTS_MAX).map(|completed| result(&completed.event)).collect();
            incidents.push(incident);
        }
        CircuitFact::Limited { incident, pattern, key, count } => {
            let mut incident = new(row, incident, (*pattern, *key), event, (at, turn));
            incident.count = *count;
            incidents.push(incident);
        }
        CircuitFact::Denied { key, .. } => {
            if let Some(incident) = incidents.iter_mut().rev().find(|incident| is_about(incident, *key)) {
                incident.denied = incident.denied.saturating_add(1);
                // A client that does not repeat the arguments at a call's end names the call at the next start.
                incident.about = incident.about.take().or_else(|| event.text.clone());
                incident.after.push(event.clone());
            }
        }
        CircuitFact::HalfOpened { incident, cause: HalfOpenCause::Person, hint, who } => {
            add_after(incidents, incident, resumed(event, hint.as_deref(), who.as_deref()));
        }
        CircuitFact::Allowed { incident, hint, who } => {
            add_after(incidents, incident, resumed(event, hint.as_deref(), Some(who)));
        }
        CircuitFact::HalfOpened { incident, .. }
        | CircuitFact::ProbeTaken { incident, .. }
        | CircuitFact::ProbeAbandoned { incident } => {
            add_after(incidents, incident, event.clone());
        }
        CircuitFact::Recovered { incident }
        | CircuitFact::AllowanceUsed { incident }
        | CircuitFact::Lapsed { incident }
        | CircuitFact::FalsePositive { incident, .. }
        | CircuitFact::Reset { incident: Some(incident), .. } => {
            if let Some(incident) = incidents.iter_mut().find(|known| known.id == *incident) {
                close(incident, event);
            }
        }
        CircuitFact::Reset { incident: None, .. } => {
            let is_unresolved = |incident: &&mut Incident| incident.closed.is_none() && incident.followed_by.is_none();
            for incident in incidents.iter_mut().filter(is_unresolved) {
                close(incident, event);
            }
        }
        CircuitFact::Warned { .. } => {}
    }
}

/// The state of a session's incident at `now`, and the rest of its cooldown in milliseconds. A limit has no circuit: it
/// counts as OPEN while haltline has denied something because of it since the last prompt.
pub fn session_state(circuits: Option<&Circuits>, incident: &Incident, now: Moment) -> (IncidentState, Option<u64>) {
    let (IncidentBreaker::Loop { key, .. }, Some(circuits)) = (&incident.breaker, circuits) else {
        return (IncidentState::Closed, None);
    };
    if circuits.tripped_by(&incident.id).is_none() {
        let is_denying = circuits.escalations.denying_limits().any(|limit| limit == incident.id);
        return (if is_denying { IncidentState::Open } else { IncidentState::Closed }, None);
    }
    match circuits.state_at(*key, now) {
        CircuitState::Open(trip) => (IncidentState::Open, trip.remaining_ms(now)),
        CircuitState::HalfOpen(..) | CircuitState::Probing(_) => (IncidentState::HalfOpen, None),
        CircuitState::Closed => (IncidentState::Closed, None),
    }
}

/// The incident of a trip whose facts the journal no longer has.
pub(crate) fn from_trip(row: &CircuitName, trip: &Trip) -> Incident {
    let event = IncidentEvent { at: trip.since.at, kind: "tripped", text: None, who: None };
    let mut incident = new(row, &trip.incident, (trip.pattern, trip.key), &event, (trip.since, None));
    incident.until = Some(trip.until());
    incident.cooldown_ms = Some(trip.cooldown_ms);
    incident.count = trip.count;
    incident.streak = trip.streak;
    incident
}

/// An incident that has just happened, with nothing known but its reason.
fn new(
    row: &CircuitName,
    id: &str,
    (pattern, key): (Pattern, Digest),
    event: &IncidentEvent,
    (at, turn): (Moment, Option<u64>),
) -> Incident {
    Incident {
        pattern: Some(pattern.as_str()),
        code: Some(loop_::code(pattern, key)),
        tripped: Some(at.at),
        turn,
        reason: event.text.clone(),
        options: vec![
            format!("haltline why {id}"),
            format!("haltline resume {id} --hint TEXT"),
            format!("haltline false-positive {id}"),
        ],
        ..Incident::unknown(row, id, IncidentBreaker::Loop { pattern, key, calls: Vec::new() }, IncidentState::Open)
    }
}

fn add_after(incidents: &mut [Incident], id: &str, event: IncidentEvent) {
    if let Some(incident) = incidents.iter_mut().find(|known| known.id == id) {
        incident.after.push(event);
    }
}

/// A person let the agent try again, with what they want it to know.
fn resumed(event: &IncidentEvent, hint: Option<&str>, who: Option<&str>) -> IncidentEvent {
    let text = hint.map(str::to_owned).or_else(|| event.text.clone());
    IncidentEvent { kind: "resumed", text, who: who.map(str::to_owned), ..event.clone() }
}

fn close(incident: &mut Incident, event: &IncidentEvent) {
    incident.state = IncidentState::Closed;
    incident.closed = Some(event.clone());
}

/// The result of a call as evidence.
fn result(event: &IncidentEvent) -> Evidence {
    Evidence::new(event.clone(), vec![("answer", json!(event.text))])
}

fn is_about(incident: &Incident, wanted: Digest) -> bool {
    matches!(incident.breaker, IncidentBreaker::Loop { key, .. } if key == wanted)
}
