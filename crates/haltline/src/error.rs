//! Why a command failed: one message that also says what to do next, and the exit code.

use std::fmt;
use std::process::ExitCode;

use haltline_core::constraint::StateName;
use haltline_core::{ConstraintId, Rejection, shorten};
use haltline_engine::EngineError;
use haltline_engine::store::StoreError;

use crate::exit_code;

#[derive(Debug)]
pub enum Failure {
    /// The input is invalid, or something outside haltline failed.
    Plain(String),
    /// Like [`Failure::Plain`], but exits with 2, for commands in which 1 has another meaning (Ralph's exit codes).
    Usage(String),
    /// The store failed.
    Store(String),
    /// An operator action was called where no operator is present (E6).
    NotOperator(String),
    /// Denied until a person decides.
    Denied(String),
    /// The store failed while a decision was needed, and `fail = "closed"` is set (E7).
    Closed(String),
    /// The reader of our output closed the pipe, so no message can be shown.
    Silent,
}

impl Failure {
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Plain(_) | Failure::Store(_) => exit_code::ERROR,
            Failure::Usage(_) => exit_code::usage(),
            Failure::NotOperator(_) | Failure::Denied(_) | Failure::Closed(_) => exit_code::denied(),
            Failure::Silent => exit_code::SUCCESS,
        }
    }

    /// The kind of failure in JSON, a stable name.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Plain(_) => "error",
            Failure::Usage(_) => "usage",
            Failure::Store(_) | Failure::Closed(_) => "store",
            Failure::NotOperator(_) => "operator_only",
            Failure::Denied(_) => "denied",
            Failure::Silent => "silent",
        }
    }

    /// What helps with every failure of this kind, if anything does.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Failure::Usage(_) => Some("haltline help COMMAND"),
            Failure::Store(_) | Failure::Closed(_) => Some("haltline doctor"),
            Failure::NotOperator(_) => Some("a person runs it in their own terminal"),
            Failure::Denied(_) => Some("haltline why"),
            Failure::Plain(_) | Failure::Silent => None,
        }
    }

    /// A failure with the message of an error that says enough by itself.
    pub fn plain(error: impl fmt::Display) -> Self {
        Failure::Plain(error.to_string())
    }

    /// Converts an engine error about an incident.
    pub fn for_incident(incident: &str, error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(Rejection::NotResumable) => Failure::Plain(format!(
                "incident {}: the agent tried to change haltline itself, and haltline never allows that; if you want the change, run the command yourself",
                shorten(incident)
            )),
            EngineError::Rejected(_no_incident) => Failure::Plain(format!(
                "incident {} has ended; `haltline why {}` shows how",
                shorten(incident),
                incident.escape_default()
            )),
        }
    }

    /// Converts an engine error about a pause or the configuration.
    pub fn for_control(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(rejection) => Failure::Plain(describe_rejection(&rejection)),
        }
    }

    /// Converts an engine error about a phase run.
    pub fn for_phase_run(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(Rejection::RunOver) => Failure::Denied(
                "this run has ended; `haltline phase status` shows how, `haltline phase begin PHASE` starts another (after an abort a person adds --new-run)"
                    .to_owned(),
            ),
            EngineError::Rejected(_nothing_begun) => Failure::no_phase_begun(),
        }
    }

    /// The failure where no phase has begun.
    pub fn no_phase_begun() -> Self {
        Failure::Plain("no phase has begun here; start one: haltline phase begin PHASE".to_owned())
    }

    /// Converts a failing store into a denial, for commands that ask for permission where the user set
    /// `fail = "closed"` (E7). Any other failure stays what it is.
    pub fn closed(self) -> Self {
        match self {
            Failure::Store(text) => Failure::Closed(text),
            other @ (Failure::Plain(_)
            | Failure::Usage(_)
            | Failure::NotOperator(_)
            | Failure::Denied(_)
            | Failure::Closed(_)
            | Failure::Silent) => other,
        }
    }

    /// Converts an engine error about a slice.
    pub fn for_slice(slice: &str, error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(Rejection::ScopeFrozen) => Failure::Denied(format!(
                "slice {slice} began with another scope; a person can change it outside an agent with --reason TEXT"
            )),
            EngineError::Rejected(Rejection::SliceConflict { by }) => {
                let by = by.scope().split('@').next().unwrap_or_default();
                Failure::Denied(format!(
                    "slice {slice} cannot begin: slice {by} is in progress, and {slice} would work on the same files or on \
                     more than {by} may change. Finish {by} first (haltline attempt status --slice {by}), or a person begins \
                     {slice} outside an agent: haltline attempt begin --slice {slice} --reason TEXT"
                ))
            }
            EngineError::Rejected(Rejection::SliceFailing) => Failure::Denied(format!(
                "slice {slice} has failing tests or is OPEN; make the tests pass, or a person gives it up: haltline attempt end --slice {slice} --give-up"
            )),
            EngineError::Rejected(Rejection::NoTest) => Failure::Plain(format!(
                "slice {slice} has no such test; list its tests: haltline attempt status --slice {slice}"
            )),
            EngineError::Rejected(_not_begun) => {
                Failure::Plain(format!("slice {slice} has not begun; begin it: haltline attempt begin --slice {slice}"))
            }
        }
    }

    /// Converts an engine error about claims.
    pub fn for_claim(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(Rejection::Claim(problem)) => Failure::Plain(problem.to_string()),
            EngineError::Rejected(other) => Failure::Plain(format!("rejected: {}", describe_rejection(&other))),
        }
    }

    /// Converts an engine error about a constraint, with the messages that the seed prescribes (C7).
    pub fn for_constraint(id: &ConstraintId, error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Rejected(rejection) => Failure::Plain(match rejection {
                Rejection::NotFound { retired: None } => format!(
                    "Constraint not found: {id} (there is no active file {id}.md and no circuit; list all: haltline constraint status --all)"
                ),
                Rejection::NotFound { retired: Some(at) } => {
                    format!("Constraint not found: {id} (retired {})", at.to_date_text())
                }
                Rejection::InvalidTransition { from } => {
                    format!("Invalid transition from {}{}", from.dashed(), transition_hint(id, from))
                }
                Rejection::NoIncident | Rejection::NotResumable => format!("{id} has no such incident"),
                Rejection::NoOverride => format!("{id} has no override to revoke"),
                Rejection::NoPhaseRun | Rejection::RunOver => format!("{id} is not a phase run"),
                Rejection::NoSlice
                | Rejection::ScopeFrozen
                | Rejection::SliceConflict { .. }
                | Rejection::SliceFailing
                | Rejection::NoTest => format!("{id} is not a slice"),
                Rejection::Claim(problem) => problem.to_string(),
                Rejection::MissingContext => describe_rejection(&rejection),
                Rejection::NothingToTrust => format!("no setting of {id} waits for `haltline trust`"),
            }),
        }
    }
}

/// Says why the core rejected an event, where the command has no message of its own.
pub fn describe_rejection(rejection: &Rejection) -> String {
    match rejection {
        Rejection::NotFound { retired: None } => "there is no such constraint".to_owned(),
        Rejection::NotFound { retired: Some(at) } => format!("the constraint was retired {}", at.to_date_text()),
        Rejection::InvalidTransition { from } => format!("the circuit is {}, which does not allow it", from.dashed()),
        Rejection::NoIncident => "no open circuit has this incident".to_owned(),
        Rejection::NotResumable => {
            "the agent tried to change haltline itself, and haltline never allows that".to_owned()
        }
        Rejection::NoOverride => "there is no override to revoke".to_owned(),
        Rejection::NoPhaseRun => "no phase has begun".to_owned(),
        Rejection::RunOver => "the phase run has ended".to_owned(),
        Rejection::NoSlice => "the slice has not begun".to_owned(),
        Rejection::ScopeFrozen => "the slice began with another scope".to_owned(),
        Rejection::SliceConflict { by } => {
            format!("slice {} holds the files of this slice, and only a person may begin it", by.scope())
        }
        Rejection::SliceFailing => "tests of the slice fail".to_owned(),
        Rejection::NoTest => "the slice has no such test".to_owned(),
        Rejection::Claim(problem) => problem.to_string(),
        Rejection::MissingContext => "a call arrived without its context; this is a bug in haltline".to_owned(),
        Rejection::NothingToTrust => "no setting waits for `haltline trust`".to_owned(),
    }
}

fn transition_hint(id: &ConstraintId, from: StateName) -> String {
    match from {
        StateName::Open => format!(" (wait for the cooldown, or a person runs `haltline constraint reset {id}`)"),
        StateName::Closed | StateName::HalfOpen => {
            " (only an OPEN circuit needs an override; haltline allows the action now)".to_owned()
        }
        StateName::Retired => String::new(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Plain(text)
            | Failure::Usage(text)
            | Failure::Store(text)
            | Failure::NotOperator(text)
            | Failure::Denied(text)
            | Failure::Closed(text) => formatter.write_str(text),
            Failure::Silent => Ok(()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Store(error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failing_store_becomes_a_denial() {
        let id = ConstraintId::parse("rule").expect("a plain name");
        let store = || StoreError::Busy { path: "state.db".into(), waited_ms: 1, is_stalled: false, holder: None };
        assert!(matches!(Failure::from(store()).closed(), Failure::Closed(_)));
        assert!(matches!(Failure::for_constraint(&id, store().into()).closed(), Failure::Closed(_)));
        for rejection in [Rejection::NotFound { retired: None }, Rejection::NoOverride] {
            let failure = Failure::for_constraint(&id, EngineError::Rejected(rejection));
            assert!(matches!(failure.closed(), Failure::Plain(_)));
        }
    }

    #[test]
    fn a_rejection_is_never_shown_by_its_name_in_the_code() {
        let failure = Failure::for_claim(EngineError::Rejected(Rejection::NoPhaseRun));
        assert_eq!(failure.to_string(), "rejected: no phase has begun");
    }
}
