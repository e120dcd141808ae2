//! A pipeline: the index of its claims, its stages and its cycle, in one small row, so that closing a stage is decided
//! from what is committed and from nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ClaimId, Limits, StageName, Status, Word};
use crate::Instant;

/// One pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The stage that does not close while a claim is DISPUTED. As it was when the pipeline began: a later
    /// configuration opens no back door.
    pub final_stage: StageName,
    /// The stage it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<EnteredStage>,
    /// Stages that are closed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<ClosedStage>,
    /// The cycle it is in, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
    /// Its claims.
    pub claims: BTreeMap<ClaimId, Entry>,
    /// The number the next claim without a name gets.
    pub next: u64,
    /// Over its life.
    #[serde(default)]
    pub totals: PipelineTotals,
    /// Rises with every change but rounds (E12).
    #[serde(default)]
    pub generation: u64,
    /// When it began.
    pub began: Instant,
}

/// A claim in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its status, or that it is DISPUTED.
    pub word: Word,
    /// Claims that stand on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<ClaimId>,
    /// The bytes of its texts.
    #[serde(default)]
    pub bytes: u64,
}

/// A stage that was entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnteredStage {
    /// Which.
    pub name: StageName,
    /// When.
    pub since: Instant,
}

/// A stage that is closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedStage {
    /// Which.
    pub name: StageName,
    /// When.
    pub at: Instant,
}

/// A cycle, and what happened in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// Its number.
    pub number: u64,
    /// When it began.
    pub began: Instant,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Instant>,
    /// Rounds in it.
    #[serde(default)]
    pub rounds: u64,
    /// Claims that had rounds.
    #[serde(default)]
    pub reviewed: BTreeSet<ClaimId>,
    /// What else happened, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Notes beyond what is kept.
    #[serde(default)]
    pub notes_left_out: u64,
}

/// Something that happened in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// To which claim.
    pub claim: ClaimId,
    /// What.
    pub what: NoteKind,
}

/// What can happen in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// It was made.
    Added,
    /// Its status changed.
    Moved {
        /// From.
        from: Word,
        /// To.
        to: Word,
    },
    /// A change waits for its dispute's end.
    Queued {
        /// The claim below that fell.
        base: ClaimId,
    },
    /// Something was tried and not allowed.
    Refused {
        /// What.
        verb: String,
    },
}

/// Over a pipeline's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineTotals {
    /// Rounds.
    pub rounds: u64,
    /// Disputes.
    pub disputes: u64,
    /// What was tried and not allowed.
    pub refused: u64,
}

impl Pipeline {
    /// How many notes of a cycle are kept.
    pub(super) const NOTES_MAX: usize = 500;

    /// A pipeline nobody has heard of.
    pub fn new(final_stage: StageName, began: Instant) -> Self {
        Self {
            final_stage,
            stage: None,
            closed: Vec::new(),
            cycle: None,
            claims: BTreeMap::new(),
            next: 1,
            totals: PipelineTotals::default(),
            generation: 0,
            began,
        }
    }

    /// The claims that are DISPUTED.
    pub fn disputed(&self) -> Vec<ClaimId> {
        let disputed = self.claims.iter().filter(|(_, entry)| entry.word == Word::Disputed);
        disputed.map(|(id, _)| id.clone()).collect()
    }

    /// Whether a stage is closed.
    pub fn is_closed(&self, stage: &StageName) -> bool {
        self.closed.iter().any(|closed| closed.name == *stage)
    }

    /// Whether its final stage is closed: nothing in it changes any more.
    pub fn is_over(&self) -> bool {
        self.is_closed(&self.final_stage)
    }

    /// The number of the current cycle, or of the last one.
    pub fn cycle_number(&self) -> u64 {
        self.cycle.as_ref().map_or(0, |cycle| cycle.number)
    }

    /// The bytes of all texts of its claims.
    pub fn bytes(&self) -> u64 {
        self.claims.values().map(|entry| entry.bytes).sum()
    }

    /// A name for a claim that came without one.
    pub(super) fn free_id(&self) -> ClaimId {
        let taken = |number: &u64| self.claims.contains_key(&ClaimId::numbered(*number));
        let number = (self.next..).take(Limits::CLAIMS_MAX + 1).find(|number| !taken(number));
        ClaimId::numbered(number.unwrap_or(self.next))
    }

    /// The status in the index, of a claim that is not DISPUTED.
    pub fn status(&self, id: &ClaimId) -> Option<Status> {
        match self.claims.get(id)?.word {
            Word::Free(status) => Some(status),
            Word::Disputed => None,
        }
    }

    /// Whether losing this state would let the final stage close over a dispute, or open again.
    pub fn is_held(&self) -> bool {
        self.is_over() || self.claims.values().any(|entry| entry.word == Word::Disputed)
    }
}
