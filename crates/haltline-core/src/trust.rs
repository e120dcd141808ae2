//! What a project's own files may loosen (E9): the content a person has trusted, and the limits as first seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fact::{FactKind, synced, unsynced};
use crate::{CircuitName, Decision, Halt, Moment, Operator, Recorded, Rejection, Texts, Verdict};

/// Limits by key: numbers, flags as 0 and 1, dollars in millionths. A missing key means the built-in limit.
pub type Values = BTreeMap<String, i64>;

/// What a project's files are checked against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// The digest of the project file's content that was trusted last.
    pub digest: Option<String>,
    /// The limits of seed 002's file that are in force: as first seen, tightened since, or trusted.
    #[serde(rename = "seen", default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Values>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The operator accepted this content of the project file.
    #[serde(rename = "trusted")]
    ContentTrusted { digest: String, who: String },
    /// haltline saw seed 002's file for the first time, or the file became stricter.
    #[serde(rename = "seen")]
    LimitsSeen {
        /// The limits in force from now on.
        values: Values,
    },
    /// The operator accepted the limits that seed 002's file asks for.
    #[serde(rename = "seen_trusted")]
    LimitsTrusted {
        /// The limits in force from now on.
        values: Values,
        who: String,
    },
}

impl Fact {
    /// The fact's stable name in listings, and whether it is synced.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            Fact::ContentTrusted { .. } | Fact::LimitsTrusted { .. } => synced("trusted"),
            Fact::LimitsSeen { .. } => unsynced("seen"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustEvent {
    /// haltline read seed 002's file. `before` holds the limits that were in force when the file was compared; if they
    /// have changed meanwhile, the comparison is void.
    LimitsSeen {
        before: Option<Values>,
        /// The limits in force from now on, nowhere looser than `before`.
        values: Values,
    },
    /// The operator accepts the limits that seed 002's file asks for.
    TrustLimits { values: Values, operator: Operator },
    /// The operator accepts the project's own file as it is.
    TrustContent {
        /// The digest of the accepted content.
        digest: String,
        operator: Operator,
    },
}

impl TrustEvent {
    /// The stable text that the journal keeps as the cause.
    pub fn cause(&self) -> &'static str {
        match self {
            TrustEvent::LimitsSeen { .. } => "config_file",
            TrustEvent::TrustLimits { .. } | TrustEvent::TrustContent { .. } => "trust",
        }
    }
}

pub(crate) fn decide(trust: Option<&Trust>, event: &TrustEvent, now: Moment) -> Result<Decision, Halt> {
    let in_force = trust.and_then(|trust| trust.limits.as_ref());
    let (fact, text) = match event {
        TrustEvent::LimitsSeen { before, values } => {
            if before.as_ref() != in_force || in_force == Some(values) {
                return Err(Rejection::NothingToTrust.into());
            }
            (Fact::LimitsSeen { values: values.clone() }, None)
        }
        TrustEvent::TrustLimits { values, operator } => {
            if in_force == Some(values) {
                return Err(Rejection::NothingToTrust.into());
            }
            (Fact::LimitsTrusted { values: values.clone(), who: operator.who.clone() }, operator.reason.clone())
        }
        TrustEvent::TrustContent { digest, operator } => {
            if trust.is_some_and(|trust| trust.digest.as_ref() == Some(digest)) {
                return Err(Rejection::NothingToTrust.into());
            }
            (Fact::ContentTrusted { digest: digest.clone(), who: operator.who.clone() }, operator.reason.clone())
        }
    };
    let texts = Texts { session: None, text, ..Texts::default() };
    let facts = vec![Recorded { circuit: CircuitName::trust(), at: now, fact: crate::Fact::Trust(fact), texts }];
    Ok(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}

pub fn apply(trust: Option<Trust>, fact: &Fact, _at: Moment) -> Trust {
    let trust = trust.unwrap_or_default();
    match fact {
        Fact::ContentTrusted { digest, .. } => Trust { digest: Some(digest.clone()), ..trust },
        Fact::LimitsSeen { values } | Fact::LimitsTrusted { values, .. } => {
            Trust { limits: Some(values.clone()), ..trust }
        }
    }
}
