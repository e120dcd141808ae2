//! `cargo nextest`: one line has the counts of a run. Its skipped tests include those that a filter left out.

use super::run_record::{RunRecord, TestOutcome, split_path};
use super::{RunnerParser, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Nextest {
    /// The counts have been printed; the failed tests are listed a second time after them.
    is_over: bool,
}

impl RunnerParser for Nextest {
    /// `Summary [   0.173s] 4 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 1 skipped`
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts> {
        let text = line.trim_start();
        if text.starts_with("Nextest run ID ") || text.starts_with("Starting ") && text.contains(" across ") {
            self.is_over = false;
            record.begin_run();
            return None;
        }
        if let Some((path, outcome, is_retry)) = read_test(text).filter(|_| !self.is_over) {
            if is_retry {
                record.add_retry(path, outcome)
            } else {
                record.add_test(path, outcome)
            }
            return None;
        }
        if text.starts_with("────") {
            record.mark_boundary();
        }
        let rest = text.strip_prefix("Summary [")?;
        let (_, rest) = rest.split_once(']')?;
        let (head, list) = rest.split_once(" run: ")?;
        if !head.ends_with("tests") && !head.ends_with("test") {
            return None;
        }
        let list = without_brackets(list);
        let pairs = pairs::parse(&list, ',')?;
        let (passed, skipped) = (pairs::count_of(&pairs, "passed"), pairs::count_of(&pairs, "skipped"));
        let others = pairs.iter().filter(|(_, word)| !["passed", "skipped"].contains(word));
        self.is_over = true;
        Some(TestCounts::new(passed, others.map(|(number, _)| *number).fold(0, u64::saturating_add), skipped))
    }
}

/// `FAIL [   0.048s] (1/4) sample tests::adds`, `TRY 2 PASS [ …`, `SIGABRT [ …`
fn read_test(text: &str) -> Option<(Vec<String>, TestOutcome, bool)> {
    let (words, rest) = text.split_once(" [")?;
    let mut words = words.split(' ');
    let mut word = words.next()?;
    let is_retry = word == "TRY" || word == "FLAKY";
    if word == "TRY" {
        pairs::leading_number(words.next()?)?;
        word = words.next()?;
    }
    let outcome = match word {
        "PASS" | "FLAKY" | "LEAK" => TestOutcome::Passed,
        "FAIL" | "LEAK-FAIL" | "FLKY-FL" => TestOutcome::Failed,
        "TIMEOUT" => TestOutcome::TimedOut,
        "ABORT" | "XFAIL" => TestOutcome::Crashed,
        signal if signal.starts_with("SIG") && signal.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            TestOutcome::Crashed
        }
        _ => return None,
    };
    let (seconds, rest) = rest.split_once("] ")?;
    seconds.trim().trim_start_matches('>').strip_suffix('s')?.parse::<f64>().ok()?;
    let progress = rest.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    let rest = progress.map_or(rest, |(_, rest)| rest).trim();
    let (binary, name) = rest.split_once(' ')?;
    let mut parts = vec![binary.to_owned()];
    parts.extend(split_path(name.trim(), "::"));
    Some((parts, outcome, is_retry))
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
    fn everything_neither_passed_nor_skipped_counts_as_failed() {
        let parse_line = |line| Nextest::default().parse_line(line, &mut RunRecord::default());
        let line = "     Summary [   1.2s] 5/9 tests run: 2 passed (1 slow, 1 flaky), 1 failed, 1 timed out, 1 exec failed, 4 skipped";
        assert_eq!(parse_line(line), Some(TestCounts::new(2, 3, 4)));
        assert_eq!(parse_line("Summary [of the talk] two tests run: fine"), None);
    }
}
