//! A dispute: what froze a claim, what waits behind it, and how it ended (D2–D4).

use serde::{Deserialize, Serialize};

use super::{ClaimId, Status};
use crate::{Instant, Moment};

/// A disagreement that led nowhere. The two positions stand as they were said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// Names it everywhere.
    pub incident: String,
    /// When.
    pub since: Moment,
    /// The pipeline's cycle then; 0 where none had begun.
    pub cycle: u64,
    /// The pipeline's stage then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The objection's number within the claim.
    pub objection: u32,
    /// The objection, verbatim: `dispute_reason`.
    pub reason: String,
    /// The last answer, verbatim: `researcher_position`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// How many rounds.
    pub count: u32,
    /// How many were allowed.
    pub limit: u32,
    /// What the claim was before.
    pub before: Status,
    /// Changes that wait until it is resolved, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<Queued>,
    /// What brought it up again and has no outcome yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examinations: Vec<OpenExamination>,
    /// Times it was looked at again and stayed.
    #[serde(default)]
    pub unresolved: u64,
    /// What came of that, oldest first; the last ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examined: Vec<Examined>,
}

/// A change that waits: a claim below fell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Which fell.
    pub base: ClaimId,
    /// What became of it.
    pub fell: Status,
    /// When.
    pub at: Instant,
}

/// A re-examination that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenExamination {
    /// What brought it up.
    pub trigger: Trigger,
    /// In words.
    pub detail: String,
    /// When.
    pub at: Instant,
}

/// A re-examination that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examined {
    /// What had brought it up.
    pub triggers: Vec<Trigger>,
    /// What came of it.
    pub outcome: Outcome,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Instant,
}

/// What brings a dispute up again (D4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The pipeline entered a stage.
    StageTransition,
    /// A dataset, an annotation or a tool is there.
    NewData,
    /// A judge or another model looked at it.
    CrossModelAudit,
}

impl Trigger {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Trigger::StageTransition => "stage_transition",
            Trigger::NewData => "new_data",
            Trigger::CrossModelAudit => "cross_model_audit",
        }
    }
}

/// What came of a re-examination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The objection is answered.
    Resolved,
    /// It stands.
    Unresolved,
}

impl Outcome {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Resolved => "resolved",
            Outcome::Unresolved => "unresolved",
        }
    }
}

/// How a dispute ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// Evidence or a tool is there that was not.
    NewData {
        /// What.
        evidence: String,
    },
    /// The claim was withdrawn.
    Dropped {
        /// Why.
        rationale: String,
    },
    /// A person decided.
    Overridden {
        /// Who.
        who: String,
        /// Why: `human_override_rationale`.
        rationale: String,
    },
    /// A re-examination answered the objection.
    Examined {
        /// Why.
        reason: String,
    },
}

impl Settlement {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Settlement::NewData { .. } => "new_data",
            Settlement::Dropped { .. } => "drop",
            Settlement::Overridden { .. } => "override",
            Settlement::Examined { .. } => "reexamination",
        }
    }

    /// What was said for it.
    pub fn said(&self) -> &str {
        match self {
            Settlement::NewData { evidence } => evidence,
            Settlement::Dropped { rationale } | Settlement::Overridden { rationale, .. } => rationale,
            Settlement::Examined { reason } => reason,
        }
    }
}

/// A dispute that is over, kept in the claim's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// What it was.
    pub dispute: Dispute,
    /// How it ended.
    pub how: Settlement,
    /// What became of the claim.
    pub to: Status,
    /// When.
    pub at: Instant,
}

impl Dispute {
    /// How many re-examinations that are over are kept; the journal has them all.
    pub(super) const EXAMINED_MAX: usize = 8;

    /// The bytes of its texts.
    pub(super) fn bytes(&self) -> u64 {
        let open: usize = self.examinations.iter().map(|open| open.detail.len()).sum();
        let over: usize = self.examined.iter().map(|over| over.reason.len()).sum();
        (self.reason.len() + self.position.as_ref().map_or(0, String::len) + open + over) as u64
    }
}
