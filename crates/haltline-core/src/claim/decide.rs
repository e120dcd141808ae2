//! What follows from an event on claims (D1–D5).
//!
//! Each thought writes facts into a draft and sees the rows as they are after them. A claim's own row and the pipeline's
//! index change together, in one decision.

mod draft;
mod review;
mod settle;
mod stage;

use super::{
    Added, ClaimId, Edit, Fact, Happening, Limits, NewClaim, PipelineFact, PipelineName, Problem, Refusal, Status, Word,
};
use crate::identity::is_same_wording;
use crate::{Memory, Moment, Policy, Rejection, Step, Verdict};
use draft::{Draft, Stop};

/// An event with everything the decision needs to know of it.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The pipeline.
    pub pipeline: &'a PipelineName,
    /// The session, where there is one.
    pub session: Option<&'a str>,
    /// What happened.
    pub what: &'a Happening,
}

/// Decides one event.
pub fn decide(memory: &Memory, policy: &Policy, question: &Question<'_>, now: Moment) -> Step {
    let outcome = Draft::new(memory, policy, question, now).and_then(|mut draft| {
        let verdict = take(&mut draft, question.what)?;
        draft.into_decision(verdict)
    });
    match outcome {
        Ok(decision) => Step::Decided(decision),
        Err(Stop::Needs(names)) => Step::Needs(names),
        Err(Stop::Problem(problem)) => Step::Rejected(Rejection::Claim(problem)),
    }
}

fn take(draft: &mut Draft<'_>, what: &Happening) -> Result<Verdict, Stop> {
    match what {
        Happening::Add(new) => add(draft, new),
        Happening::Round(round) => review::round(draft, round),
        Happening::Edit(edit) => self::edit(draft, edit),
        Happening::Promote { claim, to, reason } => {
            optional("reason", reason.as_deref())?;
            let status = match draft.free(claim)? {
                Ok(status) => status,
                Err(verdict) => return Ok(verdict),
            };
            if !status.rises_to(*to) {
                return Ok(draft.refuse(claim, Refusal::Transition { from: status, to: Some(*to) }));
            }
            draft.move_to(claim, *to, reason.clone())?;
            Ok(Verdict::Pass)
        }
        Happening::Kill { claim, reason } => {
            required("reason", reason)?;
            match draft.free(claim)? {
                Ok(_status) => draft.move_to(claim, Status::Killed, Some(reason.clone())).map(|()| Verdict::Pass),
                Err(verdict) => Ok(verdict),
            }
        }
        Happening::Resolve { claim, how } => settle::resolve(draft, claim, how),
        Happening::Reexamine { claim, trigger, outcome } => {
            settle::reexamine(draft, claim, trigger.as_ref(), outcome.as_ref())
        }
        Happening::CycleBegin => stage::begin_cycle(draft),
        Happening::CycleEnd => stage::end_cycle(draft),
        Happening::AdvanceStage { stage } => stage::advance(draft, stage),
        Happening::CloseStage { stage } => stage::close(draft, stage),
    }
}

fn add(draft: &mut Draft<'_>, new: &NewClaim) -> Result<Verdict, Stop> {
    required("text", &new.text)?;
    label("type", new.kind.as_deref())?;
    for text in &new.evidence {
        required("evidence", text)?;
    }
    for text in &new.assumptions {
        required("assumption", text)?;
    }
    if let Some(verdict) = draft.refuse_over(new.id.as_ref()) {
        return Ok(verdict);
    }
    let id = new.id.clone().unwrap_or_else(|| draft.pipeline.free_id());
    // One that only the index knows was lost with a damaged store, and may be made again.
    if draft.peek(&id)?.is_some() {
        return Err(Problem::Exists(id).into());
    }
    if draft.pipeline.claims.len() >= Limits::CLAIMS_MAX {
        return Err(Problem::TooMany { what: "claims in this pipeline", most: Limits::CLAIMS_MAX }.into());
    }
    let depends_on = bases(draft, &id, &new.depends_on)?;
    draft.begin()?;
    let NewClaim { text, kind, evidence, assumptions, confidence, .. } = new.clone();
    let added = Added { text, kind, evidence, assumptions, confidence, depends_on: depends_on.clone() };
    draft.push(&id, Fact::Added(Box::new(added)));
    let word = Word::Free(Status::Unverified);
    draft.push_pipeline(PipelineFact::Added { claim: id.clone(), word, depends_on: depends_on.clone() });
    challenge_by(draft, &id, &depends_on);
    draft.check_room(&id)?;
    Ok(Verdict::Pass)
}

fn edit(draft: &mut Draft<'_>, edit: &Edit) -> Result<Verdict, Stop> {
    let id = &edit.claim;
    optional("reason", edit.reason.as_deref())?;
    check_changes(&edit.changes)?;
    let status = match draft.free(id)? {
        Ok(status) => status,
        Err(verdict) => return Ok(verdict),
    };
    let claim = draft.claim(id)?;
    let changes = edit.changes.against(claim);
    let respelled = edit.changes.claim_text.clone();
    let respelled = respelled.filter(|text| *text != claim.text && is_same_wording(text, &claim.text));
    let known = claim.depends_on.clone();
    let mut depends_on = bases(draft, id, &edit.depends_on)?;
    depends_on.retain(|base| !known.contains(base));
    let to = edit.status.filter(|to| *to != status);
    if changes.is_empty() && respelled.is_none() && depends_on.is_empty() && to.is_none() {
        return Err(Problem::NothingChanges(id.clone()).into());
    }
    if let Some(to) = to.filter(|to| !status.turns_to(*to)) {
        return Ok(draft.refuse(id, Refusal::Transition { from: status, to: Some(to) }));
    }
    if !changes.is_empty() || respelled.is_some() || !depends_on.is_empty() {
        draft.push(id, Fact::Edited { changes, respelled, depends_on: depends_on.clone() });
    }
    if !depends_on.is_empty() {
        draft.push_pipeline(PipelineFact::Depends { claim: id.clone(), on: depends_on.clone() });
    }
    if let Some(to) = to {
        draft.move_to(id, to, edit.reason.clone())?;
    }
    challenge_by(draft, id, &depends_on);
    draft.check_room(id)?;
    Ok(Verdict::Pass)
}

/// The claims one stands on: they must be there, and each counts once.
fn bases(draft: &Draft<'_>, id: &ClaimId, on: &[ClaimId]) -> Result<Vec<ClaimId>, Stop> {
    let mut bases: Vec<ClaimId> = Vec::new();
    for base in on {
        if base == id {
            return Err(Problem::OwnBase(id.clone()).into());
        }
        if !draft.pipeline.claims.contains_key(base) {
            return Err(Problem::NoBase(base.clone()).into());
        }
        if !bases.contains(base) {
            bases.push(base.clone());
        }
    }
    Ok(bases)
}

/// A claim that is put on one that has fallen is in doubt from the start.
fn challenge_by(draft: &mut Draft<'_>, id: &ClaimId, bases: &[ClaimId]) {
    for base in bases {
        if let Some(fell) = draft.pipeline.status(base).filter(|status| status.is_fallen()) {
            draft.challenge(id, base, fell);
        }
    }
}

/// A text that must be there.
fn required(what: &'static str, text: &str) -> Result<(), Stop> {
    if text.trim().is_empty() {
        return Err(Problem::Blank(what).into());
    }
    let most = Limits::TEXT_BYTES_MAX;
    if text.len() > most {
        return Err(Problem::TooLong { what, bytes: text.len() as u64, most: most as u64 }.into());
    }
    Ok(())
}

/// A text that may be missing, but not empty.
fn optional(what: &'static str, text: Option<&str>) -> Result<(), Stop> {
    text.map_or(Ok(()), |text| required(what, text))
}

/// A short name that may be missing.
fn label(what: &'static str, text: Option<&str>) -> Result<(), Stop> {
    optional(what, text)?;
    let most = Limits::LABEL_BYTES_MAX;
    match text.map(str::len).filter(|length| *length > most) {
        Some(length) => Err(Problem::TooLong { what, bytes: length as u64, most: most as u64 }.into()),
        None => Ok(()),
    }
}

fn check_changes(changes: &super::Changes) -> Result<(), Stop> {
    optional("new-evidence", changes.new_evidence.as_deref())?;
    optional("test-run", changes.test_run.as_deref())?;
    optional("claim-text", changes.claim_text.as_deref())
}
