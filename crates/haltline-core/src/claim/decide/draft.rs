//! A decision in progress. Each fact is applied at once, so that the following steps see its effect.

use std::collections::BTreeMap;

use super::ClaimRequest;
use crate::circuit::incident_id;
use crate::claim::{
    Claim, ClaimId, ClaimState, Denial, Fact, Limits, ListedStatus, Pipeline, PipelineFact, Problem, StageName, Status,
};
use crate::draft::Draft;
use crate::{CircuitName, Decision, Halt, Memory, Moment, Policy, Reason, Retry, State, Texts, Verdict};

/// The rows as they are so far, and the facts that were recorded.
pub(super) struct ClaimDraft<'a> {
    memory: &'a Memory,
    pub(super) policy: &'a Policy,
    request: &'a ClaimRequest<'a>,
    pub(super) now: Moment,
    pub(super) pipeline: Pipeline,
    /// Whether the store has a row for the pipeline.
    is_begun: bool,
    claims: BTreeMap<ClaimId, Claim>,
    draft: Draft,
}

impl<'a> ClaimDraft<'a> {
    pub(super) fn new(
        memory: &'a Memory,
        policy: &'a Policy,
        request: &'a ClaimRequest<'a>,
        now: Moment,
    ) -> Result<Self, Halt> {
        let name = CircuitName::pipeline(request.pipeline.as_str());
        let known = memory.require(&name)?.and_then(State::as_pipeline).cloned();
        let is_begun = known.is_some();
        let final_stage = StageName::parse(&policy.claim.final_stage).map_err(|_name| Problem::BadFinalStage);
        let pipeline = match known {
            Some(known) => known,
            None => Pipeline::new(final_stage?, now.at),
        };
        let (claims, draft) = (BTreeMap::new(), Draft::default());
        Ok(Self { memory, policy, request, now, pipeline, is_begun, claims, draft })
    }

    fn name(&self, id: &ClaimId) -> CircuitName {
        CircuitName::claim(self.request.pipeline.as_str(), id.as_str())
    }

    fn pipeline_name(&self) -> CircuitName {
        CircuitName::pipeline(self.request.pipeline.as_str())
    }

    /// True if the pipeline exists.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Records the begin of the pipeline before its first other fact.
    pub(super) fn begin(&mut self) -> Result<(), Halt> {
        if !self.is_begun {
            self.push_pipeline(PipelineFact::Began { final_stage: self.pipeline.final_stage.clone() });
        }
        Ok(())
    }

    /// The claim's row as the store has it.
    pub(super) fn peek(&self, id: &ClaimId) -> Result<Option<&'a Claim>, Halt> {
        Ok(self.memory.require(&self.name(id))?.and_then(State::as_claim))
    }

    /// Loads these claims' rows, and requests all missing ones at once. A row and the index agree unless the store was
    /// damaged and rebuilt: then the row is believed and the index corrected.
    pub(super) fn load(&mut self, ids: &[ClaimId]) -> Result<(), Halt> {
        let names: Vec<CircuitName> = ids.iter().map(|id| self.name(id)).collect();
        self.memory.require_all(&names)?;
        for id in ids {
            if self.claims.contains_key(id) {
                continue;
            }
            let Some(claim) = self.peek(id)?.cloned() else { continue };
            let status = claim.listed_status();
            let depends_on = claim.depends_on.clone();
            self.claims.insert(id.clone(), claim);
            match self.pipeline.claims.get(id).map(|entry| entry.status) {
                Some(indexed) if indexed == status => {}
                Some(_other) => self.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: status }),
                None => {
                    self.begin()?;
                    self.push_pipeline(PipelineFact::Added { claim: id.clone(), status, depends_on });
                }
            }
        }
        Ok(())
    }

    /// The claim as it is so far.
    pub(super) fn claim(&mut self, id: &ClaimId) -> Result<&Claim, Halt> {
        self.load(std::slice::from_ref(id))?;
        self.claims.get(id).ok_or_else(|| Problem::NoClaim(id.clone()).into())
    }

    /// The status of a claim that may be changed, or the denial: the pipeline is over, or the claim is DISPUTED or
    /// KILLED.
    pub(super) fn status_or_denial(&mut self, id: &ClaimId) -> Result<Result<Status, Verdict>, Halt> {
        let state = self.claim(id)?.state.clone();
        if let Some(verdict) = self.deny_if_over(Some(id)) {
            return Ok(Err(verdict));
        }
        Ok(match state {
            ClaimState::Disputed(_) => Err(self.deny(id, Denial::Frozen)),
            ClaimState::Free(Status::Killed) => {
                Err(self.deny(id, Denial::Transition { from: Status::Killed, to: None }))
            }
            ClaimState::Free(status) => Ok(status),
        })
    }

    pub(super) fn push(&mut self, id: &ClaimId, fact: Fact) {
        let name = self.name(id);
        if let Fact::Disputed { dispute } = &fact {
            self.draft.notify(&name, &dispute.incident);
        }
        let texts = self.texts();
        let claim = self.draft.record(&name, self.claims.remove(id), self.now, fact, texts);
        // The journal keeps the line that the fact adds to the claim's history.
        if let Some(recorded) = self.draft.facts.last_mut() {
            recorded.texts.text = claim.history.last().map(|line| line.text.clone());
        }
        self.claims.insert(id.clone(), claim);
    }

    pub(super) fn push_pipeline(&mut self, fact: PipelineFact) {
        // Moved out and back in: a fall may affect every claim, and must not copy all of them for each.
        let nothing = Pipeline::new(self.pipeline.final_stage.clone(), self.now.at);
        let before = std::mem::replace(&mut self.pipeline, nothing);
        let (name, texts) = (self.pipeline_name(), self.texts());
        self.pipeline = self.draft.record(&name, self.is_begun.then_some(before), self.now, fact, texts);
        self.is_begun = true;
    }

    fn texts(&self) -> Texts {
        Texts { session: self.request.session.map(str::to_owned), text: None, ..Texts::default() }
    }

    /// Changes a status, and the statuses of the claims that depend on it.
    pub(super) fn move_to(&mut self, id: &ClaimId, to: Status, reason: Option<String>) -> Result<(), Halt> {
        // All rows are loaded before the first fact: a missing row makes the store run the decision again.
        self.load_dependents(id, to)?;
        self.push(id, Fact::Moved { to, reason });
        self.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: ListedStatus::Free(to) });
        self.cascade(id, to);
        Ok(())
    }

    fn dependents(&self, id: &ClaimId) -> Vec<ClaimId> {
        self.pipeline.claims.get(id).map(|entry| entry.dependents.clone()).unwrap_or_default()
    }

    /// Loads the rows that a fall of this claim would affect.
    pub(super) fn load_dependents(&mut self, id: &ClaimId, to: Status) -> Result<(), Halt> {
        if to.is_fallen() { self.load(&self.dependents(id)) } else { Ok(()) }
    }

    /// Challenges the claims that depend on a fallen one; a DISPUTED claim queues the change (D4).
    pub(super) fn cascade(&mut self, base: &ClaimId, fell: Status) {
        if !fell.is_fallen() {
            return;
        }
        for id in self.dependents(base) {
            match self.claims.get(&id).map(|claim| &claim.state) {
                Some(ClaimState::Disputed(_)) => {
                    self.push(&id, Fact::Queued { base: base.clone(), fell });
                    self.push_pipeline(PipelineFact::Queued { claim: id, base: base.clone() });
                }
                Some(ClaimState::Free(_)) => self.challenge(&id, base, fell),
                None => {}
            }
        }
    }

    /// Challenges a claim that depends on a fallen one.
    pub(super) fn challenge(&mut self, id: &ClaimId, base: &ClaimId, fell: Status) {
        let Some(ClaimState::Free(status)) = self.claims.get(id).map(|claim| &claim.state) else { return };
        if status.is_fallen() || *status == Status::Challenged {
            return;
        }
        self.push(id, Fact::Challenged { base: base.clone(), fell });
        self.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: ListedStatus::Free(Status::Challenged) });
    }

    /// Denies an operation on one claim, and records the denial.
    pub(super) fn deny(&mut self, id: &ClaimId, because: Denial) -> Verdict {
        let verb = self.request.event.cause();
        self.push(id, Fact::Denied { verb: verb.to_owned(), because });
        let claim = Some(id.clone());
        self.push_pipeline(PipelineFact::Denied { verb: verb.to_owned(), claim, disputed: Vec::new() });
        let (code, text) = match because {
            Denial::Frozen => {
                let dispute = self.claims.get(id).and_then(Claim::dispute);
                let (incident, since) = dispute
                    .map(|dispute| (dispute.incident.as_str(), dispute.since.at.to_seconds_text()))
                    .unwrap_or_default();
                let text = format!(
                    "{id} has been DISPUTED since {since} (incident {incident}) and is frozen: haltline denies {verb} until somebody presents new data or drops the claim, or a person overrides the dispute"
                );
                ("HL-CLAIM-02", text)
            }
            Denial::Transition { from, to: Some(to) } => {
                ("HL-CLAIM-05", format!("{id} is {from}: {verb} cannot make it {to}"))
            }
            Denial::Transition { from, to: None } => {
                ("HL-CLAIM-05", format!("{id} is {from}, which is final: haltline denies {verb}"))
            }
        };
        Verdict::Deny(Reason { circuit: self.name(id), code, text, retry: Retry::Person })
    }

    /// Denies any operation after the final stage was closed.
    pub(super) fn deny_if_over(&mut self, id: Option<&ClaimId>) -> Option<Verdict> {
        if !self.pipeline.is_over() {
            return None;
        }
        let verb = self.request.event.cause();
        let claim = id.filter(|id| self.pipeline.claims.contains_key(id)).cloned();
        self.push_pipeline(PipelineFact::Denied { verb: verb.to_owned(), claim, disputed: Vec::new() });
        let stage = &self.pipeline.final_stage;
        let text = format!("the final stage {stage} of this pipeline is closed: haltline denies {verb}");
        Some(self.pipeline_denial("HL-CLAIM-04", text))
    }

    pub(super) fn pipeline_denial(&self, code: &'static str, text: String) -> Verdict {
        Verdict::Deny(Reason { circuit: self.pipeline_name(), code, text, retry: Retry::Person })
    }

    pub(super) fn warn(&self, id: &ClaimId, code: &'static str, text: String) -> Verdict {
        Verdict::Warn(Reason { circuit: self.name(id), code, text, retry: Retry::Now })
    }

    pub(super) fn incident(&self, id: &ClaimId, generation: u64) -> String {
        incident_id(&self.name(id), generation, self.now)
    }

    /// Checks that what was added to a claim fits the limits (E10, E11). The ways to end a dispute skip this check.
    pub(super) fn check_limits(&self, id: &ClaimId) -> Result<(), Halt> {
        let Some(claim) = self.claims.get(id) else { return Ok(()) };
        let before = self.peek(id)?;
        if let Some((what, most)) = claim.overfull(before) {
            return Err(Problem::TooMany { what, most }.into());
        }
        let (old, new) = (before.map_or(0, Claim::bytes), claim.bytes());
        let most = Limits::CLAIM_BYTES_MAX;
        if new > old && new > most {
            return Err(Problem::TooLong { what: "all texts of this claim", bytes: new, most }.into());
        }
        let others = self.pipeline.bytes().saturating_sub(self.pipeline.claims.get(id).map_or(0, |entry| entry.bytes));
        let (bytes, most) = (others.saturating_add(new), Limits::PIPELINE_BYTES_MAX);
        if new > old && bytes > most {
            return Err(Problem::TooLong { what: "all texts of this pipeline", bytes, most }.into());
        }
        Ok(())
    }

    pub(super) fn into_decision(mut self, verdict: Verdict) -> Decision {
        let sizes: Vec<(ClaimId, u64)> = self.claims.iter().map(|(id, claim)| (id.clone(), claim.bytes())).collect();
        for (claim, bytes) in sizes {
            if self.pipeline.claims.get(&claim).is_some_and(|entry| entry.bytes != bytes) {
                self.push_pipeline(PipelineFact::Sized { claim, bytes });
            }
        }
        self.draft.into_decision(verdict)
    }
}
