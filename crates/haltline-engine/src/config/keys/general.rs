//! Keys of the whole program and of the constraint breaker.

use haltline_core::Mode;
use haltline_core::constraint::Limits;

use super::number;
use crate::config::key::{Key, Kind, Looser};
use crate::config::setter::Setter;

pub(super) const KEYS: &[Key] = &[
    Key::new("mode", Kind::Choice(&["enforce", "observe"]))
        .looser(Looser::Choice("observe"))
        .help("enforce: haltline denies calls. observe: haltline only records what it would have denied.")
        .sets(Setter::Choice(|policy, choice| {
            policy.mode = if choice == "observe" { Mode::Observe } else { Mode::Enforce }
        })),
    Key::new("fail", Kind::Choice(&["open", "closed"]))
        .looser(Looser::Choice("open"))
        .help("What happens when haltline itself fails. open: the agent continues. closed: haltline denies the call."),
    Key::new("prices", Kind::Prices)
        .help("Prices of models. MODEL is a glob, and the first match counts. The cost of a model without a price is unknown."),
    Key::new("operator.unattended", Kind::Flag(false))
        .only_in_user_file()
        .help("Allows operator actions without a terminal, for scripts. Inside an agent haltline always denies them."),
    number("retention.state_mb", 4, 65_536, 64, Looser::AnyChange)
        .only_in_user_file()
        .help("Maximum size of the state folder in megabytes. haltline merges the oldest facts to stay below it."),
    number("retention.journal_days", 31, 36_500, 400, Looser::AnyChange)
        .only_in_user_file()
        .help("haltline merges facts that are older than this many days. Totals stay exact."),
    Key::new("notify.to", Kind::Targets)
        .only_in_user_file()
        .help("Targets that haltline notifies of each trip: \"desktop\", \"slack:URL\", \"discord:URL\", \"ntfy:TOPIC\", \"command:SHELL COMMAND\", \"webhook:URL\"."),
    Key::new("notify.command", Kind::List(&[]))
        .only_in_user_file()
        .help("A program and its arguments. haltline starts it once per trip, with the incident as JSON on standard input."),
    Key::new("notify.webhook", Kind::Text(""))
        .only_in_user_file()
        .help("An http or https URL. haltline posts the incident to it as JSON, once per trip."),
    limit("constraint.violation_threshold", 0, 5, Looser::Higher)
        .help("A circuit trips at this number of counted violations within the window.")
        .sets(Setter::Number(|policy| &mut policy.constraint.violation_threshold)),
    limit("constraint.window_days", 1, 30, Looser::Lower)
        .help("Length of the window in which violations count, in days.")
        .sets(Setter::Number(|policy| &mut policy.constraint.window_days)),
    limit("constraint.cooldown_hours", 2, 24, Looser::Lower)
        .help("How long a tripped circuit stays OPEN, in hours.")
        .sets(Setter::Number(|policy| &mut policy.constraint.cooldown_hours)),
    limit("constraint.dedup_seconds", 3, 300, Looser::Higher)
        .help("A violation within this many seconds of a counted one does not count.")
        .sets(Setter::Number(|policy| &mut policy.constraint.dedup_seconds)),
    Key::new("constraint.directory", Kind::Text("docs/constraints"))
        .help("Folder of the constraint files, below the project's root."),
    Key::new("constraint.mirror", Kind::Flag(true))
        .looser(Looser::Never)
        .help("Keeps `.circuit-state.json` in that folder up to date, for other programs."),
];

/// A limit of the constraint breaker; `index` is its place in the core's table of ranges.
const fn limit(name: &'static str, index: usize, default: u32, looser: Looser) -> Key {
    let (_, low, high) = Limits::RANGES[index];
    number(name, low, high, default, looser)
}
