//! A fast parser for the two commands that run around every action, `constraint check` and `constraint record`.
//!
//! Building the whole clap command line took a third of the time of a `check`. Only the plain spelling is handled
//! here; clap handles everything else, including every mistake.

use crate::cli::{Arguments, Command, Constraint, Record};
use crate::front::text::ColorChoice;

/// Parses the arguments if they spell a plain `check` or `record`; otherwise returns `None` and clap must parse them.
pub fn recognise(args: &[&str]) -> Option<Arguments> {
    let (args, is_json) = match args {
        [rest @ .., "--json"] => (rest, true),
        all => (all, false),
    };
    let constraint = match args {
        ["constraint", "check", id] => Constraint::Check { id: plain(id)? },
        ["constraint", "record", id, "--action", action] => {
            Constraint::Record(Record { id: plain(id)?, action: plain(action)?, session: None })
        }
        ["constraint", "record", id, "--action", action, "--session", session] => {
            Constraint::Record(Record { id: plain(id)?, action: plain(action)?, session: Some(plain(session)?) })
        }
        _anything_else => return None,
    };
    Some(Arguments { folder: None, is_json, color: ColorChoice::Auto, command: Command::Constraint(constraint) })
}

/// Returns the argument unless it could be an option.
fn plain(arg: &str) -> Option<String> {
    (!arg.starts_with('-')).then(|| arg.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn recognised_arguments_mean_the_same_to_clap() {
        let lines: [&[&str]; 8] = [
            &["constraint", "check", "a"],
            &["constraint", "check", "a", "--json"],
            &["constraint", "check", ""],
            &["constraint", "record", "a", "--action", "git push --force"],
            &["constraint", "record", "a", "--action", "x", "--json"],
            &["constraint", "record", "a", "--action", "x", "--session", "s"],
            &["constraint", "record", "a", "--action", "x", "--session", "s", "--json"],
            &["constraint", "record", "a", "--action", ""],
        ];
        for line in lines {
            let ours = recognise(line).expect("plain");
            let theirs = Arguments::try_parse_from(std::iter::once(&"haltline").chain(line)).expect("valid");
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        }
    }

    #[test]
    fn anything_unusual_is_left_to_clap() {
        let lines: [&[&str]; 8] = [
            &[],
            &["constraint", "check"],
            &["constraint", "check", "--help"],
            &["constraint", "check", "a", "b"],
            &["--json", "constraint", "check", "a"],
            &["constraint", "record", "a", "--action", "--force"],
            &["constraint", "record", "--action", "x", "a"],
            &["constraint", "status", "a"],
        ];
        assert!(lines.iter().all(|line| recognise(line).is_none()));
    }
}
