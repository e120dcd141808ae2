//! Decides the end of a call: counts the result, evaluates probes, trips patterns (L1, L2, L4, L5).

use super::*;
use crate::identity::{Action, CallResult, DeniedBy, Outcome};
use crate::loop_::pattern_table::ClosedBy;
use crate::loop_::{BatchEnd, CallTraits, CompletedCall, Ending, InFlightCall, Progress};

impl AgentDraft<'_> {
    pub(super) fn tool_end(&mut self, id: &str, action: Option<&Action>, result: &CallResult) -> Result<(), Halt> {
        self.end_id = match &self.request.agent_ref.call_ids {
            CallIds::Stable | CallIds::None => None,
            CallIds::StartOnly => Some(Digest::from_parts(&[b"end", id.as_bytes()])),
        };
        if self.end_id.is_some_and(|end| self.agent.deliveries.ended_ids.contains(&end)) {
            return Ok(());
        }
        let call = self.call_id(id);
        let (in_flight, is_duplicate) = match (&self.request.agent_ref.call_ids, action) {
            (CallIds::Stable, _) => (self.agent.in_flight_call(call), false),
            (CallIds::StartOnly, Some(action)) => (self.agent.oldest_in_flight(action), true),
            (CallIds::StartOnly, None) => (self.agent.in_flight_call(call), true),
            (CallIds::None, Some(action)) => {
                // Another hook may have changed the arguments since the call started.
                let same = self.agent.oldest_in_flight(action);
                (same.or_else(|| self.agent.only_in_flight(&action.tool)), false)
            }
            (CallIds::None, None) => (self.agent.in_flight_by_transcript_id(call_digest(id)), true),
        };
        if let Some(in_flight) = in_flight.cloned() {
            return self.complete_call(&in_flight, action, result);
        }
        if is_duplicate || self.agent.has_ended(call) || self.agent.deliveries.denied_calls.contains(&call) {
            return Ok(());
        }
        match action {
            // Calls that the client itself rejects never start (L4): haltline sees only their end.
            Some(action) => self.complete_unannounced(call, action, result),
            None => {
                self.record(AgentFact::EndWithoutStart { call, outcome: result.outcome });
                Ok(())
            }
        }
    }

    /// The digest of a call id. Without usable ids, the number of calls so far makes it unique.
    pub(super) fn call_id(&self, id: &str) -> Digest {
        match &self.request.agent_ref.call_ids {
            CallIds::Stable | CallIds::StartOnly => call_digest(id),
            CallIds::None => Digest::from_parts(&[id.as_bytes(), &self.agent.totals.calls.to_be_bytes()]),
        }
    }

    /// All calls of one response have ended; haltline will never see the end of the others (L3).
    pub(super) fn batch(&mut self, ends: &[BatchEnd]) -> Result<Verdict, Halt> {
        let mut worst = Verdict::Pass;
        for end in ends {
            let call = call_digest(&end.call);
            let is_announced = self.agent.in_flight_call(call).is_some()
                || self.agent.has_ended(call)
                || self.agent.deliveries.denied_calls.contains(&call);
            if is_announced || is_our_denial(&end.result) {
                self.tool_end(&end.call, Some(&end.action), &end.result)?;
                worst = self.end_verdict.take().unwrap_or(Verdict::Pass).or_stricter(worst);
                continue;
            }
            let verdict = self.late_verdict(&end.action)?;
            self.complete_unannounced(call, &end.action, &end.result)?;
            let ended = self.end_verdict.take().unwrap_or(Verdict::Pass);
            worst = ended.or_stricter(verdict).or_stricter(worst);
        }
        self.close_in_flight()?;
        // If the batch is a duplicate, nothing has ended since.
        if !self.agent.turn.is_over {
            self.record(AgentFact::TurnEnded);
        }
        Ok(worst)
    }

    /// The verdict on a call that already ran, or failed, without a start: haltline warns, or denies (or ends the turn)
    /// where it would have denied the start.
    fn late_verdict(&mut self, action: &Action) -> Result<Verdict, Halt> {
        if self.is_literal() || self.way_out(action).is_some() {
            return Ok(Verdict::Pass);
        }
        if let Some(trip) = self.agent.circuits.state_at(action.identity, self.now).denying_trip()
            && !self.is_call_exempt(trip.pattern, trip.key, action.identity)?
        {
            let denial = Denial::by_trip(self.explain_trip(trip, action), trip);
            self.need_tree()?;
            return Ok(self.deny(denial, Some(action.shown.clone())));
        }
        for found in self.pattern_matches(action, Digest::from_parts(&[action.tool.as_bytes()])) {
            let is_due = found.attempt >= found.limits.warn && !self.is_already_warned(&found);
            if is_due && !self.is_match_exempt(&found, action)? {
                let explanation = self.explain_warning(&found, action);
                return Ok(self.warn(&explanation, found.key, found.attempt, Some(action.shown.clone())));
            }
        }
        Ok(Verdict::Pass)
    }

    fn complete_unannounced(&mut self, call: Digest, action: &Action, result: &CallResult) -> Result<(), Halt> {
        if is_our_denial(result) {
            return Ok(());
        }
        let is_next = self.agent.turn.is_over && !self.agent.turn.is_empty;
        let turn = if is_next { self.agent.turn.next() } else { self.agent.turn.number };
        let mut traits = CallTraits::of(action);
        self.add_way_out_traits(action, &mut traits);
        let in_flight = self.in_flight_call(call, action, traits, turn);
        self.record(AgentFact::Started { call: in_flight.clone(), response: None });
        self.complete_call(&in_flight, Some(action), result)
    }

    /// A call that starts now.
    pub(super) fn in_flight_call(&self, id: Digest, action: &Action, traits: CallTraits, turn: u64) -> InFlightCall {
        let (tool, generation) = (action.tool.clone(), self.agent.circuits.generation);
        let Action { identity, words, .. } = *action;
        let printed = action.printed.clone();
        InFlightCall { id, tool, identity, turn, generation, traits, transcript_id: None, words, printed }
    }

    fn complete_call(
        &mut self,
        in_flight: &InFlightCall,
        action: Option<&Action>,
        result: &CallResult,
    ) -> Result<(), Halt> {
        if in_flight.traits.is_spawn {
            self.complete_spawn(in_flight, result)?;
        }
        if in_flight.traits.is_api {
            self.complete_api_call(in_flight, result)?;
        }
        let result = &*result.without_lines(&in_flight.printed);
        // A search that finds nothing has succeeded (L4).
        let is_no_match = in_flight.traits.is_search && result.exit == Some(1);
        let is_failed = result.outcome == Outcome::Failed && !is_no_match;
        // Preset `literal` knows no progress.
        let is_progress = !self.is_literal() && self.is_new_write(in_flight, result);
        let progress = if is_progress { Progress::Written } else { Progress::None };
        let way_out = self.way_out_of(in_flight);
        if result.outcome == Outcome::Denied && !is_our_denial(result) && way_out.is_none() {
            return self.permission_denied(in_flight);
        }
        let repeats = pattern::repeats(self.agent.since_prompt(), in_flight.identity);
        // Texts are kept if they may become evidence.
        let text = (is_failed || repeats > 0).then(|| result.shown.clone());
        let (shared_words, quotes_call) = match is_failed {
            true => (
                result.error_text.words_shared_with(in_flight.words),
                result.error_text.quotes_name_in(in_flight.words),
            ),
            false => (Vec::new(), false),
        };
        let before = self.agent.continuation;
        let ends_turn = self.ends_turn(way_out, in_flight, result);
        let ended = AgentFact::Ended(Ending {
            call: in_flight.id,
            outcome: result.outcome,
            normal: result.normal,
            raw: result.raw,
            is_failed,
            progress,
            keep: self.limits.history_max,
            shared_words,
            quotes_call,
            is_terse: result.is_terse && !is_failed,
            end_id: self.end_id,
            ends_turn,
            error_kind: result.error_kind.filter(|_| is_failed),
            missing_program: result.missing_program.filter(|_| is_failed),
            finds_nothing: finds_nothing(in_flight, result),
        });
        self.record_at(self.now, ended, text);
        self.idle_verdict_of_call(before, ends_turn)?;
        if result.outcome == Outcome::RateLimited && !in_flight.traits.is_api {
            self.need_tree()?;
            self.count_rate_limited_call(in_flight, result)?;
        }
        self.evaluate_probes(in_flight, action, result, is_failed)?;
        if is_progress {
            self.half_open_after_write();
        } else if result.outcome == Outcome::Ok && self.agent.no_progress.is_clear() {
            self.half_open_after_new_result();
        }
        self.trip_patterns(in_flight, action, result, is_failed)
    }

    /// True for a successful write that the agent has not made before with the same arguments and result.
    fn is_new_write(&self, in_flight: &InFlightCall, result: &CallResult) -> bool {
        let is_again = |completed: &CompletedCall| completed.is_same(in_flight.identity, result.normal);
        in_flight.traits.is_write && result.outcome == Outcome::Ok && !self.agent.since_prompt().iter().any(is_again)
    }

    /// Counts a denial by a permission rule, and trips at a number in a row or among the last calls (L6).
    fn permission_denied(&mut self, in_flight: &InFlightCall) -> Result<(), Halt> {
        let is_probe =
            |state: &TrippedState| matches!(state, TrippedState::Probing(probe) if probe.call == in_flight.id);
        let is_failed_probe =
            self.agent.circuits.tripped_for(denials_key()).is_some_and(|tripped| is_probe(&tripped.state));
        self.abandon_probes(in_flight);
        let tool = Digest::from_parts(&[in_flight.tool.as_bytes()]);
        self.record(AgentFact::PermissionDenied {
            call: in_flight.id,
            tool,
            end_id: self.end_id.or(Some(in_flight.id)),
        });
        let limits = self.limits.denials;
        let recent = self.agent.permission_denials.among_last(limits.recent);
        let in_a_row = self.agent.permission_denials.in_a_row;
        let key = denials_key();
        // A HALF_OPEN circuit opens again if its probe is denied, or if enough other calls are denied.
        let may_open = self.agent.circuits.state_at(key, self.now).denying_trip().is_none();
        let is_due = is_failed_probe || in_a_row >= limits.in_a_row || recent >= limits.of_recent;
        if limits.enabled && is_due && may_open && !self.is_literal() && !self.is_exempt(Pattern::Denials, key)? {
            let count = in_a_row.max(recent);
            let explanation = Pattern::Denials.explain("", count, self.limits);
            self.trip(&explanation, key, None, count, limits.cooldown_s)?;
        }
        Ok(())
    }

    /// Closes, reopens or frees the circuits whose probe this call was (E12).
    fn evaluate_probes(
        &mut self,
        in_flight: &InFlightCall,
        action: Option<&Action>,
        result: &CallResult,
        is_failed: bool,
    ) -> Result<(), Halt> {
        while let Some(tripped) = self.agent.circuits.probed_by(in_flight.id).cloned() {
            let incident = tripped.trip.incident.clone();
            if !result.outcome.has_result() {
                self.record(AgentFact::Circuit(CircuitFact::ProbeAbandoned { incident }));
                continue;
            }
            let is_changed = tripped.trip.normal.is_some_and(|normal| normal != result.normal);
            let is_new =
                !self.agent.before_last().iter().any(|completed| completed.is_same(in_flight.identity, result.normal));
            // After a write the call is a new one: a successful result is already progress.
            let is_after_write = !is_failed
                && matches!(&tripped.state, TrippedState::Probing(probe) if probe.cause == HalfOpenCause::Write);
            let is_better = match tripped.trip.pattern.row().closed_by {
                ClosedBy::Success => !is_failed,
                ClosedBy::SuccessOrChange => !is_failed || is_changed,
                ClosedBy::Change => is_changed || is_after_write,
                ClosedBy::NewResultOrWrite => (is_new && !is_failed) || is_after_write,
                ClosedBy::NewResult => is_new && !is_failed,
                ClosedBy::Progress => {
                    (self.agent.no_progress.is_clear() && !finds_nothing(in_flight, result)) || is_after_write
                }
                ClosedBy::AnyResult => true,
            };
            if is_better {
                self.record(AgentFact::Circuit(CircuitFact::Recovered { incident }));
            } else {
                self.trip_again(&tripped.trip, in_flight, action)?;
            }
        }
        Ok(())
    }

    fn trip_again(&mut self, last: &Trip, in_flight: &InFlightCall, action: Option<&Action>) -> Result<(), Halt> {
        let count = last.count.saturating_add(1);
        let explanation = if last.pattern == Pattern::AgentSpawn {
            self.rate_explanation(count)
        } else {
            let shown = self.shown_call(in_flight, action);
            let explanation = last.pattern.explain(&shown, count, self.limits);
            self.about_call(explanation, &shown, action, last.calls.clone())
        };
        // If the trip had no result that could change, the new trip has none either.
        self.trip(&explanation, last.key, last.normal, count, (last.pattern.row().cooldown_s)(self.limits))
    }

    /// The call in a message: its arguments where they are known, and with preset `literal` only its tool.
    fn shown_call(&self, in_flight: &InFlightCall, action: Option<&Action>) -> String {
        match action {
            Some(action) if !self.is_literal() => short(&action.shown),
            Some(_) | None => short(&in_flight.tool),
        }
    }

    /// Names what the explanation is about, unless only the tool's name is known.
    fn about_call(
        &self,
        explanation: Explanation,
        shown: &str,
        action: Option<&Action>,
        calls: Vec<Digest>,
    ) -> Explanation {
        let about = (action.is_some() || self.is_literal()).then(|| shown.to_owned());
        Explanation { about, calls, ..explanation }
    }

    /// The agent learned something new: OPEN circuits of the no-progress patterns become HALF_OPEN, and those that were
    /// already HALF_OPEN close.
    fn half_open_after_new_result(&mut self) {
        let is_no_progress = |pattern: Pattern| pattern.row().closed_by == ClosedBy::Progress;
        self.lapse(|pattern, cause| is_no_progress(pattern) && cause != HalfOpenCause::Person);
        self.half_open(HalfOpenCause::NewResult, |pattern| is_no_progress(pattern) || pattern == Pattern::SameError);
    }

    /// Makes OPEN circuits HALF_OPEN before their cooldown ends.
    fn half_open(&mut self, cause: HalfOpenCause, is_included: impl Fn(Pattern) -> bool) {
        let tripped = self.agent.circuits.tripped.iter();
        let open = tripped
            .filter(|tripped| tripped.state == TrippedState::Open && tripped.trip.remaining_ms(self.now).is_some());
        let waiting: Vec<String> = open
            .filter(|tripped| is_included(tripped.trip.pattern))
            .map(|tripped| tripped.trip.incident.clone())
            .collect();
        for incident in waiting {
            self.record(AgentFact::Circuit(self.half_opened(&incident, cause)));
        }
    }

    fn abandon_probes(&mut self, in_flight: &InFlightCall) {
        while let Some(incident) =
            self.agent.circuits.probed_by(in_flight.id).map(|tripped| tripped.trip.incident.clone())
        {
            self.record(AgentFact::Circuit(CircuitFact::ProbeAbandoned { incident }));
        }
    }

    /// The agent wrote something new: calls that failed or repeated themselves before may be tried once more.
    fn half_open_after_write(&mut self) {
        self.half_open(HalfOpenCause::Write, |pattern| pattern.row().is_probed_after_write);
    }

    /// Trips at the Nth matching event; the next attempt is denied (L2).
    fn trip_patterns(
        &mut self,
        in_flight: &InFlightCall,
        action: Option<&Action>,
        result: &CallResult,
        is_failed: bool,
    ) -> Result<(), Halt> {
        // A call that waits may be repeated; the other patterns limit how often (L4).
        let (identity, before) = (in_flight.identity, self.agent.before_last());
        let traits = in_flight.traits;
        let has_waited = traits.is_wait || pattern::has_waited(before, identity, traits.is_after_idle, traits.may_poll);
        let is_waiting = !self.is_literal() && has_waited;
        if in_flight.traits.is_poller || is_waiting {
            return Ok(());
        }
        let tool = Digest::from_parts(&[in_flight.tool.as_bytes()]);
        let key = self.key_of(tool, in_flight.identity);
        let is_closed = self.agent.circuits.state_at(key, self.now) == CircuitState::Closed;
        if !is_closed {
            return Ok(());
        }
        let shown = self.shown_call(in_flight, action);
        let failures = self.limits.tool_failure;
        if is_failed && failures.enabled {
            let turn = self.agent.turn.number;
            let count = if self.is_literal() {
                pattern::failed_turns(&self.agent.completed, turn, failures.window, |completed| completed.tool == tool)
            } else {
                let completed = self.agent.since_prompt();
                pattern::failed_turns(completed, turn, failures.window, |completed| {
                    completed.is_same(identity, result.normal)
                })
            };
            if count >= failures.threshold && !self.is_call_exempt(Pattern::ToolFailure, key, identity)? {
                let explanation = Pattern::ToolFailure.explain(&shown, count, self.limits);
                let explanation = self.about_call(explanation, &shown, action, vec![key]);
                let normal = Some(result.normal).filter(|_| !self.is_literal());
                self.trip(&explanation, key, normal, count, failures.cooldown_s)?;
                return Ok(());
            }
        }
        let sequence = self.limits.sequential_tools;
        if sequence.enabled {
            let count = if self.is_literal() {
                let newest_first = self.agent.since_prompt().iter().rev();
                pattern::count(newest_first.take_while(|completed| completed.tool == tool && completed.is_counted()))
            } else {
                pattern::repeats(self.agent.since_prompt(), in_flight.identity)
            };
            if count >= sequence.threshold && !self.is_call_exempt(Pattern::SequentialTools, key, identity)? {
                let normal = Some(result.normal).filter(|_| !self.is_literal());
                let explanation = Pattern::SequentialTools.explain(&shown, count, self.limits);
                let explanation = self.about_call(explanation, &shown, action, vec![key]);
                self.trip(&explanation, key, normal, count, sequence.cooldown_s)?;
            }
        }
        Ok(())
    }

    /// Gives up on all in-flight calls: haltline will not see their ends.
    pub(super) fn close_in_flight(&mut self) -> Result<(), Halt> {
        for in_flight in self.agent.in_flight.clone() {
            if in_flight.traits.is_spawn {
                self.need_tree()?;
                self.refund_spawn(in_flight.id);
            }
            if in_flight.traits.is_api {
                self.need_tree()?;
                self.record_in_tree(AgentTreeFact::ApiCharged { call: in_flight.id, micros: None });
            }
            self.abandon_probes(&in_flight);
            self.record(AgentFact::Unended { call: in_flight.id });
        }
        Ok(())
    }
}

/// True if the call looked for something and found nothing.
fn finds_nothing(in_flight: &InFlightCall, result: &CallResult) -> bool {
    let traits = in_flight.traits;
    let is_empty = result.finds_nothing && result.outcome == Outcome::Ok;
    (traits.is_search && result.exit == Some(1)) || ((traits.is_search || traits.is_reading) && is_empty)
}

/// A call id as the rows keep it.
pub(super) fn call_digest(id: &str) -> Digest {
    Digest::from_parts(&[id.as_bytes()])
}

/// True if the result is haltline's own denial, reported back by the client.
fn is_our_denial(result: &CallResult) -> bool {
    result.outcome == Outcome::Denied && result.denied_by == Some(DeniedBy::Haltline)
}
