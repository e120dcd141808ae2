//! Views of facts.

use std::borrow::Cow;

use haltline_core::Fact;
use haltline_engine::journal::Verification;
use haltline_engine::redact::mask;
use haltline_engine::store::Entry;
use serde::Serialize;
use serde_json::Value;

use super::SCHEMA;

/// One fact, as in `journal show` and `journal export`.
#[derive(Debug, Serialize)]
pub struct FactView {
    pub seq: u64,
    pub at: String,
    pub circuit: String,
    /// Name of the fact, or `unknown` if a newer haltline wrote it.
    #[serde(rename = "word")]
    pub name: &'static str,
    pub cause: String,
    pub policy: String,
    pub session: Option<String>,
    pub text: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_purged: bool,
    pub fact: Value,
    pub hash: String,
}

impl FactView {
    pub fn new(entry: &Entry) -> Self {
        let body: Value = serde_json::from_str(&entry.body).unwrap_or_default();
        let texts = entry.texts();
        let read = entry.read().ok();
        let at = read.as_ref().map(|read| read.at.at.to_string()).unwrap_or_default();
        let fact = read.as_ref().and_then(|read| read.fact.as_ref());
        Self {
            seq: entry.seq,
            at,
            circuit: entry.circuit.to_string(),
            name: fact.map_or("unknown", haltline_core::Fact::as_str),
            cause: read.as_ref().map(|read| read.cause.clone()).unwrap_or_default(),
            policy: read.as_ref().map(|read| read.policy.clone()).unwrap_or_default(),
            session: texts.session,
            text: texts.text,
            is_purged: entry.texts.is_none(),
            fact: shown(fact, body.get("fact").cloned().unwrap_or_default()),
            hash: entry.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// Masks what looks like a secret in the texts of claims, which are stored verbatim (E10). All other texts were masked
/// before they were stored.
fn shown(fact: Option<&Fact>, mut body: Value) -> Value {
    if let Some(Fact::Claim(_)) = fact {
        mask_texts(&mut body);
    }
    body
}

fn mask_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = mask(text) {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_texts),
        Value::Object(members) => members.values_mut().for_each(mask_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[derive(Debug, Serialize)]
pub struct ShowView {
    pub schema: u32,
    pub project: String,
    pub facts: Vec<FactView>,
}

/// The result of verifying the journal by folding all facts again.
#[derive(Debug, Serialize)]
pub struct VerifyView {
    pub schema: u32,
    pub is_clean: bool,
    pub projects: Vec<ProjectView>,
}

#[derive(Debug, Serialize)]
pub struct ProjectView {
    pub project: String,
    pub anchor: u64,
    pub facts: u64,
    pub circuits: usize,
    pub head: String,
    pub problems: Vec<String>,
}

impl ProjectView {
    pub fn new(project: String, found: Verification) -> Self {
        Self {
            project,
            anchor: found.anchor,
            facts: found.facts,
            circuits: found.circuits,
            head: found.head.short_hash(),
            problems: found.problems,
        }
    }
}

impl VerifyView {
    pub fn new(projects: Vec<ProjectView>) -> Self {
        let is_clean = projects.iter().all(|project| project.problems.is_empty());
        Self { schema: SCHEMA, is_clean, projects }
    }
}
