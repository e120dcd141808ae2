//! `node --test`: eight lines sum up a run, as comments of TAP or with an `ℹ` before each.

use super::jest::is_time;
use super::tap::Points;
use super::told::{Outcome, Told};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct NodeTest {
    run: Option<TestCounts>,
    /// How many tests it says there are.
    tests: u64,
    points: Points,
    /// The groups that have begun, with their indentation.
    groups: Vec<(usize, String)>,
    /// What failed is told again, after the sum.
    is_reporting: bool,
    /// The line before was a test that failed, or the place of one.
    before: Before,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Other,
    Failed,
    Place,
}

impl Reader for NodeTest {
    /// `# tests 6`, `# suites 1`, `# pass 3`, `# fail 1`, `# cancelled 0`, `# skipped 1`, `# todo 1`
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        if line.starts_with("TAP version ") {
            self.run = None;
            told.begins();
        }
        self.points.take(line, told);
        self.listed(line, told);
        let text = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?;
        let (word, number) = text.split_once(' ')?;
        let number = pairs::leading(number).filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))?;
        if word == "tests" {
            (self.run, self.tests) = (Some(TestCounts::default()), number);
            return None;
        }
        let run = self.run?;
        let more = match word {
            "pass" => TestCounts::of(number, 0, 0),
            "fail" | "cancelled" => TestCounts::of(0, number, 0),
            "skipped" | "todo" => TestCounts::of(0, 0, number),
            _ => return None,
        };
        told.counts_others = false;
        self.run = Some(run.plus(more));
        self.run
    }

    fn is_whole(&self) -> bool {
        self.run.is_some_and(|run| run.total == self.tests)
    }
}

impl NodeTest {
    /// `▶ calc`, `  ✔ adds (0.1ms)`, `  ✖ adds (0.1ms)`, `  ﹣ adds (0.1ms) # SKIP`
    fn listed(&mut self, line: &str, told: &mut Told) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let before = std::mem::take(&mut self.before);
        if text == "✖ failing tests:" {
            self.is_reporting = true;
            told.mark();
            return;
        }
        if self.is_reporting {
            if text.starts_with("test at ") {
                told.mark();
                self.before = Before::Place;
            } else if let Some(name) = text.strip_prefix("✖ ").filter(|_| before == Before::Place) {
                told.detail(vec![without_time(name).to_owned()]);
            } else if indent == 0 && ["▶ ", "✔ "].iter().any(|mark| text.starts_with(mark)) {
                self.is_reporting = false;
                told.begins();
            }
            if self.is_reporting {
                return;
            }
        }
        if let Some(name) = text.strip_prefix("▶ ") {
            self.groups.retain(|(other, _)| *other < indent);
            // What has tests within is told again at its end, with a time.
            self.groups.push((indent, without_time(name).to_owned()));
            told.mark();
            return;
        }
        let marks = [("✔ ", Outcome::Passed), ("✖ ", Outcome::Failed), ("﹣ ", Outcome::Skipped)];
        if let Some((rest, outcome)) =
            marks.iter().find_map(|(mark, outcome)| text.strip_prefix(mark).map(|rest| (rest, *outcome)))
        {
            let (rest, note) = rest.rsplit_once(" # ").unwrap_or((rest, ""));
            let outcome = if note.is_empty() { outcome } else { Outcome::Skipped };
            self.test(without_time(rest), indent, outcome, told);
            self.before = if outcome == Outcome::Failed { Before::Failed } else { Before::Other };
        } else if before == Before::Failed {
            match text {
                "'test did not finish before its parent and was cancelled'" => told.last_became(Outcome::HookBroke),
                // Of a whole file there is nothing else to say.
                "'test failed'" => told.last_was_broken(),
                _ => {}
            }
        }
    }

    fn test(&mut self, name: &str, indent: usize, outcome: Outcome, told: &mut Told) {
        let is_group = self.groups.last().is_some_and(|(other, group)| *other == indent && group == name);
        self.groups.retain(|(other, _)| *other < indent);
        if is_group {
            told.mark();
            return;
        }
        let groups = self.groups.iter().map(|(_, group)| group.clone());
        told.test(groups.chain([name.to_owned()]).collect(), outcome);
    }
}

fn without_time(name: &str) -> &str {
    name.rsplit_once(" (").filter(|(_, time)| is_time(time)).map_or(name, |(name, _)| name)
}
