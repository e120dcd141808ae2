//! Evaluates a review round: whether it counts, and whether it makes the claim DISPUTED (D1, D2).

use std::collections::BTreeSet;

use super::draft::ClaimDraft;
use super::{check_changes, label, optional};
use crate::Mode;
use crate::claim::objection::{find, find_reference};
use crate::claim::{
    Claim, ClaimId, ClaimState, Dispute, DisputeCause, Fact, ListedStatus, Objection, PipelineFact, Problem, Reviewed,
    Round, Status, Weight, dispute_text,
};
use crate::identity::wording_digest;
use crate::{Halt, Verdict};

pub(super) fn round(draft: &mut ClaimDraft<'_>, round: &Round) -> Result<Verdict, Halt> {
    check(round)?;
    let id = &round.claim;
    let status = match draft.status_or_denial(id)? {
        Ok(status) => status,
        Err(verdict) => return Ok(verdict),
    };
    let rounds_before = draft.claim(id)?.rounds_so_far;
    let reviewed = evaluate_round(draft.claim(id)?, round)?;
    let (weight, number, count) = (reviewed.weight, reviewed.objection, reviewed.count);
    let is_joined = !reviewed.joined.is_empty();
    let counted_before = reviewed.count.saturating_sub(u32::from(weight == Weight::Counted));
    draft.push(id, Fact::Reviewed(Box::new(reviewed)));
    draft.push_pipeline(PipelineFact::Reviewed { claim: id.clone() });
    let limit = draft.policy.claim.rounds();
    let may_fire = match weight {
        Weight::Counted => true,
        Weight::Repeated => is_joined,
        Weight::Changed | Weight::Stale => false,
    };
    let (rounds, ceiling) = (draft.claim(id)?.rounds_so_far, draft.policy.claim.ceiling().unwrap_or(u32::MAX));
    let is_last_round = rounds >= ceiling && weight != Weight::Stale;
    let verdict = if may_fire && count >= limit {
        let dispute = dispute(draft, id, number, (count, limit), DisputeCause::Objection, status)?;
        match draft.policy.mode {
            Mode::Enforce => freeze(draft, id, dispute),
            // haltline warns once, not with every round that follows.
            Mode::Observe if counted_before < limit || is_joined => would_freeze(draft, id, dispute),
            Mode::Observe => Verdict::Pass,
        }
    } else if is_last_round && !is_over(draft.claim(id)?) {
        let dispute = dispute(draft, id, number, (rounds, ceiling), DisputeCause::Rounds, status)?;
        match draft.policy.mode {
            Mode::Enforce => freeze(draft, id, dispute),
            Mode::Observe if rounds_before < ceiling => would_freeze(draft, id, dispute),
            Mode::Observe => Verdict::Pass,
        }
    } else {
        Verdict::Pass
    };
    draft.check_limits(id)?;
    Ok(verdict)
}

fn check(round: &Round) -> Result<(), Halt> {
    let stated = &round.objection;
    label("objection-id", stated.id.as_deref())?;
    optional("objection", stated.text.as_deref())?;
    optional("same-as", stated.same_as.as_deref())?;
    label("reviewer", round.reviewer.as_deref())?;
    label("round", round.round.as_deref())?;
    optional("answer", round.answer.as_deref())?;
    check_changes(&round.changes)
}

/// Finds the objection, and evaluates how the round affects its count.
fn evaluate_round(claim: &Claim, round: &Round) -> Result<Reviewed, Halt> {
    let stated = &round.objection;
    let found = find(claim, stated);
    let linked = match &stated.same_as {
        Some(at) => Some(find_reference(claim, at).ok_or(Problem::NoSuchObjection)?),
        None => None,
    };
    let is_known = linked.or(found).is_some();
    if !is_known && stated.text.is_none() {
        return Err(Problem::NoObjection.into());
    }
    let objection = linked.or(found).unwrap_or_else(|| claim.next_objection());
    // A paraphrase that was taken for a separate objection before is merged into this one, with its count.
    let joined: Vec<u32> = found.filter(|found| *found != objection).into_iter().collect();
    let all: Vec<&Objection> =
        joined.iter().chain([&objection]).filter_map(|number| claim.objection(*number)).collect();
    let so_far = counted(&all);
    // The reports of one round may come in any order: it counts once, and not at all if one of them changed the claim.
    let is_counted = |name: &String| all.iter().any(|objection| objection.counted.contains(name));
    let is_repeated = round.round.as_ref().is_some_and(|name| is_counted(name) || claim.changed_in.contains(name));
    let changes = round.changes.differing_from(claim);
    let (weight, count) = match round.generation {
        Some(generation) if generation != claim.generation => (Weight::Stale, so_far),
        Some(_) | None if !changes.is_empty() => (Weight::Changed, 0),
        Some(_) | None if is_repeated => (Weight::Repeated, so_far),
        Some(_) | None => (Weight::Counted, so_far.saturating_add(1)),
    };
    let known = claim.objection(objection).map(|known| known.text.as_str());
    let is_about_change = !is_known && stated.text.as_deref().is_some_and(|text| is_about_last_change(claim, text));
    Ok(Reviewed {
        objection,
        joined: if weight == Weight::Stale { Vec::new() } else { joined },
        id: stated.id.clone(),
        text: stated.text.clone().filter(|text| known != Some(text)),
        wording: stated.text.as_deref().map(wording_digest),
        reviewer: round.reviewer.clone(),
        round: round.round.clone(),
        answer: round.answer.clone(),
        changes,
        weight,
        count,
        is_about_change,
    })
}

/// Rounds without a change on merged objections: a round that was counted for two of them is still one round.
fn counted(all: &[&Objection]) -> u32 {
    let sum = all.iter().fold(0, |sum: u32, one| sum.saturating_add(one.count));
    let names: Vec<&String> = all.iter().flat_map(|one| &one.counted).collect();
    let different: BTreeSet<&String> = names.iter().copied().collect();
    let twice = u32::try_from(names.len() - different.len()).unwrap_or(u32::MAX);
    sum.saturating_sub(twice)
}

/// True if at least half of the objection's longer words are in what the last change added: the change brought it about.
fn is_about_last_change(claim: &Claim, objection: &str) -> bool {
    let Some(change) = &claim.last_change else { return false };
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| word.chars().count() >= LONG_WORD).map(str::to_lowercase).collect()
    };
    let (objected, changed) = (words(objection), words(change));
    let shared = objected.intersection(&changed).count();
    shared > 0 && shared * 2 >= objected.len()
}

/// Shorter words are in most texts.
const LONG_WORD: usize = 4;

/// True if nothing is left to review.
fn is_over(claim: &Claim) -> bool {
    claim.dispute().is_some() || claim.state == ClaimState::Free(Status::Killed)
}

/// The dispute after the round that reached the limit. Both positions are stored verbatim.
fn dispute(
    draft: &mut ClaimDraft<'_>,
    id: &ClaimId,
    number: u32,
    (count, limit): (u32, u32),
    cause: DisputeCause,
    before: Status,
) -> Result<Dispute, Halt> {
    let claim = draft.claim(id)?;
    let objection = claim.objection(number);
    let reason = objection.map(|known| known.text.clone()).unwrap_or_default();
    let (position, generation) = (claim.position.clone(), claim.generation);
    Ok(Dispute {
        incident: draft.incident(id, generation),
        since: draft.now,
        cycle: draft.pipeline.cycle_number(),
        stage: draft.pipeline.stage.as_ref().map(|stage| stage.name.to_string()),
        objection: number,
        reason,
        position,
        count,
        limit,
        cause,
        before,
        queued: Vec::new(),
        examinations: Vec::new(),
        unresolved: 0,
        examined: Vec::new(),
    })
}

fn freeze(draft: &mut ClaimDraft<'_>, id: &ClaimId, dispute: Dispute) -> Verdict {
    let (incident, code) = (&dispute.incident, dispute.cause.code());
    let text = format!(
        "{id} is now DISPUTED (incident {incident}): {}. haltline froze it; the review of all other claims continues",
        dispute_text(&dispute)
    );
    draft.push(id, Fact::Disputed { dispute: Box::new(dispute) });
    draft.push_pipeline(PipelineFact::Moved { claim: id.clone(), to: ListedStatus::Disputed });
    draft.warn(id, code, text)
}

fn would_freeze(draft: &mut ClaimDraft<'_>, id: &ClaimId, dispute: Dispute) -> Verdict {
    let code = dispute.cause.code();
    let text = format!("{id} would be DISPUTED: {}. Observe mode does not freeze it", dispute_text(&dispute));
    draft.push(id, Fact::WouldDispute { dispute: Box::new(dispute) });
    draft.warn(id, code, text)
}
