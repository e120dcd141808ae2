//! Texts about a slice; they are seed 000's texts where the seed has them.

use super::{Attempted, Slice, TestName, TestState, Trip, TripCause, form};
use crate::counted;
use crate::{CircuitName, Reason, Retry, Verdict, shorten};

/// Limit on the paths that one sentence names.
const PATHS_SHOWN_MAX: usize = 5;
/// Limit on the scope entries that a denial names.
const ENTRIES_SHOWN_MAX: usize = 8;
/// Limit, in characters, on text that haltline quotes, so that a message fits a screen.
const QUOTED_CHARS_MAX: usize = 400;

/// Why a circuit opened.
pub fn trip_text(trip: &Trip) -> String {
    match &trip.cause {
        TripCause::Test { test, failed } => format!("test {test} failed {}", counted(*failed, "time")),
        TripCause::Slice => {
            format!("{} failed across all tests of the slice", counted(trip.total_failed_attempts, "attempt"))
        }
        TripCause::Architecture { description } => format!("ARCH-STOP: {}", one_line(description)),
    }
}

/// The message for a request while the slice is OPEN. The count makes each denial's text different (E5).
pub(super) fn stopped(trip: &Trip, denials: u32) -> String {
    let since = trip.since.at.to_seconds_text();
    let again = match denials {
        0 => String::new(),
        1 => " haltline has denied one attempt since.".to_owned(),
        times => format!(" haltline has denied {times} attempts since."),
    };
    format!(
        "HALTLINE {}: CIRCUIT BREAK since {since}: {}.{again} Stop working on this slice. Fill in the report that `haltline attempt report` prints, and tell the person. Only a person can reset the slice.",
        trip.cause.code(),
        trip_text(trip)
    )
}

pub(super) fn tried_before(test: &TestName, tried: &Attempted) -> String {
    let at = tried.at.to_seconds_text();
    format!(
        "HALTLINE HL-ATTEMPT-06: an agent tried this strategy on {test} at {at}, and it failed. Try something else."
    )
}

pub(super) fn blocked(test: &TestName, state: &TestState) -> String {
    let summary = state.last().map(|attempt| attempt.summary.as_str()).filter(|summary| !summary.is_empty());
    format!(
        "HALTLINE HL-ATTEMPT-05: {test} did not run {} times in a row, so haltline counted nothing{}. Fix what blocks it before you continue, or tell the person.",
        state.infrastructure_in_a_row,
        summary.map(|summary| format!(": {}", one_line(summary).trim_end_matches('.'))).unwrap_or_default()
    )
}

pub(super) fn changed_out_of_scope(paths: &[String]) -> String {
    format!(
        "HALTLINE HL-ATTEMPT-07: files outside the slice's scope changed without a justification: {}. Undo the change, or justify it: `haltline attempt scope --help`. The report lists it.",
        listed(paths)
    )
}

/// The denial of a change, with the form that would allow it.
pub(super) fn out_of_scope(name: &CircuitName, slice: &Slice, path: &str) -> String {
    let id = name.scope().split('@').next().unwrap_or_default();
    format!(
        "HALTLINE HL-ATTEMPT-04: {} is outside the scope of slice {id}. {} If a failing test needs this change, fill in the form and run `haltline attempt scope --slice {id} --justify - {}` with the form on standard input:\n{}If you cannot justify the change honestly, do not make it: `haltline attempt deviate --slice {id} --rule 4 --description \"…\"`. If you try again without a justification, haltline stops the slice.",
        one_line(path),
        one_line(&slice.scope.sentence(ENTRIES_SHOWN_MAX)),
        for_shell(path),
        form(path)
    )
}

pub(super) fn unjustifiable(path: &str) -> String {
    format!("{path} is outside the scope, and nothing can justify a change of it")
}

pub(super) fn denied_again(path: &str) -> String {
    format!("{path} is outside the scope, and the agent tried again to change it without a justification")
}

pub(super) fn denied_too_often(paths: usize) -> String {
    format!("{paths} other files are outside the scope, and the agent tried to change them without a justification")
}

pub(super) fn justified_too_often(paths: usize) -> String {
    format!("{paths} files outside the scope have a justification already, so the scope does not fit the work")
}

fn listed(paths: &[String]) -> String {
    let shown: Vec<String> = paths.iter().take(PATHS_SHOWN_MAX).map(|path| quoted(path)).collect();
    match paths.len().saturating_sub(PATHS_SHOWN_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A path for people to read.
fn quoted(path: &str) -> String {
    if is_plain(path) && path.len() <= 120 { path.to_owned() } else { shorten(path) }
}

/// A path quoted for a shell.
fn for_shell(path: &str) -> String {
    if is_plain(path) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

fn is_plain(path: &str) -> bool {
    !path.is_empty() && path.chars().all(|letter| letter.is_alphanumeric() || "/._-+@,".contains(letter))
}

/// A text on one line, cut at the limit for quoted text.
fn one_line(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The block of earlier attempts for a new implementer (A7); `None` if there are none.
pub fn prior_attempts(slice: &Slice) -> Option<String> {
    let last = slice.priors.last()?;
    let mut block = format!("Circuit tripped after {} total failed attempts.\n", last.total_failed_attempts);
    for prior in &slice.priors {
        for tried in &prior.tests {
            block.push_str(&format!("\nFor test \"{}\":\n- what was tried:\n", tried.test));
            for (number, attempt) in (1..).zip(&tried.attempts) {
                let strategy = Some(one_line(&attempt.strategy)).filter(|strategy| !strategy.is_empty());
                let strategy = strategy.unwrap_or_else(|| "(not said)".to_owned());
                block.push_str(&format!("  {number}. {strategy}"));
                if !attempt.files.is_empty() {
                    block.push_str(&format!(" [{}]", listed(&attempt.files)));
                }
                if !attempt.summary.is_empty() {
                    block.push_str(&format!(" -> {}", one_line(&attempt.summary)));
                }
                block.push('\n');
            }
            if let Some(report) = &tried.report {
                block.push_str(&format!("- expectation: {}\n", folded(&report.test_expectation)));
                block.push_str(&format!("- hypothesis: {}\n", folded(&report.best_hypothesis)));
                block.push_str(&format!("- question: {}\n", folded(&report.specific_question)));
            }
            block.push_str(&format!("- guidance: {}\n", folded(&prior.guidance)));
        }
        if prior.tests.is_empty() {
            block.push_str(&format!("\n- guidance: {}\n", folded(&prior.guidance)));
        }
    }
    block.push_str("\nDo not repeat these strategies.");
    block.push_str(match last.is_rolled_back {
        true => " The changes of these attempts are no longer in the work tree.",
        false => " Nobody restored the work tree: changes of these attempts may still be in it.",
    });
    // Text that an agent or a person wrote must not close the block.
    let block = block.replace("prior_attempts>", "prior_attempts >");
    Some(format!("<prior_attempts>\n{block}\n</prior_attempts>\n"))
}

/// Warns a new session about the attempts before it (A7), with one block for each slice that has any.
pub fn warn_of_prior_attempts(slices: &[(CircuitName, Slice)]) -> Verdict {
    let blocks: Vec<(&CircuitName, String)> =
        slices.iter().filter_map(|(name, slice)| Some((name, prior_attempts(slice)?))).collect();
    let Some((circuit, _)) = blocks.first() else { return Verdict::Pass };
    let circuit = (*circuit).clone();
    let text = blocks.into_iter().map(|(_, block)| block).collect::<Vec<_>>().join("\n");
    Verdict::Warn(Reason { circuit, code: "HL-ATTEMPT-08", text, retry: Retry::Now })
}

/// Keeps the lines of a text, indented as part of its list item.
fn folded(text: &str) -> String {
    text.trim().lines().collect::<Vec<_>>().join("\n  ")
}
