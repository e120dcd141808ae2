//! Views of the results of verbs on claims.

use std::fmt;

use haltline_core::claim::{
    Change, Claim, ClaimEvent, ClaimId, Cycle, Fact as ClaimFact, ListedStatus, Note, NoteKind, Pipeline, PipelineFact,
    PipelineName, Resolution, Weight,
};
use haltline_core::{CircuitName, Fact, State};
use haltline_engine::claims::claim_options;
use haltline_engine::redact::mask;
use haltline_engine::store::Committed;
use serde::{Serialize, Serializer};

use super::super::{AnswerView, AuditView};

/// What was asked for. In JSON it is the verb that a person types.
#[derive(Debug)]
pub struct ClaimAction(pub ClaimEvent);

impl ClaimAction {
    pub fn verb(&self) -> &'static str {
        match &self.0 {
            ClaimEvent::CycleBegin => "cycle begin",
            ClaimEvent::CycleEnd => "cycle end",
            ClaimEvent::Resolve { how: Resolution::NewData { .. }, .. } => "resolve new-data",
            ClaimEvent::Resolve { how: Resolution::Drop { .. }, .. } => "resolve drop",
            ClaimEvent::Resolve { how: Resolution::Override { .. }, .. } => "resolve override",
            ClaimEvent::AdvanceStage { .. } => "advance-stage",
            ClaimEvent::CloseStage { .. } => "close-stage",
            one_word => one_word.cause(),
        }
    }
}

impl Serialize for ClaimAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.verb())
    }
}

/// The result of any verb that changes something or is denied.
#[derive(Debug, Serialize)]
pub struct ClaimAnswerView {
    #[serde(flatten)]
    pub answer: AnswerView<ClaimAction>,
    pub pipeline: String,
    /// The claim that the verb was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Every status that changed, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedView>,
    /// Claims with a change that waits until their dispute is resolved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<String>,
    /// Claims whose dispute was brought up again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examinations: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<ReviewRoundView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// The stage that the verb was about.
    #[serde(rename = "asked_stage", skip_serializing_if = "Option::is_none")]
    pub requested_stage: Option<String>,
    /// The current stage of the pipeline.
    pub stage: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_stages: Vec<String>,
    pub cycle: u64,
    /// What happened in the cycle that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<CycleView>,
    /// Every claim that is DISPUTED now.
    pub disputed: Vec<DisputedView>,
    /// The commands that can resolve the dispute of this claim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Names of the texts that seem to contain a secret; they are stored verbatim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

/// A changed status.
#[derive(Debug, Serialize)]
pub struct MovedView {
    pub claim: String,
    pub from: &'static str,
    pub to: &'static str,
}

impl fmt::Display for MovedView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} → {}", self.claim, self.from, self.to)
    }
}

#[derive(Debug, Serialize)]
pub struct DisputedView {
    pub claim: String,
    pub options: Vec<String>,
}

/// How a round was counted.
#[derive(Debug, Serialize)]
pub struct ReviewRoundView {
    pub objection: String,
    pub weight: Weight,
    /// Rounds on the objection without a change.
    pub count: u32,
    pub limit: u32,
    /// What really changed; values that are equal to the old ones are left out.
    pub changes: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct CycleView {
    pub number: u64,
    pub began: String,
    pub ended: Option<String>,
    pub rounds: u64,
    pub reviewed: Vec<String>,
    pub added: Vec<String>,
    pub moved: Vec<MovedView>,
    pub queued: Vec<String>,
    #[serde(rename = "refused")]
    pub denied: Vec<String>,
    pub left_out: u64,
}

impl ClaimAnswerView {
    pub fn new(name: &PipelineName, event: ClaimEvent, committed: &Committed, limit: u32) -> Self {
        let circuit = CircuitName::pipeline(name.as_str());
        let pipeline = committed.after.state(&circuit).and_then(State::as_pipeline);
        let before = committed.before.state(&circuit).and_then(State::as_pipeline);
        let facts = || committed.decision.facts.iter().map(|recorded| &recorded.fact);
        let of_pipeline = || {
            facts().filter_map(|fact| match fact {
                Fact::Pipeline(fact) => Some(fact),
                _other => None,
            })
        };
        let claim_id = claim_of_event(&event).or_else(|| {
            of_pipeline().find_map(|fact| match fact {
                PipelineFact::Added { claim, .. } => Some(claim.clone()),
                _other => None,
            })
        });
        let row = claim_id.as_ref().map(|id| CircuitName::claim(name.as_str(), id.as_str()));
        let claim = row.as_ref().and_then(|row| committed.after.state(row)).and_then(State::as_claim);
        let disputed = pipeline.map(Pipeline::disputed).unwrap_or_default();
        let way_out = |id: &ClaimId| claim_options(&CircuitName::claim(name.as_str(), id.as_str()));
        let is_disputed = claim.is_some_and(|claim| claim.dispute().is_some());
        let ended = matches!(event, ClaimEvent::CycleEnd);
        let requested_stage = match &event {
            ClaimEvent::AdvanceStage { stage } | ClaimEvent::CloseStage { stage } => Some(stage.to_string()),
            _other => None,
        };
        Self {
            answer: AnswerView::new(ClaimAction(event), &committed.decision.verdict),
            pipeline: name.to_string(),
            status: claim.map(|claim| claim.listed_status().as_str()),
            generation: claim.map(|claim| claim.generation),
            moved: moved(before, of_pipeline()),
            queued: of_pipeline()
                .filter_map(|fact| match fact {
                    PipelineFact::Queued { claim, .. } => Some(claim.to_string()),
                    _other => None,
                })
                .collect(),
            examinations: committed
                .decision
                .facts
                .iter()
                .filter(|recorded| matches!(recorded.fact, Fact::Claim(ClaimFact::ExaminationOpened { .. })))
                .map(|recorded| recorded.circuit.scope().rsplit('/').next().unwrap_or_default().to_owned())
                .collect(),
            round: facts().find_map(|fact| round(fact, limit)),
            incident: claim.and_then(Claim::dispute).map(|dispute| dispute.incident.clone()),
            requested_stage,
            stage: pipeline.and_then(|pipeline| pipeline.stage.as_ref()).map(|stage| stage.name.to_string()),
            closed_stages: pipeline
                .map(|pipeline| pipeline.closed.iter().map(|closed| closed.name.to_string()).collect())
                .unwrap_or_default(),
            cycle: pipeline.map_or(0, Pipeline::cycle_number),
            summary: pipeline.and_then(|pipeline| pipeline.cycle.as_ref()).filter(|_| ended).map(CycleView::new),
            disputed: disputed.iter().map(|id| DisputedView { claim: id.to_string(), options: way_out(id) }).collect(),
            options: claim_id.as_ref().filter(|_| is_disputed).map(way_out).unwrap_or_default(),
            claim: claim_id.map(|id| id.to_string()),
            secrets: Vec::new(),
            audit: None,
        }
    }
}

fn claim_of_event(event: &ClaimEvent) -> Option<ClaimId> {
    match event {
        ClaimEvent::Add(new) => new.id.clone(),
        ClaimEvent::Round(round) => Some(round.claim.clone()),
        ClaimEvent::Edit(edit) => Some(edit.claim.clone()),
        ClaimEvent::Promote { claim, .. }
        | ClaimEvent::Kill { claim, .. }
        | ClaimEvent::Resolve { claim, .. }
        | ClaimEvent::Reexamine { claim, .. } => Some(claim.clone()),
        ClaimEvent::CycleBegin
        | ClaimEvent::CycleEnd
        | ClaimEvent::AdvanceStage { .. }
        | ClaimEvent::CloseStage { .. } => None,
    }
}

fn round(fact: &Fact, limit: u32) -> Option<ReviewRoundView> {
    let Fact::Claim(ClaimFact::Reviewed(reviewed)) = fact else { return None };
    let changes = reviewed.changes.kinds().into_iter().map(Change::as_str);
    Some(ReviewRoundView {
        objection: format!("O-{}", reviewed.objection),
        weight: reviewed.weight,
        count: reviewed.count,
        limit,
        changes: if reviewed.weight == Weight::Changed { changes.collect() } else { Vec::new() },
    })
}

/// Returns every status that changed, in order, with the one before it.
fn moved<'a>(before: Option<&Pipeline>, facts: impl Iterator<Item = &'a PipelineFact>) -> Vec<MovedView> {
    let mut statuses: std::collections::BTreeMap<ClaimId, ListedStatus> = std::collections::BTreeMap::new();
    let mut moved = Vec::new();
    for fact in facts {
        let (claim, to) = match fact {
            PipelineFact::Moved { claim, to } => (claim, *to),
            PipelineFact::Added { claim, status: word, .. } => {
                statuses.insert(claim.clone(), *word);
                continue;
            }
            _other => continue,
        };
        let indexed = before.and_then(|pipeline| pipeline.claims.get(claim)).map(|entry| entry.status);
        let from = statuses.insert(claim.clone(), to).or(indexed).unwrap_or(to);
        moved.push(MovedView { claim: claim.to_string(), from: from.as_str(), to: to.as_str() });
    }
    moved
}

impl CycleView {
    fn new(cycle: &Cycle) -> Self {
        let noted = |pick: fn(&Note) -> Option<String>| cycle.notes.iter().filter_map(pick).collect::<Vec<String>>();
        Self {
            number: cycle.number,
            began: cycle.began.to_string(),
            ended: cycle.ended.map(|ended| ended.to_string()),
            rounds: cycle.rounds,
            reviewed: cycle.reviewed.iter().map(ToString::to_string).collect(),
            added: noted(|note| (note.kind == NoteKind::Added).then(|| note.claim.to_string())),
            moved: cycle
                .notes
                .iter()
                .filter_map(|note| match note.kind {
                    NoteKind::Moved { from, to } => {
                        Some(MovedView { claim: note.claim.to_string(), from: from.as_str(), to: to.as_str() })
                    }
                    NoteKind::Added | NoteKind::Queued { .. } | NoteKind::Denied { .. } => None,
                })
                .collect(),
            queued: noted(|note| match &note.kind {
                NoteKind::Queued { base } => Some(format!("{} waits: {base} fell", note.claim)),
                NoteKind::Added | NoteKind::Moved { .. } | NoteKind::Denied { .. } => None,
            }),
            denied: noted(|note| match &note.kind {
                NoteKind::Denied { verb } => Some(format!("{verb} of {}", note.claim)),
                NoteKind::Added | NoteKind::Moved { .. } | NoteKind::Queued { .. } => None,
            }),
            left_out: cycle.notes_left_out,
        }
    }
}

/// A claim that is DISPUTED, for `haltline status`.
#[derive(Debug, Serialize)]
pub struct OpenDisputeView {
    pub circuit: String,
    pub state: &'static str,
    pub incident: String,
    pub since: String,
    pub reason: String,
    pub options: Vec<String>,
}

impl OpenDisputeView {
    /// Returns the view if the claim is disputed.
    pub fn new(name: &CircuitName, claim: &Claim) -> Option<Self> {
        let dispute = claim.dispute()?;
        Some(Self {
            circuit: name.to_string(),
            state: claim.listed_status().as_str(),
            incident: dispute.incident.clone(),
            since: dispute.since.at.to_string(),
            reason: mask(&dispute.reason).into_owned(),
            options: claim_options(name),
        })
    }
}
