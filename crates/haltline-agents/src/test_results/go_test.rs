//! `go test`: plain, `-v` and `-json`.
//!
//! Plain output names no test that passed. A package that passed then counts as one, so that the figures of two runs of
//! the same kind can be compared. A test with tests inside counts by those. A package that failed without a failed test
//! did not compile, or died.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Reader, TestCounts};

#[derive(Default)]
pub(super) struct GoTest {
    /// The packages of this run that are over, and what they counted together.
    packages: BTreeSet<String>,
    run: TestCounts,
    /// The tests of packages that are not; plain output does not say which package is running.
    running: BTreeMap<String, Tests>,
}

#[derive(Default)]
struct Tests {
    outcomes: BTreeMap<String, Outcome>,
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
}

impl Reader for GoTest {
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        if line.starts_with('{') && line.contains("\"Action\"") {
            let event: Event = serde_json::from_str(line).ok()?;
            return self.event(&event);
        }
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("--- ") {
            let (word, rest) = rest.split_once(": ")?;
            let name = rest.split_once(" (")?.0;
            self.running.entry(String::new()).or_default().outcomes.insert(name.to_owned(), outcome(word)?);
            return None;
        }
        let mut fields = line.split('\t');
        let (word, package) = (fields.next()?.trim_end(), fields.next()?);
        match word {
            "ok" | "FAIL" if !package.contains(char::is_whitespace) || package.contains(" [") => {
                let is_empty = line.ends_with("[no tests to run]") || line.ends_with("[no test files]");
                self.package_ended(package.split(' ').next()?, "", word == "ok", is_empty)
            }
            _ => None,
        }
    }
}

impl GoTest {
    fn event(&mut self, event: &Event) -> Option<TestCounts> {
        let package = event.package.as_deref()?;
        match (&event.test, event.action.as_str()) {
            (Some(test), action) => {
                let outcome = outcome(action)?;
                self.running.entry(package.to_owned()).or_default().outcomes.insert(test.clone(), outcome);
                None
            }
            (None, "start") => {
                self.begin(package);
                None
            }
            (None, "pass" | "fail" | "skip") => {
                // With events every test is told, so a package without one ran none.
                let is_empty = event.action != "fail" && !self.running.contains_key(package);
                self.package_ended(package, package, event.action != "fail", is_empty)
            }
            (None, _) => None,
        }
    }

    /// A package that is there already begins a new run.
    fn begin(&mut self, package: &str) {
        if self.packages.contains(package) {
            (self.packages, self.run) = (BTreeSet::new(), TestCounts::default());
        }
    }

    fn package_ended(&mut self, package: &str, key: &str, is_ok: bool, is_empty: bool) -> Option<TestCounts> {
        self.begin(package);
        let tests = self.running.remove(key).unwrap_or_default();
        let mut counts = tests.counts();
        if !is_ok && counts.failing == 0 {
            counts = counts.plus(TestCounts::of(0, 1, 0));
        } else if is_ok && counts.total == 0 && !is_empty {
            counts = TestCounts::of(1, 0, 0);
        }
        self.packages.insert(package.to_owned());
        self.run = self.run.plus(counts);
        Some(self.run)
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
