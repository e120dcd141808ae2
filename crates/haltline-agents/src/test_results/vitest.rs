//! Vitest: one line sums up the tests. Files that could not be loaded are counted in a heading above it.

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Vitest {
    broken: u64,
}

impl Reader for Vitest {
    /// `      Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)`
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        if let Some((_, rest)) = line.split_once(" Failed Suites ") {
            self.broken = pairs::leading(rest).filter(|_| line.starts_with('⎯')).unwrap_or(self.broken);
        }
        let list = line.trim_start().strip_prefix("Tests  ")?.trim();
        let pairs = if list == "no tests" {
            Vec::new()
        } else {
            let (list, total) = list.rsplit_once(" (")?;
            pairs::leading(total.strip_suffix(')')?)?;
            pairs::counted(list, '|')?
        };
        let broken = std::mem::take(&mut self.broken);
        let [passed, failed, skipped, todo] =
            ["passed", "failed", "skipped", "todo"].map(|word| pairs::of(&pairs, word));
        Some(TestCounts::of(passed, failed.saturating_add(broken), skipped.saturating_add(todo)))
    }
}
