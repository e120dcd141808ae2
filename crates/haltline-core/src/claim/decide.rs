//! Decides events on claims (D1–D5).
//!
//! Each step writes facts into a draft and sees the rows as they are after those facts. A claim's own row and the
//! pipeline's index change together, in one decision.

mod draft;
mod resolution;
mod review;
mod stage;

use super::{
    Added, ClaimEvent, ClaimId, Denial, Edit, Fact, Limits, ListedStatus, NewClaim, PipelineFact, PipelineName,
    Problem, Status,
};
use crate::identity::is_same_wording;
use crate::{Decision, Halt, Memory, Moment, Policy, Verdict};
use draft::ClaimDraft;

/// An event with everything that the decision needs.
#[derive(Clone, Debug)]
pub struct ClaimRequest<'a> {
    pub pipeline: &'a PipelineName,
    pub session: Option<&'a str>,
    pub event: &'a ClaimEvent,
}

pub fn decide(memory: &Memory, policy: &Policy, request: &ClaimRequest<'_>, now: Moment) -> Result<Decision, Halt> {
    let mut draft = ClaimDraft::new(memory, policy, request, now)?;
    let verdict = handle_event(&mut draft, request.event)?;
    Ok(draft.into_decision(verdict))
}

fn handle_event(draft: &mut ClaimDraft<'_>, event: &ClaimEvent) -> Result<Verdict, Halt> {
    match event {
        ClaimEvent::Add(new) => add(draft, new),
        ClaimEvent::Round(round) => review::round(draft, round),
        ClaimEvent::Edit(edit) => self::edit(draft, edit),
        ClaimEvent::Promote { claim, to, reason } => {
            optional("reason", reason.as_deref())?;
            let status = match draft.status_or_denial(claim)? {
                Ok(status) => status,
                Err(verdict) => return Ok(verdict),
            };
            if !status.rises_to(*to) {
                return Ok(draft.deny(claim, Denial::Transition { from: status, to: Some(*to) }));
            }
            draft.move_to(claim, *to, reason.clone())?;
            Ok(Verdict::Pass)
        }
        ClaimEvent::Kill { claim, reason } => {
            required("reason", reason)?;
            match draft.status_or_denial(claim)? {
                Ok(_status) => draft.move_to(claim, Status::Killed, Some(reason.clone())).map(|()| Verdict::Pass),
                Err(verdict) => Ok(verdict),
            }
        }
        ClaimEvent::Resolve { claim, how } => resolution::resolve(draft, claim, how),
        ClaimEvent::Reexamine { claim, trigger, outcome } => {
            resolution::reexamine(draft, claim, trigger.as_ref(), outcome.as_ref())
        }
        ClaimEvent::CycleBegin => stage::begin_cycle(draft),
        ClaimEvent::CycleEnd => stage::end_cycle(draft),
        ClaimEvent::AdvanceStage { stage } => stage::advance(draft, stage),
        ClaimEvent::CloseStage { stage } => stage::close(draft, stage),
    }
}

fn add(draft: &mut ClaimDraft<'_>, new: &NewClaim) -> Result<Verdict, Halt> {
    required("text", &new.text)?;
    label("type", new.kind.as_deref())?;
    for text in &new.evidence {
        required("evidence", text)?;
    }
    for text in &new.assumptions {
        required("assumption", text)?;
    }
    if let Some(verdict) = draft.deny_if_over(new.id.as_ref()) {
        return Ok(verdict);
    }
    let id = new.id.clone().unwrap_or_else(|| draft.pipeline.free_id());
    // A claim that only the index has was lost with a damaged store, and may be added again.
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
    let status = ListedStatus::Free(Status::Unverified);
    draft.push_pipeline(PipelineFact::Added { claim: id.clone(), status, depends_on: depends_on.clone() });
    challenge_by(draft, &id, &depends_on);
    draft.check_limits(&id)?;
    Ok(Verdict::Pass)
}

fn edit(draft: &mut ClaimDraft<'_>, edit: &Edit) -> Result<Verdict, Halt> {
    let id = &edit.claim;
    optional("reason", edit.reason.as_deref())?;
    check_changes(&edit.changes)?;
    let status = match draft.status_or_denial(id)? {
        Ok(status) => status,
        Err(verdict) => return Ok(verdict),
    };
    let claim = draft.claim(id)?;
    let changes = edit.changes.differing_from(claim);
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
        return Ok(draft.deny(id, Denial::Transition { from: status, to: Some(to) }));
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
    draft.check_limits(id)?;
    Ok(Verdict::Pass)
}

/// The dependencies of a claim without duplicates. Each must exist, and must not be the claim itself.
fn bases(draft: &ClaimDraft<'_>, id: &ClaimId, on: &[ClaimId]) -> Result<Vec<ClaimId>, Halt> {
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

/// A claim that depends on a fallen one is CHALLENGED from the start.
fn challenge_by(draft: &mut ClaimDraft<'_>, id: &ClaimId, bases: &[ClaimId]) {
    for base in bases {
        if let Some(fell) = draft.pipeline.status(base).filter(|status| status.is_fallen()) {
            draft.challenge(id, base, fell);
        }
    }
}

/// Checks a text that must not be empty.
fn required(what: &'static str, text: &str) -> Result<(), Halt> {
    if text.trim().is_empty() {
        return Err(Problem::Blank(what).into());
    }
    let most = Limits::TEXT_BYTES_MAX;
    if text.len() > most {
        return Err(Problem::TooLong { what, bytes: text.len() as u64, most: most as u64 }.into());
    }
    Ok(())
}

/// Checks a text that may be missing, but must not be empty.
fn optional(what: &'static str, text: Option<&str>) -> Result<(), Halt> {
    text.map_or(Ok(()), |text| required(what, text))
}

/// Checks a short name that may be missing.
fn label(what: &'static str, text: Option<&str>) -> Result<(), Halt> {
    optional(what, text)?;
    let most = Limits::LABEL_BYTES_MAX;
    match text.map(str::len).filter(|length| *length > most) {
        Some(length) => Err(Problem::TooLong { what, bytes: length as u64, most: most as u64 }.into()),
        None => Ok(()),
    }
}

fn check_changes(changes: &super::Changes) -> Result<(), Halt> {
    optional("new-evidence", changes.new_evidence.as_deref())?;
    optional("test-run", changes.test_run.as_deref())?;
    optional("claim-text", changes.claim_text.as_deref())
}
