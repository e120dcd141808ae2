//! Text of slices and attempts.

use haltline_core::attempt::TestResult;

use super::{Page, audited, count, fit, join, sentence, stamp, when};
use crate::view::attempt::{
    AttemptAnswerView, AttemptVerb, AttemptView, RollbackView, ScopeAnswerView, SliceHistoryView, SliceView, TestView,
};

/// Width of the labels.
const LABEL: usize = 12;
/// How many files are listed on a line.
const FILES_SHOWN_MAX: usize = 5;
/// How many lines of an error are shown.
const ERROR_LINES_MAX: usize = 12;

/// The screen of an open slice, with the next steps as commands (seed 000).
fn push_circuit_break(page: &mut Page, slice: &SliceView) {
    let Some(trip) = &slice.trip else { return };
    let id = &slice.slice;
    page.heading(format_args!("CIRCUIT BREAK -- Slice {id}"));
    page.field("Why:", format_args!("{} ({})", trip.reason, trip.code));
    page.row("Since:", format_args!("{}, incident {}", when(&trip.since), trip.incident));
    let failed = &slice.total_failed_attempts;
    page.row("Failed:", format_args!("{} of {} attempts in this slice", failed.count, failed.threshold));
    for test in slice.tests.iter().filter(|test| test.attempt_count > 0) {
        page.blank();
        push_failing(page, test);
    }
    if !slice.reports_owed.is_empty() {
        page.blank();
        page.field("Owed:", format_args!("a report on {}", slice.reports_owed.join(", ")));
        page.row("", format_args!("haltline attempt report --slice {id} > report.yaml"));
    }
    page.blank();
    page.row("Checkpoint:", slice.checkpoint_tag.as_deref().unwrap_or("none: there was no git"));
    page.line(format_args!(
        "\nA person decides:\n  1) give guidance and retry (rollback to the checkpoint, fresh implementer)\n     haltline attempt reset --slice {id} --hint TEXT\n  2) have somebody debug it; everything that is known:\n     haltline attempt report --slice {id}\n  3) pause and look at it yourself, restore the work tree, or give the slice up\n     haltline attempt rollback --slice {id}\n     haltline attempt end --slice {id} --give-up"
    ));
}

fn push_failing(page: &mut Page, test: &TestView) {
    page.field("Test:", format_args!("{} ({})", test.test_name, count(test.attempt_count, "failure")));
    let failed = test.attempts.iter().filter(|attempt| attempt.result == TestResult::Fail && !attempt.is_stale);
    let failed: Vec<&AttemptView> = failed.collect();
    let counted = failed.len().saturating_sub(test.attempt_count as usize);
    for (number, attempt) in (1..).zip(&failed[counted..]) {
        push_attempt(page, number, attempt, "");
    }
    push_error(page, &test.last_error);
}

fn push_attempt(page: &mut Page, number: u64, attempt: &AttemptView, end: &str) {
    let strategy = if attempt.strategy.is_empty() { "(no strategy said)" } else { &attempt.strategy };
    let files = files(attempt).map(|files| format!(" [{files}]")).unwrap_or_default();
    let summary =
        if attempt.summary.is_empty() { String::new() } else { format!(" -> {}", fit(&attempt.summary, 120)) };
    page.wrapped(&format!("  {number}. "), format_args!("{strategy}{files}{summary}{end}"));
}

fn files(attempt: &AttemptView) -> Option<String> {
    let shown = &attempt.files[..attempt.files.len().min(FILES_SHOWN_MAX)];
    let more = (attempt.files.len() - shown.len()) as u64 + attempt.files_more;
    match (shown, more) {
        ([], _) => None,
        (shown, 0) => Some(join(shown)),
        (shown, more) => Some(format!("{} and {more} more", join(shown))),
    }
}

fn push_error(page: &mut Page, error: &str) {
    let lines: Vec<&str> = error.trim_end().lines().collect();
    let from = lines.len().saturating_sub(ERROR_LINES_MAX);
    page.lines(lines[from..].iter().map(|line| format!("  | {}", fit(line, 76))));
}

/// `attempt begin`, `check`, `run`, `record`, `deviate`, `rollback`, `reset` and `end`.
pub fn attempt_answer(view: &AttemptAnswerView) -> String {
    let (slice, verb) = (&view.slice, view.answer.verb);
    let mut page = Page::new(LABEL);
    if let (Some(attempt), Some(test)) = (&view.attempt, &view.test) {
        push_recorded(&mut page, attempt, test, slice);
    }
    if let Some(rollback) = &view.rollback {
        push_rollback(&mut page, rollback);
    }
    let is_break =
        slice.trip.is_some() && !matches!(verb, AttemptVerb::Rollback | AttemptVerb::Reset | AttemptVerb::End);
    match &view.answer.reason {
        _ if is_break => push_circuit_break(&mut page, slice),
        Some(reason) => page.field("Note:", sentence(&reason.text)),
        None => {}
    }
    if view.attempt.is_none() && !is_break {
        push_summary(&mut page, verb, slice);
    }
    page.rows("By:", view.audit.as_ref().map(audited));
    if let Some(prior) = &view.prior_attempts {
        page.blank();
        page.block(prior);
    }
    page.finish()
}

fn push_recorded(page: &mut Page, attempt: &AttemptView, test: &str, slice: &SliceView) {
    let state = slice.tests.iter().find(|known| known.test_name == test);
    let failed = state.map_or(0, |state| state.attempt_count);
    let declared = if attempt.is_declared { ", declared by hand" } else { "" };
    let outcome = match attempt.result {
        TestResult::Pass => "passed".to_owned(),
        TestResult::Fail => format!("failed: {failed} of 3"),
        TestResult::Infra => "did not run: infrastructure, not counted".to_owned(),
        TestResult::Unclear => "unclear whether it ran: not counted".to_owned(),
    };
    let stale = if attempt.is_stale { "; it began before a person decided, so it does not count" } else { "" };
    page.field("Test:", test);
    page.field("Result:", format_args!("{outcome}{declared}{stale}"));
    if !attempt.summary.is_empty() {
        page.field("Runner:", &attempt.summary);
    }
    if let Some(files) = files(attempt) {
        page.field("Changed:", files.trim_matches(['[', ']']));
    }
    let total = &slice.total_failed_attempts;
    page.row("Slice:", format_args!("{}, {} of {} failures", slice.slice, total.count, total.threshold));
}

fn push_summary(page: &mut Page, verb: AttemptVerb, slice: &SliceView) {
    let total = &slice.total_failed_attempts;
    page.row("Slice:", &slice.slice);
    page.row("State:", slice.state);
    page.row("Failed:", format_args!("{} of {}", total.count, total.threshold));
    if verb == AttemptVerb::Begin {
        push_scope(page, slice);
        page.row("Checkpoint:", slice.checkpoint_tag.as_deref().unwrap_or("none: you will not be able to roll back"));
    }
}

fn push_scope(page: &mut Page, slice: &SliceView) {
    let scope = &slice.scope;
    if scope.lock == "off" {
        page.row("Scope:", "lock off: nothing says what is in scope");
    } else if scope.entries.is_empty() {
        page.row("Scope:", "nothing is in scope: every change needs a justification");
    }
    page.fields("Scope:", scope.entries.iter().map(|entry| format!("{} ({})", entry.path, entry.source)));
}

fn push_rollback(page: &mut Page, rollback: &RollbackView) {
    page.field("Tree:", format_args!("rolled back to {}", rollback.to));
    page.row("", format_args!("{} restored, {} removed", count(rollback.restored, "file"), rollback.removed));
    page.field("Kept:", format_args!("the earlier files, as {}", rollback.kept));
    let commits = count(rollback.commits_since, "commit");
    match (rollback.commits_since, rollback.are_commits_undone) {
        (0, _) => {}
        (_, true) => page.row("", format_args!("the branch moved back by {commits}")),
        (_, false) => {
            page.field(
                "",
                format_args!(
                    "{commits} since the checkpoint stay on the branch (--with-commits moves the branch back)"
                ),
            );
        }
    }
    rollback.left_alone.iter().for_each(|left| page.field("Left alone:", left));
}

/// `attempt status`.
pub fn attempt_status(slice: &SliceView) -> String {
    let mut page = Page::new(LABEL);
    if slice.trip.is_some() {
        push_circuit_break(&mut page, slice);
        page.blank();
        push_rest(&mut page, slice);
        return page.finish();
    }
    push_summary(&mut page, AttemptVerb::Begin, slice);
    for test in &slice.tests {
        page.blank();
        let state = match (test.attempt_count, test.is_blocked) {
            (_, true) => format!("blocked: did not run {} times in a row", test.infrastructure_in_a_row),
            (0, false) => "no failure since it last passed".to_owned(),
            (failed, false) => format!("failed {failed} of 3"),
        };
        page.field("Test:", format_args!("{}: {state}", test.test_name));
        for attempt in &test.attempts {
            push_attempt(&mut page, attempt.attempt, attempt, &format!(" ({})", attempt.result.as_str()));
        }
        if test.attempt_count > 0 {
            push_error(&mut page, &test.last_error);
        }
    }
    push_rest(&mut page, slice);
    page.finish()
}

fn push_rest(page: &mut Page, slice: &SliceView) {
    for form in &slice.justified {
        page.field("Justified:", format_args!("{}: {}", form.file, form.reason));
    }
    for path in &slice.out_of_scope_changes {
        page.field("Strayed:", format_args!("{path} changed outside the scope without a justification"));
    }
    if !slice.deviations.is_empty() {
        page.line("\n| Type | File | Description |\n|---|---|---|");
        for deviation in &slice.deviations {
            let file = deviation.file.as_deref().unwrap_or("-");
            page.line(format_args!("| [{}] | {file} | {} |", deviation.rule, deviation.description));
        }
        let stops = slice.deviations.iter().filter(|deviation| deviation.rule == "ARCH-STOP").count();
        let total = count(slice.deviations.len(), "deviation");
        page.line(format_args!("Total: {total} ({})", count(stops, "architectural stop")));
    }
    if slice.prior_tries > 0 {
        let (number, id) = (slice.prior_tries, &slice.slice);
        let tries = if number == 1 { "try" } else { "tries" };
        page.row("Before:", format_args!("{number} {tries}: haltline attempt prior --slice {id}"));
    }
}

/// `attempt scope`.
pub fn attempt_scope(view: &ScopeAnswerView) -> String {
    let mut page = Page::new(9);
    for path in &view.paths {
        let result = if path.verdict.denies() { "DENIED" } else { "ALLOWED" };
        page.field(result, format_args!("{}: {}", path.path, path.because));
        if let Some(reason) = &path.reason {
            page.blank();
            sentence(&reason.text).lines().for_each(|line| page.sentence(line));
        }
    }
    page.finish()
}

/// `attempt history`.
pub fn attempt_history(view: &SliceHistoryView) -> String {
    let mut page = Page::new(0);
    page.line(&view.circuit);
    for line in &view.history {
        page.wrapped(&format!("{}  {:<15} ", stamp(&line.at), line.kind), &line.text);
    }
    let totals = &view.totals;
    page.line(format_args!(
        "Total: {} passed, {} failed, {} not run; {}, {}",
        totals.passed,
        totals.failed,
        totals.infrastructure,
        count(totals.trips, "trip"),
        count(totals.resets, "fresh start")
    ));
    page.finish()
}
