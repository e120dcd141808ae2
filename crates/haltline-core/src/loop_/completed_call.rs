//! A call that ended, as the agent's row keeps it: digests, and flags that say what it still counts for.

use crate::identity::Digest;

/// A call that ended. `packed_calls` says how a row holds fifty of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedCall {
    pub id: Digest,
    pub tool: Digest,
    pub identity: Digest,
    /// Digest of the result without its volatile parts.
    pub normal: Digest,
    pub turn: u64,
    flags: u32,
}

/// A completed call as plain numbers, in the order in which they are stored.
pub(super) type Numbers = (u64, u64, u64, u64, u64, u32);

/// One thing that is true of a completed call, with the bit that stands for it in the row.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallFlag {
    /// haltline knows the call's result, and it may count.
    HasResult = 1,
    /// The call failed, and the agent caused the failure.
    Failed = 2,
    /// A prompt came before the call.
    AfterPrompt = 4,
    /// Something new was written after the call.
    WrittenSince = 8,
    /// A circuit that had counted the call has closed since.
    CircuitClosedSince = 16,
    /// The call waited before it checked something.
    Waited = 32,
    /// The agent was idle for a while before the call.
    AfterIdle = 128,
    /// The conversation was compacted before the call.
    AfterCompaction = 64,
}

impl From<Numbers> for CompletedCall {
    fn from((id, tool, identity, normal, turn, flags): Numbers) -> Self {
        let [id, tool, identity, normal] = [id, tool, identity, normal].map(Digest);
        Self { id, tool, identity, normal, turn, flags }
    }
}

impl From<CompletedCall> for Numbers {
    fn from(completed: CompletedCall) -> Self {
        (completed.id.0, completed.tool.0, completed.identity.0, completed.normal.0, completed.turn, completed.flags)
    }
}

impl CompletedCall {
    /// A call without any flag.
    pub(super) fn new(id: Digest, tool: Digest, identity: Digest, normal: Digest, turn: u64) -> Self {
        Self { id, tool, identity, normal, turn, flags: 0 }
    }

    pub(super) fn set(&mut self, flag: CallFlag) {
        self.flags |= flag as u32;
    }

    fn has(&self, flag: CallFlag) -> bool {
        self.flags & (flag as u32) != 0
    }

    /// True if haltline knows the call's result and may count it.
    pub fn has_result(&self) -> bool {
        self.has(CallFlag::HasResult)
    }

    /// True for this call with this result.
    pub fn is_same(&self, identity: Digest, normal: Digest) -> bool {
        self.identity == identity && self.normal == normal
    }

    /// True if the call failed and the agent caused the failure.
    pub fn is_failed(&self) -> bool {
        self.has(CallFlag::Failed)
    }

    /// True if a prompt came before the call: counting starts with it.
    pub fn is_after_prompt(&self) -> bool {
        self.has(CallFlag::AfterPrompt)
    }

    /// True if the call still counts: since then no circuit that counted it closed, and nothing new was written.
    pub fn is_counted(&self) -> bool {
        !self.has(CallFlag::WrittenSince) && !self.has(CallFlag::CircuitClosedSince)
    }

    /// True if a circuit that had counted the call has closed since.
    pub fn is_circuit_closed_since(&self) -> bool {
        self.has(CallFlag::CircuitClosedSince)
    }

    /// True if the call waited before it checked something.
    pub fn has_waited(&self) -> bool {
        self.has(CallFlag::Waited)
    }

    /// True if the agent was idle for a while before the call.
    pub fn is_after_idle(&self) -> bool {
        self.has(CallFlag::AfterIdle)
    }

    /// True if the agent may have forgotten earlier results: before the call came a prompt or a compaction.
    pub fn is_after_context_loss(&self) -> bool {
        self.is_after_prompt() || self.has(CallFlag::AfterCompaction)
    }

    /// A call with a result, for tests of the counting.
    #[cfg(test)]
    pub(super) fn with_result(identity: Digest, normal: Digest, is_failed: bool) -> Self {
        let mut completed = Self::new(Digest(0), Digest(0), identity, normal, 0);
        completed.set(CallFlag::HasResult);
        if is_failed {
            completed.set(CallFlag::Failed);
        }
        completed
    }
}
