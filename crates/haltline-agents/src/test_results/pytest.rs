//! pytest: one line sums up a run, between rules or alone (`-q`).

use super::told::{Outcome, Told};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Pytest {
    /// The short summary has begun, which names what did not pass.
    is_summary: bool,
    /// Failures have been reported, so a sum without one is something that a test printed.
    has_failures: bool,
}

/// What the words of the line count as. A test that is expected to fail is set aside, as pytest's own XML has it.
const PASSING: [&str; 2] = ["passed", "xpassed"];
const FAILING: [&str; 3] = ["failed", "error", "errors"];
const ERRORS: [&str; 2] = ["error", "errors"];
const SKIPPED: [&str; 2] = ["skipped", "xfailed"];
const OTHERS: [&str; 6] = ["deselected", "warning", "warnings", "rerun", "reruns", "subtests passed"];

impl Reader for Pytest {
    /// `=== 1 failed, 2 passed, 1 skipped in 0.05s ===`
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        self.tell(line, told);
        let line = line.trim_matches(['=', ' ']);
        let (list, time) = line.rsplit_once(" in ")?;
        let seconds = time.split_whitespace().next()?.strip_suffix('s')?;
        seconds.parse::<f64>().ok()?;
        if list == "no tests ran" {
            return Some(TestCounts::default());
        }
        let pairs = pairs::counted(list, ',')?;
        let known = [&PASSING[..], &FAILING, &SKIPPED, &OTHERS].concat();
        if !pairs.iter().all(|(_, word)| known.contains(word)) {
            return None;
        }
        let sum = |words: &[&str]| words.iter().map(|word| pairs::of(&pairs, word)).fold(0, u64::saturating_add);
        let failing = sum(&FAILING);
        if self.has_failures && failing == 0 {
            return None;
        }
        (self.is_summary, self.has_failures) = (false, false);
        // With `-r N` or `--no-summary` it names nothing.
        told.may_not_name = true;
        // An error is around a test or in its file, whether it is named or not.
        let around = told.tests.iter().filter(|telling| telling.outcome == Outcome::NotRun).count();
        let named = u64::try_from(around.saturating_add(told.broken.len())).unwrap_or(u64::MAX);
        if sum(&ERRORS) > named {
            told.broken();
        }
        Some(TestCounts::of(sum(&PASSING), failing, sum(&SKIPPED)))
    }
}

impl Pytest {
    fn tell(&mut self, line: &str, told: &mut Told) {
        if let Some(title) = line.strip_prefix("==").map(|title| title.trim_matches(['=', ' '])) {
            self.is_summary = title == "short test summary info";
            self.has_failures |= ["FAILURES", "ERRORS"].contains(&title);
            if title == "test session starts" {
                self.has_failures = false;
                told.begins();
            }
            told.mark();
        } else if let Some(title) = line.strip_prefix("__").and_then(|title| title.strip_suffix("__")) {
            let title = title.trim_matches(['_', ' ']);
            let name =
                ["ERROR at setup of ", "ERROR at teardown of "].iter().find_map(|start| title.strip_prefix(start));
            told.detail(parts(name.unwrap_or(title).rsplit('.').next().unwrap_or(title)));
        } else if self.is_summary {
            self.summed_up(line, told);
        } else if let Some((path, outcome)) = progress(line) {
            told.test(path, outcome);
        }
    }

    /// `FAILED test_calc.py::test_adds - assert 0 == 4`, `ERROR test_calc.py`
    fn summed_up(&mut self, line: &str, told: &mut Told) {
        let Some((word, rest)) = line.split_once(' ') else {
            return;
        };
        let name = node(rest);
        match word {
            // A file that could not be collected has no test in its name.
            "ERROR" if !name.contains("::") => told.broken(),
            // In a fixture before it, or behind it.
            "ERROR" => told.test(parts(name), Outcome::NotRun),
            _ => {
                if let Some(outcome) = outcome(word).filter(|_| name.contains("::")) {
                    told.test(parts(name), outcome);
                }
            }
        }
    }
}

/// `test_calc.py::test_adds PASSED    [ 50%]`, with workers `[gw0] [ 50%] PASSED test_calc.py::test_adds`
fn progress(line: &str) -> Option<(Vec<String>, Outcome)> {
    if let Some(rest) = line.strip_prefix("[gw") {
        let (_, rest) = rest.rsplit_once("%] ")?;
        let (word, name) = rest.split_once(' ')?;
        return Some((parts(name), outcome(word).filter(|_| name.contains("::"))?));
    }
    let (line, _) = line.rsplit_once(" [").filter(|(_, percent)| percent.ends_with("%]")).unwrap_or((line, ""));
    let name = node(line.trim_end());
    if !name.contains("::") || name.starts_with(' ') {
        return None;
    }
    let word = line.get(name.len()..)?.split_whitespace().next()?;
    Some((parts(name), outcome(word)?))
}

fn outcome(word: &str) -> Option<Outcome> {
    match word {
        "PASSED" | "XPASS" => Some(Outcome::Passed),
        "FAILED" => Some(Outcome::Failed),
        "ERROR" => Some(Outcome::NotRun),
        "SKIPPED" | "XFAIL" => Some(Outcome::Skipped),
        _ => None,
    }
}

/// The test's own name at the start of a text; in a parameter there may be spaces.
fn node(text: &str) -> &str {
    let end = text.find([' ', '[']).unwrap_or(text.len());
    if !text[end..].starts_with('[') {
        return &text[..end];
    }
    let ends = text.match_indices(']').map(|(place, _)| place + 1);
    let end =
        ends.filter(|place| text[*place..].is_empty() || text[*place..].starts_with(' ')).find(|place| *place > end);
    &text[..end.unwrap_or(text.len())]
}

fn parts(name: &str) -> Vec<String> {
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
    fn only_a_list_of_its_words_with_a_time_is_a_summary() {
        let take = |line| Pytest::default().take(line, &mut Told::default());
        assert_eq!(take("2 passed in 62.03s (0:01:02)"), Some(TestCounts::of(2, 0, 0)));
        assert_eq!(take("==== no tests ran in 0.01s ===="), Some(TestCounts::default()));
        for line in ["2 passed", "2 files changed in 0.1s", "compiled in 3s", "1 passed in the end"] {
            assert_eq!(take(line), None, "{line}");
        }
    }
}
