//! The calls of an agent that permission rules denied (L6).

use super::IN_FLIGHT_MAX;
use crate::identity::Digest;

/// What permission rules denied lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionDenials {
    /// How many calls in a row were denied.
    pub in_a_row: u32,
    /// The tools of the denied calls.
    pub tools: Vec<Digest>,
    /// Which of the last calls were denied, one bit each; the newest call is the lowest bit.
    pub recent: u64,
}

impl PermissionDenials {
    /// How many of the last `calls` calls were denied.
    pub(in crate::loop_) fn among_last(&self, calls: u32) -> u32 {
        let mask = if calls >= 64 { u64::MAX } else { (1 << calls) - 1 };
        (self.recent & mask).count_ones()
    }

    pub(super) fn add(&mut self, tool: Digest) {
        if !self.tools.contains(&tool) && self.tools.len() < IN_FLIGHT_MAX {
            self.tools.push(tool);
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.recent = self.recent << 1 | 1;
    }

    /// A call was not denied.
    pub(super) fn end_row(&mut self) {
        self.in_a_row = 0;
        self.recent <<= 1;
        if self.recent == 0 {
            self.tools.clear();
        }
    }

    /// A person's prompt: the calls before it still count among the last ones.
    pub(super) fn on_prompt(&mut self) {
        self.in_a_row = 0;
        self.tools.clear();
    }

    /// The circuit closed, so that no denial before counts (L5).
    pub(super) fn clear_counts(&mut self) {
        self.in_a_row = 0;
        self.recent = 0;
    }
}
