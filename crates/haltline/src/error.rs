//! Why a command ended without doing its work: one line, with what to do next.

use std::fmt;
use std::process::ExitCode;

use haltline_core::constraint::Condition;
use haltline_core::{ConstraintId, Rejection, shorten};
use haltline_engine::EngineError;
use haltline_engine::store::StoreError;

use crate::exit_code;

/// A command's failure.
#[derive(Debug)]
pub enum Failure {
    /// The input makes no sense, or the world said no.
    Plain(String),
    /// The same, where 1 would say something else (Ralph's exit codes).
    Usage(String),
    /// An operator verb where no operator is (E6).
    NotOperator(String),
    /// Refused until a person decides.
    Refused(String),
    /// The store failed while a decision was asked for, and `fail = "closed"` (E7).
    Closed(String),
    /// The reader of our output went away; nobody is left to complain to.
    Silent,
}

impl Failure {
    /// What the process ends with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Plain(_) => exit_code::ERROR,
            Failure::Usage(_) => exit_code::usage(),
            Failure::NotOperator(_) | Failure::Refused(_) | Failure::Closed(_) => exit_code::refused(),
            Failure::Silent => exit_code::FINE,
        }
    }

    /// An engine's refusal of something about an incident.
    pub fn of_incident(incident: &str, error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(_no_incident) => Failure::Plain(format!(
                "incident {}: no circuit of a session here is open with it; `haltline why {}` tells how it ended, `haltline why` shows the newest",
                shorten(incident),
                incident.escape_default()
            )),
        }
    }

    /// An engine's refusal of something about a course of work.
    pub fn of_course(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(Rejection::RunOver) => Failure::Refused(
                "this run is over; `haltline phase status` tells how, `haltline phase begin PHASE` starts another (after an abort with --new-run, by a person)"
                    .to_owned(),
            ),
            EngineError::Rejected(_nothing_begun) => Failure::Plain(crate::commands::NOTHING_BEGUN.to_owned()),
        }
    }

    /// An engine's refusal of something about a slice.
    pub fn of_slice(slice: &str, error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(Rejection::ScopeFrozen) => Failure::Refused(format!(
                "slice {slice} is under way with another scope, which was fixed when it began; a person may change it: give --reason outside an agent"
            )),
            EngineError::Rejected(Rejection::SliceFailing) => Failure::Refused(format!(
                "slice {slice} has failing tests or is OPEN; make them pass, or a person gives it up: haltline attempt end --slice {slice} --give-up"
            )),
            EngineError::Rejected(Rejection::NoTest) => Failure::Plain(format!(
                "slice {slice} knows no such test; `haltline attempt status --slice {slice}` lists those it knows"
            )),
            EngineError::Rejected(_not_begun) => Failure::Plain(format!(
                "slice {slice} is not under way; `haltline attempt begin --slice {slice}` begins it"
            )),
        }
    }

    /// An engine's refusal of something about claims.
    pub fn of_claim(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(Rejection::Claim(problem)) => Failure::Plain(problem.to_string()),
            EngineError::Rejected(other) => Failure::Plain(format!("rejected: {other:?}")),
        }
    }

    /// An engine's refusal, in the seed's words (C7).
    pub fn of_constraint(id: &ConstraintId, error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(rejection) => Failure::Plain(match rejection {
                Rejection::NotFound { retired: None } => format!(
                    "Constraint not found: {id} (no active file {id}.md and no circuit; `haltline constraint status --all` lists what there is)"
                ),
                Rejection::NotFound { retired: Some(at) } => {
                    format!("Constraint not found: {id} (retired {})", at.to_date_text())
                }
                Rejection::InvalidTransition { from } => {
                    format!("Invalid transition from {}{}", from.dashed(), transition_hint(id, from))
                }
                Rejection::NoIncident => format!("{id} has no such incident"),
                Rejection::NoOverride => format!("{id} has no override to revoke"),
                Rejection::NoCourse | Rejection::RunOver => format!("{id} is no course of work"),
                Rejection::NoSlice | Rejection::ScopeFrozen | Rejection::SliceFailing | Rejection::NoTest => {
                    format!("{id} is no slice")
                }
                Rejection::Claim(problem) => problem.to_string(),
                Rejection::NothingToTrust => format!("{id} has nothing that waits for trust"),
            }),
        }
    }
}

fn transition_hint(id: &ConstraintId, from: Condition) -> String {
    match from {
        Condition::Open => format!(" (wait for the cooldown, or a person runs `haltline constraint reset {id}`)"),
        Condition::Closed | Condition::HalfOpen => {
            " (an override is for an OPEN circuit; nothing is refused now)".to_owned()
        }
        Condition::Retired => String::new(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Plain(text)
            | Failure::Usage(text)
            | Failure::NotOperator(text)
            | Failure::Refused(text)
            | Failure::Closed(text) => formatter.write_str(text),
            Failure::Silent => Ok(()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Plain(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Silent,
            _other => Failure::Plain(error.to_string()),
        }
    }
}
