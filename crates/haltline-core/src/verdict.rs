//! haltline's answer to an action, with the reason.

use serde::Serialize;

use crate::loop_::FOR_PERSON;
use crate::{CircuitName, Instant};

/// The answer to "may I?" (SPEC 0). A pass produces no output for the client; it never means "allow" to a client (E7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// The action may run, and haltline warns the agent.
    Warn(Reason),
    Deny(Reason),
    /// The agent's turn ends.
    Stop(Reason),
}

/// Why haltline warned, denied or stopped, with the evidence, written for the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub circuit: CircuitName,
    /// A stable code that has a page in the docs.
    pub code: &'static str,
    /// One sentence that states the facts.
    pub text: String,
    pub retry: Retry,
}

impl Reason {
    /// What the person reads when haltline ends a turn: the line that is written for them, or else the first line.
    pub fn for_person(&self) -> String {
        match self.text.lines().find_map(|line| line.strip_prefix(FOR_PERSON)) {
            Some(own) => format!("haltline: {own}"),
            None => self.text.lines().next().unwrap_or_default().to_owned(),
        }
    }
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
