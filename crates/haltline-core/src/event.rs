//! The input of a decision: what happened, one variant per breaker or kind of operator action.

mod texts;

use crate::attempt;
use crate::claim;
use crate::constraint;
use crate::control;
use crate::ledger::{Calendar, LedgerEvent};
use crate::loop_::{self, AgentRef, Verb};
use crate::phase;
use crate::trust;
use crate::{CircuitName, ConstraintId, constraint::RuleFile};

/// Something that happened outside and needs a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Constraint {
        id: ConstraintId,
        /// The session in which it happened, if any.
        session: Option<String>,
        /// The constraint's file as it is now; `None` if there is no active file.
        file: Option<RuleFile>,
        event: constraint::ConstraintEvent,
    },
    /// An agent did something.
    Loop {
        agent: AgentRef,
        event: loop_::LoopEvent,
        /// The digest of the policy that applies to this decision.
        policy: String,
        /// The local day, night and week; `None` unless budgets need them.
        calendar: Option<Calendar>,
    },
    /// A person acts on the circuits of a session.
    Circuits {
        /// The row that holds the circuits.
        row: CircuitName,
        /// What the person wants done.
        verb: Verb,
        operator: Operator,
    },
    /// A person revokes an earlier false-positive decision.
    Revoke {
        /// The incident that had been declared a false positive.
        incident: String,
        operator: Operator,
    },
    Attempt {
        slice: CircuitName,
        /// The session in which it happened, if any.
        session: Option<String>,
        /// Whether names that differ only in case are one file there.
        case_sensitivity: attempt::CaseSensitivity,
        /// The other slices of the work tree, for an event that may begin this one.
        others: Vec<CircuitName>,
        event: attempt::AttemptEvent,
    },
    Phase {
        phase_run: CircuitName,
        /// The session in which it happened, if any.
        session: Option<String>,
        /// Limits that replace those of the policy.
        bounds: Option<phase::Bounds>,
        event: phase::PhaseEvent,
    },
    /// Concerns claims under review.
    Claim {
        /// The pipeline to which the claims belong.
        pipeline: claim::PipelineName,
        /// The session in which it happened, if any.
        session: Option<String>,
        event: claim::ClaimEvent,
    },
    /// Concerns what the project's own files are allowed to loosen.
    Trust(trust::TrustEvent),
    /// Concerns what a person switches for the project or for everything.
    Control(control::ControlEvent),
    /// Concerns a budget that many agents share.
    Ledger(LedgerEvent),
    /// Concerns the circuits of a model service; from a program that starts agents.
    Provider(loop_::ProviderEvent),
}

/// A person who acted, with the reason they gave (E6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The name of the person's account.
    pub who: String,
    /// The person's reason, if they gave one.
    pub reason: Option<String>,
}

impl Event {
    /// The stable text that the journal keeps as the cause of the resulting facts.
    pub fn cause(&self) -> &'static str {
        match self {
            Event::Constraint { event, .. } => event.cause(),
            Event::Loop { event, .. } => event.cause(),
            Event::Circuits { verb, .. } => verb.cause(),
            Event::Revoke { .. } => "revoke",
            Event::Attempt { event, .. } => event.cause(),
            Event::Phase { event, .. } => event.cause(),
            Event::Claim { event, .. } => event.cause(),
            Event::Trust(event) => event.cause(),
            Event::Control(event) => event.cause(),
            Event::Ledger(event) => event.cause(),
            Event::Provider(event) => event.cause(),
        }
    }
}
