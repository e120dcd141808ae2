//! The single entry point of the core: takes an event, returns facts and a verdict.

use crate::attempt;
use crate::claim;
use crate::constraint::{self, StateName};
use crate::control;
use crate::ledger;
use crate::loop_;
use crate::phase;
use crate::trust;
use crate::{CircuitName, Event, Fact, Halt, Instant, Memory, Mode, Moment, Policy, Texts, Verdict};

/// The facts to commit together, and what follows from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// In the order they became true.
    pub facts: Vec<Recorded>,
    /// haltline's answer to the caller, given only after the facts are committed.
    pub verdict: Verdict,
    /// Work to do after the commit.
    pub effects: Vec<Effect>,
    /// Messages for the person, each shown once.
    pub notices: Vec<String>,
}

/// A fact with its circuit and the time it became true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub circuit: CircuitName,
    /// When the fact became true, which may be earlier than the event that revealed it.
    pub at: Moment,
    pub fact: Fact,
    pub texts: Texts,
}

/// Work that follows a commit. Every effect can run twice without harm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Bring the mirror of the constraint files up to date.
    Mirror,
    /// Write a retired circuit into the archive file.
    Archive(CircuitName),
    /// Notify the person of a trip (E16).
    Notify { circuit: CircuitName, incident: String },
}

/// Why an event is not possible in the current state (C7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// There is neither an active constraint file nor a circuit, or the circuit is retired.
    NotFound {
        /// When the circuit was retired, if that is the reason.
        retired: Option<Instant>,
    },
    /// The circuit's state does not allow this transition.
    InvalidTransition {
        from: StateName,
    },
    NoIncident,
    /// The agent reached for haltline itself; no call may pass that.
    NotResumable,
    NoOverride,
    NoPhaseRun,
    RunOver,
    NoSlice,
    /// The slice is under way with another scope, and only a person may change the scope.
    ScopeFrozen,
    /// Another slice of the work tree holds files of the slice that would begin, and only a person may begin it.
    SliceConflict {
        by: CircuitName,
    },
    /// Tests of the slice fail, and only a person may give the slice up.
    SliceFailing,
    NoTest,
    Claim(claim::Problem),
    /// Nobody gathered what a call must not touch ([`loop_::CallContext`]); a bug of the caller.
    MissingContext,
    /// Nothing is waiting for the operator's trust.
    NothingToTrust,
}

/// Decides an event: the store commits the facts, then haltline runs the effects and answers. Pure: running it again with the same inputs gives the same result.
pub fn decide(memory: &Memory, policy: &Policy, event: &Event, now: Moment) -> Result<Decision, Halt> {
    let decision = evaluate(memory, policy, event, now)?;
    let verdict = apply_mode(decision.verdict, event, policy.mode);
    Ok(Decision { verdict, ..decision })
}

/// Decides an event without applying the mode, so the verdict is visible even where observe mode would hide it. A
/// replay uses this (X3).
pub fn evaluate(memory: &Memory, policy: &Policy, event: &Event, now: Moment) -> Result<Decision, Halt> {
    match event {
        Event::Constraint { id, session, file, event } => {
            let name = CircuitName::constraint(id);
            let circuit = memory.require(&name)?.and_then(|state| state.as_constraint());
            let request =
                constraint::ConstraintRequest { name, session: session.as_deref(), file: file.as_ref(), event };
            constraint::decide(circuit, policy, &request, now)
        }
        Event::Loop { agent, event, policy: digest, calendar } => {
            let calendar = calendar.as_ref();
            let request = loop_::LoopRequest { agent_ref: agent, event, policy_digest: digest, calendar };
            loop_::decide(memory, policy, &request, now)
        }
        Event::Circuits { row, verb, operator } => loop_::decide_verb(memory, row, verb, operator, now),
        Event::Revoke { incident, operator } => loop_::decide_revoke(memory, incident, operator, now),
        Event::Attempt { slice, session, case_sensitivity, others, event } => {
            let row = memory.require(slice)?;
            memory.require_all(others)?;
            let state = |name: &CircuitName| memory.state(name).and_then(|state| state.as_slice());
            let others: Vec<_> = others.iter().filter_map(|name| Some((name.clone(), state(name)?))).collect();
            let request = attempt::AttemptRequest {
                name: slice.clone(),
                session: session.as_deref(),
                case_sensitivity: *case_sensitivity,
                others: &others,
                event,
            };
            attempt::decide(row.and_then(|state| state.as_slice()), policy, &request, now)
        }
        Event::Phase { phase_run, session, bounds, event } => {
            let row = memory.require(phase_run)?;
            let request =
                phase::PhaseRequest { name: phase_run.clone(), session: session.as_deref(), bounds: *bounds, event };
            phase::decide(row.and_then(|state| state.as_phase_run()), policy, &request, now)
        }
        Event::Claim { pipeline, session, event } => {
            claim::decide(memory, policy, &claim::ClaimRequest { pipeline, session: session.as_deref(), event }, now)
        }
        Event::Trust(event) => {
            let row = memory.require(&CircuitName::trust())?;
            trust::decide(row.and_then(|state| state.as_trust()), event, now)
        }
        Event::Control(event) => {
            let row = memory.require(&CircuitName::control())?;
            Ok(control::decide(row.and_then(|state| state.as_control()), event, now))
        }
        Event::Ledger(event) => {
            memory.require(&event.row())?;
            Ok(ledger::decide(event, now))
        }
        Event::Provider(event) => loop_::provider::decide(memory, policy, event, now),
    }
}

/// Turns the verdict into what haltline actually answers in this mode.
fn apply_mode(verdict: Verdict, event: &Event, mode: Mode) -> Verdict {
    match (event, mode) {
        (_, Mode::Enforce) => verdict,
        // In observe mode haltline neither holds up nor warns the agent; the facts record what would have happened
        // (E15).
        (Event::Loop { event: loop_::LoopEvent::HooksRemoved { .. }, .. }, Mode::Observe) => verdict,
        (Event::Loop { .. }, Mode::Observe) => Verdict::Pass,
        // The verbs of claims change records. In observe mode they freeze none, but a denied verb has still not been
        // done.
        (Event::Claim { .. }, Mode::Observe) => verdict,
        (
            Event::Constraint { .. }
            | Event::Attempt { .. }
            | Event::Phase { .. }
            | Event::Circuits { .. }
            | Event::Revoke { .. }
            | Event::Trust(_)
            | Event::Control(_)
            | Event::Ledger(_)
            | Event::Provider(_),
            Mode::Observe,
        ) => mode.apply_to(verdict),
    }
}
