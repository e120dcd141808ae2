//! Test results of an iteration: from report files, or from what a test command or the iteration itself printed.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use haltline_agents::headless::{HeadlessReport, OutputFormat};
use haltline_agents::status_block::StatusBlock;
use haltline_agents::test_results::{TestCounts, from_junit, from_output};
use haltline_core::phase::{Measure, Metrics};
use haltline_engine::file::Stamp;

/// Largest report that is read.
const REPORT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Report files and their stamps from before an iteration.
pub struct Reports {
    files: Vec<(PathBuf, Option<Stamp>)>,
}

impl Reports {
    /// Records the current stamps of the files.
    pub fn snapshot(paths: &[PathBuf]) -> Self {
        Self { files: paths.iter().map(|path| (path.clone(), Stamp::read(path))).collect() }
    }

    /// The sum of the counts in files written since. An unchanged file says nothing about this iteration.
    pub fn counts(&self, problems: &mut Vec<String>) -> Option<TestCounts> {
        let mut sum: Option<TestCounts> = None;
        for (path, before) in &self.files {
            if Stamp::read(path) == *before {
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

/// The counts in what the iteration printed. A client's JSON contains the agent's text, not test output.
pub fn counts_in_output(client_report: &HeadlessReport, output: &str) -> Option<TestCounts> {
    match client_report.format {
        OutputFormat::Plain => from_output(output),
        OutputFormat::ClaudeCode | OutputFormat::Codex => None,
    }
}

/// The counts in a status block.
pub fn counts_in_block(block: Option<&StatusBlock>) -> Option<TestCounts> {
    let Some(StatusBlock::Phase(status)) = block else { return None };
    let tests = &status.tests;
    let (passing, failing) = (tests.passing?, tests.failing?);
    let skipped = tests.skipped.unwrap_or(0);
    Some(TestCounts { total: tests.total.unwrap_or(passing + failing + skipped), passing, failing, skipped })
}

/// The counts under the names by which progress is measured.
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

pub fn shell(line: &str) -> Vec<OsString> {
    ["sh", "-c", line].iter().map(OsString::from).collect()
}

#[cfg(test)]
mod report_tests {
    use super::*;

    fn junit(passing: u64) -> String {
        format!("<testsuites><testsuite name=\"s\" tests=\"{passing}\" failures=\"0\" errors=\"0\"/></testsuites>")
    }

    #[test]
    fn a_report_rewritten_with_its_old_length_and_time_is_new() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("report.xml");
        fs::write(&path, junit(3)).expect("written");
        let modified = fs::metadata(&path).and_then(|file| file.modified()).expect("a time");
        let reports = Reports::snapshot(std::slice::from_ref(&path));
        let before = Stamp::read(&path);
        assert_eq!(reports.counts(&mut Vec::new()), None, "an unchanged report is an old one");
        // Two changes within one tick of the file system's clock have the same stamp.
        while Stamp::read(&path) == before {
            fs::write(&path, junit(4)).expect("written");
            let file = fs::File::options().write(true).open(&path).expect("open");
            file.set_modified(modified).expect("set");
        }
        let mut problems = Vec::new();
        assert_eq!(reports.counts(&mut problems).map(|counts| counts.passing), Some(4), "{problems:?}");
    }
}
