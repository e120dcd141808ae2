//! What a person does to the circuits of a session (E6, X4).

use super::{
    AgentFact, AgentTreeFact, CircuitFact, Exemption, ExemptionFact, Exemptions, HalfOpenCause, TrippedCircuit,
};
use crate::{CircuitName, Decision, Fact, Halt, Memory, Moment, Operator, Recorded, Rejection, State, Texts, Verdict};

/// The operator actions on circuits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Close one circuit, or all of them, and forget what they counted.
    Reset {
        /// `None` means all circuits.
        incident: Option<String>,
    },
    /// Allow one probe now.
    Resume {
        incident: String,
        /// What the agent should know when it runs the probe.
        hint: Option<String>,
    },
    /// Declare a false positive: close the circuit, and never trip on this again in this project.
    FalsePositive { incident: String },
}

impl Verb {
    /// The action's stable name in the journal.
    pub fn cause(&self) -> &'static str {
        match self {
            Verb::Reset { .. } => "reset",
            Verb::Resume { .. } => "resume",
            Verb::FalsePositive { .. } => "false_positive",
        }
    }
}

/// Decides an operator action on the circuits of one row.
pub fn decide(
    memory: &Memory,
    row: &CircuitName,
    verb: &Verb,
    operator: &Operator,
    now: Moment,
) -> Result<Decision, Halt> {
    let exemptions = CircuitName::exemptions();
    let (Some(state), Some(listed)) = (memory.row(row), memory.row(&exemptions)) else {
        return Err(Halt::Needs(vec![row.clone(), exemptions]));
    };
    let Some(circuits) = state.and_then(State::circuits) else { return Err(Rejection::NoIncident.into()) };
    let is_tree = state.and_then(State::as_tree).is_some();
    let wrap = |fact: CircuitFact| match is_tree {
        true => Fact::Tree(AgentTreeFact::Circuit(fact)),
        false => Fact::Agent(AgentFact::Circuit(fact)),
    };
    let record = |circuit: CircuitName, fact: Fact| {
        let texts = Texts { session: None, text: operator.reason.clone() };
        Recorded { circuit, at: now, fact, texts }
    };
    let who = operator.who.clone();
    let mut facts = Vec::new();
    match verb {
        Verb::Reset { incident } => {
            if incident.as_deref().is_some_and(|incident| !circuits.has_incident(incident)) {
                return Err(Rejection::NoIncident.into());
            }
            facts.push(record(row.clone(), wrap(CircuitFact::Reset { who, incident: incident.clone() })));
        }
        Verb::Resume { incident, hint } => {
            if circuits.tripped_by(incident).is_some() {
                let fact = CircuitFact::HalfOpened {
                    incident: incident.clone(),
                    cause: HalfOpenCause::Person,
                    hint: hint.clone(),
                };
                facts.push(record(row.clone(), wrap(fact)));
            } else if circuits.has_incident(incident) {
                facts.push(record(row.clone(), wrap(CircuitFact::Reset { who, incident: Some(incident.clone()) })));
            } else {
                return Err(Rejection::NoIncident.into());
            }
        }
        Verb::FalsePositive { incident } => {
            let Some(TrippedCircuit { trip, .. }) = circuits.tripped_by(incident) else {
                return Err(Rejection::NoIncident.into());
            };
            let exemption = Exemption {
                pattern: trip.pattern,
                key: trip.key,
                incident: incident.clone(),
                who: who.clone(),
                at: now.at,
            };
            let is_listed = listed
                .and_then(State::as_exemptions)
                .is_some_and(|list: &Exemptions| list.covers(trip.pattern, trip.key));
            if !is_listed {
                facts.push(record(exemptions, Fact::Exemption(ExemptionFact::Exempted { exemption })));
            }
            facts.push(record(row.clone(), wrap(CircuitFact::FalsePositive { who, incident: incident.clone() })));
        }
    }
    Ok(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}

/// Decides the revocation of an exemption.
pub fn decide_revoke(memory: &Memory, incident: &str, operator: &Operator, now: Moment) -> Result<Decision, Halt> {
    let name = CircuitName::exemptions();
    let is_listed = memory
        .require(&name)?
        .and_then(State::as_exemptions)
        .is_some_and(|list| list.entries.iter().any(|exemption| exemption.incident == incident));
    if !is_listed {
        return Err(Rejection::NoIncident.into());
    }
    let fact = Fact::Exemption(ExemptionFact::Revoked { incident: incident.to_owned(), who: operator.who.clone() });
    let texts = Texts { session: None, text: operator.reason.clone() };
    let facts = vec![Recorded { circuit: name, at: now, fact, texts }];
    Ok(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}
