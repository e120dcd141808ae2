//! The model is about to be asked: the last moment at which a turn costs nothing (E5, L7). Only some clients ask.
//!
//! It counts nothing: a request that is tried again is told again, and what the agent does is counted by its calls.

use super::*;

impl Draft<'_> {
    /// Whether the model may be asked.
    pub(super) fn model_start(&mut self) -> Asked<Verdict> {
        if self.is_idle() {
            self.close_flights()?;
        }
        if !self.lane.is_unused && !self.lane.is_fresh {
            self.lane(LaneFact::TurnEnded);
        }
        let is_enforced = match self.policy.mode {
            crate::Mode::Enforce => true,
            // Nobody was stopped.
            crate::Mode::Observe => false,
        };
        if is_enforced && self.lane.is_stopped {
            return Ok(self.still_stopped());
        }
        Ok(match self.spent_budget()? {
            // There is no call to refuse: what is left is not to ask.
            Some(Verdict::Deny(reason)) => Verdict::Stop(reason),
            Some(verdict @ (Verdict::Pass | Verdict::Warn(_) | Verdict::Stop(_))) => verdict,
            None => Verdict::Pass,
        })
    }

    /// Whether nothing that the agent called can still run, though its end was not told. A call without a name that stayed
    /// would take the end of the next one of its words. While a sub-agent works it may be its model that is asked.
    fn is_idle(&self) -> bool {
        match &self.question.stream.naming {
            Naming::Own | Naming::Begun => false,
            Naming::Counted => !self.lane.flights.iter().any(|flight| flight.traits.is_spawn),
        }
    }

    /// The turn was ended, and only a person takes it up again.
    pub(super) fn still_stopped(&self) -> Verdict {
        let (circuit, text) = (self.lane_name.clone(), words::still_stopped());
        Verdict::Stop(Reason { circuit, code: "HL-STOP-01", text, retry: Retry::Person })
    }

    /// A hard limit is reached, and what was left for saving the work is used up.
    fn spent_budget(&mut self) -> Asked<Option<Verdict>> {
        if !self.limits.budget.is_set() {
            return Ok(None);
        }
        self.need_tree()?;
        let is_saved = self.tree.as_ref().is_some_and(|tree| tree.saving >= self.limits.budget.saving_calls);
        match self.over_budget().filter(|_| is_saved) {
            Some(over) => Ok(Some(self.refuse_budget(over))),
            None => Ok(None),
        }
    }
}
