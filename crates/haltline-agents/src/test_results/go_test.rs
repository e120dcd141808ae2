//! `go test`: plain, `-v` and `-json`.
//!
//! Plain output names no test that passed. A package that passed then counts as one, so that the figures of two runs of
//! the same kind can be compared. A test with tests inside counts by those. A package that failed without a failed test
//! did not compile, or died. With events, a test is only believed to have failed where its own `--- FAIL` was printed:
//! the events of a process that died are made up by the tool that reads it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::told::{self, Told, path};
use super::{Reader, TestCounts};

#[derive(Default)]
pub(super) struct GoTest {
    /// The packages of this run that are over, and what they counted together.
    packages: BTreeSet<String>,
    run: TestCounts,
    /// The tests of packages that are not; plain output does not say which package is running.
    running: BTreeMap<String, Tests>,
    /// The line after the package before this one.
    began: usize,
    /// The binary said that it had nothing to run.
    is_empty: bool,
}

#[derive(Default)]
struct Tests {
    outcomes: BTreeMap<String, Outcome>,
    /// Those whose failure was printed.
    printed: BTreeSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Pass,
    Fail,
    Skip,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package")]
    package: Option<String>,
    #[serde(rename = "Test")]
    test: Option<String>,
    #[serde(rename = "Output")]
    output: Option<String>,
}

/// The text in an event, where a line is one.
pub(super) fn event_output(line: &str) -> Option<String> {
    if !is_event(line) {
        return None;
    }
    serde_json::from_str::<Event>(line).ok().map(|event| event.output.unwrap_or_default())
}

fn is_event(line: &str) -> bool {
    line.starts_with('{') && line.contains("\"Action\"")
}

impl Reader for GoTest {
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        told.counts_others = true;
        if is_event(line) {
            let event: Event = serde_json::from_str(line).ok()?;
            told.names_all = true;
            return self.event(&event, told);
        }
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("--- ") {
            let (word, rest) = rest.split_once(": ")?;
            let name = rest.rsplit_once(" (")?.0;
            let outcome = outcome(word)?;
            self.running.entry(String::new()).or_default().outcomes.insert(name.to_owned(), outcome);
            told.is_open = true;
            told.test(path(name, "/"), outcome.told());
            return None;
        }
        if line.starts_with("=== RUN ") {
            (told.names_all, told.is_open) = (true, true);
            told.mark();
        }
        self.is_empty |= line == "testing: warning: no tests to run";
        let mut fields = line.split('\t');
        let (word, package) = (fields.next()?.trim_end(), fields.next()?);
        match word {
            "ok" | "FAIL" if !package.contains(char::is_whitespace) || package.contains(" [") => {
                let is_empty = line.ends_with("[no tests to run]") || line.ends_with("[no test files]");
                let is_empty = std::mem::take(&mut self.is_empty) || is_empty;
                self.package_ended(package.split(' ').next()?, "", word == "ok", is_empty, told)
            }
            _ => None,
        }
    }
}

impl GoTest {
    fn event(&mut self, event: &Event, told: &mut Told) -> Option<TestCounts> {
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
                let mut parts = path(package, "/");
                parts.extend(path(test, "/"));
                told.detail(parts);
                None
            }
            (Some(test), action) => {
                let outcome = outcome(action)?;
                let tests = self.running.entry(package.to_owned()).or_default();
                tests.outcomes.insert(test.clone(), outcome);
                let is_made_up = outcome == Outcome::Fail && !tests.printed.contains(test);
                let mut parts = path(package, "/");
                parts.extend(path(test, "/"));
                told.test(parts, if is_made_up { told::Outcome::Crashed } else { outcome.told() });
                None
            }
            (None, "start") => {
                if self.begin(package) {
                    told.begins();
                    (told.names_all, told.counts_others) = (true, true);
                }
                told.is_open = true;
                None
            }
            (None, "pass" | "fail" | "skip") => {
                // With events every test is told, so a package without one ran none.
                let is_empty = event.action != "fail" && !self.running.contains_key(package);
                self.package_ended(package, package, event.action != "fail", is_empty, told)
            }
            (None, _) => None,
        }
    }

    /// A package that is there already begins a new run.
    fn begin(&mut self, package: &str) -> bool {
        let is_there = self.packages.contains(package);
        if is_there {
            (self.packages, self.run) = (BTreeSet::new(), TestCounts::default());
        }
        is_there
    }

    fn package_ended(
        &mut self,
        package: &str,
        key: &str,
        is_ok: bool,
        is_empty: bool,
        told: &mut Told,
    ) -> Option<TestCounts> {
        if self.begin(package) {
            told.keep_from(self.began);
        }
        self.began = told.line.saturating_add(1);
        let tests = self.running.remove(key).unwrap_or_default();
        let mut counts = tests.counts();
        if !is_ok && counts.failing == 0 {
            counts = counts.plus(TestCounts::of(0, 1, 0));
            told.broken();
        } else if is_ok && counts.total == 0 && !is_empty {
            counts = TestCounts::of(1, 0, 0);
        }
        self.packages.insert(package.to_owned());
        self.run = self.run.plus(counts);
        Some(self.run)
    }
}

impl Outcome {
    fn told(self) -> told::Outcome {
        match self {
            Outcome::Pass => told::Outcome::Passed,
            Outcome::Fail => told::Outcome::Failed,
            Outcome::Skip => told::Outcome::Skipped,
        }
    }
}

impl Tests {
    fn counts(&self) -> TestCounts {
        let parents: BTreeSet<&str> =
            self.outcomes.keys().filter_map(|name| name.rsplit_once('/')).map(|(parent, _)| parent).collect();
        let leaves = self.outcomes.iter().filter(|(name, _)| !parents.contains(name.as_str()));
        leaves.fold(TestCounts::default(), |sum, (_, outcome)| {
            sum.plus(match outcome {
                Outcome::Pass => TestCounts::of(1, 0, 0),
                Outcome::Fail => TestCounts::of(0, 1, 0),
                Outcome::Skip => TestCounts::of(0, 0, 1),
            })
        })
    }
}

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "PASS" | "pass" => Outcome::Pass,
        "FAIL" | "fail" => Outcome::Fail,
        "SKIP" | "skip" => Outcome::Skip,
        _ => return None,
    })
}
