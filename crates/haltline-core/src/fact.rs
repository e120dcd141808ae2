//! What the journal keeps: facts, never decisions that would have to be made again (E1).

use serde::{Deserialize, Serialize};

use crate::ledger::LedgerFact;
use crate::loop_::{AgentFact, AgentTreeFact, CircuitFact, ExemptionFact, ProviderFact};
use crate::{Moment, attempt, claim, constraint, control, phase, trust};

/// One thing that became true of one circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Constraint(constraint::Fact),
    #[serde(rename = "lane")]
    Agent(AgentFact),
    /// About a tree of agents: a root session with its sub-agents.
    Tree(AgentTreeFact),
    /// About the project's list of false positives.
    #[serde(rename = "exempt")]
    Exemption(ExemptionFact),
    Attempt(attempt::Fact),
    Phase(phase::Fact),
    Claim(claim::Fact),
    Pipeline(claim::PipelineFact),
    /// About the operator's trust in the project's files.
    Trust(trust::Fact),
    /// About what a person switched for the project or for everything.
    Control(control::Fact),
    /// About what all agents of the machine or the project have used of their budgets.
    Ledger(LedgerFact),
    /// About the circuits of an account at a model service.
    Provider(ProviderFact),
}

impl Fact {
    /// What the fact says about a circuit of a running session; `None` for any other fact.
    pub fn as_circuit(&self) -> Option<&CircuitFact> {
        match self {
            Fact::Agent(AgentFact::Circuit(fact))
            | Fact::Tree(AgentTreeFact::Circuit(fact))
            | Fact::Provider(ProviderFact::Circuit(fact)) => Some(fact),
            Fact::Agent(_)
            | Fact::Tree(_)
            | Fact::Exemption(_)
            | Fact::Constraint(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_)
            | Fact::Control(_)
            | Fact::Ledger(_) => None,
        }
    }

    /// The incident that begins with this fact, and when its circuit opened if that is not the time of the fact.
    pub fn trip(&self) -> Option<(&str, Option<Moment>)> {
        match self {
            Fact::Constraint(
                constraint::Fact::Tripped { trip } | constraint::Fact::Adopted { trip: Some(trip), .. },
            ) => Some((&trip.incident, Some(trip.since))),
            Fact::Agent(AgentFact::Circuit(fact))
            | Fact::Tree(AgentTreeFact::Circuit(fact))
            | Fact::Provider(ProviderFact::Circuit(fact)) => match fact {
                CircuitFact::Tripped { trip } => Some((&trip.incident, None)),
                CircuitFact::Limited { incident, .. } => Some((incident, None)),
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
                | CircuitFact::FalsePositive { .. } => None,
            },
            Fact::Phase(phase::Fact::Tripped { trip }) => Some((&trip.incident, None)),
            Fact::Attempt(attempt::Fact::Tripped { trip }) => Some((&trip.incident, None)),
            Fact::Claim(claim::Fact::Disputed { dispute }) => Some((&dispute.incident, None)),
            Fact::Constraint(_)
            | Fact::Agent(_)
            | Fact::Tree(_)
            | Fact::Exemption(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_)
            | Fact::Control(_)
            | Fact::Ledger(_) => None,
        }
    }

    fn kind(&self) -> FactKind {
        match self {
            Fact::Constraint(fact) => fact.kind(),
            Fact::Agent(fact) => fact.kind(),
            Fact::Tree(fact) => fact.kind(),
            Fact::Exemption(fact) => fact.kind(),
            Fact::Attempt(fact) => fact.kind(),
            Fact::Phase(fact) => fact.kind(),
            Fact::Claim(fact) => fact.kind(),
            Fact::Pipeline(fact) => fact.kind(),
            Fact::Trust(fact) => fact.kind(),
            Fact::Control(fact) => fact.kind(),
            Fact::Ledger(fact) => fact.kind(),
            Fact::Provider(fact) => fact.kind(),
        }
    }

    /// True when the fact must be synced to disk before haltline answers: a person acted, or others must learn of it.
    pub fn needs_sync(&self) -> bool {
        self.kind().needs_sync
    }

    /// The stable text for the fact in listings.
    pub fn as_str(&self) -> &'static str {
        self.kind().name
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FactKind {
    /// The stable name in listings.
    pub name: &'static str,
    /// True if the fact must survive a power cut.
    pub needs_sync: bool,
}

pub(crate) fn synced(name: &'static str) -> FactKind {
    FactKind { name, needs_sync: true }
}

pub(crate) fn unsynced(name: &'static str) -> FactKind {
    FactKind { name, needs_sync: false }
}

/// The parts of a fact that can be purged from the journal without changing a count: session names and free text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// The session in which the fact became true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The action, or the operator's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What a trip is about, such as the command that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}
