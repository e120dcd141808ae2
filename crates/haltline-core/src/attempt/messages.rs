//! Texts about a slice; they are seed 000's texts where the seed has them.

use super::{Attempted, Slice, TestName, TestState, Trip, TripCause, form};
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
        TripCause::Test { test, failed } => format!("test {test} failed {failed} times"),
        TripCause::Slice => format!("{} attempts failed across all tests of the slice", trip.total_failed_attempts),
        TripCause::Architecture { description } => format!("ARCH-STOP: {}", one_line(description)),
    }
}

/// The message for a request while the slice is OPEN. The count makes each denial's text different (E5).
pub(super) fn stopped(trip: &Trip, denials: u32) -> String {
    let since = trip.since.at.to_seconds_text();
    let again = match denials {
        0 => String::new(),
        1 => " Refused once since.".to_owned(),
        times => format!(" Refused {times} times since."),
    };
    format!(
        "HALTLINE {}: CIRCUIT BREAK since {since}: {}.{again} Stop working on this slice. Fill in the report that `haltline attempt report` prints, and tell the person; only a person resets it, with guidance.",
        trip.cause.code(),
        trip_text(trip)
    )
}

pub(super) fn tried_before(test: &TestName, tried: &Attempted) -> String {
    let at = tried.at.to_seconds_text();
    format!("HALTLINE HL-ATTEMPT-06: this strategy was tried on {test} at {at} and failed. Try something else.")
}

pub(super) fn blocked(test: &TestName, state: &TestState) -> String {
    let summary = state.last().map(|attempt| attempt.summary.as_str()).filter(|summary| !summary.is_empty());
    format!(
        "HALTLINE HL-ATTEMPT-05: {test} could not be run {} times in a row, so nothing was counted{}. Mend what blocks it before you go on (deviation rule 3), or tell the person.",
        state.infrastructure_in_a_row,
        summary.map(|summary| format!(": {}", one_line(summary).trim_end_matches('.'))).unwrap_or_default()
    )
}

pub(super) fn changed_out_of_scope(paths: &[String]) -> String {
    format!(
        "HALTLINE HL-ATTEMPT-07: changed outside the slice's scope without asking: {}. Undo it, or justify it: `haltline attempt scope --help`. It stands in the report.",
        listed(paths)
    )
}

/// The denial of a change, with the form that would allow it.
pub(super) fn out_of_scope(name: &CircuitName, slice: &Slice, path: &str) -> String {
    let id = name.scope().split('@').next().unwrap_or_default();
    format!(
        "HALTLINE HL-ATTEMPT-04: {} is outside the scope of slice {id}. {} If a failing test needs this change, fill in the form and run `haltline attempt scope --slice {id} --justify - {}` with it on standard input:\n{}If no honest justification can be written, do not make the change: `haltline attempt deviate --slice {id} --rule 4 --description \"…\"`. Asking again without one is an architectural stop.",
        one_line(path),
        one_line(&slice.scope.sentence(ENTRIES_SHOWN_MAX)),
        for_shell(path),
        form(path)
    )
}

pub(super) fn unjustifiable(path: &str) -> String {
    format!("{path} lies outside the scope and nothing can justify changing it")
}

pub(super) fn denied_again(path: &str) -> String {
    format!("{path} lies outside the scope and was to be changed again without a justification")
}

pub(super) fn denied_too_often(paths: usize) -> String {
    format!("{paths} other files outside the scope were to be changed without a justification")
}

pub(super) fn justified_too_often(paths: usize) -> String {
    format!("{paths} files outside the scope are justified already, so the scope does not fit the work")
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
        true => " The changes of these attempts are no longer in the tree.",
        false => " The tree was not taken back: changes of these attempts may still be in it.",
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
