//! What one reader was told of the run it is reading: tests by name, what could not be loaded, and how it summed up.
//!
//! Facts only; what they mean for one test is decided in `judge`.

use super::TestCounts;

/// What became of a test, in its runner's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Passed,
    /// It was executed and failed.
    Failed,
    Skipped,
    /// Something around it broke: its fixtures, its parent, or what cleans up behind it.
    NotRun,
    /// The runner says failed, and the place it shows is a hook and not the test.
    HookBroke,
    /// The process died in it.
    Crashed,
    /// Its runner ended it.
    TimedOut,
}

/// One telling of one test.
#[derive(Clone, Debug)]
pub(super) struct Telling {
    /// From the outermost name (a file, a module, a group) to the test's own.
    pub path: Vec<String>,
    pub outcome: Outcome,
    /// It takes the place of what was told of this test before: a second try.
    pub is_again: bool,
    /// On which line.
    pub line: usize,
    /// The failure's own text, where it does not stand in the output.
    pub text: Option<String>,
}

/// What one reader was told of its last run.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The line that is being read.
    pub line: usize,
    /// The last line that had something to say.
    pub last_line: usize,
    pub tests: Vec<Telling>,
    /// Lines from which the report of a test's failure runs.
    pub details: Vec<(Vec<String>, usize)>,
    /// Lines that end a report.
    pub marks: Vec<usize>,
    /// Lines that tell of files, packages or hooks that broke, each of which the counts have as failing.
    pub broken: Vec<usize>,
    /// What reports say of files that broke.
    pub texts: Vec<String>,
    /// The last sum, and where it stood.
    pub counts: Option<(TestCounts, usize)>,
    /// Something was announced that has not come yet.
    pub is_open: bool,
    /// Every test that is executed is named.
    pub names_all: bool,
    /// What a filter left out counts as skipped, so a run of one test may well be of the one that was asked for.
    pub filter_skips: bool,
    /// What failed is not always named. Where others do not name it, the beginning is cut off.
    pub may_not_name: bool,
    /// The counts are not those of the named tests: tests within tests, packages.
    pub counts_others: bool,
}

impl Told {
    /// A run begins. What was told before is of another.
    pub fn begins(&mut self) {
        *self = Self { line: self.line, last_line: self.line, is_open: true, ..Self::default() };
    }

    /// Only what was told from this line on belongs to the run.
    pub fn keep_from(&mut self, line: usize) {
        self.tests.retain(|telling| telling.line >= line);
        self.details.retain(|(_, place)| *place >= line);
        self.broken.retain(|place| *place >= line);
    }

    pub fn test(&mut self, path: Vec<String>, outcome: Outcome) {
        self.tell(path, outcome, false);
    }

    pub fn test_again(&mut self, path: Vec<String>, outcome: Outcome) {
        self.tell(path, outcome, true);
    }

    fn tell(&mut self, path: Vec<String>, outcome: Outcome, is_again: bool) {
        self.mark();
        self.tests.push(Telling { path, outcome, is_again, line: self.line, text: None });
    }

    /// The line is part of the test's report.
    pub fn known(&mut self, path: Vec<String>, outcome: Outcome) {
        self.last_line = self.line;
        self.tests.push(Telling { path, outcome, is_again: false, line: self.line, text: None });
    }

    /// The report of a test's failure begins here.
    pub fn detail(&mut self, path: Vec<String>) {
        self.mark();
        self.details.push((path, self.line));
    }

    /// The line belongs to no test's report.
    pub fn mark(&mut self) {
        self.last_line = self.line;
        if self.marks.last() != Some(&self.line) {
            self.marks.push(self.line);
        }
    }

    pub fn broken(&mut self) {
        self.mark();
        self.broken.push(self.line);
    }

    /// The test told last was no test but a file that broke.
    pub fn last_was_broken(&mut self) {
        if let Some(telling) = self.tests.pop() {
            self.broken.push(telling.line);
        }
    }

    /// More is known of the test told last.
    pub fn last_became(&mut self, outcome: Outcome) {
        if let Some(telling) = self.tests.last_mut() {
            telling.outcome = outcome;
        }
    }

    pub fn settled(&mut self, counts: TestCounts) {
        self.mark();
        self.counts = Some((counts, self.line));
        self.is_open = false;
    }
}

/// A path out of a text with separators.
pub(super) fn path(text: &str, separator: &str) -> Vec<String> {
    text.split(separator).map(|part| part.trim().to_owned()).collect()
}
