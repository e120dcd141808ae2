//! The names of phases, and which rule of progress each name stands for (P1, P2, P4).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shorten;

/// A phase of work, in capitals: `GREEN`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseName(String);

/// The text cannot name a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseNameError {
    shown: String,
}

/// What counts as progress, and how much patience there is, in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tests are written.
    Red,
    /// Tests are made to pass.
    Green,
    /// Code is put in order.
    Refactor,
    /// Documents are written.
    Document,
    /// The work is reviewed.
    Qa,
    /// Iterations of a command, seen from outside.
    Loop,
    /// A phase nobody told haltline about.
    Other,
}

impl PhaseName {
    /// How long a name may be, in bytes.
    pub const BYTES_MAX: usize = 64;
    /// What iterations of `haltline run --loop` are called.
    pub const LOOP: &'static str = "LOOP";
    /// What loops of Ralph are called.
    pub const RALPH: &'static str = "RALPH";

    /// Takes a text as a name: letters, digits, `.`, `_` and `-`, beginning with a letter; case does not matter.
    pub fn parse(text: &str) -> Result<Self, PhaseNameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = text.len() <= Self::BYTES_MAX
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
            && text.bytes().all(allowed);
        if fits { Ok(Self(text.to_ascii_uppercase())) } else { Err(PhaseNameError { shown: shorten(text) }) }
    }

    /// One of haltline's own names.
    pub fn known(name: &'static str) -> Self {
        Self(name.to_owned())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Which rule of progress it stands for.
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

    /// The phase that follows when this one is skipped; after the last one the run is over (P6).
    pub fn next(&self) -> Option<Self> {
        match self.kind() {
            Kind::Red => Some(Self::known("GREEN")),
            Kind::Green => Some(Self::known("REFACTOR")),
            Kind::Refactor => Some(Self::known("DOCUMENT")),
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
            "phase {shown}: expected a name such as RED, GREEN, REFACTOR, DOCUMENT, QA or one of your own: letters, digits, `.`, `_`, `-`"
        )
    }
}

impl std::error::Error for PhaseNameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_capitals_and_fit_on_a_line() {
        assert_eq!(PhaseName::parse("green").expect("a name").as_str(), "GREEN");
        assert_eq!(PhaseName::parse("spike-2").expect("a name").kind(), Kind::Other);
        for wrong in ["", "2nd", "a b", "é", "a\n", &"x".repeat(65)] {
            assert!(PhaseName::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn skipping_leads_through_the_seeds_four_phases_and_out() {
        let mut phase = Some(PhaseName::known("RED"));
        let mut seen = Vec::new();
        while let Some(name) = phase {
            phase = name.next();
            seen.push(name.as_str().to_owned());
        }
        assert_eq!(seen, ["RED", "GREEN", "REFACTOR", "DOCUMENT"]);
    }
}
