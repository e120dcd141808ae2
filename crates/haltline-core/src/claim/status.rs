//! Statuses of the ledger that seed 004 comes from, and the transitions between them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a claim. DISPUTED is not a status but a [`super::ClaimState`]: only rounds lead to it, and only a
/// resolution ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Not reviewed yet.
    Unverified,
    /// It holds so far.
    Verified,
    Challenged,
    /// It was reviewed and does not hold.
    Rejected,
    /// It held again.
    Confirmed,
    /// The method produced the observation.
    Artifact,
    /// Something else explains it.
    Confounded,
    /// It holds from every angle.
    Robust,
    /// It was given up, for good.
    Killed,
}

/// A claim's status, or DISPUTED, as listings show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedStatus {
    Free(Status),
    /// Frozen.
    Disputed,
}

impl Status {
    /// All statuses, in the ledger's order.
    pub const ALL: [Status; 9] = [
        Status::Unverified,
        Status::Verified,
        Status::Challenged,
        Status::Rejected,
        Status::Confirmed,
        Status::Artifact,
        Status::Confounded,
        Status::Robust,
        Status::Killed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Unverified => "UNVERIFIED",
            Status::Verified => "VERIFIED",
            Status::Challenged => "CHALLENGED",
            Status::Rejected => "REJECTED",
            Status::Confirmed => "CONFIRMED",
            Status::Artifact => "ARTIFACT",
            Status::Confounded => "CONFOUNDED",
            Status::Robust => "ROBUST",
            Status::Killed => "KILLED",
        }
    }

    /// Finds a status by its name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Status::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(name))
    }

    /// How far a claim has risen; `None` for a fallen one.
    fn rank(self) -> Option<u8> {
        match self {
            Status::Unverified | Status::Challenged => Some(0),
            Status::Verified => Some(1),
            Status::Confirmed => Some(2),
            Status::Robust => Some(3),
            Status::Rejected | Status::Artifact | Status::Confounded | Status::Killed => None,
        }
    }

    /// True if the claim has fallen: the claims that depend on it are in doubt.
    pub fn is_fallen(self) -> bool {
        self.rank().is_none()
    }

    /// True if `promote` leads from here to there: upwards, and never from a fallen status.
    pub fn rises_to(self, to: Status) -> bool {
        match (self.rank(), to.rank()) {
            (Some(from), Some(to)) => to > from,
            (None, _) | (_, None) => false,
        }
    }

    /// True if `edit --status` leads from here to there: neither a promotion nor a kill, and not from KILLED.
    pub fn turns_to(self, to: Status) -> bool {
        self != to && self != Status::Killed && to != Status::Killed && matches!(to.rank(), None | Some(0))
    }

    /// True if a person can end a dispute with it (the ledger's five final statuses).
    pub fn is_final(self) -> bool {
        match self {
            Status::Verified | Status::Confirmed | Status::Robust | Status::Rejected | Status::Killed => true,
            Status::Unverified | Status::Challenged | Status::Artifact | Status::Confounded => false,
        }
    }
}

impl ListedStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            ListedStatus::Free(status) => status.as_str(),
            ListedStatus::Disputed => "DISPUTED",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for ListedStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
