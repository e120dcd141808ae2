//! The configuration that decisions use: the mode and the default limits.

use serde::{Deserialize, Serialize};

use crate::claim;
use crate::constraint::Limits;
use crate::loop_;
use crate::phase;
use crate::{Verdict, digest_hex};

/// Whether haltline interferes or only watches (E15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Deny what an open circuit forbids.
    #[default]
    Enforce,
    /// Count and journal everything, deny nothing.
    Observe,
}

impl Mode {
    /// Returns what haltline answers in this mode: in observe mode a denial becomes a warning.
    pub fn apply_to(self, verdict: Verdict) -> Verdict {
        match (self, verdict) {
            (Mode::Enforce, verdict) => verdict,
            (Mode::Observe, Verdict::Deny(reason) | Verdict::Stop(reason)) => Verdict::Warn(reason),
            (Mode::Observe, verdict @ (Verdict::Pass | Verdict::Warn(_))) => verdict,
        }
    }
}

/// The configuration a decision uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: Mode,
    /// Limits of a constraint whose file does not set its own.
    pub constraint: Limits,
    /// Limits of running sessions.
    pub loop_: loop_::Limits,
    /// Limits of phases and loops.
    #[serde(default)]
    pub phase: phase::Limits,
    /// Limits of claims under review.
    #[serde(default)]
    pub claim: claim::Limits,
}

impl Policy {
    /// A short digest that identifies exactly this policy; every fact keeps it (E1).
    pub fn digest(&self) -> String {
        let Limits { violation_threshold, window_days, cooldown_hours, dedup_seconds } = self.constraint;
        let numbers = [violation_threshold, window_days, cooldown_hours, dedup_seconds].map(u32::to_be_bytes);
        let mode = match self.mode {
            Mode::Enforce => b"enforce",
            Mode::Observe => b"observe",
        };
        // Limits at their defaults are left out: serialising them would cost every hook more than the rest of its
        // decision.
        let mut changed: Vec<Vec<u8>> = Vec::new();
        if self.loop_ != loop_::Limits::default() {
            changed.push(serde_json::to_vec(&self.loop_).expect("numbers, flags and texts can be written"));
        }
        if self.phase != phase::Limits::default() {
            changed.push(serde_json::to_vec(&self.phase).expect("numbers can be written"));
        }
        if !self.claim.is_default() {
            changed.push(serde_json::to_vec(&self.claim).expect("numbers and texts can be written"));
        }
        let mut parts: Vec<&[u8]> = vec![mode, numbers.as_flattened()];
        parts.extend(changed.iter().map(Vec::as_slice));
        digest_hex(&parts, 6)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_value_of_the_policy_is_in_its_digest() {
        let plain = Policy::default();
        let observing = Policy { mode: Mode::Observe, ..plain.clone() };
        let shorter_dedup = Policy { constraint: Limits { dedup_seconds: 1, ..plain.constraint }, ..plain.clone() };
        assert_ne!(plain.digest(), observing.digest());
        let loop_ = loop_::Limits { history_max: 51, ..plain.loop_.clone() };
        let longer_history = Policy { loop_, ..plain.clone() };
        assert_ne!(plain.digest(), shorter_dedup.digest());
        assert_ne!(plain.digest(), longer_history.digest());
        assert_eq!(plain.digest(), Policy::default().digest());
    }

    /// Returns copies of the value, each with one of its numbers, flags or texts changed.
    fn changed_one_by_one(value: &Value) -> Vec<Value> {
        match value {
            Value::Object(members) => members
                .iter()
                .flat_map(|(name, member)| {
                    changed_one_by_one(member).into_iter().map(move |changed| {
                        let mut whole = members.clone();
                        whole.insert(name.clone(), changed);
                        Value::Object(whole)
                    })
                })
                .collect(),
            Value::Array(_) => vec![json!(["another"])],
            Value::Null => vec![json!(1)],
            Value::Bool(flag) => vec![json!(!flag)],
            Value::Number(number) => vec![json!(number.as_u64().unwrap_or_default() + 1)],
            Value::String(text) => {
                vec![json!(if text == "deny" { "stop_oldest" } else { "literal" })]
            }
        }
    }

    #[test]
    fn every_limit_of_sessions_is_in_the_digest() {
        let plain = Policy::default();
        let written = serde_json::to_value(&plain.loop_).expect("limits can be written");
        let mut seen = vec![plain.digest()];
        for changed in changed_one_by_one(&written) {
            let loop_ = serde_json::from_value(changed.clone()).unwrap_or_else(|error| panic!("{error}: {changed}"));
            let digest = Policy { loop_, ..plain.clone() }.digest();
            assert!(!seen.contains(&digest), "{changed}");
            seen.push(digest);
        }
        assert!(seen.len() > 50, "{} limits were tried", seen.len());
    }
}
