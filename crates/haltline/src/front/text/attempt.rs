//! Text of slices and attempts.

use super::{count, fit, heading, wrap};
use crate::view::attempt::{
    AttemptAnswerView, AttemptView, RollbackView, ScopeAnswerView, SliceHistoryView, SliceView, TestView,
};

/// How many files are listed on a line.
const FILES_SHOWN_MAX: usize = 5;
/// How many lines of an error are shown.
const ERROR_LINES_MAX: usize = 12;

/// The screen of an open slice, with the next steps as commands (seed 000).
fn circuit_break(slice: &SliceView) -> String {
    let Some(trip) = &slice.trip else { return String::new() };
    let mut out = heading(&format!("CIRCUIT BREAK -- Slice {}", slice.slice));
    out.push_str(&wrap("Why:        ", &format!("{} ({})", trip.reason, trip.code)));
    out.push_str(&format!("Since:      {}, incident {}\n", trip.since, trip.incident));
    let failed = &slice.total_failed_attempts;
    out.push_str(&format!("Failed:     {} of {} attempts in this slice\n", failed.count, failed.threshold));
    for test in slice.tests.iter().filter(|test| test.attempt_count > 0) {
        out.push('\n');
        out.push_str(&failing(test));
    }
    if !slice.reports_owed.is_empty() {
        out.push('\n');
        out.push_str(&wrap("Owed:       ", &format!("a report on {}", slice.reports_owed.join(", "))));
        out.push_str(&format!("            haltline attempt report --slice {} > report.yaml\n", slice.slice));
    }
    let (id, checkpoint) = (&slice.slice, slice.checkpoint_tag.as_deref().unwrap_or("none: there was no git"));
    out.push_str(&format!("\nCheckpoint: {checkpoint}\n"));
    out.push_str(&format!(
        "\nA person decides:\n  1) give guidance and retry (rollback to the checkpoint, fresh implementer)\n     haltline attempt reset --slice {id} --guidance TEXT\n  2) have somebody debug it; everything that is known:\n     haltline attempt report --slice {id}\n  3) pause and look at it yourself, take the tree back, or give it up\n     haltline attempt rollback --slice {id}\n     haltline attempt end --slice {id} --give-up\n"
    ));
    out
}

fn failing(test: &TestView) -> String {
    let mut out = wrap("Test:       ", &format!("{} ({})", test.test_name, count(test.attempt_count, "failure")));
    let failed = test.attempts.iter().filter(|attempt| attempt.result == "fail" && !attempt.is_stale);
    let failed: Vec<&AttemptView> = failed.collect();
    let counted = failed.len().saturating_sub(test.attempt_count as usize);
    for (number, attempt) in (1..).zip(&failed[counted..]) {
        out.push_str(&attempt_line(number, attempt, ""));
    }
    out.push_str(&error(&test.last_error));
    out
}

fn attempt_line(number: u64, attempt: &AttemptView, end: &str) -> String {
    let strategy = if attempt.strategy.is_empty() { "(no strategy said)" } else { &attempt.strategy };
    let summary =
        if attempt.summary.is_empty() { String::new() } else { format!(" -> {}", fit(&attempt.summary, 120)) };
    wrap(&format!("  {number}. "), &format!("{strategy}{}{summary}{end}", files(attempt)))
}

fn files(attempt: &AttemptView) -> String {
    let shown = attempt.files.len().min(FILES_SHOWN_MAX);
    let more = (attempt.files.len() - shown) as u64 + attempt.files_more;
    match (shown, more) {
        (0, _) => String::new(),
        (_, 0) => format!(" [{}]", attempt.files.join(", ")),
        (shown, more) => format!(" [{} and {more} more]", attempt.files[..shown].join(", ")),
    }
}

fn error(error: &str) -> String {
    let lines: Vec<&str> = error.trim_end().lines().collect();
    let from = lines.len().saturating_sub(ERROR_LINES_MAX);
    lines[from..].iter().map(|line| format!("  | {}\n", fit(line, 76))).collect()
}

/// `attempt begin`, `check`, `run`, `record`, `deviate`, `rollback`, `reset` and `end`.
pub fn attempt_answer(view: &AttemptAnswerView) -> String {
    let slice = &view.slice;
    let mut out = String::new();
    if let (Some(attempt), Some(test)) = (&view.attempt, &view.test) {
        out.push_str(&recorded_attempt(attempt, test, slice));
    }
    if let Some(rollback) = &view.rollback {
        out.push_str(&rolled_back(rollback));
    }
    let is_break = slice.trip.is_some() && !matches!(view.verb, "rollback" | "reset" | "end");
    match &view.reason {
        _ if is_break => out.push_str(&circuit_break(slice)),
        Some(reason) => out.push_str(&wrap("Note:       ", &reason.text)),
        None => {}
    }
    if view.attempt.is_none() && !is_break {
        out.push_str(&summary(view.verb, slice));
    }
    if let Some(audit) = &view.audit {
        out.push_str(&format!("By:         {} at {}, journal head {}\n", audit.who, audit.when, audit.journal_head));
    }
    if let Some(prior) = &view.prior_attempts {
        out.push_str(&format!("\n{prior}"));
    }
    out
}

fn recorded_attempt(attempt: &AttemptView, test: &str, slice: &SliceView) -> String {
    let state = slice.tests.iter().find(|known| known.test_name == test);
    let failed = state.map_or(0, |state| state.attempt_count);
    let declared = if attempt.is_declared { ", declared by hand" } else { "" };
    let outcome = match attempt.result {
        "pass" => "passed".to_owned(),
        "fail" => format!("failed: {failed} of 3"),
        "infra" => "did not run: infrastructure, not counted".to_owned(),
        _unclear => "unclear whether it ran: taken as infrastructure, not counted".to_owned(),
    };
    let stale = if attempt.is_stale { "; it began before a person decided, so it counts for nothing" } else { "" };
    let mut out = wrap("Test:       ", test);
    out.push_str(&wrap("Result:     ", &format!("{outcome}{declared}{stale}")));
    if !attempt.summary.is_empty() {
        out.push_str(&wrap("Runner:     ", &attempt.summary));
    }
    if !attempt.files.is_empty() {
        out.push_str(&wrap("Changed:    ", files(attempt).trim().trim_matches(['[', ']'])));
    }
    let total = &slice.total_failed_attempts;
    out.push_str(&format!("Slice:      {}, {} of {} failures\n", slice.slice, total.count, total.threshold));
    out
}

fn summary(verb: &str, slice: &SliceView) -> String {
    let total = &slice.total_failed_attempts;
    let mut out = format!("Slice:      {}\nState:      {}\n", slice.slice, slice.state);
    out.push_str(&format!("Failed:     {} of {}\n", total.count, total.threshold));
    if verb == "begin" {
        out.push_str(&scope(slice));
        let checkpoint = slice.checkpoint_tag.as_deref().unwrap_or("none: rollback will not be possible");
        out.push_str(&format!("Checkpoint: {checkpoint}\n"));
    }
    out
}

fn scope(slice: &SliceView) -> String {
    let scope = &slice.scope;
    if scope.lock == "off" {
        return "Scope:      lock off: nothing says what is in scope\n".to_owned();
    }
    if scope.entries.is_empty() {
        return "Scope:      nothing is in scope: every change needs a justification\n".to_owned();
    }
    let mut out = String::new();
    for (index, entry) in scope.entries.iter().enumerate() {
        let label = if index == 0 { "Scope:      " } else { "            " };
        out.push_str(&wrap(label, &format!("{} ({})", entry.path, entry.source)));
    }
    out
}

fn rolled_back(rollback: &RollbackView) -> String {
    let mut out = wrap("Tree:       ", &format!("rolled back to {}", rollback.to));
    let restored = count(rollback.restored, "file");
    out.push_str(&format!("            {restored} restored, {} removed\n", rollback.removed));
    out.push_str(&wrap("Kept:       ", &format!("what was there before, as {}", rollback.kept)));
    match (rollback.commits_since, rollback.are_commits_undone) {
        (0, _) => {}
        (commits, true) => out.push_str(&format!("            {} taken back\n", count(commits, "commit"))),
        (commits, false) => out.push_str(&wrap(
            "            ",
            &format!("{} made since stay on the branch (--with-commits takes them back)", count(commits, "commit")),
        )),
    }
    for left in &rollback.left_alone {
        out.push_str(&wrap("Left alone: ", left));
    }
    out
}

/// `attempt status`.
pub fn attempt_status(slice: &SliceView) -> String {
    if slice.trip.is_some() {
        return circuit_break(slice) + "\n" + &rest(slice);
    }
    let mut out = summary("begin", slice);
    for test in &slice.tests {
        out.push('\n');
        let state = match (test.attempt_count, test.is_blocked) {
            (_, true) => format!("blocked: could not be run {} times in a row", test.infrastructure_in_a_row),
            (0, false) => "no failure since it last passed".to_owned(),
            (failed, false) => format!("failed {failed} of 3"),
        };
        out.push_str(&wrap("Test:       ", &format!("{}: {state}", test.test_name)));
        for attempt in &test.attempts {
            out.push_str(&attempt_line(attempt.attempt, attempt, &format!(" ({})", attempt.result)));
        }
        if test.attempt_count > 0 {
            out.push_str(&error(&test.last_error));
        }
    }
    out + &rest(slice)
}

fn rest(slice: &SliceView) -> String {
    let mut out = String::new();
    for form in &slice.justified {
        out.push_str(&wrap("Justified:  ", &format!("{}: {}", form.file, form.reason)));
    }
    for path in &slice.out_of_scope_changes {
        out.push_str(&wrap("Strayed:    ", &format!("{path} was changed outside the scope without asking")));
    }
    if !slice.deviations.is_empty() {
        out.push_str("\n| Type | File | Description |\n|---|---|---|\n");
        for deviation in &slice.deviations {
            let file = deviation.file.as_deref().unwrap_or("-");
            out.push_str(&format!("| [{}] | {file} | {} |\n", deviation.rule, deviation.description));
        }
        let stops = slice.deviations.iter().filter(|deviation| deviation.rule == "ARCH-STOP").count();
        let total = count(slice.deviations.len() as u64, "deviation");
        out.push_str(&format!("Total: {total} ({})\n", count(stops as u64, "architectural stop")));
    }
    if slice.prior_tries > 0 {
        let tries = if slice.prior_tries == 1 { "try".to_owned() } else { "tries".to_owned() };
        out.push_str(&format!(
            "Before:     {} {tries}: haltline attempt prior --slice {}\n",
            slice.prior_tries, slice.slice
        ));
    }
    out
}

/// `attempt scope`.
pub fn attempt_scope(view: &ScopeAnswerView) -> String {
    let mut out = String::new();
    for path in &view.paths {
        let result = if path.is_denied() { "REFUSED" } else { "ALLOWED" };
        out.push_str(&wrap(&format!("{result}  "), &format!("{}: {}", path.path, path.because)));
        if let Some(reason) = &path.reason {
            out.push('\n');
            reason.text.lines().for_each(|line| out.push_str(&wrap("", line)));
        }
    }
    out
}

/// `attempt history`.
pub fn attempt_history(view: &SliceHistoryView) -> String {
    let mut out = format!("{}\n", view.circuit);
    for line in &view.history {
        out.push_str(&wrap(&format!("{}  {:<15} ", line.at, line.kind), &line.text));
    }
    let totals = &view.totals;
    out.push_str(&format!(
        "Total: {} passed, {} failed, {} not run; {}, {}\n",
        totals.passed,
        totals.failed,
        totals.infrastructure,
        count(totals.trips, "trip"),
        count(totals.resets, "fresh start")
    ));
    out
}
