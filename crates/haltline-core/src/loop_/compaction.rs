//! Detects conversations that are compacted again and again while the agent only reads what it had read before (L6).

use serde::{Deserialize, Serialize};

/// What happened since the last compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// How many compactions in a row had mostly repeats before them.
    #[serde(rename = "barren", default)]
    pub fruitless: u32,
    /// Calls since the last compaction.
    #[serde(default)]
    pub calls: u32,
    /// How many of these calls had a result that the agent had before.
    #[serde(rename = "known", default)]
    pub repeats: u32,
    /// True if a compaction came before, since the person's last prompt.
    #[serde(rename = "again", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_repeated: bool,
}

impl Compaction {
    pub(super) fn count_call(&mut self, is_repeat: bool) {
        self.calls = self.calls.saturating_add(1);
        self.repeats = self.repeats.saturating_add(u32::from(is_repeat));
    }

    /// True if a compaction now would come with no call since the last one.
    pub(super) fn is_empty(&self) -> bool {
        self.is_repeated && self.calls == 0
    }

    /// The conversation was compacted. It was fruitless if at least half of the calls since the last compaction were
    /// repeats, and `is_useless` if it brought nothing for certain.
    pub(super) fn compacted(&mut self, is_useless: bool) {
        let is_fruitless = is_useless || (self.calls > 0 && self.repeats.saturating_mul(2) >= self.calls);
        let fruitless = if is_fruitless { self.fruitless.saturating_add(1) } else { 0 };
        *self = Self { fruitless, calls: 0, repeats: 0, is_repeated: true };
    }
}
