//! `node --test`: eight lines have the counts of a run, as TAP comments or with an `ℹ` before each.

use super::names::{self, Groups};
use super::run_record::{RunRecord, TestOutcome};
use super::tap::TestPoints;
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct NodeTest {
    run: Option<TestCounts>,
    /// The number of tests that it announced.
    tests: u64,
    points: TestPoints,
    /// The groups that have begun, with their indentation.
    groups: Groups,
    /// The failed tests are being reported a second time, after the counts.
    is_reporting: bool,
    previous_line: PreviousLine,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum PreviousLine {
    #[default]
    Other,
    Failed,
    TestLocation,
}

impl RunnerParser for NodeTest {
    /// `# tests 6`, `# suites 1`, `# pass 3`, `# fail 1`, `# cancelled 0`, `# skipped 1`, `# todo 1`
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        if line.starts_with("TAP version ") {
            self.run = None;
            record.begin_run();
        }
        self.points.parse_line(line, record);
        self.read_listed_test(line, record);
        let text = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?;
        let (word, number) = text.split_once(' ')?;
        let number = pairs::leading_number(number).filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))?;
        if word == "tests" {
            (self.run, self.tests) = (Some(TestCounts::default()), number);
            return None;
        }
        let run = self.run?;
        let more = match word {
            "pass" => TestCounts::new(number, 0, 0),
            "fail" | "cancelled" => TestCounts::new(0, number, 0),
            "skipped" | "todo" => TestCounts::new(0, 0, number),
            _ => return None,
        };
        record.counts_other_units = false;
        self.run = Some(run.plus(more));
        self.run
    }

    fn is_complete(&self) -> bool {
        self.run.is_some_and(|run| run.total == self.tests)
    }
}

impl NodeTest {
    /// `▶ calc`, `  ✔ adds (0.1ms)`, `  ✖ adds (0.1ms)`, `  ﹣ adds (0.1ms) # SKIP`
    fn read_listed_test(&mut self, line: &str, record: &mut RunRecord) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let previous_line = std::mem::take(&mut self.previous_line);
        if text == "✖ failing tests:" {
            self.is_reporting = true;
            record.mark_boundary();
            return;
        }
        if self.is_reporting {
            if text.starts_with("test at ") {
                record.mark_boundary();
                self.previous_line = PreviousLine::TestLocation;
            } else if let Some(name) = text.strip_prefix("✖ ").filter(|_| previous_line == PreviousLine::TestLocation)
            {
                record.begin_failure_report(vec![names::without_time(name).to_owned()]);
            } else if indent == 0 && ["▶ ", "✔ "].iter().any(|symbol| text.starts_with(symbol)) {
                self.is_reporting = false;
                record.begin_run();
            }
            if self.is_reporting {
                return;
            }
        }
        if let Some(name) = text.strip_prefix("▶ ") {
            // The line of a group is printed again at its end, with a time.
            self.groups.begin(indent, names::without_time(name));
            record.mark_boundary();
            return;
        }
        let symbols = [("✔ ", TestOutcome::Passed), ("✖ ", TestOutcome::Failed), ("﹣ ", TestOutcome::Skipped)];
        if let Some((rest, outcome)) = names::strip_symbol(text, &symbols) {
            let (rest, note) = rest.rsplit_once(" # ").unwrap_or((rest, ""));
            let outcome = if note.is_empty() { outcome } else { TestOutcome::Skipped };
            self.add_test(names::without_time(rest), indent, outcome, record);
            self.previous_line =
                if outcome == TestOutcome::Failed { PreviousLine::Failed } else { PreviousLine::Other };
        } else if previous_line == PreviousLine::Failed {
            match text {
                "'test did not finish before its parent and was cancelled'" => {
                    record.set_last_outcome(TestOutcome::HookBroke)
                }
                // For a whole file, node prints nothing else.
                "'test failed'" => record.mark_last_as_broken(),
                _ => {}
            }
        }
    }

    fn add_test(&mut self, name: &str, indent: usize, outcome: TestOutcome, record: &mut RunRecord) {
        let is_group = self.groups.is_last(indent, name);
        self.groups.leave(indent);
        if is_group {
            record.mark_boundary();
        } else {
            record.add_test(self.groups.path_of(name), outcome);
        }
    }
}
