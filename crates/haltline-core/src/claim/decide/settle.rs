//! The ways out of a dispute, and looking at it again (D3, D4).

use super::draft::{Draft, Stop};
use super::required;
use crate::Verdict;
use crate::claim::{
    Claim, ClaimId, Dispute, Fact, Outcome, PipelineFact, Problem, Resolution, Settlement, Standing, Status, Trigger,
    Word,
};
use crate::identity::is_same_wording;

pub(super) fn resolve(draft: &mut Draft<'_>, id: &ClaimId, how: &Resolution) -> Result<Verdict, Stop> {
    match how {
        Resolution::NewData { evidence } => required("evidence", evidence)?,
        Resolution::Drop { rationale } => required("rationale", rationale)?,
        Resolution::Override { to, rationale, .. } => {
            required("rationale", rationale)?;
            if !to.is_final() {
                return Err(Problem::NotFinal(*to).into());
            }
        }
    }
    let claim = draft.claim(id)?;
    let is_known = |text: &str| claim.evidence.iter().any(|known| is_same_wording(known, text));
    let is_presented = matches!(how, Resolution::NewData { evidence } if is_known(evidence));
    let dispute = disputed(draft, id)?;
    if let Some(verdict) = draft.refuse_over(Some(id)) {
        return Ok(verdict);
    }
    // What was on the table all along resolves nothing.
    if is_presented {
        return Err(Problem::KnownEvidence.into());
    }
    let (how, to) = match how {
        Resolution::NewData { evidence } => (Settlement::NewData { evidence: evidence.clone() }, dispute.before),
        Resolution::Drop { rationale } => (Settlement::Dropped { rationale: rationale.clone() }, Status::Killed),
        Resolution::Override { to, rationale, operator } => {
            (Settlement::Overridden { who: operator.who.clone(), rationale: rationale.clone() }, *to)
        }
    };
    settle(draft, id, how, to)?;
    Ok(Verdict::Pass)
}

pub(super) fn reexamine(
    draft: &mut Draft<'_>,
    id: &ClaimId,
    trigger: Option<&(Trigger, String)>,
    outcome: Option<&(Outcome, String)>,
) -> Result<Verdict, Stop> {
    if trigger.is_none() && outcome.is_none() {
        return Err(Problem::NothingExamined.into());
    }
    if let Some((_, detail)) = trigger {
        required("detail", detail)?;
    }
    if let Some((_, reason)) = outcome {
        required("reason", reason)?;
    }
    let dispute = disputed(draft, id)?;
    if let Some(verdict) = draft.refuse_over(Some(id)) {
        return Ok(verdict);
    }
    if trigger.is_none() && dispute.examinations.is_empty() {
        return Err(Problem::NoExamination(id.clone()).into());
    }
    // The rows first, so that nothing is written down twice.
    draft.load_dependents(id, dispute.before)?;
    if let Some((trigger, detail)) = trigger {
        draft.push(id, Fact::ExaminationOpened { trigger: *trigger, detail: detail.clone() });
    }
    if let Some((outcome, reason)) = outcome {
        draft.push(id, Fact::Examined { outcome: *outcome, reason: reason.clone() });
        if *outcome == Outcome::Resolved {
            settle(draft, id, Settlement::Examined { reason: reason.clone() }, dispute.before)?;
        }
    }
    Ok(Verdict::Pass)
}

fn disputed(draft: &mut Draft<'_>, id: &ClaimId) -> Result<Dispute, Stop> {
    let dispute = draft.claim(id)?.dispute().cloned();
    dispute.ok_or_else(|| Problem::NotDisputed(id.clone()).into())
}

/// Ends a dispute, and then lets in what waited behind it: nothing that was queued is lost, whatever the end.
fn settle(draft: &mut Draft<'_>, id: &ClaimId, how: Settlement, to: Status) -> Result<(), Stop> {
    let queued = disputed(draft, id)?.queued;
    draft.load_dependents(id, to)?;
    draft.push(id, Fact::Resolved { how, to });
    draft.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: Word::Free(to) });
    for waiting in queued {
        let status = free_status(draft.claim(id)?);
        // One that has fallen itself is not merely in doubt.
        let applied = status.is_some_and(|status| !status.is_fallen());
        draft.push(id, Fact::Released { base: waiting.base, fell: waiting.fell, applied });
        if applied && status != Some(Status::Challenged) {
            draft.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: Word::Free(Status::Challenged) });
        }
    }
    draft.cascade(id, to);
    Ok(())
}

fn free_status(claim: &Claim) -> Option<Status> {
    match &claim.standing {
        Standing::Free(status) => Some(*status),
        Standing::Disputed(_) => None,
    }
}
