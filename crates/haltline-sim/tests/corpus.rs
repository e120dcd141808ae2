//! The labelled histories of `bench/corpus`, through the program: loops are refused in time, work is let go on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use haltline_sim::histories::{History, Label, read_folder};
use serde_json::Value;

/// Every class there has to be: those of false alarms, ordinary work, and those of loops.
const CLASSES: [&str; 32] = [
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
    "spawn-storm",
    "dead-poll",
];
const HISTORIES_MIN: usize = 120;
const HISTORIES_PER_CLASS_MIN: usize = 4;
/// A history is short enough to be read.
const CALLS: std::ops::RangeInclusive<usize> = 6..=40;
/// How many of a hundred histories of work may be warned of.
const WARNED_PERCENT_MAX: usize = 3;

fn histories() -> Vec<History> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("crates/NAME lies two folders below the root");
    read_folder(&root.join("bench/corpus")).unwrap_or_else(|error| panic!("{error}"))
}

/// The first call that was warned of, and the first that was refused or stopped, with the circuit.
struct Verdicts {
    warned: Option<(u64, String)>,
    refused: Option<(u64, String)>,
}

/// What `haltline backtest` says of all histories, by session.
fn judged(histories: &[History]) -> BTreeMap<String, Verdicts> {
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
            let refused = [first("deny"), first("stop")].into_iter().flatten().min();
            let name = session["session"].as_str().expect("a name").to_owned();
            (name, Verdicts { warned: first("warn"), refused })
        })
        .collect()
}

fn told(history: &History, what: &str) -> String {
    format!("{} ({}): {what}\n    {}", history.session(), history.place, history.why)
}

#[test]
fn every_class_has_its_histories_and_each_is_short() {
    let histories = histories();
    assert!(histories.len() >= HISTORIES_MIN, "only {} histories", histories.len());
    let mut counts: BTreeMap<&str, usize> = CLASSES.iter().map(|class| (*class, 0)).collect();
    for history in &histories {
        let count = counts.get_mut(history.class.as_str());
        *count.unwrap_or_else(|| panic!("{}: add the class to CLASSES", history.place)) += 1;
        assert!(CALLS.contains(&history.calls()), "{}: {} calls", history.place, history.calls());
    }
    let rare: Vec<_> = counts.iter().filter(|(_, count)| **count < HISTORIES_PER_CLASS_MIN).collect();
    assert!(rare.is_empty(), "too few histories: {rare:?}");
}

#[test]
fn every_loop_is_refused_within_its_window() {
    let histories = histories();
    let verdicts = judged(&histories);
    let mut wrong = Vec::new();
    for history in &histories {
        let Label::Loop { from, to } = history.label else { continue };
        match &verdicts[&history.session()].refused {
            None => wrong.push(told(history, &format!("never refused, expected at call {from} to {to}"))),
            Some((call, circuit)) if !(from as u64..=to as u64).contains(call) => {
                wrong.push(told(history, &format!("refused at call {call} by {circuit}, expected at {from} to {to}")));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} loops are judged wrongly:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_work_is_refused_and_hardly_any_warned_of() {
    let histories = histories();
    let verdicts = judged(&histories);
    let (mut work, mut refused, mut warned) = (0, Vec::new(), Vec::new());
    for history in histories.iter().filter(|history| history.label == Label::Work) {
        work += 1;
        let verdicts = &verdicts[&history.session()];
        if let Some((call, circuit)) = &verdicts.refused {
            refused.push(told(history, &format!("refused at call {call} by {circuit}")));
        } else if let Some((call, circuit)) = &verdicts.warned {
            warned.push(told(history, &format!("warned of at call {call} by {circuit}")));
        }
    }
    let listed = [refused.join("\n"), warned.join("\n")].join("\n");
    assert!(refused.is_empty(), "{} histories of work are refused:\n{listed}", refused.len());
    let share = warned.len() * 100;
    assert!(
        share <= WARNED_PERCENT_MAX * work,
        "{} of {work} histories of work are warned of:\n{listed}",
        warned.len()
    );
}
