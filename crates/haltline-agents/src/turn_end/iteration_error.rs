//! The error of an iteration: what the client reports, or the last lines of a program that failed.
//!
//! A program that exits with 0 and does not report a failure has not failed, no matter what its output says about
//! errors.

use crate::headless::{Ending, HeadlessReport};
use crate::terminal_text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterationError {
    /// `hook`, `api_limit`, `api`, `max_turns`, a client's own name for the error, `exit_N` or `signal_N`.
    pub kind: String,
    /// The message of the client or the program; it may be empty.
    pub message: String,
}

/// How many lines of an output are kept, and how many bytes of them.
const LINES_MAX: usize = 10;
const BYTES_MAX: usize = 2048;
const SEARCHED_BYTES_MAX: usize = 64 << 10;

/// Lines that package managers and clients print no matter what happens.
const NOISE: [&str; 6] = [
    "npm warn",
    "npm notice",
    "(node:",
    "(use `node --trace",
    "reading additional input from stdin",
    "reading prompt from stdin",
];

/// The error of an iteration. `exit` is the program's exit code; a negative number is the signal that ended it; `None`
/// means that the process that ran it ended it.
pub fn iteration_error(report: &HeadlessReport, stderr_tail: &str, exit: Option<i32>) -> Option<IterationError> {
    let error = |kind: &str, message: &str| Some(IterationError { kind: kind.to_owned(), message: message.to_owned() });
    match &report.ending {
        Ending::Hook { reason } => error("hook", reason.as_deref().unwrap_or("a hook stopped the agent")),
        Ending::ApiLimit { message, .. } => error("api_limit", message),
        Ending::Infrastructure { message } => error("api", message),
        Ending::Turns => error("max_turns", "it used up the turns it was given"),
        Ending::Failed { kind, message } => error(kind, message),
        Ending::Finished | Ending::Silent => {
            let kind = exit.and_then(exit_kind)?;
            let errors = last_lines(stderr_tail);
            error(&kind, if errors.is_empty() { last_lines(&report.text) } else { errors }.as_str())
        }
    }
}

fn exit_kind(exit: i32) -> Option<String> {
    match exit {
        0 => None,
        ..0 => Some(format!("signal_{}", exit.unsigned_abs())),
        // A shell reports the signal that ended its command like this.
        129 | 130 | 131 | 134 | 137 | 139 | 141 | 142 | 143 => Some(format!("signal_{}", exit - 128)),
        _ => Some(format!("exit_{exit}")),
    }
}

/// The last lines that are not noise.
fn last_lines(text: &str) -> String {
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(SEARCHED_BYTES_MAX))..];
    let mut kept: Vec<String> = Vec::new();
    let mut bytes = 0;
    for line in text.lines().rev() {
        let line = terminal_text::visible_text(line);
        let line = line.trim_end();
        if is_noise(line) {
            continue;
        }
        bytes += line.len() + 1;
        if kept.len() == LINES_MAX || (bytes > BYTES_MAX && !kept.is_empty()) {
            break;
        }
        kept.push(line[..line.floor_char_boundary(BYTES_MAX)].to_owned());
    }
    kept.reverse();
    kept.join("\n")
}

fn is_noise(line: &str) -> bool {
    let lower = line.trim_start().get(..40.min(line.trim_start().len())).unwrap_or_default().to_lowercase();
    !line.chars().any(char::is_alphanumeric) || NOISE.iter().any(|noise| lower.starts_with(noise))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ending: Ending, text: &str) -> HeadlessReport {
        HeadlessReport { ending, text: text.to_owned(), ..HeadlessReport::default() }
    }

    fn kind_and_message(report: &HeadlessReport, stderr: &str, exit: Option<i32>) -> Option<(String, String)> {
        iteration_error(report, stderr, exit).map(|complaint| (complaint.kind, complaint.message))
    }

    fn error(kind: &str, message: &str) -> Option<(String, String)> {
        Some((kind.to_owned(), message.to_owned()))
    }

    #[test]
    fn a_program_that_exits_with_0_has_not_failed_whatever_it_prints() {
        for words in ["\"is_error\": false", "error: handled\n", "Traceback (most recent call last):", "0 errors"] {
            assert_eq!(
                iteration_error(&report(Ending::Silent, words), "warning: error in a name", Some(0)),
                None,
                "{words}"
            );
            assert_eq!(iteration_error(&report(Ending::Finished, words), "", Some(0)), None, "{words}");
            assert_eq!(iteration_error(&report(Ending::Silent, words), "", None), None, "{words}");
        }
    }

    #[test]
    fn the_clients_account_comes_before_the_exit_code() {
        let hook = Ending::Hook { reason: Some("open".to_owned()) };
        assert_eq!(kind_and_message(&report(hook, "x"), "y", Some(0)), error("hook", "open"));
        let api = Ending::Infrastructure { message: "529".to_owned() };
        assert_eq!(kind_and_message(&report(api, "x"), "y", Some(1)), error("api", "529"));
        let failed = Ending::Failed { kind: "prompt_too_long".to_owned(), message: "long".to_owned() };
        assert_eq!(kind_and_message(&report(failed, ""), "", Some(1)), error("prompt_too_long", "long"));
    }

    #[test]
    fn a_failed_program_is_quoted_by_its_last_lines() {
        let stderr = "npm warn old\n\u{1b}[31merror\u{1b}[0m: no such file\n\n   \n-----\nnpm notice new version\n";
        assert_eq!(
            kind_and_message(&report(Ending::Silent, "out"), stderr, Some(2)),
            error("exit_2", "error: no such file")
        );
        assert_eq!(kind_and_message(&report(Ending::Silent, "out\n"), "\n", Some(-9)), error("signal_9", "out"));
        assert_eq!(kind_and_message(&report(Ending::Finished, ""), "", Some(137)), error("signal_9", ""));
        let many: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let (_, message) = kind_and_message(&report(Ending::Silent, ""), &many, Some(1)).expect("an error");
        assert_eq!((message.lines().count(), message.lines().last()), (10, Some("line 99")));
        let long = "ü".repeat(5000);
        let (_, message) = kind_and_message(&report(Ending::Silent, &long), "", Some(1)).expect("an error");
        assert!(message.len() <= 2048 && !message.is_empty());
    }
}
