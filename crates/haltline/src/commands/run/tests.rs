//! Test results an iteration left: report files, or what a test command or the iteration itself printed.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use haltline_agents::headless::{Dialect, Told};
use haltline_agents::status_block::StatusBlock;
use haltline_core::phase::{Measure, Metrics};

/// The largest report that is read.
const REPORT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The counts of report files written since the iteration began, added up. A file that is older says nothing new.
pub fn of_reports(paths: &[impl AsRef<Path>], since: SystemTime, problems: &mut Vec<String>) -> Option<TestCounts> {
    let mut sum: Option<TestCounts> = None;
    for path in paths {
        let path = path.as_ref();
        let is_new = fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|modified| modified >= since);
        if !is_new {
            continue;
        }
        let mut bytes = Vec::new();
        let read = fs::File::open(path).and_then(|file| file.take(REPORT_BYTES_MAX).read_to_end(&mut bytes));
        match read
            .map_err(|error| error.to_string())
            .and_then(|_| from_junit(&bytes).map_err(|error| error.to_string()))
        {
            Ok(counts) => sum = Some(sum.map_or(counts, |sum| sum.plus(counts))),
            Err(problem) => problems.push(format!("{}: {problem}", path.display())),
        }
    }
    sum
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

#[derive(Clone, Copy)]
pub struct TestCounts {
    pub total: u64,
    pub passing: u64,
    pub failing: u64,
    pub skipped: u64,
}
impl TestCounts {
    fn plus(self, _o: Self) -> Self {
        self
    }
}
pub fn from_output(_t: &str) -> Option<TestCounts> {
    None
}
fn from_junit(_b: &[u8]) -> Result<TestCounts, String> {
    Err("x".into())
}
