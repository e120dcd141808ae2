//! Recorded ends of attempts (`testdata/runner_cases`), and what is judged of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use haltline_agents::test_results::{Class, Exit, Judged, TestRun, judge};

const RUNNERS: [&str; 13] = [
    "cargo-test",
    "nextest",
    "pytest",
    "unittest",
    "go-test",
    "go-json",
    "jest",
    "vitest",
    "mocha",
    "node-spec",
    "node-tap",
    "junit",
    "tap",
];

const CASES: [&str; 10] = [
    "fail",
    "pass",
    "build-here",
    "build-elsewhere",
    "missing-module",
    "filtered",
    "crash",
    "timeout",
    "no-network",
    "other-fails",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/runner_cases")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `code 1` or `timed-out`
fn exit(text: &str) -> Exit {
    match text.split_once(' ') {
        Some(("code", code)) => Exit::Code(code.parse().expect("a code")),
        _ => {
            assert_eq!(text, "timed-out");
            Exit::TimedOut
        }
    }
}

fn word(class: Class) -> String {
    match class {
        Class::Passed => "passed".to_owned(),
        Class::Failed => "failed".to_owned(),
        Class::Infrastructure(trouble) => trouble.word().to_owned(),
        Class::Unclear => "unclear".to_owned(),
    }
}

/// A line of the table.
struct Row {
    recording: String,
    output: String,
    report: Option<String>,
    exit: Exit,
    test: String,
    files: Vec<String>,
    class: String,
    why: String,
}

impl Row {
    fn judged_with(&self, output: &str, reports: &[&str], exit: Exit) -> Judged {
        let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
        judge(&TestRun { output, junit: reports, exit, test: &self.test, files: &files })
    }

    fn judged(&self) -> Judged {
        self.judged_with(&self.output, &self.reports(), self.exit)
    }

    fn reports(&self) -> Vec<&str> {
        self.report.iter().map(String::as_str).collect()
    }
}

/// `pytest/fail | test_adds | calc.py | failed | why`
fn rows() -> Vec<Row> {
    let exits = read("exits.txt");
    let exits: BTreeMap<&str, &str> = exits.lines().filter_map(|line| line.split_once(' ')).collect();
    let table = read("classes.txt");
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(" | ").map(str::trim).collect();
            let [recording, test, files, class, why] = fields[..] else { panic!("{line}") };
            let report = folder().join(format!("{recording}.xml"));
            Row {
                recording: recording.to_owned(),
                output: read(&format!("{recording}.txt")),
                report: fs::read_to_string(report).ok(),
                exit: exit(exits.get(recording).unwrap_or_else(|| panic!("{recording} has no exit"))),
                test: test.to_owned(),
                files: files.split(' ').map(str::to_owned).collect(),
                class: class.to_owned(),
                why: why.to_owned(),
            }
        })
        .collect()
}

#[test]
fn every_recording_is_judged_as_its_line_says() {
    let mut expected = Vec::new();
    let mut actual = Vec::new();
    for row in rows() {
        let head = format!("{} | {} | {} |", row.recording, row.test, row.files.join(" "));
        let judged = row.judged();
        expected.push(format!("{head} {} | {}", row.class, row.why));
        actual.push(format!("{head} {} | {}", word(judged.class), judged.why));
    }
    let different: Vec<_> = expected.iter().zip(&actual).filter(|(expected, actual)| expected != actual).collect();
    assert!(different.is_empty(), "\n{}", different.iter().map(|(a, b)| format!("expected {a}\n     got {b}\n")).collect::<String>());
}

#[test]
fn every_runner_has_every_case() {
    let rows: BTreeSet<String> = rows().into_iter().map(|row| row.recording).collect();
    let cells = RUNNERS.iter().flat_map(|runner| CASES.iter().map(move |case| format!("{runner}/{case}")));
    let missing: Vec<String> = cells.filter(|cell| !rows.contains(cell)).collect();
    assert_eq!(missing, Vec::<String>::new(), "cells without a line in classes.txt");
    let exits = read("exits.txt");
    let recorded: BTreeSet<String> =
        exits.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name.to_owned()).collect();
    assert_eq!(rows, recorded, "every recording has a line and every line a recording");
}
