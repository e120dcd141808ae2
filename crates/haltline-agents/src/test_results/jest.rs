//! Jest: one line has the counts of the tests. It leaves out files that could not be run, which are reported above it.

use std::collections::BTreeSet;

use super::hook_frame::HookFrame;
use super::run_record::{RunRecord, TestOutcome, split_path};
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Jest {
    /// The file whose report is being read.
    file: String,
    /// Files that could not be run. A set, because jest reports some of them twice.
    broken: BTreeSet<String>,
    /// The groups around the next test (`--verbose`), with their indentation.
    groups: Vec<(usize, String)>,
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
        let [passed, failed, skipped, todo] =
            ["passed", "failed", "skipped", "todo"].map(|word| pairs::count_of(&pairs, word));
        Some(TestCounts::new(passed, failed.saturating_add(broken), skipped.saturating_add(todo)))
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
            (self.is_listing, self.groups) = (true, Vec::new());
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
        self.groups.retain(|(other, _)| *other < indent);
        let symbols = [("✓ ", TestOutcome::Passed), ("✕ ", TestOutcome::Failed), ("○ skipped ", TestOutcome::Skipped)];
        let Some((rest, outcome)) =
            symbols.iter().find_map(|(symbol, outcome)| text.strip_prefix(symbol).map(|rest| (rest, *outcome)))
        else {
            self.groups.push((indent, text.to_owned()));
            return;
        };
        let name = rest.rsplit_once(" (").filter(|(_, time)| is_duration(time)).map_or(rest, |(name, _)| name);
        let groups = self.groups.iter().map(|(_, group)| group.clone());
        let path = self.path_in_file(groups.chain([name.to_owned()]).collect());
        record.add_test(path, outcome);
    }

    fn path_in_file(&self, path: Vec<String>) -> Vec<String> {
        [self.file.clone()].into_iter().chain(path).collect()
    }
}

/// `12 ms)`, `1.5 s)`
pub(super) fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix("ms)").or_else(|| text.strip_suffix("s)"));
    number.is_some_and(|number| number.trim().parse::<f64>().is_ok())
}
