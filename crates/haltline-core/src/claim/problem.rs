//! Why an event on claims is invalid: a mistake of the caller, after which nothing has changed (E8).

use std::fmt;

use super::{ClaimId, StageName, Status};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    NoClaim(ClaimId),
    /// A claim with this name already exists.
    Exists(ClaimId),
    /// It would depend on a claim that does not exist.
    NoBase(ClaimId),
    /// It would depend on itself.
    OwnBase(ClaimId),
    /// A required text is empty.
    Blank(&'static str),
    /// A text is above the limit.
    TooLong {
        /// Which text.
        what: &'static str,
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// A list is above its limit.
    TooMany {
        /// The items of the list.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// A round has no objection, or a new objection has no text.
    NoObjection,
    /// `same_as` refers to no known objection.
    NoSuchObjection,
    /// The edit equals what the claim has.
    NothingChanges(ClaimId),
    NotDisputed(ClaimId),
    /// The evidence was presented before.
    KnownEvidence,
    /// A dispute cannot end with this status.
    NotFinal(Status),
    /// The request has neither a trigger nor an outcome.
    NothingExamined,
    /// The request has an outcome, but nothing caused a re-examination.
    NoExamination(ClaimId),
    NoPipeline,
    /// A cycle has begun and not ended.
    CycleOpen(u64),
    NoCycle,
    /// The pipeline is already in this stage.
    InStage(StageName),
    StageClosed(StageName),
    /// The configured final stage is not a valid name of a stage.
    BadFinalStage,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoClaim(id) => {
                write!(formatter, "claim {id} does not exist; `haltline claim list` shows all claims")
            }
            Problem::Exists(id) => {
                write!(formatter, "claim {id} exists already; `haltline claim edit {id}` changes it")
            }
            Problem::NoBase(id) => write!(formatter, "depends on {id}: there is no such claim"),
            Problem::OwnBase(id) => write!(formatter, "depends on {id}: a claim cannot depend on itself"),
            Problem::Blank(what) => write!(formatter, "{what} is empty: expected a text"),
            Problem::TooLong { what, bytes, most } => {
                write!(
                    formatter,
                    "{what}: {bytes} bytes; expected at most {most}. haltline keeps a text whole or not at all"
                )
            }
            Problem::TooMany { what, most } => write!(formatter, "too many {what}: expected at most {most}"),
            Problem::NoObjection => {
                formatter.write_str("objection is missing: expected its text, or the id of a known objection")
            }
            Problem::NoSuchObjection => formatter.write_str(
                "same-as: expected an objection to this claim, by its id, its number such as O-1, or its text",
            ),
            Problem::NothingChanges(id) => write!(formatter, "claim {id}: the edit changes nothing"),
            Problem::NotDisputed(id) => write!(formatter, "claim {id} is not DISPUTED: there is nothing to resolve"),
            Problem::KnownEvidence => {
                formatter.write_str("evidence: somebody presented it before, so it is not new data")
            }
            Problem::NotFinal(status) => write!(
                formatter,
                "status {status}: expected a status with which a dispute can end: VERIFIED, CONFIRMED, ROBUST, REJECTED or KILLED"
            ),
            Problem::NothingExamined => formatter.write_str("expected a trigger, an outcome, or both"),
            Problem::NoExamination(id) => {
                write!(formatter, "claim {id}: say with --trigger why somebody examined its dispute again")
            }
            Problem::NoPipeline => formatter.write_str("this pipeline has no claims; `haltline claim add` adds one"),
            Problem::CycleOpen(number) => {
                write!(formatter, "cycle {number} has not ended; `haltline claim cycle end` ends it")
            }
            Problem::NoCycle => formatter.write_str("no cycle has begun; `haltline claim cycle begin` begins one"),
            Problem::InStage(stage) => write!(formatter, "stage {stage}: the pipeline is already in this stage"),
            Problem::StageClosed(stage) => write!(formatter, "stage {stage} is closed"),
            Problem::BadFinalStage => formatter.write_str("claim.final_stage: expected a stage's name such as S5"),
        }
    }
}
