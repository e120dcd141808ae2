//! Counts how many tests passed and failed, from the output of test runners and from JUnit XML.
//!
//! Each runner has one small parser, all behind one trait: lines go in, and the counts of the run they belong to come
//! out. In a text that holds several runs the last one counts, no matter which runner printed it. The counts cover
//! tests that were executed or set aside; tests that a filter left out are not counted. Whatever a runner could not
//! even load counts as failing: a file that does not compile passes nothing.

mod cargo_test;
mod classify;
mod go_test;
mod hook_frame;
mod jest;
mod junit;
mod mocha;
mod names;
mod nextest;
mod node_test;
mod pairs;
mod pytest;
mod run_record;
mod tap;
mod trouble;
mod unittest;
mod vitest;

pub use classify::{Classification, Exit, TestClass, TestRun, Trouble, classify, failed_tests};
pub use junit::{JunitError, from_junit};

use crate::terminal_text;
use run_record::{RunRecord, TestOutcome};

/// The number of tests of a run, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// The sum of the other three.
    pub total: u64,
    pub passing: u64,
    /// Tests that failed, broke or could not be loaded.
    pub failing: u64,
    /// Tests that were skipped, are still to be written, or are allowed to fail.
    pub skipped: u64,
}

impl TestCounts {
    fn new(passing: u64, failing: u64, skipped: u64) -> Self {
        let total = passing.saturating_add(failing).saturating_add(skipped);
        Self { total, passing, failing, skipped }
    }

    fn of_one(outcome: TestOutcome) -> Self {
        match outcome {
            TestOutcome::Passed => Self::new(1, 0, 0),
            TestOutcome::Skipped => Self::new(0, 0, 1),
            _failed => Self::new(0, 1, 0),
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self::new(
            self.passing.saturating_add(other.passing),
            self.failing.saturating_add(other.failing),
            self.skipped.saturating_add(other.skipped),
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    CargoTest,
    Nextest,
    Pytest,
    Unittest,
    GoTest,
    Jest,
    Vitest,
    Mocha,
    NodeTest,
    Tap,
}

/// One run of a test runner, with its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The runner whose output format it has.
    pub runner: Runner,
    pub counts: TestCounts,
}

trait RunnerParser {
    /// Parses the next line, as a terminal shows it, and adds what it says about tests to `record`. Returns the counts
    /// of the run so far when the line changes them.
    fn parse_line(&mut self, line: &str, record: &mut RunRecord) -> Option<TestCounts>;

    /// True when everything that the runner announced has arrived.
    fn is_complete(&self) -> bool {
        true
    }
}

/// The parser of one runner, with what it has recorded.
struct OutputListener {
    runner: Runner,
    parser: Box<dyn RunnerParser>,
    record: RunRecord,
}

/// The parsers of all runners, which read every line side by side.
struct OutputListeners {
    listeners: [OutputListener; Runner::ALL.len()],
    /// Index of the listener that reported counts last.
    last_counted: Option<usize>,
}

impl OutputListeners {
    fn new() -> Self {
        let listener =
            |runner: Runner| OutputListener { runner, parser: runner.parser(), record: RunRecord::default() };
        Self { listeners: Runner::ALL.map(listener), last_counted: None }
    }

    fn parse_line(&mut self, line: &str) {
        for (index, listener) in self.listeners.iter_mut().enumerate() {
            if let Some(counts) = listener.parser.parse_line(line, &mut listener.record) {
                listener.record.set_counts(counts);
                self.last_counted = Some(index);
            }
            listener.record.line += 1;
        }
    }

    fn last_counted(&self) -> Option<&OutputListener> {
        self.last_counted.map(|index| &self.listeners[index])
    }
}

impl Runner {
    fn parser(self) -> Box<dyn RunnerParser> {
        match self {
            Runner::CargoTest => Box::<cargo_test::CargoTest>::default(),
            Runner::Nextest => Box::<nextest::Nextest>::default(),
            Runner::Pytest => Box::<pytest::Pytest>::default(),
            Runner::Unittest => Box::<unittest::Unittest>::default(),
            Runner::GoTest => Box::<go_test::GoTest>::default(),
            Runner::Jest => Box::<jest::Jest>::default(),
            Runner::Vitest => Box::<vitest::Vitest>::default(),
            Runner::Mocha => Box::<mocha::Mocha>::default(),
            Runner::NodeTest => Box::<node_test::NodeTest>::default(),
            Runner::Tap => Box::<tap::Tap>::default(),
        }
    }

    /// The name that its users know it by.
    pub fn name(self) -> &'static str {
        match self {
            Runner::CargoTest => "cargo test",
            Runner::Nextest => "cargo nextest",
            Runner::Pytest => "pytest",
            Runner::Unittest => "unittest",
            Runner::GoTest => "go test",
            Runner::Jest => "jest",
            Runner::Vitest => "vitest",
            Runner::Mocha => "mocha",
            Runner::NodeTest => "node --test",
            Runner::Tap => "TAP",
        }
    }

    /// What the runner writes between the parts of a test's name.
    fn name_separator(self) -> &'static str {
        match self {
            Runner::CargoTest | Runner::Nextest | Runner::Pytest => "::",
            Runner::GoTest => "/",
            Runner::Unittest => ".",
            Runner::Jest => " › ",
            Runner::Vitest | Runner::Mocha | Runner::NodeTest | Runner::Tap => " > ",
        }
    }

    /// A runner whose output resembles that of others comes after them: when two parsers accept a line, the later one
    /// wins.
    const ALL: [Runner; 10] = [
        Runner::Tap,
        Runner::NodeTest,
        Runner::CargoTest,
        Runner::Nextest,
        Runner::Pytest,
        Runner::Unittest,
        Runner::GoTest,
        Runner::Jest,
        Runner::Vitest,
        Runner::Mocha,
    ];
}

/// The number of bytes that are read, counted from the end of an output.
const OUTPUT_BYTES_MAX: usize = 8 << 20;

/// The end of a text, as much as haltline reads of it.
fn readable_end(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(OUTPUT_BYTES_MAX))..]
}

pub fn last_run(text: &str) -> Option<Run> {
    let mut listeners = OutputListeners::new();
    let mut last = None;
    for line in readable_end(text).lines() {
        listeners.parse_line(terminal_text::visible_text(line).trim_end());
        // A run that has begun since, without counts yet, does not undo the run before it.
        let counted = listeners
            .last_counted()
            .and_then(|listener| listener.record.counts.map(|(counts, _)| Run { runner: listener.runner, counts }));
        last = counted.or(last);
    }
    last
}

/// The counts of the last run in the text.
pub fn from_output(text: &str) -> Option<TestCounts> {
    last_run(text).map(|run| run.counts)
}
