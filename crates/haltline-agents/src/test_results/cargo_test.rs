//! `cargo test`: one result for each binary, which add up to a run.
//!
//! Where cargo's own lines are there, a run begins when it has built. Where only the tests' output was kept, a binary
//! whose tests have all been seen before begins a new one. What tests printed stands between two `failures:` and is
//! nobody's word.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::told::{Outcome, Told, path};
use super::{Reader, TestCounts, pairs};

#[derive(Default)]
pub(super) struct CargoTest {
    run: TestCounts,
    /// The binaries of this run, each as the sum of its tests' names.
    binaries: BTreeSet<u64>,
    /// The names of the binary that is running.
    names: u64,
    is_built: bool,
    section: Section,
    /// Where the binary that is running began.
    began: usize,
    /// The test whose line is not whole yet, because its output came first.
    pending: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Tests,
    /// What failing tests printed.
    Printed,
    /// The names of the failing tests.
    Failing,
}

impl Reader for CargoTest {
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts> {
        let is_indented = line.starts_with(' ');
        let text = line.trim_start();
        if text.starts_with("Finished ") && text.contains(" target(s) in ") {
            self.is_built = true;
            self.section = Section::Tests;
            told.begins();
        } else if line.starts_with("error: could not compile ") {
            told.begins();
            told.broken();
        } else if text.starts_with("running ") && (text.ends_with(" tests") || text.ends_with(" test")) {
            if self.section != Section::Printed {
                (self.names, self.began, self.section) = (0, told.line, Section::Tests);
                told.is_open = true;
                told.mark();
            }
        } else if text == "failures:" {
            self.section = if self.section == Section::Tests { Section::Printed } else { Section::Failing };
            told.mark();
        } else if let Some(result) = text.strip_prefix("test result: ") {
            return self.result(result, told);
        } else if let (Section::Failing, Some(name)) = (self.section, line.strip_prefix("    ")) {
            told.test(name_path(name), Outcome::Failed);
        } else if let (Section::Printed, Some(name)) = (self.section, heading(line)) {
            told.detail(name_path(name));
        } else if self.section == Section::Printed && line.starts_with("Couldn't compile the test.") {
            // An example of the documentation is built only when its turn comes.
            if let Some((path, _)) = told.details.last().cloned() {
                told.known(path, Outcome::HookBroke);
            }
        } else if self.section == Section::Tests && !is_indented {
            self.test(line, told);
        }
        None
    }
}

/// `---- tests::adds stdout ----`
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" ----")?.rsplit_once(' ').map(|(name, _)| name)
}

/// A test of the documentation is named by its place, which has no parts.
fn name_path(name: &str) -> Vec<String> {
    let name = [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name);
    if name.contains(' ') { vec![name.to_owned()] } else { path(name, "::") }
}

fn outcome(word: &str) -> Option<Outcome> {
    match word.split([' ', ',']).next()? {
        "ok" | "bench:" => Some(Outcome::Passed),
        "FAILED" => Some(Outcome::Failed),
        "ignored" => Some(Outcome::Skipped),
        _ => None,
    }
}

impl CargoTest {
    /// `test tests::adds ... ok`
    fn test(&mut self, line: &str, told: &mut Told) {
        let Some((name, rest)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else {
            // With the tests' output in between, what became of a test stands on a line of its own.
            if let (Some(outcome), Some(name)) = (outcome(line).filter(|_| !line.contains(' ')), self.pending.take()) {
                told.test(name_path(&name), outcome);
            } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ...")) {
                self.pending = Some(name.to_owned());
            }
            return;
        };
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.names = self.names.wrapping_add(hasher.finish());
        match outcome(rest) {
            Some(outcome) => told.test(name_path(name), outcome),
            None => self.pending = Some(name.to_owned()),
        }
    }

    /// `ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s`
    fn result(&mut self, result: &str, told: &mut Told) -> Option<TestCounts> {
        let (_, list) = result.split_once(". ")?;
        let list = list.split("; finished in").next()?;
        let pairs = pairs::counted(list, ';')?;
        // Where tests have failed, the result comes behind their names.
        if self.section == Section::Printed {
            return None;
        }
        self.section = Section::Tests;
        let is_repeated = self.names != 0 && self.binaries.contains(&self.names);
        if std::mem::take(&mut self.is_built) || is_repeated {
            (self.run, self.binaries) = (TestCounts::default(), BTreeSet::new());
            told.keep_from(self.began);
        }
        self.binaries.insert(std::mem::take(&mut self.names));
        let [passed, measured, failed, ignored] =
            ["passed", "measured", "failed", "ignored"].map(|word| pairs::of(&pairs, word));
        self.run = self.run.plus(TestCounts::of(passed.saturating_add(measured), failed, ignored));
        Some(self.run)
    }
}
