//! Hooks that run inside hooks, and Stop hooks that keep the agent going (L1, L2).

use super::*;

impl Draft<'_> {
    pub(super) fn hook_grounds(&self, name: &str, count: u32) -> Grounds {
        let window = self.limits.hook_recursion.window;
        let (code, fact) = match name {
            STOP_HOOK => ("HL-HOOK-02", format!("a Stop hook kept the agent going {count} times in {window} turns")),
            NESTED_SESSION => ("HL-HOOK-01", format!("hooks started {count} sessions in {window} turns")),
            other => ("HL-HOOK-01", format!("the hook `{}` ran {count} times in {window} turns", short(other))),
        };
        Grounds {
            pattern: Pattern::HookRecursion,
            code,
            fact,
            instead: "end the turn and say what the hook asks for.",
            avoid: "answer the hook by starting it again.",
        }
    }

    /// A hook ran: the Nth within the window opens, the next is refused (L2).
    pub(super) fn hook(&mut self, name: &str) -> Asked<Verdict> {
        let limits = self.limits.hook_recursion;
        let key = hook_key(name);
        if !limits.enabled {
            return Ok(Verdict::Pass);
        }
        let standing = self.lane.board.standing(key, self.now);
        match standing {
            Standing::Open(trip) | Standing::Probing(trip) => {
                let (trip, count) = (trip.clone(), trip.count);
                let refusal = Refusal {
                    grounds: self.hook_grounds(name, count),
                    key,
                    retry: Retry::At(trip.until()),
                    trip: Some(trip),
                };
                return Ok(self.refuse(refusal, None));
            }
            Standing::Trial(trip, _) if name == STOP_HOOK => {
                // That it keeps the agent going once more is the answer: the trial failed.
                let count = trip.count.saturating_add(1);
                self.take_trial(key, Digest::of(&[name.as_bytes()]));
                let grounds = self.hook_grounds(name, count);
                self.trip(&grounds, key, None, count, limits.cooldown_s)?;
                return Ok(self.refuse_tripped(grounds, key, None));
            }
            Standing::Trial(..) => {
                self.take_trial(key, Digest::of(&[name.as_bytes()]));
                // There is no later answer: the run itself is the probe, and that it came alone closes the circuit.
                self.recover(key);
            }
            Standing::Closed => {}
        }
        self.lane(LaneFact::HookRan { name: key, keep: limits.threshold.max(16) });
        let turn = self.lane.turn;
        let runs = self.lane.hooks.iter().filter(|run| run.0 == key && pattern::is_within(run.1, turn, limits.window));
        let count = u32::try_from(runs.count()).unwrap_or(u32::MAX);
        if count >= limits.threshold && !self.is_exempt(Pattern::HookRecursion, key)? {
            self.trip(&self.hook_grounds(name, count), key, None, count, limits.cooldown_s)?;
        }
        Ok(Verdict::Pass)
    }

    pub(super) fn stop(&mut self, blocked: bool, running: Option<&[String]>) -> Asked<Verdict> {
        if self.is_told_again {
            return if blocked { self.stop_again() } else { Ok(Verdict::Pass) };
        }
        self.close_flights()?;
        // Where nobody says what kept it going, a prompt that is no person's did.
        let is_kept = self.lane.pause == Pause::Kept;
        self.lane(LaneFact::Stopped { blocked, door: self.door() });
        // A session inside another lists its own agents only.
        if let Some(running) = running.filter(|_| self.lane.root.is_none()) {
            self.need_tree()?;
            for id in self.not_among(running) {
                self.agent_ended(&id);
            }
        }
        if !blocked {
            let key = hook_key(STOP_HOOK);
            if !is_kept && matches!(self.lane.board.standing(key, self.now), Standing::Trial(..)) {
                // Nobody kept it going: the trial succeeded.
                self.take_trial(key, Digest::of(&[STOP_HOOK.as_bytes()]));
                self.recover(key);
            }
            return Ok(Verdict::Pass);
        }
        self.stop_hook()
    }

    fn stop_hook(&mut self) -> Asked<Verdict> {
        match self.hook(STOP_HOOK)? {
            // The agent cannot be refused its wish to end; the hook that keeps it going can.
            Verdict::Deny(reason) => Ok(Verdict::Stop(reason)),
            other @ (Verdict::Pass | Verdict::Warn(_) | Verdict::Stop(_)) => Ok(other),
        }
    }

    /// Another door tells of the same: it hears what the first one heard. The run that opened the circuit was let go on.
    fn stop_again(&mut self) -> Asked<Verdict> {
        let key = hook_key(STOP_HOOK);
        let is_open = match self.lane.board.standing(key, self.now) {
            Standing::Open(_) | Standing::Probing(_) => true,
            Standing::Closed | Standing::Trial(..) => false,
        };
        let rung = self.lane.board.rung(key).filter(|_| is_open);
        let is_refused = rung.is_some_and(|rung| rung.step.is_some() && rung.turn == self.lane.turn);
        if is_refused { self.stop_hook() } else { Ok(Verdict::Pass) }
    }
}
