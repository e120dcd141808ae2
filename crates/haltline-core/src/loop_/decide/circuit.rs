//! Records what happens to circuits in a decision: trips, probes, recoveries, denials and warnings (E5, E12).

use super::*;

impl AgentDraft<'_> {
    /// Trips a circuit of this agent, and notifies the person once.
    pub(super) fn trip(
        &mut self,
        explanation: &Explanation,
        key: Digest,
        normal: Option<Digest>,
        count: u32,
        cooldown_s: u32,
    ) -> Result<(), Halt> {
        // The notice shows the cost, which is in the tree's row.
        self.need_tree()?;
        let calls = explanation.calls.clone();
        let circuits = &self.agent.circuits;
        let trip = self.new_trip(circuits, &self.agent_row, explanation.pattern, key, normal, count, cooldown_s);
        let trip = Trip { calls, ..trip };
        let wait = messages::cooldown(&trip, self.now);
        self.push_notice(explanation, &trip.incident, Some(&wait), trip.streak);
        self.draft.notify(&self.agent_row, &trip.incident);
        self.record_about(explanation, AgentFact::Circuit(CircuitFact::Tripped { trip }));
        Ok(())
    }

    pub(super) fn trip_tree(&mut self, explanation: &Explanation, key: Digest, count: u32, limits: WindowLimits) {
        let Some(tree) = &self.tree else { return };
        let trip =
            self.new_trip(&tree.circuits, &self.tree_row, explanation.pattern, key, None, count, limits.cooldown_s);
        let wait = messages::cooldown(&trip, self.now);
        self.push_notice(explanation, &trip.incident, Some(&wait), trip.streak);
        self.draft.notify(&self.tree_row, &trip.incident);
        let text = Some(explanation.fact.clone());
        self.record_in_tree_at(self.now, AgentTreeFact::Circuit(CircuitFact::Tripped { trip }), text);
    }

    #[expect(clippy::too_many_arguments, reason = "a trip is made of exactly these")]
    pub(super) fn new_trip(
        &self,
        circuits: &Circuits,
        name: &CircuitName,
        pattern: Pattern,
        key: Digest,
        normal: Option<Digest>,
        count: u32,
        cooldown_s: u32,
    ) -> Trip {
        let streak = circuits.next_streak(pattern, self.now);
        let cooldown_ms = cooldown_ms_in_streak(cooldown_s, streak);
        let incident = self.incident_id(name, circuits.trips, key);
        Trip { incident, pattern, key, normal, calls: Vec::new(), since: self.now, cooldown_ms, count, streak }
    }

    pub(super) fn incident_id(&self, name: &CircuitName, trips: u64, key: Digest) -> String {
        incident_id_for_key(name, trips, self.now, key)
    }

    pub(super) fn push_notice(&mut self, explanation: &Explanation, incident: &str, wait: Option<&str>, streak: u32) {
        let cost = match &self.tree {
            Some(tree) => messages::cost(tree.spent.micros, tree.spent.is_priced, tree.spent.is_partial),
            None => "unknown".to_owned(),
        };
        let mut notice = messages::notice(explanation, incident, wait, &cost, self.policy.mode);
        if streak >= ALERT_STREAK {
            notice.push_str(&format!("\n  alert  trip {streak} in a row: a person should look"));
        }
        self.draft.notices.push(notice);
    }

    /// Records a fact with what it is about and the explanation's text.
    fn record_about(&mut self, explanation: &Explanation, fact: AgentFact) {
        let texts = Texts { session: None, text: Some(explanation.fact.clone()), about: explanation.about.clone() };
        let agent = std::mem::replace(&mut self.agent, AgentState::new(self.now));
        self.agent = self.draft.record(&self.agent_row, Some(agent), self.now, fact, texts);
    }

    /// The fact that a circuit became HALF_OPEN without a person.
    pub(super) fn half_opened(&self, incident: &str, cause: HalfOpenCause) -> CircuitFact {
        CircuitFact::HalfOpened { incident: incident.to_owned(), cause, hint: None, who: None }
    }

    /// Lets a call through as the probe of a HALF_OPEN circuit.
    pub(super) fn start_probe(&mut self, key: Digest, call: Digest) {
        let Some(tripped) = self.agent.circuits.tripped_for(key).cloned() else { return };
        let incident = tripped.trip.incident.clone();
        match tripped.state {
            TrippedState::Open => {
                // The circuit became HALF_OPEN when the cooldown ended, not when haltline looked at it.
                let at = tripped.trip.open_period().end();
                let opened = self.half_opened(&incident, HalfOpenCause::Cooldown);
                self.record_at(at, AgentFact::Circuit(opened), None);
            }
            TrippedState::Probing(_) => {
                self.record(AgentFact::Circuit(CircuitFact::ProbeAbandoned { incident: incident.clone() }));
            }
            TrippedState::HalfOpen(_) => {}
        }
        let cause = match tripped.state {
            TrippedState::HalfOpen(cause) => cause,
            TrippedState::Open | TrippedState::Probing(_) => HalfOpenCause::Cooldown,
        };
        let lease_ms = u64::from(self.limits.probe_lease_s) * 1000;
        let probe = Probe { call, since: self.now, lease_ms, cause };
        self.record(AgentFact::Circuit(CircuitFact::ProbeTaken { incident, probe }));
    }

    /// Closes the HALF_OPEN circuits of this agent that `is_over` selects, because the agent has moved on.
    pub(super) fn lapse(&mut self, is_over: impl Fn(Pattern, HalfOpenCause) -> bool) {
        let half_open = self.agent.circuits.tripped.iter().filter(|tripped| {
            match self.agent.circuits.state_at(tripped.trip.key, self.now) {
                CircuitState::HalfOpen(trip, cause) => is_over(trip.pattern, cause),
                CircuitState::Closed | CircuitState::Open(_) | CircuitState::Probing(_) => false,
            }
        });
        let over: Vec<String> = half_open.map(|tripped| tripped.trip.incident.clone()).collect();
        for incident in over {
            self.record(AgentFact::Circuit(CircuitFact::Lapsed { incident }));
        }
    }

    pub(super) fn recover(&mut self, key: Digest) {
        if let Some(tripped) = self.agent.circuits.tripped_for(key) {
            let incident = tripped.trip.incident.clone();
            self.record(AgentFact::Circuit(CircuitFact::Recovered { incident }));
        }
    }

    /// Denies, or ends the turn if haltline denied the same key in an earlier turn (E5).
    pub(super) fn deny(&mut self, denial: Denial, text: Option<String>) -> Verdict {
        let Denial { explanation, key, trip, retry } = denial;
        let level = self.agent.circuits.escalations.next_level(key, self.agent.turn.number);
        self.record_denial(key, explanation.pattern, level, text);
        let denials = self.agent.circuits.escalations.get(key).map_or(1, |escalation| escalation.denials);
        let wait = trip.as_ref().map(|trip| messages::cooldown(trip, self.now));
        let limit = self.agent.circuits.escalations.get(key).and_then(|escalation| escalation.incident.as_deref());
        let incident = trip.as_ref().map(|trip| trip.incident.as_str()).or(limit);
        let message = messages::denial(&explanation, wait.as_deref(), level, denials, incident);
        let reason =
            Reason { circuit: self.circuit_name(explanation.pattern), code: explanation.code, text: message, retry };
        match level {
            EscalationLevel::Deny => Verdict::Deny(reason),
            EscalationLevel::Stop => {
                self.record_stopped_sub_agent();
                Verdict::Stop(reason)
            }
        }
    }

    /// Records a denial, unless it is a duplicate.
    pub(super) fn record_denial(
        &mut self,
        key: Digest,
        pattern: Pattern,
        level: EscalationLevel,
        text: Option<String>,
    ) {
        if self.is_duplicate {
            return;
        }
        let (call, response, turn) = (self.call, self.response, self.agent.turn.number);
        let fact = CircuitFact::Denied { key, pattern, level, turn, call, response };
        self.record_at(self.now, AgentFact::Circuit(fact), text);
    }

    /// Records the end of a stopped sub-agent: the client does not report it.
    pub(super) fn record_stopped_sub_agent(&mut self) {
        if let (Some(sub_agent), Some(_)) = (self.request.agent_ref.sub_agent.clone(), &self.tree) {
            self.record_sub_agent_end(&sub_agent);
        }
    }

    /// Denies at a limit that has no circuit. The first denial is an incident, and haltline notifies the person.
    pub(super) fn deny_at_limit(&mut self, explanation: Explanation, key: Digest, count: u32, retry: Retry) -> Verdict {
        if self.agent.circuits.escalations.get(key).is_none_or(|escalation| escalation.incident.is_none()) {
            let incident = self.incident_id(&self.agent_row, self.agent.circuits.trips, key);
            self.push_notice(&explanation, &incident, None, 0);
            self.draft.notify(&self.agent_row, &incident);
            let fact = CircuitFact::Limited { incident, pattern: explanation.pattern, key, count };
            self.record_about(&explanation, AgentFact::Circuit(fact));
        }
        self.deny(Denial { explanation, key, trip: None, retry }, None)
    }

    /// Warns the agent and lets the call run.
    pub(super) fn warn(&mut self, explanation: &Explanation, key: Digest, count: u32, text: Option<String>) -> Verdict {
        let fact = CircuitFact::Warned { pattern: explanation.pattern, key, count };
        self.record_at(self.now, AgentFact::Circuit(fact), text.or(Some(explanation.fact.clone())));
        let text = messages::warning(explanation);
        Verdict::Warn(Reason {
            circuit: self.circuit_name(explanation.pattern),
            code: explanation.code,
            text,
            retry: Retry::Now,
        })
    }
}
