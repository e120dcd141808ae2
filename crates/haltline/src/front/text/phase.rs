//! Text of `haltline phase`: the seed's blocks, and a screen for people.

use haltline_agents::status_block::{BreakerState, BreakerTally, PhaseStatus, Status, TestTally};
use haltline_core::Instant;
use haltline_core::phase::HistoryEvent;

use super::{Page, audited, count, fit, sentence, stamp, when};
use crate::view::phase::{PhaseAnswerView, PhaseHistoryView, PhaseRunView};

/// For whom the block of an OPEN phase run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockForm {
    /// For programs: the seed's block, byte for byte.
    Seed,
    /// For a person: without a prompt, because a real one follows or nothing is read.
    Screen,
}

/// The block of an OPEN phase run, with its options (P6).
pub fn open_block(phase_run: &PhaseRunView, form: BlockForm) -> String {
    let mut page = Page::new(0);
    push_open_block(&mut page, phase_run, form);
    page.finish()
}

fn push_open_block(page: &mut Page, phase_run: &PhaseRunView, form: BlockForm) {
    let phase = phase_run.phase.as_deref().unwrap_or("UNKNOWN");
    let reason = phase_run.trip.as_ref().map_or("", |trip| trip.reason.as_str());
    page.line(format_args!("---CIRCUIT_BREAKER_OPEN---\nPHASE: {phase}\nREASON: {reason}"));
    page.line(format_args!("ITERATIONS: {}", phase_run.iteration));
    let change = if phase_run.has_gained() { "" } else { " (no change)" };
    match (phase_run.metric("tests_passing"), total(phase_run)) {
        (Some(passing), Some(total)) => page.line(format_args!("TESTS_PASSING: {passing}/{total}{change}")),
        (Some(passing), None) => page.line(format_args!("TESTS_PASSING: {passing}{change}")),
        (None, _) => {
            for (name, value) in &phase_run.metrics {
                page.line(format_args!("{}: {value}{change}", name.to_ascii_uppercase()));
            }
        }
    }
    page.line(format_args!("LAST_ERROR: {}", fit(phase_run.last_error.as_deref().unwrap_or("none"), 400)));
    page.line("\nOPTIONS:\n1. [R]eset and retry with current approach");
    if !phase_run.is_loop() {
        page.line(format_args!("2. [S]kip {phase} phase (mark tests as known failures)"));
    }
    page.line("3. [A]bort execution\n4. [M]odify approach (provide new guidance)");
    match form {
        BlockForm::Seed => page.line("\nEnter choice:\n---END_CIRCUIT_BREAKER_OPEN---"),
        BlockForm::Screen => page.line("---END_CIRCUIT_BREAKER_OPEN---"),
    }
}

fn total(phase_run: &PhaseRunView) -> Option<u64> {
    let number = |name: &str| phase_run.metric(name);
    number("tests_total")
        .or_else(|| Some(number("tests_passing")? + number("tests_failing")? + number("tests_skipped").unwrap_or(0)))
}

/// The `PRP_PHASE_STATUS` block of a phase run (P7).
pub fn status_block(phase_run: &PhaseRunView, now: Instant) -> PhaseStatus {
    let (status, state) = match phase_run.state {
        "OPEN" => (Status::Blocked, BreakerState::Open),
        "HALF_OPEN" => (Status::InProgress, BreakerState::HalfOpen),
        "OVER" => (Status::Complete, BreakerState::Closed),
        _closed => (Status::InProgress, BreakerState::Closed),
    };
    let mut blockers = Vec::new();
    blockers.extend(phase_run.trip.as_ref().map(|trip| trip.reason.clone()));
    blockers.extend(phase_run.last_error.clone().filter(|_| state == BreakerState::Open).map(|error| fit(&error, 200)));
    PhaseStatus {
        timestamp: Some(now),
        phase: phase_run.phase.clone(),
        status: Some(status),
        iteration: Some(phase_run.iteration),
        tests: TestTally {
            total: total(phase_run),
            passing: phase_run.metric("tests_passing"),
            failing: phase_run.metric("tests_failing"),
            skipped: phase_run.metric("tests_skipped"),
        },
        circuit_breaker: BreakerTally {
            state: Some(state),
            no_progress_count: Some(phase_run.no_progress.count.into()),
            same_error_count: Some(phase_run.same_error.count.into()),
        },
        blockers: Some(blockers),
        exit_signal: Some(state != BreakerState::Open && status == Status::Complete),
        recommendation: Some(phase_run.recommendation.clone()),
        ..PhaseStatus::default()
    }
}

/// The commands by which a person decides.
fn push_decisions(page: &mut Page, phase_run: &PhaseRunView) {
    page.line("A person decides:");
    page.lines(phase_run.options.iter().map(|option| format!("  {option}")));
}

/// `phase begin`, `check` and `decide`.
pub fn phase_answer(view: &PhaseAnswerView, form: BlockForm) -> String {
    let mut page = Page::new(9);
    let is_denied = view.answer.verdict.denies();
    let Some(phase_run) = &view.phase_run else {
        page.row("State:", "CLOSED");
        page.row("Result:", "ALLOWED (no phase has begun here)");
        return page.finish();
    };
    if phase_run.is_open() {
        push_open_block(&mut page, phase_run, form);
        page.blank();
        if is_denied {
            push_decisions(&mut page, phase_run);
        } else {
            page.line("Observe mode: haltline denies nothing, and work may continue.");
        }
        return page.finish();
    }
    page.row("Phase:", phase_run.phase.as_deref().unwrap_or("none yet"));
    page.row("State:", phase_run.state);
    page.row("Result:", if is_denied { "BLOCKED" } else { "ALLOWED" });
    page.fields("Note:", view.answer.reason.as_ref().map(|reason| sentence(&reason.text)));
    if let Some(guidance) = &view.guidance {
        page.wrapped("Guidance: ", guidance);
    } else if let Some(guidance) = &phase_run.guidance {
        page.wrapped("Guidance: ", format!("{guidance} (the agent gets it at its next check)"));
    }
    page.rows("By:", view.audit.as_ref().map(audited));
    page.finish()
}

/// `phase report`: the block and, if the circuit is OPEN, what a person can do.
pub fn phase_report(view: &PhaseAnswerView, now: Instant, form: BlockForm) -> String {
    let mut page = Page::new(0);
    let Some(phase_run) = &view.phase_run else { return page.finish() };
    page.line(status_block(phase_run, now).to_string().trim_end_matches('\n'));
    if phase_run.is_open() {
        page.blank();
        push_open_block(&mut page, phase_run, form);
        page.blank();
        push_decisions(&mut page, phase_run);
    }
    page.finish()
}

/// `phase status`.
pub fn phase_status(phase_run: &PhaseRunView) -> String {
    let mut page = Page::new(13);
    let phase = phase_run.phase.as_deref().unwrap_or("none yet");
    page.field("Phase", format_args!("{phase}, {}", count(phase_run.iteration, "iteration")));
    page.field("State", phase_run.state);
    if let Some(trip) = &phase_run.trip {
        page.field("", format_args!("since {}: {} (incident {})", when(&trip.since), trip.reason, trip.incident));
        if let Some(until) = &trip.until {
            page.field("", format_args!("monitored again from {}", when(until)));
        }
    }
    page.field("No progress", phase_run.no_progress);
    page.field("Same error", phase_run.same_error);
    page.fields("Denials", phase_run.permission_denials);
    let metrics: Vec<String> = phase_run.metrics.iter().map(|(name, value)| format!("{name} {value}")).collect();
    page.listed("Metrics", &metrics);
    if let Some(last) = &phase_run.last {
        let judged = last.judged.replace('_', " ");
        let gains = if last.gains.is_empty() { String::new() } else { format!(" ({})", last.gains.join(", ")) };
        page.field("Last", format_args!("iteration {}: {judged}{gains}", last.iteration));
        if !last.signs.is_empty() {
            let signs = last.signs.iter();
            let signs: Vec<String> =
                signs.map(|sign| format!("{} {} (weight {})", sign.source.as_str(), sign.count, sign.weight)).collect();
            page.field("Signs", format_args!("{}; {} of {} needed", signs.join(", "), last.weight, last.enough));
        }
        if last.undone {
            page.field("", "the work tree had this content before: the agent undid its work");
        }
    }
    if let Some(error) = &phase_run.last_error {
        page.field("Last error", fit(error, 200));
    }
    if let Some(since) = &phase_run.underway_since {
        page.field("Under way", format_args!("an iteration that began {}", when(since)));
    }
    let spent = &phase_run.spent;
    if spent.wall_seconds > 0 || spent.tokens.is_some() || spent.cost_usd.is_some() {
        let tokens = spent.tokens.map_or("unknown".to_owned(), |tokens| tokens.to_string());
        let cost = spent.cost_usd.map_or("unknown".to_owned(), |cost| format!("${cost:.2}"));
        page.field("Spent", format_args!("{} s, tokens {tokens}, cost {cost}", spent.wall_seconds));
    }
    if let Some(finish) = phase_run.finish {
        page.field("Last end", finish.as_str());
    }
    if !phase_run.known_failures.is_empty() {
        page.field("Skipped", format_args!("{} (known failures)", phase_run.known_failures.join(", ")));
    }
    page.fields("Guidance", &phase_run.guidance);
    page.field("Next", &phase_run.recommendation);
    if phase_run.is_open() {
        push_decisions(&mut page, phase_run);
    }
    page.finish()
}

/// `phase history`.
pub fn phase_history(view: &PhaseHistoryView) -> String {
    let totals = &view.totals;
    let mut page = Page::new(0);
    page.line(&view.circuit);
    for line in &view.history {
        let event = match line.event {
            HistoryEvent::StateChange => format!("{} → {}", line.from_state, line.to_state),
            HistoryEvent::Progress => "progress".to_owned(),
            HistoryEvent::Error => "error".to_owned(),
        };
        page.wrapped(&format!("{}  {event:<20} ", stamp(&line.timestamp)), &line.reason);
    }
    page.line(format_args!(
        "Total: {}, {} with progress, {} with an error, {} neutral; {}",
        count(totals.iterations, "iteration"),
        totals.progress,
        totals.errors,
        totals.neutral,
        count(totals.trips, "trip")
    ));
    page.finish()
}
