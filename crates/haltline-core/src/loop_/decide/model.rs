//! Decides whether the client may call the model: the last moment at which ending a turn costs nothing (E5, L7). Only
//! some clients ask.
//!
//! It counts no attempts: the client reports a retried request again, and the agent's calls are what counts.

use super::*;

impl AgentDraft<'_> {
    pub(super) fn model_start(&mut self) -> Result<Verdict, Halt> {
        if self.is_idle() {
            self.close_in_flight()?;
        }
        if !self.agent.turn.is_empty && !self.agent.turn.is_over {
            self.record(AgentFact::TurnEnded);
        }
        if self.is_stopped() {
            return Ok(self.still_stopped());
        }
        Ok(match self.exhausted_budget()? {
            // There is no call to deny, so the turn must end.
            Some(Verdict::Deny(reason)) => Verdict::Stop(reason),
            Some(verdict @ (Verdict::Pass | Verdict::Warn(_) | Verdict::Stop(_))) => verdict,
            None => Verdict::Pass,
        })
    }

    /// True if no call can still be running although its end was not reported. Without call ids, a call that stayed in
    /// flight would be closed by the end of the next call with the same arguments. While a sub-agent works, the request
    /// may be the sub-agent's, so its parent's calls may still run.
    fn is_idle(&self) -> bool {
        match &self.request.agent_ref.call_ids {
            CallIds::Stable | CallIds::StartOnly => false,
            CallIds::None => !self.agent.in_flight.iter().any(|in_flight| in_flight.traits.is_spawn),
        }
    }

    /// The verdict for an agent whose turn haltline has ended: only a person may resume it.
    pub(super) fn still_stopped(&self) -> Verdict {
        let (circuit, text) = (self.agent_row.clone(), messages::still_stopped());
        Verdict::Stop(Reason { circuit, code: "HL-STOP-01", text, retry: Retry::Person })
    }
}
