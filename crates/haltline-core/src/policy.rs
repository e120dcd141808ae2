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
    pub loop_: loop_::Limits,
    #[serde(default)]
    pub phase: phase::Limits,
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
