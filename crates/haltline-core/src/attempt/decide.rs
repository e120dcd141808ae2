//! Decides events on a slice (A2, A3, A5, A7, A8).

use std::collections::BTreeSet;

use super::{
    Attempt, AttemptEvent, Attempted, CaseSensitivity, Covered, DeniedPath, Deviation, Fact, FileLocation,
    Justification, Output, Printed, Rule, Scope, Slice, TestName, TestResult, Touch, Trip, TripCause,
    conflicting_slice, messages,
};
use crate::circuit::{self, EscalationLevel, incident_id};
use crate::draft::Draft;
use crate::identity::Digest;
use crate::{CircuitName, Decision, Halt, Moment, Operator, Policy, Reason, Rejection, Retry, Texts, Verdict};

/// An event with everything that the decision needs.
#[derive(Clone, Debug)]
pub struct AttemptRequest<'a> {
    pub name: CircuitName,
    pub session: Option<&'a str>,
    /// Whether names that differ only in case are one file on this file system.
    pub case_sensitivity: CaseSensitivity,
    /// The other slices of the work tree.
    pub others: &'a [(CircuitName, &'a Slice)],
    pub event: &'a AttemptEvent,
}

/// Decides one event. No policy changes the thresholds (A2).
pub fn decide(
    slice: Option<&Slice>,
    _policy: &Policy,
    request: &AttemptRequest<'_>,
    now: Moment,
) -> Result<Decision, Halt> {
    let begun = slice.filter(|slice| slice.is_begun());
    let mut draft = SliceDraft { request, now, slice: slice.cloned(), draft: Draft::default() };
    let outcome = match (request.event, begun) {
        (AttemptEvent::Begin { scope, checkpoint, operator }, begun) => {
            draft.begin(begun, scope, checkpoint.as_ref(), operator.as_ref())
        }
        (AttemptEvent::Attempt(attempt), None) => {
            let is_stale = slice.is_some_and(|ended| is_stale(ended, attempt));
            // A program that reports only attempts need not report the begin: the slice then begins without a scope, so
            // the scope lock is off. A run that began before the slice ended does not begin it again (E12).
            if !is_stale {
                let scope = Scope::default();
                draft.check_conflict(&scope)?;
                draft.push(Fact::Began { scope, checkpoint: attempt.checkpoint.clone(), who: None });
            }
            Ok(draft.attempt(attempt, is_stale))
        }
        (AttemptEvent::Touch(_) | AttemptEvent::OutOfScopeChange { .. } | AttemptEvent::HandOut, None) => {
            Ok(Verdict::Pass)
        }
        (
            AttemptEvent::Ask { .. }
            | AttemptEvent::File { .. }
            | AttemptEvent::Deviate { .. }
            | AttemptEvent::RollBack { .. }
            | AttemptEvent::Reset { .. }
            | AttemptEvent::End { .. },
            None,
        ) => Err(Rejection::NoSlice),
        (AttemptEvent::Ask { test, strategy }, Some(_)) => Ok(draft.ask(test.as_ref(), strategy.as_deref())),
        (AttemptEvent::Attempt(attempt), Some(slice)) => Ok(draft.attempt(attempt, is_stale(slice, attempt))),
        (AttemptEvent::Touch(touch), Some(slice)) => Ok(draft.touch(slice, touch)),
        (AttemptEvent::OutOfScopeChange { paths }, Some(slice)) => {
            Ok(draft.record_out_of_scope_changes(slice, paths).unwrap_or(Verdict::Pass))
        }
        (AttemptEvent::File { test, report }, Some(slice)) => {
            if slice.tests.contains_key(test) {
                draft.push(Fact::Reported { test: test.clone(), report: report.clone() });
                Ok(Verdict::Pass)
            } else {
                Err(Rejection::NoTest)
            }
        }
        (AttemptEvent::Deviate { rule, description, file }, Some(slice)) => {
            Ok(draft.deviate(slice, *rule, description, file.as_ref()))
        }
        (AttemptEvent::RollBack { rollback, operator }, Some(_)) => {
            let fact = Fact::RolledBack { rollback: rollback.clone(), who: operator.who.clone() };
            draft.push_with(fact, operator.reason.clone());
            Ok(Verdict::Pass)
        }
        (AttemptEvent::Reset { guidance, rollback, operator }, Some(_)) => {
            let (guidance, rollback, who) = (guidance.clone(), rollback.clone(), operator.who.clone());
            draft.push_with(Fact::Reset { guidance, rollback, who }, operator.reason.clone());
            Ok(Verdict::Pass)
        }
        (AttemptEvent::HandOut, Some(slice)) => {
            if slice.has_undelivered_prior {
                draft.push(Fact::HandedOut);
            }
            Ok(Verdict::Pass)
        }
        (AttemptEvent::End { operator }, Some(slice)) => draft.end(slice, operator.as_ref()),
    };
    Ok(draft.draft.into_decision(outcome?))
}

/// A decision in progress. Each fact is applied at once, so that the following steps see its effect.
struct SliceDraft<'a> {
    request: &'a AttemptRequest<'a>,
    now: Moment,
    slice: Option<Slice>,
    draft: Draft,
}

impl SliceDraft<'_> {
    fn push(&mut self, fact: Fact) {
        self.push_with(fact, None);
    }

    fn push_with(&mut self, fact: Fact, text: Option<String>) {
        let texts = Texts { session: self.request.session.map(str::to_owned), text, ..Texts::default() };
        self.slice = Some(self.draft.record(&self.request.name, self.slice.take(), self.now, fact, texts));
    }

    /// A slice that is under way keeps its counts and its scope when it is begun again.
    fn begin(
        &mut self,
        begun: Option<&Slice>,
        scope: &Scope,
        checkpoint: Option<&String>,
        operator: Option<&Operator>,
    ) -> Result<Verdict, Rejection> {
        match begun {
            None => {
                let allowed = self.check_conflict(scope);
                let person = operator.filter(|_| allowed.is_err());
                if person.is_none() {
                    allowed?;
                }
                let who = person.map(|person| person.who.clone());
                let fact = Fact::Began { scope: scope.clone(), checkpoint: checkpoint.cloned(), who };
                self.push_with(fact, person.and_then(|person| person.reason.clone()));
                Ok(Verdict::Pass)
            }
            Some(slice) if slice.scope.is_same(scope) => Ok(self.deny_if_open(None).unwrap_or(Verdict::Pass)),
            Some(_) => match operator {
                Some(Operator { who, reason }) => {
                    let fact = Fact::Rescoped { scope: scope.clone(), who: who.clone() };
                    self.push_with(fact, reason.clone());
                    Ok(self.deny_if_open(None).unwrap_or(Verdict::Pass))
                }
                None => self.deny_if_open(None).ok_or(Rejection::ScopeFrozen),
            },
        }
    }

    /// Fails if another slice holds what this one would work on: only a person may begin it.
    fn check_conflict(&self, scope: &Scope) -> Result<(), Rejection> {
        let others = self.request.others.iter().map(|(name, slice)| (name, *slice));
        match conflicting_slice(others, scope, self.request.case_sensitivity) {
            Some(other) => Err(Rejection::SliceConflict { by: other.clone() }),
            None => Ok(()),
        }
    }

    /// Returns the stop verdict if the slice is OPEN, and records the denied request.
    fn deny_if_open(&mut self, requester: Option<Digest>) -> Option<Verdict> {
        let trip = self.slice.as_ref()?.trip()?.clone();
        self.push(Fact::Denied { requester });
        Some(self.stop(&trip))
    }

    fn ask(&mut self, test: Option<&TestName>, strategy: Option<&str>) -> Verdict {
        if let Some(verdict) = self.deny_if_open(None) {
            return verdict;
        }
        let (Some(test), Some(strategy)) = (test, strategy) else { return Verdict::Pass };
        self.flag(test, strategy).unwrap_or(Verdict::Pass)
    }

    /// Warns about a strategy that failed on this test before (A7).
    fn flag(&mut self, test: &TestName, strategy: &str) -> Option<Verdict> {
        let tried = self.slice.as_ref()?.tried_before(test, strategy)?.clone();
        self.push(Fact::Flagged { test: test.clone(), attempt: tried.number });
        Some(Verdict::Warn(self.reason("HL-ATTEMPT-06", messages::tried_before(test, &tried), Retry::Now)))
    }

    fn attempt(&mut self, attempt: &Attempt, is_stale: bool) -> Verdict {
        let Some(slice) = &self.slice else { return Verdict::Pass };
        let Attempt { test, result, .. } = attempt;
        if let Some(trip) = slice.trip().cloned() {
            // The attempt is recorded and counted, and changes nothing else (E4).
            self.push(Fact::Ignored { test: test.clone(), result: *result });
            return self.stop(&trip);
        }
        // A test that passes needs no other strategy.
        let may_warn = !is_stale && *result != TestResult::Pass;
        let earlier = slice.tried_before(test, &attempt.strategy).filter(|_| may_warn).cloned();
        let out_of_scope = if is_stale { Vec::new() } else { self.new_out_of_scope_changes(slice, &attempt.files) };
        let attempted = Attempted {
            number: slice.tests.get(test).map_or(0, |state| state.attempts_total).saturating_add(1),
            strategy: attempt.strategy.clone(),
            files: attempt.files.clone(),
            files_more: attempt.files_more,
            result: *result,
            is_declared: attempt.is_declared,
            summary: attempt.summary.clone(),
            error: attempt.error.as_ref().map(printed),
            is_stale,
            at: self.now.at,
        };
        let fact = Fact::Attempted {
            test: test.clone(),
            attempt: Box::new(attempted),
            checkpoint: attempt.checkpoint.clone(),
        };
        self.push_with(fact, attempt.error.as_ref().map(|error| error.text.clone()));
        if !out_of_scope.is_empty() {
            self.push(Fact::ChangedOutOfScope { paths: out_of_scope.clone() });
        }
        if let Some(earlier) = &earlier {
            self.push(Fact::Flagged { test: test.clone(), attempt: earlier.number });
        }
        if is_stale {
            return Verdict::Pass;
        }
        self.check_limits(test, *result);
        self.attempt_verdict(test, earlier.as_ref(), &out_of_scope)
    }

    /// Trips the circuit if the failures reached a limit: the test is checked before the slice (seed 000, section 7).
    fn check_limits(&mut self, test: &TestName, result: TestResult) {
        match result {
            TestResult::Fail => {}
            TestResult::Pass | TestResult::Infra | TestResult::Unclear => return,
        }
        let Some(slice) = &self.slice else { return };
        let failed = slice.tests.get(test).map_or(0, |state| state.attempt_count);
        if failed >= Slice::TEST_FAILURES_MAX {
            self.trip(TripCause::Test { test: test.clone(), failed });
        } else if slice.total_failed_attempts >= Slice::SLICE_FAILURES_MAX {
            self.trip(TripCause::Slice);
        }
    }

    /// The verdict after a test was run.
    fn attempt_verdict(&self, test: &TestName, earlier: Option<&Attempted>, out_of_scope: &[String]) -> Verdict {
        let Some(slice) = &self.slice else { return Verdict::Pass };
        if let Some(trip) = slice.trip() {
            return self.stop(trip);
        }
        let state = slice.tests.get(test);
        let blocked = state.filter(|state| state.infrastructure_in_a_row >= Slice::BLOCKED_AFTER);
        let warn = |code, text| Verdict::Warn(self.reason(code, text, Retry::Now));
        match (blocked, out_of_scope, earlier) {
            (Some(state), _, _) => warn("HL-ATTEMPT-05", messages::blocked(test, state)),
            (None, [_, ..], _) => warn("HL-ATTEMPT-07", messages::changed_out_of_scope(out_of_scope)),
            (None, [], Some(earlier)) => warn("HL-ATTEMPT-06", messages::tried_before(test, earlier)),
            (None, [], None) => Verdict::Pass,
        }
    }

    fn trip(&mut self, cause: TripCause) {
        let Some(slice) = &self.slice else { return };
        let incident = incident_id(&self.request.name, slice.generation, self.now);
        let total_failed_attempts = slice.total_failed_attempts;
        let trip = Trip { incident, since: self.now, cause, total_failed_attempts, denials: 0, first_requester: None };
        self.draft.notify(&self.request.name, &trip.incident);
        self.push(Fact::Tripped { trip });
    }

    /// A tool is about to change a file (A5).
    fn touch(&mut self, slice: &Slice, touch: &Touch) -> Verdict {
        let (path, case_sensitivity) = (&touch.path, self.request.case_sensitivity);
        let is_covered = match (slice.scope.covers(path, case_sensitivity), touch.location) {
            (Covered::By(_), FileLocation::Inside) => true,
            (Covered::By(_), FileLocation::Outside) | (Covered::Outside | Covered::LockOff, _) => false,
        };
        if let Some(trip) = slice.trip() {
            let is_slice_work = slice.halts(touch, case_sensitivity);
            let last = (trip.denials > 0).then_some(EscalationLevel::Deny);
            let is_same_response = touch.requester.is_some() && touch.requester == trip.first_requester;
            let level = EscalationLevel::next(last, is_same_response);
            let denial = is_slice_work.then(|| self.deny_if_open(touch.requester)).flatten();
            return match denial {
                Some(Verdict::Stop(reason)) if level == EscalationLevel::Deny => Verdict::Deny(reason),
                Some(verdict) => verdict,
                None => Verdict::Pass,
            };
        }
        if slice.scope.is_lock_off() {
            return Verdict::Pass;
        }
        if is_covered || slice.justification(path, case_sensitivity).is_some() {
            return Verdict::Pass;
        }
        let is_too_much = |known: usize| known >= Slice::NOTES_MAX;
        if let Some(justification) = &touch.justification {
            if !is_too_much(slice.justified.len()) {
                let justification = Justification { file: path.clone(), ..justification.clone() };
                self.push(Fact::Justified { justification });
                return Verdict::Pass;
            }
            self.trip(TripCause::Architecture { description: messages::justified_too_often(slice.justified.len()) });
        } else {
            let earlier_denial = slice.denial(path, case_sensitivity);
            let is_again =
                earlier_denial.is_some_and(|denial| denial.requester.is_none() || denial.requester != touch.requester);
            let path = earlier_denial.map_or(path, |denial| &denial.path);
            self.push(Fact::DeniedOutOfScope { denied: DeniedPath { path: path.clone(), requester: touch.requester } });
            if touch.is_unjustifiable {
                self.trip(TripCause::Architecture { description: messages::unjustifiable(path) });
            } else if is_again {
                self.trip(TripCause::Architecture { description: messages::denied_again(path) });
            } else if earlier_denial.is_none() && is_too_much(slice.denied_paths.len()) {
                // Otherwise an agent that asks for many files would push the first denials out of the bounded list.
                self.trip(TripCause::Architecture {
                    description: messages::denied_too_often(slice.denied_paths.len()),
                });
            }
        }
        match self.slice.as_ref().and_then(Slice::trip) {
            Some(trip) => self.stop(trip),
            None => {
                let text = messages::out_of_scope(&self.request.name, slice, path);
                Verdict::Deny(self.reason("HL-ATTEMPT-04", text, Retry::Now))
            }
        }
    }

    /// The files among these that were changed out of scope and not reported yet, each once.
    fn new_out_of_scope_changes(&self, slice: &Slice, paths: &[String]) -> Vec<String> {
        let is_new = |path: &&String| slice.is_new_out_of_scope_change(path, self.request.case_sensitivity);
        let changed: BTreeSet<&String> = paths.iter().filter(is_new).collect();
        changed.into_iter().cloned().collect()
    }

    fn record_out_of_scope_changes(&mut self, slice: &Slice, paths: &[String]) -> Option<Verdict> {
        let changed = self.new_out_of_scope_changes(slice, paths);
        if changed.is_empty() {
            return None;
        }
        let text = messages::changed_out_of_scope(&changed);
        self.push(Fact::ChangedOutOfScope { paths: changed });
        Some(Verdict::Warn(self.reason("HL-ATTEMPT-07", text, Retry::Now)))
    }

    fn deviate(&mut self, slice: &Slice, rule: Rule, description: &str, file: Option<&String>) -> Verdict {
        let (description, at) = (description.to_owned(), self.now.at);
        let deviation = Deviation { rule, description: description.clone(), file: file.cloned(), at };
        self.push(Fact::Deviated { deviation });
        match (rule, slice.trip()) {
            // A trip has one cause; the list of deviations still shows that the architecture was involved.
            (_, Some(_)) => self.deny_if_open(None).unwrap_or(Verdict::Pass),
            // It stops the slice at once, whatever the counts are (A8).
            (Rule::ArchStop, None) => {
                self.trip(TripCause::Architecture { description });
                self.slice.as_ref().and_then(Slice::trip).map_or(Verdict::Pass, |trip| self.stop(trip))
            }
            (Rule::BugFix | Rule::CriticalAdd | Rule::Unblock, None) => Verdict::Pass,
        }
    }

    /// Ending a slice resets its counts, so only a person may end one whose tests fail.
    fn end(&mut self, slice: &Slice, operator: Option<&Operator>) -> Result<Verdict, Rejection> {
        if let Some(Operator { who, reason }) = operator {
            self.push_with(Fact::Ended { who: Some(who.clone()) }, reason.clone());
            return Ok(Verdict::Pass);
        }
        if let Some(verdict) = self.deny_if_open(None) {
            return Ok(verdict);
        }
        if slice.failing().next().is_some() {
            return Err(Rejection::SliceFailing);
        }
        self.push(Fact::Ended { who: None });
        Ok(Verdict::Pass)
    }

    fn reason(&self, code: &'static str, text: String, retry: Retry) -> Reason {
        Reason { circuit: self.request.name.clone(), code, text, retry }
    }

    fn stop(&self, trip: &Trip) -> Verdict {
        let denials = self.slice.as_ref().and_then(Slice::trip).map_or(0, |trip| trip.denials);
        Verdict::Stop(self.reason(trip.cause.code(), messages::stopped(trip, denials), Retry::Person))
    }
}

/// True if the run began before a person's decision (E12).
fn is_stale(slice: &Slice, attempt: &Attempt) -> bool {
    circuit::is_stale(attempt.generation, slice.generation)
}

fn printed(output: &Output) -> Printed {
    let end = output.excerpt.floor_char_boundary(Printed::EXCERPT_BYTES_MAX);
    let excerpt = output.excerpt[..end].to_owned();
    Printed { excerpt, bytes: output.bytes, has_secrets: output.has_secrets, exit: output.exit }
}
