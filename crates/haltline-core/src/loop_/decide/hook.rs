//! Decides about hooks that run inside hooks, and Stop hooks that keep the agent going (L1, L2).

use super::*;
use crate::counted;

impl AgentDraft<'_> {
    pub(super) fn hook_explanation(&self, name: &str, count: u32) -> Explanation {
        let window = self.limits.hook_recursion.window;
        let (code, fact) = match name {
            STOP_HOOK => (
                "HL-HOOK-02",
                format!("a Stop hook kept the agent going {} in {}", counted(count, "time"), counted(window, "turn")),
            ),
            NESTED_SESSION => {
                ("HL-HOOK-01", format!("hooks started {} in {}", counted(count, "session"), counted(window, "turn")))
            }
            other => (
                "HL-HOOK-01",
                format!("the hook `{}` ran {} in {}", short(other), counted(count, "time"), counted(window, "turn")),
            ),
        };
        let about = if name == NESTED_SESSION { NESTED_SESSION.to_owned() } else { format!("hook {}", short(name)) };
        let (instead, avoid) =
            ("end the turn and say what the hook asks for.", "do something that starts the hook again.");
        Explanation::new(Pattern::HookRecursion, code, fact, instead, avoid).about(&about, Vec::new())
    }

    /// A hook ran: the Nth run within the window trips the circuit, and the next run is denied (L2).
    pub(super) fn hook_run(&mut self, name: &str) -> Result<Verdict, Halt> {
        let limits = self.limits.hook_recursion;
        let key = hook_key(name);
        if !limits.enabled {
            return Ok(Verdict::Pass);
        }
        let state = self.agent.circuits.state_at(key, self.now);
        match state {
            CircuitState::Open(trip) | CircuitState::Probing(trip) => {
                let denial = Denial::by_trip(self.hook_explanation(name, trip.count), trip);
                return Ok(self.deny(denial, None));
            }
            CircuitState::HalfOpen(trip, cause) if name == STOP_HOOK => {
                // The hook kept the agent going once more, so the probe failed. What a person allowed happens once.
                let is_allowed = cause == HalfOpenCause::Person;
                let count = trip.count.saturating_add(1);
                self.start_probe(key, Digest::from_parts(&[name.as_bytes()]));
                let explanation = self.hook_explanation(name, count);
                self.trip(&explanation, key, None, count, limits.cooldown_s)?;
                if is_allowed {
                    return Ok(Verdict::Pass);
                }
                return Ok(self.deny_tripped(explanation, key, None));
            }
            CircuitState::HalfOpen(..) => {
                self.start_probe(key, Digest::from_parts(&[name.as_bytes()]));
                // No result follows a hook run: the run itself is the probe, and a single run closes the circuit.
                self.recover(key);
            }
            CircuitState::Closed => {}
        }
        self.record(AgentFact::HookRan { name: key, keep: limits.threshold.max(16) });
        let count = self.agent.hook_runs.count(key, self.agent.turn.number, limits.window);
        if count >= limits.threshold && !self.is_exempt(Pattern::HookRecursion, key)? {
            self.trip(&self.hook_explanation(name, count), key, None, count, limits.cooldown_s)?;
        }
        Ok(Verdict::Pass)
    }

    pub(super) fn stop(&mut self, blocked: bool, running: Option<&[String]>, end: TurnEnd) -> Result<Verdict, Halt> {
        if self.is_duplicate {
            if let Some(verdict) = self.repeat_idle_verdict() {
                return Ok(verdict);
            }
            return if blocked { self.repeat_stop_verdict() } else { Ok(Verdict::Pass) };
        }
        self.close_in_flight()?;
        if self.agent.totals.calls == 0 {
            self.provider_answered()?;
        }
        self.release_reservation(&self.agent_row.clone())?;
        // If the client does not say what kept the agent going, it was a prompt that no person wrote.
        let was_kept_going = self.agent.activity == Activity::KeptGoing;
        let before = self.agent.continuation;
        let end = self.known_end(running, end)?;
        self.record(AgentFact::Stopped { blocked, end, hook_source: self.hook_source() });
        // A nested session lists only its own sub-agents.
        if let Some(running) = running.filter(|_| self.agent.root_session.is_none()) {
            self.need_tree()?;
            for id in self.ended_sub_agents(running) {
                self.record_sub_agent_end(&id);
            }
        }
        if !blocked {
            let key = hook_key(STOP_HOOK);
            if !was_kept_going && self.agent.circuits.state_at(key, self.now).is_half_open() {
                // No hook kept the agent going: the probe succeeded.
                self.start_probe(key, Digest::from_parts(&[STOP_HOOK.as_bytes()]));
                self.recover(key);
            }
            return Ok(self.idle_verdict(before)?.unwrap_or(Verdict::Pass));
        }
        let idle = self.idle_verdict(before)?;
        if self.is_idle_tripped() {
            // One circuit is enough for one turn.
            return Ok(idle.unwrap_or(Verdict::Pass));
        }
        // Outside preset `literal`, only a turn that brought nothing is a sign that the hook drives the agent in circles,
        // and an agent that waits for something has a reason to bring nothing.
        let hook = match (self.agent.continuation.last_gain, end) {
            _ if self.is_literal() => self.stop_hook()?,
            (Gain::New, _) => self.stop_hook_helped(),
            (Gain::Variation | Gain::Nothing, TurnEnd::Waiting) => Verdict::Pass,
            (Gain::Variation | Gain::Nothing, TurnEnd::Idle | TurnEnd::Reported) => self.stop_hook()?,
        };
        Ok(hook.or_stricter(idle.unwrap_or(Verdict::Pass)))
    }

    /// A Stop hook kept the agent going, and the turn before had brought something.
    fn stop_hook_helped(&mut self) -> Verdict {
        let key = hook_key(STOP_HOOK);
        if self.agent.circuits.state_at(key, self.now).is_half_open() {
            self.start_probe(key, Digest::from_parts(&[STOP_HOOK.as_bytes()]));
            self.recover(key);
        }
        Verdict::Pass
    }

    fn stop_hook(&mut self) -> Result<Verdict, Halt> {
        match self.hook_run(STOP_HOOK)? {
            // haltline cannot deny the agent's wish to end its turn, but it can stop the hook that keeps it going.
            Verdict::Deny(reason) => Ok(Verdict::Stop(reason)),
            other @ (Verdict::Pass | Verdict::Warn(_) | Verdict::Stop(_)) => Ok(other),
        }
    }

    /// The verdict for another hook source that delivers the same Stop: it gets what the first one got. The run that
    /// tripped the circuit had passed.
    fn repeat_stop_verdict(&mut self) -> Result<Verdict, Halt> {
        let key = hook_key(STOP_HOOK);
        let is_open = self.agent.circuits.state_at(key, self.now).denying_trip().is_some();
        let escalation = self.agent.circuits.escalations.get(key).filter(|_| is_open);
        let is_denied = escalation
            .is_some_and(|escalation| escalation.level.is_some() && escalation.turn == self.agent.turn.number);
        if is_denied { self.stop_hook() } else { Ok(Verdict::Pass) }
    }
}
