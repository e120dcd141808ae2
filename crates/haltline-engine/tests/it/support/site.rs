//! A project with one constraint, whose events go straight to a store.

use std::path::PathBuf;

use haltline_core::constraint::{Circuit, ConstraintEvent, Limits, Rule, RuleFile, Source};
use haltline_core::{CircuitName, ConstraintId, Event, Moment, Operator, Policy, State, decide};
use haltline_engine::project::Project;
use haltline_engine::store::{Committed, Provenance, Store, StoreError, TransactionOutcome};

use crate::support::constraint;

/// Three violations trip the circuit; no violation counts as a duplicate.
pub const LIMITS: Limits = Limits { violation_threshold: 3, window_days: 30, cooldown_hours: 24, dedup_seconds: 0 };

/// A project and one of its constraints.
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

    pub fn circuit_name(&self) -> CircuitName {
        CircuitName::constraint(&self.id)
    }

    /// An event of the constraint.
    pub fn event(&self, session: &str, event: ConstraintEvent) -> Event {
        let rule = Rule { limits: self.limits, guards: Vec::new() };
        let source = Source { path: format!("docs/constraints/{}.md", self.id), digest: "as-written".to_owned() };
        let seen = Some(RuleFile { rule, source, created: None });
        Event::Constraint { id: self.id.clone(), session: Some(session.to_owned()), file: seen, event }
    }

    /// Reports an event to the store.
    pub fn report(
        &self,
        store: &dyn Store,
        session: &str,
        event: ConstraintEvent,
        now: Moment,
    ) -> Result<TransactionOutcome, StoreError> {
        let event = self.event(session, event);
        let writing = Provenance { cause: event.cause(), policy: "policy" };
        store.transact(&self.project, writing, &|memory| decide(memory, &Policy::default(), &event, now))
    }

    /// Reports an event that must not be rejected.
    pub fn commit(&self, store: &dyn Store, session: &str, event: ConstraintEvent, now: Moment) -> Committed {
        match self.report(store, session, event, now).expect("the store takes it") {
            TransactionOutcome::Committed(committed) => *committed,
            TransactionOutcome::Rejected(rejection) => panic!("rejected: {rejection:?}"),
        }
    }

    /// Reports a violation.
    pub fn violate(&self, store: &dyn Store, session: &str, action: &str, now: Moment) -> Committed {
        self.commit(store, session, ConstraintEvent::Violation { action: action.to_owned() }, now)
    }

    /// The circuit, which must exist.
    pub fn circuit(&self, store: &dyn Store) -> Circuit {
        let state = store.circuit(self.project.key, &self.circuit_name()).expect("the store can be read");
        state.as_ref().and_then(State::as_constraint).expect("the circuit is there").clone()
    }
}

/// The person who acts.
pub fn operator() -> Operator {
    Operator { who: "ana".to_owned(), reason: Some("looked into it".to_owned()) }
}
