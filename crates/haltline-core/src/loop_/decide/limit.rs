//! The limits that a whole tree of agents shares: external services (L7), and what every limit without
//! a circuit has in common.

use super::*;
use crate::counted;
use crate::identity::{CallResult, Outcome};
use crate::loop_::InFlightCall;
use crate::loop_::api_calls_within;

/// The explanation, the key and the count of a limit that the agent is close to.
pub(super) type LimitWarning = (Explanation, Digest, u32);

/// A person's permission that the pending call uses.
pub(super) struct UsedAllowance {
    incident: String,
    hint: Option<String>,
    pattern: Pattern,
}

fn api_key() -> Digest {
    limit_key("external_api")
}

impl AgentDraft<'_> {
    /// True if a person lets one call pass this limit. The permission is used up if nothing else denies the call.
    pub(super) fn has_allowance(&mut self, pattern: Pattern, key: Digest) -> bool {
        let Some(escalation) = self.agent.circuits.escalations.get(key) else { return false };
        let (Some(incident), Some(allowance)) = (&escalation.incident, &escalation.allowance) else { return false };
        let used = UsedAllowance { incident: incident.clone(), hint: allowance.hint.clone(), pattern };
        if !self.allowances.iter().any(|known| known.incident == used.incident) {
            self.allowances.push(used);
        }
        true
    }

    /// Records that the call uses what a person allowed, and returns what that person wants the agent to know.
    pub(super) fn use_allowances(&mut self) -> Option<Verdict> {
        let mut hint = None;
        for UsedAllowance { incident, hint: text, pattern } in std::mem::take(&mut self.allowances) {
            hint = hint.or_else(|| Some(self.resumed(pattern, &incident, text.as_deref())));
            self.record(AgentFact::Circuit(CircuitFact::AllowanceUsed { incident }));
        }
        hint
    }

    /// What the agent reads about a call that a person allowed.
    pub(super) fn resumed(&self, pattern: Pattern, incident: &str, hint: Option<&str>) -> Verdict {
        let mut text = format!("HALTLINE HL-RESUME-01: a person allowed one attempt after incident {incident}.");
        if let Some(hint) = hint {
            text.push_str(&format!(" They say: {hint}"));
        }
        let circuit = self.circuit_name(pattern);
        Verdict::Warn(Reason { circuit, code: "HL-RESUME-01", text, retry: Retry::Now })
    }

    /// Ends the incidents of these limits: they are not in the agent's way any more. A person's permission that was not
    /// used ends with them.
    pub(super) fn lapse_limits(&mut self, limits: &[&str]) {
        let keys: Vec<Digest> = limits.iter().map(|limit| limit_key(limit)).collect();
        let is_used = |incident: &str| self.allowances.iter().any(|used| used.incident == incident);
        let over = self.agent.circuits.escalations.incidents();
        let over = over.filter(|(key, incident)| keys.contains(key) && !is_used(incident));
        let over: Vec<String> = over.map(|(_, incident)| incident.to_owned()).collect();
        for incident in over {
            self.record(AgentFact::Circuit(CircuitFact::Lapsed { incident }));
        }
    }

    /// Ends the incidents of the limits that a call has just passed.
    pub(super) fn lapse_passed_limits(&mut self, is_spawn: bool, is_api: bool) {
        if self.agent.circuits.escalations.is_empty() {
            return;
        }
        if is_spawn {
            self.lapse_limits(&["spawns", "depth", "concurrent", "spacing", "same_task"]);
        }
        if is_api {
            self.lapse_limits(&["api_calls", "api_cost"]);
        }
        if !self.is_saving {
            self.lapse_budgets();
        }
    }

    fn api_explanation(&self, code: &'static str, fact: String) -> Explanation {
        Explanation::new(
            Pattern::ExternalApi,
            code,
            fact,
            "work with the results you have until then.",
            "call the service in another way.",
        )
    }

    fn rate_fact(&self, count: u32) -> String {
        match count {
            // The circuit opened because another limit was reached (L10).
            0 => "external services must wait, because this session reached another limit".to_owned(),
            count => format!(
                "the agent called external services {} in {} s",
                counted(count, "time"),
                self.limits.external_api.window
            ),
        }
    }

    /// The denial if one more call to an external service would be too many (L7).
    pub(super) fn check_api_limits(&mut self) -> Result<Option<Verdict>, Halt> {
        let Some(tree) = self.tree.clone() else { return Ok(None) };
        if let Some(trip) = tree.circuits.state_at(api_key(), self.now).denying_trip() {
            if self.is_exempt(Pattern::ExternalApi, api_key())? {
                return Ok(None);
            }
            let explanation = self.api_explanation("HL-API-01", self.rate_fact(trip.count));
            return Ok(Some(self.deny(Denial::by_trip(explanation, trip), None)));
        }
        let limits = self.limits.api.clone();
        let count = u32::try_from(tree.api.count).unwrap_or(u32::MAX);
        if count >= limits.calls_max && !self.has_allowance(Pattern::ExternalApi, limit_key("api_calls")) {
            let fact = format!("this session called external services {}, its limit", counted(count, "time"));
            let explanation =
                self.api_explanation("HL-API-02", fact).raise("loop.external_api.session_max", limits.calls_max);
            return Ok(Some(self.deny_at_limit(explanation, limit_key("api_calls"), count, Retry::Person)));
        }
        let committed = tree.api.committed();
        let price = limits.call_micros.unwrap_or_default();
        let is_spent = committed.saturating_add(price) > limits.deny_micros || committed >= limits.deny_micros;
        if is_spent && !self.has_allowance(Pattern::ExternalApi, limit_key("api_cost")) {
            let (spent, limit) = (messages::dollars(committed), messages::dollars(limits.deny_micros));
            let fact = format!("external services cost {spent} of {limit}");
            let explanation = self.api_explanation("HL-API-03", fact).raise("api.cost_block_usd", &limit);
            return Ok(Some(self.deny_at_limit(explanation, limit_key("api_cost"), count, Retry::Person)));
        }
        Ok(None)
    }

    /// Counts a call to an external service; the Nth call in the window trips the circuit.
    pub(super) fn count_api_call(&mut self, call: Digest) -> Result<(), Halt> {
        let limits = self.limits.external_api;
        if !limits.enabled {
            return Ok(());
        }
        let Some(tree) = &self.tree else { return Ok(()) };
        if let CircuitState::HalfOpen(trip, _) = tree.circuits.state_at(api_key(), self.now) {
            let (incident, at) = (trip.incident.clone(), trip.open_period().end());
            let opened = self.half_opened(&incident, HalfOpenCause::Cooldown);
            self.record_in_tree_at(at, AgentTreeFact::Circuit(opened), None);
            let lease_ms = u64::from(self.limits.probe_lease_s) * 1000;
            let probe = Probe { call, since: self.now, lease_ms, cause: HalfOpenCause::Cooldown };
            self.record_in_tree(AgentTreeFact::Circuit(CircuitFact::ProbeTaken { incident, probe }));
        }
        let micros = self.limits.api.call_micros;
        self.record_in_tree(AgentTreeFact::ApiCalled { call, micros, keep: limits.threshold });
        let Some(tree) = &self.tree else { return Ok(()) };
        let count = api_calls_within(tree, limits.window, self.now);
        let is_closed = tree.circuits.state_at(api_key(), self.now) == CircuitState::Closed;
        if count >= limits.threshold && is_closed && !self.is_exempt(Pattern::ExternalApi, api_key())? {
            let explanation = self.api_explanation("HL-API-01", self.rate_fact(count));
            self.trip_tree(&explanation, api_key(), count, limits);
        }
        Ok(())
    }

    /// Counts a call that a service rejected for its rate, although haltline did not know that it uses a service. It
    /// costs nothing unless the result says so.
    pub(super) fn count_rate_limited_call(
        &mut self,
        in_flight: &InFlightCall,
        result: &CallResult,
    ) -> Result<(), Halt> {
        self.count_api_call(in_flight.id)?;
        let cost = result.cost.or(Some(0));
        self.complete_api_call(in_flight, &CallResult { cost, ..result.clone() })
    }

    /// Handles the end of a call to an external service: its cost, and whether it was a successful probe.
    pub(super) fn complete_api_call(&mut self, in_flight: &InFlightCall, result: &CallResult) -> Result<(), Halt> {
        self.need_tree()?;
        self.record_in_tree(AgentTreeFact::ApiCharged { call: in_flight.id, micros: result.cost });
        let tripped = self.tree.as_ref().and_then(|tree| tree.circuits.probed_by(in_flight.id)).cloned();
        let Some(tripped) = tripped else { return Ok(()) };
        let incident = tripped.trip.incident.clone();
        match result.outcome {
            Outcome::Ok => self.record_in_tree(AgentTreeFact::Circuit(CircuitFact::Recovered { incident })),
            Outcome::Failed | Outcome::RateLimited => {
                let explanation = self.api_explanation("HL-API-01", self.rate_fact(tripped.trip.count));
                self.trip_tree(&explanation, api_key(), tripped.trip.count, self.limits.external_api);
            }
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::Unknown => {
                self.record_in_tree(AgentTreeFact::Circuit(CircuitFact::ProbeAbandoned { incident }));
            }
        }
        Ok(())
    }

    /// The warning about the cost of external services; given once.
    pub(super) fn api_cost_warning(&mut self) -> Option<LimitWarning> {
        let key = limit_key("api_cost_warning");
        let tree = self.tree.as_ref()?;
        let committed = tree.api.committed().saturating_add(self.limits.api.call_micros.unwrap_or_default());
        if committed < self.limits.api.warn_micros || tree.warned_limits.contains(&key) {
            return None;
        }
        let limit = messages::dollars(self.limits.api.deny_micros);
        let fact = format!("external services cost {} of {limit}", messages::dollars(committed));
        self.record_in_tree(AgentTreeFact::LimitWarned { key });
        Some((self.api_explanation("HL-API-03", fact), key, 1))
    }

    /// Trips the circuit of external services because another limit was reached (L10).
    pub(super) fn cool_api_down(&mut self) {
        let limits = self.limits.external_api;
        let is_closed =
            self.tree.as_ref().is_some_and(|tree| tree.circuits.state_at(api_key(), self.now) == CircuitState::Closed);
        if limits.enabled
            && is_closed
            && let Some(tree) = &self.tree
        {
            let (pattern, cooldown_s) = (Pattern::ExternalApi, limits.cooldown_s);
            let trip = self.new_trip(&tree.circuits, &self.tree_row, pattern, api_key(), None, 0, cooldown_s);
            let text = Some("cools down because the session reached a resource limit".to_owned());
            self.record_in_tree_at(self.now, AgentTreeFact::Circuit(CircuitFact::Tripped { trip }), text);
        }
    }
}
