//! The operator's trust in a project's own configuration file (E9).

use serde::{Deserialize, Serialize};

/// Which content of the project's file may loosen limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// The digest of the content last trusted.
    pub digest: Option<String>,
}

/// What became true of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The operator accepted this content.
    Trusted {
        /// The digest of the content.
        digest: String,
        /// Who accepted it.
        who: String,
    },
}

/// The trust after a fact.
pub fn apply(fact: &Fact) -> Trust {
    match fact {
        Fact::Trusted { digest, .. } => Trust { digest: Some(digest.clone()) },
    }
}
