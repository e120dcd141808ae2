//! What people declared a false alarm: that never trips that pattern again in this project (X4). Listed and revocable.

use serde::{Deserialize, Serialize};

use super::Pattern;
use crate::Instant;
use crate::identity::Digest;

/// No project needs more; the oldest goes first.
const EXEMPTIONS_MAX: usize = 256;

/// One false alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exemption {
    /// The pattern that was wrong.
    pub pattern: Pattern,
    /// About what.
    pub key: Digest,
    /// The trip that showed it.
    pub incident: String,
    /// Who said so.
    pub who: String,
    /// When.
    pub at: Instant,
}

/// All false alarms of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exempt {
    /// Oldest first.
    pub exemptions: Vec<Exemption>,
}

/// What became true of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExemptFact {
    /// One more.
    Exempted {
        /// It.
        exemption: Exemption,
    },
    /// One less.
    Revoked {
        /// The trip that had shown it.
        incident: String,
        /// Who took it back.
        who: String,
    },
}

impl ExemptFact {
    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            ExemptFact::Exempted { .. } => "exempted",
            ExemptFact::Revoked { .. } => "exemption_revoked",
        }
    }
}

impl Exempt {
    /// Whether this never trips that pattern.
    pub fn covers(&self, pattern: Pattern, key: Digest) -> bool {
        self.exemptions.iter().any(|exemption| exemption.pattern == pattern && exemption.key == key)
    }

    /// Whether some pattern was wrong about just this.
    pub fn names(&self, key: Digest) -> bool {
        self.exemptions.iter().any(|exemption| exemption.key == key)
    }

    /// The list after a fact.
    pub(super) fn apply(list: Option<Exempt>, fact: &ExemptFact) -> Exempt {
        let mut list = list.unwrap_or_default();
        match fact {
            ExemptFact::Exempted { exemption } => {
                list.exemptions.retain(|known| known.incident != exemption.incident);
                list.exemptions.push(exemption.clone());
                let excess = list.exemptions.len().saturating_sub(EXEMPTIONS_MAX);
                list.exemptions.drain(..excess);
            }
            ExemptFact::Revoked { incident, .. } => list.exemptions.retain(|known| known.incident != *incident),
        }
        list
    }
}
