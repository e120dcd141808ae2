//! Decides about model services that answer with a limit, or are overloaded (L7): which work may begin, and what shows
//! that a service answers again.

use super::*;
use crate::Elapsed;
use crate::loop_::provider::{Obstacle, ProbeEnd, Provider, ProviderGate, run_key};
use crate::loop_::{ProviderAccount, ProviderFault};

impl AgentDraft<'_> {
    /// The account that the agent's requests use, unless nobody knows it or its circuits are switched off.
    fn provider_account(&self) -> Option<ProviderAccount> {
        self.request.agent_ref.account.clone().filter(|_| self.limits.provider.enabled && !self.is_literal())
    }

    fn own_run(&self) -> Option<Digest> {
        self.request.agent_ref.run.as_deref().map(run_key)
    }

    /// Runs `decide` on the circuits of the agent's account.
    fn at_provider<T>(
        &mut self,
        decide: impl FnOnce(&mut ProviderGate<'_>, &mut Draft) -> T,
    ) -> Result<Option<T>, Halt> {
        let Some(account) = self.provider_account() else { return Ok(None) };
        let provider = match self.provider.take() {
            Some(provider) => Some(provider),
            None => self.memory.require(&account.row())?.and_then(|state| state.as_provider()).cloned(),
        };
        let series = self.agent.model_series.clone();
        let run = self.own_run();
        let mut gate = ProviderGate { account: &account, series: series.as_deref(), run, provider, now: self.now };
        let decided = decide(&mut gate, &mut self.draft);
        self.provider = gate.provider;
        Ok(Some(decided))
    }

    /// A model service answered this agent with a limit or an error of its own.
    pub(super) fn provider_fault(&mut self, fault: &ProviderFault) -> Result<Verdict, Halt> {
        let limits = self.limits.provider;
        let tripped = self.at_provider(|gate, draft| gate.count_fault(draft, fault, &limits))?.flatten();
        if let Some((explanation, trip)) = tripped {
            self.need_tree()?;
            let wait = messages::cooldown(&trip, self.now);
            self.push_notice(&explanation, &trip.incident, Some(&wait), trip.streak);
        }
        Ok(Verdict::Pass)
    }

    /// The denial of work that would begin while the service answers nobody.
    pub(super) fn deny_new_work(&mut self, shown: Option<String>) -> Result<Option<Verdict>, Halt> {
        let obstacle = self.at_provider(|gate, _| gate.obstacle())?.flatten();
        let Some(Obstacle { trip, explanation, retry }) = obstacle else { return Ok(None) };
        if self.is_exempt(trip.pattern, trip.key)? {
            return Ok(None);
        }
        Ok(Some(self.deny(Denial { explanation, key: trip.key, trip: Some(trip), retry }, shown)))
    }

    /// Makes work that begins the probe of the circuits that wait for one.
    pub(super) fn probe_provider(&mut self, probe: Digest) -> Result<(), Halt> {
        let lease_ms = u64::from(self.limits.probe_lease_s) * 1000;
        self.at_provider(|gate, draft| gate.take_probes(draft, probe, lease_ms)).map(drop)
    }

    /// A person's prompt begins a session: it is denied, or it is the probe.
    pub(super) fn begin_session(&mut self) -> Result<Option<Verdict>, Halt> {
        if self.agent.totals.calls > 0 {
            return Ok(None);
        }
        let denied = self.deny_new_work(None)?;
        if denied.is_none() {
            self.probe_provider(self.agent_digest())?;
        }
        Ok(denied)
    }

    /// The model answered this agent. If nobody knew that yet, it is what a probe of the account was to find out.
    pub(super) fn provider_answered(&mut self) -> Result<(), Halt> {
        let (own, run, began) = (self.agent_digest(), self.own_run(), self.agent.first_seen);
        let is_answered = |probe: &Probe| {
            probe.call == own
                || Some(probe.call) == run
                || matches!(began.since(probe.since), Elapsed::Known(_)) && began.at >= probe.since.at
        };
        self.at_provider(|gate, draft| gate.end_probes(draft, ProbeEnd::Answered, is_answered)).map(drop)
    }

    /// A call that was a probe ended, so a sub-agent ran to its end or never began.
    pub(super) fn end_provider_probe(&mut self, call: Digest, is_answered: bool) -> Result<(), Halt> {
        let end = if is_answered { ProbeEnd::Answered } else { ProbeEnd::Unknown };
        self.at_provider(|gate, draft| gate.end_probes(draft, end, |probe| probe.call == call)).map(drop)
    }
}

/// The row of the agent's account, once a decision has read it.
pub(super) type ReadProvider = Option<Provider>;
