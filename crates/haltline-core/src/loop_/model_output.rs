//! What the model writes and what its responses cost, for the patterns `chanting` and `cost_growth` (L6; both off by
//! default).

use serde::{Deserialize, Serialize};

use crate::identity::{Digest, ModelText};

/// How many responses are needed for a mean cost.
const RESPONSES_MIN: u32 = 5;

/// The model's last text, and how often it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatedText {
    #[serde(default)]
    pub text: Digest,
    /// How many times in a row the model wrote this text.
    #[serde(rename = "row", default)]
    pub in_a_row: u32,
    /// How many times in a row the same sentence came within this text.
    #[serde(default)]
    pub repeats: u32,
}

impl RepeatedText {
    pub(super) fn observe(&mut self, model_text: &ModelText) {
        let is_again = self.in_a_row > 0 && self.text == model_text.digest;
        let in_a_row = if is_again { self.in_a_row.saturating_add(1) } else { 1 };
        *self = Self { text: model_text.digest, in_a_row, repeats: model_text.repeats };
    }

    /// How often the model repeated itself: occurrences minus one.
    pub(super) fn repetitions(&self) -> u32 {
        self.in_a_row.max(self.repeats).saturating_sub(1)
    }
}

/// Prompts in a row that the model service had to read in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMisses {
    #[serde(rename = "row", default)]
    pub in_a_row: u32,
    /// What they cost, in millionths of a dollar, as far as prices are known.
    #[serde(default)]
    pub micros: u64,
}

impl CacheMisses {
    pub(super) fn add(&mut self, micros: Option<u64>) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.micros = self.micros.saturating_add(micros.unwrap_or_default());
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostGrowth {
    /// How many responses there were before the last one.
    #[serde(default)]
    pub responses: u32,
    /// The cost of those responses.
    #[serde(default)]
    pub sum: u64,
    #[serde(default)]
    pub last: u64,
}

impl CostGrowth {
    pub(super) fn add_response(&mut self, spent: u64) {
        if self.last > 0 {
            self.responses = self.responses.saturating_add(1);
            self.sum = self.sum.saturating_add(self.last);
        }
        self.last = spent;
    }

    /// How many times the mean the last response cost, minus one. Zero until there are enough responses for a mean.
    pub(super) fn times_above_mean(&self) -> u32 {
        if self.responses < RESPONSES_MIN {
            return 0;
        }
        let usual = (self.sum / u64::from(self.responses)).max(1);
        u32::try_from(self.last / usual).unwrap_or(u32::MAX).saturating_sub(1)
    }
}
