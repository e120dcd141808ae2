//! A call is about to run: everybody who may refuse it is asked before anything is taken (E13).

use super::end::named;
use super::stuck::Front;
use super::*;
use crate::attempt::{self, Touched};
use crate::constraint;
use crate::identity::Action;
use crate::loop_::{Flight, Guarded, Traits};
use crate::{Rejection, State, glob_matches};

/// A call that asks to run.
pub(super) struct Start<'a> {
    pub call: &'a str,
    pub message: Option<&'a str>,
    pub action: &'a Action,
    pub guarded: &'a [Guarded],
    pub touched: &'a [Touched],
    pub tampering: &'a Option<String>,
}

/// What a call would have the agent told, if it runs.
struct Warning {
    grounds: Grounds,
    key: Digest,
    count: u32,
}

impl Draft<'_> {
    /// Answers a call that is about to run.
    pub(super) fn tool_start(&mut self, start: &Start<'_>) -> Asked<Verdict> {
        let call = self.call(start.call);
        let has_ended = self.lane.has_ended(call) && !self.is_next_response(start.message);
        if self.lane.flight(call).is_some() || has_ended {
            // The client asks again for the same call: it was answered and counted before.
            return Ok(Verdict::Pass);
        }
        self.call = Some(call);
        self.message = start.message.map(|message| Digest::of(&[message.as_bytes()]));
        self.is_told_again = self.was_refused(call, start.message);
        let known = (self.facts.len(), self.effects.len(), self.notices.len());
        let traits = self.traits(start.action);
        let turn = if self.is_told_again { self.lane.turn } else { self.turn_of(start.message, traits) };
        let is_new_turn = turn != self.lane.turn || self.lane.is_unused;
        self.lane.turn = turn;
        if traits.is_spawn || traits.is_api || self.limits.budget.is_set() || self.may_be_told_to_end() {
            self.need_tree()?;
        }
        let guards = self.guards(start)?;
        let scopes = self.scopes(start, turn)?;
        let front = self.front(start.action, traits);
        let refused = self.refusal(start, traits, &front, (&guards, &scopes))?;
        if self.is_told_again {
            self.facts.truncate(known.0);
            self.effects.truncate(known.1);
            self.notices.truncate(known.2);
            return Ok(refused.unwrap_or(Verdict::Pass));
        }
        if is_new_turn && self.limits.budget.is_set() {
            self.tree(TreeFact::Turn);
        }
        if let Some(verdict) = refused {
            match self.policy.mode {
                crate::Mode::Enforce => return Ok(verdict),
                // It runs all the same, and its answer will come.
                crate::Mode::Observe => {}
            }
            self.admit(start, call, traits, turn);
            return Ok(verdict);
        }
        if self.is_saving {
            self.tree(TreeFact::Saved);
        }
        let warning = self.warning(start.action, traits, &front)?;
        for guard in guards {
            self.facts.extend(guard.facts);
            self.effects.extend(guard.effects);
        }
        let hint = self.hint(&front);
        self.take_trials(&front, call);
        self.admit(start, call, traits, turn);
        if traits.is_spawn {
            self.permit_spawn(call, turn)?;
        }
        if traits.is_api {
            self.api_called(call)?;
        }
        Ok(match warning {
            Some(Warning { grounds, key, count }) => self.warn(&grounds, key, count, Some(start.action.shown.clone())),
            None => hint.unwrap_or(Verdict::Pass),
        })
    }

    /// Whether a call is certainly of another response than the last one. Some services name calls anew in each: a name
    /// that comes again then is another call, and whoever reuses names is counted like everybody else.
    fn is_next_response(&self, message: Option<&str>) -> bool {
        match (message, self.lane.message) {
            (Some(message), Some(last)) => Digest::of(&[message.as_bytes()]) != last,
            (Some(_) | None, _) => (self.question.stream.is_batched || self.lane.is_marked) && self.lane.is_fresh,
        }
    }

    /// Whether a call was refused before and is told again, through another door: it gets the same answer, in the same
    /// turn, and counts nothing. Where starts are named by their moment the name alone says so. Who comes through no door
    /// tells everything once: asking again, it tries again.
    fn was_refused(&self, call: Digest, message: Option<&str>) -> bool {
        self.question.stream.door.is_some()
            && self.lane.refused.contains(&call)
            && match &self.question.stream.naming {
                Naming::Own => !self.is_next_response(message),
                Naming::Begun => true,
                // Each start is a call.
                Naming::Counted => false,
            }
    }

    fn admit(&mut self, start: &Start<'_>, call: Digest, traits: Traits, turn: u64) {
        let generation = self.lane.board.generation;
        let tool = start.action.tool.clone();
        let Action { identity, words, .. } = *start.action;
        let name = match &self.question.stream.naming {
            Naming::Own | Naming::Begun => None,
            Naming::Counted => Some(named(start.call)),
        };
        let flight = Flight { call, tool, identity, turn, generation, traits, name, words };
        self.lane(LaneFact::Started { flight, message: self.message });
    }

    /// The turn a call belongs to (L3).
    fn turn_of(&self, message: Option<&str>, traits: Traits) -> u64 {
        let lane = &self.lane;
        let next = lane.turn.saturating_add(1);
        if lane.is_unused {
            return lane.turn;
        }
        if let (Some(message), Some(last)) = (message, lane.message) {
            return if Digest::of(&[message.as_bytes()]) == last { lane.turn } else { next };
        }
        // A sub-agent whose calls are told as its parent's has turns of its own while the parent waits for it. Who starts
        // another beside it is the parent, in the same response.
        let is_childs = !traits.is_spawn && lane.flights.iter().any(|flight| flight.traits.is_spawn);
        let is_marked = self.question.stream.is_batched || (lane.is_marked && !is_childs);
        let is_idle =
            lane.flights.is_empty() || (is_childs && lane.flights.iter().all(|flight| flight.traits.is_spawn));
        let is_next = lane.is_fresh || (!is_marked && is_idle);
        if is_next { next } else { lane.turn }
    }

    fn traits(&self, action: &Action) -> Traits {
        let command = action.command.as_deref();
        let api = &self.limits.api;
        let is_api = self.limits.external_api.enabled
            && (command.is_some_and(|command| api.commands.iter().any(|name| command.contains(name.as_str())))
                || api.tools.iter().any(|glob| glob_matches(glob, &action.tool)));
        let is_poller =
            self.limits.pollers.iter().any(|glob| {
                glob_matches(glob, &action.tool) || command.is_some_and(|command| glob_matches(glob, command))
            });
        Traits {
            is_write: action.is_write,
            is_search: action.is_search,
            is_spawn: action.is_spawn,
            is_api,
            is_poller,
            is_wait: action.is_wait,
            is_rested: self.lane.has_rested(self.now),
        }
    }

    fn may_be_told_to_end(&self) -> bool {
        match self.limits.agents.on_full {
            crate::loop_::OnFull::Deny => false,
            crate::loop_::OnFull::StopOldest => self.question.stream.agent.is_some(),
        }
    }

    /// What the constraints in front of the action say, decided and not yet written down (C8).
    fn guards(&self, start: &Start<'_>) -> Asked<Vec<Decision>> {
        let mut needs = Vec::new();
        let mut decisions = Vec::new();
        for guarded in start.guarded {
            let name = CircuitName::constraint(&guarded.id);
            let Some(row) = self.memory.row(&name) else {
                needs.push(name);
                continue;
            };
            let circuit = row.and_then(State::as_constraint);
            let what = constraint::Happening::Enforce { action: start.action.shown.clone(), violated: true };
            let session = Some(self.question.stream.session.as_str());
            let question = constraint::Question { name, session, seen: guarded.seen.as_ref(), what: &what };
            match constraint::decide(circuit, self.policy, &question, self.now) {
                Step::Decided(decision) => decisions.push(decision),
                Step::Needs(more) => needs.extend(more),
                Step::Rejected(
                    Rejection::NotFound { .. }
                    | Rejection::InvalidTransition { .. }
                    | Rejection::NoOverride
                    | Rejection::NothingToTrust
                    | Rejection::NoSlice
                    | Rejection::ScopeFrozen
                    | Rejection::SliceFailing
                    | Rejection::NoTest
                    | Rejection::NoCourse
                    | Rejection::RunOver
                    | Rejection::Claim(_)
                    | Rejection::NoIncident,
                ) => {}
            }
        }
        if needs.is_empty() { Ok(decisions) } else { Err(needs) }
    }

    /// What the slices under way say of the files it changes, decided and not yet written down (A5).
    fn scopes(&self, start: &Start<'_>, turn: u64) -> Asked<Vec<Decision>> {
        let stream = self.question.stream;
        let agent = stream.agent.as_deref().unwrap_or_default();
        // All calls of one response share the answer (E5).
        let asker = Digest::of(&[stream.session.as_bytes(), agent.as_bytes(), &turn.to_be_bytes()]);
        let (mut needs, mut decisions) = (Vec::new(), Vec::new());
        for touched in start.touched {
            match attempt::guard(self.memory, self.policy, touched, Some(asker), Some(&stream.session), self.now) {
                Ok(decision) => decisions.extend(decision),
                Err(rows) => needs.extend(rows),
            }
        }
        if needs.is_empty() { Ok(decisions) } else { Err(needs) }
    }

    fn out_of_scope(&mut self, scope: &Decision) -> Verdict {
        self.facts.extend(scope.facts.iter().cloned());
        self.effects.extend(scope.effects.iter().cloned());
        let step = match &scope.verdict {
            Verdict::Stop(_) => RungStep::Stop,
            Verdict::Pass | Verdict::Warn(_) | Verdict::Deny(_) => RungStep::Deny,
        };
        if let Some(reason) = scope.verdict.reason() {
            // A turn whose only call was refused is a turn: who asks again in the next is another asker (E5).
            let key = Digest::of(&[reason.circuit.as_str().as_bytes()]);
            self.refused(key, Pattern::Constraint, step, None);
        }
        match step {
            RungStep::Stop => self.stopped(),
            RungStep::Deny => {}
        }
        scope.verdict.clone()
    }

    /// The first who refuses.
    fn refusal(
        &mut self,
        start: &Start<'_>,
        traits: Traits,
        front: &Front,
        (guards, scopes): (&[Decision], &[Decision]),
    ) -> Asked<Option<Verdict>> {
        if let Some(what) = start.tampering {
            self.need_tree_of_agent()?;
            return Ok(Some(self.tampering(what)));
        }
        if let Some(guard) = guards.iter().find(|guard| guard.verdict.refuses()) {
            self.need_tree_of_agent()?;
            return Ok(self.guarded(guard));
        }
        if let Some(scope) = scopes.iter().find(|scope| scope.verdict.refuses()) {
            self.need_tree_of_agent()?;
            return Ok(Some(self.out_of_scope(scope)));
        }
        if let Some(verdict) = self.told_to_end() {
            return Ok(Some(verdict));
        }
        if let Some(verdict) = self.hard_budget(start.action)? {
            return Ok(Some(verdict));
        }
        if let Some(refusal) = self.open_circuit(start.action, front)? {
            self.need_tree_of_agent()?;
            return Ok(Some(self.refuse(refusal, Some(start.action.shown.clone()))));
        }
        if let Some(verdict) = self.stuck_refusal(start.action, front)? {
            return Ok(Some(verdict));
        }
        if traits.is_spawn
            && let Some(verdict) = self.spawn_limits()?
        {
            return Ok(Some(verdict));
        }
        if traits.is_api
            && let Some(verdict) = self.api_limits()?
        {
            return Ok(Some(verdict));
        }
        Ok(None)
    }

    /// Whoever may be stopped as a sub-agent must be taken off the list of those that run.
    fn need_tree_of_agent(&mut self) -> Asked<()> {
        if self.question.stream.agent.is_some() { self.need_tree() } else { Ok(()) }
    }

    fn tampering(&mut self, what: &str) -> Verdict {
        let grounds = Grounds {
            pattern: Pattern::Tampering,
            code: "HL-OWN-01",
            fact: format!("this would {what}, which is for people only"),
            instead: "tell the person what you need and why.",
            avoid: "look for another way to do it.",
        };
        let key = Digest::of(&[b"tampering"]);
        self.limit(grounds, key, 1, Retry::Person)
    }

    fn guarded(&mut self, guard: &Decision) -> Option<Verdict> {
        let reason = guard.verdict.reason()?.clone();
        self.facts.extend(guard.facts.iter().cloned());
        let key = Digest::of(&[reason.circuit.as_str().as_bytes()]);
        let step = self.lane.board.next_step(key, self.lane.turn);
        self.refused(key, Pattern::Constraint, step, None);
        let refused = self.lane.board.rung(key).map_or(1, |rung| rung.refused);
        let grounds = Grounds {
            pattern: Pattern::Constraint,
            code: reason.code,
            fact: format!("`{}` guards this action: {}", reason.circuit, reason.text),
            instead: "respect the rule, or tell the person why it does not fit.",
            avoid: "spell the same action in another way.",
        };
        let reason = Reason { text: words::refusal(&grounds, None, step, refused), ..reason };
        Some(match step {
            RungStep::Deny => Verdict::Deny(reason),
            RungStep::Stop => {
                self.stopped();
                Verdict::Stop(reason)
            }
        })
    }

    /// What the seed's words call the same: the tool's name alone. Otherwise the whole action.
    pub(super) fn key_of(&self, tool: Digest, identity: Digest) -> Digest {
        if self.is_literal() { tool } else { identity }
    }

    fn open_circuit(&self, action: &Action, front: &Front) -> Asked<Option<Refusal>> {
        for key in front.keys.iter().copied() {
            let trip = match self.lane.board.standing(key, self.now) {
                Standing::Open(trip) | Standing::Probing(trip) => trip,
                Standing::Closed | Standing::Trial(..) => continue,
            };
            if self.is_exempt(trip.pattern, key)? {
                continue;
            }
            let grounds = self.grounds_of(trip, action);
            return Ok(Some(Refusal { grounds, key, retry: Retry::At(trip.until()), trip: Some(trip.clone()) }));
        }
        Ok(None)
    }

    /// What an open circuit says of an action.
    pub(super) fn grounds_of(&self, trip: &Trip, action: &Action) -> Grounds {
        // In the seed's words it is about the tool, whatever it is asked to do.
        let shown = if self.is_literal() { &action.tool } else { &action.shown };
        grounds::of(trip.pattern, &short(shown), trip.count, self.limits)
    }

    /// Lets the action through as the probe of every circuit that is on trial for it: they share one (E13).
    fn take_trials(&mut self, front: &Front, call: Digest) {
        for key in front.keys.iter().copied() {
            match self.lane.board.standing(key, self.now) {
                Standing::Trial(..) => self.take_trial(key, call),
                Standing::Closed | Standing::Open(_) | Standing::Probing(_) => {}
            }
        }
    }

    /// What a person wants the agent to know with its probe.
    fn hint(&self, front: &Front) -> Option<Verdict> {
        let held = self.lane.board.held.iter().find(|held| front.keys.contains(&held.trip.key))?;
        let by_person = match &held.stage {
            Stage::HalfOpen(Opening::Person) => true,
            Stage::HalfOpen(Opening::Cooldown | Opening::Write | Opening::Answer) | Stage::Open | Stage::Probing(_) => {
                false
            }
        };
        let incident = &held.trip.incident;
        let mut text = format!("HALTLINE HL-RESUME-01: a person allowed one attempt after incident {incident}.");
        if let Some(hint) = &held.hint {
            text.push_str(&format!(" They say: {hint}"));
        }
        let circuit = self.circuit(held.trip.pattern);
        by_person.then_some(Verdict::Warn(Reason { circuit, code: "HL-RESUME-01", text, retry: Retry::Now }))
    }

    /// What leads nowhere is refused at the bound (L6).
    fn stuck_refusal(&mut self, action: &Action, front: &Front) -> Asked<Option<Verdict>> {
        for found in front.stuck.iter().filter(|found| found.attempt >= found.limits.deny) {
            if !self.is_closed(found.key) || self.is_pardoned(found, action)? {
                continue;
            }
            self.need_tree_of_agent()?;
            let grounds = self.grounds_of_stuck(found, action);
            self.trip(&grounds, found.key, found.normal, found.times(), found.limits.cooldown_s)?;
            return Ok(Some(self.refuse_tripped(grounds, found.key, Some(action.shown.clone()))));
        }
        Ok(None)
    }

    fn is_closed(&self, key: Digest) -> bool {
        match self.lane.board.standing(key, self.now) {
            Standing::Closed => true,
            Standing::Open(_) | Standing::Trial(..) | Standing::Probing(_) => false,
        }
    }

    pub(super) fn refuse_tripped(&mut self, grounds: Grounds, key: Digest, shown: Option<String>) -> Verdict {
        let trip = self.lane.board.held.iter().find(|held| held.trip.key == key).map(|held| held.trip.clone());
        let retry = trip.as_ref().map_or(Retry::Now, |trip| Retry::At(trip.until()));
        self.refuse(Refusal { grounds, key, trip, retry }, shown)
    }

    /// What the agent is told with a call that runs: of each thing once.
    fn warning(&mut self, action: &Action, traits: Traits, front: &Front) -> Asked<Option<Warning>> {
        for found in front.stuck.iter().filter(|found| found.attempt >= found.limits.warn) {
            if !self.is_told(found) && self.is_closed(found.key) && !self.is_pardoned(found, action)? {
                let grounds = self.grounds_of_stuck(found, action);
                return Ok(Some(Warning { grounds, key: found.key, count: found.attempt }));
            }
        }
        let rate = if traits.is_spawn { self.spawn_rate() } else { None };
        let cost = if traits.is_api { self.api_cost_warning() } else { None };
        Ok(rate.or(cost).map(|(grounds, key, count)| Warning { grounds, key, count }))
    }
}
