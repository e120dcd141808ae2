//! `haltline phase`: the seed's blocks, and a screen for people.

use haltline_agents::status_block::{BreakerState, BreakerTally, PhaseStatus, Status, TestTally};
use haltline_core::Instant;
use haltline_core::phase::HistoryEvent;

use super::{count, fit, wrap};
use crate::view::phase::{CourseView, PhaseAnswerView, PhaseHistoryView};

/// The block of a course that is OPEN, with the seed's four options (P6).
pub fn open_block(course: &CourseView) -> String {
    let phase = course.phase.as_deref().unwrap_or("UNKNOWN");
    let reason = course.trip.as_ref().map_or("", |trip| trip.reason.as_str());
    let mut out =
        format!("---CIRCUIT_BREAKER_OPEN---\nPHASE: {phase}\nREASON: {reason}\nITERATIONS: {}\n", course.iteration);
    let change = if course.has_gained() { "" } else { " (no change)" };
    let number = |name: &str| course.metrics.get(name).and_then(serde_json::Value::as_u64);
    match (number("tests_passing"), total(course)) {
        (Some(passing), Some(total)) => out.push_str(&format!("TESTS_PASSING: {passing}/{total}{change}\n")),
        (Some(passing), None) => out.push_str(&format!("TESTS_PASSING: {passing}{change}\n")),
        (None, _) => {
            for (name, value) in &course.metrics {
                out.push_str(&format!("{}: {value}{change}\n", name.to_ascii_uppercase()));
            }
        }
    }
    let error = course.last_error.as_deref().unwrap_or("none");
    out.push_str(&format!("LAST_ERROR: {}\n\nOPTIONS:\n", fit(error, 400)));
    out.push_str("1. [R]eset and retry with current approach\n");
    out.push_str(&format!("2. [S]kip {phase} phase (mark tests as known failures)\n"));
    out.push_str("3. [A]bort execution\n4. [M]odify approach (provide new guidance)\n\n");
    out.push_str("Enter choice:\n---END_CIRCUIT_BREAKER_OPEN---\n");
    out
}

fn total(course: &CourseView) -> Option<u64> {
    let number = |name: &str| course.metrics.get(name).and_then(serde_json::Value::as_u64);
    number("tests_total")
        .or_else(|| Some(number("tests_passing")? + number("tests_failing")? + number("tests_skipped").unwrap_or(0)))
}

/// The `PRP_PHASE_STATUS` block of a course (P7).
pub fn status_block(course: &CourseView, now: Instant) -> PhaseStatus {
    let number = |name: &str| course.metrics.get(name).and_then(serde_json::Value::as_u64);
    let (status, state) = match course.state {
        "OPEN" => (Status::Blocked, BreakerState::Open),
        "HALF_OPEN" => (Status::InProgress, BreakerState::HalfOpen),
        "OVER" => (Status::Complete, BreakerState::Closed),
        _closed => (Status::InProgress, BreakerState::Closed),
    };
    let mut blockers = Vec::new();
    blockers.extend(course.trip.as_ref().map(|trip| trip.reason.clone()));
    blockers.extend(course.last_error.clone().filter(|_| state == BreakerState::Open).map(|error| fit(&error, 200)));
    PhaseStatus {
        timestamp: Some(now),
        phase: course.phase.clone(),
        status: Some(status),
        iteration: Some(course.iteration),
        tests: TestTally {
            total: total(course),
            passing: number("tests_passing"),
            failing: number("tests_failing"),
            skipped: number("tests_skipped"),
        },
        circuit_breaker: BreakerTally {
            state: Some(state),
            no_progress_count: Some(course.no_progress.count.into()),
            same_error_count: Some(course.same_error.count.into()),
        },
        blockers: Some(blockers),
        exit_signal: Some(state != BreakerState::Open && status == Status::Complete),
        recommendation: Some(course.recommendation.clone()),
        ..PhaseStatus::default()
    }
}

/// The commands of the options.
fn how_to_decide(course: &CourseView) -> String {
    let mut out = String::from("A person decides:\n");
    for option in &course.options {
        out.push_str(&format!("  {option}\n"));
    }
    out
}

/// `phase begin` and `phase check`.
pub fn phase_answer(view: &PhaseAnswerView) -> String {
    let Some(course) = &view.course else {
        return "State:   CLOSED\nResult:  ALLOWED (no phase has begun here)\n".to_owned();
    };
    if course.state == "OPEN" {
        let observed = "Observe mode: nothing is refused, work may go on.\n";
        let is_observed = !matches!(view.verdict, "deny" | "stop");
        let last = if is_observed { observed.to_owned() } else { how_to_decide(course) };
        return open_block(course) + "\n" + &last;
    }
    let is_refused = matches!(view.verdict, "deny" | "stop");
    let mut out = format!("Phase:   {}\nState:   {}\n", course.phase.as_deref().unwrap_or("none yet"), course.state);
    out.push_str(if is_refused { "Result:  BLOCKED\n" } else { "Result:  ALLOWED\n" });
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

/// `phase report`: the block, and what a person can do where it is OPEN.
pub fn phase_report(view: &PhaseAnswerView, now: Instant) -> String {
    let Some(course) = &view.course else { return String::new() };
    let mut out = status_block(course, now).to_string();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    if course.state == "OPEN" {
        out.push_str(&format!("\n{}\n{}", open_block(course), how_to_decide(course)));
    }
    out
}

/// `phase status`.
pub fn phase_status(course: &CourseView) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<13}"), text));
    let phase = course.phase.as_deref().unwrap_or("none yet");
    line("Phase", &format!("{phase}, {}", count(course.iteration, "iteration")));
    line("State", course.state);
    if let Some(trip) = &course.trip {
        line("", &format!("since {}: {} (incident {})", trip.since, trip.reason, trip.incident));
        if let Some(until) = &trip.until {
            line("", &format!("monitored again from {until}"));
        }
    }
    line("No progress", &format!("{} of {}", course.no_progress.count, course.no_progress.threshold));
    line("Same error", &format!("{} of {}", course.same_error.count, course.same_error.threshold));
    if let Some(denials) = course.permission_denials {
        line("Denials", &format!("{} of {}", denials.count, denials.threshold));
    }
    if !course.metrics.is_empty() {
        let metrics: Vec<String> = course.metrics.iter().map(|(name, value)| format!("{name} {value}")).collect();
        line("Metrics", &metrics.join(", "));
    }
    if let Some(last) = &course.last {
        let judged = last.judged.replace('_', " ");
        let gains = if last.gains.is_empty() { String::new() } else { format!(" ({})", last.gains.join(", ")) };
        line("Last", &format!("iteration {}: {judged}{gains}", last.iteration));
        if !last.signs.is_empty() {
            let signs: Vec<String> = last
                .signs
                .iter()
                .map(|sign| format!("{} {} (weight {})", sign.source.word(), sign.count, sign.weight))
                .collect();
            line("Signs", &format!("{}; {} of {} needed", signs.join(", "), last.weight, last.enough));
        }
        if last.undone {
            line("", "the work tree had this content before: the work was undone");
        }
    }
    if let Some(error) = &course.last_error {
        line("Last error", &fit(error, 200));
    }
    if let Some(since) = &course.underway_since {
        line("Under way", &format!("an iteration that began {since}"));
    }
    let spent = &course.spent;
    if spent.wall_seconds > 0 || spent.tokens.is_some() || spent.cost_usd.is_some() {
        let tokens = spent.tokens.map_or("unknown".to_owned(), |tokens| tokens.to_string());
        let cost = spent.cost_usd.map_or("unknown".to_owned(), |cost| format!("${cost:.2}"));
        line("Spent", &format!("{} s, tokens {tokens}, cost {cost}", spent.wall_seconds));
    }
    if let Some(finish) = course.finish {
        line("Last end", finish.word());
    }
    if !course.known_failures.is_empty() {
        line("Skipped", &format!("{} (known failures)", course.known_failures.join(", ")));
    }
    if let Some(guidance) = &course.guidance {
        line("Guidance", guidance);
    }
    line("Next", &course.recommendation);
    if course.state == "OPEN" {
        out.push_str(&how_to_decide(course));
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
