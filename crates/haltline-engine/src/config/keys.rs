//! All configuration keys, in the order of the reference.

mod budget;
mod general;
mod loop_;
mod session;
mod work;

use super::key::{Key, Kind, Looser, Scope};
use super::setter::Setter;

const TABLES: &[&[Key]] = &[general::KEYS, loop_::KEYS, session::KEYS, budget::KEYS, work::KEYS];

static ALL: [Key; count(TABLES)] = join(TABLES);

pub static KEYS: &[Key] = &ALL;

const fn count(tables: &[&[Key]]) -> usize {
    let (mut table, mut count) = (0, 0);
    while table < tables.len() {
        count += tables[table].len();
        table += 1;
    }
    count
}

const fn join<const COUNT: usize>(tables: &[&[Key]]) -> [Key; COUNT] {
    let mut all = [tables[0][0]; COUNT];
    let (mut table, mut count) = (0, 0);
    while table < tables.len() {
        let mut index = 0;
        while index < tables[table].len() {
            all[count] = tables[table][index];
            count += 1;
            index += 1;
        }
        table += 1;
    }
    all
}

impl Key {
    /// A key that the project's file may set as well, that decisions do not use and that any change loosens.
    const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, scope: Scope::Project, looser: Looser::AnyChange, help: "", setter: Setter::None }
    }

    const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    const fn looser(mut self, looser: Looser) -> Self {
        self.looser = looser;
        self
    }

    const fn sets(mut self, setter: Setter) -> Self {
        self.setter = setter;
        self
    }

    const fn only_in_user_file(mut self) -> Self {
        self.scope = Scope::User;
        self
    }
}

const fn number(name: &'static str, low: u32, high: u32, default: u32, looser: Looser) -> Key {
    Key::new(name, Kind::Number { low, high, default }).looser(looser)
}

/// A check that a project may switch on but not off.
const fn switch(name: &'static str, default: bool) -> Key {
    Key::new(name, Kind::Flag(default)).looser(Looser::Off)
}

const fn money(name: &'static str, low: u64, default: u64, looser: Looser) -> Key {
    Key::new(name, Kind::Money { low, default }).looser(looser)
}
