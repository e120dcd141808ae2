//! A circuit as described by a state file that another program wrote (C6).

use super::{Limits, StateName};
use crate::{Instant, digest_hex};

/// One constraint's entry in a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignCircuit {
    pub state: StateName,
    /// The violations, in any order. For a circuit haltline already knows: only those that are not in the journal.
    pub violations: Vec<ForeignViolation>,
    pub last_trip: Option<Instant>,
    pub last_reset: Option<Instant>,
    /// The limits under which the circuit was kept, if they can be read.
    pub limits: Option<Limits>,
}

/// One violation of a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignViolation {
    /// The time, in whole seconds.
    pub at: Instant,
    pub action: String,
    pub session: String,
}

/// Identifies a violation in a state file by its second, action and session.
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
