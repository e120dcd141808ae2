//! Names of phases, and the rule of progress that each name selects (P1, P2, P4).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shorten;

/// A phase of work, in capitals: `GREEN`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseName(String);

/// The text is not a valid name of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseNameError {
    shown: String,
}

/// Selects what counts as progress in a phase, and its thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tests are written.
    Red,
    /// Tests are made to pass.
    Green,
    /// Code is restructured.
    Refactor,
    /// Documents are written.
    Document,
    /// The work is reviewed.
    Qa,
    /// Iterations of a command, observed from outside.
    Loop,
    /// A phase that haltline does not know by name.
    Other,
}

impl PhaseName {
    pub const BYTES_MAX: usize = 64;
    /// The phase of all iterations of `haltline run --loop`.
    pub const LOOP: &'static str = "LOOP";
    /// The phase of all loops of Ralph.
    pub const RALPH: &'static str = "RALPH";

    /// Parses a name: letters, digits, `.`, `_` and `-`, beginning with a letter; case does not matter.
    pub fn parse(text: &str) -> Result<Self, PhaseNameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = text.len() <= Self::BYTES_MAX
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
            && text.bytes().all(allowed);
        if fits { Ok(Self(text.to_ascii_uppercase())) } else { Err(PhaseNameError { shown: shorten(text) }) }
    }

    /// A name that is written in haltline's own code; it is not checked.
    pub fn from_static(name: &'static str) -> Self {
        Self(name.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn kind(&self) -> Kind {
        match self.as_str() {
            "RED" => Kind::Red,
            "GREEN" => Kind::Green,
            "REFACTOR" => Kind::Refactor,
            "DOCUMENT" => Kind::Document,
            "QA" => Kind::Qa,
            Self::LOOP | Self::RALPH => Kind::Loop,
            _unknown => Kind::Other,
        }
    }

    /// The phase that follows when a person skips this one; `None` after the last, when the run is over (P6).
    pub fn next(&self) -> Option<Self> {
        match self.kind() {
            Kind::Red => Some(Self::from_static("GREEN")),
            Kind::Green => Some(Self::from_static("REFACTOR")),
            Kind::Refactor => Some(Self::from_static("DOCUMENT")),
            Kind::Document | Kind::Qa | Kind::Loop | Kind::Other => None,
        }
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.escape_debug())
    }
}

impl fmt::Display for PhaseNameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown } = self;
        write!(
            formatter,
            "phase {shown}: expected a name such as RED, GREEN, REFACTOR, DOCUMENT, QA or another one: letters, digits, `.`, `_`, `-`"
        )
    }
}

impl std::error::Error for PhaseNameError {}
