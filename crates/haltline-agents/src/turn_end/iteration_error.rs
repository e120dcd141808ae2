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
        Ending::Turns => error("max_turns", "it used up its turns"),
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
