//! All configuration keys, in the order of the reference.

mod general;
mod loop_;
mod session;
mod work;

use haltline_core::Policy;
use haltline_core::constraint::Limits;

use super::key::{Key, Kind, Looser, Scope};
use super::setter::Setter;

const PARTS: [&[Key]; 4] = [general::KEYS, loop_::KEYS, session::KEYS, work::KEYS];
const COUNT: usize = PARTS[0].len() + PARTS[1].len() + PARTS[2].len() + PARTS[3].len();

static ALL: [Key; COUNT] = {
    let mut all = [PARTS[0][0]; COUNT];
    let (mut part, mut count) = (0, 0);
    while part < PARTS.len() {
        let mut index = 0;
        while index < PARTS[part].len() {
            all[count] = PARTS[part][index];
            count += 1;
            index += 1;
        }
        part += 1;
    }
    all
};

pub static KEYS: &[Key] = &ALL;

type NumberField = fn(&mut Policy) -> &mut u32;

const fn limit(
    name: &'static str,
    index: usize,
    default: u32,
    looser: Looser,
    help: &'static str,
    field: NumberField,
) -> Key {
    let (_, low, high) = Limits::RANGES[index];
    number(name, low, high, default, looser, help, Setter::Number(field))
}

const fn number(
    name: &'static str,
    low: u32,
    high: u32,
    default: u32,
    looser: Looser,
    help: &'static str,
    setter: Setter,
) -> Key {
    Key { name, kind: Kind::Number { low, high, default }, scope: Scope::Project, looser, help, setter }
}

/// The limit at which a pattern warns.
const fn warn_limit(name: &'static str, default: u32, field: NumberField) -> Key {
    number(name, 1, 10_000, default, Looser::Higher, "The time that is warned of.", Setter::Number(field))
}

/// The limit at which a pattern denies.
const fn deny_limit(name: &'static str, default: u32, field: NumberField) -> Key {
    let help = "The time that is refused; the next one stops the turn.";
    number(name, 1, 10_000, default, Looser::Higher, help, Setter::Number(field))
}

/// The first cooldown of a pattern.
const fn cooldown(name: &'static str, default: u32, field: NumberField) -> Key {
    let help = "The first cooldown in seconds; later ones are 2, 6, 12 and 60 times as long.";
    number(name, 1, 3600, default, Looser::Lower, help, Setter::Number(field))
}

/// A check that is on by default.
const fn switch(name: &'static str, help: &'static str, setter: Setter) -> Key {
    Key { name, kind: Kind::Flag(true), scope: Scope::Project, looser: Looser::Off, help, setter }
}

const fn money(name: &'static str, low: u64, default: u64, looser: Looser, help: &'static str, setter: Setter) -> Key {
    Key { name, kind: Kind::Money { low, default }, scope: Scope::Project, looser, help, setter }
}

const fn list(name: &'static str, default: &'static [&'static str], help: &'static str, setter: Setter) -> Key {
    Key { name, kind: Kind::List(default), scope: Scope::Project, looser: Looser::AnyChange, help, setter }
}

const fn text(name: &'static str, default: &'static str, help: &'static str, setter: Setter) -> Key {
    Key { name, kind: Kind::Text(default), scope: Scope::Project, looser: Looser::AnyChange, help, setter }
}

/// After how many iterations without progress a phase's circuit opens.
const fn no_progress_limit(name: &'static str, default: u32, field: NumberField) -> Key {
    let help = "This many iterations in a row without progress open the circuit.";
    number(name, 1, 1_000, default, Looser::Higher, help, Setter::Number(field))
}

/// After how many equal errors a phase's circuit opens.
const fn same_error_limit(name: &'static str, default: u32, field: NumberField) -> Key {
    let help = "This many iterations in a row with the same error open the circuit.";
    number(name, 1, 1_000, default, Looser::Higher, help, Setter::Number(field))
}

/// The weight of one sign of progress.
const fn weight(name: &'static str, default: u32, help: &'static str, field: NumberField) -> Key {
    number(name, 0, 1_000, default, Looser::Higher, help, Setter::Number(field))
}
