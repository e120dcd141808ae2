//! Claims and pipelines, as seen. Secrets are masked here, and only here: what is kept stays as it is (E10).

mod answer;
mod ledger;

use std::borrow::Cow;

use haltline_core::claim::{
    Claim, ClaimId, Dispute, HistoryLine, Objection, Outcome, Pipeline, PipelineName, Queued, Settled, Settlement,
    Status, Totals, Trigger,
};
use haltline_core::{CircuitName, Instant};
use haltline_engine::claims::claim_options;
use haltline_engine::redact::mask;
use serde::Serialize;

use super::SCHEMA;

pub use answer::{ClaimAnswerView, CycleView, MovedView, StandingDisputeView};
pub use ledger::{LedgerClaimView, LedgerView, ledger_schema};

/// Whether texts are shown as they are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Showing {
    pub is_verbatim: bool,
}

impl Showing {
    /// A text as it is shown; notes when something was masked.
    fn text(self, text: &str, is_masked: &mut bool) -> String {
        if self.is_verbatim {
            return text.to_owned();
        }
        match mask(text) {
            Cow::Borrowed(same) => same.to_owned(),
            Cow::Owned(masked) => {
                *is_masked = true;
                masked
            }
        }
    }

    fn texts(self, texts: &[String], is_masked: &mut bool) -> Vec<String> {
        texts.iter().map(|text| self.text(text, is_masked)).collect()
    }
}

/// One claim.
#[derive(Debug, Serialize)]
pub struct ClaimView {
    pub schema: u32,
    pub pipeline: String,
    pub circuit: String,
    pub id: String,
    pub status: &'static str,
    /// Rises with every change of status: what `round --generation` takes.
    pub generation: u64,
    pub text: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub evidence: Vec<String>,
    pub tests: Vec<String>,
    pub assumptions: Vec<String>,
    pub confidence: Option<f64>,
    pub depends_on: Vec<String>,
    /// Why it has the status it has, where somebody said so.
    pub reason: Option<String>,
    pub objections: Vec<ObjectionView>,
    pub dispute: Option<DisputeView>,
    /// Disputes that are over, oldest first.
    pub settled: Vec<SettledView>,
    pub totals: Totals,
    /// Oldest first.
    pub history: Vec<HistoryLineView>,
    pub created: String,
    pub updated: String,
    /// Something that looks like a secret is masked in this view.
    pub is_masked: bool,
    #[serde(skip)]
    pub is_verbatim: bool,
}

/// An objection.
#[derive(Debug, Serialize)]
pub struct ObjectionView {
    pub objection: String,
    pub ids: Vec<String>,
    pub text: String,
    pub reviewers: Vec<String>,
    /// Rounds on it since the claim last changed.
    pub count: u32,
    pub limit: u32,
    /// Rounds on it in all.
    pub rounds: u64,
}

/// A dispute.
#[derive(Debug, Serialize)]
pub struct DisputeView {
    pub incident: String,
    pub since: String,
    pub objection: String,
    pub rounds: u32,
    pub dispute_reason: String,
    pub dispute_cycle: u64,
    pub researcher_position: Option<String>,
    pub stage: Option<String>,
    pub before: Status,
    /// Changes that wait until it is resolved.
    pub queued: Vec<QueuedView>,
    /// What brought it up again and has no outcome yet.
    pub examinations: Vec<ExaminationView>,
    /// What came of earlier ones.
    pub examined: Vec<ExaminedView>,
    pub unresolved: u64,
    /// The ways out.
    pub options: Vec<String>,
}

/// A change that waits.
#[derive(Debug, Serialize)]
pub struct QueuedView {
    pub base: String,
    pub fell: Status,
    pub at: String,
}

/// A re-examination without an outcome.
#[derive(Debug, Serialize)]
pub struct ExaminationView {
    pub trigger: Trigger,
    pub detail: String,
    pub at: String,
}

/// One with an outcome.
#[derive(Debug, Serialize)]
pub struct ExaminedView {
    pub triggers: Vec<Trigger>,
    pub outcome: Outcome,
    pub reason: String,
    pub at: String,
}

/// A dispute that is over.
#[derive(Debug, Serialize)]
pub struct SettledView {
    #[serde(flatten)]
    pub dispute: DisputeView,
    pub resolution: &'static str,
    pub status: Status,
    pub resolved: String,
    /// The evidence, the rationale or the reason.
    pub said: String,
    pub human_override_rationale: Option<String>,
    pub who: Option<String>,
}

/// A line of history.
#[derive(Debug, Serialize)]
pub struct HistoryLineView {
    pub at: String,
    pub what: String,
    pub text: String,
}

impl ClaimView {
    pub fn new(pipeline: &PipelineName, id: &ClaimId, claim: &Claim, limit: u32, showing: Showing) -> Self {
        let circuit = CircuitName::claim(pipeline.as_str(), id.as_str());
        let mut is_masked = false;
        let masked = &mut is_masked;
        let dispute = claim.dispute().map(|dispute| DisputeView::new(&circuit, dispute, showing, masked));
        let objections =
            claim.objections.iter().map(|known| ObjectionView::new(known, limit, showing, masked)).collect();
        let settled =
            claim.settled.iter().map(|settled| SettledView::new(&circuit, settled, showing, masked)).collect();
        let line = |line: &HistoryLine| HistoryLineView {
            at: line.at.to_seconds_text(),
            what: line.what.clone(),
            text: line.text.clone(),
        };
        Self {
            schema: SCHEMA,
            pipeline: pipeline.to_string(),
            circuit: circuit.to_string(),
            id: id.to_string(),
            status: claim.word().word(),
            generation: claim.generation,
            text: showing.text(&claim.text, masked),
            kind: claim.kind.as_deref().map(|kind| showing.text(kind, masked)),
            evidence: showing.texts(&claim.evidence, masked),
            tests: showing.texts(&claim.tests, masked),
            assumptions: showing.texts(&claim.assumptions, masked),
            confidence: claim.confidence.map(|number| number.number()),
            depends_on: claim.depends_on.iter().map(ToString::to_string).collect(),
            reason: claim.reason.as_deref().map(|reason| showing.text(reason, masked)),
            objections,
            dispute,
            settled,
            totals: claim.totals,
            history: claim.history.iter().map(line).collect(),
            created: claim.created.to_seconds_text(),
            updated: claim.updated.to_seconds_text(),
            is_masked,
            is_verbatim: showing.is_verbatim,
        }
    }
}

impl ObjectionView {
    fn new(known: &Objection, limit: u32, showing: Showing, is_masked: &mut bool) -> Self {
        Self {
            objection: known.label(),
            ids: showing.texts(&known.ids, is_masked),
            text: showing.text(&known.text, is_masked),
            reviewers: showing.texts(&known.reviewers, is_masked),
            count: known.count,
            limit,
            rounds: known.rounds,
        }
    }
}

impl DisputeView {
    fn new(circuit: &CircuitName, dispute: &Dispute, showing: Showing, is_masked: &mut bool) -> Self {
        let when = |at: Instant| at.to_seconds_text();
        let queued =
            |queued: &Queued| QueuedView { base: queued.base.to_string(), fell: queued.fell, at: when(queued.at) };
        Self {
            incident: dispute.incident.clone(),
            since: when(dispute.since.at),
            objection: format!("O-{}", dispute.objection),
            rounds: dispute.count,
            dispute_reason: showing.text(&dispute.reason, is_masked),
            dispute_cycle: dispute.cycle,
            researcher_position: dispute.position.as_deref().map(|position| showing.text(position, is_masked)),
            stage: dispute.stage.clone(),
            before: dispute.before,
            queued: dispute.queued.iter().map(queued).collect(),
            examinations: dispute
                .examinations
                .iter()
                .map(|open| ExaminationView {
                    trigger: open.trigger,
                    detail: showing.text(&open.detail, is_masked),
                    at: when(open.at),
                })
                .collect(),
            examined: dispute
                .examined
                .iter()
                .map(|over| ExaminedView {
                    triggers: over.triggers.clone(),
                    outcome: over.outcome,
                    reason: showing.text(&over.reason, is_masked),
                    at: when(over.at),
                })
                .collect(),
            unresolved: dispute.unresolved,
            options: claim_options(circuit),
        }
    }
}

impl SettledView {
    fn new(circuit: &CircuitName, settled: &Settled, showing: Showing, is_masked: &mut bool) -> Self {
        let mut dispute = DisputeView::new(circuit, &settled.dispute, showing, is_masked);
        dispute.options.clear();
        let said = showing.text(settled.how.said(), is_masked);
        let (human_override_rationale, who) = match &settled.how {
            Settlement::Overridden { who, .. } => (Some(said.clone()), Some(who.clone())),
            Settlement::NewData { .. } | Settlement::Dropped { .. } | Settlement::Examined { .. } => (None, None),
        };
        Self {
            dispute,
            resolution: settled.how.word(),
            status: settled.to,
            resolved: settled.at.to_seconds_text(),
            said,
            human_override_rationale,
            who,
        }
    }
}

/// `claim list`.
#[derive(Debug, Serialize)]
pub struct ClaimListView {
    pub schema: u32,
    pub pipeline: String,
    pub stage: Option<String>,
    pub final_stage: String,
    pub final_stage_closed: bool,
    pub cycle: u64,
    pub disputed: Vec<String>,
    pub claims: Vec<ClaimLineView>,
}

/// One line of it.
#[derive(Debug, Serialize)]
pub struct ClaimLineView {
    pub id: String,
    pub status: &'static str,
    /// The highest count of its objections.
    pub count: u32,
    pub limit: u32,
    pub rounds: u64,
    pub incident: Option<String>,
    pub text: String,
}

impl ClaimListView {
    pub fn new(name: &PipelineName, pipeline: &Pipeline) -> Self {
        Self {
            schema: SCHEMA,
            pipeline: name.to_string(),
            stage: pipeline.stage.as_ref().map(|stage| stage.name.to_string()),
            final_stage: pipeline.final_stage.to_string(),
            final_stage_closed: pipeline.is_over(),
            cycle: pipeline.cycle_number(),
            disputed: pipeline.disputed().iter().map(ToString::to_string).collect(),
            claims: Vec::new(),
        }
    }

    pub fn add(&mut self, id: &ClaimId, claim: &Claim, limit: u32) {
        self.claims.push(ClaimLineView {
            id: id.to_string(),
            status: claim.word().word(),
            count: claim.objections.iter().map(|objection| objection.count).max().unwrap_or_default(),
            limit,
            rounds: claim.totals.rounds,
            incident: claim.dispute().map(|dispute| dispute.incident.clone()),
            text: mask(&claim.text).into_owned(),
        });
    }
}
