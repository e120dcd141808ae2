//! A project with one constraint in it, whose events go straight to a store.

use std::path::PathBuf;

use haltline_core::constraint::{Circuit, Happening, Limits, Rule, Seen, Source};
use haltline_core::{CircuitName, ConstraintId, Event, Moment, Operator, Policy, State, decide};
use haltline_engine::project::Project;
use haltline_engine::store::{Committed, Outcome, Store, StoreError, Writing};

use crate::support::constraint;

/// Three violations trip it; none is a repeat.
pub const LIMITS: Limits = Limits { violation_threshold: 3, window_days: 30, cooldown_hours: 24, dedup_seconds: 0 };

/// Where things happen.
#[derive(Clone, Debug)]
pub struct Site {
    pub project: Project,
    pub id: ConstraintId,
    pub limits: Limits,
}

impl Site {
    /// The constraint `id` in the project `name`.
    pub fn new(name: &str, id: &str) -> Self {
        let root = PathBuf::from("/projects").join(name);
        Self { project: Project::new(root.join(".git"), root), id: constraint(id), limits: LIMITS }
    }

    /// The circuit's name.
    pub fn circuit_name(&self) -> CircuitName {
        CircuitName::constraint(&self.id)
    }

    /// An event of the constraint.
    pub fn event(&self, session: &str, what: Happening) -> Event {
        let rule = Rule { limits: self.limits, guards: Vec::new() };
        let source = Source { path: format!("docs/constraints/{}.md", self.id), digest: "as-written".to_owned() };
        let seen = Some(Seen { rule, source, created: None });
        Event::Constraint { id: self.id.clone(), session: Some(session.to_owned()), seen, what }
    }

    /// Takes an event.
    pub fn take(&self, store: &dyn Store, session: &str, what: Happening, now: Moment) -> Result<Outcome, StoreError> {
        let event = self.event(session, what);
        let writing = Writing { cause: event.cause(), policy: "policy" };
        store.transact(&self.project, writing, &|memory| decide(memory, &Policy::default(), &event, now))
    }

    /// Takes an event that can happen.
    pub fn commit(&self, store: &dyn Store, session: &str, what: Happening, now: Moment) -> Committed {
        match self.take(store, session, what, now).expect("the store takes it") {
            Outcome::Committed(committed) => *committed,
            Outcome::Rejected(rejection) => panic!("rejected: {rejection:?}"),
        }
    }

    /// The rule is violated.
    pub fn violate(&self, store: &dyn Store, session: &str, action: &str, now: Moment) -> Committed {
        self.commit(store, session, Happening::Violation { action: action.to_owned() }, now)
    }

    /// The circuit, which must be there.
    pub fn circuit(&self, store: &dyn Store) -> Circuit {
        let state = store.circuit(self.project.key, &self.circuit_name()).expect("the store can be read");
        state.as_ref().and_then(State::as_constraint).expect("the circuit is there").clone()
    }
}

/// The person who acts.
pub fn operator() -> Operator {
    Operator { who: "ana".to_owned(), reason: Some("looked into it".to_owned()) }
}
