//! Mocha: up to three lines sum up a run, `passing` first.

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Mocha {
    run: Option<TestCounts>,
}

impl Reader for Mocha {
    /// `  1 passing (16ms)`, `  1 pending`, `  1 failing`
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        let text = line.trim();
        let (number, rest) = (pairs::leading(text), text.trim_start_matches(|letter: char| letter.is_ascii_digit()));
        let (Some(number), Some(rest)) = (number, rest.strip_prefix(' ')) else {
            self.run = None;
            return None;
        };
        if rest.starts_with("passing (") && rest.ends_with(')') {
            self.run = Some(TestCounts::of(number, 0, 0));
        } else {
            let run = self.run?;
            self.run = match rest {
                "pending" => Some(TestCounts::of(run.passing, run.failing, number)),
                "failing" => Some(TestCounts::of(run.passing, number, run.skipped)),
                _ => None,
            };
        }
        self.run
    }
}
