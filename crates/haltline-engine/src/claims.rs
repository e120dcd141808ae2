//! Claims under review: their rows, their secrets, and the commands that end a dispute (D2, E10).

use haltline_core::claim::{Claim, ClaimEvent, ClaimId, Pipeline, PipelineName, Resolution, Round};
use haltline_core::{CircuitName, Event, State};

use crate::engine::{Engine, EngineError};
use crate::redact::mask;
use crate::store::{Committed, Store, StoreError};

impl<S: Store> Engine<S> {
    /// Handles an event of a pipeline.
    pub fn claims(
        &self,
        pipeline: &PipelineName,
        session: Option<&str>,
        event: ClaimEvent,
    ) -> Result<Committed, EngineError> {
        self.handle(Event::Claim { pipeline: pipeline.clone(), session: session.map(str::to_owned), event })
    }

    pub fn claim(&self, pipeline: &PipelineName, id: &ClaimId) -> Result<Option<Claim>, StoreError> {
        let name = CircuitName::claim(pipeline.as_str(), id.as_str());
        Ok(self.store().circuit(self.project().key, &name)?.as_ref().and_then(State::as_claim).cloned())
    }

    pub fn pipeline(&self, pipeline: &PipelineName) -> Result<Option<Pipeline>, StoreError> {
        let name = CircuitName::pipeline(pipeline.as_str());
        Ok(self.store().circuit(self.project().key, &name)?.as_ref().and_then(State::as_pipeline).cloned())
    }
}

/// The fields of an event that seem to hold secrets. They are stored unchanged; callers use this to warn (E10).
pub fn fields_with_secrets(event: &ClaimEvent) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut check = |name: &'static str, text: Option<&str>| {
        if text.is_some_and(has_secret) && !found.contains(&name) {
            found.push(name);
        }
    };
    match event {
        ClaimEvent::Add(new) => {
            check("text", Some(&new.text));
            new.evidence.iter().for_each(|text| check("evidence", Some(text)));
            new.assumptions.iter().for_each(|text| check("assumption", Some(text)));
        }
        ClaimEvent::Round(round) => {
            let Round { objection, answer, changes, .. } = round.as_ref();
            check("objection", objection.text.as_deref());
            check("answer", answer.as_deref());
            check("new-evidence", changes.new_evidence.as_deref());
            check("test-run", changes.test_run.as_deref());
            check("claim-text", changes.claim_text.as_deref());
        }
        ClaimEvent::Edit(edit) => {
            check("claim-text", edit.changes.claim_text.as_deref());
            check("new-evidence", edit.changes.new_evidence.as_deref());
            check("test-run", edit.changes.test_run.as_deref());
            check("reason", edit.reason.as_deref());
        }
        ClaimEvent::Promote { reason, .. } => check("reason", reason.as_deref()),
        ClaimEvent::Kill { reason, .. } => check("reason", Some(reason)),
        ClaimEvent::Resolve { how, .. } => match how {
            Resolution::NewData { evidence } => check("evidence", Some(evidence)),
            Resolution::Drop { rationale } | Resolution::Override { rationale, .. } => {
                check("rationale", Some(rationale));
            }
        },
        ClaimEvent::Reexamine { trigger, outcome, .. } => {
            check("detail", trigger.as_ref().map(|(_, detail)| detail.as_str()));
            check("reason", outcome.as_ref().map(|(_, reason)| reason.as_str()));
        }
        ClaimEvent::CycleBegin
        | ClaimEvent::CycleEnd
        | ClaimEvent::AdvanceStage { .. }
        | ClaimEvent::CloseStage { .. } => {}
    }
    found
}

/// True if a text seems to hold a secret.
pub fn has_secret(text: &str) -> bool {
    mask(text) != text
}

/// The commands that end a dispute; only a person may use the last one.
pub fn claim_options(name: &CircuitName) -> Vec<String> {
    let (pipeline, id) = name.scope().split_once('/').unwrap_or((PipelineName::DEFAULT, name.scope()));
    let pipeline_option =
        if pipeline == PipelineName::DEFAULT { String::new() } else { format!(" --pipeline {pipeline}") };
    vec![
        format!("haltline claim resolve new-data {id} --evidence TEXT{pipeline_option}"),
        format!("haltline claim resolve drop {id} --reason TEXT{pipeline_option}"),
        format!("haltline claim resolve override {id} --status STATUS --reason TEXT{pipeline_option}"),
    ]
}
