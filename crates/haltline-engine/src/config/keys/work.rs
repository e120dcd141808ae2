//! Keys of the phase, attempt and claim breakers, and of `haltline run`.

use haltline_core::Policy;

use super::{number, switch};
use crate::config::key::{Key, Kind, Looser};
use crate::config::setter::Setter;

type NumberField = fn(&mut Policy) -> &mut u32;

pub(super) const KEYS: &[Key] = &[
    no_progress_limit("phase.red.no_progress_threshold", 3, |policy| &mut policy.phase.red.no_progress),
    same_error_limit("phase.red.same_error_threshold", 5, |policy| &mut policy.phase.red.same_error),
    no_progress_limit("phase.green.no_progress_threshold", 2, |policy| &mut policy.phase.green.no_progress),
    same_error_limit("phase.green.same_error_threshold", 3, |policy| &mut policy.phase.green.same_error),
    no_progress_limit("phase.refactor.no_progress_threshold", 5, |policy| &mut policy.phase.refactor.no_progress),
    same_error_limit("phase.refactor.same_error_threshold", 5, |policy| &mut policy.phase.refactor.same_error),
    no_progress_limit("phase.document.no_progress_threshold", 3, |policy| &mut policy.phase.document.no_progress),
    same_error_limit("phase.document.same_error_threshold", 5, |policy| &mut policy.phase.document.same_error),
    no_progress_limit("phase.qa.no_progress_threshold", 3, |policy| &mut policy.phase.qa.no_progress),
    same_error_limit("phase.qa.same_error_threshold", 3, |policy| &mut policy.phase.qa.same_error),
    no_progress_limit("phase.other.no_progress_threshold", 3, |policy| &mut policy.phase.other.no_progress),
    same_error_limit("phase.other.same_error_threshold", 5, |policy| &mut policy.phase.other.same_error),
    switch("attempt.lock", true).help("Denies edits outside the scope of the current slice."),
    Key::new("attempt.writers", Kind::List(WRITERS))
        .help("Globs of tools that change the files they name, in addition to the clients' own editors."),
    number("claim.circuit_breaker_rounds", 1, 100, 3, Looser::Higher)
        .help("A claim becomes DISPUTED after this many review rounds on one objection that change nothing. A value above 3 needs a reason.")
        .sets(Setter::Number(|policy| &mut policy.claim.circuit_breaker_rounds)),
    Key::new("claim.circuit_breaker_rounds_reason", Kind::Text(""))
        .help("The reason for circuit_breaker_rounds above 3. Without a reason 3 applies.")
        .sets(Setter::Text(|policy| &mut policy.claim.circuit_breaker_rounds_reason)),
    number("claim.rounds_max", 0, 1000, 8, Looser::HigherOrZero)
        .help("A claim becomes DISPUTED after this many review rounds, whatever the objections were; 0 means no ceiling.")
        .sets(Setter::Number(|policy| &mut policy.claim.rounds_max)),
    Key::new("claim.final_stage", Kind::Text("S5"))
        .help("The stage that nobody can close while a claim is DISPUTED. A change applies to pipelines that begin later.")
        .sets(Setter::Text(|policy| &mut policy.claim.final_stage)),
    no_progress_limit("run.no_progress_threshold", 3, |policy| &mut policy.phase.run.no_progress),
    same_error_limit("run.same_error_threshold", 5, |policy| &mut policy.phase.run.same_error),
    number("run.neutral_max", 1, 10_000, 10, Looser::Higher)
        .help("The circuit trips at this many neutral iterations in a row, such as questions that nobody answers.")
        .sets(Setter::Number(|policy| &mut policy.phase.neutral)),
    number("run.grace_seconds", 0, 3_600, 10, Looser::Never)
        .help("Seconds that a command has to save its work before haltline kills it."),
    weight("run.progress.commits", 2, |policy| &mut policy.phase.weights.commits)
        .help("Weight of new commits."),
    weight("run.progress.staged", 2, |policy| &mut policy.phase.weights.staged).help("Weight of staged changes."),
    weight("run.progress.unstaged", 2, |policy| &mut policy.phase.weights.unstaged)
        .help("Weight of changes to tracked files."),
    weight("run.progress.untracked", 2, |policy| &mut policy.phase.weights.untracked).help("Weight of new files."),
    weight("run.progress.repositories", 2, |policy| &mut policy.phase.weights.repositories)
        .help("Weight of changes in nested repositories."),
    weight("run.progress.worktrees", 2, |policy| &mut policy.phase.weights.worktrees)
        .help("Weight of changes in other work trees."),
    weight("run.progress.files", 2, |policy| &mut policy.phase.weights.files)
        .help("Weight of changed files where there is no git repository."),
    weight("run.progress.tests", 2, |policy| &mut policy.phase.weights.tests).help("Weight of more passing or fewer failing tests."),
    weight("run.progress.status", 1, |policy| &mut policy.phase.weights.status)
        .help("Weight of progress that the agent reports in a status block."),
    number("run.progress.enough", 1, 1_000, 2, Looser::Lower)
        .help("An iteration makes progress if the weights of its signs of progress add up to at least this number.")
        .sets(Setter::Number(|policy| &mut policy.phase.weights.enough)),
];

const WRITERS: &[&str] = &[
    "mcp__*__*write*",
    "mcp__*__*edit*",
    "mcp__*__*replace*",
    "mcp__*__*insert*",
    "mcp__*__*delete*",
    "mcp__*__*move*",
    "mcp__*__*rename*",
    "mcp__*__*create*file*",
];

/// After how many iterations without progress a phase's circuit opens.
const fn no_progress_limit(name: &'static str, default: u32, field: NumberField) -> Key {
    number(name, 1, 1_000, default, Looser::Higher)
        .help("The circuit trips at this many iterations in a row without progress.")
        .sets(Setter::Number(field))
}

/// After how many equal errors a phase's circuit opens.
const fn same_error_limit(name: &'static str, default: u32, field: NumberField) -> Key {
    number(name, 1, 1_000, default, Looser::Higher)
        .help("The circuit trips at this many iterations in a row with the same error.")
        .sets(Setter::Number(field))
}

/// The weight of one sign of progress.
const fn weight(name: &'static str, default: u32, field: NumberField) -> Key {
    number(name, 0, 1_000, default, Looser::Higher).sets(Setter::Number(field))
}
