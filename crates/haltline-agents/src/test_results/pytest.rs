//! pytest: one line has the counts of a run, between rules or alone (`-q`).

use super::run_record::{RunRecord, TestOutcome};
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Pytest {
    /// The short summary has begun, which names the tests that did not pass.
    is_summary: bool,
    /// Failures have been reported, so a line of counts without failures was printed by a test.
    has_failures: bool,
}

/// How the labels of the counts are counted. An expected failure counts as skipped, as in pytest's own XML.
const PASSING: [&str; 2] = ["passed", "xpassed"];
const FAILING: [&str; 3] = ["failed", "error", "errors"];
const ERRORS: [&str; 2] = ["error", "errors"];
const SKIPPED: [&str; 2] = ["skipped", "xfailed"];
const OTHERS: [&str; 6] = ["deselected", "warning", "warnings", "rerun", "reruns", "subtests passed"];

impl RunnerParser for Pytest {
    /// `=== 1 failed, 2 passed, 1 skipped in 0.05s ===`
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        self.record_line(line, record);
        let line = line.trim_matches(['=', ' ']);
        let (list, time) = line.rsplit_once(" in ")?;
        let seconds = time.split_whitespace().next()?.strip_suffix('s')?;
        seconds.parse::<f64>().ok()?;
        if list == "no tests ran" {
            return Some(TestCounts::default());
        }
        let pairs = pairs::parse(list, ',')?;
        let known = [&PASSING[..], &FAILING, &SKIPPED, &OTHERS].concat();
        if !pairs.iter().all(|(_, word)| known.contains(word)) {
            return None;
        }
        let sum = |words: &[&str]| words.iter().map(|word| pairs::count_of(&pairs, word)).fold(0, u64::saturating_add);
        let failing = sum(&FAILING);
        if self.has_failures && failing == 0 {
            return None;
        }
        (self.is_summary, self.has_failures) = (false, false);
        // With `-r N` or `--no-summary` it names no test.
        record.may_omit_failed_names = true;
        // An error is in the setup of a test or in its file, whether or not it is named.
        let around = record.tests.iter().filter(|entry| entry.outcome == TestOutcome::SetupBroke).count();
        let named = u64::try_from(around.saturating_add(record.broken.len())).unwrap_or(u64::MAX);
        if sum(&ERRORS) > named {
            record.add_broken();
        }
        Some(TestCounts::new(sum(&PASSING), failing, sum(&SKIPPED)))
    }
}

impl Pytest {
    fn record_line(&mut self, line: &str, record: &mut RunRecord) {
        if let Some(title) = line.strip_prefix("==").map(|title| title.trim_matches(['=', ' '])) {
            self.is_summary = title == "short test summary info";
            self.has_failures |= ["FAILURES", "ERRORS"].contains(&title);
            if title == "test session starts" {
                self.has_failures = false;
                record.begin_run();
            }
            record.mark_boundary();
        } else if let Some(title) = line.strip_prefix("__").and_then(|title| title.strip_suffix("__")) {
            let title = title.trim_matches(['_', ' ']);
            let name =
                ["ERROR at setup of ", "ERROR at teardown of "].iter().find_map(|start| title.strip_prefix(start));
            record.begin_failure_report(split_test_id(name.unwrap_or(title).rsplit('.').next().unwrap_or(title)));
        } else if self.is_summary {
            self.read_summary_line(line, record);
        } else if let Some((path, outcome)) = read_progress(line) {
            record.add_test(path, outcome);
        }
    }

    /// `FAILED test_calc.py::test_adds - assert 0 == 4`, `ERROR test_calc.py`
    fn read_summary_line(&mut self, line: &str, record: &mut RunRecord) {
        let Some((word, rest)) = line.split_once(' ') else {
            return;
        };
        let name = test_id(rest);
        match word {
            // A file that could not be collected has no test in its name.
            "ERROR" if !name.contains("::") => record.add_broken(),
            // A fixture broke, before the test or after it.
            "ERROR" => record.add_test(split_test_id(name), TestOutcome::SetupBroke),
            _ => {
                if let Some(outcome) = outcome(word).filter(|_| name.contains("::")) {
                    record.add_test(split_test_id(name), outcome);
                }
            }
        }
    }
}

/// `test_calc.py::test_adds PASSED    [ 50%]`, with workers `[gw0] [ 50%] PASSED test_calc.py::test_adds`
fn read_progress(line: &str) -> Option<(Vec<String>, TestOutcome)> {
    if let Some(rest) = line.strip_prefix("[gw") {
        let (_, rest) = rest.rsplit_once("%] ")?;
        let (word, name) = rest.split_once(' ')?;
        return Some((split_test_id(name), outcome(word).filter(|_| name.contains("::"))?));
    }
    let (line, _) = line.rsplit_once(" [").filter(|(_, percent)| percent.ends_with("%]")).unwrap_or((line, ""));
    let name = test_id(line.trim_end());
    if !name.contains("::") || name.starts_with(' ') {
        return None;
    }
    let word = line.get(name.len()..)?.split_whitespace().next()?;
    Some((split_test_id(name), outcome(word)?))
}

fn outcome(word: &str) -> Option<TestOutcome> {
    match word {
        "PASSED" | "XPASS" => Some(TestOutcome::Passed),
        "FAILED" => Some(TestOutcome::Failed),
        "ERROR" => Some(TestOutcome::SetupBroke),
        "SKIPPED" | "XFAIL" => Some(TestOutcome::Skipped),
        _ => None,
    }
}

/// The test's id at the start of a text; its parameter may contain spaces.
fn test_id(text: &str) -> &str {
    let end = text.find([' ', '[']).unwrap_or(text.len());
    if !text[end..].starts_with('[') {
        return &text[..end];
    }
    let ends = text.match_indices(']').map(|(index, _)| index + 1);
    let end =
        ends.filter(|index| text[*index..].is_empty() || text[*index..].starts_with(' ')).find(|index| *index > end);
    &text[..end.unwrap_or(text.len())]
}

fn split_test_id(name: &str) -> Vec<String> {
    let (bare, parameter) = name.split_at(name.find('[').unwrap_or(name.len()));
    let (file, tests) = bare.split_once("::").unwrap_or(("", bare));
    let mut parts: Vec<String> = file.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    parts.extend(tests.split("::").map(str::to_owned));
    if let Some(last) = parts.last_mut() {
        last.push_str(parameter);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_known_outcomes_with_a_time_is_a_summary() {
        let parse_line = |line| Pytest::default().parse_line(line, &mut RunRecord::default());
        assert_eq!(parse_line("2 passed in 62.03s (0:01:02)"), Some(TestCounts::new(2, 0, 0)));
        assert_eq!(parse_line("==== no tests ran in 0.01s ===="), Some(TestCounts::default()));
        for line in ["2 passed", "2 files changed in 0.1s", "compiled in 3s", "1 passed in the end"] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }
}
