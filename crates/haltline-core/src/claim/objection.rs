//! Objections: which are the same, and how often each was raised without a change of the claim (D1).

use serde::{Deserialize, Serialize};

use super::Claim;
use crate::identity::Digest;
use crate::identity::wording_digest;

/// An objection as a round states it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectionText {
    /// The name that the reviewer gives it.
    pub id: Option<String>,
    pub text: Option<String>,
    /// A known objection that this one repeats in other words: its name, its number such as `O-2`, or its text.
    pub same_as: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// Its numbers within the claim; more than one if several objections were merged. The first is its own.
    pub numbers: Vec<u32>,
    /// The names that reviewers gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Digests of every wording it was raised in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wordings: Vec<Digest>,
    /// The text of the latest wording, verbatim.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// Rounds on it since the claim last changed.
    #[serde(default)]
    pub count: u32,
    /// The names of those rounds, if they have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<String>,
    /// All rounds on it.
    #[serde(default)]
    pub rounds: u64,
}

impl Objection {
    /// Limit on the names, wordings, reviewers and rounds that are kept of one objection, each.
    pub(super) const NAMES_MAX: usize = 256;

    pub fn number(&self) -> u32 {
        self.numbers.first().copied().unwrap_or_default()
    }

    /// Its label for people: `O-1`.
    pub fn label(&self) -> String {
        format!("O-{}", self.number())
    }
}

/// Finds the known objection by the reviewer's name for it, else by its wording (D1). If the name is new the wording
/// still counts: a reviewer that renumbers its objections in each report raises the same ones.
pub(super) fn find(claim: &Claim, stated: &ObjectionText) -> Option<u32> {
    let by_id = stated.id.as_ref().and_then(|id| with_id(claim, id));
    by_id.or_else(|| stated.text.as_ref().and_then(|text| with_wording(claim, text)))
}

/// Finds the known objection that `same_as` refers to.
pub(super) fn find_reference(claim: &Claim, at: &str) -> Option<u32> {
    with_id(claim, at).or_else(|| with_number(claim, at)).or_else(|| with_wording(claim, at))
}

fn with_id(claim: &Claim, id: &str) -> Option<u32> {
    claim.objections.iter().find(|known| known.ids.iter().any(|name| name == id)).map(Objection::number)
}

fn with_number(claim: &Claim, text: &str) -> Option<u32> {
    let number: u32 = text.strip_prefix("O-")?.parse().ok()?;
    claim.objections.iter().find(|known| known.numbers.contains(&number)).map(Objection::number)
}

fn with_wording(claim: &Claim, text: &str) -> Option<u32> {
    let digest = wording_digest(text);
    claim.objections.iter().find(|known| known.wordings.contains(&digest)).map(Objection::number)
}
