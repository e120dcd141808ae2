//! What the journal keeps: facts, never decisions to be made again (E1).

use serde::{Deserialize, Serialize};

use crate::loop_::{ExemptFact, LaneFact, TreeFact};
use crate::{attempt, claim, constraint, phase, trust};

/// One thing that became true of one circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Of a constraint's circuit.
    Constraint(constraint::Fact),
    /// Of one agent's stream.
    Lane(LaneFact),
    /// Of a tree of agents.
    Tree(TreeFact),
    /// Of the list of false alarms.
    Exempt(ExemptFact),
    /// Of a slice.
    Attempt(attempt::Fact),
    /// Of a course of work.
    Phase(phase::Fact),
    /// Of a claim.
    Claim(claim::Fact),
    /// Of a pipeline of claims.
    Pipeline(claim::PipelineFact),
    /// Of the operator's trust.
    Trust(trust::Fact),
}

impl Fact {
    /// Whether a person acted, or the world must hear of it: such facts are synced to disk before they are answered.
    pub fn is_momentous(&self) -> bool {
        match self {
            Fact::Constraint(fact) => fact.is_momentous(),
            Fact::Lane(fact) => fact.is_momentous(),
            Fact::Tree(fact) => fact.is_momentous(),
            Fact::Exempt(_) => true,
            Fact::Attempt(fact) => fact.is_momentous(),
            Fact::Phase(fact) => fact.is_momentous(),
            Fact::Claim(fact) => fact.is_momentous(),
            Fact::Pipeline(fact) => fact.is_momentous(),
            Fact::Trust(trust::Fact::Trusted { .. } | trust::Fact::SeenTrusted { .. }) => true,
            Fact::Trust(trust::Fact::Seen { .. }) => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            Fact::Constraint(fact) => fact.word(),
            Fact::Lane(fact) => fact.word(),
            Fact::Tree(fact) => fact.word(),
            Fact::Exempt(fact) => fact.word(),
            Fact::Attempt(fact) => fact.word(),
            Fact::Phase(fact) => fact.word(),
            Fact::Claim(fact) => fact.word(),
            Fact::Pipeline(fact) => fact.word(),
            Fact::Trust(trust::Fact::Trusted { .. } | trust::Fact::SeenTrusted { .. }) => "trusted",
            Fact::Trust(trust::Fact::Seen { .. }) => "seen",
        }
    }
}

/// What can be taken out of the journal again without touching a count: names of sessions, and free text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// The session it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The action, or the operator's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
