//! `cargo test`: one result for each binary, which add up to a run.
//!
//! Where cargo's own lines are there, a run begins when it has built. Where only the tests' output was kept, a binary
//! whose tests have all been seen before begins a new one.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct CargoTest {
    run: TestCounts,
    /// The binaries of this run, each as the sum of its tests' names.
    binaries: BTreeSet<u64>,
    /// The names of the binary that is running.
    names: u64,
    is_built: bool,
}

impl Reader for CargoTest {
    fn take(&mut self, line: &str) -> Option<TestCounts> {
        let line = line.trim_start();
        if line.starts_with("Finished ") && line.contains(" target(s) in ") {
            self.is_built = true;
        } else if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.names = 0;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            return self.result(result);
        } else if let Some((name, _)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            self.names = self.names.wrapping_add(hasher.finish());
        }
        None
    }
}

impl CargoTest {
    /// `ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s`
    fn result(&mut self, result: &str) -> Option<TestCounts> {
        let (_, list) = result.split_once(". ")?;
        let list = list.split("; finished in").next()?;
        let pairs = pairs::counted(list, ';')?;
        let is_repeated = self.names != 0 && self.binaries.contains(&self.names);
        if std::mem::take(&mut self.is_built) || is_repeated {
            (self.run, self.binaries) = (TestCounts::default(), BTreeSet::new());
        }
        self.binaries.insert(std::mem::take(&mut self.names));
        let [passed, measured, failed, ignored] =
            ["passed", "measured", "failed", "ignored"].map(|word| pairs::of(&pairs, word));
        self.run = self.run.plus(TestCounts::of(passed.saturating_add(measured), failed, ignored));
        Some(self.run)
    }
}
