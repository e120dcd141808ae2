//! Keys of the phase, attempt and claim breakers, and of `haltline run`.

use super::{no_progress_limit, number, same_error_limit, text, weight};
use crate::config::key::{Key, Kind, Looser, Scope};
use crate::config::setter::Setter;

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
    Key {
        name: "attempt.lock",
        kind: Kind::Flag(true),
        scope: Scope::Project,
        looser: Looser::Off,
        help: "Whether hooks refuse edits outside the scope of a slice under way.",
        setter: Setter::None,
    },
    Key {
        name: "attempt.writers",
        kind: Kind::List(&[
            "mcp__*__*write*",
            "mcp__*__*edit*",
            "mcp__*__*replace*",
            "mcp__*__*insert*",
            "mcp__*__*delete*",
            "mcp__*__*move*",
            "mcp__*__*rename*",
            "mcp__*__*create*file*",
        ]),
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "Tools that change the files they name, beside the clients' own editors; globs.",
        setter: Setter::None,
    },
    number(
        "claim.circuit_breaker_rounds",
        1,
        100,
        3,
        Looser::Higher,
        "This many review rounds on one objection that change nothing make a claim DISPUTED; more than 3 need a reason.",
        Setter::Number(|policy| &mut policy.claim.circuit_breaker_rounds),
    ),
    text(
        "claim.circuit_breaker_rounds_reason",
        "",
        "Why circuit_breaker_rounds is more than 3; without a reason 3 apply.",
        Setter::Text(|policy| &mut policy.claim.circuit_breaker_rounds_reason),
    ),
    text(
        "claim.final_stage",
        "S5",
        "The stage of a new pipeline that does not close while a claim is DISPUTED.",
        Setter::Text(|policy| &mut policy.claim.final_stage),
    ),
    no_progress_limit("run.no_progress_threshold", 3, |policy| &mut policy.phase.run.no_progress),
    same_error_limit("run.same_error_threshold", 5, |policy| &mut policy.phase.run.same_error),
    number(
        "run.neutral_max",
        1,
        10_000,
        10,
        Looser::Higher,
        "This many iterations in a row that say nothing about progress end a loop: nobody answers its questions.",
        Setter::Number(|policy| &mut policy.phase.neutral),
    ),
    number(
        "run.grace_seconds",
        0,
        3_600,
        10,
        Looser::Never,
        "How long a command may save its work before it is killed.",
        Setter::None,
    ),
    weight("run.progress.commits", 2, "What commits made in the iteration weigh.", |policy| {
        &mut policy.phase.weights.commits
    }),
    weight("run.progress.staged", 2, "What staged changes weigh.", |policy| &mut policy.phase.weights.staged),
    weight("run.progress.unstaged", 2, "What changes of tracked files weigh.", |policy| {
        &mut policy.phase.weights.unstaged
    }),
    weight("run.progress.untracked", 2, "What new files weigh.", |policy| &mut policy.phase.weights.untracked),
    weight("run.progress.repositories", 2, "What changes in repositories below weigh.", |policy| {
        &mut policy.phase.weights.repositories
    }),
    weight("run.progress.worktrees", 2, "What changes in other worktrees weigh.", |policy| {
        &mut policy.phase.weights.worktrees
    }),
    weight("run.progress.files", 2, "What changed files where there is no git weigh.", |policy| {
        &mut policy.phase.weights.files
    }),
    weight("run.progress.tests", 2, "What better test results weigh.", |policy| &mut policy.phase.weights.tests),
    weight("run.progress.status", 1, "What the agent's own word in a status block weighs.", |policy| {
        &mut policy.phase.weights.status
    }),
    number(
        "run.progress.enough",
        1,
        1_000,
        2,
        Looser::Lower,
        "An iteration whose signs of progress weigh this much together made progress.",
        Setter::Number(|policy| &mut policy.phase.weights.enough),
    ),
];
