//! Statuses of the origin's ledger, and the ways between them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a claim can be while nobody disputes it. DISPUTED is no status but a [`super::Standing`]: only rounds lead
/// there, and only a resolution leads out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Nobody has looked yet.
    Unverified,
    /// It holds so far.
    Verified,
    /// It is in doubt.
    Challenged,
    /// It was reviewed and does not hold.
    Rejected,
    /// It held again.
    Confirmed,
    /// What was seen came from the method.
    Artifact,
    /// Something else explains it.
    Confounded,
    /// It holds however it is looked at.
    Robust,
    /// It was given up, for good.
    Killed,
}

/// A status, or DISPUTED: what listings say of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// This status.
    Free(Status),
    /// Frozen.
    Disputed,
}

impl Status {
    /// All of them, in the origin's order.
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

    /// The word for it.
    pub fn word(self) -> &'static str {
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

    /// A status by its word, in any case.
    pub fn named(word: &str) -> Option<Self> {
        Status::ALL.into_iter().find(|status| status.word().eq_ignore_ascii_case(word))
    }

    /// How far a claim has risen; `None` for one that has fallen.
    fn rank(self) -> Option<u8> {
        match self {
            Status::Unverified | Status::Challenged => Some(0),
            Status::Verified => Some(1),
            Status::Confirmed => Some(2),
            Status::Robust => Some(3),
            Status::Rejected | Status::Artifact | Status::Confounded | Status::Killed => None,
        }
    }

    /// Whether it has fallen: what stands on it is in doubt.
    pub fn is_fallen(self) -> bool {
        self.rank().is_none()
    }

    /// Whether `promote` leads from here to there: upwards, and never for one that has fallen.
    pub fn rises_to(self, to: Status) -> bool {
        match (self.rank(), to.rank()) {
            (Some(from), Some(to)) => to > from,
            (None, _) | (_, None) => false,
        }
    }

    /// Whether `edit --status` leads from here to there: anything that is no promotion, no kill, and not from KILLED.
    pub fn turns_to(self, to: Status) -> bool {
        self != to && self != Status::Killed && to != Status::Killed && matches!(to.rank(), None | Some(0))
    }

    /// Whether a person can end a dispute with it (the origin's five final statuses).
    pub fn is_final(self) -> bool {
        match self {
            Status::Verified | Status::Confirmed | Status::Robust | Status::Rejected | Status::Killed => true,
            Status::Unverified | Status::Challenged | Status::Artifact | Status::Confounded => false,
        }
    }
}

impl Word {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Word::Free(status) => status.word(),
            Word::Disputed => "DISPUTED",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl fmt::Display for Word {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_killed_and_only_promotion_leads_up() {
        for to in Status::ALL {
            assert!(!Status::Killed.rises_to(to) && !Status::Killed.turns_to(to), "{to}");
        }
        for from in Status::ALL {
            for to in Status::ALL {
                assert!(!(from.rises_to(to) && from.turns_to(to)), "{from} to {to} has two ways");
            }
        }
        assert!(Status::Unverified.rises_to(Status::Robust) && !Status::Rejected.rises_to(Status::Verified));
        assert!(Status::Rejected.turns_to(Status::Challenged) && !Status::Challenged.turns_to(Status::Verified));
    }

    #[test]
    fn a_status_is_written_as_the_origin_writes_it() {
        for status in Status::ALL {
            assert_eq!(serde_json::to_string(&status).expect("written"), format!("\"{}\"", status.word()));
            assert_eq!(Status::named(&status.word().to_lowercase()), Some(status));
        }
        assert_eq!(Status::named("DISPUTED"), None);
    }
}
