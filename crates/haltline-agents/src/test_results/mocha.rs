//! Mocha: up to three lines have the counts of a run, `passing` first. The tree of tests is above, the reports below.

use super::names::{self, Groups};
use super::run_record::{RunRecord, TestOutcome};
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Mocha {
    run: Option<TestCounts>,
    /// The groups around the next test, with their indentation.
    groups: Groups,
    /// The tests of the tree so far, with their lines. Only the counts that follow show that it was a tree.
    tree: Vec<(Vec<String>, TestOutcome, usize)>,
    /// The lines are reports, not a tree.
    is_reporting: bool,
    /// The title of the report that has begun, as far as it was read.
    title: Option<Vec<String>>,
}

/// An output with more lines than this is not a tree of tests.
const TREE_TESTS_MAX: usize = 100_000;

impl RunnerParser for Mocha {
    /// `  1 passing (16ms)`, `  1 pending`, `  1 failing`
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        let text = line.trim();
        let rest = pairs::without_number(text).strip_prefix(' ');
        let (Some(number), Some(rest)) = (pairs::leading_number(text), rest) else {
            self.run = None;
            self.record_line(line, record);
            return None;
        };
        if rest.starts_with("passing (") && rest.ends_with(')') {
            self.finish_tree(record);
            self.run = Some(TestCounts::new(number, 0, 0));
        } else {
            let run = self.run?;
            self.run = match rest {
                "pending" => Some(TestCounts::new(run.passing, run.failing, number)),
                "failing" => {
                    self.is_reporting = true;
                    Some(TestCounts::new(run.passing, number, run.skipped))
                }
                _ => None,
            };
        }
        self.run
    }
}

impl Mocha {
    fn record_line(&mut self, line: &str, record: &mut RunRecord) {
        let text = line.trim();
        if text.is_empty() {
            self.title = None;
        } else if self.is_reporting {
            self.read_report(line, text, record);
        } else if self.tree.len() < TREE_TESTS_MAX {
            self.read_listed_test(line, text, record.line);
        }
    }

    /// `    ✔ adds (12ms)`, `    1) adds`, `    - adds`
    fn read_listed_test(&mut self, line: &str, text: &str, line_number: usize) {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 {
            return;
        }
        let passed = ["✔ ", "✓ "].iter().find_map(|symbol| text.strip_prefix(symbol));
        let (name, outcome) = match (passed, numbered(text), text.strip_prefix("- ")) {
            (Some(name), _, _) => (names::without_time(name), TestOutcome::Passed),
            (_, Some(name), _) => (name, TestOutcome::Failed),
            (_, _, Some(name)) => (name, TestOutcome::Skipped),
            (None, None, None) => {
                self.groups.begin(indent, text);
                return;
            }
        };
        self.groups.leave(indent);
        self.tree.push((self.groups.path_of(name), outcome, line_number));
    }

    fn finish_tree(&mut self, record: &mut RunRecord) {
        record.begin_run();
        let line = record.line;
        for (path, outcome, line_number) in std::mem::take(&mut self.tree) {
            // The report names a failed test again, with groups that no other output can disturb.
            if outcome != TestOutcome::Failed {
                record.line = line_number;
                record.add_test(path, outcome);
            }
        }
        record.line = line;
        (self.is_reporting, self.groups) = (false, Groups::default());
    }

    /// `  1) calc`, `       adds:`
    fn read_report(&mut self, line: &str, text: &str, record: &mut RunRecord) {
        if let Some(name) = numbered(text).filter(|_| line.starts_with("  ") && !line.starts_with("    ")) {
            record.mark_boundary();
            self.title = Some(Vec::new());
            self.read_title(name, record);
        } else if self.title.is_some() {
            self.read_title(text, record);
        }
    }

    fn read_title(&mut self, name: &str, record: &mut RunRecord) {
        let Some(mut title) = self.title.take() else {
            return;
        };
        match name.strip_suffix(':') {
            Some(last) => {
                title.push(last.to_owned());
                let line = record.boundaries.last().copied().unwrap_or(record.line);
                // `"before all" hook for "adds"` is not a test.
                if is_hook(last) {
                    record.broken.push(line);
                } else {
                    record.failure_reports.push((title.clone(), line));
                    record.add_reported_test(title, TestOutcome::Failed);
                }
            }
            None => {
                title.push(name.to_owned());
                self.title = Some(title);
            }
        }
    }
}

/// True for `"before each" hook for "adds"`; in TAP the names of its groups stand before it.
pub(super) fn is_hook(name: &str) -> bool {
    ["\"before all\" hook", "\"before each\" hook", "\"after all\" hook", "\"after each\" hook"]
        .iter()
        .any(|hook| name.contains(hook))
}

/// `adds` of `12) adds`
fn numbered(text: &str) -> Option<&str> {
    pairs::leading_number(text)?;
    pairs::without_number(text).strip_prefix(") ")
}
