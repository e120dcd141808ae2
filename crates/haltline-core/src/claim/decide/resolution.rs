//! Resolves and re-examines disputes (D3, D4).

use super::draft::ClaimDraft;
use super::required;
use crate::claim::{
    Claim, ClaimId, ClaimState, Dispute, ExaminationOutcome, Fact, ListedStatus, PipelineFact, Problem, Resolution,
    Settlement, Status, Trigger,
};
use crate::identity::is_same_wording;
use crate::{Halt, Verdict};

pub(super) fn resolve(draft: &mut ClaimDraft<'_>, id: &ClaimId, how: &Resolution) -> Result<Verdict, Halt> {
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
    if let Some(verdict) = draft.deny_if_over(Some(id)) {
        return Ok(verdict);
    }
    // Evidence that was presented before resolves nothing.
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
    end_dispute(draft, id, how, to)?;
    Ok(Verdict::Pass)
}

pub(super) fn reexamine(
    draft: &mut ClaimDraft<'_>,
    id: &ClaimId,
    trigger: Option<&(Trigger, String)>,
    outcome: Option<&(ExaminationOutcome, String)>,
) -> Result<Verdict, Halt> {
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
    if let Some(verdict) = draft.deny_if_over(Some(id)) {
        return Ok(verdict);
    }
    if trigger.is_none() && dispute.examinations.is_empty() {
        return Err(Problem::NoExamination(id.clone()).into());
    }
    // All rows are loaded before the first fact: a missing row makes the store run the decision again.
    draft.load_dependents(id, dispute.before)?;
    if let Some((trigger, detail)) = trigger {
        draft.push(id, Fact::ExaminationOpened { trigger: *trigger, detail: detail.clone() });
    }
    if let Some((outcome, reason)) = outcome {
        draft.push(id, Fact::Examined { outcome: *outcome, reason: reason.clone() });
        if *outcome == ExaminationOutcome::Resolved {
            end_dispute(draft, id, Settlement::Examined { reason: reason.clone() }, dispute.before)?;
        }
    }
    Ok(Verdict::Pass)
}

fn disputed(draft: &mut ClaimDraft<'_>, id: &ClaimId) -> Result<Dispute, Halt> {
    let dispute = draft.claim(id)?.dispute().cloned();
    dispute.ok_or_else(|| Problem::NotDisputed(id.clone()).into())
}

/// Ends a dispute and then releases its queued changes: none is lost, however the dispute ends.
fn end_dispute(draft: &mut ClaimDraft<'_>, id: &ClaimId, how: Settlement, to: Status) -> Result<(), Halt> {
    let queued = disputed(draft, id)?.queued;
    draft.load_dependents(id, to)?;
    draft.push(id, Fact::Resolved { how, to });
    draft.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: ListedStatus::Free(to) });
    for waiting in queued {
        let status = free_status(draft.claim(id)?);
        // A claim that fell itself does not become CHALLENGED.
        let applied = status.is_some_and(|status| !status.is_fallen());
        draft.push(id, Fact::Released { base: waiting.base, fell: waiting.fell, applied });
        if applied && status != Some(Status::Challenged) {
            draft.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: ListedStatus::Free(Status::Challenged) });
        }
    }
    draft.cascade(id, to);
    Ok(())
}

fn free_status(claim: &Claim) -> Option<Status> {
    match &claim.state {
        ClaimState::Free(status) => Some(*status),
        ClaimState::Disputed(_) => None,
    }
}
