//! Keys of the whole program and of the constraint breaker.

use haltline_core::Mode;
use haltline_core::constraint::Limits;

use super::number;
use crate::config::key::{Key, Kind, Looser};
use crate::config::setter::Setter;

pub(super) const KEYS: &[Key] = &[
    Key::new("mode", Kind::Choice(&["enforce", "observe"]))
        .looser(Looser::Choice("observe"))
        .help("Whether open circuits refuse, or only write down what they would have refused.")
        .sets(Setter::Choice(|policy, choice| {
            policy.mode = if choice == "observe" { Mode::Observe } else { Mode::Enforce }
        })),
    Key::new("fail", Kind::Choice(&["open", "closed"]))
        .looser(Looser::Choice("open"))
        .help("What happens when haltline itself fails: the agent goes on, or is refused."),
    Key::new("prices", Kind::Prices)
        .help("What models cost; the model is a glob, the first that fits counts, and one nobody priced is unknown."),
    Key::new("operator.unattended", Kind::Flag(false))
        .only_in_user_file()
        .help("Whether operator verbs run without a terminal. Inside an agent they never do."),
    number("retention.state_mb", 4, 65_536, 64, Looser::AnyChange)
        .only_in_user_file()
        .help("The state folder stays under this many megabytes; the oldest facts are folded together."),
    number("retention.journal_days", 31, 36_500, 400, Looser::AnyChange)
        .only_in_user_file()
        .help("Facts older than this many days are folded together; totals stay exact."),
    Key::new("notify.command", Kind::List(&[]))
        .only_in_user_file()
        .help("A program and its arguments, started once per trip with the incident as JSON on its input."),
    Key::new("notify.webhook", Kind::Text(""))
        .only_in_user_file()
        .help("An http or https address that gets the incident as a JSON POST, once per trip."),
    limit("constraint.violation_threshold", 0, 5, Looser::Higher)
        .help("This many counted violations within the window trip a constraint's circuit.")
        .sets(Setter::Number(|policy| &mut policy.constraint.violation_threshold)),
    limit("constraint.window_days", 1, 30, Looser::Lower)
        .help("The rolling window in which violations count, in days.")
        .sets(Setter::Number(|policy| &mut policy.constraint.window_days)),
    limit("constraint.cooldown_hours", 2, 24, Looser::Lower)
        .help("How long a tripped circuit stays OPEN, in hours.")
        .sets(Setter::Number(|policy| &mut policy.constraint.cooldown_hours)),
    limit("constraint.dedup_seconds", 3, 300, Looser::Higher)
        .help("Violations this soon after a counted one do not count again, in seconds.")
        .sets(Setter::Number(|policy| &mut policy.constraint.dedup_seconds)),
    Key::new("constraint.directory", Kind::Text("docs/constraints"))
        .help("Where the constraint files stand, below the project's root."),
    Key::new("constraint.mirror", Kind::Flag(true))
        .looser(Looser::Never)
        .help("Whether `.circuit-state.json` in that folder is kept in step with the store."),
];

/// A limit of the constraint breaker; `index` is its place in the core's table of ranges.
const fn limit(name: &'static str, index: usize, default: u32, looser: Looser) -> Key {
    let (_, low, high) = Limits::RANGES[index];
    number(name, low, high, default, looser)
}
