//! Views of claims and pipelines. Secrets are masked here, and only here: the store keeps texts unchanged (E10).

mod answer;
mod ledger;

use std::borrow::Cow;

use haltline_core::claim::{
    Claim, ClaimId, Dispute, ExaminationOutcome, HistoryLine, Objection, Pipeline, PipelineName, Queued,
    ResolvedDispute, Settlement, Status, Totals, Trigger,
};
use haltline_core::{CircuitName, Instant};
use haltline_engine::claims::claim_options;
use haltline_engine::redact::mask;
use serde::Serialize;

use super::SCHEMA;

pub use answer::{ClaimAnswerView, CycleView, MovedView, OpenDisputeView};
pub use ledger::{LedgerClaimView, LedgerView, ledger_schema};

/// Whether texts are shown verbatim or with secrets masked.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextDisplay {
    pub is_verbatim: bool,
}

impl TextDisplay {
    /// Returns the text as it is shown; sets `is_masked` if something was masked.
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

#[derive(Debug, Serialize)]
pub struct ClaimView {
    pub schema: u32,
    pub pipeline: String,
    pub circuit: String,
    pub id: String,
    pub status: &'static str,
    /// Increases with every change of status; `round --generation` takes it.
    pub generation: u64,
    pub text: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub evidence: Vec<String>,
    pub tests: Vec<String>,
    pub assumptions: Vec<String>,
    pub confidence: Option<f64>,
    pub depends_on: Vec<String>,
    /// Why it has its status, if somebody gave a reason.
    pub reason: Option<String>,
    pub objections: Vec<ObjectionView>,
    pub dispute: Option<DisputeView>,
    /// Resolved disputes, oldest first.
    #[serde(rename = "settled")]
    pub resolved_disputes: Vec<ResolvedDisputeView>,
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

#[derive(Debug, Serialize)]
pub struct ObjectionView {
    pub objection: String,
    pub ids: Vec<String>,
    pub text: String,
    pub reviewers: Vec<String>,
    /// Rounds on it since the claim last changed.
    pub count: u32,
    pub limit: u32,
    /// Rounds on it in total.
    pub rounds: u64,
}

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
    /// Changes that wait until the dispute is resolved.
    pub queued: Vec<QueuedView>,
    /// Re-examinations without an outcome.
    pub examinations: Vec<ExaminationView>,
    /// Re-examinations with an outcome.
    pub examined: Vec<ExaminedView>,
    pub unresolved: u64,
    /// The commands that can resolve it.
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

/// A re-examination with an outcome.
#[derive(Debug, Serialize)]
pub struct ExaminedView {
    pub triggers: Vec<Trigger>,
    pub outcome: ExaminationOutcome,
    pub reason: String,
    pub at: String,
}

/// A resolved dispute.
#[derive(Debug, Serialize)]
pub struct ResolvedDisputeView {
    #[serde(flatten)]
    pub dispute: DisputeView,
    pub resolution: &'static str,
    pub status: Status,
    pub resolved: String,
    /// The evidence, the rationale or the reason.
    #[serde(rename = "said")]
    pub explanation: String,
    pub human_override_rationale: Option<String>,
    pub who: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct HistoryLineView {
    pub at: String,
    #[serde(rename = "what")]
    pub kind: String,
    pub text: String,
}

impl ClaimView {
    pub fn new(pipeline: &PipelineName, id: &ClaimId, claim: &Claim, limit: u32, display: TextDisplay) -> Self {
        let circuit = CircuitName::claim(pipeline.as_str(), id.as_str());
        let mut is_masked = false;
        let masked = &mut is_masked;
        let dispute = claim.dispute().map(|dispute| DisputeView::new(&circuit, dispute, display, masked));
        let objections =
            claim.objections.iter().map(|known| ObjectionView::new(known, limit, display, masked)).collect();
        let resolved_disputes = claim
            .resolved_disputes
            .iter()
            .map(|resolved| ResolvedDisputeView::new(&circuit, resolved, display, masked))
            .collect();
        let line = |line: &HistoryLine| HistoryLineView {
            at: line.at.to_string(),
            kind: line.kind.clone(),
            text: line.text.clone(),
        };
        Self {
            schema: SCHEMA,
            pipeline: pipeline.to_string(),
            circuit: circuit.to_string(),
            id: id.to_string(),
            status: claim.listed_status().as_str(),
            generation: claim.generation,
            text: display.text(&claim.text, masked),
            kind: claim.kind.as_deref().map(|kind| display.text(kind, masked)),
            evidence: display.texts(&claim.evidence, masked),
            tests: display.texts(&claim.tests, masked),
            assumptions: display.texts(&claim.assumptions, masked),
            confidence: claim.confidence.map(|number| number.number()),
            depends_on: claim.depends_on.iter().map(ToString::to_string).collect(),
            reason: claim.reason.as_deref().map(|reason| display.text(reason, masked)),
            objections,
            dispute,
            resolved_disputes,
            totals: claim.totals,
            history: claim.history.iter().map(line).collect(),
            created: claim.created.to_string(),
            updated: claim.updated.to_string(),
            is_masked,
            is_verbatim: display.is_verbatim,
        }
    }
}

impl ObjectionView {
    fn new(known: &Objection, limit: u32, display: TextDisplay, is_masked: &mut bool) -> Self {
        Self {
            objection: known.label(),
            ids: display.texts(&known.ids, is_masked),
            text: display.text(&known.text, is_masked),
            reviewers: display.texts(&known.reviewers, is_masked),
            count: known.count,
            limit,
            rounds: known.rounds,
        }
    }
}

impl DisputeView {
    fn new(circuit: &CircuitName, dispute: &Dispute, display: TextDisplay, is_masked: &mut bool) -> Self {
        let when = |at: Instant| at.to_string();
        let queued =
            |queued: &Queued| QueuedView { base: queued.base.to_string(), fell: queued.fell, at: when(queued.at) };
        Self {
            incident: dispute.incident.clone(),
            since: when(dispute.since.at),
            objection: format!("O-{}", dispute.objection),
            rounds: dispute.count,
            dispute_reason: display.text(&dispute.reason, is_masked),
            dispute_cycle: dispute.cycle,
            researcher_position: dispute.position.as_deref().map(|position| display.text(position, is_masked)),
            stage: dispute.stage.clone(),
            before: dispute.before,
            queued: dispute.queued.iter().map(queued).collect(),
            examinations: dispute
                .examinations
                .iter()
                .map(|open| ExaminationView {
                    trigger: open.trigger,
                    detail: display.text(&open.detail, is_masked),
                    at: when(open.at),
                })
                .collect(),
            examined: dispute
                .examined
                .iter()
                .map(|over| ExaminedView {
                    triggers: over.triggers.clone(),
                    outcome: over.outcome,
                    reason: display.text(&over.reason, is_masked),
                    at: when(over.at),
                })
                .collect(),
            unresolved: dispute.unresolved,
            options: claim_options(circuit),
        }
    }
}

impl ResolvedDisputeView {
    fn new(circuit: &CircuitName, resolved: &ResolvedDispute, display: TextDisplay, is_masked: &mut bool) -> Self {
        let mut dispute = DisputeView::new(circuit, &resolved.dispute, display, is_masked);
        dispute.options.clear();
        let explanation = display.text(resolved.how.text(), is_masked);
        let (human_override_rationale, who) = match &resolved.how {
            Settlement::Overridden { who, .. } => (Some(explanation.clone()), Some(who.clone())),
            Settlement::NewData { .. } | Settlement::Dropped { .. } | Settlement::Examined { .. } => (None, None),
        };
        Self {
            dispute,
            resolution: resolved.how.as_str(),
            status: resolved.to,
            resolved: resolved.at.to_string(),
            explanation,
            human_override_rationale,
            who,
        }
    }
}

/// The result of `claim list`.
#[derive(Debug, Serialize)]
pub struct ClaimListView {
    pub schema: u32,
    pub pipeline: String,
    pub stage: Option<String>,
    pub final_stage: String,
    pub final_stage_closed: bool,
    pub cycle: u64,
    pub disputed: Vec<String>,
    pub claims: Vec<ClaimListEntryView>,
}

#[derive(Debug, Serialize)]
pub struct ClaimListEntryView {
    pub id: String,
    pub status: &'static str,
    /// The highest count among its objections.
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
        self.claims.push(ClaimListEntryView {
            id: id.to_string(),
            status: claim.listed_status().as_str(),
            count: claim.objections.iter().map(|objection| objection.count).max().unwrap_or_default(),
            limit,
            rounds: claim.totals.rounds,
            incident: claim.dispute().map(|dispute| dispute.incident.clone()),
            text: mask(&claim.text).into_owned(),
        });
    }
}
