//! What one look may cost. Whatever runs out is told: a look is never silently incomplete.

use std::time::Duration;

use crate::clock::Patience;

use super::LookOptions;

/// How many entries of folders are visited, in all walks of a look together.
const VISITS_MAX: usize = 500_000;

/// What is left of a look's limits.
#[derive(Debug)]
pub(super) struct Budget {
    patience: Patience,
    paths_left: usize,
    visits_left: usize,
    content_bytes_left: u64,
    content_file_bytes_max: u64,
    is_truncated: bool,
}

impl Budget {
    pub(super) fn of(options: &LookOptions) -> Self {
        Self {
            patience: Patience::new(options.patience),
            paths_left: options.paths_max,
            visits_left: VISITS_MAX,
            content_bytes_left: options.content_bytes_max,
            content_file_bytes_max: options.content_file_bytes_max,
            is_truncated: false,
        }
    }

    /// How long git may take now. What it does not finish must leave time to look otherwise.
    pub(super) fn left_for_git(&self) -> Duration {
        self.patience.left() / 2
    }

    /// Whether something had to be left out.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Something was left out.
    pub(super) fn truncate(&mut self) {
        self.is_truncated = true;
    }

    /// Whether one more path may be kept.
    pub(super) fn take_path(&mut self) -> bool {
        let may = self.paths_left > 0;
        self.paths_left = self.paths_left.saturating_sub(1);
        self.is_truncated |= !may;
        may
    }

    /// Whether one more entry of a folder may be visited.
    pub(super) fn visit(&mut self) -> bool {
        // The clock is asked now and then only.
        let may = self.visits_left > 0 && (!self.visits_left.is_multiple_of(256) || !self.patience.left().is_zero());
        self.visits_left = if may { self.visits_left - 1 } else { 0 };
        self.is_truncated |= !may;
        may
    }

    /// Whether a walk was ended early.
    pub(super) fn is_out_of_visits(&self) -> bool {
        self.visits_left == 0
    }

    /// Whether a file of so many bytes may be read. That one is not, is no truncation: its size and time are kept.
    pub(super) fn may_read(&mut self, bytes: u64) -> bool {
        let is_small = bytes <= self.content_file_bytes_max && bytes <= self.content_bytes_left;
        let may = is_small && !self.patience.left().is_zero();
        if may {
            self.content_bytes_left -= bytes;
        }
        may
    }

    /// Reads files up to another size from here on.
    pub(super) fn set_content_file_bytes_max(&mut self, bytes: u64) {
        self.content_file_bytes_max = self.content_file_bytes_max.min(bytes);
    }
}
