//! Every fact of the phase family, each with its word and whether it is momentous, in the order of
//! `testdata/facts.jsonl`.

use std::collections::BTreeMap;

use haltline_core::identity::Digest;
use haltline_core::phase::{
    ErrorMark, Fact, Finish, Foreign, ForeignStand, HistoryEvent, HistoryLine, Iterated, Metrics, Override, PhaseName,
    Source, Spent, Trip, TripCause, Weighed,
};
use haltline_core::{Fact as AnyFact, Moment};

type Row = (Fact, &'static str, bool);

pub fn rows(now: Moment) -> Vec<(AnyFact, &'static str, bool)> {
    let course = course().into_iter().chain(iterations()).chain(states(now));
    let all = course.chain(people()).chain(ends()).chain(adopted(now)).chain(later());
    all.map(|(fact, word, is_momentous)| (AnyFact::Phase(fact), word, is_momentous)).collect()
}

fn who() -> String {
    "anna".to_owned()
}

fn course() -> [Row; 7] {
    let phase = || PhaseName::known("GREEN");
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
        Weighed { source: Source::Commits, count: 2, weight: 2 },
        Weighed { source: Source::Status, count: 1, weight: 1 },
    ];
    let helped = Iterated {
        iteration: 4,
        progress: true,
        gains: vec!["tests_passing".to_owned()],
        metrics: metrics(),
        signs,
        tree: Some(Digest(22)),
        spent: Spent { wall_ms: 5_000, tokens: Some(900), micros: Some(20) },
        ..Iterated::default()
    };
    let error = Some(ErrorMark { raw: "ab12".to_owned(), normal: Some(Digest(33)) });
    let failed = Iterated { iteration: 5, denied: true, undone: true, error, ..Iterated::default() };
    let foreign = Some(ErrorMark { raw: "ab12".to_owned(), normal: None });
    let asked = Iterated { iteration: 6, neutral: true, error: foreign, ..Iterated::default() };
    [
        (Fact::Iterated(Box::new(helped)), "progress", false),
        (Fact::Iterated(Box::new(failed)), "no_progress", false),
        (Fact::Iterated(Box::new(asked)), "neutral", false),
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
        tripped(TripCause::Denials, Some(1_800_000)),
        tripped(TripCause::Neutral, None),
        tripped(TripCause::Found { reason: "halt by hand".to_owned() }, None),
        (Fact::Recovered, "recovered", false),
        (Fact::HalfOpened, "half_opened", false),
        (Fact::Refused, "refused", false),
        (Fact::Ignored { spent: Spent { wall_ms: 7, tokens: None, micros: None } }, "ignored", false),
        (Fact::Guided { guidance: "split it".to_owned() }, "guided", false),
    ]
}

fn people() -> [Row; 6] {
    [
        (Fact::Reset { who: who(), opens_too: true }, "reset", true),
        (Fact::Reset { who: "auto-reset".to_owned(), opens_too: false }, "reset", true),
        (Fact::Skipped { who: who(), to: Some(PhaseName::known("REFACTOR")) }, "skipped", true),
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
    let file = |wins, stand| Foreign {
        wins,
        stand,
        no_progress: 2,
        same_error: 1,
        error: None,
        denials: 0,
        baselines: BTreeMap::new(),
        phase: None,
        iteration: 0,
        last_progress: 0,
        opens: 0,
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
    let whole = Foreign {
        error: Some("ab12".to_owned()),
        denials: 1,
        baselines: BTreeMap::from([(PhaseName::known("GREEN"), metrics())]),
        phase: Some(PhaseName::known(PhaseName::RALPH)),
        iteration: 12,
        last_progress: 9,
        opens: 4,
        history: lines.map(|event| HistoryLine { event, ..line.clone() }).to_vec(),
        ..file(Override::File, ForeignStand::Warned)
    };
    let reason = || "halt by hand".to_owned();
    let open = ForeignStand::Open { since: Some(now.at), reason: reason(), cooldown_ms: Some(1_800_000) };
    let undated = ForeignStand::Open { since: None, reason: reason(), cooldown_ms: None };
    [file(Override::Store, ForeignStand::Closed), whole, file(Override::File, open), file(Override::Store, undated)]
        .map(|foreign| (Fact::Adopted(Box::new(foreign)), "adopted", true))
}

/// Since an iteration that ends late moves nothing.
fn later() -> [Row; 1] {
    let stale = Iterated { iteration: 7, stale: true, ..Iterated::default() };
    [(Fact::Iterated(Box::new(stale)), "stale", false)]
}
