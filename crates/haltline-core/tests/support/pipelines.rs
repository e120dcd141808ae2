//! A pipeline of claims: its rows, the journal, the limits and the clock, moved by hand.

// Each test file uses its part of this.
#![allow(dead_code, reason = "shared by the rules and the properties of the claim family")]

use std::collections::BTreeMap;

use haltline_core::claim::{Claim, ClaimId, Happening, Pipeline, PipelineName};
use haltline_core::{
    Boot, CircuitName, Decision, Event, Instant, Memory, Moment, Policy, Recorded, Rejection, State, Step, apply,
    decide,
};

/// Everything a decision sees, and everything that came of the decisions so far.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Moment,
    pub policy: Policy,
    pub pipeline: PipelineName,
    pub rows: BTreeMap<CircuitName, State>,
    pub journal: Vec<Recorded>,
}

impl World {
    /// New Year 2026, the default limits, and no claim.
    pub fn new() -> Self {
        let at = Instant::parse("2026-01-01T00:00:00Z").expect("a valid instant");
        Self {
            now: Moment { at, boot: Some(Boot { id: 1, uptime_ms: 0 }) },
            policy: Policy::default(),
            pipeline: PipelineName::default(),
            rows: BTreeMap::new(),
            journal: Vec::new(),
        }
    }

    /// Something happens a minute later. What is decided is committed, as a store would.
    pub fn tell(&mut self, what: Happening) -> Result<Decision, Rejection> {
        self.now = self.now.plus_millis(60_000);
        let event = Event::Claim { pipeline: self.pipeline.clone(), session: Some("s1".to_owned()), what };
        let mut memory = Memory::default();
        loop {
            let step = decide(&memory, &self.policy, &event, self.now);
            assert_eq!(step, decide(&memory, &self.policy, &event, self.now), "a decision run twice says the same");
            match step {
                Step::Needs(names) => {
                    for name in names {
                        assert!(memory.row(&name).is_none(), "{name} was given already");
                        memory.insert(name.clone(), self.rows.get(&name).cloned());
                    }
                }
                Step::Rejected(rejection) => return Err(rejection),
                Step::Decided(decision) => {
                    for Recorded { circuit, at, fact, .. } in &decision.facts {
                        let row = apply(self.rows.remove(circuit), fact, *at);
                        self.rows.insert(circuit.clone(), row);
                    }
                    self.journal.extend(decision.facts.iter().cloned());
                    return Ok(decision);
                }
            }
        }
    }

    pub fn claim(&self, id: &str) -> Option<&Claim> {
        self.rows.get(&CircuitName::claim(self.pipeline.as_str(), id)).and_then(State::as_claim)
    }

    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.rows.get(&CircuitName::pipeline(self.pipeline.as_str())).and_then(State::as_pipeline)
    }

    /// What must hold at every step, whatever happened.
    pub fn check(&self) {
        let Some(pipeline) = self.pipeline() else { return };
        let mut bytes = 0;
        for (id, entry) in &pipeline.claims {
            let claim = self.claim(id.as_str()).unwrap_or_else(|| panic!("{id} is in the index and has no row"));
            assert_eq!(claim.word(), entry.word, "the index says of {id} what its row says");
            assert_eq!(claim.bytes(), entry.bytes, "the index knows the size of {id}");
            bytes += entry.bytes;
            for base in &claim.depends_on {
                assert!(pipeline.claims[base].dependents.contains(id), "{base} knows that {id} stands on it");
            }
        }
        assert_eq!(pipeline.bytes(), bytes);
        assert!(!pipeline.is_over() || pipeline.disputed().is_empty(), "the final stage closed over a dispute");
        let mut folded: BTreeMap<CircuitName, State> = BTreeMap::new();
        for Recorded { circuit, at, fact, .. } in &self.journal {
            let row = apply(folded.remove(circuit), fact, *at);
            folded.insert(circuit.clone(), row);
        }
        assert_eq!(folded, self.rows, "the rows are the fold of the journal");
    }
}

pub fn id(text: &str) -> ClaimId {
    ClaimId::parse(text).expect("a good name")
}
