//! Python's unittest: how many ran, and below it how many of them did not simply pass.

use super::told::{Outcome, Told, path};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Unittest {
    ran: Option<u64>,
    /// A report has begun whose first place in the source is not known yet.
    reported: Option<Vec<String>>,
    is_over: bool,
}

impl Reader for Unittest {
    /// `Ran 5 tests in 0.001s`, an empty line, `FAILED (failures=1, errors=1, skipped=1, expected failures=1)`
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        self.tell(line, told);
        if let Some(rest) = line.strip_prefix("Ran ") {
            self.ran = pairs::leading(rest).filter(|_| rest.contains(" in ") && rest.ends_with('s'));
            return None;
        }
        if line.trim().is_empty() {
            return None;
        }
        let ran = self.ran.take()?;
        let (word, list) = line.split_once(" (").unwrap_or((line, ""));
        if !["OK", "FAILED", "NO TESTS RAN"].contains(&word) {
            return None;
        }
        let number = |name: &str| {
            let fields = list.trim_end_matches(')').split(", ").filter_map(|field| field.split_once('='));
            fields.filter(|(field, _)| *field == name).filter_map(|(_, value)| value.parse::<u64>().ok()).sum::<u64>()
        };
        let failing = number("failures") + number("errors") + number("unexpected successes");
        let skipped = number("skipped") + number("expected failures");
        self.is_over = true;
        Some(TestCounts::of(ran.saturating_sub(failing).saturating_sub(skipped), failing, skipped))
    }
}

impl Unittest {
    fn tell(&mut self, line: &str, told: &mut Told) {
        if line.starts_with("=====") || line.starts_with("Ran ") {
            told.mark();
        }
        let report = ["FAIL: ", "ERROR: "].iter().find_map(|word| line.strip_prefix(word));
        if let Some(name) = report {
            self.report_ended(told, Outcome::NotRun);
            self.begins(told);
            match test_path(name) {
                // A class, a module or a file broke, and no test is named.
                Some(path) if !is_around(&path) => {
                    told.detail(path.clone());
                    self.reported = Some(path);
                }
                _ => told.broken(),
            }
        } else if let Some((_, place)) = line.strip_prefix("  File \"").and_then(|rest| rest.rsplit_once(", in ")) {
            // What unittest itself did is not in the report, so the first place is the test or what prepares it.
            let is_around = ["setUp", "asyncSetUp", "tearDown", "asyncTearDown"].contains(&place);
            self.report_ended(told, if is_around { Outcome::NotRun } else { Outcome::Failed });
        } else if line.starts_with("Ran ") {
            self.report_ended(told, Outcome::NotRun);
        } else if let Some((path, outcome)) =
            line.rsplit_once(" ... ").and_then(|(name, word)| Some((test_path(name)?, outcome(word)?)))
        {
            self.begins(told);
            told.test(path, outcome);
        }
    }

    fn begins(&mut self, told: &mut Told) {
        if std::mem::take(&mut self.is_over) {
            told.begins();
        }
    }

    fn report_ended(&mut self, told: &mut Told, outcome: Outcome) {
        if let Some(path) = self.reported.take() {
            told.known(path, outcome);
        }
    }
}

fn outcome(word: &str) -> Option<Outcome> {
    match word {
        "ok" => Some(Outcome::Passed),
        "expected failure" => Some(Outcome::Skipped),
        _ if word.starts_with("skipped ") => Some(Outcome::Skipped),
        // FAIL and ERROR may be of what prepares the test. The report below says which.
        _ => None,
    }
}

/// `test_adds (test_calc.Calc.test_adds)`, before Python 3.11 `test_adds (test_calc.Calc)`
fn test_path(text: &str) -> Option<Vec<String>> {
    let (name, rest) = text.split_once(" (")?;
    let (place, _) = rest.split_once(')')?;
    let mut parts = path(place, ".");
    if parts.last().is_none_or(|last| last != name) {
        parts.push(name.to_owned());
    }
    (!name.contains(' ')).then_some(parts)
}

fn is_around(path: &[String]) -> bool {
    let name = path.last().map_or("", String::as_str);
    path.iter().any(|part| part == "_FailedTest" || part == "_ErrorHolder")
        || ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"].contains(&name)
}
