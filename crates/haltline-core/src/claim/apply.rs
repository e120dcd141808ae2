//! How each fact changes a claim. Nothing is decided here.

use super::{
    Changes, Claim, ClaimState, Denial, Dispute, DisputeCause, ExaminationOutcome, Examined, Fact, HistoryLine,
    Objection, OpenExamination, Queued, ResolvedDispute, Reviewed, Settlement, Status, Weight,
};
use crate::circuit::{increment, keep_newest};
use crate::counted;
use crate::{Instant, Moment};

pub fn apply(claim: Option<Claim>, fact: &Fact, at: Moment) -> Claim {
    let new = || Claim { created: at.at, updated: at.at, last_seen: at, ..Claim::default() };
    let mut claim = claim.unwrap_or_else(new);
    claim.last_seen = at;
    match fact {
        Fact::Added(added) => {
            claim.text.clone_from(&added.text);
            claim.kind.clone_from(&added.kind);
            claim.evidence.clone_from(&added.evidence);
            claim.assumptions.clone_from(&added.assumptions);
            claim.confidence = added.confidence;
            claim.depends_on.clone_from(&added.depends_on);
        }
        Fact::Reviewed(reviewed) => review(&mut claim, reviewed, at.at),
        Fact::Edited { changes, respelled, depends_on } => {
            change(&mut claim, changes, at.at);
            if let Some(text) = respelled {
                claim.text.clone_from(text);
            }
            claim.depends_on.extend(depends_on.iter().cloned());
            claim.updated = at.at;
        }
        Fact::Moved { to, reason } => {
            set_status(&mut claim, *to, at.at);
            claim.reason.clone_from(reason);
        }
        Fact::Challenged { .. } => set_status(&mut claim, Status::Challenged, at.at),
        Fact::Queued { base, fell } => {
            if let ClaimState::Disputed(dispute) = &mut claim.state {
                // If one dependency falls twice, that is one change.
                dispute.queued.retain(|queued| queued.base != *base);
                dispute.queued.push(Queued { base: base.clone(), fell: *fell, at: at.at });
                increment(&mut claim.generation);
            }
        }
        Fact::Released { applied, .. } => {
            if *applied {
                set_status(&mut claim, Status::Challenged, at.at);
            }
        }
        Fact::Disputed { dispute } => {
            increment(&mut claim.totals.disputes);
            increment(&mut claim.generation);
            claim.state = ClaimState::Disputed(dispute.clone());
            claim.updated = at.at;
        }
        Fact::WouldDispute { .. } => increment(&mut claim.totals.would_dispute),
        Fact::Resolved { how, to } => resolve(&mut claim, how, *to, at.at),
        Fact::ExaminationOpened { trigger, detail } => {
            if let ClaimState::Disputed(dispute) = &mut claim.state {
                // A trigger that already waits for its outcome replaces itself and is not listed twice.
                dispute.examinations.retain(|open| open.trigger != *trigger);
                let open = OpenExamination { trigger: *trigger, detail: detail.clone(), at: at.at };
                dispute.examinations.push(open);
            }
        }
        Fact::Examined { outcome, reason } => {
            if let ClaimState::Disputed(dispute) = &mut claim.state {
                let triggers = dispute.examinations.drain(..).map(|open| open.trigger).collect();
                let over = Examined { triggers, outcome: *outcome, reason: reason.clone(), at: at.at };
                dispute.examined.push(over);
                keep_newest(&mut dispute.examined, Dispute::EXAMINED_MAX);
                if *outcome == ExaminationOutcome::Unresolved {
                    increment(&mut dispute.unresolved);
                }
            }
        }
        Fact::Denied { .. } => increment(&mut claim.totals.denied),
    }
    claim.history.push(HistoryLine { at: at.at, kind: fact.kind().name.to_owned(), text: history_text(&claim, fact) });
    keep_newest(&mut claim.history, Claim::HISTORY_MAX);
    claim
}

/// Sets the status of a claim that is not DISPUTED: only a resolution ends a dispute.
fn set_status(claim: &mut Claim, to: Status, at: Instant) {
    if claim.state != ClaimState::Free(to) && claim.dispute().is_none() {
        claim.state = ClaimState::Free(to);
        claim.reason = None;
        increment(&mut claim.generation);
        claim.updated = at;
    }
}

fn review(claim: &mut Claim, reviewed: &Reviewed, at: Instant) {
    let totals = &mut claim.totals;
    increment(&mut totals.rounds);
    match reviewed.weight {
        Weight::Counted => {}
        Weight::Changed => increment(&mut totals.changed),
        Weight::Repeated => increment(&mut totals.repeated),
        // Recorded, without any other effect (E12).
        Weight::Stale => return increment(&mut totals.stale),
    }
    let is_named_before = reviewed.round.as_ref().is_some_and(|name| claim.round_names.contains(name));
    if !is_named_before {
        claim.rounds_so_far = claim.rounds_so_far.saturating_add(1);
        claim.round_names.extend(reviewed.round.clone());
        keep_newest(&mut claim.round_names, Claim::CHANGED_IN_MAX);
    }
    let is_new = claim.objection(reviewed.objection).is_none();
    if is_new && claim.last_change.is_some() {
        increment(&mut claim.totals.after_change);
        claim.totals.about_change = claim.totals.about_change.saturating_add(u64::from(reviewed.is_about_change));
    }
    if let Some(answer) = &reviewed.answer {
        claim.position = Some(answer.clone());
    }
    change(claim, &reviewed.changes, at);
    if let (Weight::Changed, Some(name)) = (reviewed.weight, &reviewed.round) {
        claim.changed_in.retain(|known| known != name);
        claim.changed_in.push(name.clone());
        keep_newest(&mut claim.changed_in, Claim::CHANGED_IN_MAX);
    }
    record_objection(claim, reviewed);
}

fn record_objection(claim: &mut Claim, reviewed: &Reviewed) {
    // A wording that another objection had first stays with that objection.
    let is_of_other_objection = |known: &Objection| {
        let is_other = !known.numbers.contains(&reviewed.objection) && !reviewed.joined.contains(&known.number());
        is_other && reviewed.wording.is_some_and(|wording| known.wordings.contains(&wording))
    };
    let wording = reviewed.wording.filter(|_| !claim.objections.iter().any(is_of_other_objection));
    let mut joined: Vec<Objection> = Vec::new();
    claim.objections.retain(|known| {
        let is_joined = reviewed.joined.contains(&known.number());
        if is_joined {
            joined.push(known.clone());
        }
        !is_joined
    });
    if claim.objection(reviewed.objection).is_none() {
        claim.objections.push(Objection { numbers: vec![reviewed.objection], ..Objection::default() });
    }
    let wanted = |known: &&mut Objection| known.numbers.contains(&reviewed.objection);
    let Some(objection) = claim.objections.iter_mut().find(wanted) else { return };
    for other in joined {
        let room = Objection::NAMES_MAX.saturating_sub(objection.numbers.len());
        objection.numbers.extend(other.numbers.into_iter().take(room));
        other.ids.iter().for_each(|id| remember(&mut objection.ids, id));
        other.wordings.iter().for_each(|wording| remember(&mut objection.wordings, wording));
        other.reviewers.iter().for_each(|reviewer| remember(&mut objection.reviewers, reviewer));
        other.counted.iter().for_each(|round| remember(&mut objection.counted, round));
        objection.rounds = objection.rounds.saturating_add(other.rounds);
    }
    reviewed.id.iter().for_each(|id| remember(&mut objection.ids, id));
    wording.iter().for_each(|wording| remember(&mut objection.wordings, wording));
    reviewed.reviewer.iter().for_each(|reviewer| remember(&mut objection.reviewers, reviewer));
    if let Some(text) = &reviewed.text {
        objection.text.clone_from(text);
    }
    increment(&mut objection.rounds);
    objection.count = reviewed.count;
    if reviewed.weight == Weight::Counted {
        reviewed.round.iter().for_each(|round| remember(&mut objection.counted, round));
    }
}

/// Applies changes of the claim; any change restarts the counts of all objections (D1).
fn change(claim: &mut Claim, changes: &Changes, at: Instant) {
    if changes.is_empty() {
        return;
    }
    let added = [&changes.new_evidence, &changes.test_run, &changes.claim_text].map(Option::as_deref);
    let added: Vec<&str> = added.into_iter().flatten().collect();
    if !added.is_empty() {
        claim.last_change = Some(added.join("\n"));
    }
    claim.evidence.extend(changes.new_evidence.clone());
    claim.tests.extend(changes.test_run.clone());
    claim.confidence = changes.confidence.or(claim.confidence);
    if let Some(text) = &changes.claim_text {
        claim.text.clone_from(text);
    }
    claim.updated = at;
    restart_counts(claim);
}

fn restart_counts(claim: &mut Claim) {
    for objection in &mut claim.objections {
        objection.count = 0;
        objection.counted.clear();
    }
}

fn resolve(claim: &mut Claim, how: &Settlement, to: Status, at: Instant) {
    (claim.rounds_so_far, claim.round_names) = (0, Vec::new());
    let ClaimState::Disputed(dispute) = std::mem::replace(&mut claim.state, ClaimState::Free(to)) else { return };
    increment(&mut claim.generation);
    claim.updated = at;
    claim.reason = None;
    restart_counts(claim);
    if let Settlement::NewData { evidence } = how {
        claim.evidence.push(evidence.clone());
    }
    claim.resolved_disputes.push(ResolvedDispute { dispute: *dispute, how: how.clone(), to, at });
    keep_newest(&mut claim.resolved_disputes, Claim::RESOLVED_DISPUTES_MAX);
}

/// Adds an item that is not in the list yet; a full list drops its oldest item.
fn remember<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T) {
    if !list.contains(item) {
        if list.len() >= Objection::NAMES_MAX {
            list.remove(0);
        }
        list.push(item.clone());
    }
}

/// The text of a history line, without the texts of the claim.
fn history_text(claim: &Claim, fact: &Fact) -> String {
    match fact {
        Fact::Added(_) => format!("made as {}", claim.listed_status()),
        Fact::Reviewed(reviewed) => review_line(reviewed),
        Fact::Edited { changes, respelled, depends_on } => {
            let mut changed: Vec<&str> = changes.kinds().into_iter().map(super::Change::as_str).collect();
            if respelled.is_some() {
                changed.push("spelling");
            }
            if !depends_on.is_empty() {
                changed.push("depends_on");
            }
            format!("changed: {}", changed.join(", "))
        }
        Fact::Moved { to, .. } => format!("now {to}"),
        Fact::Challenged { base, fell } => format!("{base} is {fell}: now {}", claim.listed_status()),
        Fact::Queued { base, fell } => format!("{base} is {fell}: this claim waits until the dispute ends"),
        Fact::Released { base, fell, applied: true } => {
            format!("{base} is {fell}; this claim waited and is now {}", claim.listed_status())
        }
        Fact::Released { base, fell, applied: false } => {
            format!("{base} is {fell}; this claim waited and stays {}", claim.listed_status())
        }
        Fact::Disputed { dispute } => dispute_line(dispute, "now DISPUTED"),
        Fact::WouldDispute { dispute } => dispute_line(dispute, "would be DISPUTED; observe mode does not freeze it"),
        Fact::Resolved { how, to } => format!("{}: now {to}", how.as_str()),
        Fact::ExaminationOpened { trigger, .. } => format!("re-examination because of {}", trigger.as_str()),
        Fact::Examined { outcome, .. } => format!("re-examined: {}", outcome.as_str()),
        Fact::Denied { verb, because } => match because {
            Denial::Frozen => format!("haltline denied {verb}: the claim is DISPUTED"),
            Denial::Transition { from, to: Some(to) } => format!("haltline denied {verb}: {from} cannot become {to}"),
            Denial::Transition { from, to: None } => format!("haltline denied {verb}: the claim is {from}"),
        },
    }
}

fn dispute_line(dispute: &Dispute, end: &str) -> String {
    let Dispute { objection, count, incident, cause, .. } = dispute;
    let rounds = counted(*count, "round");
    match cause {
        DisputeCause::Objection => format!("{rounds} on O-{objection} without a change, incident {incident}: {end}"),
        DisputeCause::Rounds => format!("{rounds}, the last on O-{objection}, incident {incident}: {end}"),
    }
}

fn review_line(reviewed: &Reviewed) -> String {
    let Reviewed { objection, count, changes, .. } = reviewed;
    match reviewed.weight {
        Weight::Counted => format!("round on O-{objection}, no change: {count} counted"),
        Weight::Changed => {
            let kinds: Vec<&str> = changes.kinds().into_iter().map(super::Change::as_str).collect();
            format!("round on O-{objection}, changed: {}", kinds.join(", "))
        }
        Weight::Repeated => format!("round on O-{objection}, already counted: {count} counted"),
        Weight::Stale => format!("round on O-{objection}, on an older state of the claim: {count} counted"),
    }
}
