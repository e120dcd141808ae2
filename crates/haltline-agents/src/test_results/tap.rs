//! TAP, the Test Anything Protocol: one line per test. Tests within tests are indented and not counted.

use super::names::Groups;
use super::run_record::{RunRecord, TestOutcome};
use super::{RunnerParser, TestCounts, mocha, pairs};

#[derive(Default)]
pub(super) struct Tap {
    run: TestCounts,
    points: TestPoints,
    /// The number of tests that the plan announces.
    plan: Option<u64>,
    /// A version or a plan was seen, so this is TAP and not just a program that prints `ok`.
    is_tap: bool,
}

impl RunnerParser for Tap {
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        if line.starts_with("TAP version ") {
            *self = Self { is_tap: true, ..Self::default() };
            record.begin_run();
            return None;
        }
        if line.starts_with("Bail out!") {
            record.begin_run();
            record.add_broken();
            return None;
        }
        self.points.parse_line(line, record);
        if let Some(last) = line.strip_prefix("1..") {
            self.plan = Some(pairs::leading_number(last)?);
            self.is_tap = true;
            return Some(self.run);
        }
        let point = TestPoint::parse(line).filter(|point| point.indent == 0)?;
        if point.number == 1 && self.run.total > 0 {
            (self.run, self.plan) = (TestCounts::default(), None);
            record.keep_from(record.line);
        }
        self.run = self.run.plus(TestCounts::of_one(point.outcome));
        self.is_tap.then_some(self.run)
    }

    fn is_complete(&self) -> bool {
        self.plan == Some(self.run.total)
    }
}

/// A line of TAP that gives the outcome of a test.
struct TestPoint<'a> {
    indent: usize,
    number: u64,
    name: &'a str,
    outcome: TestOutcome,
}

impl<'a> TestPoint<'a> {
    /// `not ok 2 - adds # TODO later`
    fn parse(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let (rest, is_ok) = match text.strip_prefix("not ok ") {
            Some(rest) => (rest, false),
            None => (text.strip_prefix("ok ")?, true),
        };
        let number = pairs::leading_number(rest)?;
        let rest = pairs::without_number(rest).trim();
        let rest = rest.strip_prefix("- ").unwrap_or(rest);
        let (name, directive) = match rest.strip_prefix("# ") {
            Some(directive) => ("", directive),
            None => rest.rsplit_once(" # ").unwrap_or((rest, "")),
        };
        let directive = directive.to_ascii_lowercase();
        let is_set_aside = directive.starts_with("skip") || directive.starts_with("todo");
        let outcome = match (is_set_aside, is_ok) {
            (true, _) => TestOutcome::Skipped,
            (false, true) => TestOutcome::Passed,
            (false, false) => TestOutcome::Failed,
        };
        let name = if is_set_aside { name } else { rest };
        Some(Self { indent: line.len() - text.len(), number, name: name.trim(), outcome })
    }
}

/// Records the tests of a TAP output by name, including tests within tests as node prints them.
#[derive(Default)]
pub(super) struct TestPoints {
    /// The tests that have begun, with their indentation.
    open: Groups,
    /// The last line was for a group, so the notes below it concern no test.
    is_group: bool,
}

impl TestPoints {
    pub fn parse_line(&mut self, line: &str, record: &mut RunRecord) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.open.begin(indent, name.trim());
            record.mark_boundary();
        } else if let Some(point) = TestPoint::parse(line) {
            self.open.leave(indent);
            if point.outcome == TestOutcome::Failed && mocha::is_hook(point.name) {
                record.add_broken();
                self.is_group = true;
                return;
            }
            record.add_test(self.open.path_of(point.name), point.outcome);
            record.counts_other_units |= indent > 0;
            self.is_group = false;
        } else if !self.is_group {
            self.read_note(text, record);
        }
    }

    /// A note below a test, as node prints it.
    fn read_note(&mut self, note: &str, record: &mut RunRecord) {
        match note {
            "failureType: 'cancelledByParent'" | "failureType: 'hookFailed'" => {
                record.set_last_outcome(TestOutcome::HookBroke)
            }
            "type: 'suite'" => {
                self.is_group = true;
                record.tests.pop();
            }
            // Only whole files have an exit code.
            _ if note.starts_with("exitCode: ") => {
                self.is_group = true;
                record.mark_last_as_broken();
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
        lines.iter().filter_map(|line| reader.parse_line(line, &mut RunRecord::default())).last()
    }

    #[test]
    fn a_plan_may_come_first_or_last_and_is_needed() {
        let tests =
            ["ok 1 - a", "not ok 2 - b", "    ok 1 - inside", "ok 3 # SKIP no", "not ok 4 - later # TODO write"];
        assert_eq!(last(&tests), None);
        let counts = Some(TestCounts::new(1, 1, 2));
        assert_eq!(last(&[&["1..4"][..], &tests].concat()), counts);
        assert_eq!(last(&[&tests[..], &["1..4"]].concat()), counts);
        assert_eq!(last(&[&["TAP version 14"][..], &tests].concat()), counts);
    }

    #[test]
    fn test_number_1_begins_again() {
        assert_eq!(last(&["1..2", "not ok 1", "ok 2", "1..2", "ok 1", "ok 2"]), Some(TestCounts::new(2, 0, 0)));
    }
}
