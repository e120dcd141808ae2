//! TAP, the Test Anything Protocol: one line a test. Tests within tests are indented and not counted.

use super::told::{Outcome, Told};
use super::{Reader, TestCounts, mocha, pairs};

#[derive(Default)]
pub(super) struct Tap {
    run: TestCounts,
    points: Points,
    /// How many tests there are to be.
    plan: Option<u64>,
    /// A version or a plan was seen: it is TAP, and not somebody who says ok.
    is_tap: bool,
}

impl Reader for Tap {
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        if line.starts_with("TAP version ") {
            *self = Self { is_tap: true, ..Self::default() };
            told.begins();
            return None;
        }
        if line.starts_with("Bail out!") {
            told.begins();
            told.broken();
            return None;
        }
        self.points.take(line, told);
        if let Some(last) = line.strip_prefix("1..") {
            self.plan = Some(pairs::leading(last)?);
            self.is_tap = true;
            return Some(self.run);
        }
        let point = Point::read(line).filter(|point| point.indent == 0)?;
        if point.number == 1 && self.run.total > 0 {
            (self.run, self.plan) = (TestCounts::default(), None);
            told.keep_from(told.line);
        }
        self.run = self.run.plus(match point.outcome {
            Outcome::Passed => TestCounts::of(1, 0, 0),
            Outcome::Skipped => TestCounts::of(0, 0, 1),
            _ => TestCounts::of(0, 1, 0),
        });
        self.is_tap.then_some(self.run)
    }

    fn is_whole(&self) -> bool {
        self.plan == Some(self.run.total)
    }
}

/// A line of TAP that tells of a test.
struct Point<'a> {
    indent: usize,
    number: u64,
    name: &'a str,
    outcome: Outcome,
}

impl<'a> Point<'a> {
    /// `not ok 2 - adds # TODO later`
    fn read(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let (rest, is_ok) = match text.strip_prefix("not ok ") {
            Some(rest) => (rest, false),
            None => (text.strip_prefix("ok ")?, true),
        };
        let number = pairs::leading(rest)?;
        let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim();
        let rest = rest.strip_prefix("- ").unwrap_or(rest);
        let (name, directive) = match rest.strip_prefix("# ") {
            Some(directive) => ("", directive),
            None => rest.rsplit_once(" # ").unwrap_or((rest, "")),
        };
        let directive = directive.to_ascii_lowercase();
        let is_aside = directive.starts_with("skip") || directive.starts_with("todo");
        let outcome = match (is_aside, is_ok) {
            (true, _) => Outcome::Skipped,
            (false, true) => Outcome::Passed,
            (false, false) => Outcome::Failed,
        };
        let name = if is_aside { name } else { rest };
        Some(Self { indent: line.len() - text.len(), number, name: name.trim(), outcome })
    }
}

/// The tests of a stream by name, with those within tests, as node tells them.
#[derive(Default)]
pub(super) struct Points {
    /// The tests that have begun, with their indentation.
    open: Vec<(usize, String)>,
    /// The last one was a group, which is none of its tests.
    is_group: bool,
}

impl Points {
    pub fn take(&mut self, line: &str, told: &mut Told) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.open.retain(|(other, _)| *other < indent);
            self.open.push((indent, name.trim().to_owned()));
            told.mark();
        } else if let Some(point) = Point::read(line) {
            self.open.retain(|(other, _)| *other < indent);
            if point.outcome == Outcome::Failed && mocha::is_hook(point.name) {
                told.broken();
                self.is_group = true;
                return;
            }
            let groups = self.open.iter().map(|(_, group)| group.clone());
            told.test(groups.chain([point.name.to_owned()]).collect(), point.outcome);
            told.counts_others |= indent > 0;
            self.is_group = false;
        } else if !self.is_group {
            self.noted(text, told);
        }
    }

    /// What stands below a test, in node's words.
    fn noted(&mut self, note: &str, told: &mut Told) {
        match note {
            "failureType: 'cancelledByParent'" | "failureType: 'hookFailed'" => told.last_became(Outcome::HookBroke),
            "type: 'suite'" => {
                self.is_group = true;
                told.tests.pop();
            }
            // Only a whole file has one.
            _ if note.starts_with("exitCode: ") => {
                self.is_group = true;
                told.last_was_broken();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(lines: &[&str]) -> Option<TestCounts> {
        let mut reader = Tap::default();
        lines.iter().filter_map(|line| reader.take(line, &mut Told::default())).last()
    }

    #[test]
    fn a_plan_may_come_first_or_last_and_is_needed() {
        let tests =
            ["ok 1 - a", "not ok 2 - b", "    ok 1 - inside", "ok 3 # SKIP no", "not ok 4 - later # TODO write"];
        assert_eq!(last(&tests), None);
        let counts = Some(TestCounts::of(1, 1, 2));
        assert_eq!(last(&[&["1..4"][..], &tests].concat()), counts);
        assert_eq!(last(&[&tests[..], &["1..4"]].concat()), counts);
        assert_eq!(last(&[&["TAP version 14"][..], &tests].concat()), counts);
    }

    #[test]
    fn test_number_1_begins_again() {
        assert_eq!(last(&["1..2", "not ok 1", "ok 2", "1..2", "ok 1", "ok 2"]), Some(TestCounts::of(2, 0, 0)));
    }
}
