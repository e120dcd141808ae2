//! Mocha: up to three lines sum up a run, `passing` first. Above them is the tree of tests, below the reports.

use super::jest::is_time;
use super::told::{Outcome, Told};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Mocha {
    run: Option<TestCounts>,
    /// The groups around the next test, with their indentation.
    groups: Vec<(usize, String)>,
    /// The tests of the tree that is growing, with their lines. Only a sum says that it was a tree.
    tree: Vec<(Vec<String>, Outcome, usize)>,
    /// Reports follow, not a tree.
    is_reporting: bool,
    /// The title of the report that has begun, as far as it was read.
    title: Option<Vec<String>>,
}

/// More lines than a tree of tests has are something else.
const TREE_TESTS_MAX: usize = 100_000;

impl Reader for Mocha {
    /// `  1 passing (16ms)`, `  1 pending`, `  1 failing`
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        let text = line.trim();
        let (number, rest) = (pairs::leading(text), text.trim_start_matches(|letter: char| letter.is_ascii_digit()));
        let (Some(number), Some(rest)) = (number, rest.strip_prefix(' ')) else {
            self.run = None;
            self.tell(line, told);
            return None;
        };
        if rest.starts_with("passing (") && rest.ends_with(')') {
            self.summed_up(told);
            self.run = Some(TestCounts::of(number, 0, 0));
        } else {
            let run = self.run?;
            self.run = match rest {
                "pending" => Some(TestCounts::of(run.passing, run.failing, number)),
                "failing" => {
                    self.is_reporting = true;
                    Some(TestCounts::of(run.passing, number, run.skipped))
                }
                _ => None,
            };
        }
        self.run
    }
}

impl Mocha {
    fn tell(&mut self, line: &str, told: &mut Told) {
        let text = line.trim();
        if text.is_empty() {
            self.title = None;
        } else if self.is_reporting {
            self.reported(line, text, told);
        } else if self.tree.len() < TREE_TESTS_MAX {
            self.listed(line, text, told.line);
        }
    }

    /// `    ✔ adds (12ms)`, `    1) adds`, `    - adds`
    fn listed(&mut self, line: &str, text: &str, place: usize) {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 {
            return;
        }
        self.groups.retain(|(other, _)| *other < indent);
        let passed = ["✔ ", "✓ "].iter().find_map(|mark| text.strip_prefix(mark));
        let (name, outcome) = match (passed, numbered(text), text.strip_prefix("- ")) {
            (Some(name), _, _) => (
                name.rsplit_once(" (").filter(|(_, time)| is_time(time)).map_or(name, |(name, _)| name),
                Outcome::Passed,
            ),
            (_, Some(name), _) => (name, Outcome::Failed),
            (_, _, Some(name)) => (name, Outcome::Skipped),
            (None, None, None) => {
                self.groups.push((indent, text.to_owned()));
                return;
            }
        };
        let path = self.groups.iter().map(|(_, group)| group.clone()).chain([name.to_owned()]).collect();
        self.tree.push((path, outcome, place));
    }

    fn summed_up(&mut self, told: &mut Told) {
        told.begins();
        let line = told.line;
        for (path, outcome, place) in std::mem::take(&mut self.tree) {
            // What failed is named again in its report, with groups that nothing printed in between can disturb.
            if outcome != Outcome::Failed {
                told.line = place;
                told.test(path, outcome);
            }
        }
        told.line = line;
        (self.is_reporting, self.groups) = (false, Vec::new());
    }

    /// `  1) calc`, `       adds:`
    fn reported(&mut self, line: &str, text: &str, told: &mut Told) {
        if let Some(name) = numbered(text).filter(|_| line.starts_with("  ") && !line.starts_with("    ")) {
            told.mark();
            self.title = Some(Vec::new());
            self.titled(name, told);
        } else if self.title.is_some() {
            self.titled(text, told);
        }
    }

    fn titled(&mut self, name: &str, told: &mut Told) {
        let Some(mut title) = self.title.take() else {
            return;
        };
        match name.strip_suffix(':') {
            Some(last) => {
                title.push(last.to_owned());
                let line = told.marks.last().copied().unwrap_or(told.line);
                // `"before all" hook for "adds"` is no test.
                if is_hook(last) {
                    told.broken.push(line);
                } else {
                    told.details.push((title.clone(), line));
                    told.known(title, Outcome::Failed);
                }
            }
            None => {
                title.push(name.to_owned());
                self.title = Some(title);
            }
        }
    }
}

/// `"before each" hook for "adds"`, in TAP behind the names of its groups.
pub(super) fn is_hook(name: &str) -> bool {
    ["\"before all\" hook", "\"before each\" hook", "\"after all\" hook", "\"after each\" hook"]
        .iter()
        .any(|hook| name.contains(hook))
}

/// `adds` of `12) adds`
fn numbered(text: &str) -> Option<&str> {
    pairs::leading(text)?;
    text.trim_start_matches(|letter: char| letter.is_ascii_digit()).strip_prefix(") ")
}
