//! `cargo test`: each binary prints one result, and together they make up a run.
//!
//! If cargo's own lines are in the output, a run begins when the build has finished. If only the output of the tests
//! was kept, a binary whose tests have all been seen before begins a new run. Lines between two `failures:` headings
//! were printed by tests and are not trusted.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::run_record::{RunRecord, TestOutcome, split_path};
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct CargoTest {
    run: TestCounts,
    /// The binaries of this run, each identified by the sum of the hashes of its tests' names.
    binaries: BTreeSet<u64>,
    /// The sum of the hashes of the names in the running binary.
    names: u64,
    is_built: bool,
    section: Section,
    /// The first line of the running binary.
    began: usize,
    /// The test whose line is incomplete because its output came first.
    pending: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Tests,
    Printed,
    Failing,
}

impl RunnerParser for CargoTest {
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        let is_indented = line.starts_with(' ');
        let text = line.trim_start();
        if text.starts_with("Finished ") && text.contains(" target(s) in ") {
            self.is_built = true;
            self.section = Section::Tests;
            record.begin_run();
        } else if line.starts_with("error: could not compile ") {
            record.begin_run();
            record.add_broken();
        } else if text.starts_with("running ") && (text.ends_with(" tests") || text.ends_with(" test")) {
            if self.section != Section::Printed {
                (self.names, self.began, self.section) = (0, record.line, Section::Tests);
                record.is_open = true;
                record.mark_boundary();
            }
        } else if text == "failures:" {
            self.section = if self.section == Section::Tests { Section::Printed } else { Section::Failing };
            record.mark_boundary();
        } else if let Some(result) = text.strip_prefix("test result: ") {
            return self.read_result(result, record);
        } else if let (Section::Failing, Some(name)) = (self.section, line.strip_prefix("    ")) {
            record.add_test(name_path(name), TestOutcome::Failed);
        } else if let (Section::Printed, Some(name)) = (self.section, heading(line)) {
            record.begin_failure_report(name_path(name));
        } else if self.section == Section::Printed && line.starts_with("Couldn't compile the test.") {
            // A documentation example is compiled only when it is run.
            if let Some((path, _)) = record.failure_reports.last().cloned() {
                record.add_reported_test(path, TestOutcome::HookBroke);
            }
        } else if self.section == Section::Tests && !is_indented {
            self.read_test(line, record);
        }
        None
    }
}

/// `---- tests::adds stdout ----`
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" ----")?.rsplit_once(' ').map(|(name, _)| name)
}

/// A documentation test is named by its location, which has no parts.
fn name_path(name: &str) -> Vec<String> {
    let name = [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name);
    if name.contains(' ') { vec![name.to_owned()] } else { split_path(name, "::") }
}

fn outcome(word: &str) -> Option<TestOutcome> {
    match word.split([' ', ',']).next()? {
        "ok" | "bench:" => Some(TestOutcome::Passed),
        "FAILED" => Some(TestOutcome::Failed),
        "ignored" => Some(TestOutcome::Skipped),
        _ => None,
    }
}

impl CargoTest {
    /// `test tests::adds ... ok`
    fn read_test(&mut self, line: &str, record: &mut RunRecord) {
        let Some((name, rest)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else {
            // With test output in between, the outcome of a test is on a separate line.
            if let (Some(outcome), Some(name)) = (outcome(line).filter(|_| !line.contains(' ')), self.pending.take()) {
                record.add_test(name_path(&name), outcome);
            } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ...")) {
                self.pending = Some(name.to_owned());
            }
            return;
        };
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.names = self.names.wrapping_add(hasher.finish());
        match outcome(rest) {
            Some(outcome) => record.add_test(name_path(name), outcome),
            None => self.pending = Some(name.to_owned()),
        }
    }

    /// `ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s`
    fn read_result(&mut self, result: &str, record: &mut RunRecord) -> Option<TestCounts> {
        let (_, list) = result.split_once(". ")?;
        let list = list.split("; finished in").next()?;
        let pairs = pairs::parse(list, ';')?;
        // When tests have failed, the result comes after their names.
        if self.section == Section::Printed {
            return None;
        }
        self.section = Section::Tests;
        let is_repeated = self.names != 0 && self.binaries.contains(&self.names);
        if std::mem::take(&mut self.is_built) || is_repeated {
            (self.run, self.binaries) = (TestCounts::default(), BTreeSet::new());
            record.keep_from(self.began);
        }
        self.binaries.insert(std::mem::take(&mut self.names));
        let [passed, measured, failed, ignored] =
            ["passed", "measured", "failed", "ignored"].map(|word| pairs::count_of(&pairs, word));
        self.run = self.run.plus(TestCounts::new(passed.saturating_add(measured), failed, ignored));
        Some(self.run)
    }
}
