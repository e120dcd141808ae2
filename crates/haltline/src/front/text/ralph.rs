//! Text of `haltline ralph`, in the style of Ralph's own screens.

use super::{Page, audited, fit};
use crate::view::ralph::{OpenView, RalphView};

/// `ralph status`.
pub fn ralph_status(view: &RalphView) -> String {
    let mut page = Page::new(23);
    push_status(&mut page, view);
    page.finish()
}

fn push_status(page: &mut Page, view: &RalphView) {
    page.line("Circuit Breaker Status");
    page.field("State:", view.state);
    match fit(&view.reason, 400) {
        // A label without a text has no space after it.
        reason if reason.trim().is_empty() => page.line("Reason:"),
        reason => page.field("Reason:", reason),
    }
    page.field("Loops since progress:", view.no_progress.count);
    page.field("Last progress:", format_args!("Loop #{}", view.last_progress_loop));
    page.field("Current loop:", format_args!("#{}", view.current_loop));
    page.field("Total opens:", view.total_opens);
    page.field("Same error:", view.same_error.count);
    page.field("Permission denials:", view.permission_denials.count);
    let limits = [view.no_progress, view.same_error, view.permission_denials].map(|count| count.threshold);
    let [no_progress, same_error, denials] = limits;
    page.field(
        "Opens at:",
        format_args!("{no_progress} without progress, {same_error} same errors, {denials} denials"),
    );
    if let Some(open) = &view.open {
        page.field("Opened at:", &open.since);
        page.field("Cooldown:", cooldown(open));
        page.field("Incident:", &open.incident);
    }
}

fn cooldown(open: &OpenView) -> String {
    match (&open.until, open.cooldown_left_seconds) {
        (Some(until), Some(seconds @ 0..60)) => format!("{seconds} s left, until {until}"),
        (Some(until), Some(seconds)) => format!("{} min left, until {until}", seconds.div_ceil(60)),
        (Some(until), None) => format!("the clock is behind the time of the trip: open until {until}"),
        (None, _) => "none: a person resets it".to_owned(),
    }
}

/// `ralph halt` when it halts the loop: the reason, and what to do.
pub fn ralph_halt(view: &RalphView, folder: &str) -> String {
    let mut page = Page::new(23);
    push_status(&mut page, view);
    page.line("\nEXECUTION HALTED: the circuit breaker is open.\nTo go on:");
    page.line(format_args!("  1. look at the last output: ls -t {folder}/logs | head -1"));
    page.line(format_args!("  2. make {folder}/PROMPT.md and the plan clearer, or decide that the work is done"));
    page.line("  3. a person: haltline ralph reset \"why\"");
    if view.open.as_ref().is_some_and(|open| open.cooldown_left_seconds.is_some()) {
        page.line("  or wait for the end of the cooldown: the circuit is then HALF_OPEN");
    }
    page.finish()
}

/// `ralph reset`.
pub fn ralph_reset(view: &RalphView) -> String {
    let mut page = Page::new(9);
    page.line("Circuit breaker reset to CLOSED");
    page.rows("By:", view.audit.as_ref().map(audited));
    page.fields("Reason:", view.audit.as_ref().and_then(|audit| audit.reason.as_ref()));
    page.finish()
}
