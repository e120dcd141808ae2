//! What a project's own files may loosen (E9): content a person trusted, and limits as they were first seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CircuitName, Decision, Operator, Recorded, Rejection, Step, Texts, Verdict};

/// Limits by the names of their keys: numbers, flags as 0 and 1, dollars in millionths. A limit that is not there is
/// the one built in.
pub type Values = BTreeMap<String, i64>;

/// What a project's files are held to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// The digest of the project file's content last trusted.
    pub digest: Option<String>,
    /// The limits of seed 002's file in force: as first seen, tightened since, or trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Values>,
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
    /// Seed 002's file was seen for the first time, or tightened.
    Seen {
        /// The limits in force from now on.
        values: Values,
    },
    /// The operator accepted the limits seed 002's file asks for.
    SeenTrusted {
        /// The limits in force from now on.
        values: Values,
        /// Who accepted them.
        who: String,
    },
}

/// What happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Seed 002's file was read. `before` is what was in force when it was compared; if that has changed meanwhile
    /// the comparison is worth nothing.
    See {
        /// In force before.
        before: Option<Values>,
        /// In force from now on: nowhere looser than before.
        values: Values,
    },
    /// The operator accepts what it asks for.
    TrustSeen {
        /// What it asks for.
        values: Values,
        /// Who accepts it.
        operator: Operator,
    },
    /// The operator accepts the project's own file as it is.
    TrustContent {
        /// The content that is accepted.
        digest: String,
        /// Who accepts it.
        operator: Operator,
    },
}

impl Happening {
    /// The word the journal keeps as the cause.
    pub fn cause(&self) -> &'static str {
        match self {
            Happening::See { .. } => "config_file",
            Happening::TrustSeen { .. } | Happening::TrustContent { .. } => "trust",
        }
    }
}

/// Decides what happens to the trust.
pub(crate) fn decide(trust: Option<&Trust>, what: &Happening, now: crate::Moment) -> Step {
    let in_force = trust.and_then(|trust| trust.seen.as_ref());
    let (fact, text) = match what {
        Happening::See { before, values } => {
            if before.as_ref() != in_force || in_force == Some(values) {
                return Step::Rejected(Rejection::NothingToTrust);
            }
            (Fact::Seen { values: values.clone() }, None)
        }
        Happening::TrustSeen { values, operator } => {
            if in_force == Some(values) {
                return Step::Rejected(Rejection::NothingToTrust);
            }
            (Fact::SeenTrusted { values: values.clone(), who: operator.who.clone() }, operator.reason.clone())
        }
        Happening::TrustContent { digest, operator } => {
            if trust.is_some_and(|trust| trust.digest.as_ref() == Some(digest)) {
                return Step::Rejected(Rejection::NothingToTrust);
            }
            (Fact::Trusted { digest: digest.clone(), who: operator.who.clone() }, operator.reason.clone())
        }
    };
    let texts = Texts { session: None, text };
    let facts = vec![Recorded { circuit: CircuitName::trust(), at: now, fact: crate::Fact::Trust(fact), texts }];
    Step::Decided(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}

/// The trust after a fact.
pub fn apply(trust: Option<Trust>, fact: &Fact) -> Trust {
    let trust = trust.unwrap_or_default();
    match fact {
        Fact::Trusted { digest, .. } => Trust { digest: Some(digest.clone()), ..trust },
        Fact::Seen { values } | Fact::SeenTrusted { values, .. } => Trust { seen: Some(values.clone()), ..trust },
    }
}
