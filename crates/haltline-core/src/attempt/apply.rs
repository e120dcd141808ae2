//! How each fact changes a slice. Nothing is decided here.

use super::{Attempted, Deviation, Fact, Prior, PriorTest, Rule, Scope, Slice, Stand, TestName, TestResult, TestState};
use crate::Moment;
use crate::identity::Digest;
use crate::memory::rise;

/// The slice after a fact.
pub fn apply(slice: Option<Slice>, fact: &Fact, at: Moment) -> Slice {
    let mut slice = slice.unwrap_or_else(|| Slice::new(Scope::inferred(Vec::new(), None), None, at));
    slice.seen = at;
    match fact {
        Fact::Began { scope, checkpoint } => {
            let (totals, generation) = (slice.totals, slice.generation);
            slice = Slice { totals, generation, ..Slice::new(scope.clone(), checkpoint.clone(), at) };
            change(&mut slice, Stand::UnderWay, at);
        }
        Fact::Rescoped { scope, .. } => {
            slice.scope = scope.clone();
            slice.refused.clear();
        }
        Fact::Attempted { test, attempt, checkpoint } => attempted(&mut slice, test, attempt, checkpoint.as_ref()),
        Fact::Flagged { .. } => {}
        Fact::Tripped { trip } => {
            rise(&mut slice.totals.trips);
            change(&mut slice, Stand::Open(trip.clone()), at);
        }
        Fact::Refused { asker } => refused(&mut slice, *asker),
        Fact::Ignored { .. } => refused(&mut slice, None),
        Fact::Justified { justification } => {
            slice.refused.retain(|refused| refused.path != justification.file);
            slice.strayed.retain(|path| *path != justification.file);
            slice.justified.retain(|known| known.file != justification.file);
            slice.justified.push(justification.clone());
        }
        Fact::OutOfScope { refused } => {
            slice.refused.retain(|known| known.path != refused.path);
            // At its limit the slice stops, so one more is the last: neither it nor the first may be forgotten then.
            slice.refused.push(refused.clone());
        }
        Fact::Strayed { paths } => {
            // The first are kept: nothing that was once told leaves the report because much followed.
            let room = Slice::NOTES_MAX.saturating_sub(slice.strayed.len());
            slice.strayed.extend(paths.iter().take(room).cloned());
        }
        Fact::Reported { test, report } => {
            if let Some(state) = slice.tests.get_mut(test) {
                state.report = Some(report.clone());
            }
        }
        Fact::Deviated { deviation } => deviated(&mut slice.deviations, deviation),
        Fact::RolledBack { .. } => {}
        Fact::Reset { guidance, rollback, .. } => reset(&mut slice, guidance, rollback.is_some(), at),
        Fact::HandedOut => slice.is_prior_untold = false,
        Fact::Ended { .. } => change(&mut slice, Stand::Ended, at),
    }
    slice
}

fn attempted(slice: &mut Slice, test: &TestName, attempt: &Attempted, checkpoint: Option<&String>) {
    if !slice.tests.contains_key(test) && slice.tests.len() >= Slice::TESTS_MAX {
        forget_one(slice);
    }
    let state = slice.tests.entry(test.clone()).or_default();
    state.attempts_total = attempt.number;
    keep(&mut state.attempts, attempt);
    // What began before a person decided tells nothing of this try (E12).
    if attempt.is_stale {
        rise(&mut slice.totals.stale);
        return;
    }
    if state.checkpoint.is_none() {
        state.checkpoint = checkpoint.cloned();
    }
    for file in &attempt.files {
        if state.files_touched.len() < TestState::FILES_MAX && !state.files_touched.contains(file) {
            state.files_touched.push(file.clone());
        }
    }
    match attempt.result {
        TestResult::Pass => {
            state.attempt_count = 0;
            state.infrastructure_in_a_row = 0;
            state.report = None;
            rise(&mut slice.totals.passed);
        }
        TestResult::Fail => {
            state.attempt_count = state.attempt_count.saturating_add(1);
            state.infrastructure_in_a_row = 0;
            // A report of before does not tell of this failure.
            state.report = None;
            slice.total_failed_attempts = slice.total_failed_attempts.saturating_add(1);
            rise(&mut slice.totals.failed);
        }
        TestResult::Infra | TestResult::Unclear => {
            state.infrastructure_in_a_row = state.infrastructure_in_a_row.saturating_add(1);
            rise(&mut slice.totals.infrastructure);
        }
    }
}

/// Adds an attempt. Failures are all kept, since the report tells of each and the slice stops at the seventh (A1);
/// of the rest the newest are, and what they printed only until the next.
fn keep(attempts: &mut Vec<Attempted>, attempt: &Attempted) {
    if let Some(last) = attempts.last_mut().filter(|last| !last.is_failure()) {
        last.error = None;
    }
    attempts.push(attempt.clone());
    if attempts.len() > TestState::ATTEMPTS_MAX {
        let oldest = attempts.iter().position(|attempt| !attempt.is_failure()).unwrap_or(0);
        attempts.remove(oldest);
    }
}

/// Makes room for another test: one that passes, the oldest, or none.
fn forget_one(slice: &mut Slice) {
    let passing = slice.tests.iter().filter(|(_, state)| state.attempt_count == 0);
    let oldest = passing.min_by_key(|(_, state)| state.last().map(|attempt| attempt.at)).map(|(name, _)| name.clone());
    if let Some(oldest) = oldest {
        slice.tests.remove(&oldest);
    }
}

fn refused(slice: &mut Slice, asker: Option<Digest>) {
    rise(&mut slice.totals.refused);
    match &mut slice.stand {
        Stand::Open(trip) => {
            if trip.refused == 0 {
                trip.first_asker = asker;
            }
            trip.refused = trip.refused.saturating_add(1);
        }
        Stand::UnderWay | Stand::Ended => {}
    }
}

/// A fresh start: what was tried is kept, and counts no more (A7).
fn reset(slice: &mut Slice, guidance: &str, is_rolled_back: bool, at: Moment) {
    let tests = std::mem::take(&mut slice.tests).into_iter().filter_map(|(test, state)| {
        let attempts: Vec<Attempted> = state.attempts.into_iter().filter(Attempted::is_failure).collect();
        (!attempts.is_empty()).then_some(PriorTest { test, attempts, report: state.report })
    });
    let prior = Prior {
        total_failed_attempts: slice.total_failed_attempts,
        tests: tests.collect(),
        guidance: guidance.to_owned(),
        is_rolled_back,
        at: at.at,
    };
    slice.priors.push(prior);
    let excess = slice.priors.len().saturating_sub(Slice::PRIORS_MAX);
    slice.priors.drain(..excess);
    slice.is_prior_untold = true;
    slice.total_failed_attempts = 0;
    slice.refused.clear();
    slice.strayed.clear();
    slice.justified.clear();
    slice.deviations.clear();
    rise(&mut slice.totals.resets);
    change(slice, Stand::UnderWay, at);
}

fn change(slice: &mut Slice, stand: Stand, at: Moment) {
    slice.stand = stand;
    slice.changed = at;
    rise(&mut slice.generation);
}

/// Architectural stops outlast the small repairs that were written down after them.
fn deviated(deviations: &mut Vec<Deviation>, deviation: &Deviation) {
    let is_stop = |rule: Rule| match rule {
        Rule::ArchStop => true,
        Rule::BugFix | Rule::CriticalAdd | Rule::Unblock => false,
    };
    if deviations.len() >= Slice::NOTES_MAX {
        let oldest = deviations.iter().position(|known| !is_stop(known.rule)).unwrap_or(0);
        deviations.remove(oldest);
    }
    deviations.push(deviation.clone());
}
