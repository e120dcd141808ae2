//! Keys of the whole program and of the constraint breaker.

use haltline_core::Mode;

use super::limit;
use crate::config::key::{Key, Kind, Looser, Scope};
use crate::config::setter::Setter;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "mode",
        kind: Kind::Choice(&["enforce", "observe"]),
        scope: Scope::Project,
        looser: Looser::Choice("observe"),
        help: "Whether open circuits refuse, or only write down what they would have refused.",
        setter: Setter::Choice(|policy, choice| {
            policy.mode = if choice == "observe" { Mode::Observe } else { Mode::Enforce }
        }),
    },
    Key {
        name: "fail",
        kind: Kind::Choice(&["open", "closed"]),
        scope: Scope::Project,
        looser: Looser::Choice("open"),
        help: "What happens when haltline itself fails: the agent goes on, or is refused.",
        setter: Setter::None,
    },
    Key {
        name: "prices",
        kind: Kind::Prices,
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "What models cost; the model is a glob, the first that fits counts, and one nobody priced is unknown.",
        setter: Setter::None,
    },
    Key {
        name: "operator.unattended",
        kind: Kind::Flag(false),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "Whether operator verbs run without a terminal. Inside an agent they never do.",
        setter: Setter::None,
    },
    Key {
        name: "retention.state_mb",
        kind: Kind::Number { low: 4, high: 65_536, default: 64 },
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "The state folder stays under this many megabytes; the oldest facts are folded together.",
        setter: Setter::None,
    },
    Key {
        name: "retention.journal_days",
        kind: Kind::Number { low: 31, high: 36_500, default: 400 },
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "Facts older than this many days are folded together; totals stay exact.",
        setter: Setter::None,
    },
    Key {
        name: "notify.command",
        kind: Kind::List(&[]),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "A program and its arguments, started once per trip with the incident as JSON on its input.",
        setter: Setter::None,
    },
    Key {
        name: "notify.webhook",
        kind: Kind::Text(""),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "An http or https address that gets the incident as a JSON POST, once per trip.",
        setter: Setter::None,
    },
    limit(
        "constraint.violation_threshold",
        0,
        5,
        Looser::Higher,
        "This many counted violations within the window trip a constraint's circuit.",
        |policy| &mut policy.constraint.violation_threshold,
    ),
    limit(
        "constraint.window_days",
        1,
        30,
        Looser::Lower,
        "The rolling window in which violations count, in days.",
        |policy| &mut policy.constraint.window_days,
    ),
    limit(
        "constraint.cooldown_hours",
        2,
        24,
        Looser::Lower,
        "How long a tripped circuit stays OPEN, in hours.",
        |policy| &mut policy.constraint.cooldown_hours,
    ),
    limit(
        "constraint.dedup_seconds",
        3,
        300,
        Looser::Higher,
        "Violations this soon after a counted one do not count again, in seconds.",
        |policy| &mut policy.constraint.dedup_seconds,
    ),
    Key {
        name: "constraint.directory",
        kind: Kind::Text("docs/constraints"),
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "Where the constraint files stand, below the project's root.",
        setter: Setter::None,
    },
    Key {
        name: "constraint.mirror",
        kind: Kind::Flag(true),
        scope: Scope::Project,
        looser: Looser::Never,
        help: "Whether `.circuit-state.json` in that folder is kept in step with the store.",
        setter: Setter::None,
    },
];
