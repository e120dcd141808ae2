//! The labelled histories of `bench/corpus`, through the program: haltline denies loops in time and lets work pass.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use haltline_sim::histories::{History, Label, read_folder};
use serde_json::Value;

/// Every class that must exist: possible false positives, ordinary work, and loops.
const CLASSES: [&str; 42] = [
    "polling-changing",
    "polling-unchanged",
    "spacer-beside-poll",
    "monitoring-child",
    "edit-lint-edit",
    "edits-same-ack",
    "batch-over-files",
    "two-pass-batch",
    "pagination",
    "user-rejection",
    "sibling-cascade",
    "search-exit-one",
    "redacted-paths",
    "opening-exploration",
    "provider-retry",
    "heartbeat",
    "after-compaction-reread",
    "healthy-work",
    "continued-work",
    "measured-runs",
    "one-after-another",
    "question-search",
    "short-wait",
    "exact-repeat",
    "volatile-repeat",
    "cycle",
    "interleaved-repeat",
    "same-error",
    "futile-writes",
    "cascade",
    "retread",
    "stagnation",
    "compaction-loop",
    "denial-streak",
    "stop-hook-loop",
    "idle-continuation",
    "spawn-storm",
    "noisy-repeat",
    "missing-program",
    "similar-errors",
    "fruitless-search",
    "dead-poll",
];
const HISTORIES_MIN: usize = 120;
const HISTORIES_PER_CLASS_MIN: usize = 4;
/// A history is short enough to read.
const CALLS: std::ops::RangeInclusive<usize> = 6..=40;
/// How many of a hundred histories of work may get a warning.
const WARNED_PERCENT_MAX: usize = 3;

/// Loops that haltline does not detect, and why. Remove one from here when haltline detects it.
const UNSEEN: [(&str, &str); 2] = [
    (
        "stagnation.empty-answer-reworded",
        "searches that find nothing are ordinary work, and few of their words are shared",
    ),
    (
        "stagnation.head-tail-sed-of-one-line",
        "short commands share too few words to be distinguished from different questions",
    ),
];

fn histories() -> Vec<History> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("crates/NAME lies two folders below the root");
    read_folder(&root.join("bench/corpus")).unwrap_or_else(|error| panic!("{error}"))
}

/// The first call with a warning and the first that was denied or stopped, each with its circuit.
struct Verdicts {
    warned: Option<(u64, String)>,
    denied: Option<(u64, String)>,
}

/// The verdicts of `haltline backtest` on all histories, by session.
fn backtest(histories: &[History]) -> BTreeMap<String, Verdicts> {
    let folder = tempfile::Builder::new().prefix("hl").tempdir().expect("temp folder");
    let project = folder.path().join("project");
    fs::create_dir_all(project.join(".git")).expect("created");
    let events: PathBuf = folder.path().join("events.jsonl");
    let lines: String = histories
        .iter()
        .enumerate()
        .flat_map(|(number, history)| history.events(number))
        .map(|event| format!("{event}\n"))
        .collect();
    fs::write(&events, lines).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_haltline-at"))
        .args(["backtest", "--json"])
        .arg(&events)
        .current_dir(&project)
        .env_clear()
        .env("HOME", folder.path())
        .env("HALTLINE_AT", "2026-02-01T10:00:00Z")
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines()
        .map(|line| {
            let session: Value = serde_json::from_str(line).expect("JSON");
            let first = |verdict: &str| {
                let first = &session["first"][verdict];
                Some((first["call"].as_u64()?, first["circuit"].as_str().unwrap_or_default().to_owned()))
            };
            let denied = [first("deny"), first("stop")].into_iter().flatten().min();
            let name = session["session"].as_str().expect("a name").to_owned();
            (name, Verdicts { warned: first("warn"), denied })
        })
        .collect()
}

fn describe(history: &History, finding: &str) -> String {
    format!("{} ({}): {finding}\n    {}", history.session(), history.location, history.why)
}

#[test]
fn every_class_has_its_histories_and_each_is_short() {
    let histories = histories();
    assert!(histories.len() >= HISTORIES_MIN, "only {} histories", histories.len());
    let mut counts: BTreeMap<&str, usize> = CLASSES.iter().map(|class| (*class, 0)).collect();
    for history in &histories {
        let count = counts.get_mut(history.class.as_str());
        *count.unwrap_or_else(|| panic!("{}: add the class to CLASSES", history.location)) += 1;
        assert!(CALLS.contains(&history.calls()), "{}: {} calls", history.location, history.calls());
    }
    let rare: Vec<_> = counts.iter().filter(|(_, count)| **count < HISTORIES_PER_CLASS_MIN).collect();
    assert!(rare.is_empty(), "too few histories: {rare:?}");
}

#[test]
fn every_loop_is_denied_within_its_window() {
    let histories = histories();
    let verdicts = backtest(&histories);
    let mut wrong = Vec::new();
    for history in &histories {
        let Label::Loop { from, to } = history.label else { continue };
        if let Some((name, why)) = UNSEEN.iter().find(|(name, _)| *name == history.session()) {
            assert!(verdicts[*name].denied.is_none(), "{name} is detected now; remove it from UNSEEN: {why}");
            continue;
        }
        match &verdicts[&history.session()].denied {
            None => wrong.push(describe(history, &format!("never denied, expected at call {from} to {to}"))),
            Some((call, circuit)) if !(from as u64..=to as u64).contains(call) => {
                wrong.push(describe(
                    history,
                    &format!("denied at call {call} by {circuit}, expected at {from} to {to}"),
                ));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} loops are judged wrongly:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_work_is_denied_and_hardly_any_gets_a_warning() {
    let histories = histories();
    let verdicts = backtest(&histories);
    let (mut work, mut denied, mut warned) = (0, Vec::new(), Vec::new());
    for history in histories.iter().filter(|history| history.label == Label::Work) {
        work += 1;
        let verdicts = &verdicts[&history.session()];
        if let Some((call, circuit)) = &verdicts.denied {
            denied.push(describe(history, &format!("denied at call {call} by {circuit}")));
        } else if let Some((call, circuit)) = &verdicts.warned {
            warned.push(describe(history, &format!("warned at call {call} by {circuit}")));
        }
    }
    let listed = [denied.join("\n"), warned.join("\n")].join("\n");
    assert!(denied.is_empty(), "{} histories of work are denied:\n{listed}", denied.len());
    let share = warned.len() * 100;
    assert!(
        share <= WARNED_PERCENT_MAX * work,
        "{} of {work} histories of work get a warning:\n{listed}",
        warned.len()
    );
}
