//! The claim family: review rounds on claims, counted until a disagreement leads nowhere (seed 004; D1–D5).
//!
//! A *pipeline* is a list of claims that goes through stages. A round is one objection to one claim and the answer to
//! it. Three rounds on the same objection that change nothing make the claim DISPUTED: it alone is frozen, word for
//! word, until it is resolved, and the pipeline's final stage does not close before that. Texts are kept as they came.

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
pub use decide::{Question, decide};
pub use dispute::{Dispute, Examined, OpenExamination, Outcome, Queued, Settled, Settlement, Trigger};
pub use limits::Limits;
pub use name::{ClaimId, NameError, PipelineName, StageName};
pub use objection::{Objection, ObjectionSaid};
pub use pipeline::{ClosedStage, Cycle, EnteredStage, Entry, Note, NoteKind, Pipeline, PipelineTotals};
pub use pipeline_fact::{PipelineFact, apply_pipeline};
pub use problem::Problem;
pub use record::{Claim, HistoryLine, Standing, Totals};
pub use status::{Status, Word};

use serde::{Deserialize, Serialize};

use crate::Operator;
use crate::identity::Digest;

/// What can happen to claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A claim is made.
    Add(Box<NewClaim>),
    /// A review round closed (D1).
    Round(Box<Round>),
    /// A claim is changed outside a round.
    Edit(Box<Edit>),
    /// A claim rises.
    Promote {
        /// Which.
        claim: ClaimId,
        /// To what.
        to: Status,
        /// Why.
        reason: Option<String>,
    },
    /// A claim is given up.
    Kill {
        /// Which.
        claim: ClaimId,
        /// Why.
        reason: String,
    },
    /// A dispute ends (D3).
    Resolve {
        /// Which claim's.
        claim: ClaimId,
        /// How.
        how: Resolution,
    },
    /// A dispute is looked at again (D4).
    Reexamine {
        /// Which claim's.
        claim: ClaimId,
        /// What brought it up, where something new did.
        trigger: Option<(Trigger, String)>,
        /// What came of it, with its reason.
        outcome: Option<(Outcome, String)>,
    },
    /// A cycle begins.
    CycleBegin,
    /// The cycle ends.
    CycleEnd,
    /// The pipeline enters a stage.
    AdvanceStage {
        /// Which.
        stage: StageName,
    },
    /// A stage is closed.
    CloseStage {
        /// Which.
        stage: StageName,
    },
}

/// A claim, as it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewClaim {
    /// Its name; the next number without one.
    pub id: Option<ClaimId>,
    /// What it says.
    pub text: String,
    /// What kind of claim it is.
    pub kind: Option<String>,
    /// What speaks for it.
    pub evidence: Vec<String>,
    /// What it takes for granted.
    pub assumptions: Vec<String>,
    /// How sure its author is.
    pub confidence: Option<Confidence>,
    /// Claims it stands on.
    pub depends_on: Vec<ClaimId>,
}

/// A review round, as it closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The claim.
    pub claim: ClaimId,
    /// The objection.
    pub objection: ObjectionSaid,
    /// Who raised it.
    pub reviewer: Option<String>,
    /// What was answered.
    pub answer: Option<String>,
    /// What changed with the claim.
    pub changes: Changes,
    /// The round's name: several reviewers in one round, or a report that is sent again, count once.
    pub round: Option<String>,
    /// The generation of the claim that was reviewed (E12).
    pub generation: Option<u64>,
}

/// A change outside a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The claim.
    pub claim: ClaimId,
    /// What changes.
    pub changes: Changes,
    /// Its status, where that is no promotion and no kill.
    pub status: Option<Status>,
    /// Claims it stands on from now on, as well.
    pub depends_on: Vec<ClaimId>,
    /// Why.
    pub reason: Option<String>,
}

/// The three ways out of a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Evidence or a tool is there that was not.
    NewData {
        /// What.
        evidence: String,
    },
    /// The claim is withdrawn.
    Drop {
        /// Why.
        rationale: String,
    },
    /// A person decides.
    Override {
        /// What becomes of the claim.
        to: Status,
        /// Why.
        rationale: String,
        /// Who.
        operator: Operator,
    },
}

impl Happening {
    /// The word the journal keeps, which is the verb's name.
    pub fn cause(&self) -> &'static str {
        match self {
            Happening::Add(_) => "add",
            Happening::Round(_) => "round",
            Happening::Edit(_) => "edit",
            Happening::Promote { .. } => "promote",
            Happening::Kill { .. } => "kill",
            Happening::Resolve { how: Resolution::NewData { .. }, .. } => "new_data",
            Happening::Resolve { how: Resolution::Drop { .. }, .. } => "drop",
            Happening::Resolve { how: Resolution::Override { .. }, .. } => "override",
            Happening::Reexamine { .. } => "reexamine",
            Happening::CycleBegin => "cycle_begin",
            Happening::CycleEnd => "cycle_end",
            Happening::AdvanceStage { .. } => "advance_stage",
            Happening::CloseStage { .. } => "close_stage",
        }
    }
}

/// What became true of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// It was made.
    Added(Box<Added>),
    /// A round on it closed.
    Reviewed(Box<Reviewed>),
    /// It was changed outside a round.
    Edited {
        /// What differs from before.
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
        /// The same text in another spelling, which is no change of the claim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        respelled: Option<String>,
        /// Claims it stands on from now on, as well.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        depends_on: Vec<ClaimId>,
    },
    /// Its status changed.
    Moved {
        /// To what.
        to: Status,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A claim it stands on fell, so it is CHALLENGED.
    Challenged {
        /// Which.
        base: ClaimId,
        /// What became of that one.
        fell: Status,
    },
    /// A claim it stands on fell while it was DISPUTED: that waits.
    Queued {
        /// Which.
        base: ClaimId,
        /// What became of that one.
        fell: Status,
    },
    /// What waited came to its turn.
    Released {
        /// Which claim fell.
        base: ClaimId,
        /// What became of that one.
        fell: Status,
        /// The claim is CHALLENGED by it; else it has fallen itself, which says more.
        applied: bool,
    },
    /// It became DISPUTED.
    Disputed {
        /// Everything about that.
        dispute: Box<Dispute>,
    },
    /// It would have become DISPUTED; nobody is stopped in observe mode (E15).
    WouldDispute {
        /// Everything about that.
        dispute: Box<Dispute>,
    },
    /// A dispute ended.
    Resolved {
        /// How.
        how: Settlement,
        /// What became of the claim.
        to: Status,
    },
    /// Something brought the dispute up again.
    ExaminationOpened {
        /// What.
        trigger: Trigger,
        /// In words.
        detail: String,
    },
    /// It was looked at again.
    Examined {
        /// What came of it.
        outcome: Outcome,
        /// Why.
        reason: String,
    },
    /// Somebody tried what is not allowed.
    Refused {
        /// What.
        verb: String,
        /// Why not.
        because: Refusal,
    },
}

/// A claim that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// What it says.
    pub text: String,
    /// What kind of claim it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What speaks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What it takes for granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// How sure its author is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Claims it stands on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ClaimId>,
}

/// A round, as it was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// The objection's number within the claim.
    pub objection: u32,
    /// Objections that turned out to be the same one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<u32>,
    /// The name its reviewer gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its words, where they are not the ones already known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What tells its words from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wording: Option<Digest>,
    /// Who raised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The round's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
    /// What was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What differs from before.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// What it means for the count.
    pub weight: Weight,
    /// Rounds on this objection without a change, this one with them.
    pub count: u32,
}

/// What a round means for the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing changed: one more.
    Counted,
    /// The claim changed: every objection counts anew.
    Changed,
    /// This round was counted for this objection before, or brought a change.
    Repeated,
    /// It reviewed the claim as it was before its state last changed (E12).
    Stale,
}

/// Why something is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The claim is DISPUTED.
    Frozen,
    /// There is no way from one status to the other, or none from KILLED.
    Transition {
        /// From.
        from: Status,
        /// To; `None` = anything.
        to: Option<Status>,
    },
}

impl Fact {
    /// What people decide, and what others must hear of, survives a power cut.
    pub fn is_momentous(&self) -> bool {
        match self {
            Fact::Disputed { .. }
            | Fact::WouldDispute { .. }
            | Fact::Resolved { .. }
            | Fact::Released { .. }
            | Fact::Queued { .. }
            | Fact::Moved { .. }
            | Fact::Challenged { .. }
            | Fact::Examined { .. } => true,
            Fact::Added(_)
            | Fact::Reviewed(_)
            | Fact::Edited { .. }
            | Fact::ExaminationOpened { .. }
            | Fact::Refused { .. } => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            Fact::Added(_) => "added",
            Fact::Reviewed(reviewed) => match reviewed.weight {
                Weight::Counted => "round",
                Weight::Changed => "round_with_change",
                Weight::Repeated => "round_repeated",
                Weight::Stale => "stale",
            },
            Fact::Edited { .. } => "edited",
            Fact::Moved { .. } => "moved",
            Fact::Challenged { .. } => "challenged",
            Fact::Queued { .. } => "queued",
            Fact::Released { .. } => "released",
            Fact::Disputed { .. } => "disputed",
            Fact::WouldDispute { .. } => "would_dispute",
            Fact::Resolved { .. } => "resolved",
            Fact::ExaminationOpened { .. } => "examination_opened",
            Fact::Examined { .. } => "examined",
            Fact::Refused { .. } => "refused",
        }
    }
}
