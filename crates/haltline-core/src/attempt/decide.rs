//! What follows from an event on a slice (A2, A3, A5, A7, A8).

use std::collections::BTreeSet;

use super::{
    Attempt, Attempted, Covered, Deviation, Fact, Happening, Justification, Letters, Output, Place, Printed,
    RefusedPath, Rule, Scope, Slice, TestName, TestResult, Touch, Trip, TripCause, apply, words,
};
use crate::identity::Digest;
use crate::{
    CircuitName, Decision, Effect, Fact as AnyFact, Moment, Operator, Policy, Reason, Recorded, Rejection, Retry, Step,
    Texts, Verdict, digest_hex,
};

/// An event with everything the decision needs to know of it.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The slice's name.
    pub name: CircuitName,
    /// The session, where there is one.
    pub session: Option<&'a str>,
    /// Whether names that differ by capitals only are one file here.
    pub letters: Letters,
    /// What happened.
    pub what: &'a Happening,
}

/// Decides one event. No policy changes the thresholds (A2).
pub fn decide(slice: Option<&Slice>, _policy: &Policy, question: &Question<'_>, now: Moment) -> Step {
    let begun = slice.filter(|slice| slice.is_begun());
    let mut draft = Draft { question, now, slice: slice.cloned(), facts: Vec::new() };
    let outcome = match (question.what, begun) {
        (Happening::Begin { scope, checkpoint, operator }, begun) => {
            draft.begin(begun, scope, checkpoint.as_ref(), operator.as_ref())
        }
        (Happening::Attempt(attempt), None) => {
            let is_stale = slice.is_some_and(|ended| is_stale(ended, attempt));
            // Programs that only tell of attempts need not tell of their begin: without scope, nothing is locked. What
            // began before the end begins nothing (E12).
            if !is_stale {
                let scope = Scope::inferred(Vec::new(), None);
                draft.push(Fact::Began { scope, checkpoint: attempt.checkpoint.clone() });
            }
            Ok(draft.attempt(attempt, is_stale))
        }
        (Happening::Touch(_) | Happening::Stray { .. } | Happening::HandOut, None) => Ok(Verdict::Pass),
        (
            Happening::Ask { .. }
            | Happening::File { .. }
            | Happening::Deviate { .. }
            | Happening::RollBack { .. }
            | Happening::Reset { .. }
            | Happening::End { .. },
            None,
        ) => Err(Rejection::NoSlice),
        (Happening::Ask { test, strategy }, Some(_)) => Ok(draft.ask(test.as_ref(), strategy.as_deref())),
        (Happening::Attempt(attempt), Some(slice)) => Ok(draft.attempt(attempt, is_stale(slice, attempt))),
        (Happening::Touch(touch), Some(slice)) => Ok(draft.touch(slice, touch)),
        (Happening::Stray { paths }, Some(slice)) => Ok(draft.stray(slice, paths).unwrap_or(Verdict::Pass)),
        (Happening::File { test, report }, Some(slice)) => {
            if slice.tests.contains_key(test) {
                draft.push(Fact::Reported { test: test.clone(), report: report.clone() });
                Ok(Verdict::Pass)
            } else {
                Err(Rejection::NoTest)
            }
        }
        (Happening::Deviate { rule, description, file }, Some(slice)) => {
            Ok(draft.deviate(slice, *rule, description, file.as_ref()))
        }
        (Happening::RollBack { rollback, operator }, Some(_)) => {
            let fact = Fact::RolledBack { rollback: rollback.clone(), who: operator.who.clone() };
            draft.push_with(fact, operator.reason.clone());
            Ok(Verdict::Pass)
        }
        (Happening::Reset { guidance, rollback, operator }, Some(_)) => {
            let (guidance, rollback, who) = (guidance.clone(), rollback.clone(), operator.who.clone());
            draft.push_with(Fact::Reset { guidance, rollback, who }, operator.reason.clone());
            Ok(Verdict::Pass)
        }
        (Happening::HandOut, Some(slice)) => {
            if slice.is_prior_untold {
                draft.push(Fact::HandedOut);
            }
            Ok(Verdict::Pass)
        }
        (Happening::End { operator }, Some(slice)) => draft.end(slice, operator.as_ref()),
    };
    match outcome {
        Ok(verdict) => Step::Decided(draft.into_decision(verdict)),
        Err(rejection) => Step::Rejected(rejection),
    }
}

/// A decision in the making: each fact is applied at once, so that the next thought sees it.
struct Draft<'a> {
    question: &'a Question<'a>,
    now: Moment,
    slice: Option<Slice>,
    facts: Vec<Recorded>,
}

impl Draft<'_> {
    fn push(&mut self, fact: Fact) {
        self.push_with(fact, None);
    }

    fn push_with(&mut self, fact: Fact, text: Option<String>) {
        self.slice = Some(apply(self.slice.take(), &fact, self.now));
        let texts = Texts { session: self.question.session.map(str::to_owned), text };
        let circuit = self.question.name.clone();
        self.facts.push(Recorded { circuit, at: self.now, fact: AnyFact::Attempt(fact), texts });
    }

    /// A slice that is under way keeps its counts and its scope, whoever begins it again.
    fn begin(
        &mut self,
        begun: Option<&Slice>,
        scope: &Scope,
        checkpoint: Option<&String>,
        operator: Option<&Operator>,
    ) -> Result<Verdict, Rejection> {
        match begun {
            None => {
                self.push(Fact::Began { scope: scope.clone(), checkpoint: checkpoint.cloned() });
                Ok(Verdict::Pass)
            }
            Some(slice) if slice.scope.is_same(scope) => Ok(self.go_on(None).unwrap_or(Verdict::Pass)),
            Some(_) => match operator {
                Some(Operator { who, reason }) => {
                    let fact = Fact::Rescoped { scope: scope.clone(), who: who.clone() };
                    self.push_with(fact, reason.clone());
                    Ok(self.go_on(None).unwrap_or(Verdict::Pass))
                }
                None => self.go_on(None).ok_or(Rejection::ScopeFrozen),
            },
        }
    }

    /// `Some` where nothing may go on; that somebody wanted to is written down.
    fn go_on(&mut self, asker: Option<Digest>) -> Option<Verdict> {
        let trip = self.slice.as_ref()?.trip()?.clone();
        self.push(Fact::Refused { asker });
        Some(self.stop(&trip))
    }

    fn ask(&mut self, test: Option<&TestName>, strategy: Option<&str>) -> Verdict {
        if let Some(refused) = self.go_on(None) {
            return refused;
        }
        let (Some(test), Some(strategy)) = (test, strategy) else { return Verdict::Pass };
        self.flag(test, strategy).unwrap_or(Verdict::Pass)
    }

    /// Tells of a strategy that was tried before (A7).
    fn flag(&mut self, test: &TestName, strategy: &str) -> Option<Verdict> {
        let tried = self.slice.as_ref()?.tried_before(test, strategy)?.clone();
        self.push(Fact::Flagged { test: test.clone(), attempt: tried.number });
        Some(Verdict::Warn(self.reason("HL-ATTEMPT-06", words::tried_before(test, &tried), Retry::Now)))
    }

    fn attempt(&mut self, attempt: &Attempt, is_stale: bool) -> Verdict {
        let Some(slice) = &self.slice else { return Verdict::Pass };
        let Attempt { test, result, .. } = attempt;
        if let Some(trip) = slice.trip().cloned() {
            // Kept and counted, and it changes nothing else (E4).
            self.push(Fact::Ignored { test: test.clone(), result: *result });
            return self.stop(&trip);
        }
        // What passes needs no other strategy.
        let is_told = !is_stale && *result != TestResult::Pass;
        let tried = slice.tried_before(test, &attempt.strategy).filter(|_| is_told).cloned();
        let strayed = if is_stale { Vec::new() } else { self.strays(slice, &attempt.files) };
        let attempted = Attempted {
            number: slice.tests.get(test).map_or(0, |state| state.attempts_total).saturating_add(1),
            strategy: attempt.strategy.clone(),
            files: attempt.files.clone(),
            files_more: attempt.files_more,
            result: *result,
            is_declared: attempt.is_declared,
            said: attempt.said.clone(),
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
        if !strayed.is_empty() {
            self.push(Fact::Strayed { paths: strayed.clone() });
        }
        if let Some(tried) = &tried {
            self.push(Fact::Flagged { test: test.clone(), attempt: tried.number });
        }
        if is_stale {
            return Verdict::Pass;
        }
        self.settle(test, *result);
        self.told(test, tried.as_ref(), &strayed)
    }

    /// Whether a failure was one too many: the test is looked at before the slice (seed 000, section 7).
    fn settle(&mut self, test: &TestName, result: TestResult) {
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

    /// What is said to whoever ran a test.
    fn told(&self, test: &TestName, tried: Option<&Attempted>, strayed: &[String]) -> Verdict {
        let Some(slice) = &self.slice else { return Verdict::Pass };
        if let Some(trip) = slice.trip() {
            return self.stop(trip);
        }
        let state = slice.tests.get(test);
        let blocked = state.filter(|state| state.infrastructure_in_a_row >= Slice::BLOCKED_AFTER);
        let warn = |code, text| Verdict::Warn(self.reason(code, text, Retry::Now));
        match (blocked, strayed, tried) {
            (Some(state), _, _) => warn("HL-ATTEMPT-05", words::blocked(test, state)),
            (None, [_, ..], _) => warn("HL-ATTEMPT-07", words::strayed(strayed)),
            (None, [], Some(tried)) => warn("HL-ATTEMPT-06", words::tried_before(test, tried)),
            (None, [], None) => Verdict::Pass,
        }
    }

    fn trip(&mut self, cause: TripCause) {
        let Some(slice) = &self.slice else { return };
        let (generation, at) = (slice.generation.to_be_bytes(), self.now.at.as_millis().to_be_bytes());
        let incident = digest_hex(&[self.question.name.as_str().as_bytes(), &generation, &at], 4);
        let total_failed_attempts = slice.total_failed_attempts;
        let trip = Trip { incident, since: self.now, cause, total_failed_attempts, refused: 0, first_asker: None };
        self.push(Fact::Tripped { trip });
    }

    /// A file is about to be changed (A5).
    fn touch(&mut self, slice: &Slice, touch: &Touch) -> Verdict {
        let (path, letters) = (&touch.path, self.question.letters);
        let is_covered = match (slice.scope.covers(path, letters), touch.place) {
            (Covered::By(_), Place::Inside) => true,
            (Covered::By(_), Place::Outside) | (Covered::Outside | Covered::LockOff, _) => false,
        };
        if slice.scope.is_off() {
            return Verdict::Pass;
        }
        if let Some(trip) = slice.trip() {
            // What belongs to the slice, or was refused to it, stands still until a person decides. The rest was never
            // its work: a report must be written somewhere.
            let is_its_own = is_covered
                || touch.justification.is_some()
                || touch.is_unjustifiable
                || slice.justification(path, letters).is_some()
                || slice.refusal(path, letters).is_some();
            let is_first = trip.refused == 0 || (touch.asker.is_some() && touch.asker == trip.first_asker);
            let refused = is_its_own.then(|| self.go_on(touch.asker)).flatten();
            return match refused {
                Some(Verdict::Stop(reason)) if is_first => Verdict::Deny(reason),
                Some(verdict) => verdict,
                None => Verdict::Pass,
            };
        }
        if is_covered || slice.justification(path, letters).is_some() {
            return Verdict::Pass;
        }
        let is_too_much = |known: usize| known >= Slice::NOTES_MAX;
        if let Some(justification) = &touch.justification {
            if !is_too_much(slice.justified.len()) {
                let justification = Justification { file: path.clone(), ..justification.clone() };
                self.push(Fact::Justified { justification });
                return Verdict::Pass;
            }
            self.trip(TripCause::Architecture { description: words::justified_too_often(slice.justified.len()) });
        } else {
            let asked = slice.refusal(path, letters);
            let is_again = asked.is_some_and(|before| before.asker.is_none() || before.asker != touch.asker);
            let path = asked.map_or(path, |before| &before.path);
            self.push(Fact::OutOfScope { refused: RefusedPath { path: path.clone(), asker: touch.asker } });
            if touch.is_unjustifiable {
                self.trip(TripCause::Architecture { description: words::unjustifiable(path) });
            } else if is_again {
                self.trip(TripCause::Architecture { description: words::refused_again(path) });
            } else if asked.is_none() && is_too_much(slice.refused.len()) {
                // Whoever asks for so many would otherwise push the first refusals out of memory.
                self.trip(TripCause::Architecture { description: words::refused_too_often(slice.refused.len()) });
            }
        }
        match self.slice.as_ref().and_then(Slice::trip) {
            Some(trip) => self.stop(trip),
            None => {
                let text = words::out_of_scope(&self.question.name, slice, path);
                Verdict::Deny(self.reason("HL-ATTEMPT-04", text, Retry::Now))
            }
        }
    }

    /// The strays among these files, each once.
    fn strays(&self, slice: &Slice, paths: &[String]) -> Vec<String> {
        let is_stray = |path: &&String| slice.is_stray(path, self.question.letters);
        let strayed: BTreeSet<&String> = paths.iter().filter(is_stray).collect();
        strayed.into_iter().cloned().collect()
    }

    fn stray(&mut self, slice: &Slice, paths: &[String]) -> Option<Verdict> {
        let strayed = self.strays(slice, paths);
        if strayed.is_empty() {
            return None;
        }
        let text = words::strayed(&strayed);
        self.push(Fact::Strayed { paths: strayed });
        Some(Verdict::Warn(self.reason("HL-ATTEMPT-07", text, Retry::Now)))
    }

    fn deviate(&mut self, slice: &Slice, rule: Rule, description: &str, file: Option<&String>) -> Verdict {
        let (description, at) = (description.to_owned(), self.now.at);
        let deviation = Deviation { rule, description: description.clone(), file: file.cloned(), at };
        self.push(Fact::Deviated { deviation });
        match (rule, slice.trip()) {
            // One opening has one cause; that it was the architecture after all stands in the list.
            (_, Some(_)) => self.go_on(None).unwrap_or(Verdict::Pass),
            // It stops at once, whatever the counters say (A8).
            (Rule::ArchStop, None) => {
                self.trip(TripCause::Architecture { description });
                self.slice.as_ref().and_then(Slice::trip).map_or(Verdict::Pass, |trip| self.stop(trip))
            }
            (Rule::BugFix | Rule::CriticalAdd | Rule::Unblock, None) => Verdict::Pass,
        }
    }

    /// Whoever ends a slice whose tests fail, and begins it again, would count anew: that is for people.
    fn end(&mut self, slice: &Slice, operator: Option<&Operator>) -> Result<Verdict, Rejection> {
        if let Some(Operator { who, reason }) = operator {
            self.push_with(Fact::Ended { who: Some(who.clone()) }, reason.clone());
            return Ok(Verdict::Pass);
        }
        if let Some(refused) = self.go_on(None) {
            return Ok(refused);
        }
        if slice.failing().next().is_some() {
            return Err(Rejection::SliceFailing);
        }
        self.push(Fact::Ended { who: None });
        Ok(Verdict::Pass)
    }

    fn reason(&self, code: &'static str, text: String, retry: Retry) -> Reason {
        Reason { circuit: self.question.name.clone(), code, text, retry }
    }

    fn stop(&self, trip: &Trip) -> Verdict {
        let refused = self.slice.as_ref().and_then(Slice::trip).map_or(0, |trip| trip.refused);
        Verdict::Stop(self.reason(trip.cause.code(), words::stopped(trip, refused), Retry::Person))
    }

    fn into_decision(self, verdict: Verdict) -> Decision {
        let mut effects = Vec::new();
        for Recorded { circuit, fact, .. } in &self.facts {
            let AnyFact::Attempt(Fact::Tripped { trip }) = fact else { continue };
            effects.push(Effect::Notify { circuit: circuit.clone(), incident: trip.incident.clone() });
        }
        Decision { facts: self.facts, verdict, effects, notices: Vec::new() }
    }
}

/// It began before a person decided (E12).
fn is_stale(slice: &Slice, attempt: &Attempt) -> bool {
    attempt.generation.is_some_and(|generation| generation != slice.generation)
}

fn printed(output: &Output) -> Printed {
    let end = output.excerpt.floor_char_boundary(Printed::EXCERPT_BYTES_MAX);
    let excerpt = output.excerpt[..end].to_owned();
    Printed { excerpt, bytes: output.bytes, has_secrets: output.has_secrets }
}
