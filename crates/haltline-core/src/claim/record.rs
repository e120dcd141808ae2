//! The state of a claim, as the store keeps it.

use serde::{Deserialize, Serialize};

use super::{ClaimId, Confidence, Dispute, Limits, ListedStatus, Objection, ResolvedDispute, Status};
use crate::{Instant, Moment};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim's text, verbatim.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What supports the claim, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Tests that were run, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// What the claim takes for granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// How sure the author is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ClaimId>,
    #[serde(rename = "standing")]
    pub state: ClaimState,
    /// Why it has its status, if a reason was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objection>,
    /// The names of the last rounds in which it changed: other reports of those rounds do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_in: Vec<String>,
    /// Rounds since it was made, or since its last dispute ended.
    #[serde(rename = "rounds", default, skip_serializing_if = "is_zero")]
    pub rounds_so_far: u32,
    /// The names of the last of these rounds: other reports of them do not count.
    #[serde(rename = "in_rounds", default, skip_serializing_if = "Vec::is_empty")]
    pub round_names: Vec<String>,
    /// What the last change added, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_change: Option<String>,
    /// The last answer to any objection, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Disputes that ended, oldest first.
    #[serde(rename = "settled", default, skip_serializing_if = "Vec::is_empty")]
    pub resolved_disputes: Vec<ResolvedDispute>,
    /// The newest history lines, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryLine>,
    #[serde(default)]
    pub totals: Totals,
    /// Increases with every change of state (E12).
    #[serde(default)]
    pub generation: u64,
    pub created: Instant,
    pub updated: Instant,
    #[serde(rename = "seen")]
    pub last_seen: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimState {
    /// Not frozen: under review, or done.
    Free(Status),
    /// Frozen.
    Disputed(Box<Dispute>),
}

impl Default for ClaimState {
    fn default() -> Self {
        ClaimState::Free(Status::Unverified)
    }
}

/// A line of a claim's history. It contains no texts of the claim; the journal has those.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    pub at: Instant,
    /// Name of the fact.
    #[serde(rename = "what")]
    pub kind: String,
    pub text: String,
}

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
    #[serde(rename = "refused")]
    pub denied: u64,
    pub disputes: u64,
    /// Disputes that observe mode did not enforce.
    pub would_dispute: u64,
    /// Objections that were raised first after a change.
    #[serde(default, skip_serializing_if = "is_none")]
    pub after_change: u64,
    /// Those of them that are about what the change touched.
    #[serde(default, skip_serializing_if = "is_none")]
    pub about_change: u64,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Claim {
    /// Limit on the history lines that are kept.
    pub const HISTORY_MAX: usize = 100;
    /// Limit on the names of rounds in which it changed.
    pub(super) const CHANGED_IN_MAX: usize = 32;
    /// Limit on the ended disputes in the row; the journal has all.
    pub(super) const RESOLVED_DISPUTES_MAX: usize = 16;

    /// The status or DISPUTED, as listings show it.
    pub fn listed_status(&self) -> ListedStatus {
        match &self.state {
            ClaimState::Free(status) => ListedStatus::Free(*status),
            ClaimState::Disputed(_) => ListedStatus::Disputed,
        }
    }

    /// The current dispute, if the claim is DISPUTED.
    pub fn dispute(&self) -> Option<&Dispute> {
        match &self.state {
            ClaimState::Disputed(dispute) => Some(dispute),
            ClaimState::Free(_) => None,
        }
    }

    pub fn objection(&self, number: u32) -> Option<&Objection> {
        self.objections.iter().find(|objection| objection.numbers.contains(&number))
    }

    pub(super) fn next_objection(&self) -> u32 {
        let highest = self.objections.iter().flat_map(|objection| &objection.numbers).max();
        highest.map_or(1, |highest| highest.saturating_add(1))
    }

    /// The bytes of all its texts.
    pub fn bytes(&self) -> u64 {
        let lists = [&self.evidence, &self.tests, &self.assumptions];
        let listed: usize = lists.iter().flat_map(|list| list.iter()).map(String::len).sum();
        let objections: usize = self.objections.iter().map(|objection| objection.text.len()).sum();
        let position = [&self.position, &self.reason, &self.last_change]
            .iter()
            .filter_map(|text| text.as_ref())
            .map(String::len)
            .sum::<usize>();
        let settled: u64 =
            self.resolved_disputes.iter().map(|old| old.dispute.bytes() + old.how.text().len() as u64).sum();
        let dispute = self.dispute().map_or(0, Dispute::bytes);
        (self.text.len() + listed + objections + position) as u64 + settled + dispute
    }

    /// True if losing this state would unfreeze a dispute, or revive a claim that was killed.
    pub fn is_tripped(&self) -> bool {
        match &self.state {
            ClaimState::Disputed(_) | ClaimState::Free(Status::Killed) => true,
            ClaimState::Free(_other) => false,
        }
    }

    /// A list that grew beyond its limit since `before`: its name and the limit.
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
        let old_length = |index: usize| old.map_or(0, |old| old[index].1);
        let mut lists = lengths(self).into_iter().enumerate();
        lists
            .find(|(index, (_, length, most))| length > most && *length > old_length(*index))
            .map(|(_, (what, _, most))| (what, most))
    }
}
