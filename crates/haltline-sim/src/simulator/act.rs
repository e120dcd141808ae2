//! What agents and operators do.

use haltline_core::constraint::{ConstraintEvent, Fact as ConstraintFact, Weight};
use haltline_core::{Event, Fact, Operator, Recorded, decide};
use haltline_engine::store::{Provenance, Sqlite, Store, TransactionOutcome};
use haltline_engine::{Engine, EngineError};

use super::invariant::{Key, Watch};
use super::world::{IDS, PROJECTS, World, constraint_id};
use crate::chance::Chance;

/// One event, and how the process that reports it behaves.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub(super) project: usize,
    pub(super) id: &'static str,
    pub(super) kind: ActKind,
    /// The process is new; otherwise it may be an earlier one that still holds a connection.
    is_fresh: bool,
    /// The process reads the state file first, as the command line does and a hook does not.
    reads_state_file_first: bool,
    /// The process is killed after the commit, before anything that follows it.
    is_killed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActKind {
    Violate { action: u64 },
    Clean { generation: Option<u64> },
    Enforce { action: u64, violated: bool },
    Reset,
    Override { lifetime_ms: u64 },
    Revoke,
    ReadCircuits,
}

impl Act {
    pub(super) fn any(chance: &mut Chance) -> Self {
        let action = chance.below(5);
        let kind = match chance.below(100) {
            0..=39 => ActKind::Violate { action },
            40..=49 => ActKind::Clean { generation: None },
            50..=54 => ActKind::Clean { generation: Some(chance.below(12)) },
            55..=66 => ActKind::Enforce { action, violated: true },
            67..=76 => ActKind::Enforce { action, violated: false },
            77..=83 => ActKind::Reset,
            84..=90 => ActKind::Override { lifetime_ms: chance.below(90_000_000) },
            91..=93 => ActKind::Revoke,
            _rest => ActKind::ReadCircuits,
        };
        Self {
            project: chance.index(PROJECTS),
            id: *chance.pick(&IDS),
            kind,
            is_fresh: chance.happens(70),
            reads_state_file_first: chance.happens(70),
            is_killed: chance.happens(10),
        }
    }

    /// The circuit that the act is about.
    pub(super) fn key(&self) -> Key {
        (self.project, self.id.to_owned())
    }

    /// True when the act reports an action that respected the rule.
    pub(super) fn is_clean(&self) -> bool {
        matches!(self.kind, ActKind::Clean { .. } | ActKind::Enforce { violated: false, .. })
    }

    /// Runs the act. `Ok(false)` if it was rejected.
    pub(super) fn run(&self, world: &mut World, watch: &mut Watch) -> Result<bool, String> {
        let facts = world.in_process(self.project, self.is_fresh, |engine| {
            if self.reads_state_file_first {
                engine.import_mirror();
            }
            let facts = self.perform(engine);
            watch.add_notices(self.project, engine.take_notices());
            facts
        })?;
        let Some(facts) = facts else { return Ok(false) };
        let violations = facts.iter().filter(|recorded| is_counted_violation(recorded)).count();
        watch.add_reported(self.key(), violations);
        if !facts.is_empty() {
            watch.set_mirror_behind(self.project, self.is_killed);
        }
        Ok(true)
    }

    /// The committed facts; `None` if the act was rejected.
    fn perform(&self, engine: &Engine<Sqlite>) -> Result<Option<Vec<Recorded>>, String> {
        let Some(event) = self.constraint_event() else {
            let circuits = engine.store().circuits(engine.project().key).map_err(|error| error.to_string())?;
            return Ok((!circuits.is_empty()).then(Vec::new));
        };
        let result = if self.is_killed { self.commit_only(engine, event) } else { self.handle(engine, event) };
        match result {
            Ok(facts) => Ok(Some(facts)),
            Err(EngineError::Rejected(_)) => Ok(None),
            Err(EngineError::Store(error)) => Err(format!("the store did not take an event: {error}")),
        }
    }

    fn handle(&self, engine: &Engine<Sqlite>, event: ConstraintEvent) -> Result<Vec<Recorded>, EngineError> {
        let committed = engine.constraint(&constraint_id(self.id), Some("session"), event)?;
        Ok(committed.decision.facts)
    }

    fn commit_only(
        &self,
        engine: &Engine<Sqlite>,
        constraint_event: ConstraintEvent,
    ) -> Result<Vec<Recorded>, EngineError> {
        let id = constraint_id(self.id);
        let seen = engine.constraint_file(&id, None).filter(|file| file.is_active).map(|file| file.seen);
        let event = Event::Constraint { id, session: Some("session".to_owned()), file: seen, event: constraint_event };
        let policy = engine.config().policy();
        let writing = Provenance { cause: event.cause(), policy: "killed" };
        let decide = |memory: &_| decide(memory, policy, &event, engine.now());
        match engine.store().transact(engine.project(), writing, &decide)? {
            TransactionOutcome::Committed(committed) => Ok(committed.decision.facts),
            TransactionOutcome::Rejected(rejection) => Err(EngineError::Rejected(rejection)),
        }
    }

    fn constraint_event(&self) -> Option<ConstraintEvent> {
        let operator = Operator { who: "ana".to_owned(), reason: None };
        let text = |action: u64| format!("action {action}");
        Some(match self.kind {
            ActKind::Violate { action } => ConstraintEvent::Violation { action: text(action) },
            ActKind::Clean { generation } => ConstraintEvent::Clean { action: None, generation },
            ActKind::Enforce { action, violated } => ConstraintEvent::Enforce { action: text(action), violated },
            ActKind::Reset => ConstraintEvent::Reset(operator),
            ActKind::Override { lifetime_ms } => ConstraintEvent::Override { lifetime_ms, operator },
            ActKind::Revoke => ConstraintEvent::Revoke(operator),
            ActKind::ReadCircuits => return None,
        })
    }
}

fn is_counted_violation(recorded: &Recorded) -> bool {
    match &recorded.fact {
        Fact::Constraint(ConstraintFact::Violated { weight, .. }) => *weight != Weight::Deduplicated,
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
        | Fact::Ledger(_)
        | Fact::Provider(_) => false,
    }
}
