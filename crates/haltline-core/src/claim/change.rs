//! The four changes of a claim that count (D1). A value equal to the one before is not a change.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Claim;
use crate::identity::is_same_wording;
use crate::shorten;

/// A confidence from 0 to 1, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confidence(u32);

/// The text is not a valid confidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfidenceError {
    shown: String,
}

impl fmt::Display for ConfidenceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "confidence {}: expected a number from 0 to 1, such as 0.8", self.shown)
    }
}

impl Confidence {
    /// Parses a number from 0 to 1 and rounds it to six digits.
    pub fn parse(text: &str) -> Result<Self, ConfidenceError> {
        let number: Option<f64> = text.trim().parse().ok();
        match number.filter(|number| (0.0..=1.0).contains(number)) {
            Some(number) => Ok(Self((number * 1e6).round() as u32)),
            None => Err(ConfidenceError { shown: shorten(text) }),
        }
    }

    /// The confidence as a number from 0 to 1.
    pub fn number(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.number())
    }
}

/// Changes that a round or an edit states, or those that took effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Evidence that was not presented before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_evidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    NewEvidence,
    TestRun,
    Confidence,
    ClaimText,
}

impl Change {
    pub fn as_str(self) -> &'static str {
        match self {
            Change::NewEvidence => "new_evidence",
            Change::TestRun => "test_run",
            Change::Confidence => "confidence",
            Change::ClaimText => "claim_text",
        }
    }
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.kinds().is_empty()
    }

    pub fn kinds(&self) -> Vec<Change> {
        let Self { new_evidence, test_run, confidence, claim_text } = self;
        let mut kinds = Vec::new();
        kinds.extend(new_evidence.as_ref().map(|_text| Change::NewEvidence));
        kinds.extend(test_run.as_ref().map(|_text| Change::TestRun));
        kinds.extend(confidence.map(|_number| Change::Confidence));
        kinds.extend(claim_text.as_ref().map(|_text| Change::ClaimText));
        kinds
    }

    /// Keeps the changes that differ from what the claim has; the others do not count (D1).
    pub fn differing_from(&self, claim: &Claim) -> Changes {
        let is_new = |known: &[String], text: &String| !known.iter().any(|known| is_same_wording(known, text));
        Changes {
            new_evidence: self.new_evidence.clone().filter(|text| is_new(&claim.evidence, text)),
            test_run: self.test_run.clone().filter(|text| is_new(&claim.tests, text)),
            confidence: self.confidence.filter(|number| claim.confidence != Some(*number)),
            claim_text: self.claim_text.clone().filter(|text| !is_same_wording(&claim.text, text)),
        }
    }
}
