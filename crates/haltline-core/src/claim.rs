//! The claim breaker: counts review rounds on claims until a disagreement is a dispute (seed 004; D1–D5).
//!
//! A *pipeline* is a list of claims that goes through stages. A round is one objection to one claim and the answer to
//! it. Three rounds on the same objection that change nothing make the claim DISPUTED: haltline freezes this claim,
//! verbatim, until the dispute is resolved, and the pipeline's final stage cannot close before that. Texts are stored
//! unchanged.

mod apply;
mod change;
mod decide;
mod dispute;
mod limits;
mod name;
mod objection;
mod pipeline;
mod pipeline_fact;
mod problem;
mod record;
mod status;

pub use apply::apply;
pub use change::{Change, Changes, Confidence, ConfidenceError};
pub use decide::{ClaimRequest, decide};
pub use dispute::{
    Dispute, DisputeCause, ExaminationOutcome, Examined, OpenExamination, Queued, ResolvedDispute, Settlement, Trigger,
    dispute_text,
};
pub use limits::Limits;
pub use name::{ClaimId, NameError, PipelineName, StageName};
pub use objection::{Objection, ObjectionText};
pub use pipeline::{ClosedStage, Cycle, EnteredStage, Entry, Note, NoteKind, Pipeline, PipelineTotals};
pub use pipeline_fact::{PipelineFact, apply_pipeline};
pub use problem::Problem;
pub use record::{Claim, ClaimState, HistoryLine, Totals};
pub use status::{ListedStatus, Status};

use serde::{Deserialize, Serialize};

use crate::Operator;
use crate::fact::{FactKind, synced, unsynced};
use crate::identity::Digest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimEvent {
    Add(Box<NewClaim>),
    /// A review round closed (D1).
    Round(Box<Round>),
    /// A claim is changed outside a round.
    Edit(Box<Edit>),
    /// A claim gets a higher status.
    Promote {
        claim: ClaimId,
        to: Status,
        reason: Option<String>,
    },
    Kill {
        claim: ClaimId,
        reason: String,
    },
    /// A dispute ends (D3).
    Resolve {
        claim: ClaimId,
        how: Resolution,
    },
    /// A dispute is re-examined (D4).
    Reexamine {
        claim: ClaimId,
        /// What caused the re-examination and a description, if there is a new cause.
        trigger: Option<(Trigger, String)>,
        outcome: Option<(ExaminationOutcome, String)>,
    },
    CycleBegin,
    CycleEnd,
    AdvanceStage {
        stage: StageName,
    },
    CloseStage {
        stage: StageName,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewClaim {
    /// Its name; `None` = the next number.
    pub id: Option<ClaimId>,
    pub text: String,
    pub kind: Option<String>,
    pub evidence: Vec<String>,
    /// What the claim takes for granted.
    pub assumptions: Vec<String>,
    /// How sure the author is.
    pub confidence: Option<Confidence>,
    pub depends_on: Vec<ClaimId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    pub claim: ClaimId,
    pub objection: ObjectionText,
    /// Who raised the objection.
    pub reviewer: Option<String>,
    /// The author's answer.
    pub answer: Option<String>,
    pub changes: Changes,
    /// The round's name. Reports with the same name count once: several reviewers in one round, or a report sent again.
    pub round: Option<String>,
    /// The generation of the claim that was reviewed (E12).
    pub generation: Option<u64>,
}

/// A change outside a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub claim: ClaimId,
    pub changes: Changes,
    /// A new status that is neither a promotion nor a kill.
    pub status: Option<Status>,
    pub depends_on: Vec<ClaimId>,
    pub reason: Option<String>,
}

/// The three ways to end a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// New evidence or a new tool is available.
    NewData {
        evidence: String,
    },
    Drop {
        rationale: String,
    },
    /// A person decides.
    Override {
        to: Status,
        rationale: String,
        operator: Operator,
    },
}

impl ClaimEvent {
    /// The event's name in the journal, which is the verb of the command.
    pub fn cause(&self) -> &'static str {
        match self {
            ClaimEvent::Add(_) => "add",
            ClaimEvent::Round(_) => "round",
            ClaimEvent::Edit(_) => "edit",
            ClaimEvent::Promote { .. } => "promote",
            ClaimEvent::Kill { .. } => "kill",
            ClaimEvent::Resolve { how: Resolution::NewData { .. }, .. } => "new_data",
            ClaimEvent::Resolve { how: Resolution::Drop { .. }, .. } => "drop",
            ClaimEvent::Resolve { how: Resolution::Override { .. }, .. } => "override",
            ClaimEvent::Reexamine { .. } => "reexamine",
            ClaimEvent::CycleBegin => "cycle_begin",
            ClaimEvent::CycleEnd => "cycle_end",
            ClaimEvent::AdvanceStage { .. } => "advance_stage",
            ClaimEvent::CloseStage { .. } => "close_stage",
        }
    }
}

/// A change of a claim, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Added(Box<Added>),
    Reviewed(Box<Reviewed>),
    /// The claim was changed outside a round.
    Edited {
        /// What differs from before.
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
        /// The same text in another spelling, which does not count as a change of the claim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        respelled: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        depends_on: Vec<ClaimId>,
    },
    Moved {
        to: Status,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A claim that this one depends on fell, so this one is CHALLENGED.
    Challenged {
        base: ClaimId,
        /// The status of the fallen claim.
        fell: Status,
    },
    /// A claim that this one depends on fell while this one was DISPUTED: the change is queued.
    Queued {
        base: ClaimId,
        /// The status of the fallen claim.
        fell: Status,
    },
    /// A queued change was released at the end of the dispute.
    Released {
        /// The claim that fell.
        base: ClaimId,
        /// The status of the fallen claim.
        fell: Status,
        /// True if this claim is CHALLENGED now; false if it fell itself, so the queued change has no effect.
        applied: bool,
    },
    Disputed {
        dispute: Box<Dispute>,
    },
    /// The claim would have become DISPUTED; observe mode stops nothing (E15).
    WouldDispute {
        dispute: Box<Dispute>,
    },
    Resolved {
        how: Settlement,
        to: Status,
    },
    /// Something caused a re-examination of the dispute.
    ExaminationOpened {
        trigger: Trigger,
        /// A description of the cause.
        detail: String,
    },
    Examined {
        outcome: ExaminationOutcome,
        reason: String,
    },
    #[serde(rename = "refused")]
    Denied {
        verb: String,
        because: Denial,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What the claim takes for granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// How sure the author is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ClaimId>,
}

/// A round after its evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// The objection's number within the claim.
    pub objection: u32,
    /// Objections that turned out to be the same one and are merged into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<u32>,
    /// The name that the reviewer gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The objection's text, if it differs from the one already stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wording: Option<Digest>,
    /// Who raised the objection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
    /// The author's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What differs from before.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// How the round affects the count.
    pub weight: Weight,
    /// Rounds on this objection without a change, including this one.
    pub count: u32,
    /// True if the objection is new and about what the last change touched.
    #[serde(rename = "fed", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_about_change: bool,
}

/// How a round affects the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing changed: the count increases by one.
    Counted,
    /// The claim changed: the counts of all objections restart.
    Changed,
    /// This round was already counted for this objection, or it changed the claim.
    Repeated,
    /// It reviewed the claim in an older generation (E12).
    Stale,
}

/// Why haltline denies an operation on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// The claim is DISPUTED.
    Frozen,
    /// The operation does not lead from one status to the other, or the claim is KILLED.
    Transition {
        from: Status,
        /// `None` = no status can be reached.
        to: Option<Status>,
    },
}

impl Fact {
    /// The fact's stable name in listings, and whether it is synced: decisions of people and facts that affect other
    /// claims are.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            Fact::Added(_) => unsynced("added"),
            Fact::Reviewed(reviewed) => match reviewed.weight {
                Weight::Counted => unsynced("round"),
                Weight::Changed => unsynced("round_with_change"),
                Weight::Repeated => unsynced("round_repeated"),
                Weight::Stale => unsynced("stale"),
            },
            Fact::Edited { .. } => unsynced("edited"),
            Fact::Moved { .. } => synced("moved"),
            Fact::Challenged { .. } => synced("challenged"),
            Fact::Queued { .. } => synced("queued"),
            Fact::Released { .. } => synced("released"),
            Fact::Disputed { .. } => synced("disputed"),
            Fact::WouldDispute { .. } => synced("would_dispute"),
            Fact::Resolved { .. } => synced("resolved"),
            Fact::ExaminationOpened { .. } => unsynced("examination_opened"),
            Fact::Examined { .. } => synced("examined"),
            Fact::Denied { .. } => unsynced("refused"),
        }
    }
}
