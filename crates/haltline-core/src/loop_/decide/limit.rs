//! The limits that a whole tree of agents shares: spawns, external services and the budget (L7, L8).

use super::*;
use crate::identity::{Action, CallResult, Outcome};
use crate::loop_::InFlightCall;
use crate::loop_::agent_tree::Permit;
use crate::loop_::{Bound, OnFull, api_calls_within};
use crate::{Elapsed, State};

/// A sub-agent without events for this long is considered gone: clients do not report every end.
const AGENT_IDLE_MS: u64 = 30 * 60 * 1000;

/// The explanation, the key and the count of a limit that the agent is close to.
type LimitWarning = (Explanation, Digest, u32);

fn api_key() -> Digest {
    limit_key("external_api")
}

fn spawn_key() -> Digest {
    limit_key("agent_spawn")
}

impl AgentDraft<'_> {
    /// Stops a sub-agent that had to make room for a newer one.
    pub(super) fn deny_if_ending(&mut self) -> Option<Verdict> {
        let id = self.request.agent_ref.sub_agent.as_deref()?;
        let agent = self.tree.as_ref()?.sub_agents.iter().find(|agent| agent.id == id)?;
        if !agent.is_ending {
            return None;
        }
        let explanation = Explanation {
            pattern: Pattern::AgentSpawn,
            code: "HL-SPAWN-06",
            fact: "a newer agent took this one's place".to_owned(),
            instead: "end now; what you have done stays.",
            avoid: "start anything else.",
        };
        let text = messages::denial(&explanation, None, EscalationLevel::Stop, 1);
        self.record_denial(limit_key("stop_oldest"), explanation.pattern, EscalationLevel::Stop, None);
        self.record_stopped_sub_agent();
        let circuit = self.circuit_name(explanation.pattern);
        Some(Verdict::Stop(Reason { circuit, code: explanation.code, text, retry: Retry::Person }))
    }

    /// The denial if one more sub-agent would be too many.
    pub(super) fn check_spawn_limits(&mut self) -> Result<Option<Verdict>, Halt> {
        let agents = self.limits.agents;
        let Some(tree) = self.tree.clone() else { return Ok(None) };
        let deny = |draft: &mut Self, code, fact, limit, count, retry| {
            let instead = "do the work yourself, or wait for an agent to end.";
            let avoid = "start another agent for it.";
            let explanation = Explanation { pattern: Pattern::AgentSpawn, code, fact, instead, avoid };
            Ok(Some(draft.deny_at_limit(explanation, limit_key(limit), count, retry)))
        };
        if tree.spawns >= u64::from(agents.spawns_max) {
            let fact = format!("this session started {} agents, its limit", tree.spawns);
            self.cool_api_down();
            let count = u32::try_from(tree.spawns).unwrap_or(u32::MAX);
            return deny(self, "HL-SPAWN-04", fact, "spawns", count, Retry::Person);
        }
        let depth = tree.depth(self.request.agent_ref.sub_agent.as_deref()).saturating_add(1);
        if depth > agents.depth_max {
            let fact =
                format!("this would be an agent {depth} levels below the main one; the limit is {}", agents.depth_max);
            return deny(self, "HL-SPAWN-05", fact, "depth", depth, Retry::Person);
        }
        if tree.is_bypassed {
            return Ok(None);
        }
        if self.is_literal()
            && let Some(verdict) = self.deny_spawn_rate(&tree)
        {
            return Ok(Some(verdict));
        }
        if tree.live() < agents.concurrent_max as usize {
            return Ok(None);
        }
        self.forget_idle_agents()?;
        let live = self.tree.as_ref().map_or(0, AgentTree::live);
        if live < agents.concurrent_max as usize {
            return Ok(None);
        }
        let oldest = self.tree.iter().flat_map(|tree| &tree.sub_agents).find(|agent| !agent.is_ending);
        if let Some(oldest) = oldest.filter(|_| agents.on_full == OnFull::StopOldest) {
            let id = oldest.id.clone();
            self.record_in_tree(AgentTreeFact::SubAgentEnding { id });
            return Ok(None);
        }
        let fact = format!("{live} agents run at once, the limit");
        self.cool_api_down();
        let count = u32::try_from(live).unwrap_or(u32::MAX);
        deny(self, "HL-SPAWN-03", fact, "concurrent", count, Retry::Now)
    }

    /// With preset `literal`, the spawn rate denies as well.
    fn deny_spawn_rate(&mut self, tree: &AgentTree) -> Option<Verdict> {
        if let Some((_, since)) = self.recent_spawn(tree) {
            let retry = Retry::At(since.plus_millis(u64::from(self.limits.agents.spacing_s) * 1000).at);
            return Some(self.deny_at_limit(self.spacing_explanation(), limit_key("spacing"), 1, retry));
        }
        match self.agent.circuits.state_at(spawn_key(), self.now) {
            CircuitState::Open(trip) | CircuitState::Probing(trip) => {
                let denial = Denial::by_trip(self.rate_explanation(trip.count), trip);
                Some(self.deny(denial, None))
            }
            CircuitState::HalfOpen(..) => {
                self.start_probe(spawn_key(), spawn_key());
                self.recover(spawn_key());
                None
            }
            CircuitState::Closed => None,
        }
    }

    /// The time since the last spawn and when it was, if it is too recent and not of the same parallel batch.
    fn recent_spawn(&self, tree: &AgentTree) -> Option<(u64, Moment)> {
        let (agent, turn, since) = tree.last_spawn?;
        if agent == self.agent_digest() && turn == self.agent.turn.number {
            return None;
        }
        match self.now.since(since) {
            Elapsed::Known(elapsed) if elapsed < u64::from(self.limits.agents.spacing_s) * 1000 => {
                Some((elapsed, since))
            }
            Elapsed::Known(_) | Elapsed::Unknown => None,
        }
    }

    fn agent_digest(&self) -> Digest {
        Digest::from_parts(&[self.agent_row.as_str().as_bytes()])
    }

    fn spacing_explanation(&self) -> Explanation {
        Explanation {
            pattern: Pattern::AgentSpawn,
            code: "HL-SPAWN-02",
            fact: format!("the last agent was started less than {} s ago", self.limits.agents.spacing_s),
            instead: "start agents together in one message, or do the work yourself.",
            avoid: "start them one after the other.",
        }
    }

    fn rate_explanation(&self, count: u32) -> Explanation {
        Explanation {
            pattern: Pattern::AgentSpawn,
            code: "HL-SPAWN-01",
            fact: format!("{count} agents were started in {} turns", self.limits.agent_spawn.window),
            instead: "wait for their results before starting more.",
            avoid: "start agents to find out what the others do.",
        }
    }

    fn spawns_in_window(&self) -> u32 {
        let window = self.limits.agent_spawn.window;
        let turn = self.agent.turn.number;
        let recent = self.agent.spawn_turns.iter().filter(|&&then| pattern::is_within(then, turn, window));
        pattern::count(recent)
    }

    /// The warning for an agent that starts sub-agents fast.
    pub(super) fn spawn_rate_warning(&self) -> Option<LimitWarning> {
        let tree = self.tree.as_ref().filter(|tree| !tree.is_bypassed)?;
        let limits = self.limits.agent_spawn;
        let count = self.spawns_in_window() + 1;
        if limits.enabled && count > limits.threshold {
            return Some((self.rate_explanation(count), spawn_key(), count));
        }
        // A second sub-agent soon after the first is normal; from the third on haltline warns.
        let is_close = self.recent_spawn(tree).is_some() && tree.spawns >= 2;
        is_close.then(|| (self.spacing_explanation(), limit_key("spacing"), 1))
    }

    /// Reserves room for a sub-agent that is about to start.
    pub(super) fn permit_spawn(&mut self, call: Digest, turn: u64) -> Result<(), Halt> {
        let depth = self.tree.as_ref().map_or(0, |tree| tree.depth(self.request.agent_ref.sub_agent.as_deref())) + 1;
        let permit = Permit { call, depth, since: self.now };
        self.record_in_tree(AgentTreeFact::Permitted { permit, agent: self.agent_digest(), turn });
        let limits = self.limits.agent_spawn;
        self.record(AgentFact::Spawned { keep: limits.threshold.max(16) });
        let count = self.spawns_in_window();
        let is_closed = self.agent.circuits.state_at(spawn_key(), self.now) == CircuitState::Closed;
        let is_lifted = self.tree.as_ref().is_some_and(|tree| tree.is_bypassed);
        if self.is_literal() && limits.enabled && count >= limits.threshold && is_closed && !is_lifted {
            self.trip(&self.rate_explanation(count), spawn_key(), None, count, limits.cooldown_s)?;
        }
        Ok(())
    }

    /// Handles the end of a call that starts a sub-agent.
    pub(super) fn complete_spawn(&mut self, in_flight: &InFlightCall, result: &CallResult) -> Result<(), Halt> {
        self.need_tree()?;
        let Some(tree) = &self.tree else { return Ok(()) };
        let permit = tree.permits.iter().find(|permit| permit.call == in_flight.id).copied();
        if result.outcome != Outcome::Ok {
            self.refund_spawn(in_flight.id);
            return Ok(());
        }
        let depth = permit.map(|permit| permit.depth);
        match (&result.sub_agent, depth) {
            (Some(sub_agent), depth) => {
                let depth = depth.unwrap_or_else(|| tree.depth(self.request.agent_ref.sub_agent.as_deref()) + 1);
                let call = Some(in_flight.id);
                if result.is_sub_agent_running {
                    self.record_in_tree(AgentTreeFact::SubAgentBegan { id: sub_agent.clone(), depth, call });
                } else {
                    self.record_in_tree(AgentTreeFact::PermitUsed { call: in_flight.id });
                    self.record_sub_agent_end(sub_agent);
                }
            }
            (None, Some(_)) => self.record_in_tree(AgentTreeFact::PermitUsed { call: in_flight.id }),
            (None, None) => {}
        }
        Ok(())
    }

    /// Records that a spawn that haltline had let through did not happen.
    pub(super) fn refund_spawn(&mut self, call: Digest) {
        if self.tree.as_ref().is_some_and(|tree| tree.permits.iter().any(|permit| permit.call == call)) {
            self.record_in_tree(AgentTreeFact::Refunded { call });
        }
    }

    /// A sub-agent starts. If no call announced it, the limits are checked here.
    pub(super) fn spawn_start(&mut self, sub_agent: &str, depth: Option<u32>) -> Result<Verdict, Halt> {
        self.need_tree()?;
        let Some(tree) = &self.tree else { return Ok(Verdict::Pass) };
        let own = tree.depth(self.request.agent_ref.sub_agent.as_deref()) + 1;
        if tree.sub_agents.iter().any(|agent| agent.id == sub_agent) {
            return Ok(Verdict::Pass);
        }
        let permit = tree.permits.first().copied();
        let mut verdict = Verdict::Pass;
        if permit.is_none() {
            let call = Digest::from_parts(&[b"spawn", sub_agent.as_bytes()]);
            if !self.request.agent_ref.marks_batches {
                if let Some(denied) = self.check_spawn_limits()? {
                    return Ok(denied);
                }
                if let Some((explanation, key, count)) = self.spawn_rate_warning().filter(|_| !self.is_literal()) {
                    verdict = self.warn(&explanation, key, count, None);
                }
            }
            self.permit_spawn(call, self.agent.turn.number)?;
            let depth = depth.unwrap_or(own);
            self.record_in_tree(AgentTreeFact::SubAgentBegan { id: sub_agent.to_owned(), depth, call: Some(call) });
            return Ok(verdict);
        }
        let depth = depth.or(permit.map(|permit| permit.depth)).unwrap_or(own);
        let call = permit.map(|permit| permit.call);
        self.record_in_tree(AgentTreeFact::SubAgentBegan { id: sub_agent.to_owned(), depth, call });
        Ok(verdict)
    }

    /// Removes sub-agents that have been idle for long: they no longer run, although no end was reported.
    fn forget_idle_agents(&mut self) -> Result<(), Halt> {
        let Some(tree) = &self.tree else { return Ok(()) };
        let session = &self.request.agent_ref.session;
        let names: Vec<CircuitName> =
            tree.sub_agents.iter().map(|agent| CircuitName::agent(session, Some(&agent.id))).collect();
        self.memory.require_all(&names)?;
        let mut idle = Vec::new();
        for (agent, name) in tree.sub_agents.iter().zip(&names) {
            let seen = self.memory.state(name).and_then(State::as_agent).map_or(agent.since, |agent| agent.last_seen);
            if matches!(self.now.since(seen), Elapsed::Known(elapsed) if elapsed >= AGENT_IDLE_MS) {
                idle.push(agent.id.clone());
            }
        }
        for id in idle {
            self.record_sub_agent_end(&id);
        }
        Ok(())
    }

    fn api_explanation(&self, code: &'static str, fact: String) -> Explanation {
        Explanation {
            pattern: Pattern::ExternalApi,
            code,
            fact,
            instead: "work with the answers you have until then.",
            avoid: "call the service by another way.",
        }
    }

    fn rate_fact(&self, count: u32) -> String {
        format!("external services were called {count} times in {} s", self.limits.external_api.window)
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
        if count >= limits.calls_max {
            let explanation =
                self.api_explanation("HL-API-02", format!("this session made {count} such calls, its limit"));
            self.cool_api_down();
            return Ok(Some(self.deny_at_limit(explanation, limit_key("api_calls"), count, Retry::Person)));
        }
        let committed = tree.api.committed();
        let price = limits.call_micros.unwrap_or_default();
        if committed.saturating_add(price) > limits.deny_micros || committed >= limits.deny_micros {
            let (spent, limit) = (messages::dollars(committed), messages::dollars(limits.deny_micros));
            let explanation = self.api_explanation("HL-API-03", format!("external services cost {spent} of {limit}"));
            self.cool_api_down();
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
            let opened =
                CircuitFact::HalfOpened { incident: incident.clone(), cause: HalfOpenCause::Cooldown, hint: None };
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
    fn cool_api_down(&mut self) {
        let limits = self.limits.external_api;
        let is_closed =
            self.tree.as_ref().is_some_and(|tree| tree.circuits.state_at(api_key(), self.now) == CircuitState::Closed);
        if limits.enabled
            && is_closed
            && let Some(tree) = &self.tree
        {
            let (pattern, cooldown_s) = (Pattern::ExternalApi, limits.cooldown_s);
            let trip = self.new_trip(&tree.circuits, &self.tree_row, pattern, api_key(), None, 0, cooldown_s);
            let text = Some("cooled down because a resource limit was reached".to_owned());
            self.record_in_tree_at(self.now, AgentTreeFact::Circuit(CircuitFact::Tripped { trip }), text);
        }
    }

    /// What is used of each budget: name, amount, bound, and the amount as text.
    fn budget_use(&self) -> Vec<(&'static str, u64, Bound, String)> {
        let Some(tree) = &self.tree else { return Vec::new() };
        let budget = &self.limits.budget;
        let spent = &tree.spent;
        let minutes = match self.now.since(tree.first_seen) {
            Elapsed::Known(elapsed) => elapsed / 60_000,
            Elapsed::Unknown => 0,
        };
        let cost = messages::cost(spent.micros, spent.is_priced, spent.is_partial);
        vec![
            ("cost", spent.micros, budget.micros, cost),
            ("tokens", spent.tokens, budget.tokens, format!("{} tokens", spent.tokens)),
            ("turns", spent.turns, budget.turns, format!("{} turns", spent.turns)),
            ("minutes", minutes, budget.minutes, format!("{minutes} minutes")),
        ]
    }

    fn shown_bound(name: &str, bound: u64) -> String {
        if name == "cost" { messages::dollars(bound) } else { bound.to_string() }
    }

    /// Once a hard limit is reached, denies every call that does not save work.
    pub(super) fn check_hard_budget(&mut self, action: &Action) -> Result<Option<Verdict>, Halt> {
        if !self.limits.budget.is_set() {
            return Ok(None);
        }
        self.need_tree()?;
        let Some(over) = self.exceeded_budget() else { return Ok(None) };
        let saved = self.tree.as_ref().map_or(0, |tree| tree.saving_calls_used);
        if action.is_saving && saved < self.limits.budget.saving_calls {
            self.is_saving = true;
            return Ok(None);
        }
        Ok(Some(self.deny_over_budget(over)))
    }

    /// The first hard limit that is reached: what is used, and the limit.
    pub(super) fn exceeded_budget(&self) -> Option<(String, String)> {
        self.budget_use().into_iter().find_map(|(name, used, bound, shown)| {
            let hard = bound.hard.filter(|&hard| used >= hard)?;
            Some((shown, Self::shown_bound(name, hard)))
        })
    }

    /// Denies because a hard limit is reached.
    pub(super) fn deny_over_budget(&mut self, (used, hard): (String, String)) -> Verdict {
        let explanation = Explanation {
            pattern: Pattern::Budget,
            code: "HL-BUDGET-02",
            fact: format!("the session's budget is spent: {used} of {hard}"),
            instead: "save your work with edits and `git commit`, say what is left to do, and stop.",
            avoid: "start anything new.",
        };
        let saved = self.tree.as_ref().map_or(0, |tree| tree.saving_calls_used);
        self.deny_at_limit(explanation, limit_key("budget"), saved, Retry::Person)
    }

    /// Warns the agent once for each soft or hard limit that is reached.
    pub(super) fn warn_of_budget(&mut self) -> Result<Verdict, Halt> {
        if !self.limits.budget.is_set() {
            return Ok(Verdict::Pass);
        }
        self.need_tree()?;
        for (name, used, bound, shown) in self.budget_use() {
            for (kind, limit) in [("hard", bound.hard), ("soft", bound.soft)] {
                let key = limit_key(&format!("budget {kind} {name}"));
                let is_warned = self.tree.as_ref().is_some_and(|tree| tree.warned_limits.contains(&key));
                let Some(limit) = limit.filter(|&limit| used >= limit && !is_warned) else { continue };
                self.record_in_tree(AgentTreeFact::LimitWarned { key });
                let (code, instead, avoid) = match kind {
                    "hard" => (
                        "HL-BUDGET-02",
                        "save your work now: only edits and `git commit` are let through, and not for long.",
                        "start anything new.",
                    ),
                    _soft => ("HL-BUDGET-01", "finish what matters most.", "begin anything new."),
                };
                let fact = format!("the session has used {shown} of {} ({kind} limit)", Self::shown_bound(name, limit));
                // The person reads about the hard limit in the notice of the first denial, so not here as well (E16).
                if kind == "soft" {
                    self.draft.notices.push(format!("haltline ({code}): {fact}"));
                }
                let explanation = Explanation { pattern: Pattern::Budget, code, fact, instead, avoid };
                return Ok(self.warn(&explanation, key, 1, None));
            }
        }
        Ok(Verdict::Pass)
    }
}
