//! Text of `haltline status` and `haltline trust`.

use haltline_core::Mode;
use haltline_engine::CircuitCounts;

use super::session::{push_dashboard, push_sessions};
use super::{Page, Style, count, fit, when};
use crate::view::overview::{OverviewView, ProjectsView, UnclosedView};
use crate::view::status::{StatusView, TrustView, WaitingView};

/// How many circuits are listed; the others are only counted.
const LISTED_MAX: usize = 8;

/// `haltline status`.
pub fn status(view: &StatusView, is_verbose: bool) -> String {
    let mut page = Page::new(11);
    for paused in &view.paused {
        page.wrapped("", format_args!("{}; haltline unpause ends this.", paused.sentence()));
    }
    if view.clients_off > 0 {
        let clients = count(view.clients_off as u64, "running client");
        page.line(format_args!("haltline is off in {clients}, started with HALTLINE=off."));
    }
    for one in &view.unwatched {
        let (client, session) = (one.client, &one.session);
        page.wrapped("", format_args!("Not watched: session {session} of {client}. Its transcript grows and no hook reports it. haltline doctor says why."));
    }
    if view.mode == Mode::Observe {
        page.sentence("Observe mode: haltline records what it would deny, and denies nothing.");
    }
    push_needs(&mut page, view);
    push_reports(&mut page, view);
    push_sessions(&mut page, &view.sessions);
    page.blank();
    push_counts(&mut page, &view.overview);
    push_work(&mut page, view);
    page.row("Project", fit(&view.project, 68));
    if is_verbose {
        push_dashboard(&mut page, view);
        push_store(&mut page, view);
    }
    if let Some(newer) = view.store.newer_schema {
        page.field("Store", format_args!("written by a newer haltline (schema {newer}): this version only reads it"));
    }
    if let Some(network) = view.store.network {
        page.field("Store", format_args!("on a network file system ({network}): haltline can lose counts there"));
    }
    view.set_aside.iter().for_each(|file| page.field("Set aside", file));
    page.finish()
}

/// `haltline status --all`.
pub fn all_projects(view: &ProjectsView) -> String {
    let mut page = Page::new(11);
    let needs: usize = view.projects.iter().map(|project| project.overview.needs.len()).sum();
    page.styled(Style::Heading, needs_line(needs));
    if !view.is_installed {
        page.line(NOT_INSTALLED);
    }
    if view.projects.is_empty() {
        page.line("haltline has not seen a project yet.");
    }
    for project in &view.projects {
        page.section(fit(&project.project, 78));
        push_circuits(&mut page, &project.overview.needs);
        push_circuits(&mut page, &project.overview.half_open);
        push_counts(&mut page, &project.overview);
        page.fields("Reported", project.overview.last_report.as_deref().map(when));
    }
    page.finish()
}

const NOT_INSTALLED: &str = "haltline is not installed for any client here; install it with haltline init";

fn needs_line(needs: usize) -> String {
    match needs {
        0 => "Nothing needs you.".to_owned(),
        1 => "1 thing needs you:".to_owned(),
        more => format!("{more} things need you:"),
    }
}

fn push_needs(page: &mut Page, view: &StatusView) {
    let StatusView { overview, waiting, .. } = view;
    page.styled(Style::Heading, needs_line(overview.needs.len() + usize::from(!waiting.is_empty())));
    push_circuits(page, &overview.needs);
    for circuit in &view.attention {
        if let Some(doubt) = circuit.trip.as_ref().and_then(|trip| trip.clock_doubt) {
            page.wrapped("  ", format_args!("{} stays OPEN: {doubt}", fit(&circuit.id, 40)));
        }
    }
    if !waiting.is_empty() {
        page.line(format_args!("  {} for your trust: haltline trust", waits(waiting.len())));
        page.lines(waiting.iter().map(|one| format!("  {}", waiting_line(one))));
    }
    if !overview.half_open.is_empty() {
        page.section("The next action decides:");
        push_circuits(page, &overview.half_open);
    }
}

fn waits(settings: usize) -> String {
    let verb = if settings == 1 { "waits" } else { "wait" };
    format!("{} {verb}", count(settings, "setting"))
}

fn push_circuits(page: &mut Page, circuits: &[UnclosedView]) {
    for circuit in circuits.iter().take(LISTED_MAX) {
        let state = circuit.state.as_str();
        page.wrapped(&format!("  {:<11}", circuit.breaker.as_str()), fit(&circuit.subject(), 400));
        let mut details = state.to_owned();
        if let Some(since) = &circuit.since {
            details.push_str(&format!(" since {}", when(since)));
        }
        if let Some(until) = circuit.until.as_deref().filter(|_| circuit.remaining_s.is_some()) {
            details.push_str(&format!("; until {}", when(until)));
        }
        if let Some(closes) = circuit.closes {
            details.push_str(&format!("; {closes}"));
        }
        page.wrapped("             ", details);
        if let (Some(incident), Some(command)) = (&circuit.incident, &circuit.command) {
            page.line(format_args!("             incident {incident}: {}", fit(command, 200)));
        }
    }
    if let Some(more) = circuits.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        page.line(format_args!("  {more} more: haltline status --json lists them"));
    }
}

fn push_reports(page: &mut Page, view: &StatusView) {
    if !view.is_installed {
        page.line(NOT_INSTALLED);
        return;
    }
    match &view.overview.last_report {
        Some(_) if view.sessions.agents_24h > 0 => {}
        Some(last) => page.line(format_args!("No client has reported from this project since {}.", when(last))),
        None => page.line("No client has reported from this project yet."),
    }
}

fn push_counts(page: &mut Page, overview: &OverviewView) {
    let CircuitCounts { closed, open, half_open } = overview.summary;
    let total = closed + open + half_open;
    page.row("Circuits", format_args!("{total} ({closed} closed, {open} open, {half_open} half-open)"));
    let of_breakers = overview.breakers.iter().filter(|breaker| breaker.incidents_24h > 0);
    let of_breakers: Vec<String> =
        of_breakers.map(|breaker| format!("{} {}", breaker.incidents_24h, breaker.breaker.as_str())).collect();
    let of_breakers = if of_breakers.is_empty() { String::new() } else { format!(" ({})", of_breakers.join(", ")) };
    page.row("Incidents", format_args!("{} in the last 24 h{of_breakers}", overview.incidents_24h));
}

/// Adds what is under way and not halted: phase runs and slices.
fn push_work(page: &mut Page, view: &StatusView) {
    let phase_runs = view.phase_runs.iter().map(|phase_run| {
        let phase = phase_run.phase.as_deref().unwrap_or("no phase yet");
        let state = phase_run.state;
        format!("{state} {}: {phase}, {}", fit(&phase_run.circuit, 40), count(phase_run.iteration, "iteration"))
    });
    page.fields("Phases", phase_runs);
    let slices = view.slices.iter().map(|slice| {
        let failures = &slice.total_failed_attempts;
        format!("{} {}: {failures} failures, scope lock {}", slice.state, fit(&slice.circuit, 40), slice.scope.lock)
    });
    page.fields("Slices", slices);
}

fn push_store(page: &mut Page, view: &StatusView) {
    let store = &view.store;
    page.section(format_args!("haltline {}", view.version));
    page.row("Store", fit(&store.path, 68));
    let (kb, mb) = (store.bytes.div_ceil(1024), store.bytes_max >> 20);
    page.row("", format_args!("{kb} KB of {mb} MB, schema {}", store.schema));
    page.row("Journal", format_args!("{}, head {}", count(store.facts, "fact"), store.head));
}

fn waiting_line(waiting: &WaitingView) -> String {
    let WaitingView { file, key, from, to } = waiting;
    format!("  {}: {key} {from} → {to}", fit(file, 44))
}

/// `haltline trust`.
pub fn trust(view: &TrustView) -> String {
    let mut page = Page::new(0);
    page.line(match (view.waiting.is_empty(), view.is_accepted) {
        (true, _) => "Nothing waits for trust.",
        (false, true) => "Trusted:",
        (false, false) => "Waiting for `haltline trust`:",
    });
    page.lines(view.waiting.iter().map(waiting_line));
    if let Some(audit) = &view.audit {
        page.line(format_args!("Journal: fact {}, head {}", audit.journal_seq, audit.journal_head));
    }
    page.finish()
}
