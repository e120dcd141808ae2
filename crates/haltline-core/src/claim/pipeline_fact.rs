//! The facts of a pipeline, and how each changes it. Nothing is decided here.

use serde::{Deserialize, Serialize};

use super::{
    ClaimId, ClosedStage, Cycle, EnteredStage, Entry, ListedStatus, Note, NoteKind, Pipeline, StageName, limits::Limits,
};
use crate::Moment;
use crate::circuit::increment;
use crate::fact::{FactKind, synced, unsynced};

/// A change of a pipeline, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineFact {
    Began {
        /// The stage that cannot close while a claim is DISPUTED.
        final_stage: StageName,
    },
    Added {
        claim: ClaimId,
        #[serde(rename = "word")]
        status: ListedStatus,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        depends_on: Vec<ClaimId>,
    },
    Depends {
        claim: ClaimId,
        on: Vec<ClaimId>,
    },
    Reviewed {
        claim: ClaimId,
    },
    Moved {
        claim: ClaimId,
        to: ListedStatus,
    },
    /// A change is queued until a dispute ends.
    Queued {
        /// The DISPUTED claim.
        claim: ClaimId,
        /// The dependency that fell.
        base: ClaimId,
    },
    /// The size of a claim's texts changed.
    Sized {
        claim: ClaimId,
        bytes: u64,
    },
    CycleBegan {
        number: u64,
    },
    CycleEnded {
        number: u64,
    },
    StageEntered {
        stage: StageName,
    },
    StageClosed {
        stage: StageName,
    },
    #[serde(rename = "refused")]
    Denied {
        verb: String,
        /// The claim, if the operation is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<ClaimId>,
        /// The disputes that prevent the operation, if they are the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        disputed: Vec<ClaimId>,
    },
}

impl PipelineFact {
    /// The fact's stable name in listings, and whether it is synced: stages and changes of status are.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            PipelineFact::Began { .. } => unsynced("began"),
            PipelineFact::Added { .. } => unsynced("added"),
            PipelineFact::Depends { .. } => unsynced("depends"),
            PipelineFact::Reviewed { .. } => unsynced("round"),
            PipelineFact::Moved { .. } => synced("moved"),
            PipelineFact::Queued { .. } => synced("queued"),
            PipelineFact::Sized { .. } => unsynced("sized"),
            PipelineFact::CycleBegan { .. } => unsynced("cycle_began"),
            PipelineFact::CycleEnded { .. } => unsynced("cycle_ended"),
            PipelineFact::StageEntered { .. } => synced("stage_entered"),
            PipelineFact::StageClosed { .. } => synced("stage_closed"),
            PipelineFact::Denied { .. } => unsynced("refused"),
        }
    }
}

pub fn apply_pipeline(pipeline: Option<Pipeline>, fact: &PipelineFact, at: Moment) -> Pipeline {
    let unknown = || {
        let final_stage = StageName::parse(&Limits::default().final_stage).expect("the built-in name is one");
        Pipeline::new(final_stage, at.at)
    };
    let mut pipeline = pipeline.unwrap_or_else(unknown);
    match fact {
        PipelineFact::Began { final_stage } => pipeline = Pipeline::new(final_stage.clone(), at.at),
        PipelineFact::Added { claim, status, depends_on } => add(&mut pipeline, claim, *status, depends_on),
        PipelineFact::Depends { claim, on } => {
            increment(&mut pipeline.generation);
            depend(&mut pipeline, claim, on);
        }
        PipelineFact::Reviewed { claim } => {
            increment(&mut pipeline.totals.rounds);
            if let Some(cycle) = open_cycle(&mut pipeline) {
                increment(&mut cycle.rounds);
                cycle.reviewed.insert(claim.clone());
            }
        }
        PipelineFact::Moved { claim, to } => {
            increment(&mut pipeline.generation);
            let Some(entry) = pipeline.claims.get_mut(claim) else { return pipeline };
            let from = std::mem::replace(&mut entry.status, *to);
            if *to == ListedStatus::Disputed {
                increment(&mut pipeline.totals.disputes);
            }
            note(&mut pipeline, claim, NoteKind::Moved { from, to: *to });
        }
        PipelineFact::Queued { claim, base } => {
            note(&mut pipeline, claim, NoteKind::Queued { base: base.clone() });
        }
        PipelineFact::Sized { claim, bytes } => {
            if let Some(entry) = pipeline.claims.get_mut(claim) {
                entry.bytes = *bytes;
            }
        }
        PipelineFact::CycleBegan { number } => {
            increment(&mut pipeline.generation);
            pipeline.cycle = Some(Cycle { number: *number, began: at.at, ..Cycle::default() });
        }
        PipelineFact::CycleEnded { .. } => {
            increment(&mut pipeline.generation);
            if let Some(cycle) = open_cycle(&mut pipeline) {
                cycle.ended = Some(at.at);
            }
        }
        PipelineFact::StageEntered { stage } => {
            increment(&mut pipeline.generation);
            pipeline.stage = Some(EnteredStage { name: stage.clone(), since: at.at });
        }
        PipelineFact::StageClosed { stage } => {
            increment(&mut pipeline.generation);
            pipeline.closed.push(ClosedStage { name: stage.clone(), at: at.at });
        }
        PipelineFact::Denied { verb, claim, .. } => {
            increment(&mut pipeline.totals.denied);
            if let Some(claim) = claim {
                note(&mut pipeline, claim, NoteKind::Denied { verb: verb.clone() });
            }
        }
    }
    pipeline
}

fn add(pipeline: &mut Pipeline, claim: &ClaimId, status: ListedStatus, depends_on: &[ClaimId]) {
    increment(&mut pipeline.generation);
    let dependents = pipeline.claims.remove(claim).map(|known| known.dependents).unwrap_or_default();
    let entry = Entry { status, dependents, bytes: 0 };
    pipeline.claims.insert(claim.clone(), entry);
    if *claim == ClaimId::numbered(pipeline.next) {
        pipeline.next = pipeline.next.saturating_add(1);
    }
    depend(pipeline, claim, depends_on);
    note(pipeline, claim, NoteKind::Added);
}

fn depend(pipeline: &mut Pipeline, claim: &ClaimId, on: &[ClaimId]) {
    for base in on {
        if let Some(entry) = pipeline.claims.get_mut(base)
            && !entry.dependents.contains(claim)
        {
            entry.dependents.push(claim.clone());
        }
    }
}

fn note(pipeline: &mut Pipeline, claim: &ClaimId, kind: NoteKind) {
    let Some(cycle) = open_cycle(pipeline) else { return };
    if cycle.notes.len() < Pipeline::NOTES_MAX {
        cycle.notes.push(Note { claim: claim.clone(), kind });
    } else {
        increment(&mut cycle.notes_left_out);
    }
}

fn open_cycle(pipeline: &mut Pipeline) -> Option<&mut Cycle> {
    pipeline.cycle.as_mut().filter(|cycle| cycle.ended.is_none())
}
