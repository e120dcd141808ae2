//! Keys of what a session may use: sub-agents, external services, budgets, and the memory folder.

use haltline_core::loop_::OnFull;

use super::{money, number, switch};
use crate::config::key::{Key, Kind, Looser};
use crate::config::setter::Setter;

pub(super) const KEYS: &[Key] = &[
    number("agents.max_concurrent", 1, 1000, 10, Looser::Higher)
        .help("Maximum number of sub-agents of a root session at the same time. In the preset `literal` the default is 5.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.concurrent_max)),
    number("agents.max_per_prompt", 1, 100_000, 20, Looser::Higher)
        .help("haltline denies a sub-agent beyond this many since your last prompt, and warns at half of it.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.spawns_per_prompt_max)),
    number("agents.max_per_session", 0, 100_000, 0, Looser::HigherOrZero)
        .help(
            "haltline denies a sub-agent beyond this many in one session; 0 means unlimited. In the preset `literal` the default is 10.",
        )
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.spawns_max)),
    number("agents.max_depth", 1, 100, 3, Looser::Higher)
        .help("Maximum depth of sub-agents that start sub-agents.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.depth_max)),
    number("agents.spawn_cooldown_seconds", 0, 3600, 10, Looser::Lower)
        .help("haltline warns if a sub-agent starts within this many seconds of the last one, and loop.agent_spawn.threshold started lately; not in one parallel batch.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.spacing_s)),
    switch("agents.deny_same_task", true)
        .help("Warns, then denies, if a task is given to another sub-agent while one works on it, or after sub-agents failed at it twice in the same way.")
        .sets(Setter::Flag(|policy| &mut policy.loop_.agents.is_same_task_denied)),
    Key::new("agents.on_full", Kind::Choice(&["deny", "stop_oldest"]))
        .looser(Looser::Choice("stop_oldest"))
        .help("deny: haltline denies a new sub-agent above the limit. stop_oldest: haltline ends the oldest sub-agent at its next call.")
        .sets(Setter::Choice(|policy, choice| {
            policy.loop_.agents.on_full = if choice == "stop_oldest" { OnFull::StopOldest } else { OnFull::Deny }
        })),
    money("api.cost_warn_usd", 10_000, 1_000_000, Looser::Higher)
        .help("haltline warns when a session has spent this much on external services.")
        .sets(Setter::Money(|policy| &mut policy.loop_.api.warn_micros)),
    money("api.cost_block_usd", 10_000, 5_000_000, Looser::Higher)
        .help("haltline denies further calls when a session has spent this much on external services.")
        .sets(Setter::Money(|policy| &mut policy.loop_.api.deny_micros)),
    money("budget.usd_soft", 0, 0, Looser::HigherOrZero)
        .help("haltline warns when a root session and its sub-agents have spent this many dollars; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.micros.soft)),
    money("budget.usd_hard", 0, 0, Looser::HigherOrZero)
        .help("haltline denies calls when a root session and its sub-agents have spent this many dollars; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.micros.hard)),
    number("budget.tokens_soft", 0, 4_000_000_000, 0, Looser::HigherOrZero)
        .help("haltline warns when they have used this many tokens, where one read from the cache counts as a tenth; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.tokens.soft)),
    number("budget.tokens_hard", 0, 4_000_000_000, 0, Looser::HigherOrZero)
        .help("haltline denies calls when a root session and its sub-agents have used this many tokens; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.tokens.hard)),
    number("budget.turns_soft", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("haltline warns after this many turns; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.turns.soft)),
    number("budget.turns_hard", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("haltline denies calls after this many turns; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.turns.hard)),
    number("budget.calls_soft", 0, 100_000_000, 0, Looser::HigherOrZero)
        .help("haltline warns after this many calls; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.calls.soft)),
    number("budget.calls_hard", 0, 100_000_000, 0, Looser::HigherOrZero)
        .help("haltline denies calls after this many; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.calls.hard)),
    number("budget.minutes_soft", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("haltline warns after this many minutes; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.minutes.soft)),
    number("budget.minutes_hard", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("haltline denies calls after this many minutes; 0 means no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.minutes.hard)),
    number("budget.saving_calls", 0, 1000, 5, Looser::Higher)
        .help("After a hard limit, haltline allows this many calls that save work.")
        .sets(Setter::Number(|policy| &mut policy.loop_.budget.saving_calls)),
    switch("provider.enabled", true)
        .help("When a model service says that an account has reached its limit, or is overloaded, denies new sub-agents and sessions on this machine until it answers again.")
        .sets(Setter::Flag(|policy| &mut policy.loop_.provider.enabled)),
    number("provider.cooldown_seconds", 1, 604_800, 300, Looser::Lower)
        .help("First cooldown after a limit whose end the service does not state. Later ones in a row last 2, 6, 12 and 60 times as long.")
        .sets(Setter::Number(|policy| &mut policy.loop_.provider.cooldown_s)),
    number("provider.overload_cooldown_seconds", 1, 86_400, 30, Looser::Lower)
        .help("First cooldown while the service is overloaded. Later ones in a row last 2, 6, 12 and 60 times as long.")
        .sets(Setter::Number(|policy| &mut policy.loop_.provider.overload_cooldown_s)),
    Key::new("memory.directory", Kind::Folder(".claude/memory"))
        .help("Folder in which an agent keeps telemetry and session states, below the project's root. haltline keeps it below 5 MB."),
    number("memory.telemetry_max_lines", 10, 1_000_000, 1000, Looser::AnyChange)
        .help("haltline rotates a telemetry file with more lines than this."),
    number("memory.telemetry_max_kb", 1, 5120, 50, Looser::AnyChange).help("haltline rotates a telemetry file above this many kilobytes."),
    number("memory.telemetry_max_age_days", 1, 3650, 7, Looser::AnyChange).help("haltline rotates a telemetry file that is older than this many days."),
    number("memory.telemetry_keep_rotations", 1, 1000, 5, Looser::AnyChange)
        .help("Number of rotated files to keep for each telemetry file."),
    number("memory.session_max_active", 1, 10_000, 10, Looser::AnyChange)
        .help("Number of session states to keep; haltline archives older ones."),
    number("memory.session_max_age_days", 1, 3650, 7, Looser::AnyChange)
        .help("haltline archives a session state that is older than this many days."),
    number("memory.evidence_ledger_max", 1, 100_000, 100, Looser::AnyChange)
        .help("Number of evidence entries to keep for each session; haltline summarises the rest."),
    number("memory.tool_history_max", 10, 1000, 50, Looser::Lower)
        .help("Number of calls of a session that haltline compares.")
        .sets(Setter::Number(|policy| &mut policy.loop_.history_max)),
];
