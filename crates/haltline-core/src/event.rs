//! What happened, in the words of the families.

use crate::attempt;
use crate::claim;
use crate::constraint;
use crate::loop_::{self, Stream, Verb};
use crate::phase;
use crate::trust;
use crate::{CircuitName, ConstraintId, constraint::Seen};

/// A fact of the outside world that asks for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something about a named constraint.
    Constraint {
        /// Which one.
        id: ConstraintId,
        /// The session it happened in, where there is one.
        session: Option<String>,
        /// What its file says now; `None` where there is no active file.
        seen: Option<Seen>,
        /// What happened.
        what: constraint::Happening,
    },
    /// Something an agent did.
    Loop {
        /// Whose doing.
        stream: Stream,
        /// What happened.
        what: loop_::Happening,
        /// The digest of the policy it is decided under.
        policy: String,
    },
    /// A person acts on the circuits of a session.
    Circuits {
        /// The row they are in.
        row: CircuitName,
        /// What is wanted.
        verb: Verb,
        /// Who.
        operator: Operator,
    },
    /// A person takes a false alarm back.
    Revoke {
        /// The trip it was about.
        incident: String,
        /// Who.
        operator: Operator,
    },
    /// Something about a slice.
    Attempt {
        /// Which.
        slice: CircuitName,
        /// The session it happened in, where there is one.
        session: Option<String>,
        /// Whether names that differ by capitals only are one file there.
        letters: attempt::Letters,
        /// What happened.
        what: attempt::Happening,
    },
    /// Something about a course of work.
    Phase {
        /// Which.
        course: CircuitName,
        /// The session it happened in, where there is one.
        session: Option<String>,
        /// Limits that take the place of the policy's.
        bounds: Option<phase::Bounds>,
        /// What happened.
        what: phase::Happening,
    },
    /// Something about claims under review.
    Claim {
        /// The pipeline they belong to.
        pipeline: claim::PipelineName,
        /// The session it happened in, where there is one.
        session: Option<String>,
        /// What happened.
        what: claim::Happening,
    },
    /// Something about what the project's own files may loosen.
    Trust(trust::Happening),
}

/// A person who acted, and what they said (E6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The account's name.
    pub who: String,
    /// Their reason, where they gave one.
    pub reason: Option<String>,
}

impl Event {
    /// The word the journal keeps as the cause of the facts that follow.
    pub fn cause(&self) -> &'static str {
        match self {
            Event::Constraint { what, .. } => what.cause(),
            Event::Loop { what, .. } => what.cause(),
            Event::Circuits { verb, .. } => verb.cause(),
            Event::Revoke { .. } => "revoke",
            Event::Attempt { what, .. } => what.cause(),
            Event::Phase { what, .. } => what.cause(),
            Event::Claim { what, .. } => what.cause(),
            Event::Trust(what) => what.cause(),
        }
    }
}
