//! Vitest: one line has the counts of the tests. Files that could not be loaded are counted in a heading above it.

use super::hook_frame::HookFrame;
use super::run_record::{RunRecord, TestOutcome, split_path};
use super::{RunnerParser, TestCounts, names, pairs};

#[derive(Default)]
pub(super) struct Vitest {
    broken: u64,
    section: Section,
    reported: Vec<String>,
    frame: HookFrame,
}

/// The heading that the current reports are under.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    None,
    Suites,
    Tests,
}

impl RunnerParser for Vitest {
    /// `      Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)`
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        self.record_line(line, record);
        if let Some((_, rest)) = line.split_once(" Failed Suites ") {
            self.broken = pairs::leading_number(rest).filter(|_| line.starts_with('⎯')).unwrap_or(self.broken);
        }
        let list = line.trim_start().strip_prefix("Tests  ")?.trim();
        let pairs = if list == "no tests" {
            Vec::new()
        } else {
            let (list, total) = list.rsplit_once(" (")?;
            pairs::leading_number(total.strip_suffix(')')?)?;
            pairs::parse(list, '|')?
        };
        // The output does not say whether there was a filter.
        record.filter_skips = true;
        Some(pairs::counts_with_broken(&pairs, std::mem::take(&mut self.broken)))
    }
}

impl Vitest {
    fn record_line(&mut self, line: &str, record: &mut RunRecord) {
        let text = line.trim();
        if text.starts_with("RUN  v") {
            *self = Self::default();
            record.begin_run();
        } else if line.starts_with('⎯') {
            self.section = match text.trim_matches(['⎯', ' ']).rsplit_once(' ').map(|(title, _)| title) {
                Some("Failed Suites") => Section::Suites,
                Some("Failed Tests") => Section::Tests,
                // The rule below a report leaves the section as it is.
                None => self.section,
                Some(_) => Section::None,
            };
            record.mark_boundary();
        } else if let Some(name) = text.strip_prefix("FAIL  ") {
            match self.section {
                // A file or a hook of a group, not a test.
                Section::Suites => record.add_broken(),
                Section::Tests => {
                    self.reported = test_path(name);
                    self.frame.begin();
                    record.begin_failure_report(self.reported.clone());
                    record.add_test(self.reported.clone(), TestOutcome::Failed);
                }
                Section::None => {}
            }
        } else if self.frame.is_hook_shown_by(line) {
            record.add_reported_test(self.reported.clone(), TestOutcome::HookBroke);
        } else if text.starts_with("Test Files  ") {
            record.mark_boundary();
        } else if self.section == Section::None && line.len() - line.trim_start().len() <= 1 {
            read_listed_test(text, record);
        }
    }
}

/// Reads ` ✓ calc.test.js > calc > adds 12ms` (`--reporter=verbose`); a name without ` > ` is a file.
fn read_listed_test(text: &str, record: &mut RunRecord) {
    let symbols = [("✓ ", TestOutcome::Passed), ("× ", TestOutcome::Failed), ("↓ ", TestOutcome::Skipped)];
    if let Some((name, outcome)) = names::strip_symbol(text, &symbols).filter(|(name, _)| name.contains(" > ")) {
        record.add_test(test_path(name), outcome);
    }
}

/// Splits the name of a test; a project may stand before it, a time or a note behind it.
fn test_path(name: &str) -> Vec<String> {
    let name = name.strip_prefix('|').and_then(|rest| rest.split_once("| ")).map_or(name, |(_, rest)| rest);
    let name = name.strip_suffix(" [skipped]").unwrap_or(name);
    let is_time = |word: &str| word.strip_suffix("ms").is_some_and(|number| number.parse::<f64>().is_ok());
    let name = name.rsplit_once(' ').filter(|(_, word)| is_time(word)).map_or(name, |(name, _)| name);
    split_path(name, " > ")
}
