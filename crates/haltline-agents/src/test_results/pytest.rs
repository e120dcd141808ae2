//! pytest: one line sums up a run, between rules or alone (`-q`).

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Pytest;

/// What the words of the line count as. A test that is expected to fail is set aside, as pytest's own XML has it.
const PASSING: [&str; 2] = ["passed", "xpassed"];
const FAILING: [&str; 3] = ["failed", "error", "errors"];
const SKIPPED: [&str; 2] = ["skipped", "xfailed"];
const OTHERS: [&str; 6] = ["deselected", "warning", "warnings", "rerun", "reruns", "subtests passed"];

impl Reader for Pytest {
    /// `=== 1 failed, 2 passed, 1 skipped in 0.05s ===`
    fn take(&mut self, line: &str) -> Option<TestCounts> {
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
        Some(TestCounts::of(sum(&PASSING), sum(&FAILING), sum(&SKIPPED)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_its_words_with_a_time_is_a_summary() {
        assert_eq!(Pytest.take("2 passed in 62.03s (0:01:02)"), Some(TestCounts::of(2, 0, 0)));
        assert_eq!(Pytest.take("==== no tests ran in 0.01s ===="), Some(TestCounts::default()));
        for line in ["2 passed", "2 files changed in 0.1s", "compiled in 3s", "1 passed in the end"] {
            assert_eq!(Pytest.take(line), None, "{line}");
        }
    }
}
