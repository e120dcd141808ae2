//! Plain text output: 80 columns, readable without colour, the same through a pipe.

mod attempt;
mod backtest;
mod claim;
mod claim_ledger;
mod config;
mod constraint;
mod doctor;
mod escape;
mod incident;
mod install;
mod journal;
mod memory;
mod phase;
mod ralph;
mod session;
mod status;

use std::path::Path;

use haltline_engine::store::Salvage;

pub use attempt::{attempt_answer, attempt_history, attempt_scope, attempt_status};
pub use backtest::{backtest, why_replay};
pub use claim::{claim_answer, claim_list, claim_show};
pub use claim_ledger::claim_ledger;
pub use config::{config_check, config_path, config_show};
pub use constraint::{all, change, check, configuration, history, one};
pub use doctor::doctor;
pub use escape::{escape_line, escape_lines};
pub use incident::{circuits, false_positives, why};
pub use install::{init, init_done, uninstall};
pub use journal::{show, verify};
pub use memory::{memory_clean, memory_report};
pub use phase::{open_block, phase_answer, phase_history, phase_report, phase_status};
pub use ralph::{ralph_halt, ralph_reset, ralph_status};
pub use session::sessions;
pub use status::{status, trust};

use crate::error::Failure;

/// Maximum width of a line.
const WIDTH: usize = 80;

/// Prints why a command failed to standard error.
pub fn print_failure(failure: &Failure) {
    match failure {
        Failure::Silent => {}
        Failure::Plain(text) | Failure::Usage(text) | Failure::Store(text) | Failure::Closed(text) => {
            note(&format!("error: {text}"))
        }
        Failure::NotOperator(text) | Failure::Denied(text) => note(&format!("refused: {text}")),
    }
}

/// Prints a warning to standard error.
pub fn warn(text: &str) {
    note(&format!("warning: {text}"));
}

/// Prints lines to standard error.
pub fn note(text: &str) {
    eprintln!("{}", escape_lines(text));
}

/// Describes what was done about a damaged store.
pub fn salvage(salvage: &Salvage, folder: &Path) -> String {
    let Salvage { kept, circuits, latched, facts } = salvage;
    match kept {
        Some(kept) => format!(
            "the store in {} was damaged; it is kept as {} and was rebuilt with {circuits} circuits ({latched} of them from latches) and {facts} facts",
            folder.display(),
            kept.display()
        ),
        None => format!(
            "the store in {} was gone; {latched} circuits that are not CLOSED were restored from their latches",
            folder.display()
        ),
    }
}

/// A heading with a rule under it.
fn heading(text: &str) -> String {
    format!("{text}\n{}\n", "-".repeat(text.chars().count().min(WIDTH)))
}

/// Makes a text fit on one line: escapes it for the terminal and cuts it with an ellipsis.
pub fn fit(text: &str, width: usize) -> String {
    let shown = escape_line(text);
    if shown.chars().count() <= width {
        return shown.into_owned();
    }
    let mut cut: String = shown.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Formats a number with its noun: `1 violation`, `2 violations`.
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Breaks a sentence into lines of at most 80 columns; later lines are indented to the width of the label.
fn wrap(label: &str, text: &str) -> String {
    let indent = label.chars().count();
    let mut out = String::from(label);
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_or_odd_texts_fit_on_one_line() {
        assert_eq!(fit("short", 10), "short");
        assert_eq!(fit("0123456789abc", 10), "012345678…");
        assert_eq!(fit("a\nb\u{1b}[31m", 20), "a\\nb\\u{1b}[31m");
    }

    #[test]
    fn sentences_wrap_at_eighty_columns_under_their_label() {
        let text = wrap("Reason:  ", &"word ".repeat(30));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("         word")), "{text}");
    }
}
