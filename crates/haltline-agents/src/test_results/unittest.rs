//! Python's unittest: one line says how many tests ran, and the line below how many of them did not simply pass.

use super::run_record::{RunRecord, TestOutcome, split_path};
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Unittest {
    ran: Option<u64>,
    /// The test of a report that has begun and has not shown its first source location yet.
    reported: Option<Vec<String>>,
    is_over: bool,
}

impl RunnerParser for Unittest {
    /// `Ran 5 tests in 0.001s`, an empty line, `FAILED (failures=1, errors=1, skipped=1, expected failures=1)`
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        self.record_line(line, record);
        if let Some(rest) = line.strip_prefix("Ran ") {
            self.ran = pairs::leading_number(rest).filter(|_| rest.contains(" in ") && rest.ends_with('s'));
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
        Some(TestCounts::new(ran.saturating_sub(failing).saturating_sub(skipped), failing, skipped))
    }
}

impl Unittest {
    fn record_line(&mut self, line: &str, record: &mut RunRecord) {
        if line.starts_with("=====") || line.starts_with("Ran ") {
            record.mark_boundary();
        }
        let report = ["FAIL: ", "ERROR: "].iter().find_map(|word| line.strip_prefix(word));
        if let Some(name) = report {
            self.end_report(record, TestOutcome::SetupBroke);
            self.begin_run(record);
            match test_path(name) {
                // A class, a module or a file broke, and no test is named.
                Some(path) if !is_setup(&path) => {
                    record.begin_failure_report(path.clone());
                    self.reported = Some(path);
                }
                _ => record.add_broken(),
            }
        } else if let Some((_, function)) = line.strip_prefix("  File \"").and_then(|rest| rest.rsplit_once(", in ")) {
            // The report leaves out unittest's own frames, so the first location is in the test or in its setup.
            let is_setup = ["setUp", "asyncSetUp", "tearDown", "asyncTearDown"].contains(&function);
            self.end_report(record, if is_setup { TestOutcome::SetupBroke } else { TestOutcome::Failed });
        } else if line.starts_with("Ran ") {
            self.end_report(record, TestOutcome::SetupBroke);
        } else if let Some((path, outcome)) =
            line.rsplit_once(" ... ").and_then(|(name, word)| Some((test_path(name)?, outcome(word)?)))
        {
            self.begin_run(record);
            record.add_test(path, outcome);
        }
    }

    fn begin_run(&mut self, record: &mut RunRecord) {
        if std::mem::take(&mut self.is_over) {
            record.begin_run();
        }
    }

    fn end_report(&mut self, record: &mut RunRecord, outcome: TestOutcome) {
        if let Some(path) = self.reported.take() {
            record.add_reported_test(path, outcome);
        }
    }
}

fn outcome(word: &str) -> Option<TestOutcome> {
    match word {
        "ok" => Some(TestOutcome::Passed),
        "expected failure" => Some(TestOutcome::Skipped),
        _ if word.starts_with("skipped ") => Some(TestOutcome::Skipped),
        // FAIL and ERROR may concern the setup of the test. The report below says which.
        _ => None,
    }
}

/// `test_adds (test_calc.Calc.test_adds)`, before Python 3.11 `test_adds (test_calc.Calc)`
fn test_path(text: &str) -> Option<Vec<String>> {
    let (name, rest) = text.split_once(" (")?;
    let (location, _) = rest.split_once(')')?;
    let mut parts = split_path(location, ".");
    if parts.last().is_none_or(|last| last != name) {
        parts.push(name.to_owned());
    }
    (!name.contains(' ')).then_some(parts)
}

fn is_setup(path: &[String]) -> bool {
    let name = path.last().map_or("", String::as_str);
    path.iter().any(|part| part == "_FailedTest" || part == "_ErrorHolder")
        || ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"].contains(&name)
}
