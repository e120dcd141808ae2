//! Jest: one line sums up the tests. Files that could not be run have no tests in it; they are told above.

use std::collections::BTreeSet;

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct Jest {
    /// The file whose report is being read.
    file: String,
    /// Files that could not be run: some are told twice.
    broken: BTreeSet<String>,
}

impl Reader for Jest {
    /// `Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total`
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        let line = line.trim();
        if let Some(file) = line.strip_prefix("FAIL ") {
            file.trim().clone_into(&mut self.file);
        } else if line.ends_with("Test suite failed to run") {
            self.broken.insert(self.file.clone());
        }
        let pairs = pairs::counted(line.strip_prefix("Tests:")?.trim(), ',')?;
        let (_, last) = pairs.last()?;
        if *last != "total" {
            return None;
        }
        let broken = u64::try_from(std::mem::take(&mut self.broken).len()).unwrap_or(u64::MAX);
        let [passed, failed, skipped, todo] =
            ["passed", "failed", "skipped", "todo"].map(|word| pairs::of(&pairs, word));
        Some(TestCounts::of(passed, failed.saturating_add(broken), skipped.saturating_add(todo)))
    }
}
