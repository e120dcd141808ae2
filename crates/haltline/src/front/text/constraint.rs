//! Text of `haltline constraint`: seed 003's screens.

use std::fmt::Write;

use haltline_core::constraint::{Guard, Loosened, StateName, Weight};

use super::{WIDTH, count, fit, heading, wrap};
use crate::view::constraint::{
    AllView, AuditView, ChangeView, CheckView, CircuitView, ConfigView, ConstraintVerb, HistoryView, LimitView,
    OneView, ViolationView,
};
use crate::view::verdict::VerdictName;

/// `constraint status --all`.
pub fn all(view: &AllView) -> String {
    let mut out = heading("CIRCUIT BREAKER STATUS");
    let widest = view.circuits.iter().map(|circuit| circuit.id.chars().count()).max().unwrap_or(0).min(40);
    for state in [StateName::Closed, StateName::Open, StateName::HalfOpen] {
        let members: Vec<&CircuitView> = view.circuits.iter().filter(|circuit| circuit.state == state).collect();
        if members.is_empty() {
            continue;
        }
        out.push_str(&format!("{} ({}):\n", state.dashed(), members.len()));
        for circuit in members {
            out.push_str(&member(circuit, widest));
        }
        out.push('\n');
    }
    if view.circuits.is_empty() {
        out.push_str("No constraints here: no active file below docs/constraints and no circuit yet.\n\n");
    }
    let summary = &view.summary;
    out.push_str(&format!(
        "Summary: {} ({} closed, {} open, {} half-open)\n",
        count(view.circuits.len() as u64, "circuit"),
        summary.closed,
        summary.open,
        summary.half_open
    ));
    out
}

fn member(circuit: &CircuitView, widest: usize) -> String {
    let tally = format!("{}/{} violations", circuit.violations, circuit.limits.violation_threshold);
    let id = fit(&circuit.id, 40);
    let mut out = match (&circuit.trip, circuit.state) {
        (Some(trip), StateName::Open) => {
            let mut out = format!("  {id:widest$}  {tally} (TRIPPED {})\n", &trip.since[..10.min(trip.since.len())]);
            out.push_str(&format!(
                "    Actions blocked until a person resets it or the {}h cooldown ends\n    Cooldown ends: {}\n",
                circuit.limits.cooldown_hours, trip.until
            ));
            if trip.is_clock_behind {
                out.push_str("    The trip lies in the future of this clock: it stays OPEN\n");
            }
            out
        }
        (Some(_), StateName::HalfOpen) => {
            format!("  {id}\n    Testing after cooldown\n    Next violation → OPEN\n    Clean action   → CLOSED\n")
        }
        (None | Some(_), _) => format!("  {id:widest$}  {tally} ({} days)\n", circuit.limits.window_days),
    };
    for waiting in &circuit.waiting {
        out.push_str(&format!("    {}\n", loosened(waiting)));
    }
    out
}

fn loosened(waiting: &Loosened) -> String {
    format!("{} {} → {} waits for `haltline trust`", waiting.field, waiting.from, waiting.to)
}

/// `constraint status ID`.
pub fn one(view: &OneView) -> String {
    let circuit = &view.circuit;
    let limits = &circuit.limits;
    let mut out = heading(&format!("CIRCUIT: {}", circuit.id));
    let mut line = |label: &str, value: &str| out.push_str(&format!("{label:<13}{value}\n"));
    line("State:", circuit.state.dashed());
    line(
        "Violations:",
        &format!("{}/{} in {} days", circuit.violations, limits.violation_threshold, limits.window_days),
    );
    if let Some(severity) = &circuit.severity {
        line("Severity:", &fit(severity, 60));
    }
    if let Some(trip) = &circuit.trip {
        line("Tripped:", &format!("{} (incident {})", trip.since, trip.incident));
        let label = if circuit.state == StateName::Open { "Ends:" } else { "Ended:" };
        line(label, &trip.until);
    }
    if let Some(until) = &circuit.override_until {
        line("Override:", &format!("one action until {until}, spent by `constraint enforce`"));
    }
    if let Some(reset) = &circuit.last_reset {
        line("Last reset:", reset);
    }
    out.push_str("\nConfiguration:\n");
    out.push_str(&limits_text(&view.configuration, &view.guards, &circuit.waiting));
    out.push_str("\nRecent violations:\n");
    if view.recent.is_empty() {
        out.push_str("  none\n");
    }
    for violation in &view.recent {
        out.push_str(&violation_line(violation));
    }
    if circuit.state == StateName::Closed {
        let left = limits.violation_threshold.saturating_sub(circuit.violations).max(1);
        out.push_str(&format!("\nNext trip at: {}\n", count(left, "more violation")));
    }
    out
}

fn limits_text(limits: &[LimitView], guards: &[Guard], waiting: &[Loosened]) -> String {
    let mut out = String::new();
    for LimitView { key, value, origin } in limits {
        out.push_str(&format!("  {key:<21}{value:<7}({})\n", fit(origin, 45)));
    }
    for Guard { tool, command, path } in guards {
        let mut guard = format!("  guards               {tool}");
        for (kind, glob) in [("command", command), ("path", path)] {
            if let Some(glob) = glob {
                write!(guard, " {kind} {glob}").expect("writing to a String cannot fail");
            }
        }
        out.push_str(&fit(&guard, WIDTH));
        out.push('\n');
    }
    for waiting in waiting {
        out.push_str(&format!("  {}\n", loosened(waiting)));
    }
    out
}

fn violation_line(violation: &ViolationView) -> String {
    let action = violation.action.as_deref().unwrap_or("[purged]");
    let tag = match (violation.is_trip, violation.weight) {
        (true, _) => "  [TRIPPED]",
        (false, Weight::WhileOpen) => "  [while OPEN]",
        (false, Weight::Expired) => "  [imported]",
        (false, Weight::Counted | Weight::Deduplicated) => "",
    };
    let session = violation.session.as_deref().map(|session| format!("  ({})", fit(session, 20))).unwrap_or_default();
    let room = WIDTH.saturating_sub(24 + tag.chars().count() + session.chars().count());
    format!("  {}  {}{session}{tag}\n", violation.timestamp, fit(action, room))
}

/// `constraint check`.
pub fn check(view: &CheckView) -> String {
    let mut out = heading(&format!("CIRCUIT CHECK: {}", view.id));
    out.push_str(&format!("State:   {}\nResult:  {}\n", view.state.dashed(), view.result));
    if let Some(reason) = &view.reason {
        let observed = if view.is_observed { " (observe mode: it would be BLOCKED)" } else { "" };
        out.push_str(&wrap("Reason:  ", &format!("{reason}{observed}")));
    }
    if view.state == StateName::Closed {
        let next = view.violations + 1;
        let verdict = if next >= view.threshold { "would trip" } else { "still under threshold" };
        out.push_str(&format!("If violated: {next}/{} ({verdict})\n", view.threshold));
    }
    if let Some(until) = &view.override_until {
        out.push_str(&wrap(
            "Override: ",
            &format!("one action until {until}; `haltline constraint enforce` spends it"),
        ));
    }
    if view.result == "BLOCKED" {
        out.push_str(&options(&view.id, view.retry_at.as_deref()));
    }
    out
}

fn options(id: &str, retry_at: Option<&str>) -> String {
    let wait = match retry_at {
        Some(at) => format!("wait until {at}, then one clean action closes it"),
        None => "wait until the clock has passed the trip".to_owned(),
    };
    format!(
        "Options:\n  1. {wait}\n  2. a person: haltline constraint reset {id} --reason TEXT\n  3. a person: haltline constraint override {id} --reason TEXT\n"
    )
}

/// The effect of an event on a circuit.
pub fn change(view: &ChangeView) -> String {
    let title = match view.verb {
        _ if view.incident.is_some() => "CIRCUIT TRIPPED",
        ConstraintVerb::Record => "VIOLATION RECORDED",
        ConstraintVerb::Pass => "CLEAN ACTION RECORDED",
        ConstraintVerb::Reset => "CIRCUIT RESET",
        ConstraintVerb::Retire => "CIRCUIT RETIRED",
        ConstraintVerb::Override => "OVERRIDE GRANTED",
        ConstraintVerb::Revoke => "OVERRIDE REVOKED",
        ConstraintVerb::Enforce if view.verdict == VerdictName::Deny => "ACTION BLOCKED",
        ConstraintVerb::Enforce => "ACTION ALLOWED",
    };
    let mut out = heading(&format!("{title}: {}", view.id));
    let mut line = |label: &str, value: String| out.push_str(&format!("{label:<12}{value}\n"));
    line("State:", format!("{} → {}", view.state_before.dashed(), view.state_after.dashed()));
    let threshold = view.threshold;
    line("Violations:", format!("{}/{threshold} → {}/{threshold}", view.violations_before, view.violations_after));
    if let Some(incident) = &view.incident {
        line("Incident:", incident.clone());
    }
    out.push_str(&change_notes(view));
    if let Some(audit) = &view.audit {
        out.push_str(&audit_text(view, audit));
    }
    out
}

fn change_notes(view: &ChangeView) -> String {
    let mut out = String::new();
    if view.is_override_spent {
        out.push_str("A person's override allowed this once. It is spent; the circuit stays OPEN.\n");
    }
    if view.state_after == StateName::Open
        && let Some(until) = &view.until
    {
        out.push_str(&wrap(
            "",
            &format!("Actions are blocked until a person resets it or the {}h cooldown ends.", view.cooldown_hours),
        ));
        out.push_str(&format!("Cooldown ends: {until}\n"));
    }
    match view.weight {
        Some(Weight::Deduplicated) => out.push_str(&wrap(
            "",
            &format!(
                "Deduplicated: within {} s of the last counted violation, so it does not count again ({} so far).",
                view.dedup_seconds, view.totals.deduplicated
            ),
        )),
        Some(Weight::WhileOpen) => out.push_str("Kept in history; it counts for nothing while OPEN.\n"),
        Some(Weight::Counted) if view.state_after == StateName::Closed => {
            let left = view.threshold.saturating_sub(view.violations_after);
            let label = if left == 1 { "Warning: " } else { "" };
            out.push_str(&format!("{label}{} will trip this circuit.\n", count(left, "more violation")));
        }
        Some(Weight::Counted | Weight::Expired) | None => {}
    }
    match (view.verb, view.state_before, view.state_after) {
        (ConstraintVerb::Pass | ConstraintVerb::Enforce, StateName::HalfOpen, StateName::Closed) => {
            out.push_str("The trial is over: the circuit is CLOSED and counts from zero.\n");
        }
        (ConstraintVerb::Reset, _, _) => out.push_str("Violations cleared from window.\n"),
        (ConstraintVerb::Retire, _, _) => out.push_str("Archived in .circuit-state-archive.json.\n"),
        (_other, _, _) => {}
    }
    if let Some(until) = view.override_until.as_ref().filter(|_| view.verb == ConstraintVerb::Override) {
        out.push_str(&wrap("", &format!("One action until {until}; `haltline constraint enforce` spends it.")));
    }
    if view.state_after == StateName::Open && view.verdict == VerdictName::Deny || view.incident.is_some() {
        out.push_str(&options(&view.id, view.until.as_deref()));
    }
    out
}

fn audit_text(view: &ChangeView, audit: &AuditView) -> String {
    let mut out = String::from("\nAudit:\n");
    out.push_str(&format!("  Who:     {}\n  When:    {}\n", fit(&audit.who, 60), audit.when));
    let action = if view.verb == ConstraintVerb::Reset { "manual_reset" } else { view.verb.as_str() };
    out.push_str(&format!("  Action:  {action}\n"));
    out.push_str(&wrap("  Reason:  ", audit.reason.as_deref().unwrap_or("none given")));
    out.push_str(&format!("  Previous violations: {}\n", view.violations_before));
    out.push_str(&format!("  Journal: fact {}, head {}\n", audit.journal_seq, audit.journal_head));
    out
}

/// `constraint history`.
pub fn history(view: &HistoryView) -> String {
    let mut out = heading(&format!("VIOLATION HISTORY: {}", view.id));
    let mut is_outside = false;
    for violation in &view.violations {
        if !is_outside && violation.at <= view.window_began {
            is_outside = true;
            out.push_str(&format!("------- (outside {}-day window) -------\n", view.window_days));
        }
        out.push_str(&violation_line(violation));
    }
    if view.violations.is_empty() {
        out.push_str(&format!("  none in the last {} days\n", view.days));
    }
    out.push_str(&format!(
        "\nTotal: {} ({} in window, {} outside)\n",
        count(view.violations.len() as u64, "violation"),
        view.in_window,
        view.outside_window
    ));
    let totals = &view.totals;
    out.push_str(&format!(
        "Ever: {}, {} deduplicated, {} while OPEN\nTrips: {}   Resets: {}\n",
        count(totals.violations, "violation"),
        totals.deduplicated,
        totals.while_open,
        totals.trips,
        view.resets
    ));
    out
}

/// `constraint config`.
pub fn configuration(view: &ConfigView) -> String {
    let mut out = heading(&format!("CIRCUIT CONFIGURATION: {}", view.id));
    out.push_str(&format!("File: {}\n", view.file.as_deref().map_or_else(|| "none".to_owned(), |file| fit(file, 70))));
    out.push_str(&limits_text(&view.configuration, &view.guards, &view.waiting));
    out
}
