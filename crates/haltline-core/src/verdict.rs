//! What the asker may do now, and why not.

use serde::Serialize;

use crate::{CircuitName, Instant};

/// The answer to "may I?" (SPEC 0). A pass is silence at the edge; it never means "allow" to a client (E7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Pass,
    /// Go on, but the agent is told.
    Warn(Reason),
    /// This action is refused.
    Deny(Reason),
    /// The agent's turn ends.
    Stop(Reason),
}

/// Why, with the evidence, in words for the asker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Which circuit speaks.
    pub circuit: CircuitName,
    /// A stable code with a page in the docs.
    pub code: &'static str,
    /// One sentence of fact.
    pub text: String,
    /// When trying again makes sense.
    pub retry: Retry,
}

/// When a refused asker may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Nothing was refused.
    Now,
    /// At this instant a trial begins by itself; a person may end the wait earlier.
    At(Instant),
    /// Only a person brings it back.
    Person,
}

impl Verdict {
    /// The word for it, everywhere.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn(_) => "warn",
            Verdict::Deny(_) => "deny",
            Verdict::Stop(_) => "stop",
        }
    }

    /// The reason, where there is one.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Verdict::Pass => None,
            Verdict::Warn(reason) | Verdict::Deny(reason) | Verdict::Stop(reason) => Some(reason),
        }
    }

    /// How much it holds the asker back: of two verdicts on one event the higher one is told.
    pub fn severity(&self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Warn(_) => 1,
            Verdict::Deny(_) => 2,
            Verdict::Stop(_) => 3,
        }
    }

    /// Whether the asker is held back.
    pub fn refuses(&self) -> bool {
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
    fn a_stop_holds_back_more_than_a_refusal_and_that_more_than_a_word() {
        let circuit = CircuitName::trust();
        let reason = Reason { circuit, code: "HL-REPEAT-01", text: String::new(), retry: Retry::Now };
        let rising =
            [Verdict::Pass, Verdict::Warn(reason.clone()), Verdict::Deny(reason.clone()), Verdict::Stop(reason)];
        assert_eq!(rising.map(|verdict| verdict.severity()), [0, 1, 2, 3]);
    }
}
