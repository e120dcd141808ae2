//! What the screen can show: its width, whether it has colour, and the clock by which times on it are aged.
//!
//! It is set once, when the command line is known. Without it, as in tests and hooks, a page has 80 columns, no colour
//! and no clock.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ValueEnum;
use haltline_core::Instant;
use haltline_engine::clock::Clock;
use jiff::tz::TimeZone;
use rustix::termios::tcgetwinsize;

use super::time;
use crate::environment::variable;
use crate::local_time;

/// The width of a page that is not shown on a terminal.
pub const PLAIN_WIDTH: usize = 80;
/// Narrower terminals get lines that the terminal itself breaks.
const WIDTH_MIN: usize = 40;
/// Wider terminals get lines of this width.
const WIDTH_MAX: usize = 240;

static SCREEN: OnceLock<Screen> = OnceLock::new();

/// When haltline writes in colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also through a pipe
    Always,
    /// Never
    Never,
}

#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Columns of a line.
    pub width: usize,
    pub is_colored: bool,
    clock: Option<Clock>,
}

/// Sets what standard output can show. Only the first call has an effect.
pub fn set_screen(color: ColorChoice, clock: Clock) {
    let out = std::io::stdout();
    let is_terminal = out.is_terminal();
    let columns = tcgetwinsize(&out).ok().filter(|_| is_terminal).map(|size| usize::from(size.ws_col));
    let screen = Screen {
        width: columns
            .filter(|columns| *columns > 0)
            .map_or(PLAIN_WIDTH, |columns| columns.clamp(WIDTH_MIN, WIDTH_MAX)),
        is_colored: is_colored(color, is_terminal, variable),
        clock: Some(clock),
    };
    SCREEN.get_or_init(|| screen);
}

/// The screen that was set.
pub fn screen() -> Screen {
    SCREEN.get().copied().unwrap_or(Screen { width: PLAIN_WIDTH, is_colored: false, clock: None })
}

/// An instant of a view as people read it: local time and how long ago. A text that is no instant stays as it is.
pub fn when(text: &str) -> String {
    match (Instant::parse(text), screen().clock) {
        (Ok(at), Some(clock)) => time::with_age(at, clock.now().at, &TimeZone::system()),
        (Ok(_) | Err(_), _) => text.to_owned(),
    }
}

/// A sentence of the core with its instants in local time.
pub fn sentence(text: &str) -> Cow<'_, str> {
    screen().clock.map_or(Cow::Borrowed(text), |clock| local_time::in_sentence(text, clock.now().at))
}

/// An instant of a view in a list of events: local date and time, always as wide.
pub fn stamp(text: &str) -> String {
    match (Instant::parse(text), screen().clock) {
        (Ok(at), Some(_)) => time::stamp(at, &TimeZone::system()),
        (Ok(_) | Err(_), _) => text.to_owned(),
    }
}

/// `NO_COLOR` and `CLICOLOR_FORCE` as <https://no-color.org> and <https://bixense.com/clicolors> define them.
fn is_colored(color: ColorChoice, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| variable(name).is_some_and(|found| found == value);
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if variable("NO_COLOR").is_some() => false,
        ColorChoice::Auto if variable("CLICOLOR_FORCE").is_some_and(|force| force != "0") => true,
        ColorChoice::Auto => is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_environment_and_the_environment_over_the_terminal() {
        let with = |color, is_terminal, set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            is_colored(color, is_terminal, find)
        };
        assert!(with(ColorChoice::Auto, true, &[]));
        assert!(!with(ColorChoice::Auto, false, &[]));
        assert!(!with(ColorChoice::Auto, true, &[("NO_COLOR", "1")]));
        assert!(!with(ColorChoice::Auto, true, &[("TERM", "dumb")]));
        assert!(!with(ColorChoice::Auto, true, &[("CLICOLOR", "0")]));
        assert!(with(ColorChoice::Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!with(ColorChoice::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!with(ColorChoice::Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(with(ColorChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!with(ColorChoice::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }
}
