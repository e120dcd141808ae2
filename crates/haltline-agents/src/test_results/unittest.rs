//! Python's unittest: how many ran, and below it how many of them did not simply pass.

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Unittest {
    ran: Option<u64>,
}

impl Reader for Unittest {
    /// `Ran 5 tests in 0.001s`, an empty line, `FAILED (failures=1, errors=1, skipped=1, expected failures=1)`
    fn take(&mut self, line: &str) -> Option<TestCounts> {
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
        Some(TestCounts::of(ran.saturating_sub(failing).saturating_sub(skipped), failing, skipped))
    }
}
