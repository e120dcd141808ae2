//! The acts of generated histories.

use haltline_core::constraint::{ConstraintEvent, Fact as ConstraintFact, Limits, Rule, Weight};
use haltline_core::{Decision, Fact, Rejection, Verdict};

use crate::constraint::world::World;
use crate::engine::operator;

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
    /// Replaces the constraint's file.
    Write(Limits),
    /// Sets the wall clock.
    StepWall(i64),
    /// Reboots the machine.
    Reboot,
    /// Only time passes.
    Nothing,
}

/// The result of an act, in a form that both implementations share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActResult {
    /// The verdict's text, or the reason for the rejection.
    pub word: &'static str,
    /// How a violation counted.
    pub weight: Option<Weight>,
    pub has_tripped: bool,
}

/// Performs an act now. Returns `None` if the act does not reach the circuit.
pub fn perform(world: &mut World, act: Act) -> Option<ActResult> {
    let event = match act {
        Act::Violate => ConstraintEvent::Violation { action: "git push --force".to_owned() },
        Act::Clean => ConstraintEvent::Clean { action: None, generation: None },
        Act::Enforce { violated } => ConstraintEvent::Enforce { action: "git push".to_owned(), violated },
        Act::Reset => ConstraintEvent::Reset(operator(None)),
        Act::Retire => ConstraintEvent::Retire(operator(None)),
        Act::Override { lifetime_ms } => ConstraintEvent::Override { lifetime_ms, operator: operator(None) },
        Act::Revoke => ConstraintEvent::Revoke(operator(None)),
        Act::Trust => ConstraintEvent::TrustRule(operator(None)),
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
    Some(summarize(&world.handle(event)))
}

fn summarize(result: &Result<Decision, Rejection>) -> ActResult {
    match result {
        Ok(decision) => {
            let facts = || decision.facts.iter().map(|recorded| &recorded.fact);
            let weight = facts().find_map(|fact| match fact {
                Fact::Constraint(ConstraintFact::Violated { weight, .. }) => Some(*weight),
                Fact::Constraint(_)
                | Fact::Agent(_)
                | Fact::Tree(_)
                | Fact::Exemption(_)
                | Fact::Attempt(_)
                | Fact::Phase(_)
                | Fact::Claim(_)
                | Fact::Pipeline(_)
                | Fact::Trust(_)
                | Fact::Control(_)
                | Fact::Ledger(_)
                | Fact::Provider(_) => None,
            });
            let has_tripped = facts().any(|fact| matches!(fact, Fact::Constraint(ConstraintFact::Tripped { .. })));
            ActResult { word: decision.verdict.as_str(), weight, has_tripped }
        }
        Err(rejection) => ActResult { word: rejection_text(rejection), weight: None, has_tripped: false },
    }
}

fn rejection_text(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::NotFound { .. } => "not found",
        Rejection::InvalidTransition { from } => from.dashed(),
        Rejection::NoIncident => "no incident",
        Rejection::NotResumable => "not resumable",
        Rejection::NoOverride => "no override",
        Rejection::NoSlice => "no slice",
        Rejection::ScopeFrozen => "scope frozen",
        Rejection::SliceConflict { .. } => "slice conflict",
        Rejection::SliceFailing => "slice failing",
        Rejection::NoTest => "no test",
        Rejection::NoPhaseRun => "no phase run",
        Rejection::RunOver => "run over",
        Rejection::Claim(_) => "claims",
        Rejection::MissingContext => "missing context",
        Rejection::NothingToTrust => "nothing to trust",
    }
}

/// The verdict of `check` now.
pub fn check(world: &World) -> Option<Verdict> {
    let circuit = world.circuit()?;
    Some(haltline_core::constraint::check(&world.name(), circuit, world.clock.now()))
}
