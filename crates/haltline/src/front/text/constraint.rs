//! Text of `haltline constraint`: seed 003's screens.

use haltline_core::constraint::{Guard, Loosened, StateName, Weight};

use super::{Page, count, fit, sentence, stamp, when};
use crate::commands::constraint::new::NewView;
use crate::view::constraint::{
    AllView, ChangeView, CheckView, CircuitView, ConfigView, ConstraintVerb, HistoryView, LimitView, OneView,
    ViolationView,
};
use crate::view::{AuditView, VerdictName};

/// `constraint status --all`.
pub fn all(view: &AllView) -> String {
    let mut page = Page::titled("CIRCUIT BREAKER STATUS", 0);
    let widest = view.circuits.iter().map(|circuit| circuit.id.chars().count()).max().unwrap_or(0).min(40);
    for state in [StateName::Closed, StateName::Open, StateName::HalfOpen] {
        let members: Vec<&CircuitView> = view.circuits.iter().filter(|circuit| circuit.state == state).collect();
        if members.is_empty() {
            continue;
        }
        page.line(format_args!("{} ({}):", state.dashed(), members.len()));
        members.iter().for_each(|circuit| member(&mut page, circuit, widest));
        page.blank();
    }
    if view.circuits.is_empty() {
        page.line("No constraints here: no active file below docs/constraints and no circuit yet.\n");
    }
    let summary = &view.summary;
    let circuits = count(view.circuits.len(), "circuit");
    page.line(format_args!(
        "Summary: {circuits} ({} closed, {} open, {} half-open)",
        summary.closed, summary.open, summary.half_open
    ));
    for circuit in view.circuits.iter().filter(|circuit| !circuit.has_guard) {
        page.sentence(no_guard(&circuit.id));
    }
    for problem in &view.unusable {
        page.sentence(format_args!("Warning: {problem}."));
    }
    page.finish()
}

/// What a constraint without a guard does not do.
fn no_guard(id: &str) -> String {
    format!(
        "Warning: {id} has no guard, so haltline counts its violations and denies no call. Add `guards:` to its file."
    )
}

/// `constraint new`.
pub fn new_constraint(view: &NewView) -> String {
    let mut page = Page::titled(format_args!("CONSTRAINT WRITTEN: {}", view.id), 0);
    page.line(format_args!("File: {}", fit(&view.file, 70)));
    push_limits(&mut page, &[], &view.guards, &[]);
    let Some(caught) = &view.caught else {
        page.sentence(no_guard(&view.id));
        return page.finish();
    };
    page.blank();
    let files = count(caught.files, "transcript");
    match (caught.files, caught.calls) {
        (0, _) => {
            page.sentence("No transcripts of a known client are on this machine, so there is nothing to compare with.")
        }
        (_, 0) => page.sentence(format_args!("It would have caught nothing in your {files}.")),
        (_, calls) => {
            let (calls, sessions) = (count(calls, "call"), count(caught.sessions, "session"));
            page.sentence(format_args!("In your {files} it would have caught {calls} in {sessions}:"));
            page.lines(caught.examples.iter().map(|example| format!("  {}", fit(example, 78))));
        }
    }
    if caught.files_left_out > 0 {
        page.sentence(format_args!("Not listed: {}, which are older.", count(caught.files_left_out, "transcript")));
    }
    page.finish()
}

fn member(page: &mut Page, circuit: &CircuitView, widest: usize) {
    let tally = format!("{}/{} violations", circuit.violations, circuit.limits.violation_threshold);
    let id = fit(&circuit.id, 40);
    match (&circuit.trip, circuit.state) {
        (Some(trip), StateName::Open) => {
            page.line(format_args!("  {id:widest$}  {tally} (TRIPPED {})", date(&trip.since)));
            page.line(format_args!(
                "    Actions blocked until a person resets the circuit or the {}h cooldown ends\n    Cooldown ends: {}",
                circuit.limits.cooldown_hours,
                when(&trip.until)
            ));
            if let Some(doubt) = trip.clock_doubt {
                page.wrapped("    ", format_args!("It stays OPEN: {doubt}"));
            }
        }
        (Some(_), StateName::HalfOpen) => page.line(format_args!(
            "  {id}\n    Testing after cooldown\n    Next violation → OPEN\n    Clean action   → CLOSED"
        )),
        (None | Some(_), _) => page.line(format_args!("  {id:widest$}  {tally} ({} days)", circuit.limits.window_days)),
    }
    page.lines(circuit.waiting.iter().map(|waiting| format!("    {}", loosened(waiting))));
}

fn loosened(waiting: &Loosened) -> String {
    format!("{} {} → {} waits for `haltline trust`", waiting.field, waiting.from, waiting.to)
}

/// `constraint status ID`.
pub fn one(view: &OneView) -> String {
    let circuit = &view.circuit;
    let limits = &circuit.limits;
    let mut page = Page::titled(format_args!("CIRCUIT: {}", circuit.id), 13);
    page.row("State:", circuit.state.dashed());
    let (count_now, threshold) = (circuit.violations, limits.violation_threshold);
    page.row("Violations:", format_args!("{count_now}/{threshold} in {} days", limits.window_days));
    if let Some(severity) = &circuit.severity {
        page.row("Severity:", fit(severity, 60));
    }
    if let Some(trip) = &circuit.trip {
        page.row("Tripped:", format_args!("{} (incident {})", when(&trip.since), trip.incident));
        page.row(if circuit.state == StateName::Open { "Ends:" } else { "Ended:" }, when(&trip.until));
    }
    if let Some(until) = &circuit.override_until {
        page.row("Override:", format_args!("one action until {}; `constraint enforce` uses it up", when(until)));
    }
    page.rows("Last reset:", circuit.last_reset.as_deref().map(when));
    page.line("\nConfiguration:");
    push_limits(&mut page, &view.configuration, &view.guards, &circuit.waiting);
    if view.guards.is_empty() {
        page.sentence(no_guard(&circuit.id));
    }
    page.line("\nRecent violations:");
    if view.recent.is_empty() {
        page.line("  none");
    }
    page.lines(view.recent.iter().map(violation_line));
    if circuit.state == StateName::Closed {
        let left = limits.violation_threshold.saturating_sub(circuit.violations).max(1);
        page.line(format_args!("\nNext trip at: {}", count(left, "more violation")));
    }
    page.finish()
}

fn push_limits(page: &mut Page, limits: &[LimitView], guards: &[Guard], waiting: &[Loosened]) {
    for LimitView { key, value, origin } in limits {
        page.line(format_args!("  {key:<21}{value:<7}({})", fit(origin, 45)));
    }
    for Guard { tool, command, path } in guards {
        let glob = |kind: &str, glob: &Option<String>| glob.iter().map(|glob| format!(" {kind} {glob}")).collect();
        let (command, path): (String, String) = (glob("command", command), glob("path", path));
        page.line(fit(&format!("  guards               {tool}{command}{path}"), 80));
    }
    page.lines(waiting.iter().map(|waiting| format!("  {}", loosened(waiting))));
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
    let room = 80_usize.saturating_sub(23 + tag.chars().count() + session.chars().count());
    format!("  {}  {}{session}{tag}", stamp(&violation.timestamp), fit(action, room))
}

/// `constraint check`.
pub fn check(view: &CheckView) -> String {
    let mut page = Page::titled(format_args!("CIRCUIT CHECK: {}", view.id), 9);
    page.row("State:", view.state.dashed());
    page.row("Result:", view.result);
    if let Some(reason) = &view.reason {
        let observed = if view.is_observed { " (observe mode: it would be BLOCKED)" } else { "" };
        page.field("Reason:", format_args!("{}{observed}", sentence(reason)));
    }
    if view.state == StateName::Closed {
        let next = view.violations + 1;
        let verdict = if next >= view.threshold { "would trip" } else { "still under threshold" };
        page.line(format_args!("If violated: {next}/{} ({verdict})", view.threshold));
    }
    if let Some(until) = &view.override_until {
        page.wrapped(
            "Override: ",
            format_args!("one action until {}; `haltline constraint enforce` uses it up", when(until)),
        );
    }
    if view.verdict.denies() {
        push_options(&mut page, &view.id, view.retry_at.as_deref());
    }
    page.finish()
}

fn push_options(page: &mut Page, id: &str, retry_at: Option<&str>) {
    let wait = match retry_at {
        Some(at) => format!("wait until {}, then one clean action closes it", when(at)),
        None => "wait until the clock is past the time of the trip".to_owned(),
    };
    page.line(format_args!("Options:\n  1. {wait}"));
    page.line(format_args!("  2. a person: haltline constraint reset {id} --reason TEXT"));
    page.line(format_args!("  3. a person: haltline constraint override {id} --reason TEXT"));
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
    let mut page = Page::titled(format_args!("{title}: {}", view.id), 12);
    let threshold = view.threshold;
    let (before, after) = (view.violations_before, view.violations_after);
    match view.verb {
        // An override changes neither.
        ConstraintVerb::Override | ConstraintVerb::Revoke => {
            page.row("State:", view.state_after.dashed());
            page.row("Violations:", format_args!("{after}/{threshold}"));
        }
        ConstraintVerb::Record
        | ConstraintVerb::Pass
        | ConstraintVerb::Reset
        | ConstraintVerb::Retire
        | ConstraintVerb::Enforce => {
            page.row("State:", format_args!("{} → {}", view.state_before.dashed(), view.state_after.dashed()));
            page.row("Violations:", format_args!("{before}/{threshold} → {after}/{threshold}"));
        }
    }
    page.rows("Incident:", &view.incident);
    if let Some(until) = view.override_until.as_ref().filter(|_| view.verb == ConstraintVerb::Override) {
        page.sentence(format_args!(
            "The next guarded action may run once, until {}; the circuit stays OPEN.",
            when(until)
        ));
    }
    push_notes(&mut page, view);
    if let Some(audit) = &view.audit {
        push_audit(&mut page, view, audit);
    }
    page.finish()
}

fn push_notes(page: &mut Page, view: &ChangeView) {
    if view.is_override_spent {
        page.line("A person's override allowed this once and is used up; the circuit stays OPEN.");
    }
    if view.state_after == StateName::Open
        && let Some(until) = &view.until
    {
        let hours = view.cooldown_hours;
        let except = if view.verb == ConstraintVerb::Override { "All other actions" } else { "Actions" };
        page.sentence(format_args!(
            "{except} are blocked until a person resets the circuit or the {hours}h cooldown ends."
        ));
        page.line(format_args!("Cooldown ends: {}", when(until)));
    }
    match view.weight {
        Some(Weight::Deduplicated) => page.sentence(format_args!(
            "Deduplicated: within {} s of the last counted violation, so it does not count again ({} so far).",
            view.dedup_seconds, view.totals.deduplicated
        )),
        Some(Weight::WhileOpen) => page.line("Kept in the history; not counted while the circuit is OPEN."),
        Some(Weight::Counted) if view.state_after == StateName::Closed => {
            let left = view.threshold.saturating_sub(view.violations_after);
            let label = if left == 1 { "Warning: " } else { "" };
            page.line(format_args!("{label}{} will trip this circuit.", count(left, "more violation")));
        }
        Some(Weight::Counted | Weight::Expired) | None => {}
    }
    match (view.verb, view.state_before, view.state_after) {
        (ConstraintVerb::Pass | ConstraintVerb::Enforce, StateName::HalfOpen, StateName::Closed) => {
            page.line("The circuit is CLOSED and counts from zero.");
        }
        (ConstraintVerb::Reset, _, _) => page.line("Violations cleared from window."),
        (ConstraintVerb::Retire, _, _) => page.line("Archived in .circuit-state-archive.json."),
        (_other, _, _) => {}
    }
    if view.state_after == StateName::Open && view.verdict == VerdictName::Deny || view.incident.is_some() {
        push_options(page, &view.id, view.until.as_deref());
    }
}

fn push_audit(page: &mut Page, view: &ChangeView, audit: &AuditView) {
    page.line(format_args!("\nAudit:\n  Who:     {}\n  When:    {}", fit(&audit.who, 60), stamp(&audit.at)));
    let action = if view.verb == ConstraintVerb::Reset { "manual_reset" } else { view.verb.as_str() };
    page.line(format_args!("  Action:  {action}"));
    page.wrapped("  Reason:  ", audit.reason.as_deref().unwrap_or("none given"));
    page.line(format_args!("  Previous violations: {}", view.violations_before));
    page.line(format_args!("  Journal: fact {}, head {}", audit.journal_seq, audit.journal_head));
}

/// `constraint history`.
pub fn history(view: &HistoryView) -> String {
    let mut page = Page::titled(format_args!("VIOLATION HISTORY: {}", view.id), 0);
    let (inside, outside) = view.violations.split_at(view.in_window);
    page.lines(inside.iter().map(violation_line));
    if !outside.is_empty() {
        page.line(format_args!("------- (outside {}-day window) -------", view.window_days));
    }
    page.lines(outside.iter().map(violation_line));
    if view.violations.is_empty() {
        page.line(format_args!("  none in the last {} days", view.days));
    }
    let total = count(view.violations.len(), "violation");
    page.line(format_args!("\nTotal: {total} ({} in window, {} outside)", view.in_window, view.outside_window));
    let totals = &view.totals;
    page.line(format_args!(
        "Ever: {}, {} deduplicated, {} while OPEN\nTrips: {}   Resets: {}",
        count(totals.violations, "violation"),
        totals.deduplicated,
        totals.while_open,
        totals.trips,
        view.resets
    ));
    page.finish()
}

/// `constraint config`.
pub fn configuration(view: &ConfigView) -> String {
    let mut page = Page::titled(format_args!("CIRCUIT CONFIGURATION: {}", view.id), 0);
    page.line(format_args!("File: {}", view.file.as_deref().map_or_else(|| "none".to_owned(), |file| fit(file, 70))));
    push_limits(&mut page, &view.configuration, &view.guards, &view.waiting);
    page.finish()
}

/// The local date of an instant.
fn date(text: &str) -> String {
    stamp(text).chars().take(10).collect()
}
