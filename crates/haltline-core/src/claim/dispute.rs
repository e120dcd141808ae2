//! A dispute: what froze a claim, what is queued behind it, and how it ended (D2–D4).

use serde::{Deserialize, Serialize};

use super::{ClaimId, Status};
use crate::counted;
use crate::{Instant, Moment};

/// A disagreement that rounds did not settle. Both positions are stored verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    pub incident: String,
    pub since: Moment,
    /// The pipeline's cycle at that time; 0 if none had begun.
    pub cycle: u64,
    /// The pipeline's stage at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The objection's number within the claim.
    pub objection: u32,
    /// The objection, verbatim: `dispute_reason`.
    pub reason: String,
    /// The last answer, verbatim: `researcher_position`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Number of rounds without a change.
    pub count: u32,
    /// The limit that the count reached.
    pub limit: u32,
    #[serde(default, skip_serializing_if = "DisputeCause::is_objection")]
    pub cause: DisputeCause,
    pub before: Status,
    /// Changes that wait until the dispute ends, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<Queued>,
    /// Re-examinations without an outcome yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examinations: Vec<OpenExamination>,
    /// Number of re-examinations that left the dispute unresolved.
    #[serde(default)]
    pub unresolved: u64,
    /// The last re-examinations that ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examined: Vec<Examined>,
}

/// What made a claim DISPUTED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeCause {
    /// Rounds on one objection changed nothing.
    #[default]
    Objection,
    /// The claim had its last round, and its reviewers still object.
    Rounds,
}

impl DisputeCause {
    fn is_objection(&self) -> bool {
        *self == DisputeCause::Objection
    }

    /// The pattern of the incident.
    pub fn pattern(self) -> &'static str {
        match self {
            DisputeCause::Objection => "gossip_loop",
            DisputeCause::Rounds => "review_rounds",
        }
    }

    /// The code of the incident.
    pub fn code(self) -> &'static str {
        match self {
            DisputeCause::Objection => "HL-CLAIM-01",
            DisputeCause::Rounds => "HL-CLAIM-06",
        }
    }
}

/// A queued change: a claim that this one depends on fell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// The claim that fell.
    pub base: ClaimId,
    /// The status of the fallen claim.
    pub fell: Status,
    pub at: Instant,
}

/// A re-examination that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenExamination {
    pub trigger: Trigger,
    /// A description of the cause.
    pub detail: String,
    pub at: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examined {
    pub triggers: Vec<Trigger>,
    pub outcome: ExaminationOutcome,
    pub reason: String,
    pub at: Instant,
}

/// What causes a re-examination of a dispute (D4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    StageTransition,
    /// A new dataset, annotation or tool is available.
    NewData,
    /// A judge or another model reviewed it.
    CrossModelAudit,
}

impl Trigger {
    pub fn as_str(self) -> &'static str {
        match self {
            Trigger::StageTransition => "stage_transition",
            Trigger::NewData => "new_data",
            Trigger::CrossModelAudit => "cross_model_audit",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExaminationOutcome {
    Resolved,
    Unresolved,
}

impl ExaminationOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            ExaminationOutcome::Resolved => "resolved",
            ExaminationOutcome::Unresolved => "unresolved",
        }
    }
}

/// Why a claim became DISPUTED.
pub fn dispute_text(dispute: &Dispute) -> String {
    let rounds = counted(dispute.count, "round");
    match dispute.cause {
        DisputeCause::Objection => format!("{rounds} on objection O-{} changed nothing", dispute.objection),
        DisputeCause::Rounds => {
            format!("{rounds} did not end the review; the last objection is O-{}", dispute.objection)
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// New evidence or a new tool is available.
    NewData {
        evidence: String,
    },
    Dropped {
        rationale: String,
    },
    Overridden {
        who: String,
        /// `human_override_rationale`.
        rationale: String,
    },
    /// A re-examination answered the objection.
    Examined {
        reason: String,
    },
}

impl Settlement {
    pub fn as_str(&self) -> &'static str {
        match self {
            Settlement::NewData { .. } => "new_data",
            Settlement::Dropped { .. } => "drop",
            Settlement::Overridden { .. } => "override",
            Settlement::Examined { .. } => "reexamination",
        }
    }

    /// The person who decided, if one did.
    pub fn operator(&self) -> Option<&str> {
        match self {
            Settlement::Overridden { who, .. } => Some(who),
            Settlement::NewData { .. } | Settlement::Dropped { .. } | Settlement::Examined { .. } => None,
        }
    }

    /// The evidence, rationale or reason that was given.
    pub fn text(&self) -> &str {
        match self {
            Settlement::NewData { evidence } => evidence,
            Settlement::Dropped { rationale } | Settlement::Overridden { rationale, .. } => rationale,
            Settlement::Examined { reason } => reason,
        }
    }
}

/// A dispute that ended, kept in the claim's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedDispute {
    pub dispute: Dispute,
    pub how: Settlement,
    pub to: Status,
    pub at: Instant,
}

impl Dispute {
    /// Limit on the ended re-examinations in the row; the journal has all.
    pub(super) const EXAMINED_MAX: usize = 8;

    /// The bytes of its texts.
    pub(super) fn bytes(&self) -> u64 {
        let open: usize = self.examinations.iter().map(|open| open.detail.len()).sum();
        let over: usize = self.examined.iter().map(|over| over.reason.len()).sum();
        (self.reason.len() + self.position.as_ref().map_or(0, String::len) + open + over) as u64
    }
}
