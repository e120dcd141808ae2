//! What can happen in histories that are made up by the thousand.

use haltline_core::constraint::{Fact as ConstraintFact, Happening, Limits, Rule, Weight};
use haltline_core::{Fact, Rejection, Step, Verdict};

use crate::support::{World, operator};

/// Something that happens to the circuit, or around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Violate,
    Clean,
    Enforce {
        violated: bool,
    },
    Reset,
    Retire,
    Override {
        lifetime_ms: u64,
    },
    Revoke,
    Trust,
    /// The constraint's file says this from now on.
    Write(Limits),
    /// The wall clock is set.
    StepWall(i64),
    /// The machine is started anew.
    Reboot,
    /// Only time passes.
    Nothing,
}

/// How an act was answered, in words two implementations can agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The verdict's word, or why it was rejected.
    pub word: &'static str,
    /// What a violation weighed.
    pub weight: Option<Weight>,
    pub has_tripped: bool,
}

/// Lets an act happen now. `None` where the circuit is not asked.
pub fn perform(world: &mut World, act: Act) -> Option<Answer> {
    let happening = match act {
        Act::Violate => Happening::Violation { action: "git push --force".to_owned() },
        Act::Clean => Happening::Clean { action: None, generation: None },
        Act::Enforce { violated } => Happening::Enforce { action: "git push".to_owned(), violated },
        Act::Reset => Happening::Reset(operator(None)),
        Act::Retire => Happening::Retire(operator(None)),
        Act::Override { lifetime_ms } => Happening::Override { lifetime_ms, operator: operator(None) },
        Act::Revoke => Happening::Revoke(operator(None)),
        Act::Trust => Happening::TrustRule(operator(None)),
        Act::Write(limits) => {
            world.write_file(Rule { limits, guards: Vec::new() }, None);
            return None;
        }
        Act::StepWall(millis) => {
            world.clock.step_wall(millis);
            return None;
        }
        Act::Reboot => {
            world.clock.reboot();
            return None;
        }
        Act::Nothing => return None,
    };
    Some(answer(&world.tell(happening)))
}

fn answer(step: &Step) -> Answer {
    match step {
        Step::Decided(decision) => {
            let facts = || decision.facts.iter().map(|recorded| &recorded.fact);
            let weight = facts().find_map(|fact| match fact {
                Fact::Constraint(ConstraintFact::Violated { weight, .. }) => Some(*weight),
                Fact::Constraint(_)
                | Fact::Lane(_)
                | Fact::Tree(_)
                | Fact::Exempt(_)
                | Fact::Attempt(_)
                | Fact::Phase(_)
                | Fact::Claim(_)
                | Fact::Pipeline(_)
                | Fact::Trust(_) => None,
            });
            let has_tripped = facts().any(|fact| matches!(fact, Fact::Constraint(ConstraintFact::Tripped { .. })));
            Answer { word: decision.verdict.word(), weight, has_tripped }
        }
        Step::Rejected(rejection) => Answer { word: rejection_word(rejection), weight: None, has_tripped: false },
        Step::Needs(rows) => unreachable!("the row was given, yet it asks for {rows:?}"),
    }
}

fn rejection_word(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::NotFound { .. } => "not found",
        Rejection::InvalidTransition { from } => from.dashed(),
        Rejection::NoIncident => "no incident",
        Rejection::NoOverride => "no override",
        Rejection::NoSlice => "no slice",
        Rejection::ScopeFrozen => "scope frozen",
        Rejection::SliceFailing => "slice failing",
        Rejection::NoTest => "no test",
        Rejection::NoCourse => "no course",
        Rejection::RunOver => "run over",
        Rejection::Claim(_) => "claims",
        Rejection::NothingToTrust => "nothing to trust",
    }
}

/// What `check` says now.
pub fn check(world: &World) -> Option<Verdict> {
    let circuit = world.circuit()?;
    Some(haltline_core::constraint::check(&world.name(), circuit, world.clock.now()))
}
