//! Keys of budgets beside that of a session.

use haltline_core::loop_::BudgetLimits;

use super::{count, join, money, number};
use crate::config::key::{Key, Looser};
use crate::config::setter::Setter;

/// The keys of one budget: its soft and hard limits.
macro_rules! budget_keys {
    ($scope:ident: $what:literal) => {
        &[
            money(concat!("budget.", stringify!($scope), ".usd_soft"), 0, 0, Looser::HigherOrZero)
                .help(concat!("haltline warns when ", $what, " has cost this many dollars; 0 means no limit."))
                .sets(Setter::Budget(|policy| &mut policy.loop_.budgets.$scope.micros.soft)),
            money(concat!("budget.", stringify!($scope), ".usd_hard"), 0, 0, Looser::HigherOrZero)
                .help(concat!("haltline denies calls when ", $what, " has cost this many dollars; 0 means no limit."))
                .sets(Setter::Budget(|policy| &mut policy.loop_.budgets.$scope.micros.hard)),
            budget_keys!(@count $scope, tokens, soft, 4_000_000_000, "haltline warns at this many tokens of ", $what),
            budget_keys!(@count $scope, tokens, hard, 4_000_000_000, "haltline denies calls at this many tokens of ", $what),
            budget_keys!(@count $scope, calls, soft, 100_000_000, "haltline warns at this many calls of ", $what),
            budget_keys!(@count $scope, calls, hard, 100_000_000, "haltline denies calls at this many calls of ", $what),
            budget_keys!(@count $scope, minutes, soft, 1_000_000, "haltline warns at this many minutes of ", $what),
            budget_keys!(@count $scope, minutes, hard, 1_000_000, "haltline denies calls at this many minutes of ", $what),
        ]
    };
    (@count $scope:ident, $unit:ident, $bound:ident, $high:literal, $help:literal, $what:literal) => {
        number(
            concat!("budget.", stringify!($scope), ".", stringify!($unit), "_", stringify!($bound)),
            0,
            $high,
            0,
            Looser::HigherOrZero,
        )
        .help(concat!($help, $what, "; 0 means no limit."))
        .sets(Setter::Budget(|policy| {
            let limits: &mut BudgetLimits = &mut policy.loop_.budgets.$scope;
            &mut limits.$unit.$bound
        }))
    };
}

pub(super) const KEYS: &[Key] = &join::<{ count(TABLES) }>(TABLES);

const TABLES: &[&[Key]] = &[
    budget_keys!(prompt: "one prompt"),
    budget_keys!(day: "a day of this machine"),
    budget_keys!(night: "a night of this machine"),
    &[
        number("budget.night.from_hour", 0, 23, 22, Looser::AnyChange)
            .help("The hour at which the night begins, local time.")
            .sets(Setter::Number(|policy| &mut policy.loop_.budgets.night_from_hour)),
        number("budget.night.to_hour", 0, 23, 8, Looser::AnyChange)
            .help("The hour at which the night ends, local time.")
            .sets(Setter::Number(|policy| &mut policy.loop_.budgets.night_to_hour)),
    ],
    budget_keys!(week: "a week of this machine"),
    budget_keys!(project: "this project"),
    &[
        money("budget.fan_out.usd_hard", 0, 0, Looser::HigherOrZero)
            .help("haltline denies calls of sub-agents, and new sub-agents, when those that run together have cost this many dollars; 0 means no limit.")
            .sets(Setter::Budget(|policy| &mut policy.loop_.budgets.fan_out_micros)),
        number("budget.velocity.warn_times", 0, 1000, 5, Looser::HigherOrZero)
            .help(
                "haltline warns when a minute costs this many times the session's median minute, and at least a dollar; 0 never warns.",
            )
            .sets(Setter::Number(|policy| &mut policy.loop_.spend_rate.warn_times)),
        money("budget.velocity.usd_hard", 0, 0, Looser::HigherOrZero)
            .help("haltline denies calls for the rest of a minute that has cost a session this many dollars; 0 means no limit.")
            .sets(Setter::Budget(|policy| &mut policy.loop_.spend_rate.hard_micros)),
    ],
];
