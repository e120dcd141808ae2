//! How each fact changes a slice. Nothing is decided here.

use super::{
    Attempted, Deviation, Fact, Prior, PriorTest, Rule, Scope, Slice, SliceState, TestName, TestResult, TestState,
};
use crate::Moment;
use crate::circuit::{increment, keep_newest};
use crate::identity::Digest;

pub fn apply(slice: Option<Slice>, fact: &Fact, at: Moment) -> Slice {
    let mut slice = slice.unwrap_or_else(|| Slice::new(Scope::default(), None, at));
    slice.last_seen = at;
    match fact {
        Fact::Began { scope, checkpoint, who: _ } => {
            let (totals, generation) = (slice.totals, slice.generation);
            slice = Slice { totals, generation, ..Slice::new(scope.clone(), checkpoint.clone(), at) };
            set_state(&mut slice, SliceState::UnderWay, at);
        }
        Fact::Rescoped { scope, .. } => {
            slice.scope = scope.clone();
            slice.denied_paths.clear();
        }
        Fact::Attempted { test, attempt, checkpoint } => apply_attempt(&mut slice, test, attempt, checkpoint.as_ref()),
        Fact::Flagged { .. } => {}
        Fact::Tripped { trip } => {
            increment(&mut slice.totals.trips);
            set_state(&mut slice, SliceState::Open(trip.clone()), at);
        }
        Fact::Denied { requester } => apply_denial(&mut slice, *requester),
        Fact::Ignored { .. } => apply_denial(&mut slice, None),
        Fact::Justified { justification } => {
            slice.denied_paths.retain(|denied| denied.path != justification.file);
            slice.out_of_scope_changes.retain(|path| *path != justification.file);
            slice.justified.retain(|known| known.file != justification.file);
            slice.justified.push(justification.clone());
        }
        Fact::DeniedOutOfScope { denied } => {
            slice.denied_paths.retain(|known| known.path != denied.path);
            // At its limit the slice stops, so at most one more comes: neither that one nor the first may be dropped.
            slice.denied_paths.push(denied.clone());
        }
        Fact::ChangedOutOfScope { paths } => {
            // The first ones are kept: later ones must not push a reported path out of the report.
            let room = Slice::NOTES_MAX.saturating_sub(slice.out_of_scope_changes.len());
            slice.out_of_scope_changes.extend(paths.iter().take(room).cloned());
        }
        Fact::Reported { test, report } => {
            if let Some(state) = slice.tests.get_mut(test) {
                state.report = Some(report.clone());
            }
        }
        Fact::Deviated { deviation } => apply_deviation(&mut slice.deviations, deviation),
        Fact::RolledBack { .. } => {}
        Fact::Reset { guidance, rollback, .. } => reset(&mut slice, guidance, rollback.is_some(), at),
        Fact::HandedOut => slice.has_undelivered_prior = false,
        Fact::Ended { .. } => set_state(&mut slice, SliceState::Ended, at),
    }
    slice
}

fn apply_attempt(slice: &mut Slice, test: &TestName, attempt: &Attempted, checkpoint: Option<&String>) {
    if !slice.tests.contains_key(test) && slice.tests.len() >= Slice::TESTS_MAX {
        forget_one(slice);
    }
    let state = slice.tests.entry(test.clone()).or_default();
    state.attempts_total = attempt.number;
    keep_attempt(&mut state.attempts, attempt);
    // A run that began before a person's decision says nothing about the attempts since (E12).
    if attempt.is_stale {
        increment(&mut slice.totals.stale);
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
            increment(&mut slice.totals.passed);
        }
        TestResult::Fail => {
            state.attempt_count = state.attempt_count.saturating_add(1);
            state.infrastructure_in_a_row = 0;
            // An older report does not describe this failure.
            state.report = None;
            slice.total_failed_attempts = slice.total_failed_attempts.saturating_add(1);
            increment(&mut slice.totals.failed);
        }
        TestResult::Infra | TestResult::Unclear => {
            state.infrastructure_in_a_row = state.infrastructure_in_a_row.saturating_add(1);
            increment(&mut slice.totals.infrastructure);
        }
    }
}

/// Adds an attempt. All failures are kept, since the report lists each and the slice stops at the seventh (A1). Of the
/// others only the newest are kept, and their output only until the next attempt.
fn keep_attempt(attempts: &mut Vec<Attempted>, attempt: &Attempted) {
    if let Some(last) = attempts.last_mut().filter(|last| !last.is_failure()) {
        last.error = None;
    }
    attempts.push(attempt.clone());
    if attempts.len() > TestState::ATTEMPTS_MAX {
        let oldest = attempts.iter().position(|attempt| !attempt.is_failure()).unwrap_or(0);
        attempts.remove(oldest);
    }
}

/// Makes room for another test by removing the oldest one that passes, if any does.
fn forget_one(slice: &mut Slice) {
    let passing = slice.tests.iter().filter(|(_, state)| state.attempt_count == 0);
    let oldest = passing.min_by_key(|(_, state)| state.last().map(|attempt| attempt.at)).map(|(name, _)| name.clone());
    if let Some(oldest) = oldest {
        slice.tests.remove(&oldest);
    }
}

fn apply_denial(slice: &mut Slice, requester: Option<Digest>) {
    increment(&mut slice.totals.denied);
    match &mut slice.state {
        SliceState::Open(trip) => {
            if trip.denials == 0 {
                trip.first_requester = requester;
            }
            trip.denials = trip.denials.saturating_add(1);
        }
        SliceState::UnderWay | SliceState::Ended => {}
    }
}

/// Restarts the slice: the failed attempts are kept as a prior and no longer count (A7).
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
    keep_newest(&mut slice.priors, Slice::PRIORS_MAX);
    slice.has_undelivered_prior = true;
    slice.total_failed_attempts = 0;
    slice.denied_paths.clear();
    slice.out_of_scope_changes.clear();
    slice.justified.clear();
    slice.deviations.clear();
    increment(&mut slice.totals.resets);
    set_state(slice, SliceState::UnderWay, at);
}

fn set_state(slice: &mut Slice, state: SliceState, at: Moment) {
    slice.state = state;
    slice.changed = at;
    increment(&mut slice.generation);
}

/// Keeps architectural stops when newer small fixes fill the list.
fn apply_deviation(deviations: &mut Vec<Deviation>, deviation: &Deviation) {
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
