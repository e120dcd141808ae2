//! The names of the states of a circuit in files, JSON and on screens.

use serde::{Deserialize, Serialize};

/// The name of a state in files and JSON. `HALF-OPEN` is accepted as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateName {
    /// Nothing is denied; the breaker counts.
    #[serde(rename = "CLOSED")]
    Closed,
    /// The circuit has tripped: actions are denied.
    #[serde(rename = "OPEN")]
    Open,
    /// What happens next closes or re-opens the circuit.
    #[serde(rename = "HALF_OPEN", alias = "HALF-OPEN")]
    HalfOpen,
    /// Ended for good. Only circuits of constraints end this way.
    #[serde(rename = "RETIRED")]
    Retired,
}

impl StateName {
    /// The name as JSON and most screens spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            StateName::Closed => "CLOSED",
            StateName::Open => "OPEN",
            StateName::HalfOpen => "HALF_OPEN",
            StateName::Retired => "RETIRED",
        }
    }

    /// The name as seed 003's screens and files spell it.
    pub fn dashed(self) -> &'static str {
        match self {
            StateName::HalfOpen => "HALF-OPEN",
            StateName::Closed | StateName::Open | StateName::Retired => self.as_str(),
        }
    }
}
