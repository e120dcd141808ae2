//! Keys of what a session may use: sub-agents, external services, budgets, and the memory folder.

use haltline_core::loop_::OnFull;

use super::{money, number};
use crate::config::key::{Key, Kind, Looser};
use crate::config::setter::Setter;

pub(super) const KEYS: &[Key] = &[
    number("agents.max_concurrent", 1, 1000, 5, Looser::Higher)
        .help("At most this many sub-agents of a root session at once.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.concurrent_max)),
    number("agents.max_per_session", 1, 100_000, 10, Looser::Higher)
        .help("At most this many sub-agents of a root session in all.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.spawns_max)),
    number("agents.max_depth", 1, 100, 3, Looser::Higher)
        .help("At most this many sub-agents below one another.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.depth_max)),
    number("agents.spawn_cooldown_seconds", 0, 3600, 10, Looser::Lower)
        .help("Seconds between two new sub-agents outside one parallel batch.")
        .sets(Setter::Number(|policy| &mut policy.loop_.agents.spacing_s)),
    Key::new("agents.on_full", Kind::Choice(&["deny", "stop_oldest"]))
        .looser(Looser::Choice("stop_oldest"))
        .help("Whether the one too many is refused, or the oldest is told to end at its next action.")
        .sets(Setter::Choice(|policy, choice| {
            policy.loop_.agents.on_full = if choice == "stop_oldest" { OnFull::StopOldest } else { OnFull::Deny }
        })),
    money("api.cost_warn_usd", 10_000, 1_000_000, Looser::Higher)
        .help("Spending on external services in a session that is warned of.")
        .sets(Setter::Money(|policy| &mut policy.loop_.api.warn_micros)),
    money("api.cost_block_usd", 10_000, 5_000_000, Looser::Higher)
        .help("Spending on external services in a session at which further calls are refused.")
        .sets(Setter::Money(|policy| &mut policy.loop_.api.deny_micros)),
    money("budget.usd_soft", 0, 0, Looser::HigherOrZero)
        .help("Dollars a root session and its sub-agents may spend before they are told; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.micros.soft)),
    money("budget.usd_hard", 0, 0, Looser::HigherOrZero)
        .help("Dollars they may spend before they are refused; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.micros.hard)),
    number("budget.tokens_soft", 0, 4_000_000_000, 0, Looser::HigherOrZero)
        .help("Tokens they may read and write before they are told; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.tokens.soft)),
    number("budget.tokens_hard", 0, 4_000_000_000, 0, Looser::HigherOrZero)
        .help("Tokens they may read and write before they are refused; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.tokens.hard)),
    number("budget.turns_soft", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("Turns they may take before they are told; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.turns.soft)),
    number("budget.turns_hard", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("Turns they may take before they are refused; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.turns.hard)),
    number("budget.minutes_soft", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("Minutes they may last before they are told; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.minutes.soft)),
    number("budget.minutes_hard", 0, 1_000_000, 0, Looser::HigherOrZero)
        .help("Minutes they may last before they are refused; 0 is no limit.")
        .sets(Setter::Budget(|policy| &mut policy.loop_.budget.minutes.hard)),
    number("budget.saving_calls", 0, 1000, 5, Looser::Higher)
        .help("Calls that save work are let through this often after a hard limit.")
        .sets(Setter::Number(|policy| &mut policy.loop_.budget.saving_calls)),
    Key::new("memory.directory", Kind::Folder(".claude/memory"))
        .help("Where an agent keeps telemetry and session states, below the project's root. It is kept under 5 MB."),
    number("memory.telemetry_max_lines", 10, 1_000_000, 1000, Looser::AnyChange)
        .help("A telemetry file with more lines is rotated."),
    number("memory.telemetry_max_kb", 1, 5120, 50, Looser::AnyChange).help("A larger telemetry file is rotated."),
    number("memory.telemetry_max_age_days", 1, 3650, 7, Looser::AnyChange).help("An older telemetry file is rotated."),
    number("memory.telemetry_keep_rotations", 1, 1000, 5, Looser::AnyChange)
        .help("This many rotated files are kept of each telemetry file."),
    number("memory.session_max_active", 1, 10_000, 10, Looser::AnyChange)
        .help("This many session states stay; older ones are archived."),
    number("memory.session_max_age_days", 1, 3650, 7, Looser::AnyChange)
        .help("A session state that is older is archived."),
    number("memory.evidence_ledger_max", 1, 100_000, 100, Looser::AnyChange)
        .help("This many entries of a session's evidence stay; the rest is summed up."),
    number("memory.tool_history_max", 10, 1000, 50, Looser::Lower)
        .help("This many calls of a session are remembered.")
        .sets(Setter::Number(|policy| &mut policy.loop_.history_max)),
];
