//! A second, naive implementation of the claim breaker's rules: it keeps every round of every claim and counts from the
//! start each time. It has no facts, no index and no rows.

use haltline_core::claim::{
    Changes, ClaimEvent, ClaimId, Confidence, Edit, ExaminationOutcome, ObjectionText, Resolution, Round, StageName,
    Status,
};
use haltline_core::identity::is_same_wording;

/// A round, kept for ever.
#[derive(Clone, Debug)]
struct KeptRound {
    ids: Vec<String>,
    texts: Vec<String>,
    /// Number of the objection, which can be merged with another.
    objection: usize,
    /// The claim changed in this round, or in an edit at this point.
    changed: bool,
    name: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Sheet {
    pub id: ClaimId,
    pub text: String,
    pub evidence: Vec<String>,
    pub tests: Vec<String>,
    pub confidence: Option<Confidence>,
    pub bases: Vec<ClaimId>,
    pub status: Status,
    /// Objection, position and queued changes, while the claim is DISPUTED.
    pub dispute: Option<(String, Option<String>, Vec<ClaimId>)>,
    examined: bool,
    position: Option<String>,
    rounds: Vec<KeptRound>,
}

#[derive(Clone, Debug, Default)]
pub struct Reference {
    pub claims: Vec<Sheet>,
    pub closed: Vec<StageName>,
    pub stage: Option<StageName>,
    cycle_open: bool,
    began: bool,
}

/// The expected result of an event. A warning means that the claim became DISPUTED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Pass,
    Disputed,
    Denied,
    Rejected,
}

impl Reference {
    pub fn is_over(&self) -> bool {
        self.closed.iter().any(|stage| stage.as_str() == "S5")
    }

    fn at(&self, id: &ClaimId) -> Option<usize> {
        self.claims.iter().position(|sheet| sheet.id == *id)
    }

    pub fn disputed(&self) -> Vec<ClaimId> {
        let mut ids: Vec<ClaimId> =
            self.claims.iter().filter(|sheet| sheet.dispute.is_some()).map(|sheet| sheet.id.clone()).collect();
        ids.sort();
        ids
    }

    pub fn handle(&mut self, event: &ClaimEvent) -> Expected {
        match event {
            ClaimEvent::Add(new) => {
                let id = new.id.clone().expect("the test names its claims");
                if self.is_over() {
                    return Expected::Denied;
                }
                let bad = new.depends_on.iter().any(|base| *base == id || self.at(base).is_none());
                if bad || self.at(&id).is_some() {
                    return Expected::Rejected;
                }
                self.began = true;
                self.claims.push(Sheet {
                    id,
                    text: new.text.clone(),
                    evidence: new.evidence.clone(),
                    tests: Vec::new(),
                    confidence: new.confidence,
                    bases: Vec::new(),
                    status: Status::Unverified,
                    dispute: None,
                    examined: false,
                    position: None,
                    rounds: Vec::new(),
                });
                self.depend_on(self.claims.len() - 1, &new.depends_on);
                Expected::Pass
            }
            ClaimEvent::Round(round) => self.with(&round.claim, |all, at| all.round(at, round)),
            ClaimEvent::Edit(edit) => self.with(&edit.claim, |all, at| all.edit(at, edit)),
            ClaimEvent::Promote { claim, to, .. } => self.with(claim, |all, at| {
                let rank = |status| {
                    [
                        &[Status::Unverified, Status::Challenged][..],
                        &[Status::Verified],
                        &[Status::Confirmed],
                        &[Status::Robust],
                    ]
                    .iter()
                    .position(|statuses| statuses.contains(&status))
                };
                match (rank(all.claims[at].status), rank(*to)) {
                    (Some(from), Some(up)) if up > from => all.set(at, *to),
                    _other => Expected::Denied,
                }
            }),
            ClaimEvent::Kill { claim, .. } => self.with(claim, |all, at| all.set(at, Status::Killed)),
            ClaimEvent::Resolve { claim, how } => self.resolve(claim, how),
            ClaimEvent::Reexamine { claim, trigger, outcome } => {
                let Some(at) = self.at(claim) else { return Expected::Rejected };
                if self.claims[at].dispute.is_none() || (trigger.is_none() && outcome.is_none()) {
                    return Expected::Rejected;
                }
                if trigger.is_none() && !self.claims[at].examined {
                    return Expected::Rejected;
                }
                self.claims[at].examined = true;
                match outcome {
                    Some((ExaminationOutcome::Resolved, _)) => self.end_dispute(at, self.claims[at].status),
                    Some((ExaminationOutcome::Unresolved, _)) => self.claims[at].examined = false,
                    None => {}
                }
                Expected::Pass
            }
            ClaimEvent::CycleBegin if self.is_over() => Expected::Denied,
            ClaimEvent::CycleBegin if self.cycle_open => Expected::Rejected,
            ClaimEvent::CycleBegin => {
                (self.cycle_open, self.began) = (true, true);
                Expected::Pass
            }
            ClaimEvent::CycleEnd if !self.cycle_open => Expected::Rejected,
            ClaimEvent::CycleEnd => {
                self.cycle_open = false;
                Expected::Pass
            }
            ClaimEvent::AdvanceStage { .. } if self.is_over() => Expected::Denied,
            ClaimEvent::AdvanceStage { stage } if self.stage.as_ref() == Some(stage) || self.closed.contains(stage) => {
                Expected::Rejected
            }
            ClaimEvent::AdvanceStage { stage } => {
                (self.stage, self.began) = (Some(stage.clone()), true);
                self.claims.iter_mut().for_each(|sheet| sheet.examined = sheet.dispute.is_some());
                Expected::Pass
            }
            ClaimEvent::CloseStage { stage } if !self.began || self.closed.contains(stage) => Expected::Rejected,
            ClaimEvent::CloseStage { .. } if self.is_over() => Expected::Denied,
            ClaimEvent::CloseStage { stage } if stage.as_str() == "S5" && !self.disputed().is_empty() => {
                Expected::Denied
            }
            ClaimEvent::CloseStage { stage } => {
                self.closed.push(stage.clone());
                Expected::Pass
            }
        }
    }

    /// Runs `change` on a claim that may be changed.
    fn with(&mut self, id: &ClaimId, change: impl FnOnce(&mut Self, usize) -> Expected) -> Expected {
        let Some(at) = self.at(id) else { return Expected::Rejected };
        let is_shut = self.is_over() || self.claims[at].dispute.is_some() || self.claims[at].status == Status::Killed;
        if is_shut { Expected::Denied } else { change(self, at) }
    }

    fn set(&mut self, at: usize, to: Status) -> Expected {
        self.claims[at].status = to;
        self.fall(at);
        Expected::Pass
    }

    /// Challenges the claims that depend on a fallen one; a DISPUTED claim queues the change.
    fn fall(&mut self, at: usize) {
        let base = self.claims[at].id.clone();
        if !self.claims[at].status.is_fallen() {
            return;
        }
        for sheet in &mut self.claims {
            if !sheet.bases.contains(&base) {
                continue;
            }
            match &mut sheet.dispute {
                Some((_, _, waiting)) => {
                    waiting.retain(|known| *known != base);
                    waiting.push(base.clone());
                }
                None if !sheet.status.is_fallen() => sheet.status = Status::Challenged,
                None => {}
            }
        }
    }

    fn depend_on(&mut self, at: usize, bases: &[ClaimId]) {
        for base in bases {
            if !self.claims[at].bases.contains(base) {
                self.claims[at].bases.push(base.clone());
                let below = &self.claims[self.at(base).expect("checked")];
                if below.dispute.is_none() && below.status.is_fallen() && !self.claims[at].status.is_fallen() {
                    self.claims[at].status = Status::Challenged;
                }
            }
        }
    }

    /// Applies the changes that differ; returns whether any did.
    fn change(&mut self, at: usize, changes: &Changes) -> bool {
        let sheet = &mut self.claims[at];
        let mut changed = false;
        for (list, text) in [(&mut sheet.evidence, &changes.new_evidence), (&mut sheet.tests, &changes.test_run)] {
            if let Some(text) = text
                && !list.iter().any(|known| is_same_wording(known, text))
            {
                list.push(text.clone());
                changed = true;
            }
        }
        if changes.confidence.is_some() && changes.confidence != sheet.confidence {
            sheet.confidence = changes.confidence;
            changed = true;
        }
        if let Some(text) = &changes.claim_text
            && !is_same_wording(text, &sheet.text)
        {
            sheet.text.clone_from(text);
            changed = true;
        }
        changed
    }

    fn round(&mut self, at: usize, round: &Round) -> Expected {
        let ObjectionText { id, text, same_as } = &round.objection;
        let rounds = &self.claims[at].rounds;
        let by_id = |name: &String| rounds.iter().find(|kept| kept.ids.contains(name)).map(|kept| kept.objection);
        let by_text = |text: &String| {
            rounds
                .iter()
                .find(|kept| kept.texts.iter().any(|known| is_same_wording(known, text)))
                .map(|kept| kept.objection)
        };
        let own = id.as_ref().and_then(by_id).or_else(|| text.as_ref().and_then(by_text));
        let linked = match same_as {
            Some(at) => match by_id(at).or_else(|| by_text(at)) {
                Some(found) => Some(found),
                None => return Expected::Rejected,
            },
            None => None,
        };
        let Some(objection) = linked.or(own).or_else(|| text.as_ref().map(|_text| rounds.len() + 1)) else {
            return Expected::Rejected;
        };
        let changed = self.change(at, &round.changes);
        let sheet = &mut self.claims[at];
        if let Some(own) = own {
            sheet.rounds.iter_mut().filter(|kept| kept.objection == own).for_each(|kept| kept.objection = objection);
        }
        if let Some(answer) = &round.answer {
            sheet.position = Some(answer.clone());
        }
        sheet.rounds.push(KeptRound {
            ids: id.iter().cloned().collect(),
            texts: text.iter().cloned().collect(),
            objection,
            changed,
            name: round.round.clone(),
        });
        if changed || count(&sheet.rounds, objection) < 3 {
            return Expected::Pass;
        }
        let last = sheet.rounds.iter().rev().filter(|kept| kept.objection == objection);
        let reason = last.flat_map(|kept| kept.texts.first()).next().cloned().unwrap_or_default();
        sheet.dispute = Some((reason, sheet.position.clone(), Vec::new()));
        sheet.examined = false;
        Expected::Disputed
    }

    fn edit(&mut self, at: usize, edit: &Edit) -> Expected {
        let id = self.claims[at].id.clone();
        if edit.depends_on.iter().any(|base| *base == id || self.at(base).is_none()) {
            return Expected::Rejected;
        }
        let to = edit.status.filter(|to| *to != self.claims[at].status);
        let is_new = |base: &ClaimId| !self.claims[at].bases.contains(base);
        let mut tried = self.clone();
        let changed = tried.change(at, &edit.changes);
        let respelled = edit.changes.claim_text.as_ref().is_some_and(|text| *text != tried.claims[at].text);
        if !changed && !respelled && to.is_none() && !edit.depends_on.iter().any(is_new) {
            return Expected::Rejected;
        }
        let sideways = [Status::Unverified, Status::Challenged, Status::Rejected, Status::Artifact, Status::Confounded];
        if to.is_some_and(|to| !sideways.contains(&to)) {
            return Expected::Denied;
        }
        *self = tried;
        if let Some(text) = &edit.changes.claim_text {
            self.claims[at].text.clone_from(text);
        }
        if changed {
            let change_marker =
                KeptRound { ids: Vec::new(), texts: Vec::new(), objection: 0, changed: true, name: None };
            self.claims[at].rounds.push(change_marker);
        }
        if let Some(to) = to {
            self.set(at, to);
        }
        self.depend_on(at, &edit.depends_on);
        Expected::Pass
    }

    fn resolve(&mut self, id: &ClaimId, how: &Resolution) -> Expected {
        let Some(at) = self.at(id) else { return Expected::Rejected };
        if self.claims[at].dispute.is_none() {
            return Expected::Rejected;
        }
        let to = match how {
            Resolution::NewData { evidence } => {
                if self.claims[at].evidence.iter().any(|known| is_same_wording(known, evidence)) {
                    return Expected::Rejected;
                }
                self.claims[at].evidence.push(evidence.clone());
                self.claims[at].status
            }
            Resolution::Drop { .. } => Status::Killed,
            Resolution::Override { to, .. } if !to.is_final() => return Expected::Rejected,
            Resolution::Override { to, .. } => *to,
        };
        self.end_dispute(at, to);
        Expected::Pass
    }

    fn end_dispute(&mut self, at: usize, to: Status) {
        let sheet = &mut self.claims[at];
        let (_, _, waiting) = sheet.dispute.take().expect("checked");
        sheet.status = to;
        sheet.examined = false;
        sheet.rounds.push(KeptRound { ids: Vec::new(), texts: Vec::new(), objection: 0, changed: true, name: None });
        if !waiting.is_empty() && !to.is_fallen() {
            sheet.status = Status::Challenged;
        }
        self.fall(at);
    }
}

/// Rounds on an objection since the claim last changed; rounds with the same name count once.
fn count(rounds: &[KeptRound], objection: usize) -> usize {
    let since = rounds.iter().rposition(|kept| kept.changed).map_or(0, |last| last + 1);
    let mut names: Vec<&String> = Vec::new();
    let mut count = 0;
    let brought_change =
        |kept: &&KeptRound| kept.name.is_some() && rounds.iter().any(|other| other.changed && other.name == kept.name);
    let on_it = rounds[since..].iter().filter(|kept| kept.objection == objection);
    for kept in on_it.filter(|kept| !brought_change(kept)) {
        match &kept.name {
            Some(name) if names.contains(&name) => {}
            Some(name) => {
                names.push(name);
                count += 1;
            }
            None => count += 1,
        }
    }
    count
}
