//! What people declared a false positive: in this project the calls that it was about never trip the loop breaker
//! again (X4). People can list and revoke these exemptions.

use serde::{Deserialize, Serialize};

use super::Pattern;
use crate::circuit::keep_newest;
use crate::fact::{FactKind, synced};
use crate::identity::Digest;
use crate::{Instant, Moment};

/// How many exemptions a project keeps; the oldest is dropped first.
const EXEMPTIONS_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exemption {
    pub pattern: Pattern,
    /// What the circuit was about.
    pub key: Digest,
    /// The identities of the calls that no pattern counts any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Digest>,
    /// The incident that a person declared a false positive.
    pub incident: String,
    /// The person who declared it.
    pub who: String,
    pub at: Instant,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exemptions {
    /// Oldest first.
    #[serde(rename = "exemptions")]
    pub entries: Vec<Exemption>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExemptionFact {
    Exempted {
        exemption: Exemption,
    },
    Revoked {
        /// The incident that had been declared a false positive.
        incident: String,
        /// The person who revoked the exemption.
        who: String,
    },
}

impl ExemptionFact {
    /// The fact's stable name in listings, and whether it is synced.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            ExemptionFact::Exempted { .. } => synced("exempted"),
            ExemptionFact::Revoked { .. } => synced("exemption_revoked"),
        }
    }
}

impl Exemptions {
    /// True if `key` never trips `pattern`.
    pub fn covers(&self, pattern: Pattern, key: Digest) -> bool {
        self.entries.iter().any(|exemption| exemption.pattern == pattern && exemption.key == key)
    }

    /// True if the call with this identity is exempt from every pattern. Exemptions of earlier versions name the call
    /// by the key of their circuit.
    pub fn covers_call(&self, identity: Digest) -> bool {
        self.entries.iter().any(|exemption| exemption.calls.contains(&identity) || exemption.key == identity)
    }

    /// The exemptions after a fact.
    pub(crate) fn apply(exemptions: Option<Exemptions>, fact: &ExemptionFact, _at: Moment) -> Exemptions {
        let mut exemptions = exemptions.unwrap_or_default();
        match fact {
            ExemptionFact::Exempted { exemption } => {
                exemptions.entries.retain(|entry| entry.incident != exemption.incident);
                exemptions.entries.push(exemption.clone());
                keep_newest(&mut exemptions.entries, EXEMPTIONS_MAX);
            }
            ExemptionFact::Revoked { incident, .. } => exemptions.entries.retain(|entry| entry.incident != *incident),
        }
        exemptions
    }
}
