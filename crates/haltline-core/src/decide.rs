//! The one door: an event comes in, facts and a verdict go out.

use crate::attempt;
use crate::claim;
use crate::constraint::{self, Condition};
use crate::loop_;
use crate::phase;
use crate::trust;
use crate::{CircuitName, Event, Fact, Instant, Memory, Mode, Moment, Policy, Texts, Verdict};

/// What a run of the decision came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These rows must be read first; the decision is then run again from the start.
    Needs(Vec<CircuitName>),
    /// Decided: commit the facts, then act and answer.
    Decided(Decision),
    /// The event cannot happen here. Nothing changes.
    Rejected(Rejection),
}

/// Facts to commit together, and what follows from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// In the order they became true.
    pub facts: Vec<Recorded>,
    /// The answer to the asker, once the facts are committed.
    pub verdict: Verdict,
    /// What is to be done after the commit.
    pub effects: Vec<Effect>,
    /// What the person is told, once.
    pub notices: Vec<String>,
}

/// A fact, of which circuit, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Whose.
    pub circuit: CircuitName,
    /// When it became true, which may lie before the event that showed it.
    pub at: Moment,
    /// What.
    pub fact: Fact,
    /// The texts that go with it.
    pub texts: Texts,
}

/// Work that follows a commit. Each can be done twice without harm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Bring the constraint files' mirror up to date.
    Mirror,
    /// Put a retired circuit into the archive file.
    Archive(CircuitName),
    /// Tell the person of a trip (E16).
    Notify {
        /// The circuit that tripped.
        circuit: CircuitName,
        /// The trip.
        incident: String,
    },
}

/// Why an event cannot happen here (C7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No active file and no circuit; or retired, and when.
    NotFound {
        /// When it was retired, if that is why.
        retired: Option<Instant>,
    },
    /// The state does not allow it.
    InvalidTransition {
        /// The state it is in.
        from: Condition,
    },
    /// No open circuit has this incident.
    NoIncident,
    /// There is no override to revoke.
    NoOverride,
    /// Nothing has begun in this course of work.
    NoCourse,
    /// The run is over.
    RunOver,
    /// Nothing has begun in this slice.
    NoSlice,
    /// The slice is under way with another scope, and only a person changes it.
    ScopeFrozen,
    /// Tests of the slice fail, and only a person gives it up.
    SliceFailing,
    /// The slice knows no such test.
    NoTest,
    /// Something about claims.
    Claim(claim::Problem),
    /// Nothing waits for the operator's trust.
    NothingToTrust,
}

/// Decides an event. Pure: run it again with the same inputs and it says the same.
pub fn decide(memory: &Memory, policy: &Policy, event: &Event, now: Moment) -> Step {
    temper(judge(memory, policy, event, now), event, policy.mode)
}

/// Decides an event, and says what it thinks even where the mode would keep it from saying so: a replay asks this (X3).
pub fn judge(memory: &Memory, policy: &Policy, event: &Event, now: Moment) -> Step {
    match event {
        Event::Constraint { id, session, seen, what } => {
            let name = CircuitName::constraint(id);
            let Some(row) = memory.row(&name) else { return Step::Needs(vec![name]) };
            let circuit = row.and_then(|state| state.as_constraint());
            let question = constraint::Question { name, session: session.as_deref(), seen: seen.as_ref(), what };
            constraint::decide(circuit, policy, &question, now)
        }
        Event::Loop { stream, what, policy: digest } => {
            loop_::decide(memory, policy, &loop_::Question { stream, what, policy: digest }, now)
        }
        Event::Circuits { row, verb, operator } => loop_::decide_verb(memory, row, verb, operator, now),
        Event::Revoke { incident, operator } => loop_::decide_revoke(memory, incident, operator, now),
        Event::Attempt { slice, session, letters, what } => {
            let Some(row) = memory.row(slice) else { return Step::Needs(vec![slice.clone()]) };
            let question =
                attempt::Question { name: slice.clone(), session: session.as_deref(), letters: *letters, what };
            attempt::decide(row.and_then(|state| state.as_slice()), policy, &question, now)
        }
        Event::Phase { course, session, bounds, what } => {
            let Some(row) = memory.row(course) else { return Step::Needs(vec![course.clone()]) };
            let question = phase::Question { name: course.clone(), session: session.as_deref(), bounds: *bounds, what };
            phase::decide(row.and_then(|state| state.as_course()), policy, &question, now)
        }
        Event::Claim { pipeline, session, what } => {
            claim::decide(memory, policy, &claim::Question { pipeline, session: session.as_deref(), what }, now)
        }
        Event::Trust(what) => {
            let name = CircuitName::trust();
            let Some(row) = memory.row(&name) else { return Step::Needs(vec![name]) };
            trust::decide(row.and_then(|state| state.as_trust()), what, now)
        }
    }
}

/// What is told of a judgement in this mode.
fn temper(step: Step, event: &Event, mode: Mode) -> Step {
    let Step::Decided(decision) = step else { return step };
    let verdict = match (event, mode) {
        (_, Mode::Enforce) => decision.verdict,
        // Nobody is held up, and nobody is told: it is written down what would have been (E15).
        (Event::Loop { .. }, Mode::Observe) => Verdict::Pass,
        // Its verbs change records. In observe mode they freeze none; what they refuse they have not done.
        (Event::Claim { .. }, Mode::Observe) => decision.verdict,
        (
            Event::Constraint { .. }
            | Event::Attempt { .. }
            | Event::Phase { .. }
            | Event::Circuits { .. }
            | Event::Revoke { .. }
            | Event::Trust(_),
            Mode::Observe,
        ) => mode.temper(decision.verdict),
    };
    Step::Decided(Decision { verdict, ..decision })
}
