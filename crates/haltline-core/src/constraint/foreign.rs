//! A circuit as a state file tells of it (C6).

use super::{Condition, Limits};
use crate::{Instant, digest_hex};

/// One constraint's entry of a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The state it claims.
    pub state: Condition,
    /// Its violations, in any order. For a circuit that is known already: only those the journal does not have.
    pub violations: Vec<ForeignViolation>,
    /// Its last trip.
    pub last_trip: Option<Instant>,
    /// Its last reset.
    pub last_reset: Option<Instant>,
    /// The limits it was kept under, where they can be read.
    pub limits: Option<Limits>,
}

/// One violation of a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignViolation {
    /// When, in whole seconds.
    pub at: Instant,
    /// What was done.
    pub action: String,
    /// In which session.
    pub session: String,
}

/// What tells one violation from another in a state file: its second, action and session.
pub fn fingerprint(at: Instant, action: &str, session: &str) -> String {
    let second = at.whole_second().as_millis().to_be_bytes();
    digest_hex(&[&second, action.as_bytes(), session.as_bytes()], 8)
}

impl ForeignViolation {
    /// See [`fingerprint`].
    pub fn fingerprint(&self) -> String {
        fingerprint(self.at, &self.action, &self.session)
    }
}
