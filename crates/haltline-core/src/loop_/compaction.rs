//! Conversations that are shortened again and again while the agent only reads what it had read before (L6).

use serde::{Deserialize, Serialize};

/// What came since the conversation was last shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// How often in a row nothing but the known lay between two of them.
    #[serde(default)]
    pub barren: u32,
    /// Calls since the last one.
    #[serde(default)]
    pub calls: u32,
    /// Those whose answer had been known before it.
    #[serde(default)]
    pub known: u32,
}

impl Compaction {
    /// A call ended.
    pub(super) fn land(&mut self, is_again: bool) {
        self.calls = self.calls.saturating_add(1);
        self.known = self.known.saturating_add(u32::from(is_again));
    }

    /// The conversation was shortened. Between two of them at least half of the calls must have been repeats.
    pub(super) fn shortened(&mut self) {
        let is_barren = self.calls > 0 && self.known.saturating_mul(2) >= self.calls;
        let barren = if is_barren { self.barren.saturating_add(1) } else { 0 };
        *self = Self { barren, calls: 0, known: 0 };
    }
}
