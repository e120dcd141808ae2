//! `go test`: plain, `-v` and `-json`.
//!
//! Plain output does not name tests that passed. A package that passed then counts as one test, so that the counts of
//! two runs of the same kind can be compared. A test with subtests counts as its subtests. A package that failed
//! without a failed test did not compile, or died. With `-json`, a test has failed only if its own `--- FAIL` was
//! printed: when a process dies, `go test` makes up the remaining events itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::run_record::{RunRecord, TestOutcome, split_path};
use super::{RunnerParser, TestCounts};

#[derive(Default)]
pub(super) struct GoTest {
    /// The packages of this run that have ended; `run` is the sum of their counts.
    packages: BTreeSet<String>,
    run: TestCounts,
    /// The tests of packages that have not ended; plain output does not say which package is running.
    running: BTreeMap<String, PackageTests>,
    /// The line after the end of the previous package.
    began: usize,
    /// The test binary said that it had nothing to run.
    is_empty: bool,
}

#[derive(Default)]
struct PackageTests {
    outcomes: BTreeMap<String, TestOutcome>,
    /// Tests whose failure was printed.
    printed: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    package: Option<String>,
    test: Option<String>,
    output: Option<String>,
}

/// The output text inside a `-json` event, if the line is one.
pub(super) fn event_output(line: &str) -> Option<String> {
    if !is_event(line) {
        return None;
    }
    serde_json::from_str::<Event>(line).ok().map(|event| event.output.unwrap_or_default())
}

fn is_event(line: &str) -> bool {
    line.starts_with('{') && line.contains("\"Action\"")
}

impl RunnerParser for GoTest {
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        record.counts_other_units = true;
        if is_event(line) {
            let event: Event = serde_json::from_str(line).ok()?;
            record.names_all_tests = true;
            return self.read_event(&event, record);
        }
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("--- ") {
            let (word, rest) = rest.split_once(": ")?;
            let name = rest.rsplit_once(" (")?.0;
            let outcome = parse_outcome(word)?;
            self.running.entry(String::new()).or_default().outcomes.insert(name.to_owned(), outcome);
            record.is_open = true;
            record.add_test(split_path(name, "/"), outcome);
            return None;
        }
        if line.starts_with("=== RUN ") {
            (record.names_all_tests, record.is_open) = (true, true);
            record.mark_boundary();
        }
        self.is_empty |= line == "testing: warning: no tests to run";
        let mut fields = line.split('\t');
        let (word, package) = (fields.next()?.trim_end(), fields.next()?);
        match word {
            "ok" | "FAIL" if !package.contains(char::is_whitespace) || package.contains(" [") => {
                let is_empty = line.ends_with("[no tests to run]") || line.ends_with("[no test files]");
                let is_empty = std::mem::take(&mut self.is_empty) || is_empty;
                self.end_package(package.split(' ').next()?, "", word == "ok", is_empty, record)
            }
            _ => None,
        }
    }
}

impl GoTest {
    fn read_event(&mut self, event: &Event, record: &mut RunRecord) -> Option<TestCounts> {
        let package = event.package.as_deref()?;
        match (&event.test, event.action.as_str()) {
            (Some(test), "output") => {
                let printed = event.output.as_deref().unwrap_or_default().trim_start();
                if printed
                    .strip_prefix("--- FAIL: ")
                    .and_then(|rest| rest.rsplit_once(" ("))
                    .is_some_and(|it| it.0 == test)
                {
                    self.running.entry(package.to_owned()).or_default().printed.insert(test.clone());
                }
                None
            }
            (Some(test), "run") => {
                record.begin_failure_report(split_path(&format!("{package}/{test}"), "/"));
                None
            }
            (Some(test), action) => {
                let outcome = parse_outcome(action)?;
                let tests = self.running.entry(package.to_owned()).or_default();
                tests.outcomes.insert(test.clone(), outcome);
                let is_made_up = outcome == TestOutcome::Failed && !tests.printed.contains(test);
                let outcome = if is_made_up { TestOutcome::Crashed } else { outcome };
                record.add_test(split_path(&format!("{package}/{test}"), "/"), outcome);
                None
            }
            (None, "start") => {
                if self.begin_package(package) {
                    record.begin_run();
                    (record.names_all_tests, record.counts_other_units) = (true, true);
                }
                record.is_open = true;
                None
            }
            (None, "pass" | "fail" | "skip") => {
                // With `-json` every test has an event, so a package without one ran none.
                let is_empty = event.action != "fail" && !self.running.contains_key(package);
                self.end_package(package, package, event.action != "fail", is_empty, record)
            }
            (None, _) => None,
        }
    }

    /// Begins a package. Returns true, after clearing the counts, if the package was seen before: a new run has begun.
    fn begin_package(&mut self, package: &str) -> bool {
        let is_repeated = self.packages.contains(package);
        if is_repeated {
            (self.packages, self.run) = (BTreeSet::new(), TestCounts::default());
        }
        is_repeated
    }

    fn end_package(
        &mut self,
        package: &str,
        key: &str,
        is_ok: bool,
        is_empty: bool,
        record: &mut RunRecord,
    ) -> Option<TestCounts> {
        if self.begin_package(package) {
            record.keep_from(self.began);
        }
        self.began = record.line.saturating_add(1);
        let tests = self.running.remove(key).unwrap_or_default();
        let mut counts = tests.counts();
        if !is_ok && counts.failing == 0 {
            counts = counts.plus(TestCounts::new(0, 1, 0));
            record.add_broken();
        } else if is_ok && counts.total == 0 && !is_empty {
            counts = TestCounts::new(1, 0, 0);
        }
        self.packages.insert(package.to_owned());
        self.run = self.run.plus(counts);
        Some(self.run)
    }
}

impl PackageTests {
    fn counts(&self) -> TestCounts {
        let parents: BTreeSet<&str> =
            self.outcomes.keys().filter_map(|name| name.rsplit_once('/')).map(|(parent, _)| parent).collect();
        let leaves = self.outcomes.iter().filter(|(name, _)| !parents.contains(name.as_str()));
        leaves.fold(TestCounts::default(), |sum, (_, outcome)| sum.plus(TestCounts::of_one(*outcome)))
    }
}

fn parse_outcome(word: &str) -> Option<TestOutcome> {
    match word {
        "PASS" | "pass" => Some(TestOutcome::Passed),
        "FAIL" | "fail" => Some(TestOutcome::Failed),
        "SKIP" | "skip" => Some(TestOutcome::Skipped),
        _ => None,
    }
}
