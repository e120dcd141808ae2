//! What becomes true of a pipeline, and how that changes it. Nothing is decided here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    ClaimId, ClosedStage, Cycle, EnteredStage, Entry, Note, NoteKind, Pipeline, StageName, Word, limits::Limits,
};
use crate::Moment;
use crate::memory::rise;

/// What became true of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineFact {
    /// It began.
    Began {
        /// The stage that does not close while a claim is DISPUTED.
        final_stage: StageName,
    },
    /// A claim was made.
    Added {
        /// Which.
        claim: ClaimId,
        /// Its status.
        word: Word,
        /// Claims it stands on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        depends_on: Vec<ClaimId>,
    },
    /// A claim stands on others as well.
    Depends {
        /// Which.
        claim: ClaimId,
        /// On these.
        on: Vec<ClaimId>,
    },
    /// A round on a claim closed.
    Reviewed {
        /// Which.
        claim: ClaimId,
    },
    /// A claim's status changed.
    Moved {
        /// Which.
        claim: ClaimId,
        /// To what.
        to: Word,
    },
    /// A change waits for a dispute's end.
    Queued {
        /// The claim it waits for.
        claim: ClaimId,
        /// The claim below that fell.
        base: ClaimId,
    },
    /// The texts of a claim take this much room.
    Sized {
        /// Which.
        claim: ClaimId,
        /// In bytes.
        bytes: u64,
    },
    /// A cycle began.
    CycleBegan {
        /// Its number.
        number: u64,
    },
    /// The cycle ended.
    CycleEnded {
        /// Its number.
        number: u64,
    },
    /// A stage was entered.
    StageEntered {
        /// Which.
        stage: StageName,
    },
    /// A stage was closed.
    StageClosed {
        /// Which.
        stage: StageName,
    },
    /// Somebody tried what is not allowed.
    Refused {
        /// What.
        verb: String,
        /// With which claim, where it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<ClaimId>,
        /// The disputes in the way, where those are why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        disputed: Vec<ClaimId>,
    },
}

impl PipelineFact {
    /// Stages and disputes survive a power cut.
    pub fn is_momentous(&self) -> bool {
        match self {
            PipelineFact::Moved { .. }
            | PipelineFact::Queued { .. }
            | PipelineFact::StageEntered { .. }
            | PipelineFact::StageClosed { .. } => true,
            PipelineFact::Began { .. }
            | PipelineFact::Added { .. }
            | PipelineFact::Depends { .. }
            | PipelineFact::Reviewed { .. }
            | PipelineFact::Sized { .. }
            | PipelineFact::CycleBegan { .. }
            | PipelineFact::CycleEnded { .. }
            | PipelineFact::Refused { .. } => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            PipelineFact::Began { .. } => "began",
            PipelineFact::Added { .. } => "added",
            PipelineFact::Depends { .. } => "depends",
            PipelineFact::Reviewed { .. } => "round",
            PipelineFact::Moved { .. } => "moved",
            PipelineFact::Queued { .. } => "queued",
            PipelineFact::Sized { .. } => "sized",
            PipelineFact::CycleBegan { .. } => "cycle_began",
            PipelineFact::CycleEnded { .. } => "cycle_ended",
            PipelineFact::StageEntered { .. } => "stage_entered",
            PipelineFact::StageClosed { .. } => "stage_closed",
            PipelineFact::Refused { .. } => "refused",
        }
    }
}

/// The pipeline after a fact.
pub fn apply_pipeline(pipeline: Option<Pipeline>, fact: &PipelineFact, at: Moment) -> Pipeline {
    let unknown = || {
        let final_stage = StageName::parse(&Limits::default().final_stage).expect("the built-in name is one");
        Pipeline::new(final_stage, at.at)
    };
    let mut pipeline = pipeline.unwrap_or_else(unknown);
    match fact {
        PipelineFact::Began { final_stage } => pipeline = Pipeline::new(final_stage.clone(), at.at),
        PipelineFact::Added { claim, word, depends_on } => add(&mut pipeline, claim, *word, depends_on),
        PipelineFact::Depends { claim, on } => {
            rise(&mut pipeline.generation);
            depend(&mut pipeline, claim, on);
        }
        PipelineFact::Reviewed { claim } => {
            rise(&mut pipeline.totals.rounds);
            if let Some(cycle) = open_cycle(&mut pipeline) {
                rise(&mut cycle.rounds);
                cycle.reviewed.insert(claim.clone());
            }
        }
        PipelineFact::Moved { claim, to } => {
            rise(&mut pipeline.generation);
            let Some(entry) = pipeline.claims.get_mut(claim) else { return pipeline };
            let from = std::mem::replace(&mut entry.word, *to);
            if *to == Word::Disputed {
                rise(&mut pipeline.totals.disputes);
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
            rise(&mut pipeline.generation);
            pipeline.cycle = Some(Cycle {
                number: *number,
                began: at.at,
                ended: None,
                rounds: 0,
                reviewed: BTreeSet::new(),
                notes: Vec::new(),
                notes_left_out: 0,
            });
        }
        PipelineFact::CycleEnded { .. } => {
            rise(&mut pipeline.generation);
            if let Some(cycle) = open_cycle(&mut pipeline) {
                cycle.ended = Some(at.at);
            }
        }
        PipelineFact::StageEntered { stage } => {
            rise(&mut pipeline.generation);
            pipeline.stage = Some(EnteredStage { name: stage.clone(), since: at.at });
        }
        PipelineFact::StageClosed { stage } => {
            rise(&mut pipeline.generation);
            pipeline.closed.push(ClosedStage { name: stage.clone(), at: at.at });
        }
        PipelineFact::Refused { verb, claim, .. } => {
            rise(&mut pipeline.totals.refused);
            if let Some(claim) = claim {
                note(&mut pipeline, claim, NoteKind::Refused { verb: verb.clone() });
            }
        }
    }
    pipeline
}

fn add(pipeline: &mut Pipeline, claim: &ClaimId, word: Word, depends_on: &[ClaimId]) {
    rise(&mut pipeline.generation);
    let dependents = pipeline.claims.remove(claim).map(|known| known.dependents).unwrap_or_default();
    let entry = Entry { word, dependents, bytes: 0 };
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

fn note(pipeline: &mut Pipeline, claim: &ClaimId, what: NoteKind) {
    let Some(cycle) = open_cycle(pipeline) else { return };
    if cycle.notes.len() < Pipeline::NOTES_MAX {
        cycle.notes.push(Note { claim: claim.clone(), what });
    } else {
        rise(&mut cycle.notes_left_out);
    }
}

fn open_cycle(pipeline: &mut Pipeline) -> Option<&mut Cycle> {
    pipeline.cycle.as_mut().filter(|cycle| cycle.ended.is_none())
}
