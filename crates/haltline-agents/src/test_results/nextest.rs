//! `cargo nextest`: one line sums up a run. What it skipped includes what a filter left out.

use super::told::{Outcome, Told, path};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Nextest {
    /// It has summed up, and tells again what failed.
    is_over: bool,
}

impl Reader for Nextest {
    /// `Summary [   0.173s] 4 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 1 skipped`
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        let text = line.trim_start();
        if text.starts_with("Nextest run ID ") || text.starts_with("Starting ") && text.contains(" across ") {
            self.is_over = false;
            told.begins();
            return None;
        }
        if let Some((path, outcome, is_again)) = test(text).filter(|_| !self.is_over) {
            if is_again {
                told.test_again(path, outcome)
            } else {
                told.test(path, outcome)
            }
            return None;
        }
        if text.starts_with("────") {
            told.mark();
        }
        let rest = text.strip_prefix("Summary [")?;
        let (_, rest) = rest.split_once(']')?;
        let (head, list) = rest.split_once(" run: ")?;
        if !head.ends_with("tests") && !head.ends_with("test") {
            return None;
        }
        let list = without_brackets(list);
        let pairs = pairs::counted(&list, ',')?;
        let (passed, skipped) = (pairs::of(&pairs, "passed"), pairs::of(&pairs, "skipped"));
        let others = pairs.iter().filter(|(_, word)| !["passed", "skipped"].contains(word));
        self.is_over = true;
        Some(TestCounts::of(passed, others.map(|(number, _)| *number).fold(0, u64::saturating_add), skipped))
    }
}

/// `FAIL [   0.048s] (1/4) sample tests::adds`, `TRY 2 PASS [ …`, `SIGABRT [ …`
fn test(text: &str) -> Option<(Vec<String>, Outcome, bool)> {
    let (words, rest) = text.split_once(" [")?;
    let mut words = words.split(' ');
    let mut word = words.next()?;
    let is_again = word == "TRY" || word == "FLAKY";
    if word == "TRY" {
        pairs::leading(words.next()?)?;
        word = words.next()?;
    }
    let outcome = match word {
        "PASS" | "FLAKY" | "LEAK" => Outcome::Passed,
        "FAIL" | "LEAK-FAIL" | "FLKY-FL" => Outcome::Failed,
        "TIMEOUT" => Outcome::TimedOut,
        "ABORT" | "XFAIL" => Outcome::Crashed,
        signal if signal.starts_with("SIG") && signal.bytes().all(|byte| byte.is_ascii_uppercase()) => Outcome::Crashed,
        _ => return None,
    };
    let (seconds, rest) = rest.split_once("] ")?;
    seconds.trim().trim_start_matches('>').strip_suffix('s')?.parse::<f64>().ok()?;
    let place = rest.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    let rest = place.map_or(rest, |(_, rest)| rest).trim();
    let (binary, name) = rest.split_once(' ')?;
    let mut parts = vec![binary.to_owned()];
    parts.extend(path(name.trim(), "::"));
    Some((parts, outcome, is_again))
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
        let take = |line| Nextest::default().take(line, &mut Told::default());
        let line = "     Summary [   1.2s] 5/9 tests run: 2 passed (1 slow, 1 flaky), 1 failed, 1 timed out, 1 exec failed, 4 skipped";
        assert_eq!(take(line), Some(TestCounts::of(2, 3, 4)));
        assert_eq!(take("Summary [of the talk] two tests run: fine"), None);
    }
}
