//! Claims under review: their rows, their secrets, and what is told of a dispute (D2, E10, E16).

use haltline_core::claim::{Claim, ClaimId, Happening, Pipeline, PipelineName, Resolution, Round, Settled};
use haltline_core::{CircuitName, Event, State};
use serde_json::{Value, json};

use crate::engine::{Engine, EngineError};
use crate::redact::mask;
use crate::store::{Committed, Store, StoreError};

impl<S: Store> Engine<S> {
    /// Takes an event of a pipeline.
    pub fn claims(
        &self,
        pipeline: &PipelineName,
        session: Option<&str>,
        what: Happening,
    ) -> Result<Committed, EngineError> {
        self.handle(Event::Claim { pipeline: pipeline.clone(), session: session.map(str::to_owned), what })
    }

    /// One claim.
    pub fn claim(&self, pipeline: &PipelineName, id: &ClaimId) -> Result<Option<Claim>, StoreError> {
        let name = CircuitName::claim(pipeline.as_str(), id.as_str());
        Ok(match self.store().circuit(self.project().key, &name)? {
            Some(State::Claim(claim)) => Some(*claim),
            Some(_) | None => None,
        })
    }

    /// A pipeline's index.
    pub fn pipeline(&self, pipeline: &PipelineName) -> Result<Option<Pipeline>, StoreError> {
        let name = CircuitName::pipeline(pipeline.as_str());
        Ok(match self.store().circuit(self.project().key, &name)? {
            Some(State::Pipeline(pipeline)) => Some(*pipeline),
            Some(_) | None => None,
        })
    }
}

/// Which texts of an event seem to hold secrets. They are kept as they are: this is to say so (E10).
pub fn suspicious(what: &Happening) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut look = |name: &'static str, text: Option<&str>| {
        if text.is_some_and(has_secret) && !found.contains(&name) {
            found.push(name);
        }
    };
    match what {
        Happening::Add(new) => {
            look("text", Some(&new.text));
            new.evidence.iter().for_each(|text| look("evidence", Some(text)));
            new.assumptions.iter().for_each(|text| look("assumption", Some(text)));
        }
        Happening::Round(round) => {
            let Round { objection, answer, changes, .. } = round.as_ref();
            look("objection", objection.text.as_deref());
            look("answer", answer.as_deref());
            look("new-evidence", changes.new_evidence.as_deref());
            look("test-run", changes.test_run.as_deref());
            look("claim-text", changes.claim_text.as_deref());
        }
        Happening::Edit(edit) => {
            look("claim-text", edit.changes.claim_text.as_deref());
            look("new-evidence", edit.changes.new_evidence.as_deref());
            look("test-run", edit.changes.test_run.as_deref());
            look("reason", edit.reason.as_deref());
        }
        Happening::Promote { reason, .. } => look("reason", reason.as_deref()),
        Happening::Kill { reason, .. } => look("reason", Some(reason)),
        Happening::Resolve { how, .. } => match how {
            Resolution::NewData { evidence } => look("evidence", Some(evidence)),
            Resolution::Drop { rationale } | Resolution::Override { rationale, .. } => {
                look("rationale", Some(rationale));
            }
        },
        Happening::Reexamine { trigger, outcome, .. } => {
            look("detail", trigger.as_ref().map(|(_, detail)| detail.as_str()));
            look("reason", outcome.as_ref().map(|(_, reason)| reason.as_str()));
        }
        Happening::CycleBegin | Happening::CycleEnd | Happening::AdvanceStage { .. } | Happening::CloseStage { .. } => {
        }
    }
    found
}

/// Whether a text seems to hold a secret.
pub fn has_secret(text: &str) -> bool {
    mask(text) != text
}

/// The commands by which a dispute ends; the last one is a person's.
pub fn claim_options(name: &CircuitName) -> Vec<String> {
    let (pipeline, id) = name.scope().split_once('/').unwrap_or((PipelineName::DEFAULT, name.scope()));
    let place = if pipeline == PipelineName::DEFAULT { String::new() } else { format!(" --pipeline {pipeline}") };
    vec![
        format!("haltline claim resolve new-data {id} --evidence TEXT{place}"),
        format!("haltline claim resolve drop {id} --rationale TEXT{place}"),
        format!("haltline claim resolve override {id} --status STATUS --rationale TEXT{place}"),
    ]
}

/// A dispute as notifications carry it; secrets are masked. `None` where the claim has forgotten it.
pub(crate) fn incident(project: &str, name: &CircuitName, incident: &str, claim: &Claim) -> Option<Value> {
    let is_wanted = |settled: &&Settled| settled.dispute.incident == incident;
    let open = claim.dispute().filter(|dispute| dispute.incident == incident);
    let dispute = open.or_else(|| claim.settled.iter().find(is_wanted).map(|settled| &settled.dispute))?;
    Some(json!({
        "schema": 1,
        "incident": incident,
        "circuit": name.as_str(),
        "project": project,
        "code": "HL-CLAIM-01",
        "state": claim.word().word(),
        "tripped": dispute.since.at.to_string(),
        "until": null,
        "reason": format!("{} rounds on objection O-{} changed nothing", dispute.count, dispute.objection),
        "cost_usd": null,
        "claim": mask(&claim.text),
        "dispute_reason": mask(&dispute.reason),
        "researcher_position": dispute.position.as_deref().map(mask),
        "dispute_cycle": dispute.cycle,
        "evidence": [],
        "options": claim_options(name),
    }))
}
