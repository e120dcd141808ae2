//! Test results an iteration left: report files, or what a test command or the iteration itself printed.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haltline_agents::headless::{Dialect, Told};
use haltline_agents::status_block::StatusBlock;
use haltline_agents::test_results::{TestCounts, from_junit, from_output};
use haltline_core::phase::{Measure, Metrics};

/// The largest report that is read.
const REPORT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Report files, as they were before an iteration.
pub struct Reports {
    files: Vec<(PathBuf, Option<Stamp>)>,
}

/// What tells one writing of a file from another.
type Stamp = (SystemTime, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let file = fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len()))
}

impl Reports {
    /// Looks at the files.
    pub fn look(paths: &[PathBuf]) -> Self {
        Self { files: paths.iter().map(|path| (path.clone(), stamp(path))).collect() }
    }

    /// The counts of files that were written since, added up. One that was not says nothing of this iteration.
    pub fn counts(&self, problems: &mut Vec<String>) -> Option<TestCounts> {
        let mut sum: Option<TestCounts> = None;
        for (path, before) in &self.files {
            if stamp(path) == *before {
                continue;
            }
            match read(path) {
                Ok(counts) => sum = Some(sum.map_or(counts, |sum| sum.plus(counts))),
                Err(problem) => problems.push(format!("{}: {problem}", path.display())),
            }
        }
        sum
    }
}

fn read(path: &Path) -> Result<TestCounts, String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(REPORT_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    from_junit(&bytes).map_err(|error| error.to_string())
}

/// The counts of what the iteration printed: a client's JSON has its agent's words in it, not its tests.
pub fn of_output(told: &Told, output: &str) -> Option<TestCounts> {
    match told.dialect {
        Dialect::Plain => from_output(output),
        Dialect::ClaudeCode | Dialect::Codex => None,
    }
}

/// The counts a status block tells.
pub fn of_block(block: Option<&StatusBlock>) -> Option<TestCounts> {
    let Some(StatusBlock::Phase(status)) = block else { return None };
    let tests = &status.tests;
    let (passing, failing) = (tests.passing?, tests.failing?);
    let skipped = tests.skipped.unwrap_or(0);
    Some(TestCounts { total: tests.total.unwrap_or(passing + failing + skipped), passing, failing, skipped })
}

/// The counts under the names progress is measured by.
pub fn metrics(counts: TestCounts) -> Metrics {
    let mut metrics = Metrics::default();
    for (name, number) in [
        ("tests_total", counts.total),
        ("tests_passing", counts.passing),
        ("tests_failing", counts.failing),
        ("tests_skipped", counts.skipped),
    ] {
        metrics.insert(name, Measure::whole(number)).expect("four names have room");
    }
    metrics
}

/// A shell line as a command.
pub fn shell(line: &str) -> Vec<OsString> {
    ["sh", "-c", line].iter().map(OsString::from).collect()
}
