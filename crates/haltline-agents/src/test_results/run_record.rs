//! What a parser has recorded about the run it is reading: tests by name, files that could not be loaded, and the
//! counts.
//!
//! Facts only; what they mean for one test is decided in `classify`.

use super::TestCounts;

/// The outcome of a test as its runner reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestOutcome {
    Passed,
    Failed,
    Skipped,
    /// Something around the test broke: its fixtures, its parent, or its clean-up.
    SetupBroke,
    /// The runner says that the test failed, but the source it shows is a hook and not the test.
    HookBroke,
    /// The process died in it.
    Crashed,
    /// The runner ended it.
    TimedOut,
}

/// One line of output that gives the outcome of one test.
#[derive(Clone, Debug)]
pub(super) struct TestEntry {
    /// From the outermost name (a file, a module, a group) to the test's own.
    pub path: Vec<String>,
    pub outcome: TestOutcome,
    /// It is a second try and replaces the earlier entries of this test.
    pub is_retry: bool,
    pub line: usize,
    /// The text of the failure, when it is not part of the output.
    pub text: Option<String>,
}

/// What a parser has recorded about its last run.
#[derive(Debug, Default)]
pub(super) struct RunRecord {
    /// Number of the line that is being read.
    pub line: usize,
    /// The last line that the parser understood.
    pub last_line: usize,
    pub tests: Vec<TestEntry>,
    /// The first line of each report of a test's failure.
    pub failure_reports: Vec<(Vec<String>, usize)>,
    /// Lines at which a report ends.
    pub boundaries: Vec<usize>,
    /// Lines that name files, packages or hooks that broke; the counts include each of them as failing.
    pub broken: Vec<usize>,
    /// What JUnit reports say about files that broke.
    pub broken_texts: Vec<String>,
    /// The last counts, and their line.
    pub counts: Option<(TestCounts, usize)>,
    /// The runner announced something that has not arrived yet.
    pub is_open: bool,
    /// Every executed test is named.
    pub names_all_tests: bool,
    /// Tests that a filter left out count as skipped, so the only test of a run may well be the wanted one.
    pub filter_skips: bool,
    /// The runner does not always name failed tests. With other runners, a missing name means that the beginning of the
    /// output was cut off.
    pub may_omit_failed_names: bool,
    /// The counts are not those of the named tests, because they count tests within tests or packages.
    pub counts_other_units: bool,
}

impl RunRecord {
    /// Begins a run; what was recorded before belongs to another one.
    pub fn begin_run(&mut self) {
        *self = Self { line: self.line, last_line: self.line, is_open: true, ..Self::default() };
    }

    /// Keeps only what was recorded from this line on.
    pub fn keep_from(&mut self, line: usize) {
        self.tests.retain(|entry| entry.line >= line);
        self.failure_reports.retain(|(_, start)| *start >= line);
        self.broken.retain(|start| *start >= line);
    }

    pub fn add_test(&mut self, path: Vec<String>, outcome: TestOutcome) {
        self.push_test(path, outcome, false);
    }

    pub fn add_retry(&mut self, path: Vec<String>, outcome: TestOutcome) {
        self.push_test(path, outcome, true);
    }

    fn push_test(&mut self, path: Vec<String>, outcome: TestOutcome, is_retry: bool) {
        self.mark_boundary();
        self.tests.push(TestEntry { path, outcome, is_retry, line: self.line, text: None });
    }

    /// Adds a test whose line is part of the test's own report, so the line ends no report.
    pub fn add_reported_test(&mut self, path: Vec<String>, outcome: TestOutcome) {
        self.last_line = self.line;
        self.tests.push(TestEntry { path, outcome, is_retry: false, line: self.line, text: None });
    }

    /// The report of a test's failure begins at this line.
    pub fn begin_failure_report(&mut self, path: Vec<String>) {
        self.mark_boundary();
        self.failure_reports.push((path, self.line));
    }

    /// The line belongs to no test's report, so it ends the report before it.
    pub fn mark_boundary(&mut self) {
        self.last_line = self.line;
        if self.boundaries.last() != Some(&self.line) {
            self.boundaries.push(self.line);
        }
    }

    pub fn add_broken(&mut self) {
        self.mark_boundary();
        self.broken.push(self.line);
    }

    /// The last entry was not a test but a file that broke.
    pub fn mark_last_as_broken(&mut self) {
        if let Some(entry) = self.tests.pop() {
            self.broken.push(entry.line);
        }
    }

    /// A later line says more about the test of the last entry.
    pub fn set_last_outcome(&mut self, outcome: TestOutcome) {
        if let Some(entry) = self.tests.last_mut() {
            entry.outcome = outcome;
        }
    }

    pub fn set_counts(&mut self, counts: TestCounts) {
        self.mark_boundary();
        self.counts = Some((counts, self.line));
        self.is_open = false;
    }
}

/// Splits a name into its parts.
pub(super) fn split_path(text: &str, separator: &str) -> Vec<String> {
    text.split(separator).map(|part| part.trim().to_owned()).collect()
}
