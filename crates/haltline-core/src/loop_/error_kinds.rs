//! The kinds of errors that each tool got lately (L6): an agent that changes names and numbers in its calls, and gets
//! the same kind of error for most of them, has not found out what the error is about.

use serde::{Deserialize, Serialize};

use crate::identity::{Action, Digest, WordSet};

/// Among how many of a tool's last calls errors are counted.
const WINDOW: usize = 8;
/// How many calls are kept, of all tools.
const KEPT_MAX: usize = 24;
/// A call made again and again is a repeat. Only errors of at least this many different calls are similar errors.
const DIFFERENT_MIN: usize = 3;
/// Word overlap, in percent, from which on a call counts as like one that failed.
pub const LIKE_PERCENT: u32 = 30;

/// The last calls of the tools that failed lately, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorKinds {
    calls: Vec<RecentCall>,
}

/// A call: its tool, the kind of its error if it failed, its turn and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecentCall(Digest, Option<Digest>, u64, WordSet);

/// The key of the circuit for a kind of error of a tool.
fn kind_key(tool: Digest, kind: Digest) -> Digest {
    Digest::from_parts(&[b"error kind", &tool.0.to_be_bytes(), &kind.0.to_be_bytes()])
}

impl ErrorKinds {
    /// Adds a call that ended. Calls of tools that never failed are not kept.
    pub(super) fn add(&mut self, tool: Digest, kind: Option<Digest>, turn: u64, words: WordSet) {
        let of_tool = self.calls.iter().filter(|call| call.0 == tool).count();
        if kind.is_none() && of_tool == 0 {
            return;
        }
        if of_tool >= WINDOW || self.calls.len() >= KEPT_MAX {
            let oldest = self.calls.iter().position(|call| of_tool < WINDOW || call.0 == tool);
            oldest.map(|index| self.calls.remove(index));
        }
        let words = if kind.is_some() { words } else { WordSet::default() };
        self.calls.push(RecentCall(tool, kind, turn, words));
        if self.calls.iter().filter(|call| call.0 == tool).all(|call| call.1.is_none()) {
            self.calls.retain(|call| call.0 != tool);
        }
    }

    /// The key and the count of the kind of error that calls like this one got most often. The calls of one turn count
    /// once.
    pub(super) fn most_frequent(&self, action: &Action, tool: Digest) -> Option<(Digest, u32)> {
        let of_tool = || self.calls.iter().filter(|call| call.0 == tool);
        let is_like = |call: &&RecentCall| {
            action.words.overlap(call.3) >= LIKE_PERCENT && !action.words.names_other_files(call.3)
        };
        let kinds = of_tool().rev().filter(is_like).filter_map(|call| call.1);
        let counted = kinds.map(|kind| {
            let of_kind = || of_tool().filter(|call| call.1 == Some(kind));
            let mut turns: Vec<u64> = of_kind().map(|call| call.2).collect();
            turns.dedup();
            let mut different: Vec<WordSet> = Vec::new();
            of_kind().for_each(|call| {
                if !different.contains(&call.3) {
                    different.push(call.3)
                }
            });
            let is_series = different.len() >= DIFFERENT_MIN;
            (kind_key(tool, kind), if is_series { u32::try_from(turns.len()).unwrap_or(u32::MAX) } else { 0 })
        });
        counted.max_by_key(|(_, count)| *count)
    }

    /// Forgets what the circuit with this key counted.
    pub(super) fn forget(&mut self, key: Digest) {
        self.calls.retain(|call| call.1.is_none_or(|kind| kind_key(call.0, kind) != key));
    }

    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}
