//! What agents and people do.

use haltline_core::constraint::{Fact as ConstraintFact, Happening, Weight};
use haltline_core::{Event, Fact, Operator, Recorded, decide};
use haltline_engine::store::{Outcome, Sqlite, Store, Writing};
use haltline_engine::{Engine, EngineError};

use super::invariant::{Key, Watch};
use super::world::{IDS, PROJECTS, World, constraint_id};
use crate::chance::Chance;

/// One event, and how the process that tells of it lives.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub(super) project: usize,
    pub(super) id: &'static str,
    pub(super) what: Deed,
    /// A new process, or one that lives on and holds a connection.
    is_fresh: bool,
    /// Whether it looks at the state file first, as the command line does and a hook does not.
    looks_first: bool,
    /// Killed after the commit, before anything that follows it.
    is_killed: bool,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Violate { action: u64 },
    Clean { generation: Option<u64> },
    Enforce { action: u64, violated: bool },
    Reset,
    Override { lifetime_ms: u64 },
    Revoke,
    Look,
}

impl Act {
    pub(super) fn any(chance: &mut Chance) -> Self {
        let action = chance.below(5);
        let what = match chance.below(100) {
            0..=39 => Deed::Violate { action },
            40..=49 => Deed::Clean { generation: None },
            50..=54 => Deed::Clean { generation: Some(chance.below(12)) },
            55..=66 => Deed::Enforce { action, violated: true },
            67..=76 => Deed::Enforce { action, violated: false },
            77..=83 => Deed::Reset,
            84..=90 => Deed::Override { lifetime_ms: chance.below(90_000_000) },
            91..=93 => Deed::Revoke,
            _rest => Deed::Look,
        };
        Self {
            project: chance.index(PROJECTS),
            id: *chance.pick(&IDS),
            what,
            is_fresh: chance.happens(70),
            looks_first: chance.happens(70),
            is_killed: chance.happens(10),
        }
    }

    /// The circuit it is about.
    pub(super) fn key(&self) -> Key {
        (self.project, self.id.to_owned())
    }

    /// Whether an action was reported that respected the rule.
    pub(super) fn is_clean(&self) -> bool {
        matches!(self.what, Deed::Clean { .. } | Deed::Enforce { violated: false, .. })
    }

    /// Does it. `Ok(false)` where it was rejected.
    pub(super) fn run(&self, world: &mut World, watch: &mut Watch) -> Result<bool, String> {
        let facts = world.in_process(self.project, self.is_fresh, |engine| {
            if self.looks_first {
                engine.mirror_in();
            }
            let facts = self.tell(engine);
            watch.hear(self.project, engine.notices());
            facts
        })?;
        let Some(facts) = facts else { return Ok(false) };
        let violations = facts.iter().filter(|recorded| is_counted_violation(recorded)).count();
        watch.tell(self.key(), violations);
        if !facts.is_empty() {
            watch.set_mirror_behind(self.project, self.is_killed);
        }
        Ok(true)
    }

    /// The facts that were committed; `None` where it was rejected.
    fn tell(&self, engine: &Engine<Sqlite>) -> Result<Option<Vec<Recorded>>, String> {
        let Some(what) = self.happening() else {
            let circuits = engine.store().circuits(engine.project().key).map_err(|error| error.to_string())?;
            return Ok((!circuits.is_empty()).then(Vec::new));
        };
        let taken = if self.is_killed { self.commit_only(engine, what) } else { self.handle(engine, what) };
        match taken {
            Ok(facts) => Ok(Some(facts)),
            Err(EngineError::Rejected(_)) => Ok(None),
            Err(EngineError::Store(error)) => Err(format!("the store did not take an event: {error}")),
        }
    }

    fn handle(&self, engine: &Engine<Sqlite>, what: Happening) -> Result<Vec<Recorded>, EngineError> {
        let committed = engine.constraint(&constraint_id(self.id), Some("session"), what)?;
        Ok(committed.decision.facts)
    }

    fn commit_only(&self, engine: &Engine<Sqlite>, what: Happening) -> Result<Vec<Recorded>, EngineError> {
        let id = constraint_id(self.id);
        let seen = engine.constraint_file(&id, None).filter(|file| file.is_active).map(|file| file.seen);
        let event = Event::Constraint { id, session: Some("session".to_owned()), seen, what };
        let policy = engine.config().policy();
        let writing = Writing { cause: event.cause(), policy: "killed" };
        let decide = |memory: &_| decide(memory, policy, &event, engine.now());
        match engine.store().transact(engine.project(), writing, &decide)? {
            Outcome::Committed(committed) => Ok(committed.decision.facts),
            Outcome::Rejected(rejection) => Err(EngineError::Rejected(rejection)),
        }
    }

    fn happening(&self) -> Option<Happening> {
        let operator = Operator { who: "ana".to_owned(), reason: None };
        let text = |action: u64| format!("action {action}");
        Some(match self.what {
            Deed::Violate { action } => Happening::Violation { action: text(action) },
            Deed::Clean { generation } => Happening::Clean { action: None, generation },
            Deed::Enforce { action, violated } => Happening::Enforce { action: text(action), violated },
            Deed::Reset => Happening::Reset(operator),
            Deed::Override { lifetime_ms } => Happening::Override { lifetime_ms, operator },
            Deed::Revoke => Happening::Revoke(operator),
            Deed::Look => return None,
        })
    }
}

fn is_counted_violation(recorded: &Recorded) -> bool {
    match &recorded.fact {
        Fact::Constraint(ConstraintFact::Violated { weight, .. }) => *weight != Weight::Deduplicated,
        Fact::Constraint(_)
        | Fact::Lane(_)
        | Fact::Tree(_)
        | Fact::Exempt(_)
        | Fact::Phase(_)
        | Fact::Attempt(_)
        | Fact::Claim(_)
        | Fact::Pipeline(_)
        | Fact::Trust(_) => false,
    }
}
