//! What one run says about one test, from the tests it names and its counts together.

use std::collections::{BTreeMap, BTreeSet};

use super::super::TestCounts;
use super::super::names::{self, NameMatch};
use super::super::run_record::{RunRecord, TestEntry, TestOutcome};

/// What a run says about the wanted test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedOutcome {
    Passed,
    Failed,
    Skipped,
    /// Something that it needs broke.
    SetupBroke,
    Crashed,
    TimedOut,
    /// The run reports it both as passed and as failed.
    Contradicted,
    /// Several tests match the name and ended differently.
    Several,
    Unlisted,
}

impl NamedOutcome {
    /// True when one run cannot say both.
    pub fn contradicts(self, other: Self) -> bool {
        matches!(
            (self, other),
            (NamedOutcome::Passed, NamedOutcome::Failed) | (NamedOutcome::Failed, NamedOutcome::Passed)
        )
    }
}

/// What a run says about the wanted test, and how far its names and counts can be trusted.
pub(super) struct TestEvidence<'a> {
    pub named: NamedOutcome,
    pub counts: TestCounts,
    /// Number of tests that were executed and failed, as far as the output says.
    pub failed: u64,
    /// Number of failures without a name.
    pub unnamed: u64,
    /// Number of files, packages and hooks that broke.
    pub broken: usize,
    /// Every executed test is named.
    pub names_all_tests: bool,
    pub names_some_passed: bool,
    /// A single executed test may be taken for the wanted one, although others were skipped.
    pub filter_skips: bool,
    /// A failure without a name is normal for this runner.
    pub may_omit_failed_names: bool,
    /// The run names more tests than it counts.
    pub is_contradicted: bool,
    /// First line of the report about the test.
    pub line: Option<usize>,
    /// The report itself, when it is not in the output.
    pub text: Option<&'a str>,
}

impl<'a> TestEvidence<'a> {
    pub fn from_record(record: &'a RunRecord, test: &str) -> Self {
        let counts = record.counts.map(|(counts, _)| counts).unwrap_or_default();
        let mut tests: BTreeMap<&[String], Vec<&TestEntry>> = BTreeMap::new();
        for entry in &record.tests {
            let entries = tests.entry(&entry.path).or_default();
            if entry.is_retry {
                entries.clear();
            }
            entries.push(entry);
        }
        let outcomes: BTreeMap<&[String], NamedOutcome> =
            tests.iter().map(|(path, entries)| (*path, combine(entries))).collect();
        let number = |is: fn(NamedOutcome) -> bool| -> u64 {
            u64::try_from(outcomes.values().filter(|named| is(**named)).count()).unwrap_or(u64::MAX)
        };
        let passed = number(|named| named == NamedOutcome::Passed);
        let failed = number(|named| named == NamedOutcome::Failed);
        let others =
            number(|named| matches!(named, NamedOutcome::SetupBroke | NamedOutcome::Crashed | NamedOutcome::TimedOut));
        let broken = u64::try_from(record.broken.len()).unwrap_or(u64::MAX);
        let named_failing = failed.saturating_add(others).saturating_add(broken);
        let unnamed = if record.counts_other_units { 0 } else { counts.failing.saturating_sub(named_failing) };
        let is_contradicted = !record.counts_other_units && (passed > counts.passing || failed > counts.failing);
        let names_passed = record.names_all_tests || !record.counts_other_units && passed == counts.passing;
        let mut named = outcome_of(&outcomes, test);
        if is_contradicted && matches!(named, NamedOutcome::Passed | NamedOutcome::Failed) {
            named = NamedOutcome::Contradicted;
        }
        let line = report_line(record, test);
        let text = record.tests.iter().filter(|entry| names::match_name(test, &entry.path).is_some());
        Self {
            named,
            counts,
            failed: failed.saturating_add(unnamed),
            unnamed,
            broken: record.broken.len().saturating_add(usize::try_from(others).unwrap_or(usize::MAX)),
            names_all_tests: names_passed && unnamed == 0 && passed.saturating_add(failed) > 0,
            names_some_passed: passed > 0,
            filter_skips: record.filter_skips,
            may_omit_failed_names: record.may_omit_failed_names,
            is_contradicted,
            line,
            text: text.filter_map(|entry| entry.text.as_deref()).next_back(),
        }
    }
}

fn combine(entries: &[&TestEntry]) -> NamedOutcome {
    let outcomes: BTreeSet<TestOutcome> = entries.iter().map(|entry| entry.outcome).collect();
    let has = |outcome| outcomes.contains(&outcome);
    if has(TestOutcome::HookBroke) {
        NamedOutcome::SetupBroke
    } else if has(TestOutcome::Failed) {
        // A test that failed and whose clean-up then broke has failed.
        if has(TestOutcome::Passed) { NamedOutcome::Contradicted } else { NamedOutcome::Failed }
    } else if has(TestOutcome::Crashed) {
        NamedOutcome::Crashed
    } else if has(TestOutcome::TimedOut) {
        NamedOutcome::TimedOut
    } else if has(TestOutcome::SetupBroke) {
        // The test passed and its clean-up then broke: the runner calls that an error, not a pass.
        NamedOutcome::SetupBroke
    } else if has(TestOutcome::Passed) {
        // When several binaries have a test of this name, one may be skipped and another not.
        if has(TestOutcome::Skipped) { NamedOutcome::Several } else { NamedOutcome::Passed }
    } else {
        NamedOutcome::Skipped
    }
}

/// The best match decides; if any instance of a parametrised test failed, the test failed.
fn outcome_of(outcomes: &BTreeMap<&[String], NamedOutcome>, test: &str) -> NamedOutcome {
    let fits = outcomes.iter().filter_map(|(path, named)| Some((names::match_name(test, path)?, *named)));
    let mut best: Option<(NameMatch, Vec<NamedOutcome>)> = None;
    for (fit, named) in fits {
        match &mut best {
            Some((best_fit, _)) if *best_fit > fit => {}
            Some((best_fit, all)) if *best_fit == fit => all.push(named),
            _ => best = Some((fit, vec![named])),
        }
    }
    let Some((fit, all)) = best else {
        return NamedOutcome::Unlisted;
    };
    let first = all[0];
    if all.iter().all(|named| *named == first) {
        return first;
    }
    if fit == NameMatch::Instance && all.contains(&NamedOutcome::Failed) && !all.contains(&NamedOutcome::Contradicted) {
        return NamedOutcome::Failed;
    }
    NamedOutcome::Several
}

/// The first line of the report of a test's failure, or else the last line that names the test.
fn report_line(record: &RunRecord, test: &str) -> Option<usize> {
    let fits = |path: &[String]| names::match_name(test, path).is_some();
    let detail = record.failure_reports.iter().rfind(|(path, _)| fits(path)).map(|(_, line)| *line);
    // A report may leave out the groups of the test.
    let own = record.tests.iter().rfind(|entry| fits(&entry.path));
    let last = own.and_then(|entry| entry.path.last());
    let by_last = || {
        record.failure_reports.iter().rfind(|(path, _)| path.len() == 1 && path.last() == last).map(|(_, line)| *line)
    };
    detail.or_else(by_last).or_else(|| own.map(|entry| entry.line))
}
