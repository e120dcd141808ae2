//! A test world with one constraint in focus: its file, its circuit, the journal and the clocks, moved by the tests.

use haltline_core::constraint::{Circuit, ConstraintEvent, Limits, Rule, RuleFile, Source};
use haltline_core::{
    CircuitName, ConstraintId, Decision, Event, Instant, Policy, Recorded, Rejection, State, digest_hex,
};

use crate::clock::Clock;
use crate::engine::{self, Rows};

/// Everything a decision reads, and all results of the decisions so far.
#[derive(Clone, Debug)]
pub struct World {
    pub clock: Clock,
    pub policy: Policy,
    pub session: Option<String>,
    pub file: Option<RuleFile>,
    /// The constraint in focus.
    pub id: ConstraintId,
    /// The circuits of all constraints, as a store would keep them.
    pub rows: Rows,
    pub journal: Vec<Recorded>,
}

impl World {
    /// New Year 2026, a machine that just started, a constraint file with these limits, and no events yet.
    pub fn new(limits: Limits) -> Self {
        let mut world = Self {
            clock: Clock::new_year(),
            policy: Policy::default(),
            session: None,
            file: None,
            id: ConstraintId::parse("git-safety-force-push").expect("a valid id"),
            rows: Rows::new(),
            journal: Vec::new(),
        };
        world.write_file(Rule { limits, guards: Vec::new() }, None);
        world
    }

    /// Replaces the constraint's file.
    pub fn write_file(&mut self, rule: Rule, created: Option<Instant>) {
        let digest = digest_hex(&[format!("{rule:?}").as_bytes()], 6);
        let source = Source { path: format!("docs/constraints/{}.md", self.id), digest };
        self.file = Some(RuleFile { rule, source, created });
    }

    /// Decides an event now and commits the decision.
    pub fn handle(&mut self, event: ConstraintEvent) -> Result<Decision, Rejection> {
        let (id, session, file) = (self.id.clone(), self.session.clone(), self.file.clone());
        let event = Event::Constraint { id, session, file, event };
        let (name, now) = (self.name(), self.clock.now());
        engine::handle_alone(&name, &mut self.rows, &mut self.journal, &self.policy, &event, now)
    }

    pub fn circuit(&self) -> Option<&Circuit> {
        self.rows.get(&self.name()).and_then(State::as_constraint)
    }

    pub fn name(&self) -> CircuitName {
        CircuitName::constraint(&self.id)
    }
}
