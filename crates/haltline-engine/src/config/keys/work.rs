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
    switch("attempt.lock", true).help("Whether hooks refuse edits outside the scope of a slice under way."),
    Key::new("attempt.writers", Kind::List(WRITERS))
        .help("Tools that change the files they name, beside the clients' own editors; globs."),
    number("claim.circuit_breaker_rounds", 1, 100, 3, Looser::Higher)
        .help("This many review rounds on one objection that change nothing make a claim DISPUTED; more than 3 need a reason.")
        .sets(Setter::Number(|policy| &mut policy.claim.circuit_breaker_rounds)),
    Key::new("claim.circuit_breaker_rounds_reason", Kind::Text(""))
        .help("Why circuit_breaker_rounds is more than 3; without a reason 3 apply.")
        .sets(Setter::Text(|policy| &mut policy.claim.circuit_breaker_rounds_reason)),
    Key::new("claim.final_stage", Kind::Text("S5"))
        .help("The stage of a new pipeline that does not close while a claim is DISPUTED.")
        .sets(Setter::Text(|policy| &mut policy.claim.final_stage)),
    no_progress_limit("run.no_progress_threshold", 3, |policy| &mut policy.phase.run.no_progress),
    same_error_limit("run.same_error_threshold", 5, |policy| &mut policy.phase.run.same_error),
    number("run.neutral_max", 1, 10_000, 10, Looser::Higher)
        .help("This many iterations in a row that say nothing about progress end a loop: nobody answers its questions.")
        .sets(Setter::Number(|policy| &mut policy.phase.neutral)),
    number("run.grace_seconds", 0, 3_600, 10, Looser::Never)
        .help("How long a command may save its work before it is killed."),
    weight("run.progress.commits", 2, |policy| &mut policy.phase.weights.commits)
        .help("What commits made in the iteration weigh."),
    weight("run.progress.staged", 2, |policy| &mut policy.phase.weights.staged).help("What staged changes weigh."),
    weight("run.progress.unstaged", 2, |policy| &mut policy.phase.weights.unstaged)
        .help("What changes of tracked files weigh."),
    weight("run.progress.untracked", 2, |policy| &mut policy.phase.weights.untracked).help("What new files weigh."),
    weight("run.progress.repositories", 2, |policy| &mut policy.phase.weights.repositories)
        .help("What changes in repositories below weigh."),
    weight("run.progress.worktrees", 2, |policy| &mut policy.phase.weights.worktrees)
        .help("What changes in other worktrees weigh."),
    weight("run.progress.files", 2, |policy| &mut policy.phase.weights.files)
        .help("What changed files where there is no git weigh."),
    weight("run.progress.tests", 2, |policy| &mut policy.phase.weights.tests).help("What better test results weigh."),
    weight("run.progress.status", 1, |policy| &mut policy.phase.weights.status)
        .help("What the agent's own word in a status block weighs."),
    number("run.progress.enough", 1, 1_000, 2, Looser::Lower)
        .help("An iteration whose signs of progress weigh this much together made progress.")
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
        .help("This many iterations in a row without progress open the circuit.")
        .sets(Setter::Number(field))
}

/// After how many equal errors a phase's circuit opens.
const fn same_error_limit(name: &'static str, default: u32, field: NumberField) -> Key {
    number(name, 1, 1_000, default, Looser::Higher)
        .help("This many iterations in a row with the same error open the circuit.")
        .sets(Setter::Number(field))
}

/// The weight of one sign of progress.
const fn weight(name: &'static str, default: u32, field: NumberField) -> Key {
    number(name, 0, 1_000, default, Looser::Higher).sets(Setter::Number(field))
}
