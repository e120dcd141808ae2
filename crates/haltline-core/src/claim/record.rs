//! A claim's record, as a store keeps it.

use serde::{Deserialize, Serialize};

use super::{ClaimId, Confidence, Dispute, Limits, Objection, Settled, Status, Word};
use crate::{Instant, Moment};

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What it says, verbatim.
    pub text: String,
    /// What kind of claim it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What speaks for it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Tests that were run, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// What it takes for granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// How sure its author is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Claims it stands on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ClaimId>,
    /// Where it stands.
    pub standing: Standing,
    /// Why it has the status it has, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Objections to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objection>,
    /// The names of the last rounds in which it changed: what else is reported of them is not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_in: Vec<String>,
    /// The last answer to any of them, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Disputes that are over, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<Settled>,
    /// What happened to it, oldest first; the newest lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryLine>,
    /// Over its life.
    #[serde(default)]
    pub totals: Totals,
    /// Rises with every change of its standing (E12).
    #[serde(default)]
    pub generation: u64,
    /// When it was made.
    pub created: Instant,
    /// When it last changed.
    pub updated: Instant,
    /// When it was last heard of.
    pub seen: Moment,
}

/// Where a claim stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Under review, or done.
    Free(Status),
    /// Frozen.
    Disputed(Box<Dispute>),
}

/// A line of a claim's history. It has no texts of the claim in it: those stand in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// When.
    pub at: Instant,
    /// What, in a word.
    pub what: String,
    /// In words.
    pub text: String,
}

/// Over a claim's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Rounds, counted or not.
    pub rounds: u64,
    /// Rounds in which the claim changed.
    pub changed: u64,
    /// Rounds that were reported again.
    pub repeated: u64,
    /// Rounds on an older generation.
    pub stale: u64,
    /// What was tried and not allowed.
    pub refused: u64,
    /// Disputes.
    pub disputes: u64,
    /// Disputes that observe mode let pass.
    pub would_dispute: u64,
}

impl Claim {
    /// How many lines of history are kept.
    pub const HISTORY_MAX: usize = 100;
    /// How many rounds in which it changed are remembered.
    pub(super) const CHANGED_IN_MAX: usize = 32;
    /// How many disputes that are over are kept; the journal has them all.
    pub(super) const SETTLED_MAX: usize = 16;

    /// What listings say of it.
    pub fn word(&self) -> Word {
        match &self.standing {
            Standing::Free(status) => Word::Free(*status),
            Standing::Disputed(_) => Word::Disputed,
        }
    }

    /// The dispute it is in.
    pub fn dispute(&self) -> Option<&Dispute> {
        match &self.standing {
            Standing::Disputed(dispute) => Some(dispute),
            Standing::Free(_) => None,
        }
    }

    /// The objection with this number.
    pub fn objection(&self, number: u32) -> Option<&Objection> {
        self.objections.iter().find(|objection| objection.numbers.contains(&number))
    }

    /// The number of the next objection.
    pub(super) fn next_objection(&self) -> u32 {
        let highest = self.objections.iter().flat_map(|objection| &objection.numbers).max();
        highest.map_or(1, |highest| highest.saturating_add(1))
    }

    /// The bytes of all its texts.
    pub fn bytes(&self) -> u64 {
        let lists = [&self.evidence, &self.tests, &self.assumptions];
        let listed: usize = lists.iter().flat_map(|list| list.iter()).map(String::len).sum();
        let objections: usize = self.objections.iter().map(|objection| objection.text.len()).sum();
        let position =
            [&self.position, &self.reason].iter().filter_map(|text| text.as_ref()).map(String::len).sum::<usize>();
        let settled: u64 = self.settled.iter().map(|old| old.dispute.bytes() + old.how.said().len() as u64).sum();
        let dispute = self.dispute().map_or(0, Dispute::bytes);
        (self.text.len() + listed + objections + position) as u64 + settled + dispute
    }

    /// Whether losing this state would unfreeze a dispute, or bring a claim back that was given up.
    pub fn is_held(&self) -> bool {
        match &self.standing {
            Standing::Disputed(_) | Standing::Free(Status::Killed) => true,
            Standing::Free(_other) => false,
        }
    }

    /// The list that has become too long since `before`, and how long it may be.
    pub(super) fn overfull(&self, before: Option<&Claim>) -> Option<(&'static str, usize)> {
        let lengths = |claim: &Claim| {
            [
                ("pieces of evidence", claim.evidence.len(), Limits::ITEMS_MAX),
                ("tests", claim.tests.len(), Limits::ITEMS_MAX),
                ("assumptions", claim.assumptions.len(), Limits::ITEMS_MAX),
                ("claims below it", claim.depends_on.len(), Limits::ITEMS_MAX),
                ("objections", claim.objections.len(), Limits::OBJECTIONS_MAX),
            ]
        };
        let old = before.map(lengths);
        let old_length = |place: usize| old.map_or(0, |old| old[place].1);
        let mut lists = lengths(self).into_iter().enumerate();
        lists
            .find(|(place, (_, length, most))| length > most && *length > old_length(*place))
            .map(|(_, (what, _, most))| (what, most))
    }
}
