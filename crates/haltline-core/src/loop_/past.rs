//! A call that ended, as the stream remembers it: digests and what still counts.

use serde::{Deserialize, Serialize};

use crate::identity::Digest;

/// A call that ended. Written as a short list of numbers: there are fifty of them in each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Numbers", into = "Numbers")]
pub struct Past {
    /// Its name.
    pub call: Digest,
    /// Its tool.
    pub tool: Digest,
    /// What it did.
    pub identity: Digest,
    /// What came back, without its volatile parts.
    pub normal: Digest,
    /// The turn it started in.
    pub turn: u64,
    flags: u32,
}

/// How a past call is written.
type Numbers = (u64, u64, u64, u64, u64, u32);

/// One thing that is true of a past call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// Its answer is known.
    Known,
    /// It failed, and that was the agent's doing.
    Failed,
    /// A prompt came before it.
    Prompted,
    /// Something new was written since.
    Spent,
    /// A circuit was closed since that had counted it.
    Closed,
    /// It waited before it looked.
    Waited,
    /// It came after a good while in which nothing happened.
    Rested,
    /// The conversation was shortened before it.
    Shortened,
}

impl Mark {
    fn bit(self) -> u32 {
        match self {
            Mark::Known => 1,
            Mark::Failed => 2,
            Mark::Prompted => 4,
            Mark::Spent => 8,
            Mark::Closed => 16,
            Mark::Waited => 32,
            Mark::Shortened => 64,
            Mark::Rested => 128,
        }
    }
}

impl From<Numbers> for Past {
    fn from((call, tool, identity, normal, turn, flags): Numbers) -> Self {
        let [call, tool, identity, normal] = [call, tool, identity, normal].map(Digest);
        Self { call, tool, identity, normal, turn, flags }
    }
}

impl From<Past> for Numbers {
    fn from(past: Past) -> Self {
        (past.call.0, past.tool.0, past.identity.0, past.normal.0, past.turn, past.flags)
    }
}

impl Past {
    /// A call of which nothing more is known.
    pub(super) fn new(call: Digest, tool: Digest, identity: Digest, normal: Digest, turn: u64) -> Self {
        Self { call, tool, identity, normal, turn, flags: 0 }
    }

    pub(super) fn mark(&mut self, mark: Mark) {
        self.flags |= mark.bit();
    }

    fn has(&self, mark: Mark) -> bool {
        self.flags & mark.bit() != 0
    }

    /// Its answer is known.
    pub fn is_known(&self) -> bool {
        self.has(Mark::Known)
    }

    /// It was this call, with this answer.
    pub fn is_same(&self, identity: Digest, normal: Digest) -> bool {
        self.identity == identity && self.normal == normal
    }

    /// It failed, and that was the agent's doing.
    pub fn is_failed(&self) -> bool {
        self.has(Mark::Failed)
    }

    /// Counting starts anew with it: a prompt came before it.
    pub fn is_boundary(&self) -> bool {
        self.has(Mark::Prompted)
    }

    /// It still counts: no circuit was closed and no new file written since.
    pub fn is_counted(&self) -> bool {
        !self.has(Mark::Spent) && !self.has(Mark::Closed)
    }

    /// A circuit was closed since that had counted it.
    pub fn is_closed(&self) -> bool {
        self.has(Mark::Closed)
    }

    /// It waited before it looked.
    pub fn is_waited(&self) -> bool {
        self.has(Mark::Waited)
    }

    /// It came after a good while in which nothing happened.
    pub fn is_rested(&self) -> bool {
        self.has(Mark::Rested)
    }

    /// What was known before it may have been forgotten: a prompt came, or the conversation was shortened.
    pub fn is_afresh(&self) -> bool {
        self.is_boundary() || self.has(Mark::Shortened)
    }

    /// A call for tests of the counting.
    #[cfg(test)]
    pub(super) fn known(identity: Digest, normal: Digest, is_failed: bool) -> Self {
        let mut past = Self::new(Digest(0), Digest(0), identity, normal, 0);
        past.mark(Mark::Known);
        if is_failed {
            past.mark(Mark::Failed);
        }
        past
    }
}
