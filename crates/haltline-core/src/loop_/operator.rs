//! What a person does to the circuits of a session (E6, X4).

use super::decide::tampering_key;
use super::{
    AgentFact, AgentTreeFact, CircuitFact, Circuits, Exemption, ExemptionFact, Exemptions, HalfOpenCause, Pattern,
    ProviderFact, TrippedCircuit,
};
use crate::identity::Digest;
use crate::{CircuitName, Decision, Fact, Halt, Memory, Moment, Operator, Recorded, Rejection, State, Texts, Verdict};

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
    /// Declare a false positive: close the circuit if it is not CLOSED, and never trip on this again in this project.
    FalsePositive {
        incident: String,
        /// What the trip was about, from its record; needed once the circuit has closed.
        subject: Option<TripSubject>,
    },
}

/// What a trip was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripSubject {
    pub pattern: Pattern,
    pub key: Digest,
    /// The identities of the calls.
    pub calls: Vec<Digest>,
    /// The call as text, if it is known.
    pub about: Option<String>,
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
    // The row of a session that is long over is gone; a false positive needs only the record of the trip.
    let gone = Circuits::default();
    let is_recorded = matches!(verb, Verb::FalsePositive { subject: Some(_), .. });
    let Some(circuits) = state.and_then(State::circuits).or(is_recorded.then_some(&gone)) else {
        return Err(Rejection::NoIncident.into());
    };
    let is_tree = state.and_then(State::as_tree).is_some();
    let is_provider = state.and_then(State::as_provider).is_some();
    let wrap = |fact: CircuitFact| match (is_tree, is_provider) {
        (_, true) => Fact::Provider(ProviderFact::Circuit(fact)),
        (true, false) => Fact::Tree(AgentTreeFact::Circuit(fact)),
        (false, false) => Fact::Agent(AgentFact::Circuit(fact)),
    };
    let record = |circuit: CircuitName, fact: Fact| {
        let texts = Texts { text: operator.reason.clone(), ..Texts::default() };
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
            let fact = if let Some(tripped) = circuits.tripped_by(incident) {
                // A second resume without a hint keeps the first one's.
                let hint = hint.clone().or_else(|| tripped.hint.clone());
                let cause = HalfOpenCause::Person;
                CircuitFact::HalfOpened { incident: incident.clone(), cause, hint, who: Some(who) }
            } else if let Some(escalation) = circuits.escalations.with_incident(incident) {
                if escalation.key == tampering_key() {
                    return Err(Rejection::NotResumable.into());
                }
                let known = escalation.allowance.as_ref().and_then(|allowance| allowance.hint.clone());
                CircuitFact::Allowed { incident: incident.clone(), who, hint: hint.clone().or(known) }
            } else {
                return Err(Rejection::NoIncident.into());
            };
            facts.push(record(row.clone(), wrap(fact)));
        }
        Verb::FalsePositive { incident, subject } => {
            let tripped = circuits.tripped_by(incident);
            let known = tripped.map(|TrippedCircuit { trip, .. }| (trip.pattern, trip.key, trip.calls.clone()));
            let recorded = subject.as_ref().map(|subject| (subject.pattern, subject.key, subject.calls.clone()));
            let Some((pattern, key, calls)) = known.or(recorded) else { return Err(Rejection::NoIncident.into()) };
            let exemption = Exemption { pattern, key, calls, incident: incident.clone(), who: who.clone(), at: now.at };
            let is_listed = listed.and_then(State::as_exemptions).is_some_and(|list: &Exemptions| {
                list.covers(pattern, key) && exemption.calls.iter().all(|call| list.covers_call(*call))
            });
            if !is_listed {
                let mut recorded = record(exemptions, Fact::Exemption(ExemptionFact::Exempted { exemption }));
                recorded.texts.about = subject.as_ref().and_then(|subject| subject.about.clone());
                facts.push(recorded);
            }
            if tripped.is_some() {
                facts.push(record(row.clone(), wrap(CircuitFact::FalsePositive { who, incident: incident.clone() })));
            }
        }
    }
    Ok(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}

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
    let texts = Texts { text: operator.reason.clone(), ..Texts::default() };
    let facts = vec![Recorded { circuit: name, at: now, fact, texts }];
    Ok(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}
