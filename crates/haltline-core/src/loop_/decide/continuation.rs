//! Decides about agents that are continued again and again and bring nothing, and about the calls by which an agent leaves
//! what it is doing (L6). Those calls are never denied; repeating them without end is an idle continuation.

use super::pattern_match::agent_wide_key;
use super::*;
use crate::identity::{Action, CallResult, Outcome};
use crate::loop_::continuation::WAIT_FACTOR;
use crate::loop_::way_out::{is_built_in, way_out};
use crate::loop_::{CallTraits, Continuation, InFlightCall, WayOut};

fn idle_key() -> Digest {
    agent_wide_key(Pattern::IdleContinuation)
}

impl AgentDraft<'_> {
    pub(super) fn way_out(&self, action: &Action) -> Option<WayOut> {
        way_out(&self.request.agent_ref.client, &action.tool, self.limits)
    }

    /// What kind of way out a call is that has ended.
    pub(super) fn way_out_of(&self, in_flight: &InFlightCall) -> Option<WayOut> {
        let is_one = in_flight.traits.is_statement || in_flight.traits.is_poller;
        is_one.then(|| way_out(&self.request.agent_ref.client, &in_flight.tool, self.limits)).flatten()
    }

    /// A way out counts towards no pattern of repetition, and only a person's answer is news.
    pub(super) fn add_way_out_traits(&self, action: &Action, traits: &mut CallTraits) -> Option<WayOut> {
        let way_out = self.way_out(action)?;
        traits.is_poller = true;
        traits.is_statement |= match way_out {
            WayOut::Ends | WayOut::Reports => true,
            WayOut::Asks => false,
        };
        Some(way_out)
    }

    /// A way out is denied only if it would reach for haltline itself, which no tool of a client's own can do.
    pub(super) fn denial_of_way_out(&mut self, start: &start::Start<'_>) -> Result<Option<Verdict>, Halt> {
        let Some(attempt) = &start.protections.tampering else { return Ok(None) };
        if is_built_in(&self.request.agent_ref.client, &start.action.tool) {
            return Ok(None);
        }
        self.need_tree_if_sub_agent()?;
        Ok(Some(self.deny_tampering(attempt)))
    }

    /// True if the call is an end of the turn: it ends the work, or it is the same way out once more with the same answer.
    pub(super) fn ends_turn(&self, way_out: Option<WayOut>, in_flight: &InFlightCall, result: &CallResult) -> bool {
        let is_again = || {
            let last = self.agent.since_prompt().last();
            last.is_some_and(|last| last.is_same(in_flight.identity, result.normal))
        };
        let has_run = matches!(result.outcome, Outcome::Ok | Outcome::Unknown);
        has_run
            && match way_out {
                Some(WayOut::Ends) => true,
                Some(WayOut::Asks | WayOut::Reports) => is_again(),
                None => false,
            }
    }

    /// What is known of the end of the turn, sub-agents that still run included: while one works, its parent may wait.
    pub(super) fn known_end(&mut self, running: Option<&[String]>, end: TurnEnd) -> Result<TurnEnd, Halt> {
        let may_count = self.agent.continuation.gain == Gain::Nothing && !self.agent.continuation.is_prompted;
        if end != TurnEnd::Idle || !may_count || self.is_literal() {
            return Ok(end);
        }
        let is_any_running = match running {
            Some(running) => !running.is_empty(),
            None => {
                self.need_tree()?;
                self.tree.as_ref().is_some_and(|tree| tree.live() > 0)
            }
        };
        Ok(if is_any_running { TurnEnd::Waiting } else { TurnEnd::Idle })
    }

    /// The verdict on a turn end, with what was counted before it; `None` if it does not count, or is not yet worth a word.
    pub(super) fn idle_verdict(&mut self, before: Continuation) -> Result<Option<Verdict>, Halt> {
        let limits = self.limits.idle_continuation;
        let Continuation { idle_ends, idle_fifths, .. } = self.agent.continuation;
        let key = idle_key();
        let is_open = self.agent.circuits.state_at(key, self.now).denying_trip().is_some();
        // The client reports an end that a call brought about: if the turn was to end then, it is to end now.
        let is_reported_again = before.is_ended_by_call && is_open;
        let is_counted = idle_ends > before.idle_ends || is_reported_again;
        if !limits.enabled || self.is_literal() || !is_counted {
            return Ok(None);
        }
        let (warn, stop) = (limits.warn.saturating_mul(WAIT_FACTOR), limits.deny.saturating_mul(WAIT_FACTOR));
        let is_warned = before.idle_fifths < warn && idle_fifths >= warn;
        let is_stopped = is_open || idle_fifths >= stop;
        if !(is_warned || is_stopped) || self.is_exempt(Pattern::IdleContinuation, key)? {
            return Ok(None);
        }
        let explanation = Pattern::IdleContinuation.explain("", idle_ends, self.limits);
        if !is_stopped {
            return Ok(Some(self.warn(&explanation, key, idle_ends, None)));
        }
        match self.agent.circuits.state_at(key, self.now) {
            CircuitState::HalfOpen(trip, HalfOpenCause::Person) => {
                // A person lets the agent be continued once more.
                let incident = trip.incident.clone();
                let hint = self.agent.circuits.tripped_for(key).and_then(|tripped| tripped.hint.clone());
                self.start_probe(key, key);
                return Ok(Some(self.resumed(Pattern::IdleContinuation, &incident, hint.as_deref())));
            }
            CircuitState::HalfOpen(..) => {
                // The turn was the probe, and it brought nothing.
                self.start_probe(key, key);
                self.trip(&explanation, key, None, idle_ends, limits.cooldown_s)?;
            }
            CircuitState::Closed | CircuitState::Probing(_) => {
                self.trip(&explanation, key, None, idle_ends, limits.cooldown_s)?;
            }
            CircuitState::Open(_) => {}
        }
        self.need_tree()?;
        Ok(Some(self.end_turn(&explanation, key)))
    }

    /// The verdict after a call that may have ended the turn. A call that gained something closes the circuit.
    pub(super) fn idle_verdict_of_call(&mut self, before: Continuation, ends_turn: bool) -> Result<(), Halt> {
        if ends_turn {
            self.end_verdict = self.idle_verdict(before)?;
        } else if self.agent.continuation.gain == Gain::New && self.agent.circuits.is_tripped(idle_key()) {
            self.recover(idle_key());
        }
        Ok(())
    }

    pub(super) fn is_idle_tripped(&self) -> bool {
        self.agent.circuits.is_tripped(idle_key())
    }

    /// A person wrote to the agent: what continued it before is over.
    pub(super) fn lapse_idle_continuation(&mut self) {
        if let Some(tripped) = self.agent.circuits.tripped_for(idle_key()) {
            let incident = tripped.trip.incident.clone();
            self.record(AgentFact::Circuit(CircuitFact::Lapsed { incident }));
        }
    }

    /// The verdict for another hook source that delivers the same turn end: it gets what the first one got.
    pub(super) fn repeat_idle_verdict(&mut self) -> Option<Verdict> {
        let key = idle_key();
        self.agent.circuits.state_at(key, self.now).denying_trip()?;
        let is_ended = self.agent.circuits.escalations.get(key).is_some_and(|escalation| {
            escalation.level == Some(EscalationLevel::Stop) && escalation.turn == self.agent.turn.number
        });
        let explanation = Pattern::IdleContinuation.explain("", self.agent.continuation.idle_ends, self.limits);
        is_ended.then(|| self.end_turn(&explanation, key))
    }

    /// Ends the turn without denying a call.
    fn end_turn(&mut self, explanation: &Explanation, key: Digest) -> Verdict {
        self.record_denial(key, explanation.pattern, EscalationLevel::Stop, None);
        let trip = self.agent.circuits.tripped_for(key).map(|tripped| tripped.trip.clone());
        let denials = self.agent.circuits.escalations.get(key).map_or(1, |escalation| escalation.denials);
        let wait = trip.as_ref().map(|trip| messages::cooldown(trip, self.now));
        let incident = trip.as_ref().map(|trip| trip.incident.as_str());
        let text = messages::denial(explanation, wait.as_deref(), EscalationLevel::Stop, denials, incident);
        self.record_stopped_sub_agent();
        let retry = trip.as_ref().map_or(Retry::Person, |trip| Retry::At(trip.until()));
        Verdict::Stop(Reason { circuit: self.circuit_name(explanation.pattern), code: explanation.code, text, retry })
    }
}
