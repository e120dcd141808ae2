//! `cargo nextest`: one line sums up a run. What it skipped includes what a filter left out.

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Nextest;

impl Reader for Nextest {
    /// `Summary [   0.173s] 4 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 1 skipped`
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        let rest = line.trim_start().strip_prefix("Summary [")?;
        let (_, rest) = rest.split_once(']')?;
        let (head, list) = rest.split_once(" run: ")?;
        if !head.ends_with("tests") && !head.ends_with("test") {
            return None;
        }
        let list = without_brackets(list);
        let pairs = pairs::counted(&list, ',')?;
        let (passed, skipped) = (pairs::of(&pairs, "passed"), pairs::of(&pairs, "skipped"));
        let others = pairs.iter().filter(|(_, word)| !["passed", "skipped"].contains(word));
        Some(TestCounts::of(passed, others.map(|(number, _)| *number).fold(0, u64::saturating_add), skipped))
    }
}

fn without_brackets(list: &str) -> String {
    let mut depth = 0_u32;
    let mut kept = String::with_capacity(list.len());
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_neither_passed_nor_skipped_failed() {
        let line = "     Summary [   1.2s] 5/9 tests run: 2 passed (1 slow, 1 flaky), 1 failed, 1 timed out, 1 exec failed, 4 skipped";
        assert_eq!(Nextest.take(line), Some(TestCounts::of(2, 3, 4)));
        assert_eq!(Nextest.take("Summary [of the talk] two tests run: fine"), None);
    }
}
