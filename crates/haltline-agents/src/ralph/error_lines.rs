//! Which error an agent's output tells of, for a caller who only says that there was one.

use std::collections::BTreeMap;

use haltline_core::identity::Digest;
use haltline_core::phase::ErrorSeen;

use crate::terminal_text::shown;

/// So many different lines make an error; what follows them is mostly its consequence.
const LINES_MAX: usize = 50;
/// The longest line that is looked at, in bytes.
const LINE_BYTES_MAX: usize = 4096;

/// The error of an output: its lines that look like errors, each once and in whatever order they came. The same
/// lines with other times, numbers of processes and durations are the same error. `None` where no line looks like one.
pub fn error_of(output: &str) -> Option<ErrorSeen> {
    let mut lines: BTreeMap<Digest, String> = BTreeMap::new();
    let mut first = None;
    for line in output.lines() {
        let line = shown(line);
        let line = line.trim();
        if line.len() > LINE_BYTES_MAX || !looks_like_error(line) || has_error_field(line) {
            continue;
        }
        let seen = ErrorSeen::new("", line);
        let Some(normal) = seen.mark.normal else { continue };
        first.get_or_insert(seen.shown);
        lines.entry(normal).or_insert_with(|| line.to_owned());
        if lines.len() == LINES_MAX {
            break;
        }
    }
    let first = first?;
    let message = lines.into_values().collect::<Vec<_>>().join("\n");
    Some(ErrorSeen { shown: first, ..ErrorSeen::new("", &message) })
}

/// The lines Ralph takes for errors, and those of compilers and languages it leaves out.
fn looks_like_error(line: &str) -> bool {
    const ANYWHERE: [&str; 10] = [
        "]: error",
        ": error:",
        ": error ",
        "Link: error",
        "Error occurred",
        "failed with error",
        "exception",
        "Exception",
        "Fatal",
        "FATAL",
    ];
    let named = line.split_once(':').map_or("", |(name, _)| name);
    let is_name =
        |name: &str| !name.contains(char::is_whitespace) && (name.ends_with("Error") || name.ends_with("ERROR"));
    let begins = ["error:", "error[", "fatal:", "panic:"].iter().any(|start| line.starts_with(start));
    begins || is_name(named) || ANYWHERE.iter().any(|mark| line.contains(mark)) || line.contains("' panicked at ")
}

/// Whether a JSON field with `error` in its name stands in the line: `"is_error": false` is no error.
fn has_error_field(line: &str) -> bool {
    let parts: Vec<&str> = line.split('"').collect();
    // Between two quotes, and behind the second; where a text ends the next one may as well begin.
    parts.windows(2).skip(1).any(|pair| pair[0].contains("error") && pair[1].trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        match (error_of(one), error_of(other)) {
            (Some(one), Some(other)) => one.mark.is_same(&other.mark),
            (Some(_) | None, _) => panic!("no error in {one:?} or {other:?}"),
        }
    }

    #[test]
    fn the_same_error_at_another_time_is_the_same_and_another_one_is_not() {
        let first = "starting\nERROR: no answer at 10:00:00\nError: port 8080 in use (pid 4711) after 1.2s\n";
        let later = "warming up\nError: port 8080 in use (pid 5822) after 3.9s\nERROR: no answer at 11:30:12\n";
        assert!(same("Error: connect failed at 10:00:01", "Error: connect failed at 10:07:44"));
        assert!(!same("Error: connect failed", "Error: disk full"));
        assert!(!same("Error: cannot find src/a.rs", "Error: cannot find src/b.rs"));
        assert!(same(first, later));
    }

    #[test]
    fn order_and_repeats_of_lines_do_not_matter() {
        assert!(same("Error: a\nnoise\nFatal: b\nError: a\n", "Fatal: b\nError: a\n"));
        assert!(!same("Error: a\nFatal: b", "Error: a"));
    }

    #[test]
    fn fields_of_json_and_talk_about_errors_are_none() {
        for quiet in [
            "",
            "all tests passed",
            "\"is_error\": false,",
            "{\"error_count\":0,\"note\":\"Exception handling added\"}",
            "{\"a\":\"b\",\"last_error\" : null, \"text\":\"Fatal\"}",
            "I fixed the error in the parser",
            "diff --git a/src/error.rs b/src/error.rs",
            "+export class ErrorHandler {",
        ] {
            assert_eq!(error_of(quiet), None, "{quiet:?}");
        }
        for loud in [
            "Error: build failed",
            "\u{1b}[31merror\u{1b}[0m: linking failed",
            "error[E0308]: mismatched types",
            "src/main.c:3:5: error: expected ';'",
            "TypeError: x is not a function",
            "java.lang.IllegalStateException: closed",
            "[build]: error while copying",
            "thread 'main' panicked at src/main.rs:3:5:",
            "fatal: not a git repository",
        ] {
            assert!(error_of(loud).is_some(), "{loud:?}");
        }
    }

    #[test]
    fn any_text_is_read_in_time() {
        let odd =
            "\"".repeat(200_000) + "\nException " + &"x".repeat(10_000) + "\n" + &"Error: \"error\n".repeat(20_000);
        assert!(error_of(&odd).is_some());
    }
}
