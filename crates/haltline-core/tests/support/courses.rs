//! A course of work: its row, the journal, the limits and the clocks, moved by hand.

// Each test file uses its part of this.
#![allow(dead_code, reason = "shared by the rules and the properties of the phase family")]

use haltline_core::phase::{Bounds, Course, Happening};
use haltline_core::{
    Boot, CircuitName, Decision, Event, Instant, Memory, Operator, Policy, Recorded, Rejection, State, Step, apply,
    decide,
};

use crate::clock::Clock;

/// Everything a decision sees, and everything that came of the decisions so far.
#[derive(Clone, Debug)]
pub struct World {
    pub clock: Clock,
    pub policy: Policy,
    pub name: CircuitName,
    pub session: Option<String>,
    /// Limits that take the place of the policy's.
    pub bounds: Option<Bounds>,
    pub row: Option<State>,
    pub journal: Vec<Recorded>,
}

impl World {
    /// New Year 2026, a machine that was just started, the default limits, and nothing has begun.
    pub fn new() -> Self {
        let wall = Instant::parse("2026-01-01T00:00:00Z").expect("a valid instant");
        Self {
            clock: Clock { wall, boot: Some(Boot { id: 1, uptime_ms: 0 }) },
            policy: Policy::default(),
            name: CircuitName::course("session", ".prp-session", None),
            session: None,
            bounds: None,
            row: None,
            journal: Vec::new(),
        }
    }

    /// Something happens now. What is decided is committed.
    pub fn tell(&mut self, what: Happening) -> Result<Decision, Rejection> {
        let event =
            Event::Phase { course: self.name.clone(), session: self.session.clone(), bounds: self.bounds, what };
        let now = self.clock.now();
        let mut memory = Memory::default();
        let asked = decide(&memory, &self.policy, &event, now);
        assert_eq!(asked, Step::Needs(vec![self.name.clone()]), "the row is asked for, and no other");
        memory.insert(self.name.clone(), self.row.clone());
        let step = decide(&memory, &self.policy, &event, now);
        assert_eq!(step, decide(&memory, &self.policy, &event, now), "a decision run twice says the same");
        match step {
            Step::Decided(decision) => {
                for Recorded { circuit, at, fact, .. } in &decision.facts {
                    assert_eq!(*circuit, self.name, "an event of one course is no fact of another");
                    self.row = Some(apply(self.row.take(), fact, *at));
                }
                self.journal.extend(decision.facts.iter().cloned());
                Ok(decision)
            }
            Step::Rejected(rejection) => Err(rejection),
            Step::Needs(names) => unreachable!("the row was given, yet it asks for {names:?}"),
        }
    }

    pub fn course(&self) -> Option<&Course> {
        self.row.as_ref().and_then(State::as_course)
    }
}

/// The person of these tests.
pub fn operator(reason: Option<String>) -> Operator {
    Operator { who: "anna".to_owned(), reason }
}
