//! Text of `haltline phase`: the seed's blocks, and a screen for people.

use haltline_agents::status_block::{BreakerState, BreakerTally, PhaseStatus, Status, TestTally};
use haltline_core::Instant;
use haltline_core::phase::HistoryEvent;

use super::{count, fit, wrap};
use crate::view::phase::{PhaseAnswerView, PhaseHistoryView, PhaseRunView};

/// The block of an OPEN phase run, with the seed's four options (P6).
pub fn open_block(phase_run: &PhaseRunView) -> String {
    let phase = phase_run.phase.as_deref().unwrap_or("UNKNOWN");
    let reason = phase_run.trip.as_ref().map_or("", |trip| trip.reason.as_str());
    let mut out =
        format!("---CIRCUIT_BREAKER_OPEN---\nPHASE: {phase}\nREASON: {reason}\nITERATIONS: {}\n", phase_run.iteration);
    let change = if phase_run.has_gained() { "" } else { " (no change)" };
    let number = |name: &str| phase_run.metrics.get(name).and_then(serde_json::Value::as_u64);
    match (number("tests_passing"), total(phase_run)) {
        (Some(passing), Some(total)) => out.push_str(&format!("TESTS_PASSING: {passing}/{total}{change}\n")),
        (Some(passing), None) => out.push_str(&format!("TESTS_PASSING: {passing}{change}\n")),
        (None, _) => {
            for (name, value) in &phase_run.metrics {
                out.push_str(&format!("{}: {value}{change}\n", name.to_ascii_uppercase()));
            }
        }
    }
    let error = phase_run.last_error.as_deref().unwrap_or("none");
    out.push_str(&format!("LAST_ERROR: {}\n\nOPTIONS:\n", fit(error, 400)));
    out.push_str("1. [R]eset and retry with current approach\n");
    out.push_str(&format!("2. [S]kip {phase} phase (mark tests as known failures)\n"));
    out.push_str("3. [A]bort execution\n4. [M]odify approach (provide new guidance)\n\n");
    out.push_str("Enter choice:\n---END_CIRCUIT_BREAKER_OPEN---\n");
    out
}

fn total(phase_run: &PhaseRunView) -> Option<u64> {
    let number = |name: &str| phase_run.metrics.get(name).and_then(serde_json::Value::as_u64);
    number("tests_total")
        .or_else(|| Some(number("tests_passing")? + number("tests_failing")? + number("tests_skipped").unwrap_or(0)))
}

/// The `PRP_PHASE_STATUS` block of a phase run (P7).
pub fn status_block(phase_run: &PhaseRunView, now: Instant) -> PhaseStatus {
    let number = |name: &str| phase_run.metrics.get(name).and_then(serde_json::Value::as_u64);
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
            passing: number("tests_passing"),
            failing: number("tests_failing"),
            skipped: number("tests_skipped"),
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
fn decision_commands(phase_run: &PhaseRunView) -> String {
    let mut out = String::from("A person decides:\n");
    for option in &phase_run.options {
        out.push_str(&format!("  {option}\n"));
    }
    out
}

/// `phase begin`, `check` and `decide`.
pub fn phase_answer(view: &PhaseAnswerView) -> String {
    let Some(phase_run) = &view.phase_run else {
        return "State:   CLOSED\nResult:  ALLOWED (no phase has begun here)\n".to_owned();
    };
    if phase_run.state == "OPEN" {
        let observed = "Observe mode: nothing is refused, work may go on.\n";
        let is_observed = !view.verdict.denies();
        let last = if is_observed { observed.to_owned() } else { decision_commands(phase_run) };
        return open_block(phase_run) + "\n" + &last;
    }
    let is_denied = view.verdict.denies();
    let mut out =
        format!("Phase:   {}\nState:   {}\n", phase_run.phase.as_deref().unwrap_or("none yet"), phase_run.state);
    out.push_str(if is_denied { "Result:  BLOCKED\n" } else { "Result:  ALLOWED\n" });
    if let Some(reason) = &view.reason {
        out.push_str(&wrap("Note:    ", &reason.text));
    }
    if let Some(guidance) = &view.guidance {
        out.push_str(&wrap("Guidance: ", guidance));
    }
    if let Some(audit) = &view.audit {
        out.push_str(&format!("By:      {} at {}, journal head {}\n", audit.who, audit.when, audit.journal_head));
    }
    out
}

/// `phase report`: the block and, if the circuit is OPEN, what a person can do.
pub fn phase_report(view: &PhaseAnswerView, now: Instant) -> String {
    let Some(phase_run) = &view.phase_run else { return String::new() };
    let mut out = status_block(phase_run, now).to_string();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    if phase_run.state == "OPEN" {
        out.push_str(&format!("\n{}\n{}", open_block(phase_run), decision_commands(phase_run)));
    }
    out
}

/// `phase status`.
pub fn phase_status(phase_run: &PhaseRunView) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<13}"), text));
    let phase = phase_run.phase.as_deref().unwrap_or("none yet");
    line("Phase", &format!("{phase}, {}", count(phase_run.iteration, "iteration")));
    line("State", phase_run.state);
    if let Some(trip) = &phase_run.trip {
        line("", &format!("since {}: {} (incident {})", trip.since, trip.reason, trip.incident));
        if let Some(until) = &trip.until {
            line("", &format!("monitored again from {until}"));
        }
    }
    line("No progress", &format!("{} of {}", phase_run.no_progress.count, phase_run.no_progress.threshold));
    line("Same error", &format!("{} of {}", phase_run.same_error.count, phase_run.same_error.threshold));
    if let Some(denials) = phase_run.permission_denials {
        line("Denials", &format!("{} of {}", denials.count, denials.threshold));
    }
    if !phase_run.metrics.is_empty() {
        let metrics: Vec<String> = phase_run.metrics.iter().map(|(name, value)| format!("{name} {value}")).collect();
        line("Metrics", &metrics.join(", "));
    }
    if let Some(last) = &phase_run.last {
        let judged = last.judged.replace('_', " ");
        let gains = if last.gains.is_empty() { String::new() } else { format!(" ({})", last.gains.join(", ")) };
        line("Last", &format!("iteration {}: {judged}{gains}", last.iteration));
        if !last.signs.is_empty() {
            let signs: Vec<String> = last
                .signs
                .iter()
                .map(|sign| format!("{} {} (weight {})", sign.source.as_str(), sign.count, sign.weight))
                .collect();
            line("Signs", &format!("{}; {} of {} needed", signs.join(", "), last.weight, last.enough));
        }
        if last.undone {
            line("", "the work tree had this content before: the work was undone");
        }
    }
    if let Some(error) = &phase_run.last_error {
        line("Last error", &fit(error, 200));
    }
    if let Some(since) = &phase_run.underway_since {
        line("Under way", &format!("an iteration that began {since}"));
    }
    let spent = &phase_run.spent;
    if spent.wall_seconds > 0 || spent.tokens.is_some() || spent.cost_usd.is_some() {
        let tokens = spent.tokens.map_or("unknown".to_owned(), |tokens| tokens.to_string());
        let cost = spent.cost_usd.map_or("unknown".to_owned(), |cost| format!("${cost:.2}"));
        line("Spent", &format!("{} s, tokens {tokens}, cost {cost}", spent.wall_seconds));
    }
    if let Some(finish) = phase_run.finish {
        line("Last end", finish.as_str());
    }
    if !phase_run.known_failures.is_empty() {
        line("Skipped", &format!("{} (known failures)", phase_run.known_failures.join(", ")));
    }
    if let Some(guidance) = &phase_run.guidance {
        line("Guidance", guidance);
    }
    line("Next", &phase_run.recommendation);
    if phase_run.state == "OPEN" {
        out.push_str(&decision_commands(phase_run));
    }
    out
}

/// `phase history`.
pub fn phase_history(view: &PhaseHistoryView) -> String {
    let totals = &view.totals;
    let mut out = format!("{}\n", view.circuit);
    for line in &view.history {
        let event = match line.event {
            HistoryEvent::StateChange => format!("{} → {}", line.from_state, line.to_state),
            HistoryEvent::Progress => "progress".to_owned(),
            HistoryEvent::Error => "error".to_owned(),
        };
        let head = format!("{}  {:<20} ", line.timestamp, event);
        out.push_str(&wrap(&head, &line.reason));
    }
    out.push_str(&format!(
        "Total: {}, {} with progress, {} with an error, {} neutral; {}\n",
        count(totals.iterations, "iteration"),
        totals.progress,
        totals.errors,
        totals.neutral,
        count(totals.trips, "trip")
    ));
    out
}
