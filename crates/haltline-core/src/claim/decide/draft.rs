//! A decision in the making: each fact is applied at once, so that the next thought sees it.

use std::collections::BTreeMap;

use super::Question;
use crate::claim::{
    self, Claim, ClaimId, Fact, Limits, Pipeline, PipelineFact, Problem, Refusal, StageName, Standing, Status, Word,
};
use crate::{
    CircuitName, Decision, Effect, Fact as AnyFact, Memory, Moment, Policy, Reason, Recorded, Retry, State, Texts,
    Verdict,
};

/// Why a decision cannot be made now.
pub(super) enum Stop {
    /// These rows must be read first.
    Needs(Vec<CircuitName>),
    /// It cannot happen.
    Problem(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Problem(problem)
    }
}

/// The rows as they are so far, and what was written down.
pub(super) struct Draft<'a> {
    memory: &'a Memory,
    pub(super) policy: &'a Policy,
    question: &'a Question<'a>,
    pub(super) now: Moment,
    pub(super) pipeline: Pipeline,
    /// Whether anything is written down of the pipeline.
    is_begun: bool,
    claims: BTreeMap<ClaimId, Claim>,
    facts: Vec<Recorded>,
    effects: Vec<Effect>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        memory: &'a Memory,
        policy: &'a Policy,
        question: &'a Question<'a>,
        now: Moment,
    ) -> Result<Self, Stop> {
        let name = CircuitName::pipeline(question.pipeline.as_str());
        let Some(row) = memory.row(&name) else { return Err(Stop::Needs(vec![name])) };
        let known = row.and_then(State::as_pipeline).cloned();
        let is_begun = known.is_some();
        let final_stage = StageName::parse(&policy.claim.final_stage).map_err(|_name| Problem::BadFinalStage);
        let pipeline = match known {
            Some(known) => known,
            None => Pipeline::new(final_stage?, now.at),
        };
        let (claims, facts, effects) = (BTreeMap::new(), Vec::new(), Vec::new());
        Ok(Self { memory, policy, question, now, pipeline, is_begun, claims, facts, effects })
    }

    fn name(&self, id: &ClaimId) -> CircuitName {
        CircuitName::claim(self.question.pipeline.as_str(), id.as_str())
    }

    fn pipeline_name(&self) -> CircuitName {
        CircuitName::pipeline(self.question.pipeline.as_str())
    }

    /// Whether the pipeline is there.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// The pipeline begins with whatever comes first.
    pub(super) fn begin(&mut self) -> Result<(), Stop> {
        if !self.is_begun {
            self.push_pipeline(PipelineFact::Began { final_stage: self.pipeline.final_stage.clone() });
        }
        Ok(())
    }

    /// The claim's row as it was read.
    pub(super) fn peek(&self, id: &ClaimId) -> Result<Option<&'a Claim>, Stop> {
        let name = self.name(id);
        match self.memory.row(&name) {
            Some(row) => Ok(row.and_then(State::as_claim)),
            None => Err(Stop::Needs(vec![name])),
        }
    }

    /// Reads these claims' rows, all that are missing at once. A row and the index say the same, unless the store was
    /// damaged and put together again: then the row is believed.
    pub(super) fn load(&mut self, ids: &[ClaimId]) -> Result<(), Stop> {
        let missing: Vec<CircuitName> =
            ids.iter().map(|id| self.name(id)).filter(|name| self.memory.row(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(Stop::Needs(missing));
        }
        for id in ids {
            if self.claims.contains_key(id) {
                continue;
            }
            let Some(claim) = self.peek(id)?.cloned() else { continue };
            let word = claim.word();
            let depends_on = claim.depends_on.clone();
            self.claims.insert(id.clone(), claim);
            match self.pipeline.claims.get(id).map(|entry| entry.word) {
                Some(indexed) if indexed == word => {}
                Some(_other) => self.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: word }),
                None => {
                    self.begin()?;
                    self.push_pipeline(PipelineFact::Added { claim: id.clone(), word, depends_on });
                }
            }
        }
        Ok(())
    }

    /// The claim as it is so far.
    pub(super) fn claim(&mut self, id: &ClaimId) -> Result<&Claim, Stop> {
        self.load(std::slice::from_ref(id))?;
        self.claims.get(id).ok_or_else(|| Problem::NoClaim(id.clone()).into())
    }

    /// The status of a claim that may be changed, or the refusal: the pipeline is over, the claim is DISPUTED or
    /// KILLED.
    pub(super) fn free(&mut self, id: &ClaimId) -> Result<Result<Status, Verdict>, Stop> {
        let standing = self.claim(id)?.standing.clone();
        if let Some(verdict) = self.refuse_over(Some(id)) {
            return Ok(Err(verdict));
        }
        Ok(match standing {
            Standing::Disputed(_) => Err(self.refuse(id, Refusal::Frozen)),
            Standing::Free(Status::Killed) => {
                Err(self.refuse(id, Refusal::Transition { from: Status::Killed, to: None }))
            }
            Standing::Free(status) => Ok(status),
        })
    }

    pub(super) fn push(&mut self, id: &ClaimId, fact: Fact) {
        let claim = claim::apply(self.claims.remove(id), &fact, self.now);
        let text = claim.history.last().map(|line| line.text.clone());
        self.claims.insert(id.clone(), claim);
        let circuit = self.name(id);
        if let Fact::Disputed { dispute } = &fact {
            self.effects.push(Effect::Notify { circuit: circuit.clone(), incident: dispute.incident.clone() });
        }
        self.record(circuit, AnyFact::Claim(fact), text);
    }

    pub(super) fn push_pipeline(&mut self, fact: PipelineFact) {
        // Taken out and put back: a fall may touch every claim, and each must not copy all of them.
        let nothing = Pipeline::new(self.pipeline.final_stage.clone(), self.now.at);
        let before = std::mem::replace(&mut self.pipeline, nothing);
        self.pipeline = claim::apply_pipeline(self.is_begun.then_some(before), &fact, self.now);
        self.is_begun = true;
        self.record(self.pipeline_name(), AnyFact::Pipeline(fact), None);
    }

    fn record(&mut self, circuit: CircuitName, fact: AnyFact, text: Option<String>) {
        let texts = Texts { session: self.question.session.map(str::to_owned), text };
        self.facts.push(Recorded { circuit, at: self.now, fact, texts });
    }

    /// Changes a status, and what follows from that for the claims above.
    pub(super) fn move_to(&mut self, id: &ClaimId, to: Status, reason: Option<String>) -> Result<(), Stop> {
        // All rows first: nothing is written down twice.
        self.load_dependents(id, to)?;
        self.push(id, Fact::Moved { to, reason });
        self.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: Word::Free(to) });
        self.cascade(id, to);
        Ok(())
    }

    fn dependents(&self, id: &ClaimId) -> Vec<ClaimId> {
        self.pipeline.claims.get(id).map(|entry| entry.dependents.clone()).unwrap_or_default()
    }

    /// Reads the rows that a fall of this claim would touch.
    pub(super) fn load_dependents(&mut self, id: &ClaimId, to: Status) -> Result<(), Stop> {
        if to.is_fallen() { self.load(&self.dependents(id)) } else { Ok(()) }
    }

    /// What stands on a claim that fell is in doubt; where it is frozen, that waits (D4).
    pub(super) fn cascade(&mut self, base: &ClaimId, fell: Status) {
        if !fell.is_fallen() {
            return;
        }
        for id in self.dependents(base) {
            match self.claims.get(&id).map(|claim| &claim.standing) {
                Some(Standing::Disputed(_)) => {
                    self.push(&id, Fact::Queued { base: base.clone(), fell });
                    self.push_pipeline(PipelineFact::Queued { claim: id, base: base.clone() });
                }
                Some(Standing::Free(_)) => self.challenge(&id, base, fell),
                None => {}
            }
        }
    }

    /// A claim that stands on one that fell.
    pub(super) fn challenge(&mut self, id: &ClaimId, base: &ClaimId, fell: Status) {
        let Some(Standing::Free(status)) = self.claims.get(id).map(|claim| &claim.standing) else { return };
        if status.is_fallen() || *status == Status::Challenged {
            return;
        }
        self.push(id, Fact::Challenged { base: base.clone(), fell });
        self.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: Word::Free(Status::Challenged) });
    }

    /// Refuses something about one claim, and writes that down.
    pub(super) fn refuse(&mut self, id: &ClaimId, because: Refusal) -> Verdict {
        let verb = self.question.what.cause();
        self.push(id, Fact::Refused { verb: verb.to_owned(), because });
        let claim = Some(id.clone());
        self.push_pipeline(PipelineFact::Refused { verb: verb.to_owned(), claim, disputed: Vec::new() });
        let (code, text) = match because {
            Refusal::Frozen => {
                let dispute = self.claims.get(id).and_then(Claim::dispute);
                let (incident, since) = dispute
                    .map(|dispute| (dispute.incident.as_str(), dispute.since.at.to_seconds_text()))
                    .unwrap_or_default();
                let text = format!(
                    "{id} is DISPUTED since {since} (incident {incident}) and frozen: {verb} is refused until it is resolved by new data, by dropping it, or by a person's override"
                );
                ("HL-CLAIM-02", text)
            }
            Refusal::Transition { from, to: Some(to) } => {
                ("HL-CLAIM-05", format!("{id} is {from}: {verb} does not lead from there to {to}"))
            }
            Refusal::Transition { from, to: None } => {
                ("HL-CLAIM-05", format!("{id} is {from}, which is final: {verb} is refused"))
            }
        };
        Verdict::Deny(Reason { circuit: self.name(id), code, text, retry: Retry::Person })
    }

    /// Refuses whatever comes after the final stage was closed.
    pub(super) fn refuse_over(&mut self, id: Option<&ClaimId>) -> Option<Verdict> {
        if !self.pipeline.is_over() {
            return None;
        }
        let verb = self.question.what.cause();
        let claim = id.filter(|id| self.pipeline.claims.contains_key(id)).cloned();
        self.push_pipeline(PipelineFact::Refused { verb: verb.to_owned(), claim, disputed: Vec::new() });
        let stage = &self.pipeline.final_stage;
        let text = format!("the final stage {stage} of this pipeline is closed: {verb} is refused");
        Some(self.refusal_of_pipeline("HL-CLAIM-04", text))
    }

    /// A refusal in the pipeline's name.
    pub(super) fn refusal_of_pipeline(&self, code: &'static str, text: String) -> Verdict {
        Verdict::Deny(Reason { circuit: self.pipeline_name(), code, text, retry: Retry::Person })
    }

    /// A word for the asker in the claim's name.
    pub(super) fn tell(&self, id: &ClaimId, code: &'static str, text: String) -> Verdict {
        Verdict::Warn(Reason { circuit: self.name(id), code, text, retry: Retry::Now })
    }

    /// What names a dispute: the claim, its generation, the moment.
    pub(super) fn incident(&self, id: &ClaimId, generation: u64) -> String {
        let at = self.now.at.as_millis().to_be_bytes();
        crate::digest_hex(&[self.name(id).as_str().as_bytes(), &generation.to_be_bytes(), &at], 4)
    }

    /// Whether what was added to a claim fits (E10, E11). Ways out of a dispute are not held up by it.
    pub(super) fn check_room(&self, id: &ClaimId) -> Result<(), Stop> {
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

    pub(super) fn into_decision(mut self, verdict: Verdict) -> Result<Decision, Stop> {
        let sizes: Vec<(ClaimId, u64)> = self.claims.iter().map(|(id, claim)| (id.clone(), claim.bytes())).collect();
        for (claim, bytes) in sizes {
            if self.pipeline.claims.get(&claim).is_some_and(|entry| entry.bytes != bytes) {
                self.push_pipeline(PipelineFact::Sized { claim, bytes });
            }
        }
        let Self { facts, effects, .. } = self;
        Ok(Decision { facts, verdict, effects, notices: Vec::new() })
    }
}
