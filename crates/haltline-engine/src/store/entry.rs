//! One entry of the journal, and the hash chain that links the entries (E1).

use haltline_core::{CircuitName, Fact, Moment, Recorded, Texts, sha256};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Provenance;

/// The end of a project's journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Sequence number of the last fact; 0 if there is none.
    pub seq: u64,
    /// Chain hash of the last fact.
    pub hash: [u8; 32],
}

impl Head {
    /// The first digits of the hash, as printed after operator actions.
    pub fn short_hash(&self) -> String {
        self.hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A fact as the journal keeps it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Sequence number within the project.
    pub seq: u64,
    /// Sequence number of the previous fact of the same row; 0 if there is none.
    pub previous: u64,
    pub circuit: CircuitName,
    /// Everything but the texts, exactly as hashed.
    pub body: String,
    /// The texts; `None` once purged.
    pub texts: Option<String>,
    /// A digest of the texts, which remains after they are purged.
    pub texts_digest: [u8; 32],
    /// Chain hash of this fact: it covers all facts before it.
    pub hash: [u8; 32],
}

/// The body of an entry, as written.
#[derive(Serialize)]
struct WrittenBody<'a> {
    at: Moment,
    cause: &'a str,
    policy: &'a str,
    fact: &'a Fact,
}

/// The body of an entry, as read: a newer haltline may have written a kind of fact that this one does not know.
#[derive(Deserialize)]
struct StoredBody<'a> {
    at: Moment,
    cause: String,
    policy: String,
    #[serde(borrow)]
    fact: &'a RawValue,
}

/// The parsed body of an entry.
#[derive(Clone, Debug)]
pub struct EntryContent {
    pub at: Moment,
    /// Name of the event that caused the fact.
    pub cause: String,
    /// Digest of the policy in force.
    pub policy: String,
    /// `None` if a newer haltline wrote a kind of fact that this one does not know.
    pub fact: Option<Fact>,
}

impl Entry {
    /// Makes the entry that follows `head`.
    pub(super) fn new(head: Head, previous: u64, recorded: &Recorded, provenance: Provenance<'_>) -> Self {
        let body =
            WrittenBody { at: recorded.at, cause: provenance.cause, policy: provenance.policy, fact: &recorded.fact };
        let body = serde_json::to_string(&body).expect("facts hold nothing that JSON cannot");
        let texts = serde_json::to_string(&recorded.texts).expect("texts are strings");
        let texts_digest = sha256(&[texts.as_bytes()]);
        let seq = head.seq + 1;
        let hash = chain_hash(&head.hash, seq, previous, recorded.circuit.as_str(), &body, &texts_digest);
        let circuit = recorded.circuit.clone();
        Self { seq, previous, circuit, body, texts: Some(texts), texts_digest, hash }
    }

    /// Parses the body, or says what is wrong with it.
    pub fn read(&self) -> Result<EntryContent, String> {
        let body: StoredBody<'_> = serde_json::from_str(&self.body).map_err(|error| error.to_string())?;
        let fact = serde_json::from_str(body.fact.get()).ok();
        Ok(EntryContent { at: body.at, cause: body.cause, policy: body.policy, fact })
    }

    /// The texts; empty once purged.
    pub fn texts(&self) -> Texts {
        self.texts.as_deref().and_then(|texts| serde_json::from_str(texts).ok()).unwrap_or_default()
    }

    /// True if the texts are purged or still match their digest.
    pub fn has_intact_texts(&self) -> bool {
        self.texts.as_ref().is_none_or(|texts| sha256(&[texts.as_bytes()]) == self.texts_digest)
    }
}

/// The hash that links a fact to everything before it.
pub fn chain_hash(
    before: &[u8; 32],
    seq: u64,
    previous: u64,
    circuit: &str,
    body: &str,
    texts_digest: &[u8; 32],
) -> [u8; 32] {
    sha256(&[before, &seq.to_be_bytes(), &previous.to_be_bytes(), circuit.as_bytes(), body.as_bytes(), texts_digest])
}
