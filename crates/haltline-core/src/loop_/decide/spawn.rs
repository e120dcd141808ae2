//! The limits on sub-agents that a whole tree of agents shares (L7, L8).

use super::limit::LimitWarning;
use super::*;
use crate::identity::{CallResult, Outcome};
use crate::loop_::agent_tree::Permit;
use crate::loop_::{InFlightCall, OnFull};
use crate::{Elapsed, State};

/// A sub-agent without events for this long is considered gone: clients do not report every end.
const AGENT_IDLE_MS: u64 = 30 * 60 * 1000;
/// haltline warns at half of a limit only if the limit is at least this high.
const TOTAL_WARNED_MIN: u32 = 4;
/// So often sub-agents may fail at a task in the same way before haltline warns.
const TASK_FAILURES: u32 = 2;

fn spawn_key() -> Digest {
    limit_key("agent_spawn")
}

fn spawn_denial(code: &'static str, fact: String, instead: &'static str) -> Explanation {
    Explanation::new(Pattern::AgentSpawn, code, fact, instead, "start another sub-agent for it.")
}

impl AgentDraft<'_> {
    /// Stops a sub-agent that had to make room for a newer one.
    pub(super) fn deny_if_ending(&mut self) -> Option<Verdict> {
        let id = self.request.agent_ref.sub_agent.as_deref()?;
        let agent = self.tree.as_ref()?.sub_agents.iter().find(|agent| agent.id == id)?;
        if !agent.is_ending {
            return None;
        }
        let explanation = Explanation::new(
            Pattern::AgentSpawn,
            "HL-SPAWN-06",
            "a newer sub-agent replaced this one".to_owned(),
            "end now; your work so far is kept.",
            "start anything else.",
        );
        let text = messages::denial(&explanation, None, EscalationLevel::Stop, 1, None);
        self.record_denial(limit_key("stop_oldest"), explanation.pattern, EscalationLevel::Stop, None);
        self.record_stopped_sub_agent();
        let circuit = self.circuit_name(explanation.pattern);
        Some(Verdict::Stop(Reason { circuit, code: explanation.code, text, retry: Retry::Person }))
    }

    /// The denial if one more sub-agent would be too many.
    pub(super) fn check_spawn_limits(&mut self) -> Result<Option<Verdict>, Halt> {
        let agents = self.limits.agents;
        let Some(tree) = self.tree.clone() else { return Ok(None) };
        if let Some(verdict) = self.deny_spawn_total(&tree) {
            return Ok(Some(verdict));
        }
        let depth = tree.depth(self.request.agent_ref.sub_agent.as_deref()).saturating_add(1);
        if depth > agents.depth_max && !self.has_allowance(Pattern::AgentSpawn, limit_key("depth")) {
            let fact = format!(
                "this sub-agent would be {depth} levels below the main agent; the limit is {}",
                agents.depth_max
            );
            let explanation =
                spawn_denial("HL-SPAWN-05", fact, "do the work yourself.").raise("agents.max_depth", agents.depth_max);
            return Ok(Some(self.deny_at_limit(explanation, limit_key("depth"), depth, Retry::Person)));
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
        if live < agents.concurrent_max as usize || self.has_allowance(Pattern::AgentSpawn, limit_key("concurrent")) {
            return Ok(None);
        }
        let oldest = self.tree.iter().flat_map(|tree| &tree.sub_agents).find(|agent| !agent.is_ending);
        if let Some(oldest) = oldest.filter(|_| agents.on_full == OnFull::StopOldest) {
            let id = oldest.id.clone();
            self.record_in_tree(AgentTreeFact::SubAgentEnding { id });
            return Ok(None);
        }
        let fact = format!("{live} sub-agents are running, which is the limit");
        let instead = "do the work yourself, or wait until a sub-agent ends.";
        let explanation =
            spawn_denial("HL-SPAWN-03", fact, instead).raise("agents.max_concurrent", agents.concurrent_max);
        self.cool_api_down();
        let count = u32::try_from(live).unwrap_or(u32::MAX);
        Ok(Some(self.deny_at_limit(explanation, limit_key("concurrent"), count, Retry::Now)))
    }

    /// Denies the spawn if the session, or the person's last prompt, has started as many agents as it may.
    fn deny_spawn_total(&mut self, tree: &AgentTree) -> Option<Verdict> {
        let (agents, preset) = (self.limits.agents, self.limits.preset);
        let is_reached = |count: u64, max: Option<u32>| max.filter(|max| count >= u64::from(*max));
        let per_prompt = is_reached(tree.spawns_since_prompt, agents.prompt_spawns_max(preset));
        let (count, fact, key, max) = if let Some(max) = is_reached(tree.spawns, agents.session_spawns_max(preset)) {
            let fact =
                format!("this session started {} sub-agents, which is the limit (agents.max_per_session)", tree.spawns);
            (tree.spawns, fact, "agents.max_per_session", max)
        } else {
            let max = per_prompt?;
            let started = tree.spawns_since_prompt;
            let fact = format!(
                "{started} sub-agents started since the last prompt, which is the limit (agents.max_per_prompt)"
            );
            (started, fact, "agents.max_per_prompt", max)
        };
        if tree.is_bypassed || self.has_allowance(Pattern::AgentSpawn, limit_key("spawns")) {
            return None;
        }
        let explanation = spawn_denial("HL-SPAWN-04", fact, "do the rest of the work yourself.").raise(key, max);
        self.cool_api_down();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Some(self.deny_at_limit(explanation, limit_key("spawns"), count, Retry::Person))
    }

    /// With preset `literal`, the spawn rate denies as well.
    fn deny_spawn_rate(&mut self, tree: &AgentTree) -> Option<Verdict> {
        if let Some((_, since)) = self.recent_spawn(tree)
            && !self.has_allowance(Pattern::AgentSpawn, limit_key("spacing"))
        {
            let spacing_s = self.limits.agents.spacing_s;
            let retry = Retry::At(since.plus_millis(u64::from(spacing_s) * 1000).at);
            let explanation = self.spacing_explanation().raise("agents.spawn_cooldown_seconds", spacing_s);
            return Some(self.deny_at_limit(explanation, limit_key("spacing"), 1, retry));
        }
        match self.agent.circuits.state_at(spawn_key(), self.now) {
            CircuitState::Open(trip) | CircuitState::Probing(trip) => {
                let denial = Denial::by_trip(self.rate_explanation(trip.count), trip);
                Some(self.deny(denial, None))
            }
            // The spawn becomes the probe once nothing else denies it.
            CircuitState::HalfOpen(..) | CircuitState::Closed => None,
        }
    }

    /// The time since the last spawn and when it was, if it is too recent and not of the same parallel batch.
    fn recent_spawn(&self, tree: &AgentTree) -> Option<(u64, Moment)> {
        let (agent, turn, since) = tree.last_spawn?;
        // A person asked for something in between. Preset `literal` counts as the seed does.
        if tree.spawns_since_prompt == 0 && !self.is_literal() {
            return None;
        }
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

    pub(super) fn agent_digest(&self) -> Digest {
        Digest::from_parts(&[self.agent_row.as_str().as_bytes()])
    }

    fn spacing_explanation(&self) -> Explanation {
        Explanation::new(
            Pattern::AgentSpawn,
            "HL-SPAWN-02",
            format!("the last sub-agent started less than {} s ago", self.limits.agents.spacing_s),
            "start sub-agents together in one message, or do the work yourself.",
            "start them one after the other.",
        )
    }

    pub(super) fn rate_explanation(&self, count: u32) -> Explanation {
        Explanation::new(
            Pattern::AgentSpawn,
            "HL-SPAWN-01",
            format!("{count} sub-agents started in {} turns", self.limits.agent_spawn.window),
            "wait for their results before you start more.",
            "start a sub-agent to find out what another one does.",
        )
    }

    fn spawns_in_window(&self) -> u32 {
        let window = self.limits.agent_spawn.window;
        let turn = self.agent.turn.number;
        let recent = self.agent.spawn_turns.iter().filter(|&&then| pattern::is_within(then, turn, window));
        let count = pattern::count(recent);
        if self.is_literal() {
            return count;
        }
        // A sub-agent's row does not see the person's prompt; the tree's row does.
        let since_prompt = self.tree.as_ref().map_or(0, |tree| tree.spawns_since_prompt);
        count.min(u32::try_from(since_prompt).unwrap_or(u32::MAX))
    }

    /// The warning at half of what the person's prompt may start.
    fn spawn_total_warning(&self, tree: &AgentTree) -> Option<LimitWarning> {
        let max = self.limits.agents.prompt_spawns_max(self.limits.preset).filter(|max| *max >= TOTAL_WARNED_MIN)?;
        let next = tree.spawns_since_prompt.saturating_add(1);
        if next != u64::from(max.div_ceil(2)) {
            return None;
        }
        let fact = format!("this is sub-agent {next} of {max} since the last prompt (agents.max_per_prompt)");
        let explanation = Explanation::new(
            Pattern::AgentSpawn,
            "HL-SPAWN-04",
            fact,
            "keep the remaining sub-agents for the work that needs them most.",
            "start a sub-agent for work that you can do yourself.",
        );
        Some((explanation, limit_key("spawns"), u32::try_from(next).unwrap_or(u32::MAX)))
    }

    /// The warning for an agent that starts sub-agents fast.
    pub(super) fn spawn_rate_warning(&self) -> Option<LimitWarning> {
        let tree = self.tree.as_ref().filter(|tree| !tree.is_bypassed)?;
        if let Some(warning) = self.spawn_total_warning(tree) {
            return Some(warning);
        }
        let limits = self.limits.agent_spawn;
        let count = self.spawns_in_window() + 1;
        if limits.enabled && count >= limits.threshold {
            return Some((self.rate_explanation(count), spawn_key(), count));
        }
        // A sub-agent that starts its first one soon after it was started itself is normal.
        let is_own = tree.last_spawn.is_some_and(|(agent, ..)| agent == self.agent_digest());
        let is_close = self.recent_spawn(tree).is_some() && (is_own || tree.spawns_since_prompt >= 2);
        (is_close && count >= limits.threshold).then(|| (self.spacing_explanation(), limit_key("spacing"), 1))
    }

    /// Reserves room for a sub-agent that is about to start.
    pub(super) fn permit_spawn(&mut self, call: Digest, turn: u64, task: Option<Digest>) -> Result<(), Halt> {
        let depth = self.tree.as_ref().map_or(0, |tree| tree.depth(self.request.agent_ref.sub_agent.as_deref())) + 1;
        let permit = Permit { call, depth, since: self.now, task };
        if self.agent.circuits.state_at(spawn_key(), self.now).is_half_open() {
            self.start_probe(spawn_key(), call);
        }
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
        if !result.is_sub_agent_running {
            self.end_provider_probe(in_flight.id, result.outcome == Outcome::Ok)?;
        }
        self.count_task(in_flight, result);
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

    /// Counts how often a task failed in the same way.
    fn count_task(&mut self, in_flight: &InFlightCall, result: &CallResult) {
        let task = in_flight.identity;
        let Some(tree) = self.tree.as_ref().filter(|_| self.watches_tasks()) else { return };
        let has_failed = tree.tasks.iter().any(|known| known.identity == task && known.failures > 0);
        match result.outcome {
            Outcome::Failed => self.record_in_tree(AgentTreeFact::TaskFailed { task, result: result.normal }),
            Outcome::Ok if has_failed && !result.is_sub_agent_running => {
                self.record_in_tree(AgentTreeFact::TaskDone { task });
            }
            Outcome::Ok
            | Outcome::Rejected
            | Outcome::Denied
            | Outcome::Cancelled
            | Outcome::RateLimited
            | Outcome::Unknown => {}
        }
    }

    fn watches_tasks(&self) -> bool {
        self.limits.agents.is_same_task_denied && !self.is_literal()
    }

    /// What speaks against giving a task to another sub-agent, and whether haltline warned of it before.
    fn repeated_task(&self, task: Digest) -> Option<(Explanation, bool)> {
        let tree = self.tree.as_ref().filter(|tree| self.watches_tasks() && !tree.is_bypassed)?;
        let known = tree.tasks.iter().find(|known| known.identity == task);
        let running = tree.sub_agents.iter().find(|agent| agent.task == Some(task) && !agent.is_ending);
        let failures = known.map_or(0, |known| known.failures);
        let fact = match running {
            Some(agent) => format!("the sub-agent `{}` is working on the same task", short(&agent.id)),
            None if tree.permits.iter().any(|permit| permit.task == Some(task)) => {
                "a sub-agent that is about to start has the same task".to_owned()
            }
            None if failures >= TASK_FAILURES => {
                format!("sub-agents failed at the same task {failures} times, each time in the same way")
            }
            None => return None,
        };
        let instead = match running {
            Some(_) => "wait for its result, or give this one another part of the work.",
            None => "change the task, or do the work yourself.",
        };
        let explanation =
            Explanation::new(Pattern::AgentSpawn, "HL-SPAWN-07", fact, instead, "give the task to another sub-agent.");
        Some((explanation, known.is_some_and(|known| known.is_warned)))
    }

    /// Denies a spawn if its task is taken, or has failed again and again, and haltline warned of that.
    pub(super) fn deny_repeated_task(&mut self, task: Digest) -> Result<Option<Verdict>, Halt> {
        if !matches!(self.repeated_task(task), Some((_, true))) {
            return Ok(None);
        }
        self.forget_idle_agents()?;
        let Some((explanation, _)) = self.repeated_task(task) else { return Ok(None) };
        let key = limit_key("same_task");
        if self.has_allowance(Pattern::AgentSpawn, key) {
            return Ok(None);
        }
        Ok(Some(self.deny_at_limit(explanation, key, 1, Retry::Person)))
    }

    /// Warns once of a task that is taken, or has failed again and again.
    pub(super) fn task_warning(&mut self, task: Digest) -> Option<LimitWarning> {
        let (explanation, is_warned) = self.repeated_task(task)?;
        if is_warned {
            return None;
        }
        self.record_in_tree(AgentTreeFact::TaskRepeated { task });
        Some((explanation, limit_key("same_task"), 1))
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
            self.use_allowances();
            self.lapse_passed_limits(true, false);
            self.permit_spawn(call, self.agent.turn.number, None)?;
            if self.agent.circuits.probed_by(call).is_some() {
                // The client reports no end of the spawn, so its start is the probe's success.
                self.recover(spawn_key());
            }
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
}
