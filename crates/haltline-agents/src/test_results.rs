//! How many tests passed and failed, from what test runners print and from JUnit XML.
//!
//! One small reader for each runner, all behind one trait: lines in, the counts of the run they belong to out. In a text
//! that holds several runs the last one counts, whoever ran it. Counts are what was executed or set aside; tests that a
//! filter left out are none. What a runner could not even load is failing: a file that does not compile passes nothing.

mod cargo_test;
mod go_test;
mod hook_frame;
mod jest;
mod judge;
mod junit;
mod mocha;
mod names;
mod nextest;
mod node_test;
mod pairs;
mod pytest;
mod tap;
mod told;
mod trouble;
mod unittest;
mod vitest;

pub use judge::{Class, Exit, Judged, TestRun, Trouble, judge};
pub use junit::{JunitError, from_junit};

use crate::terminal_text;
use told::Told;

/// How many tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// All of them: the sum of the others.
    pub total: u64,
    /// That passed.
    pub passing: u64,
    /// That failed, broke or could not be loaded.
    pub failing: u64,
    /// That were skipped, are to be written, or may fail.
    pub skipped: u64,
}

impl TestCounts {
    fn of(passing: u64, failing: u64, skipped: u64) -> Self {
        let total = passing.saturating_add(failing).saturating_add(skipped);
        Self { total, passing, failing, skipped }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self::of(
            self.passing.saturating_add(other.passing),
            self.failing.saturating_add(other.failing),
            self.skipped.saturating_add(other.skipped),
        )
    }
}

/// A test runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
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

/// One run of a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Whose words it is told in.
    pub runner: Runner,
    /// How many tests.
    pub counts: TestCounts,
}

/// Reads one runner's words.
trait Reader {
    /// Takes the next line, as a terminal shows it, and tells what it says of tests by name. Where the line settles
    /// something, what the run it belongs to has counted so far.
    fn take(&mut self, line: &str, told: &mut Told) -> Option<TestCounts>;

    /// Whether all has come that the runner announced.
    fn is_whole(&self) -> bool {
        true
    }
}

/// One runner's reader, and what it was told.
struct Ear {
    runner: Runner,
    reader: Box<dyn Reader>,
    told: Told,
}

/// Everybody who reads along.
struct Ears {
    ears: [Ear; Runner::ALL.len()],
    /// Whose sum was the last.
    last: Option<usize>,
}

impl Ears {
    fn new() -> Self {
        let ear = |runner: Runner| Ear { runner, reader: runner.reader(), told: Told::default() };
        Self { ears: Runner::ALL.map(ear), last: None }
    }

    fn take(&mut self, line: &str) {
        for (place, ear) in self.ears.iter_mut().enumerate() {
            if let Some(counts) = ear.reader.take(line, &mut ear.told) {
                ear.told.settled(counts);
                self.last = Some(place);
            }
            ear.told.line += 1;
        }
    }

    /// Who summed up last.
    fn last(&self) -> Option<&Ear> {
        self.last.map(|place| &self.ears[place])
    }
}

impl Runner {
    fn reader(self) -> Box<dyn Reader> {
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

    /// Its name, as its users say it.
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

    /// Those that speak in the shape of others come after them: of two that understand a line, the later is believed.
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

/// How much of an output is read, from its end.
const OUTPUT_BYTES_MAX: usize = 8 << 20;

/// The end of a text that is read.
fn read_part(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(OUTPUT_BYTES_MAX))..]
}

/// The last run that the text tells of.
pub fn last_run(text: &str) -> Option<Run> {
    let mut ears = Ears::new();
    let mut last = None;
    for line in read_part(text).lines() {
        ears.take(terminal_text::shown(line).trim_end());
        // A run that has begun since takes nothing back.
        let sum = ears.last().and_then(|ear| ear.told.counts.map(|(counts, _)| Run { runner: ear.runner, counts }));
        last = sum.or(last);
    }
    last
}

/// The counts of the last run that the text tells of.
pub fn from_output(text: &str) -> Option<TestCounts> {
    last_run(text).map(|run| run.counts)
}
