//! The two commands that run around every action, recognised without building the whole command line.
//!
//! Building it was a third of a `check`. Only the plain spelling is known here; anything else, and every mistake, is
//! clap's.

use crate::cli::{Arguments, Command, Constraint, Record};

/// The arguments, where they spell a plain `check` or `record`.
pub fn recognise(words: &[&str]) -> Option<Arguments> {
    let (words, is_json) = match words {
        [rest @ .., "--json"] => (rest, true),
        all => (all, false),
    };
    let constraint = match words {
        ["constraint", "check", id] => Constraint::Check { id: plain(id)? },
        ["constraint", "record", id, "--action", action] => {
            Constraint::Record(Record { id: plain(id)?, action: plain(action)?, session: None })
        }
        ["constraint", "record", id, "--action", action, "--session", session] => {
            Constraint::Record(Record { id: plain(id)?, action: plain(action)?, session: Some(plain(session)?) })
        }
        _anything_else => return None,
    };
    Some(Arguments { folder: None, is_json, command: Command::Constraint(constraint) })
}

/// A word that cannot be taken for an option.
fn plain(word: &str) -> Option<String> {
    (!word.starts_with('-')).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn what_is_recognised_means_the_same_to_clap() {
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
