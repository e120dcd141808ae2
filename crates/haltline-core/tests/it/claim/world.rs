//! A pipeline of claims in a test world: its rows, the journal, the limits and the clock.

use haltline_core::claim::{Claim, ClaimEvent, ClaimId, Pipeline, PipelineName};
use haltline_core::{CircuitName, Decision, Event, Policy, Recorded, Rejection, State};

use crate::clock::Clock;
use crate::engine::{self, Rows};

/// Everything that a decision sees, and everything that the decisions so far produced.
#[derive(Clone, Debug)]
pub struct World {
    pub clock: Clock,
    pub policy: Policy,
    pub pipeline: PipelineName,
    pub rows: Rows,
    pub journal: Vec<Recorded>,
}

impl World {
    /// 1 January 2026, the default limits, and no claim.
    pub fn new() -> Self {
        Self {
            clock: Clock::new_year(),
            policy: Policy::default(),
            pipeline: PipelineName::default(),
            rows: Rows::new(),
            journal: Vec::new(),
        }
    }

    /// The same without a ceiling of rounds, which the reference does not have.
    pub fn without_ceiling() -> Self {
        let mut world = Self::new();
        world.policy.claim.rounds_max = 0;
        world
    }

    /// Decides an event a minute later and commits the decision, as a store would.
    pub fn handle(&mut self, event: ClaimEvent) -> Result<Decision, Rejection> {
        self.clock.advance(60_000);
        let event = Event::Claim { pipeline: self.pipeline.clone(), session: Some("s1".to_owned()), event };
        engine::handle(&mut self.rows, &mut self.journal, &self.policy, &event, self.clock.now())
    }

    pub fn claim(&self, id: &str) -> Option<&Claim> {
        self.rows.get(&CircuitName::claim(self.pipeline.as_str(), id)).and_then(State::as_claim)
    }

    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.rows.get(&CircuitName::pipeline(self.pipeline.as_str())).and_then(State::as_pipeline)
    }

    /// Checks the invariants that hold after every event.
    pub fn check(&self) {
        let Some(pipeline) = self.pipeline() else { return };
        let mut bytes = 0;
        for (id, entry) in &pipeline.claims {
            let claim = self.claim(id.as_str()).unwrap_or_else(|| panic!("{id} is in the index and has no row"));
            assert_eq!(claim.listed_status(), entry.status, "the index says of {id} what its row says");
            assert_eq!(claim.bytes(), entry.bytes, "the index knows the size of {id}");
            bytes += entry.bytes;
            for base in &claim.depends_on {
                assert!(pipeline.claims[base].dependents.contains(id), "{base} knows that {id} stands on it");
            }
        }
        assert_eq!(pipeline.bytes(), bytes);
        assert!(!pipeline.is_over() || pipeline.disputed().is_empty(), "the final stage closed over a dispute");
        let mut folded = Rows::new();
        engine::fold(&mut folded, &self.journal);
        assert_eq!(folded, self.rows, "the rows are the fold of the journal");
    }
}

pub fn id(text: &str) -> ClaimId {
    ClaimId::parse(text).expect("a good name")
}
