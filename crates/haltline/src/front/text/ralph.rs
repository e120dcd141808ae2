//! Text of `haltline ralph`, in the style of Ralph's own screens.

use super::{fit, wrap};
use crate::view::ralph::RalphView;

/// `ralph status`.
pub fn ralph_status(view: &RalphView) -> String {
    let mut out = String::from("Circuit Breaker Status\n");
    let mut line = |label: &str, text: &str| {
        let line = wrap(&format!("{label:<23}"), text);
        out.push_str(line.trim_end());
        out.push('\n');
    };
    line("State:", view.state);
    line("Reason:", &fit(&view.reason, 400));
    line("Loops since progress:", &view.no_progress.count.to_string());
    line("Last progress:", &format!("Loop #{}", view.last_progress_loop));
    line("Current loop:", &format!("#{}", view.current_loop));
    line("Total opens:", &view.total_opens.to_string());
    line("Same error:", &view.same_error.count.to_string());
    line("Permission denials:", &view.permission_denials.count.to_string());
    let limits = [view.no_progress, view.same_error, view.permission_denials].map(|count| count.threshold);
    let [no_progress, same_error, denials] = limits;
    line("Opens at:", &format!("{no_progress} without progress, {same_error} same errors, {denials} denials"));
    if let Some(open) = &view.open {
        line("Opened at:", &open.since);
        line("Cooldown:", &cooldown(view));
        line("Incident:", &open.incident);
    }
    out
}

fn cooldown(view: &RalphView) -> String {
    let Some(open) = &view.open else { return String::new() };
    match (&open.until, open.cooldown_left_seconds) {
        (Some(until), Some(seconds)) => format!("{} left, until {until}", span(seconds)),
        (Some(until), None) => format!("the clock is behind the opening: open until {until}"),
        (None, _) => "none: a person resets it".to_owned(),
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60.. => format!("{} min", seconds.div_ceil(60)),
    }
}

/// `ralph halt` when it halts the loop: the reason, and what to do.
pub fn ralph_halt(view: &RalphView, folder: &str) -> String {
    let mut out = ralph_status(view);
    out.push_str("\nEXECUTION HALTED: the circuit breaker is open.\n");
    out.push_str("To go on:\n");
    out.push_str(&format!("  1. look at the last output: ls -t {folder}/logs | head -1\n"));
    out.push_str(&format!("  2. make {folder}/PROMPT.md and the plan clearer, or find that the work is done\n"));
    out.push_str("  3. a person: haltline ralph reset \"why\"\n");
    if view.open.as_ref().is_some_and(|open| open.cooldown_left_seconds.is_some()) {
        out.push_str("  or wait for the end of the cooldown: the next loop is then watched\n");
    }
    out
}

/// `ralph reset`.
pub fn ralph_reset(view: &RalphView) -> String {
    let mut out = String::from("Circuit breaker reset to CLOSED\n");
    if let Some(audit) = &view.audit {
        out.push_str(&format!("By:      {} at {}, journal head {}\n", audit.who, audit.when, audit.journal_head));
        if let Some(reason) = &audit.reason {
            out.push_str(&wrap("Reason:  ", reason));
        }
    }
    out
}
