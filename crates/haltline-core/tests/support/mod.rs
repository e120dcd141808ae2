//! A world of constraints, one of them looked at: its file, its circuit, the journal and the clocks, moved by hand.

mod clock;

use std::collections::BTreeMap;

use haltline_core::constraint::{Circuit, Happening, Limits, Rule, Seen, Source};
use haltline_core::{
    Boot, CircuitName, ConstraintId, Event, Instant, Memory, Operator, Policy, Recorded, State, Step, apply, decide,
    digest_hex,
};

pub use clock::Clock;

/// Everything a decision sees, and everything that came of the decisions so far.
#[derive(Clone, Debug)]
pub struct World {
    pub clock: Clock,
    pub policy: Policy,
    pub session: Option<String>,
    pub file: Option<Seen>,
    /// The constraint that is looked at.
    pub id: ConstraintId,
    /// The circuits of all constraints, as a store would keep them.
    pub rows: BTreeMap<CircuitName, State>,
    pub journal: Vec<Recorded>,
}

impl World {
    /// New Year 2026, a machine that was just started, a constraint file with these limits, and nothing happened.
    pub fn new(limits: Limits) -> Self {
        let wall = Instant::parse("2026-01-01T00:00:00Z").expect("a valid instant");
        let boot = Some(Boot { id: 1, uptime_ms: 0 });
        let mut world = Self {
            clock: Clock { wall, boot },
            policy: Policy::default(),
            session: None,
            file: None,
            id: ConstraintId::parse("git-safety-force-push").expect("a valid id"),
            rows: BTreeMap::new(),
            journal: Vec::new(),
        };
        world.write_file(Rule { limits, guards: Vec::new() }, None);
        world
    }

    /// The constraint's file says this from now on.
    pub fn write_file(&mut self, rule: Rule, created: Option<Instant>) {
        let digest = digest_hex(&[format!("{rule:?}").as_bytes()], 6);
        let source = Source { path: format!("docs/constraints/{}.md", self.id), digest };
        self.file = Some(Seen { rule, source, created });
    }

    /// Something happens now. What is decided is committed.
    pub fn tell(&mut self, what: Happening) -> Step {
        let (id, session, seen) = (self.id.clone(), self.session.clone(), self.file.clone());
        let event = Event::Constraint { id, session, seen, what };
        let now = self.clock.now();
        let mut memory = Memory::default();
        assert_eq!(decide(&memory, &self.policy, &event, now), Step::Needs(vec![self.name()]), "rows are asked for");
        memory.insert(self.name(), None);
        for (name, state) in &self.rows {
            memory.insert(name.clone(), Some(state.clone()));
        }
        let step = decide(&memory, &self.policy, &event, now);
        assert_eq!(step, decide(&memory, &self.policy, &event, now), "a decision run twice says the same");
        if let Step::Decided(decision) = &step {
            for Recorded { circuit, at, fact, .. } in &decision.facts {
                assert_eq!(*circuit, self.name(), "an event of one constraint is no fact of another");
                let state = apply(self.rows.remove(circuit), fact, *at);
                self.rows.insert(circuit.clone(), state);
            }
            self.journal.extend(decision.facts.iter().cloned());
        }
        step
    }

    pub fn circuit(&self) -> Option<&Circuit> {
        self.rows.get(&self.name()).and_then(State::as_constraint)
    }

    pub fn name(&self) -> CircuitName {
        CircuitName::constraint(&self.id)
    }
}

/// The person of these tests.
pub fn operator(reason: Option<&str>) -> Operator {
    Operator { who: "anna".to_owned(), reason: reason.map(str::to_owned) }
}
