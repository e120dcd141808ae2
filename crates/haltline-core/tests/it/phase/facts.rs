//! Every fact of the phase breaker with its name and whether it needs a sync, in the order of `testdata/facts.jsonl`.

use std::collections::BTreeMap;

use haltline_core::identity::Digest;
use haltline_core::phase::{
    ErrorFingerprint, Fact, Finish, ForeignRun, ForeignState, HistoryEvent, HistoryLine, Iterated, Metrics, PhaseName,
    Precedence, Source, Spent, Trip, TripCause, WeighedSignal,
};
use haltline_core::{Fact as AnyFact, Moment};

type Row = (Fact, &'static str, bool);

pub fn rows(now: Moment) -> Vec<(AnyFact, &'static str, bool)> {
    let run_facts = run_facts().into_iter().chain(iterations()).chain(states(now));
    let all = run_facts.chain(people()).chain(ends()).chain(adopted(now)).chain(later());
    all.map(|(fact, name, needs_sync)| (AnyFact::Phase(fact), name, needs_sync)).collect()
}

fn who() -> String {
    "anna".to_owned()
}

fn run_facts() -> [Row; 7] {
    let phase = || PhaseName::from_static("GREEN");
    [
        (Fact::Began { phase: phase(), who: None }, "began", false),
        (Fact::Began { phase: phase(), who: Some(who()) }, "began", true),
        (Fact::Entered { phase: phase() }, "entered", false),
        (Fact::Resumed { unfinished: None }, "resumed", false),
        (Fact::Resumed { unfinished: Some(4) }, "resumed", false),
        (Fact::Started { iteration: 4, tree: None }, "started", false),
        (Fact::Started { iteration: 4, tree: Some(Digest(11)) }, "started", false),
    ]
}

fn metrics() -> Metrics {
    let mut metrics = Metrics::default();
    metrics.set("tests_passing", "3").expect("a number");
    metrics.set("complexity_score", "12.5").expect("a number");
    metrics
}

fn iterations() -> [Row; 4] {
    let signs = vec![
        WeighedSignal { source: Source::Commits, count: 2, weight: 2 },
        WeighedSignal { source: Source::Status, count: 1, weight: 1 },
    ];
    let helped = Iterated {
        iteration: 4,
        progress: true,
        gains: vec!["tests_passing".to_owned()],
        metrics: metrics(),
        signals: signs,
        tree: Some(Digest(22)),
        spent: Spent { wall_ms: 5_000, tokens: Some(900), micros: Some(20) },
        ..Iterated::default()
    };
    let error = Some(ErrorFingerprint { raw: "ab12".to_owned(), normal: Some(Digest(33)) });
    let failed = Iterated { iteration: 5, permission_denied: true, undone: true, error, ..Iterated::default() };
    let foreign = Some(ErrorFingerprint { raw: "ab12".to_owned(), normal: None });
    let neutral = Iterated { iteration: 6, neutral: true, error: foreign, ..Iterated::default() };
    [
        (Fact::Iterated(Box::new(helped)), "progress", false),
        (Fact::Iterated(Box::new(failed)), "no_progress", false),
        (Fact::Iterated(Box::new(neutral)), "neutral", false),
        (Fact::Iterated(Box::default()), "no_progress", false),
    ]
}

fn states(now: Moment) -> [Row; 11] {
    let tripped = |cause, cooldown_ms| {
        let trip = Trip { incident: "0a1b2c3d".to_owned(), since: now, cause, count: 3, cooldown_ms };
        (Fact::Tripped { trip }, "tripped", true)
    };
    [
        (Fact::Warned { count: 2 }, "warned", false),
        tripped(TripCause::NoProgress, None),
        tripped(TripCause::SameError, None),
        tripped(TripCause::PermissionDenials, Some(1_800_000)),
        tripped(TripCause::Neutral, None),
        tripped(TripCause::StateFile { reason: "halt by hand".to_owned() }, None),
        (Fact::Recovered, "recovered", false),
        (Fact::HalfOpened, "half_opened", false),
        (Fact::Denied, "refused", false),
        (Fact::Ignored { spent: Spent { wall_ms: 7, tokens: None, micros: None } }, "ignored", false),
        (Fact::Guided { guidance: "split it".to_owned() }, "guided", false),
    ]
}

fn people() -> [Row; 6] {
    [
        (Fact::Reset { who: who(), clears_open_count: true }, "reset", true),
        (Fact::Reset { who: "auto-reset".to_owned(), clears_open_count: false }, "reset", true),
        (Fact::Skipped { who: who(), to: Some(PhaseName::from_static("REFACTOR")) }, "skipped", true),
        (Fact::Skipped { who: who(), to: None }, "skipped", true),
        (Fact::Aborted { who: who() }, "aborted", true),
        (Fact::Modified { who: who(), guidance: "split it".to_owned() }, "modified", true),
    ]
}

fn ends() -> [Row; 4] {
    [Finish::Completed, Finish::Budget, Finish::Interrupted, Finish::Unstartable]
        .map(|how| (Fact::Finished { how }, "finished", true))
}

fn adopted(now: Moment) -> [Row; 4] {
    let file = |precedence, state| ForeignRun {
        precedence,
        state,
        no_progress: 2,
        same_error: 1,
        error: None,
        permission_denials: 0,
        baselines: BTreeMap::new(),
        phase: None,
        iteration: 0,
        last_progress: 0,
        open_count: 0,
        history: Vec::new(),
    };
    let line = HistoryLine {
        is_trip: false,
        at: now.at,
        event: HistoryEvent::StateChange,
        from: "CLOSED".to_owned(),
        to: "HALF_OPEN".to_owned(),
        reason: "No progress for 2 iterations".to_owned(),
        iteration: 4,
    };
    let lines = [HistoryEvent::StateChange, HistoryEvent::Progress, HistoryEvent::Error];
    let whole = ForeignRun {
        error: Some("ab12".to_owned()),
        permission_denials: 1,
        baselines: BTreeMap::from([(PhaseName::from_static("GREEN"), metrics())]),
        phase: Some(PhaseName::from_static(PhaseName::RALPH)),
        iteration: 12,
        last_progress: 9,
        open_count: 4,
        history: lines.map(|event| HistoryLine { event, ..line.clone() }).to_vec(),
        ..file(Precedence::File, ForeignState::Warned)
    };
    let reason = || "halt by hand".to_owned();
    let open = ForeignState::Open { since: Some(now.at), reason: reason(), cooldown_ms: Some(1_800_000) };
    let undated = ForeignState::Open { since: None, reason: reason(), cooldown_ms: None };
    [
        file(Precedence::Store, ForeignState::Closed),
        whole,
        file(Precedence::File, open),
        file(Precedence::Store, undated),
    ]
    .map(|foreign| (Fact::Adopted(Box::new(foreign)), "adopted", true))
}

/// Stale iterations, which were added to the format later.
fn later() -> [Row; 1] {
    let stale = Iterated { iteration: 7, stale: true, ..Iterated::default() };
    [(Fact::Iterated(Box::new(stale)), "stale", false)]
}
