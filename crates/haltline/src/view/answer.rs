//! What the results of all breakers have in common: the verdict, its reason, counts, and who acted.

use std::fmt;

use haltline_core::{Operator, Reason, Verdict};
use haltline_engine::store::Committed;
use serde::Serialize;

use super::SCHEMA;

/// The verdict as views show it: only its name, the reason is a field of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictName {
    Pass,
    Warn,
    Deny,
    Stop,
}

impl VerdictName {
    pub fn denies(self) -> bool {
        match self {
            VerdictName::Pass | VerdictName::Warn => false,
            VerdictName::Deny | VerdictName::Stop => true,
        }
    }
}

impl From<&Verdict> for VerdictName {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Pass => VerdictName::Pass,
            Verdict::Warn(_) => VerdictName::Warn,
            Verdict::Deny(_) => VerdictName::Deny,
            Verdict::Stop(_) => VerdictName::Stop,
        }
    }
}

/// The first fields of the result of every verb of a breaker.
#[derive(Debug, Serialize)]
pub struct AnswerView<Verb> {
    pub schema: u32,
    pub verb: Verb,
    pub verdict: VerdictName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl<Verb> AnswerView<Verb> {
    pub fn new(verb: Verb, verdict: &Verdict) -> Self {
        Self { schema: SCHEMA, verb, verdict: verdict.into(), reason: verdict.reason().cloned() }
    }
}

/// A count and its limit.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CountView {
    pub count: u32,
    pub threshold: u32,
}

impl fmt::Display for CountView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {}", self.count, self.threshold)
    }
}

/// An operator action, as the journal has it.
#[derive(Debug, Serialize)]
pub struct AuditView {
    pub who: String,
    pub at: String,
    /// The same instant, under the key of the first version.
    pub when: String,
    pub reason: Option<String>,
    /// The end of the journal after the action. Noted elsewhere, it reveals later edits of the journal.
    pub journal_seq: u64,
    pub journal_head: String,
}

impl AuditView {
    pub fn new(committed: &Committed, operator: Operator) -> Self {
        let Operator { who, reason } = operator;
        let last = committed.decision.facts.last();
        let at = last.map(|recorded| recorded.at.at.to_string()).unwrap_or_default();
        Self {
            who,
            when: at.clone(),
            at,
            reason,
            journal_seq: committed.head.seq,
            journal_head: committed.head.short_hash(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_name_that_the_core_gives() {
        let json = serde_json::to_value(VerdictName::from(&Verdict::Pass)).expect("a word");
        assert_eq!(json, Verdict::Pass.as_str());
    }
}
