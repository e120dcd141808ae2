//! The keys there are, in the order of the reference.

use haltline_core::constraint::Limits;

use super::key::{Key, Kind, Looser, Scope};

/// All keys, in the order of the reference.
pub static KEYS: &[Key] = &[
    Key {
        name: "mode",
        kind: Kind::Choice(&["enforce", "observe"]),
        scope: Scope::Project,
        looser: Looser::Word("observe"),
        help: "Whether open circuits refuse, or only write down what they would have refused.",
    },
    Key {
        name: "fail",
        kind: Kind::Choice(&["open", "closed"]),
        scope: Scope::Project,
        looser: Looser::Word("open"),
        help: "What happens when haltline itself fails: the agent goes on, or is refused.",
    },
    Key {
        name: "prices",
        kind: Kind::Prices,
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "What models cost; the model is a glob, the first that fits counts, and one nobody priced is unknown.",
    },
    Key {
        name: "operator.unattended",
        kind: Kind::Flag(false),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "Whether operator verbs run without a terminal. Inside an agent they never do.",
    },
    Key {
        name: "retention.state_mb",
        kind: Kind::Number { low: 4, high: 65_536, default: 64 },
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "The state folder stays under this many megabytes; the oldest facts are folded together.",
    },
    Key {
        name: "retention.journal_days",
        kind: Kind::Number { low: 31, high: 36_500, default: 400 },
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "Facts older than this many days are folded together; totals stay exact.",
    },
    Key {
        name: "notify.command",
        kind: Kind::List(&[]),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "A program and its arguments, started once per trip with the incident as JSON on its input.",
    },
    Key {
        name: "notify.webhook",
        kind: Kind::Text(""),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "An http or https address that gets the incident as a JSON POST, once per trip.",
    },
    limit(
        "constraint.violation_threshold",
        0,
        5,
        Looser::Higher,
        "This many counted violations within the window trip a constraint's circuit.",
    ),
    limit("constraint.window_days", 1, 30, Looser::Lower, "The rolling window in which violations count, in days."),
    limit("constraint.cooldown_hours", 2, 24, Looser::Lower, "How long a tripped circuit stays OPEN, in hours."),
    limit(
        "constraint.dedup_seconds",
        3,
        300,
        Looser::Higher,
        "Violations this soon after a counted one do not count again, in seconds.",
    ),
    Key {
        name: "constraint.directory",
        kind: Kind::Text("docs/constraints"),
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "Where the constraint files stand, below the project's root.",
    },
    Key {
        name: "constraint.mirror",
        kind: Kind::Flag(true),
        scope: Scope::Project,
        looser: Looser::Never,
        help: "Whether `.circuit-state.json` in that folder is kept in step with the store.",
    },
    Key {
        name: "loop.preset",
        kind: Kind::Choice(&["default", "literal"]),
        scope: Scope::Project,
        looser: Looser::Word("default"),
        help: "Whose idea of the same call counts: tool, arguments and answer; or, literally, the tool's name, and every limit refuses.",
    },
    list("loop.pollers", &[], "Tools or commands that ask again by nature; globs. They do not count as repeats."),
    number(
        "loop.probe_lease_seconds",
        10,
        86_400,
        600,
        Looser::Lower,
        "A probe without a result frees its place after this many seconds.",
    ),
    switch(
        "loop.interrupt",
        "Whether `codex exec` and `copilot -p`, which no answer of a hook stops, are interrupted when a loop goes on after a refusal.",
    ),
    switch(
        "loop.hook_recursion.enabled",
        "Whether hooks that start hooks, and Stop hooks that keep the agent going, are watched.",
    ),
    number("loop.hook_recursion.threshold", 1, 10_000, 5, Looser::Higher, "This many open the circuit."),
    number(
        "loop.hook_recursion.window_turns",
        1,
        10_000,
        10,
        Looser::Lower,
        "How many turns back they count, the present one included.",
    ),
    cooled("loop.hook_recursion.cooldown_base_seconds", 5),
    switch("loop.tool_failure.enabled", "Whether a call that fails again and again is watched."),
    number("loop.tool_failure.threshold", 1, 10_000, 3, Looser::Higher, "This many failures open the circuit."),
    number(
        "loop.tool_failure.window_turns",
        1,
        10_000,
        5,
        Looser::Lower,
        "How many turns back they count, the present one included.",
    ),
    cooled("loop.tool_failure.cooldown_base_seconds", 10),
    switch("loop.sequential_tools.enabled", "Whether the same call in a row is watched."),
    number(
        "loop.sequential_tools.threshold",
        1,
        10_000,
        10,
        Looser::Higher,
        "This many in a row since the last prompt open the circuit.",
    ),
    number(
        "loop.sequential_tools.window_turns",
        1,
        10_000,
        1,
        Looser::Lower,
        "How many turns back they count, the present one included.",
    ),
    cooled("loop.sequential_tools.cooldown_base_seconds", 5),
    switch("loop.agent_spawn.enabled", "Whether the rate of new sub-agents is watched."),
    number("loop.agent_spawn.threshold", 1, 10_000, 5, Looser::Higher, "This many new sub-agents open the circuit."),
    number(
        "loop.agent_spawn.window_turns",
        1,
        10_000,
        10,
        Looser::Lower,
        "How many turns back they count, the present one included.",
    ),
    cooled("loop.agent_spawn.cooldown_base_seconds", 10),
    switch("loop.external_api.enabled", "Whether calls of external services are watched."),
    number("loop.external_api.threshold", 1, 10_000, 10, Looser::Higher, "This many calls open the circuit."),
    number("loop.external_api.window_seconds", 1, 86_400, 60, Looser::Lower, "How many seconds back they count."),
    cooled("loop.external_api.cooldown_base_seconds", 30),
    number(
        "loop.external_api.session_max",
        1,
        1_000_000,
        50,
        Looser::Higher,
        "A session makes at most this many such calls.",
    ),
    Key {
        name: "loop.external_api.usd_per_call",
        kind: Kind::Cost,
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "What one call costs where the event does not say.",
    },
    list(
        "loop.external_api.commands",
        &["oracle.py", "swarm.py", "research.py"],
        "Shell commands that contain one of these are such calls.",
    ),
    list("loop.external_api.tools", &[], "Tools with one of these names are such calls; globs."),
    switch("loop.repeat.enabled", "Whether the same call with the same answer is watched."),
    warned("loop.repeat.warn", 3),
    denied("loop.repeat.deny", 4),
    cooled("loop.repeat.cooldown_base_seconds", 5),
    switch("loop.cycle.enabled", "Whether two to five calls that come round again with the same answers are watched."),
    warned("loop.cycle.warn", 3),
    denied("loop.cycle.deny", 4),
    cooled("loop.cycle.cooldown_base_seconds", 5),
    switch(
        "loop.interleaved.enabled",
        "Whether the same call with the same answer, with other calls in between, is watched.",
    ),
    warned("loop.interleaved.warn", 3),
    denied("loop.interleaved.deny", 4),
    cooled("loop.interleaved.cooldown_base_seconds", 5),
    switch("loop.same_error.enabled", "Whether the same error to calls with changing arguments is watched."),
    warned("loop.same_error.warn", 3),
    denied("loop.same_error.deny", 4),
    cooled("loop.same_error.cooldown_base_seconds", 5),
    switch("loop.futile_writes.enabled", "Whether the same failure although files were written in between is watched."),
    warned("loop.futile_writes.warn", 5),
    denied("loop.futile_writes.deny", 8),
    cooled("loop.futile_writes.cooldown_base_seconds", 5),
    switch("loop.retread.enabled", "Whether questions that were asked and answered before are watched."),
    warned("loop.retread.warn", 4),
    denied("loop.retread.deny", 5),
    cooled("loop.retread.cooldown_base_seconds", 5),
    switch("loop.stagnation.enabled", "Whether the same question in other words with a known answer is watched."),
    warned("loop.stagnation.warn", 5),
    denied("loop.stagnation.deny", 6),
    cooled("loop.stagnation.cooldown_base_seconds", 5),
    switch("loop.cascade.enabled", "Whether failures of any tool with nothing new in between are watched."),
    warned("loop.cascade.warn", 7),
    denied("loop.cascade.deny", 10),
    cooled("loop.cascade.cooldown_base_seconds", 5),
    switch(
        "loop.compaction.enabled",
        "Whether conversations that are shortened with nothing new in between are watched.",
    ),
    warned("loop.compaction.warn", 3),
    denied("loop.compaction.deny", 4),
    cooled("loop.compaction.cooldown_base_seconds", 5),
    Key {
        name: "loop.cost_growth.enabled",
        kind: Kind::Flag(false),
        scope: Scope::Project,
        looser: Looser::Off,
        help: "Whether a model response that costs many times the usual is watched.",
    },
    number("loop.cost_growth.warn", 1, 10_000, 3, Looser::Higher, "So many times the usual are warned of."),
    number(
        "loop.cost_growth.deny",
        1,
        10_000,
        10,
        Looser::Higher,
        "So many times the usual are refused; the next call stops the turn.",
    ),
    cooled("loop.cost_growth.cooldown_base_seconds", 5),
    Key {
        name: "loop.chanting.enabled",
        kind: Kind::Flag(false),
        scope: Scope::Project,
        looser: Looser::Off,
        help: "Whether the same words of the model over and over are watched.",
    },
    number("loop.chanting.warn", 1, 10_000, 3, Looser::Higher, "So many times in a row are warned of."),
    number(
        "loop.chanting.deny",
        1,
        10_000,
        6,
        Looser::Higher,
        "So many times in a row are refused; the next call stops the turn.",
    ),
    cooled("loop.chanting.cooldown_base_seconds", 5),
    switch("loop.denials.enabled", "Whether calls that permission rules refuse are watched."),
    number("loop.denials.in_a_row", 1, 10_000, 3, Looser::Higher, "This many refused calls in a row open the circuit."),
    number(
        "loop.denials.of_recent",
        1,
        10_000,
        10,
        Looser::Higher,
        "Or this many refused calls among the recent ones.",
    ),
    number("loop.denials.recent", 1, 10_000, 50, Looser::Lower, "How many calls are recent."),
    cooled("loop.denials.cooldown_base_seconds", 10),
    number(
        "agents.max_concurrent",
        1,
        1000,
        5,
        Looser::Higher,
        "At most this many sub-agents of a root session at once.",
    ),
    number(
        "agents.max_per_session",
        1,
        100_000,
        10,
        Looser::Higher,
        "At most this many sub-agents of a root session in all.",
    ),
    number("agents.max_depth", 1, 100, 3, Looser::Higher, "At most this many sub-agents below one another."),
    number(
        "agents.spawn_cooldown_seconds",
        0,
        3600,
        10,
        Looser::Lower,
        "Seconds between two new sub-agents outside one parallel batch.",
    ),
    Key {
        name: "agents.on_full",
        kind: Kind::Choice(&["deny", "stop_oldest"]),
        scope: Scope::Project,
        looser: Looser::Word("stop_oldest"),
        help: "Whether the one too many is refused, or the oldest is told to end at its next action.",
    },
    money(
        "api.cost_warn_usd",
        10_000,
        1_000_000,
        Looser::Higher,
        "Spending on external services in a session that is warned of.",
    ),
    money(
        "api.cost_block_usd",
        10_000,
        5_000_000,
        Looser::Higher,
        "Spending on external services in a session at which further calls are refused.",
    ),
    money(
        "budget.usd_soft",
        0,
        0,
        Looser::HigherOrZero,
        "Dollars a root session and its sub-agents may spend before they are told; 0 is no limit.",
    ),
    money(
        "budget.usd_hard",
        0,
        0,
        Looser::HigherOrZero,
        "Dollars they may spend before they are refused; 0 is no limit.",
    ),
    number(
        "budget.tokens_soft",
        0,
        4_000_000_000,
        0,
        Looser::HigherOrZero,
        "Tokens they may read and write before they are told; 0 is no limit.",
    ),
    number(
        "budget.tokens_hard",
        0,
        4_000_000_000,
        0,
        Looser::HigherOrZero,
        "Tokens they may read and write before they are refused; 0 is no limit.",
    ),
    number(
        "budget.turns_soft",
        0,
        1_000_000,
        0,
        Looser::HigherOrZero,
        "Turns they may take before they are told; 0 is no limit.",
    ),
    number(
        "budget.turns_hard",
        0,
        1_000_000,
        0,
        Looser::HigherOrZero,
        "Turns they may take before they are refused; 0 is no limit.",
    ),
    number(
        "budget.minutes_soft",
        0,
        1_000_000,
        0,
        Looser::HigherOrZero,
        "Minutes they may last before they are told; 0 is no limit.",
    ),
    number(
        "budget.minutes_hard",
        0,
        1_000_000,
        0,
        Looser::HigherOrZero,
        "Minutes they may last before they are refused; 0 is no limit.",
    ),
    number(
        "budget.saving_calls",
        0,
        1000,
        5,
        Looser::Higher,
        "Calls that save work are let through this often after a hard limit.",
    ),
    Key {
        name: "memory.directory",
        kind: Kind::Folder(".claude/memory"),
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "Where an agent keeps telemetry and session states, below the project's root. It is kept under 5 MB.",
    },
    number(
        "memory.telemetry_max_lines",
        10,
        1_000_000,
        1000,
        Looser::AnyChange,
        "A telemetry file with more lines is rotated.",
    ),
    number("memory.telemetry_max_kb", 1, 5120, 50, Looser::AnyChange, "A larger telemetry file is rotated."),
    number("memory.telemetry_max_age_days", 1, 3650, 7, Looser::AnyChange, "An older telemetry file is rotated."),
    number(
        "memory.telemetry_keep_rotations",
        1,
        1000,
        5,
        Looser::AnyChange,
        "This many rotated files are kept of each telemetry file.",
    ),
    number(
        "memory.session_max_active",
        1,
        10_000,
        10,
        Looser::AnyChange,
        "This many session states stay; older ones are archived.",
    ),
    number("memory.session_max_age_days", 1, 3650, 7, Looser::AnyChange, "A session state that is older is archived."),
    number(
        "memory.evidence_ledger_max",
        1,
        100_000,
        100,
        Looser::AnyChange,
        "This many entries of a session's evidence stay; the rest is summed up.",
    ),
    number("memory.tool_history_max", 10, 1000, 50, Looser::Lower, "This many calls of a session are remembered."),
    unmoved("phase.red.no_progress_threshold", 3),
    same_error("phase.red.same_error_threshold", 5),
    unmoved("phase.green.no_progress_threshold", 2),
    same_error("phase.green.same_error_threshold", 3),
    unmoved("phase.refactor.no_progress_threshold", 5),
    same_error("phase.refactor.same_error_threshold", 5),
    unmoved("phase.document.no_progress_threshold", 3),
    same_error("phase.document.same_error_threshold", 5),
    unmoved("phase.qa.no_progress_threshold", 3),
    same_error("phase.qa.same_error_threshold", 3),
    unmoved("phase.other.no_progress_threshold", 3),
    same_error("phase.other.same_error_threshold", 5),
    Key {
        name: "attempt.lock",
        kind: Kind::Flag(true),
        scope: Scope::Project,
        looser: Looser::Off,
        help: "Whether hooks refuse edits outside the scope of a slice under way.",
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
    },
    number(
        "claim.circuit_breaker_rounds",
        1,
        100,
        3,
        Looser::Higher,
        "This many review rounds on one objection that change nothing make a claim DISPUTED; more than 3 need a reason.",
    ),
    text(
        "claim.circuit_breaker_rounds_reason",
        "",
        "Why circuit_breaker_rounds is more than 3; without a reason 3 apply.",
    ),
    text("claim.final_stage", "S5", "The stage of a new pipeline that does not close while a claim is DISPUTED."),
    unmoved("run.no_progress_threshold", 3),
    same_error("run.same_error_threshold", 5),
    number(
        "run.neutral_max",
        1,
        10_000,
        10,
        Looser::Higher,
        "This many iterations in a row that say nothing about progress end a loop: nobody answers its questions.",
    ),
    number(
        "run.grace_seconds",
        0,
        3_600,
        10,
        Looser::Never,
        "How long a command may save its work before it is killed.",
    ),
    weight("run.progress.commits", 2, "What commits made in the iteration weigh."),
    weight("run.progress.staged", 2, "What staged changes weigh."),
    weight("run.progress.unstaged", 2, "What changes of tracked files weigh."),
    weight("run.progress.untracked", 2, "What new files weigh."),
    weight("run.progress.repositories", 2, "What changes in repositories below weigh."),
    weight("run.progress.worktrees", 2, "What changes in other worktrees weigh."),
    weight("run.progress.files", 2, "What changed files where there is no git weigh."),
    weight("run.progress.tests", 2, "What better test results weigh."),
    weight("run.progress.status", 1, "What the agent's own word in a status block weighs."),
    number(
        "run.progress.enough",
        1,
        1_000,
        2,
        Looser::Lower,
        "An iteration whose signs of progress weigh this much together made progress.",
    ),
];

const fn limit(name: &'static str, index: usize, default: u32, looser: Looser, help: &'static str) -> Key {
    let (_, low, high) = Limits::RANGES[index];
    number(name, low, high, default, looser, help)
}

const fn number(name: &'static str, low: u32, high: u32, default: u32, looser: Looser, help: &'static str) -> Key {
    Key { name, kind: Kind::Number { low, high, default }, scope: Scope::Project, looser, help }
}

/// When a pattern with rungs warns.
const fn warned(name: &'static str, default: u32) -> Key {
    number(name, 1, 10_000, default, Looser::Higher, "The time that is warned of.")
}

/// When it refuses.
const fn denied(name: &'static str, default: u32) -> Key {
    number(name, 1, 10_000, default, Looser::Higher, "The time that is refused; the next one stops the turn.")
}

/// How long a pattern cools down at first.
const fn cooled(name: &'static str, default: u32) -> Key {
    let help = "The first cooldown in seconds; later ones are 2, 6, 12 and 60 times as long.";
    number(name, 1, 3600, default, Looser::Lower, help)
}

/// Something that is watched unless the owner says no.
const fn switch(name: &'static str, help: &'static str) -> Key {
    Key { name, kind: Kind::Flag(true), scope: Scope::Project, looser: Looser::Off, help }
}

const fn money(name: &'static str, low: u64, default: u64, looser: Looser, help: &'static str) -> Key {
    Key { name, kind: Kind::Money { low, default }, scope: Scope::Project, looser, help }
}

const fn list(name: &'static str, default: &'static [&'static str], help: &'static str) -> Key {
    Key { name, kind: Kind::List(default), scope: Scope::Project, looser: Looser::AnyChange, help }
}

const fn text(name: &'static str, default: &'static str, help: &'static str) -> Key {
    Key { name, kind: Kind::Text(default), scope: Scope::Project, looser: Looser::AnyChange, help }
}

/// After how many iterations without progress a phase opens.
const fn unmoved(name: &'static str, default: u32) -> Key {
    number(name, 1, 1_000, default, Looser::Higher, "This many iterations in a row without progress open the circuit.")
}

/// After how many same errors it opens.
const fn same_error(name: &'static str, default: u32) -> Key {
    number(
        name,
        1,
        1_000,
        default,
        Looser::Higher,
        "This many iterations in a row with the same error open the circuit.",
    )
}

/// What a sign of progress weighs.
const fn weight(name: &'static str, default: u32, help: &'static str) -> Key {
    number(name, 0, 1_000, default, Looser::Higher, help)
}
