//! A pipeline: the index of its claims, its stages and its cycle, in one small row, so that closing a stage is decided
//! from committed data alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ClaimId, Limits, ListedStatus, StageName, Status};
use crate::Instant;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The stage that cannot close while a claim is DISPUTED. Fixed when the pipeline began, so that a later
    /// configuration cannot evade it.
    pub final_stage: StageName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<EnteredStage>,
    /// Closed stages in the order of closing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<ClosedStage>,
    /// The current cycle, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
    pub claims: BTreeMap<ClaimId, Entry>,
    /// The number that the next claim without a name gets.
    pub next: u64,
    #[serde(default)]
    pub totals: PipelineTotals,
    /// Increases with every change except rounds (E12).
    #[serde(default)]
    pub generation: u64,
    pub began: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The claim's status, or DISPUTED.
    #[serde(rename = "word")]
    pub status: ListedStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<ClaimId>,
    #[serde(default)]
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnteredStage {
    pub name: StageName,
    pub since: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedStage {
    pub name: StageName,
    pub at: Instant,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    pub number: u64,
    pub began: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Instant>,
    #[serde(default)]
    pub rounds: u64,
    /// Claims that had rounds.
    #[serde(default)]
    pub reviewed: BTreeSet<ClaimId>,
    /// Other events, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Number of notes beyond the limit.
    #[serde(default)]
    pub notes_left_out: u64,
}

/// Something that happened to a claim in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub claim: ClaimId,
    #[serde(rename = "what")]
    pub kind: NoteKind,
}

/// What can happen to a claim in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    Added,
    Moved {
        from: ListedStatus,
        to: ListedStatus,
    },
    /// A change is queued until the claim's dispute ends.
    Queued {
        /// The dependency that fell.
        base: ClaimId,
    },
    #[serde(rename = "refused")]
    Denied {
        verb: String,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineTotals {
    pub rounds: u64,
    pub disputes: u64,
    #[serde(rename = "refused")]
    pub denied: u64,
}

impl Pipeline {
    pub(super) const NOTES_MAX: usize = 500;

    /// A pipeline without any history.
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

    pub fn disputed(&self) -> Vec<ClaimId> {
        let disputed = self.claims.iter().filter(|(_, entry)| entry.status == ListedStatus::Disputed);
        disputed.map(|(id, _)| id.clone()).collect()
    }

    pub fn is_closed(&self, stage: &StageName) -> bool {
        self.closed.iter().any(|closed| closed.name == *stage)
    }

    /// True if the final stage is closed: nothing in the pipeline changes any more.
    pub fn is_over(&self) -> bool {
        self.is_closed(&self.final_stage)
    }

    /// The number of the current cycle, or of the last one; 0 if none began.
    pub fn cycle_number(&self) -> u64 {
        self.cycle.as_ref().map_or(0, |cycle| cycle.number)
    }

    /// The bytes of all texts of its claims.
    pub fn bytes(&self) -> u64 {
        self.claims.values().map(|entry| entry.bytes).sum()
    }

    /// A name for a claim that was added without one.
    pub(super) fn free_id(&self) -> ClaimId {
        let is_taken = |number: &u64| self.claims.contains_key(&ClaimId::numbered(*number));
        let number = (self.next..).take(Limits::CLAIMS_MAX + 1).find(|number| !is_taken(number));
        ClaimId::numbered(number.unwrap_or(self.next))
    }

    /// The status of a claim that is not DISPUTED, from the index.
    pub fn status(&self, id: &ClaimId) -> Option<Status> {
        match self.claims.get(id)?.status {
            ListedStatus::Free(status) => Some(status),
            ListedStatus::Disputed => None,
        }
    }

    /// True if losing this state would let the final stage close over a dispute, or reopen it.
    pub fn is_tripped(&self) -> bool {
        self.is_over() || self.claims.values().any(|entry| entry.status == ListedStatus::Disputed)
    }
}
