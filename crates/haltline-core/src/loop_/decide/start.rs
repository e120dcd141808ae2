//! Decides a call that is about to run. Everything that may deny the call is checked before anything is recorded as
//! used (E13).

use super::end::call_digest;
use super::pattern_match::Obstacles;
use super::*;
use crate::attempt;
use crate::constraint;
use crate::identity::Action;
use crate::loop_::{CallTraits, InFlightCall, OnFull, Protections};
use crate::{State, glob_matches};

/// The warning that a guarded action brings its constraint closer to OPEN, or has just opened it (C8).
fn warn_guarded(reason: &Reason) -> Verdict {
    let fact = format!("`{}` guards this action: {}", reason.circuit, reason.text);
    let instead = "respect the rule, or tell the person why it does not fit.";
    let explanation = Explanation::new(Pattern::Constraint, reason.code, fact, instead, "do it again.");
    Verdict::Warn(Reason { text: messages::warning(&explanation), ..reason.clone() })
}

/// A call that is about to run.
pub(super) struct Start<'a> {
    pub call: &'a str,
    pub response: Option<&'a str>,
    pub action: &'a Action,
    pub protections: &'a Protections,
}

/// A warning that the agent gets if the call runs.
struct Warning {
    explanation: Explanation,
    key: Digest,
    count: u32,
}

impl AgentDraft<'_> {
    /// The verdict on a call that is about to run.
    pub(super) fn tool_start(&mut self, start: &Start<'_>) -> Result<Verdict, Halt> {
        let call = self.call_id(start.call);
        let has_ended = self.agent.has_ended(call) && !self.is_next_response(start.response);
        if self.agent.in_flight_call(call).is_some() || has_ended {
            // The client delivers the same call again: it was decided and counted before.
            return Ok(Verdict::Pass);
        }
        self.call = Some(call);
        self.response = start.response.map(|response| Digest::from_parts(&[response.as_bytes()]));
        self.is_duplicate = self.was_denied(call, start.response);
        if self.agent.totals.calls == 0 {
            self.provider_answered()?;
        }
        let before = self.draft.length();
        let mut traits = self.call_traits(start.action);
        let way_out = self.add_way_out_traits(start.action, &mut traits);
        let turn = if self.is_duplicate { self.agent.turn.number } else { self.turn_of_call(start.response, traits) };
        let is_new_turn = turn != self.agent.turn.number || self.agent.turn.is_empty;
        self.agent.turn.number = turn;
        if traits.is_spawn || traits.is_api || self.has_budget() || self.may_be_ending() {
            self.need_tree()?;
        }
        let (guards, scopes) = match way_out {
            Some(_) => (Vec::new(), Vec::new()),
            None => (self.guards(start)?, self.scopes(start, turn)?),
        };
        let obstacles = match way_out {
            Some(_) => Obstacles::none(),
            None => self.obstacles(start.action, traits),
        };
        let denied = match way_out {
            Some(_) => self.denial_of_way_out(start)?,
            None => self.first_denial(start, traits, &obstacles, (&guards, &scopes))?,
        };
        if self.is_duplicate {
            self.draft.roll_back(before);
            return Ok(denied.unwrap_or(Verdict::Pass));
        }
        if is_new_turn && self.limits.budget.is_set() {
            self.record_in_tree(AgentTreeFact::Turn);
        }
        if denied.is_none() && self.has_budget() {
            self.count_budget_call(&start.action.tool)?;
        }
        if let Some(verdict) = denied {
            // In observe mode the call runs all the same, and its end will come.
            if self.policy.mode == Mode::Observe {
                self.admit(start, call, traits, turn);
            }
            return Ok(verdict);
        }
        if self.is_saving {
            self.record_in_tree(AgentTreeFact::Saved);
        }
        let warning = self.warning(start.action, traits, &obstacles)?;
        let guard_warning = guards.iter().find_map(|guard| guard.verdict.reason()).map(warn_guarded);
        for guard in guards {
            self.draft.facts.extend(guard.facts);
            self.draft.effects.extend(guard.effects);
        }
        let hint = self.hint(&obstacles).or_else(|| self.use_allowances());
        self.lapse_passed_limits(traits.is_spawn, traits.is_api);
        // Nothing counts an exempt call, as nothing counts a poller.
        traits.is_poller |= self.is_exempt_call;
        self.start_probes(&obstacles, call);
        self.admit(start, call, traits, turn);
        if traits.is_spawn {
            self.probe_provider(call)?;
            self.permit_spawn(call, turn, Some(start.action.identity))?;
        }
        if traits.is_api {
            self.count_api_call(call)?;
        }
        // What a person says goes before haltline's own warning.
        Ok(match (hint, warning) {
            (Some(hint), _) => hint,
            (None, Some(Warning { explanation, key, count })) => {
                self.warn(&explanation, key, count, Some(start.action.shown.clone()))
            }
            (None, None) => guard_warning.unwrap_or(Verdict::Pass),
        })
    }

    /// True if a call certainly belongs to another response than the last call. Some services number their calls from
    /// the start in each response: an id that comes again in the next response is a new call, so that an agent cannot
    /// hide behind a reused id.
    fn is_next_response(&self, response: Option<&str>) -> bool {
        match (response, self.agent.turn.response) {
            (Some(response), Some(last)) => Digest::from_parts(&[response.as_bytes()]) != last,
            (Some(_) | None, _) => {
                (self.request.agent_ref.marks_batches || self.agent.turn.marks_ends) && self.agent.turn.is_over
            }
        }
    }

    /// True if the call was denied before and another hook source delivers it again: the agent gets the same verdict in
    /// the same turn, and nothing is counted. With [`CallIds::StartOnly`] the id alone proves it. A caller without a
    /// hook source never delivers twice, so its repeated start is a new attempt.
    fn was_denied(&self, call: Digest, response: Option<&str>) -> bool {
        self.request.agent_ref.hook_source.is_some()
            && self.agent.deliveries.denied_calls.contains(&call)
            && match &self.request.agent_ref.call_ids {
                CallIds::Stable => !self.is_next_response(response),
                CallIds::StartOnly => true,
                // Each start is a new call.
                CallIds::None => false,
            }
    }

    fn admit(&mut self, start: &Start<'_>, call: Digest, traits: CallTraits, turn: u64) {
        let transcript_id = match &self.request.agent_ref.call_ids {
            CallIds::Stable | CallIds::StartOnly => None,
            CallIds::None => Some(call_digest(start.call)),
        };
        let call = InFlightCall { transcript_id, ..self.in_flight_call(call, start.action, traits, turn) };
        self.record(AgentFact::Started { call, response: self.response });
    }

    /// The turn that a call belongs to (L3).
    fn turn_of_call(&self, response: Option<&str>, traits: CallTraits) -> u64 {
        let agent = &self.agent;
        let next = agent.turn.next();
        if agent.turn.is_empty {
            return agent.turn.number;
        }
        if let (Some(response), Some(last)) = (response, agent.turn.response) {
            return if Digest::from_parts(&[response.as_bytes()]) == last { agent.turn.number } else { next };
        }
        // Some clients report a sub-agent's calls as its parent's. While the parent waits for the sub-agent, these
        // calls have turns of their own; another spawn comes from the parent, in the same response.
        let is_from_sub_agent = !traits.is_spawn && agent.in_flight.iter().any(|in_flight| in_flight.traits.is_spawn);
        let marks_turn_ends = self.request.agent_ref.marks_batches || (agent.turn.marks_ends && !is_from_sub_agent);
        let is_idle = agent.in_flight.is_empty()
            || (is_from_sub_agent && agent.in_flight.iter().all(|in_flight| in_flight.traits.is_spawn));
        let is_next = agent.turn.is_over || (!marks_turn_ends && is_idle);
        if is_next { next } else { agent.turn.number }
    }

    fn call_traits(&self, action: &Action) -> CallTraits {
        let command = action.command.as_deref();
        let api = &self.limits.api;
        let is_api = self.limits.external_api.enabled
            && (api.commands.iter().any(|name| self.calls(action, name))
                || api.tools.iter().any(|glob| glob_matches(glob, &action.tool)));
        let is_poller =
            self.limits.pollers.iter().any(|glob| {
                glob_matches(glob, &action.tool) || command.is_some_and(|command| glob_matches(glob, command))
            });
        CallTraits { is_api, is_poller, is_after_idle: self.agent.was_idle_at(self.now), ..CallTraits::of(action) }
    }

    /// True if the action runs the program of this name. With preset `literal` it is enough that its command contains
    /// the name, as seed 002 says.
    fn calls(&self, action: &Action, name: &str) -> bool {
        match &action.command {
            Some(command) if self.is_literal() || !command.contains(name) => command.contains(name),
            Some(_) | None => action.script.as_deref().is_some_and(|script| script.calls(name)),
        }
    }

    fn may_be_ending(&self) -> bool {
        self.limits.agents.on_full == OnFull::StopOldest && self.request.agent_ref.sub_agent.is_some()
    }

    /// The decisions of the constraints that guard the action, not yet recorded (C8).
    fn guards(&self, start: &Start<'_>) -> Result<Vec<Decision>, Halt> {
        let names: Vec<CircuitName> =
            start.protections.guarded.iter().map(|guarded| CircuitName::constraint(&guarded.id)).collect();
        self.memory.require_all(&names)?;
        let mut decisions = Vec::new();
        for (guarded, name) in start.protections.guarded.iter().zip(names) {
            let circuit = self.memory.state(&name).and_then(State::as_constraint);
            let event = constraint::ConstraintEvent::Enforce { action: start.action.shown.clone(), violated: true };
            let session = Some(self.request.agent_ref.session.as_str());
            let request = constraint::ConstraintRequest { name, session, file: guarded.file.as_ref(), event: &event };
            match constraint::decide(circuit, self.policy, &request, self.now) {
                Ok(decision) => decisions.push(decision),
                Err(needs @ Halt::Needs(_)) => return Err(needs),
                // A constraint that is retired or unknown guards nothing.
                Err(Halt::Rejected(_)) => {}
            }
        }
        Ok(decisions)
    }

    /// The decisions of the slices whose scope covers the files that the call changes, not yet recorded (A5).
    fn scopes(&self, start: &Start<'_>, turn: u64) -> Result<Vec<Decision>, Halt> {
        let agent_ref = self.request.agent_ref;
        let sub_agent = agent_ref.sub_agent.as_deref().unwrap_or_default();
        // All calls of one turn share the verdict (E5).
        let turn_digest =
            Digest::from_parts(&[agent_ref.session.as_bytes(), sub_agent.as_bytes(), &turn.to_be_bytes()]);
        let slices: Vec<CircuitName> =
            start.protections.touched.iter().flat_map(|touched| touched.slices.clone()).collect();
        self.memory.require_all(&slices)?;
        let (requester, session) = (Some(turn_digest), Some(agent_ref.session.as_str()));
        let guards = start
            .protections
            .touched
            .iter()
            .map(|touched| attempt::guard(self.memory, self.policy, touched, requester, session, self.now));
        guards.filter_map(Result::transpose).collect()
    }

    fn deny_out_of_scope(&mut self, scope: &Decision) -> Verdict {
        self.draft.facts.extend(scope.facts.iter().cloned());
        self.draft.effects.extend(scope.effects.iter().cloned());
        let is_stop = matches!(scope.verdict, Verdict::Stop(_));
        let level = if is_stop { EscalationLevel::Stop } else { EscalationLevel::Deny };
        if let Some(reason) = scope.verdict.reason() {
            // A turn whose only call was denied is a turn: an attempt in the next turn escalates (E5).
            let key = Digest::from_parts(&[reason.circuit.as_str().as_bytes()]);
            self.record_denial(key, Pattern::Constraint, level, None);
        }
        if is_stop {
            self.record_stopped_sub_agent();
        }
        scope.verdict.clone()
    }

    /// The first denial, in order of precedence; `None` if nothing denies the call.
    fn first_denial(
        &mut self,
        start: &Start<'_>,
        traits: CallTraits,
        obstacles: &Obstacles,
        (guards, scopes): (&[Decision], &[Decision]),
    ) -> Result<Option<Verdict>, Halt> {
        if let Some(attempt) = &start.protections.tampering {
            self.need_tree_if_sub_agent()?;
            return Ok(Some(self.deny_tampering(attempt)));
        }
        if let Some(guard) = guards.iter().find(|guard| guard.verdict.denies()) {
            self.need_tree_if_sub_agent()?;
            return Ok(self.deny_guarded(guard));
        }
        if let Some(scope) = scopes.iter().find(|scope| scope.verdict.denies()) {
            self.need_tree_if_sub_agent()?;
            return Ok(Some(self.deny_out_of_scope(scope)));
        }
        if let Some(verdict) = self.deny_if_ending() {
            return Ok(Some(verdict));
        }
        if let Some(verdict) = self.check_hard_budget(start.action, traits.is_spawn)? {
            return Ok(Some(verdict));
        }
        if let Some(denial) = self.denial_by_open_circuit(start.action, obstacles)? {
            self.need_tree_if_sub_agent()?;
            return Ok(Some(self.deny(denial, Some(start.action.shown.clone()))));
        }
        if let Some(verdict) = self.deny_pattern_match(start.action, obstacles)? {
            return Ok(Some(verdict));
        }
        if traits.is_spawn
            && let Some(verdict) = self.deny_new_work(Some(start.action.shown.clone()))?
        {
            return Ok(Some(verdict));
        }
        if traits.is_spawn
            && let Some(verdict) = self.deny_repeated_task(start.action.identity)?
        {
            return Ok(Some(verdict));
        }
        if traits.is_spawn
            && let Some(verdict) = self.check_spawn_limits()?
        {
            return Ok(Some(verdict));
        }
        if traits.is_api
            && let Some(verdict) = self.check_api_limits()?
        {
            return Ok(Some(verdict));
        }
        Ok(None)
    }

    /// A denial may stop a sub-agent, which must then be removed from the tree's list of running ones.
    pub(super) fn need_tree_if_sub_agent(&mut self) -> Result<(), Halt> {
        if self.request.agent_ref.sub_agent.is_some() { self.need_tree() } else { Ok(()) }
    }

    pub(super) fn deny_tampering(&mut self, attempt: &str) -> Verdict {
        let explanation = Explanation::new(
            Pattern::Tampering,
            "HL-OWN-01",
            format!("this would {attempt}, which only a person may do"),
            "tell the person what you need and why.",
            "look for another way to do it.",
        );
        self.deny_at_limit(explanation, tampering_key(), 1, Retry::Person)
    }

    fn deny_guarded(&mut self, guard: &Decision) -> Option<Verdict> {
        let reason = guard.verdict.reason()?.clone();
        self.draft.facts.extend(guard.facts.iter().cloned());
        let key = Digest::from_parts(&[reason.circuit.as_str().as_bytes()]);
        let level = self.agent.circuits.escalations.next_level(key, self.agent.turn.number);
        self.record_denial(key, Pattern::Constraint, level, None);
        let denials = self.agent.circuits.escalations.get(key).map_or(1, |escalation| escalation.denials);
        let explanation = Explanation::new(
            Pattern::Constraint,
            reason.code,
            format!("`{}` guards this action: {}", reason.circuit, reason.text),
            "respect the rule, or tell the person why it does not fit.",
            "write the same action in another way.",
        );
        let reason = Reason { text: messages::denial(&explanation, None, level, denials, None), ..reason };
        Some(match level {
            EscalationLevel::Deny => Verdict::Deny(reason),
            EscalationLevel::Stop => {
                self.record_stopped_sub_agent();
                Verdict::Stop(reason)
            }
        })
    }

    /// What makes two calls the same: with preset `literal` the tool's name alone, otherwise the whole action.
    pub(super) fn key_of(&self, tool: Digest, identity: Digest) -> Digest {
        if self.is_literal() { tool } else { identity }
    }

    fn denial_by_open_circuit(&self, action: &Action, obstacles: &Obstacles) -> Result<Option<Denial>, Halt> {
        for key in obstacles.keys.iter().copied() {
            if let Some(trip) = self.agent.circuits.state_at(key, self.now).denying_trip()
                && !self.is_call_exempt(trip.pattern, key, action.identity)?
            {
                return Ok(Some(Denial::by_trip(self.explain_trip(trip, action), trip)));
            }
        }
        Ok(None)
    }

    /// Explains the trip of an OPEN circuit for an action.
    pub(super) fn explain_trip(&self, trip: &Trip, action: &Action) -> Explanation {
        // With preset `literal` the circuit is about the tool, whatever its arguments.
        let shown = if self.is_literal() { &action.tool } else { &action.shown };
        let shown = short(shown);
        trip.pattern.explain(&shown, trip.count, self.limits).about(&shown, trip.calls.clone())
    }

    /// Lets the call through as the probe of every HALF_OPEN circuit that is in its way: they share one probe (E13).
    fn start_probes(&mut self, obstacles: &Obstacles, call: Digest) {
        for key in obstacles.keys.iter().copied() {
            if self.agent.circuits.state_at(key, self.now).is_half_open() {
                self.start_probe(key, call);
            }
        }
    }

    /// What a person who resumed the circuit wants the agent to know.
    fn hint(&self, obstacles: &Obstacles) -> Option<Verdict> {
        let tripped = self.agent.circuits.tripped.iter().find(|tripped| obstacles.keys.contains(&tripped.trip.key))?;
        let by_person = tripped.state == TrippedState::HalfOpen(HalfOpenCause::Person);
        by_person.then(|| self.resumed(tripped.trip.pattern, &tripped.trip.incident, tripped.hint.as_deref()))
    }

    /// Trips and denies at the first pattern match that has reached its `deny` limit (L6).
    fn deny_pattern_match(&mut self, action: &Action, obstacles: &Obstacles) -> Result<Option<Verdict>, Halt> {
        for found in obstacles.matches.iter().filter(|found| found.attempt >= found.limits.deny) {
            if !self.is_closed(found.key) || self.is_match_exempt(found, action)? {
                continue;
            }
            self.need_tree_if_sub_agent()?;
            let explanation = self.explain_match(found, action);
            self.trip(&explanation, found.key, found.normal, found.occurrences(), found.limits.cooldown_s)?;
            return Ok(Some(self.deny_tripped(explanation, found.key, Some(action.shown.clone()))));
        }
        Ok(None)
    }

    fn is_closed(&self, key: Digest) -> bool {
        self.agent.circuits.state_at(key, self.now) == CircuitState::Closed
    }

    pub(super) fn deny_tripped(&mut self, explanation: Explanation, key: Digest, shown: Option<String>) -> Verdict {
        let trip = self.agent.circuits.tripped_for(key).map(|tripped| tripped.trip.clone());
        let retry = trip.as_ref().map_or(Retry::Now, |trip| Retry::At(trip.until()));
        self.deny(Denial { explanation, key, trip, retry }, shown)
    }

    /// The warning that the agent gets with a call that runs; haltline warns of each match once.
    fn warning(&mut self, action: &Action, traits: CallTraits, obstacles: &Obstacles) -> Result<Option<Warning>, Halt> {
        for found in obstacles.matches.iter().filter(|found| found.attempt >= found.limits.warn) {
            if !self.is_already_warned(found) && self.is_closed(found.key) && !self.is_match_exempt(found, action)? {
                let explanation = self.explain_warning(found, action);
                return Ok(Some(Warning { explanation, key: found.key, count: found.attempt }));
            }
        }
        let task = if traits.is_spawn { self.task_warning(action.identity) } else { None };
        let rate = if traits.is_spawn && !self.is_literal() { self.spawn_rate_warning() } else { None };
        let cost = if traits.is_api { self.api_cost_warning() } else { None };
        Ok(task.or(rate).or(cost).map(|(explanation, key, count)| Warning { explanation, key, count }))
    }
}
