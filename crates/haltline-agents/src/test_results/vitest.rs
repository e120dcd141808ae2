//! Vitest: one line sums up the tests. Files that could not be loaded are counted in a heading above it.

use super::hook_frame::HookFrame;
use super::told::{Outcome, Told, path};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Vitest {
    broken: u64,
    section: Section,
    reported: Vec<String>,
    frame: HookFrame,
}

/// Under which heading the reports stand.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    None,
    Suites,
    Tests,
}

impl Reader for Vitest {
    /// `      Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)`
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        self.tell(line, told);
        if let Some((_, rest)) = line.split_once(" Failed Suites ") {
            self.broken = pairs::leading(rest).filter(|_| line.starts_with('⎯')).unwrap_or(self.broken);
        }
        let list = line.trim_start().strip_prefix("Tests  ")?.trim();
        let pairs = if list == "no tests" {
            Vec::new()
        } else {
            let (list, total) = list.rsplit_once(" (")?;
            pairs::leading(total.strip_suffix(')')?)?;
            pairs::counted(list, '|')?
        };
        // It does not say whether there was a filter.
        told.filter_skips = true;
        let broken = std::mem::take(&mut self.broken);
        let [passed, failed, skipped, todo] =
            ["passed", "failed", "skipped", "todo"].map(|word| pairs::of(&pairs, word));
        Some(TestCounts::of(passed, failed.saturating_add(broken), skipped.saturating_add(todo)))
    }
}

impl Vitest {
    fn tell(&mut self, line: &str, told: &mut Told) {
        let text = line.trim();
        if text.starts_with("RUN  v") {
            *self = Self::default();
            told.begins();
        } else if line.starts_with('⎯') {
            self.section = match text.trim_matches(['⎯', ' ']).rsplit_once(' ').map(|(title, _)| title) {
                Some("Failed Suites") => Section::Suites,
                Some("Failed Tests") => Section::Tests,
                // The rule below a report leaves the section as it is.
                None => self.section,
                Some(_) => Section::None,
            };
            told.mark();
        } else if let Some(name) = text.strip_prefix("FAIL  ") {
            match self.section {
                // A file, or a hook of a group: no test.
                Section::Suites => told.broken(),
                Section::Tests => {
                    self.reported = test_path(name);
                    self.frame.begins();
                    told.detail(self.reported.clone());
                    told.test(self.reported.clone(), Outcome::Failed);
                }
                Section::None => {}
            }
        } else if self.frame.take(line) {
            told.known(self.reported.clone(), Outcome::HookBroke);
        } else if text.starts_with("Test Files  ") {
            told.mark();
        } else if self.section == Section::None && line.len() - line.trim_start().len() <= 1 {
            listed(text, told);
        }
    }
}

/// ` ✓ calc.test.js > calc > adds 12ms` (`--reporter=verbose`); without a group before it, it is a file.
fn listed(text: &str, told: &mut Told) {
    let marks = [("✓ ", Outcome::Passed), ("× ", Outcome::Failed), ("↓ ", Outcome::Skipped)];
    let Some((name, outcome)) =
        marks.iter().find_map(|(mark, outcome)| text.strip_prefix(mark).map(|rest| (rest, *outcome)))
    else {
        return;
    };
    if name.contains(" > ") {
        told.test(test_path(name), outcome);
    }
}

/// A project may stand before the name, a time or a note behind it.
fn test_path(name: &str) -> Vec<String> {
    let name = name.strip_prefix('|').and_then(|rest| rest.split_once("| ")).map_or(name, |(_, rest)| rest);
    let name = name.strip_suffix(" [skipped]").unwrap_or(name);
    let is_time = |word: &str| word.strip_suffix("ms").is_some_and(|number| number.parse::<f64>().is_ok());
    let name = name.rsplit_once(' ').filter(|(_, word)| is_time(word)).map_or(name, |(name, _)| name);
    path(name, " > ")
}
