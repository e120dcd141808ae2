//! A decision in the making, as all breakers build it: the facts, effects and notices so far.

use crate::memory::RowState;
use crate::{CircuitName, Decision, Effect, Moment, Recorded, Texts, Verdict};

/// The facts, effects and notices that a decision has so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub facts: Vec<Recorded>,
    pub effects: Vec<Effect>,
    pub notices: Vec<String>,
}

/// How far a draft has come; see [`Draft::roll_back`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct DraftLength {
    facts: usize,
    effects: usize,
    notices: usize,
}

impl Draft {
    /// Records a fact about a row, and returns the row's state after it: the next step of the decision must see the
    /// fact's effect.
    pub fn record<S: RowState>(
        &mut self,
        row: &CircuitName,
        state: Option<S>,
        at: Moment,
        fact: S::Fact,
        texts: Texts,
    ) -> S {
        let after = S::apply(state, &fact, at);
        self.facts.push(Recorded { circuit: row.clone(), at, fact: fact.into(), texts });
        after
    }

    /// Notifies the person of an incident (E16).
    pub fn notify(&mut self, circuit: &CircuitName, incident: &str) {
        self.effects.push(Effect::Notify { circuit: circuit.clone(), incident: incident.to_owned() });
    }

    pub fn length(&self) -> DraftLength {
        DraftLength { facts: self.facts.len(), effects: self.effects.len(), notices: self.notices.len() }
    }

    /// Drops what was added since the draft had this length. The caller restores the states.
    pub fn roll_back(&mut self, to: DraftLength) {
        self.facts.truncate(to.facts);
        self.effects.truncate(to.effects);
        self.notices.truncate(to.notices);
    }

    pub fn into_decision(self, verdict: Verdict) -> Decision {
        let Self { facts, effects, notices } = self;
        Decision { facts, verdict, effects, notices }
    }
}
