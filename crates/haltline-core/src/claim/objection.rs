//! Objections: which are the same, and how often each was raised without anything changing (D1).

use serde::{Deserialize, Serialize};

use super::Claim;
use crate::identity::Digest;
use crate::identity::wording;

/// An objection, as a round brings it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectionSaid {
    /// The name its reviewer gives it.
    pub id: Option<String>,
    /// Its words.
    pub text: Option<String>,
    /// A known objection that this one is in other words: a name, a number such as `O-2`, or its words.
    pub same_as: Option<String>,
}

/// An objection to a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// Its numbers within the claim; more than one where several turned out to be the same. The first is its own.
    pub numbers: Vec<u32>,
    /// The names reviewers gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// What tells its words from others, in every way it was put.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wordings: Vec<Digest>,
    /// Its words, verbatim, as they were put last.
    pub text: String,
    /// Who raised it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// Rounds on it since the claim last changed.
    #[serde(default)]
    pub count: u32,
    /// The names of those rounds, where they have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<String>,
    /// Rounds on it in all.
    #[serde(default)]
    pub rounds: u64,
}

impl Objection {
    /// How many names, wordings, reviewers or rounds are remembered of one objection.
    pub(super) const NAMES_MAX: usize = 256;

    /// Its own number.
    pub fn number(&self) -> u32 {
        self.numbers.first().copied().unwrap_or_default()
    }

    /// How people call it: `O-1`.
    pub fn label(&self) -> String {
        format!("O-{}", self.number())
    }
}

/// Which known objection is meant, by its reviewer's name for it, else by its words (D1). Where the name is a new one
/// the words still count: a reviewer that numbers its flaws anew in each report says the same thing.
pub(super) fn find(claim: &Claim, said: &ObjectionSaid) -> Option<u32> {
    let by_id = said.id.as_ref().and_then(|id| with_id(claim, id));
    by_id.or_else(|| said.text.as_ref().and_then(|text| with_words(claim, text)))
}

/// Which known objection a caller points at.
pub(super) fn pointed(claim: &Claim, at: &str) -> Option<u32> {
    with_id(claim, at).or_else(|| with_number(claim, at)).or_else(|| with_words(claim, at))
}

fn with_id(claim: &Claim, id: &str) -> Option<u32> {
    claim.objections.iter().find(|known| known.ids.iter().any(|name| name == id)).map(Objection::number)
}

fn with_number(claim: &Claim, text: &str) -> Option<u32> {
    let number: u32 = text.strip_prefix("O-")?.parse().ok()?;
    claim.objections.iter().find(|known| known.numbers.contains(&number)).map(Objection::number)
}

fn with_words(claim: &Claim, text: &str) -> Option<u32> {
    let words = wording(text);
    claim.objections.iter().find(|known| known.wordings.contains(&words)).map(Objection::number)
}
