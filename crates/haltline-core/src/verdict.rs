//! haltline's answer to an action, with the reason.

use serde::Serialize;

use crate::{CircuitName, Instant};

/// The answer to "may I?" (SPEC 0). A pass produces no output for the client; it never means "allow" to a client (E7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// The action may run, and haltline warns the agent.
    Warn(Reason),
    /// The action is denied.
    Deny(Reason),
    /// The agent's turn ends.
    Stop(Reason),
}

/// Why haltline warned, denied or stopped, with the evidence, written for the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The circuit that caused the verdict.
    pub circuit: CircuitName,
    /// A stable code that has a page in the docs.
    pub code: &'static str,
    /// One sentence that states the facts.
    pub text: String,
    pub retry: Retry,
}

/// When the agent may try a denied action again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Nothing was denied.
    Now,
    /// At this instant the circuit becomes HALF_OPEN by itself; a person may end the wait earlier.
    At(Instant),
    /// Only a person can allow it again.
    Person,
}

impl Verdict {
    /// The stable text of the verdict.
    pub fn as_str(&self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn(_) => "warn",
            Verdict::Deny(_) => "deny",
            Verdict::Stop(_) => "stop",
        }
    }

    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Verdict::Pass => None,
            Verdict::Warn(reason) | Verdict::Deny(reason) | Verdict::Stop(reason) => Some(reason),
        }
    }

    /// How restrictive the verdict is: of two verdicts on one event, haltline gives the more severe one.
    pub fn severity(&self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Warn(_) => 1,
            Verdict::Deny(_) => 2,
            Verdict::Stop(_) => 3,
        }
    }

    /// The stricter of two verdicts on one event; `other` if they are equally strict.
    pub fn or_stricter(self, other: Verdict) -> Verdict {
        if self.severity() > other.severity() { self } else { other }
    }

    /// True for `Deny` and `Stop`.
    pub fn denies(&self) -> bool {
        match self {
            Verdict::Pass | Verdict::Warn(_) => false,
            Verdict::Deny(_) | Verdict::Stop(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_rises_from_pass_to_warn_to_deny_to_stop() {
        let circuit = CircuitName::trust();
        let reason = Reason { circuit, code: "HL-REPEAT-01", text: String::new(), retry: Retry::Now };
        let rising =
            [Verdict::Pass, Verdict::Warn(reason.clone()), Verdict::Deny(reason.clone()), Verdict::Stop(reason)];
        assert_eq!(rising.map(|verdict| verdict.severity()), [0, 1, 2, 3]);
    }
}
