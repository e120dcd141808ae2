//! Limits that a whole tree of agents shares: spawns, external services, the budget (L7, L8).

use super::*;
use crate::identity::{Action, Answer, Outcome};
use crate::loop_::Flight;
use crate::loop_::tree::Permit;
use crate::loop_::{Bound, OnFull, api_calls_within};
use crate::{Elapsed, State};

/// A sub-agent that was not heard of for this long is gone: not every end is told.
const AGENT_IDLE_MS: u64 = 30 * 60 * 1000;

/// Why, about what, and how much of it.
type Concern = (Grounds, Digest, u32);

fn api_key() -> Digest {
    limit_key("external_api")
}

fn spawn_key() -> Digest {
    limit_key("agent_spawn")
}

impl Draft<'_> {
    /// The oldest of too many agents ends at its next action.
    pub(super) fn told_to_end(&mut self) -> Option<Verdict> {
        let id = self.question.stream.agent.as_deref()?;
        let agent = self.tree.as_ref()?.agents.iter().find(|agent| agent.id == id)?;
        if !agent.is_ending {
            return None;
        }
        let grounds = Grounds {
            pattern: Pattern::AgentSpawn,
            code: "HL-SPAWN-06",
            fact: "a newer agent took this one's place".to_owned(),
            instead: "end now; what you have done stays.",
            avoid: "start anything else.",
        };
        let text = words::refusal(&grounds, None, RungStep::Stop, 1);
        self.refused(limit_key("stop_oldest"), grounds.pattern, RungStep::Stop, None);
        self.stopped();
        let circuit = self.circuit(grounds.pattern);
        Some(Verdict::Stop(Reason { circuit, code: grounds.code, text, retry: Retry::Person }))
    }

    /// Whether one more sub-agent is too many.
    pub(super) fn spawn_limits(&mut self) -> Asked<Option<Verdict>> {
        let agents = self.limits.agents;
        let Some(tree) = self.tree.clone() else { return Ok(None) };
        let instead = "do the work yourself, or wait for an agent to end.";
        let avoid = "start another agent for it.";
        let grounds = |code, fact| Grounds { pattern: Pattern::AgentSpawn, code, fact, instead, avoid };
        if tree.spawns >= u64::from(agents.spawns_max) {
            let fact = format!("this session started {} agents, its limit", tree.spawns);
            self.cool_api_down();
            let count = u32::try_from(tree.spawns).unwrap_or(u32::MAX);
            return Ok(Some(self.limit(grounds("HL-SPAWN-04", fact), limit_key("spawns"), count, Retry::Person)));
        }
        let depth = tree.depth(self.question.stream.agent.as_deref()).saturating_add(1);
        if depth > agents.depth_max {
            let fact =
                format!("this would be an agent {depth} levels below the main one; the limit is {}", agents.depth_max);
            return Ok(Some(self.limit(grounds("HL-SPAWN-05", fact), limit_key("depth"), depth, Retry::Person)));
        }
        if tree.is_bypassed {
            return Ok(None);
        }
        if self.is_literal()
            && let Some(verdict) = self.spawn_rate_refused(&tree)
        {
            return Ok(Some(verdict));
        }
        if tree.live() < agents.concurrent_max as usize {
            return Ok(None);
        }
        self.forget_idle_agents()?;
        let live = self.tree.as_ref().map_or(0, Tree::live);
        if live < agents.concurrent_max as usize {
            return Ok(None);
        }
        match agents.on_full {
            OnFull::StopOldest => {
                let oldest = self.tree.iter().flat_map(|tree| &tree.agents).find(|agent| !agent.is_ending);
                if let Some(id) = oldest.map(|agent| agent.id.clone()) {
                    self.tree(TreeFact::AgentEnding { id });
                    return Ok(None);
                }
            }
            OnFull::Deny => {}
        }
        let fact = format!("{live} agents run at once, the limit");
        self.cool_api_down();
        let count = u32::try_from(live).unwrap_or(u32::MAX);
        Ok(Some(self.limit(grounds("HL-SPAWN-03", fact), limit_key("concurrent"), count, Retry::Now)))
    }

    /// In the seed's words the rate refuses as well.
    fn spawn_rate_refused(&mut self, tree: &Tree) -> Option<Verdict> {
        if let Some((_, since)) = self.spacing(tree) {
            let retry = Retry::At(since.plus_millis(u64::from(self.limits.agents.spacing_s) * 1000).at);
            return Some(self.limit(self.spacing_grounds(), limit_key("spacing"), 1, retry));
        }
        match self.lane.board.standing(spawn_key(), self.now) {
            Standing::Open(trip) | Standing::Probing(trip) => {
                let trip = trip.clone();
                let (grounds, retry) = (self.rate_grounds(trip.count), Retry::At(trip.until()));
                Some(self.refuse(Refusal { grounds, key: spawn_key(), retry, trip: Some(trip) }, None))
            }
            Standing::Trial(..) => {
                self.take_trial(spawn_key(), spawn_key());
                self.recover(spawn_key());
                None
            }
            Standing::Closed => None,
        }
    }

    /// The last spawn, where it is too close and was not of the same batch.
    fn spacing(&self, tree: &Tree) -> Option<(u64, Moment)> {
        let (lane, turn, since) = tree.last_spawn?;
        if lane == self.lane_digest() && turn == self.lane.turn {
            return None;
        }
        match self.now.since(since) {
            Elapsed::Known(elapsed) if elapsed < u64::from(self.limits.agents.spacing_s) * 1000 => {
                Some((elapsed, since))
            }
            Elapsed::Known(_) | Elapsed::Unknown => None,
        }
    }

    fn lane_digest(&self) -> Digest {
        Digest::of(&[self.lane_name.as_str().as_bytes()])
    }

    fn spacing_grounds(&self) -> Grounds {
        Grounds {
            pattern: Pattern::AgentSpawn,
            code: "HL-SPAWN-02",
            fact: format!("the last agent was started less than {} s ago", self.limits.agents.spacing_s),
            instead: "start agents together in one message, or do the work yourself.",
            avoid: "start them one after the other.",
        }
    }

    fn rate_grounds(&self, count: u32) -> Grounds {
        Grounds {
            pattern: Pattern::AgentSpawn,
            code: "HL-SPAWN-01",
            fact: format!("{count} agents were started in {} turns", self.limits.agent_spawn.window),
            instead: "wait for their results before starting more.",
            avoid: "start agents to find out what the others do.",
        }
    }

    fn spawns_in_window(&self) -> u32 {
        let window = self.limits.agent_spawn.window;
        let turn = self.lane.turn;
        let recent = self.lane.spawned.iter().filter(|&&then| pattern::is_within(then, turn, window));
        u32::try_from(recent.count()).unwrap_or(u32::MAX)
    }

    /// What the agent is told when it starts agents fast.
    pub(super) fn spawn_rate(&self) -> Option<Concern> {
        let tree = self.tree.as_ref().filter(|tree| !tree.is_bypassed)?;
        let limits = self.limits.agent_spawn;
        let count = self.spawns_in_window() + 1;
        if limits.enabled && count > limits.threshold {
            return Some((self.rate_grounds(count), spawn_key(), count));
        }
        // A second agent soon after the first is how people work; a third is worth a word.
        let is_close = self.spacing(tree).is_some() && tree.spawns >= 2;
        is_close.then(|| (self.spacing_grounds(), limit_key("spacing"), 1))
    }

    /// Takes a place for an agent that is about to start.
    pub(super) fn permit_spawn(&mut self, call: Digest, turn: u64) -> Asked<()> {
        let depth = self.tree.as_ref().map_or(0, |tree| tree.depth(self.question.stream.agent.as_deref())) + 1;
        let permit = Permit { call, depth, since: self.now };
        self.tree(TreeFact::Permitted { permit, lane: self.lane_digest(), turn });
        let limits = self.limits.agent_spawn;
        self.lane(LaneFact::Spawned { keep: limits.threshold.max(16) });
        let count = self.spawns_in_window();
        let is_closed = self.lane.board.standing(spawn_key(), self.now) == Standing::Closed;
        let is_lifted = self.tree.as_ref().is_some_and(|tree| tree.is_bypassed);
        if self.is_literal() && limits.enabled && count >= limits.threshold && is_closed && !is_lifted {
            self.trip(&self.rate_grounds(count), spawn_key(), None, count, limits.cooldown_s)?;
        }
        Ok(())
    }

    /// A spawn's call was answered.
    pub(super) fn settle_spawn(&mut self, flight: &Flight, answer: &Answer) -> Asked<()> {
        self.need_tree()?;
        let Some(tree) = &self.tree else { return Ok(()) };
        let permit = tree.permits.iter().find(|permit| permit.call == flight.call).copied();
        match answer.outcome {
            Outcome::Ok => {}
            Outcome::Failed
            | Outcome::Rejected
            | Outcome::Denied
            | Outcome::Cancelled
            | Outcome::RateLimited
            | Outcome::Unknown => {
                self.refund_spawn(flight.call);
                return Ok(());
            }
        }
        let depth = permit.map(|permit| permit.depth);
        match (&answer.child, depth) {
            (Some(child), depth) => {
                let depth = depth.unwrap_or_else(|| tree.depth(self.question.stream.agent.as_deref()) + 1);
                let call = Some(flight.call);
                if answer.is_running {
                    self.tree(TreeFact::AgentBegan { id: child.clone(), depth, call });
                } else {
                    self.tree(TreeFact::PermitUsed { call: flight.call });
                    self.agent_ended(child);
                }
            }
            (None, Some(_)) => self.tree(TreeFact::PermitUsed { call: flight.call }),
            (None, None) => {}
        }
        Ok(())
    }

    /// A spawn that was let through did not happen.
    pub(super) fn refund_spawn(&mut self, call: Digest) {
        if self.tree.as_ref().is_some_and(|tree| tree.permits.iter().any(|permit| permit.call == call)) {
            self.tree(TreeFact::Refunded { call });
        }
    }

    /// A sub-agent begins. Where no call asked for it, it is asked for here.
    pub(super) fn spawn_start(&mut self, child: &str, depth: Option<u32>) -> Asked<Verdict> {
        self.need_tree()?;
        let Some(tree) = &self.tree else { return Ok(Verdict::Pass) };
        let own = tree.depth(self.question.stream.agent.as_deref()) + 1;
        if tree.agents.iter().any(|agent| agent.id == child) {
            return Ok(Verdict::Pass);
        }
        let permit = tree.permits.first().copied();
        let mut verdict = Verdict::Pass;
        if permit.is_none() {
            let call = Digest::of(&[b"spawn", child.as_bytes()]);
            if !self.question.stream.is_batched {
                if let Some(refused) = self.spawn_limits()? {
                    return Ok(refused);
                }
                if let Some((grounds, key, count)) = self.spawn_rate().filter(|_| !self.is_literal()) {
                    verdict = self.warn(&grounds, key, count, None);
                }
            }
            self.permit_spawn(call, self.lane.turn)?;
            let depth = depth.unwrap_or(own);
            self.tree(TreeFact::AgentBegan { id: child.to_owned(), depth, call: Some(call) });
            return Ok(verdict);
        }
        let depth = depth.or(permit.map(|permit| permit.depth)).unwrap_or(own);
        let call = permit.map(|permit| permit.call);
        self.tree(TreeFact::AgentBegan { id: child.to_owned(), depth, call });
        Ok(verdict)
    }

    /// Agents that were not heard of for long no longer run, whatever nobody told us.
    fn forget_idle_agents(&mut self) -> Asked<()> {
        let Some(tree) = &self.tree else { return Ok(()) };
        let session = &self.question.stream.session;
        let names: Vec<CircuitName> =
            tree.agents.iter().map(|agent| CircuitName::lane(session, Some(&agent.id))).collect();
        let needs: Vec<CircuitName> = names.iter().filter(|name| self.memory.row(name).is_none()).cloned().collect();
        if !needs.is_empty() {
            return Err(needs);
        }
        let mut idle = Vec::new();
        for (agent, name) in tree.agents.iter().zip(&names) {
            let seen = self.memory.state(name).and_then(State::as_lane).map_or(agent.since, |lane| lane.seen);
            if matches!(self.now.since(seen), Elapsed::Known(elapsed) if elapsed >= AGENT_IDLE_MS) {
                idle.push(agent.id.clone());
            }
        }
        for id in idle {
            self.agent_ended(&id);
        }
        Ok(())
    }

    fn api_grounds(&self, code: &'static str, fact: String) -> Grounds {
        Grounds {
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

    /// Whether one more call of an external service is too many (L7).
    pub(super) fn api_limits(&mut self) -> Asked<Option<Verdict>> {
        let Some(tree) = self.tree.clone() else { return Ok(None) };
        if let Standing::Open(trip) | Standing::Probing(trip) = tree.board.standing(api_key(), self.now) {
            if self.is_exempt(Pattern::ExternalApi, api_key())? {
                return Ok(None);
            }
            let grounds = self.api_grounds("HL-API-01", self.rate_fact(trip.count));
            let (retry, trip) = (Retry::At(trip.until()), Some(trip.clone()));
            return Ok(Some(self.refuse(Refusal { grounds, key: api_key(), retry, trip }, None)));
        }
        let limits = self.limits.api.clone();
        let count = u32::try_from(tree.api.count).unwrap_or(u32::MAX);
        if count >= limits.calls_max {
            let grounds = self.api_grounds("HL-API-02", format!("this session made {count} such calls, its limit"));
            self.cool_api_down();
            return Ok(Some(self.limit(grounds, limit_key("api_calls"), count, Retry::Person)));
        }
        let committed = tree.api.committed();
        let price = limits.call_micros.unwrap_or_default();
        if committed.saturating_add(price) > limits.deny_micros || committed >= limits.deny_micros {
            let (spent, limit) = (words::dollars(committed), words::dollars(limits.deny_micros));
            let grounds = self.api_grounds("HL-API-03", format!("external services cost {spent} of {limit}"));
            self.cool_api_down();
            return Ok(Some(self.limit(grounds, limit_key("api_cost"), count, Retry::Person)));
        }
        Ok(None)
    }

    /// Counts a call of an external service; the Nth in the window opens the circuit.
    pub(super) fn api_called(&mut self, call: Digest) -> Asked<()> {
        let limits = self.limits.external_api;
        if !limits.enabled {
            return Ok(());
        }
        let Some(tree) = &self.tree else { return Ok(()) };
        if let Standing::Trial(trip, _) = tree.board.standing(api_key(), self.now) {
            let (incident, at) = (trip.incident.clone(), trip.since.plus_millis(trip.cooldown_ms));
            let opened = BoardFact::HalfOpened { incident: incident.clone(), by: Opening::Cooldown, hint: None };
            self.tree_with(at, TreeFact::Board(opened), None);
            let lease_ms = u64::from(self.limits.probe_lease_s) * 1000;
            let probe = Probe { call, since: self.now, lease_ms, by: Opening::Cooldown };
            self.tree(TreeFact::Board(BoardFact::ProbeTaken { incident, probe }));
        }
        let micros = self.limits.api.call_micros;
        self.tree(TreeFact::ApiCalled { call, micros, keep: limits.threshold });
        let Some(tree) = &self.tree else { return Ok(()) };
        let count = api_calls_within(tree, limits.window, self.now);
        let is_closed = tree.board.standing(api_key(), self.now) == Standing::Closed;
        if count >= limits.threshold && is_closed && !self.is_exempt(Pattern::ExternalApi, api_key())? {
            let grounds = self.api_grounds("HL-API-01", self.rate_fact(count));
            self.trip_tree(&grounds, api_key(), count, limits);
        }
        Ok(())
    }

    /// A service said "too often" to a call that was not known to reach for one. Nothing was paid for it.
    pub(super) fn rate_limited(&mut self, flight: &Flight, answer: &Answer) -> Asked<()> {
        self.api_called(flight.call)?;
        let cost = answer.cost.or(Some(0));
        self.settle_api(flight, &Answer { cost, ..answer.clone() })
    }

    /// The answer of a call of an external service: what it cost, and whether the trial went well.
    pub(super) fn settle_api(&mut self, flight: &Flight, answer: &Answer) -> Asked<()> {
        self.need_tree()?;
        self.tree(TreeFact::ApiSettled { call: flight.call, micros: answer.cost });
        let held = self.tree.as_ref().and_then(|tree| tree.board.probed_by(flight.call)).cloned();
        let Some(held) = held else { return Ok(()) };
        let incident = held.trip.incident.clone();
        match answer.outcome {
            Outcome::Ok => self.tree(TreeFact::Board(BoardFact::Recovered { incident })),
            Outcome::Failed | Outcome::RateLimited => {
                let grounds = self.api_grounds("HL-API-01", self.rate_fact(held.trip.count));
                self.trip_tree(&grounds, api_key(), held.trip.count, self.limits.external_api);
            }
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::Unknown => {
                self.tree(TreeFact::Board(BoardFact::ProbeAbandoned { incident }));
            }
        }
        Ok(())
    }

    /// What the agent is told of what external services cost, once.
    pub(super) fn api_cost_warning(&mut self) -> Option<Concern> {
        let key = limit_key("api_cost_warning");
        let tree = self.tree.as_ref()?;
        let committed = tree.api.committed().saturating_add(self.limits.api.call_micros.unwrap_or_default());
        if committed < self.limits.api.warn_micros || tree.told.contains(&key) {
            return None;
        }
        let limit = words::dollars(self.limits.api.deny_micros);
        let fact = format!("external services cost {} of {limit}", words::dollars(committed));
        self.tree(TreeFact::Told { key });
        Some((self.api_grounds("HL-API-03", fact), key, 1))
    }

    /// Running into a limit cools external services down (L10).
    fn cool_api_down(&mut self) {
        let limits = self.limits.external_api;
        let is_closed =
            self.tree.as_ref().is_some_and(|tree| tree.board.standing(api_key(), self.now) == Standing::Closed);
        if limits.enabled
            && is_closed
            && let Some(tree) = &self.tree
        {
            let (pattern, cooldown_s) = (Pattern::ExternalApi, limits.cooldown_s);
            let trip = self.new_trip(&tree.board, &self.tree_name, pattern, api_key(), None, 0, cooldown_s);
            let text = Some("cooled down because a resource limit was reached".to_owned());
            self.tree_with(self.now, TreeFact::Board(BoardFact::Tripped { trip }), text);
        }
    }

    /// What is used up, beside its bounds.
    fn uses(&self) -> Vec<(&'static str, u64, Bound, String)> {
        let Some(tree) = &self.tree else { return Vec::new() };
        let budget = &self.limits.budget;
        let spent = &tree.spent;
        let minutes = match self.now.since(tree.began) {
            Elapsed::Known(elapsed) => elapsed / 60_000,
            Elapsed::Unknown => 0,
        };
        let cost = words::cost(spent.micros, spent.is_priced, spent.is_partial);
        vec![
            ("cost", spent.micros, budget.micros, cost),
            ("tokens", spent.tokens, budget.tokens, format!("{} tokens", spent.tokens)),
            ("turns", spent.turns, budget.turns, format!("{} turns", spent.turns)),
            ("minutes", minutes, budget.minutes, format!("{minutes} minutes")),
        ]
    }

    fn shown_bound(name: &str, bound: u64) -> String {
        if name == "cost" { words::dollars(bound) } else { bound.to_string() }
    }

    /// Refuses what does not save work once a hard limit is reached.
    pub(super) fn hard_budget(&mut self, action: &Action) -> Asked<Option<Verdict>> {
        if !self.limits.budget.is_set() {
            return Ok(None);
        }
        self.need_tree()?;
        let Some(over) = self.over_budget() else { return Ok(None) };
        let saved = self.tree.as_ref().map_or(0, |tree| tree.saving);
        if action.is_saving && saved < self.limits.budget.saving_calls {
            self.is_saving = true;
            return Ok(None);
        }
        Ok(Some(self.refuse_budget(over)))
    }

    /// The first hard limit that is reached: what is used, of how much.
    pub(super) fn over_budget(&self) -> Option<(String, String)> {
        self.uses().into_iter().find_map(|(name, used, bound, shown)| {
            let hard = bound.hard.filter(|&hard| used >= hard)?;
            Some((shown, Self::shown_bound(name, hard)))
        })
    }

    /// Refuses because a hard limit is reached.
    pub(super) fn refuse_budget(&mut self, (used, hard): (String, String)) -> Verdict {
        let grounds = Grounds {
            pattern: Pattern::Budget,
            code: "HL-BUDGET-02",
            fact: format!("the session's budget is spent: {used} of {hard}"),
            instead: "save your work with edits and `git commit`, say what is left to do, and stop.",
            avoid: "start anything new.",
        };
        let saved = self.tree.as_ref().map_or(0, |tree| tree.saving);
        self.limit(grounds, limit_key("budget"), saved, Retry::Person)
    }

    /// Tells the agent once that a soft limit, or the hard one, is reached.
    pub(super) fn soft_budget(&mut self) -> Asked<Verdict> {
        if !self.limits.budget.is_set() {
            return Ok(Verdict::Pass);
        }
        self.need_tree()?;
        for (name, used, bound, shown) in self.uses() {
            for (kind, limit) in [("hard", bound.hard), ("soft", bound.soft)] {
                let key = limit_key(&format!("budget {kind} {name}"));
                let is_told = self.tree.as_ref().is_some_and(|tree| tree.told.contains(&key));
                let Some(limit) = limit.filter(|&limit| used >= limit && !is_told) else { continue };
                self.tree(TreeFact::Told { key });
                let (code, instead, avoid) = match kind {
                    "hard" => (
                        "HL-BUDGET-02",
                        "save your work now: only edits and `git commit` are let through, and not for long.",
                        "start anything new.",
                    ),
                    _soft => ("HL-BUDGET-01", "finish what matters most.", "begin anything new."),
                };
                let fact = format!("the session has used {shown} of {} ({kind} limit)", Self::shown_bound(name, limit));
                // Of the hard limit the person hears with the first refusal, once (E16).
                if kind == "soft" {
                    self.notices.push(format!("haltline ({code}): {fact}"));
                }
                let grounds = Grounds { pattern: Pattern::Budget, code, fact, instead, avoid };
                return Ok(self.warn(&grounds, key, 1, None));
            }
        }
        Ok(Verdict::Pass)
    }
}
