//! Jest: one line sums up the tests. Files that could not be run have no tests in it; they are told above.

use std::collections::BTreeSet;

use super::hook_frame::HookFrame;
use super::told::{Outcome, Told, path};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Jest {
    /// The file whose report is being read.
    file: String,
    /// Files that could not be run: some are told twice.
    broken: BTreeSet<String>,
    /// The groups around the next test (`--verbose`), with their indentation.
    groups: Vec<(usize, String)>,
    /// The tests of the file are being listed, not reported.
    is_listing: bool,
    /// The test whose report is being read.
    reported: Vec<String>,
    frame: HookFrame,
    is_over: bool,
}

/// What has the form of a test's heading and is none.
const HEADINGS: [&str; 2] = ["Console", "Test suite failed to run"];

impl Reader for Jest {
    /// `Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total`
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        self.tell(line, told);
        let is_at_start = line.starts_with("Tests:");
        let line = line.trim();
        if line.ends_with("Test suite failed to run") && self.broken.insert(self.file.clone()) {
            told.broken();
        }
        let pairs = pairs::counted(line.strip_prefix("Tests:")?.trim(), ',')?;
        let (_, last) = pairs.last()?;
        if *last != "total" {
            return None;
        }
        self.is_over = is_at_start;
        let broken = u64::try_from(std::mem::take(&mut self.broken).len()).unwrap_or(u64::MAX);
        let [passed, failed, skipped, todo] =
            ["passed", "failed", "skipped", "todo"].map(|word| pairs::of(&pairs, word));
        Some(TestCounts::of(passed, failed.saturating_add(broken), skipped.saturating_add(todo)))
    }
}

impl Jest {
    fn tell(&mut self, line: &str, told: &mut Told) {
        let text = line.trim();
        let file = ["FAIL ", "PASS "].iter().find_map(|word| text.strip_prefix(word));
        if let Some(file) = file {
            if std::mem::take(&mut self.is_over) {
                told.begins();
            }
            // `(5.2 s)` may stand behind it.
            file.trim().split(" (").next().unwrap_or_default().clone_into(&mut self.file);
            (self.is_listing, self.groups) = (true, Vec::new());
            told.mark();
        } else if let Some(heading) = line.strip_prefix("  ● ").filter(|_| !self.file.is_empty()) {
            self.is_listing = false;
            if HEADINGS.contains(&heading) {
                told.mark();
            } else {
                self.reported = self.in_file(path(heading, " › "));
                self.frame.begins();
                told.detail(self.reported.clone());
                told.test(self.reported.clone(), Outcome::Failed);
            }
        } else if self.frame.take(line) {
            told.known(self.reported.clone(), Outcome::HookBroke);
        } else if line.starts_with("Test Suites: ") {
            told.mark();
            self.is_listing = false;
        } else if self.is_listing {
            self.listed(line, told);
        } else if line.starts_with("Ran all test suites") && line.contains(" with tests matching ") {
            told.filter_skips = true;
        }
    }

    /// `    ✓ adds (1 ms)`, and groups with nothing before them.
    fn listed(&mut self, line: &str, told: &mut Told) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() {
            return;
        }
        self.groups.retain(|(other, _)| *other < indent);
        let marks = [("✓ ", Outcome::Passed), ("✕ ", Outcome::Failed), ("○ skipped ", Outcome::Skipped)];
        let Some((rest, outcome)) =
            marks.iter().find_map(|(mark, outcome)| text.strip_prefix(mark).map(|rest| (rest, *outcome)))
        else {
            self.groups.push((indent, text.to_owned()));
            return;
        };
        let name = rest.rsplit_once(" (").filter(|(_, time)| is_time(time)).map_or(rest, |(name, _)| name);
        let groups = self.groups.iter().map(|(_, group)| group.clone());
        let path = self.in_file(groups.chain([name.to_owned()]).collect());
        told.test(path, outcome);
    }

    fn in_file(&self, path: Vec<String>) -> Vec<String> {
        [self.file.clone()].into_iter().chain(path).collect()
    }
}

/// `12 ms)`, `1.5 s)`
pub(super) fn is_time(text: &str) -> bool {
    let number = text.strip_suffix("ms)").or_else(|| text.strip_suffix("s)"));
    number.is_some_and(|number| number.trim().parse::<f64>().is_ok())
}
