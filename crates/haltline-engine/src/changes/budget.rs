//! What one snapshot may cost. If a limit is reached, the snapshot says so: it is never silently incomplete.

use std::time::Duration;

use crate::clock::Deadline;

use super::SnapshotOptions;

/// How many folder entries are visited in all walks of a snapshot together.
const VISITS_MAX: usize = 500_000;

/// What is left of a snapshot's limits.
#[derive(Debug)]
pub(super) struct Budget {
    deadline: Deadline,
    paths_left: usize,
    visits_left: usize,
    content_bytes_left: u64,
    content_file_bytes_max: u64,
    is_truncated: bool,
}

impl Budget {
    pub(super) fn from_options(options: &SnapshotOptions) -> Self {
        Self {
            deadline: Deadline::new(options.timeout),
            paths_left: options.paths_max,
            visits_left: VISITS_MAX,
            content_bytes_left: options.content_bytes_max,
            content_file_bytes_max: options.content_file_bytes_max,
            is_truncated: false,
        }
    }

    /// How long git may take now. Half of the time is reserved for reading the tree without git if git does not finish.
    pub(super) fn left_for_git(&self) -> Duration {
        self.deadline.remaining() / 2
    }

    /// True if something had to be left out.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Records that something was left out.
    pub(super) fn truncate(&mut self) {
        self.is_truncated = true;
    }

    /// Returns true if one more path may be kept, and counts it.
    pub(super) fn reserve_path(&mut self) -> bool {
        let may = self.paths_left > 0;
        self.paths_left = self.paths_left.saturating_sub(1);
        self.is_truncated |= !may;
        may
    }

    /// Returns true if one more folder entry may be visited, and counts it.
    pub(super) fn visit(&mut self) -> bool {
        // Reading the clock at every entry would be too slow.
        let may =
            self.visits_left > 0 && (!self.visits_left.is_multiple_of(256) || !self.deadline.remaining().is_zero());
        self.visits_left = if may { self.visits_left - 1 } else { 0 };
        self.is_truncated |= !may;
        may
    }

    /// True if a walk ended early.
    pub(super) fn is_out_of_visits(&self) -> bool {
        self.visits_left == 0
    }

    /// True if a file of this size may be read. An unread file is no truncation: its size and time are kept.
    pub(super) fn may_read(&mut self, bytes: u64) -> bool {
        let is_small = bytes <= self.content_file_bytes_max && bytes <= self.content_bytes_left;
        let may = is_small && !self.deadline.remaining().is_zero();
        if may {
            self.content_bytes_left -= bytes;
        }
        may
    }

    /// Lowers the size up to which files are read from now on.
    pub(super) fn set_content_file_bytes_max(&mut self, bytes: u64) {
        self.content_file_bytes_max = self.content_file_bytes_max.min(bytes);
    }
}
