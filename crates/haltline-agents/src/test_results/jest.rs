//! Jest: one line has the counts of the tests. It leaves out files that could not be run, which are reported above it.

use std::collections::BTreeSet;

use super::hook_frame::HookFrame;
use super::names::{self, Groups};
use super::run_record::{RunRecord, TestOutcome, split_path};
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Jest {
    /// The file whose report is being read.
    file: String,
    /// Files that could not be run. A set, because jest reports some of them twice.
    broken: BTreeSet<String>,
    /// The groups around the next test (`--verbose`), with their indentation.
    groups: Groups,
    /// The lines list the tests of the file; no report has begun.
    is_listing: bool,
    /// The test whose report is being read.
    reported: Vec<String>,
    frame: HookFrame,
    is_over: bool,
}

/// Headings that look like those of a test.
const HEADINGS: [&str; 2] = ["Console", "Test suite failed to run"];

impl RunnerParser for Jest {
    /// `Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total`
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        self.record_line(line, record);
        let is_at_start = line.starts_with("Tests:");
        let line = line.trim();
        if line.ends_with("Test suite failed to run") && self.broken.insert(self.file.clone()) {
            record.add_broken();
        }
        let pairs = pairs::parse(line.strip_prefix("Tests:")?.trim(), ',')?;
        let (_, last) = pairs.last()?;
        if *last != "total" {
            return None;
        }
        self.is_over = is_at_start;
        let broken = u64::try_from(std::mem::take(&mut self.broken).len()).unwrap_or(u64::MAX);
        Some(pairs::counts_with_broken(&pairs, broken))
    }
}

impl Jest {
    fn record_line(&mut self, line: &str, record: &mut RunRecord) {
        let text = line.trim();
        let file = ["FAIL ", "PASS "].iter().find_map(|word| text.strip_prefix(word));
        if let Some(file) = file {
            if std::mem::take(&mut self.is_over) {
                record.begin_run();
            }
            // `(5.2 s)` may follow the name.
            file.trim().split(" (").next().unwrap_or_default().clone_into(&mut self.file);
            (self.is_listing, self.groups) = (true, Groups::default());
            record.mark_boundary();
        } else if let Some(heading) = line.strip_prefix("  ● ").filter(|_| !self.file.is_empty()) {
            self.is_listing = false;
            if HEADINGS.contains(&heading) {
                record.mark_boundary();
            } else {
                self.reported = self.path_in_file(split_path(heading, " › "));
                self.frame.begin();
                record.begin_failure_report(self.reported.clone());
                record.add_test(self.reported.clone(), TestOutcome::Failed);
            }
        } else if self.frame.is_hook_shown_by(line) {
            record.add_reported_test(self.reported.clone(), TestOutcome::HookBroke);
        } else if line.starts_with("Test Suites: ") {
            record.mark_boundary();
            self.is_listing = false;
        } else if self.is_listing {
            self.read_listed_test(line, record);
        } else if line.starts_with("Ran all test suites") && line.contains(" with tests matching ") {
            record.filter_skips = true;
        }
    }

    /// Reads `    ✓ adds (1 ms)`; a line without such a symbol is a group.
    fn read_listed_test(&mut self, line: &str, record: &mut RunRecord) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() {
            return;
        }
        let symbols = [("✓ ", TestOutcome::Passed), ("✕ ", TestOutcome::Failed), ("○ skipped ", TestOutcome::Skipped)];
        let Some((rest, outcome)) = names::strip_symbol(text, &symbols) else {
            self.groups.begin(indent, text);
            return;
        };
        self.groups.leave(indent);
        record.add_test(self.path_in_file(self.groups.path_of(names::without_time(rest))), outcome);
    }

    fn path_in_file(&self, path: Vec<String>) -> Vec<String> {
        [self.file.clone()].into_iter().chain(path).collect()
    }
}
