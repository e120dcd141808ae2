//! What one run says of one test, and what its names and its sum say together.

use std::collections::{BTreeMap, BTreeSet};

use super::super::TestCounts;
use super::super::names::{self, Fit};
use super::super::told::{Outcome, Telling, Told};

/// What a run says of the test that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Passed,
    Failed,
    Skipped,
    /// What it needs broke.
    AroundIt,
    Crashed,
    TimedOut,
    /// It is told to have passed and to have failed.
    Contradicted,
    /// Several tests fit the name and did not end alike.
    Several,
    Unlisted,
}

impl Named {
    /// Both cannot be of the same run.
    pub fn contradicts(self, other: Self) -> bool {
        matches!((self, other), (Named::Passed, Named::Failed) | (Named::Failed, Named::Passed))
    }
}

/// What a run says.
pub(super) struct Verdict<'a> {
    pub named: Named,
    pub counts: TestCounts,
    /// How many were executed and failed, as far as that can be told.
    pub failed: u64,
    /// Failures that no name belongs to.
    pub unnamed: u64,
    /// Files, packages and hooks that broke.
    pub broken: usize,
    /// Every executed test is named.
    pub names_all: bool,
    /// Some that passed are named and others are not.
    pub names_some: bool,
    /// One executed test may be taken for the one that was asked for, though others were skipped.
    pub filter_skips: bool,
    /// A failure without a name is nothing unusual.
    pub may_not_name: bool,
    /// There are more names than tests.
    pub is_contradicted: bool,
    /// Where the report of the test begins.
    pub line: Option<usize>,
    /// The report itself, where it is not in the output.
    pub text: Option<&'a str>,
}

impl<'a> Verdict<'a> {
    pub fn of(told: &'a Told, test: &str) -> Self {
        let counts = told.counts.map(|(counts, _)| counts).unwrap_or_default();
        let mut tests: BTreeMap<&[String], Vec<&Telling>> = BTreeMap::new();
        for telling in &told.tests {
            let tellings = tests.entry(&telling.path).or_default();
            if telling.is_again {
                tellings.clear();
            }
            tellings.push(telling);
        }
        let outcomes: BTreeMap<&[String], Named> =
            tests.iter().map(|(path, tellings)| (*path, together(tellings))).collect();
        let number = |is: fn(Named) -> bool| -> u64 {
            u64::try_from(outcomes.values().filter(|named| is(**named)).count()).unwrap_or(u64::MAX)
        };
        let passed = number(|named| named == Named::Passed);
        let failed = number(|named| named == Named::Failed);
        let others = number(|named| matches!(named, Named::AroundIt | Named::Crashed | Named::TimedOut));
        let broken = u64::try_from(told.broken.len()).unwrap_or(u64::MAX);
        let told_failing = failed.saturating_add(others).saturating_add(broken);
        let unnamed = if told.counts_others { 0 } else { counts.failing.saturating_sub(told_failing) };
        let is_contradicted = !told.counts_others && (passed > counts.passing || failed > counts.failing);
        let names_passed = told.names_all || !told.counts_others && passed == counts.passing;
        let mut named = of_name(&outcomes, test);
        if is_contradicted && matches!(named, Named::Passed | Named::Failed) {
            named = Named::Contradicted;
        }
        let line = report_line(told, test);
        let text = told.tests.iter().filter(|telling| names::fit(test, &telling.path).is_some());
        Self {
            named,
            counts,
            failed: failed.saturating_add(unnamed),
            unnamed,
            broken: told.broken.len().saturating_add(usize::try_from(others).unwrap_or(usize::MAX)),
            names_all: names_passed && unnamed == 0 && passed.saturating_add(failed) > 0,
            names_some: passed > 0,
            filter_skips: told.filter_skips,
            may_not_name: told.may_not_name,
            is_contradicted,
            line,
            text: text.filter_map(|telling| telling.text.as_deref()).next_back(),
        }
    }
}

/// What all tellings of one test say together.
fn together(tellings: &[&Telling]) -> Named {
    let outcomes: BTreeSet<Outcome> = tellings.iter().map(|telling| telling.outcome).collect();
    let has = |outcome| outcomes.contains(&outcome);
    if has(Outcome::HookBroke) {
        Named::AroundIt
    } else if has(Outcome::Failed) {
        // Failed, and then not cleaned up, is failed.
        if has(Outcome::Passed) { Named::Contradicted } else { Named::Failed }
    } else if has(Outcome::Crashed) {
        Named::Crashed
    } else if has(Outcome::TimedOut) {
        Named::TimedOut
    } else if has(Outcome::NotRun) {
        // Passed, and then not cleaned up: the runner calls that an error, and no pass.
        Named::AroundIt
    } else if has(Outcome::Passed) {
        // With the same name in several binaries one may be skipped and another not.
        if has(Outcome::Skipped) { Named::Several } else { Named::Passed }
    } else {
        Named::Skipped
    }
}

/// The best fit decides; among instances of one test a failure is the test's.
fn of_name(outcomes: &BTreeMap<&[String], Named>, test: &str) -> Named {
    let fits = outcomes.iter().filter_map(|(path, named)| Some((names::fit(test, path)?, *named)));
    let mut best: Option<(Fit, Vec<Named>)> = None;
    for (fit, named) in fits {
        match &mut best {
            Some((known, _)) if *known > fit => {}
            Some((known, all)) if *known == fit => all.push(named),
            _ => best = Some((fit, vec![named])),
        }
    }
    let Some((fit, all)) = best else {
        return Named::Unlisted;
    };
    let first = all[0];
    if all.iter().all(|named| *named == first) {
        return first;
    }
    if fit == Fit::Instance && all.contains(&Named::Failed) && !all.contains(&Named::Contradicted) {
        return Named::Failed;
    }
    Named::Several
}

/// Where the report of a test's failure begins, or else the last line that names it.
fn report_line(told: &Told, test: &str) -> Option<usize> {
    let fits = |path: &[String]| names::fit(test, path).is_some();
    let detail = told.details.iter().rfind(|(path, _)| fits(path)).map(|(_, line)| *line);
    // A report may name the test by less than its groups.
    let own = told.tests.iter().rfind(|telling| fits(&telling.path));
    let last = own.and_then(|telling| telling.path.last());
    let by_last =
        || told.details.iter().rfind(|(path, _)| path.len() == 1 && path.last() == last).map(|(_, line)| *line);
    detail.or_else(by_last).or_else(|| own.map(|telling| telling.line))
}
