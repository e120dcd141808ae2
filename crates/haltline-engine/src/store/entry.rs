//! One line of the journal, and the chain that ties the lines together (E1).

use haltline_core::{CircuitName, Fact, Moment, Recorded, Texts, sha256};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Writing;

/// The end of a project's journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The number of the last fact; 0 where there is none.
    pub seq: u64,
    /// Its link.
    pub hash: [u8; 32],
}

impl Head {
    /// The first digits of the link, as printed at operator actions.
    pub fn short(&self) -> String {
        self.hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A fact as the journal keeps it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number in the project.
    pub seq: u64,
    /// The number of the fact before it of the same circuit; 0 where there is none.
    pub previous: u64,
    /// Whose fact.
    pub circuit: CircuitName,
    /// Everything but the texts, exactly as hashed.
    pub body: String,
    /// The texts; `None` once purged.
    pub texts: Option<String>,
    /// A digest of the texts, which outlives them.
    pub texts_digest: [u8; 32],
    /// This fact's link.
    pub hash: [u8; 32],
}

/// The body of an entry, as written.
#[derive(Serialize)]
struct BodyOut<'a> {
    at: Moment,
    cause: &'a str,
    policy: &'a str,
    fact: &'a Fact,
}

/// The body of an entry, as read: the fact of a newer haltline may be of a kind this one does not know.
#[derive(Deserialize)]
struct BodyIn<'a> {
    at: Moment,
    cause: String,
    policy: String,
    #[serde(borrow)]
    fact: &'a RawValue,
}

/// An entry's content, read.
#[derive(Clone, Debug)]
pub struct Link {
    /// When.
    pub at: Moment,
    /// Why.
    pub cause: String,
    /// Under which policy.
    pub policy: String,
    /// What; `None` where a newer haltline wrote it.
    pub fact: Option<Fact>,
}

impl Entry {
    /// Writes a fact down after `head`.
    pub(super) fn new(head: Head, previous: u64, recorded: &Recorded, writing: Writing<'_>) -> Self {
        let body = BodyOut { at: recorded.at, cause: writing.cause, policy: writing.policy, fact: &recorded.fact };
        let body = serde_json::to_string(&body).expect("facts hold nothing that JSON cannot");
        let texts = serde_json::to_string(&recorded.texts).expect("texts are strings");
        let texts_digest = sha256(&[texts.as_bytes()]);
        let seq = head.seq + 1;
        let hash = link(&head.hash, seq, previous, recorded.circuit.as_str(), &body, &texts_digest);
        let circuit = recorded.circuit.clone();
        Self { seq, previous, circuit, body, texts: Some(texts), texts_digest, hash }
    }

    /// The content, or what is wrong with it.
    pub fn read(&self) -> Result<Link, String> {
        let body: BodyIn<'_> = serde_json::from_str(&self.body).map_err(|error| error.to_string())?;
        let fact = serde_json::from_str(body.fact.get()).ok();
        Ok(Link { at: body.at, cause: body.cause, policy: body.policy, fact })
    }

    /// The texts; empty once purged.
    pub fn texts(&self) -> Texts {
        self.texts.as_deref().and_then(|texts| serde_json::from_str(texts).ok()).unwrap_or_default()
    }

    /// Whether the texts, if they are there, are the ones that were written.
    pub fn texts_fit(&self) -> bool {
        self.texts.as_ref().is_none_or(|texts| sha256(&[texts.as_bytes()]) == self.texts_digest)
    }
}

/// The link of a fact to everything before it.
pub fn link(
    before: &[u8; 32],
    seq: u64,
    previous: u64,
    circuit: &str,
    body: &str,
    texts_digest: &[u8; 32],
) -> [u8; 32] {
    sha256(&[before, &seq.to_be_bytes(), &previous.to_be_bytes(), circuit.as_bytes(), body.as_bytes(), texts_digest])
}
