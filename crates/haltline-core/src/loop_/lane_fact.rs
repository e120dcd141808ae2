//! What becomes true of an agent's stream: the lines of its journal.

use serde::{Deserialize, Serialize};

use super::Flight;
use super::board::BoardFact;
use crate::identity::{Digest, Outcome, Said, Word};

/// How a call bore on what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It did not.
    None,
    /// It wrote something new: what was counted before counts no more (L4).
    Written,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Which.
    pub call: Digest,
    /// How.
    pub outcome: Outcome,
    /// What came back, without its volatile parts.
    pub normal: Digest,
    /// What came back, as it is.
    pub raw: Digest,
    /// It failed, and that was the agent's doing.
    pub is_failed: bool,
    /// What it changed.
    pub progress: Progress,
    /// How many past calls are kept.
    pub keep: u32,
    /// The words that the complaint shares with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Word>,
    /// The complaint quotes something of the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_named: bool,
    /// What came back says next to nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_terse: bool,
    /// The name of the end, where it has another than the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Digest>,
}

/// What became true of an agent's stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneFact {
    /// The stream was seen for the first time, or its session began again.
    Began {
        /// The client.
        client: String,
        /// The tree it belongs to, where that is not its own session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// The client was itself started by an agent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_nested: bool,
        /// It goes on from before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
        /// The door it is heard through, where its calls have no names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        door: Option<Digest>,
        /// The door that told of it, where they have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told_by: Option<Digest>,
        /// Nobody saw it begin: haltline was installed while it ran, or its memory was taken away.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
    },
    /// The policy is another one than at the last event.
    PolicyChanged {
        /// Its digest.
        policy: String,
    },
    /// A prompt.
    Prompted {
        /// By a person.
        by_user: bool,
        /// It was turned away: the turn had been ended, and only a person takes it up again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_refused: bool,
        /// The door that told of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        door: Option<Digest>,
    },
    /// A call started.
    Started {
        /// The call.
        flight: Flight,
        /// The response it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Digest>,
    },
    /// A call ended.
    Ended(Ending),
    /// A call's end was never seen.
    Unended {
        /// Which.
        call: Digest,
    },
    /// The end of a call that nobody saw start.
    Stray {
        /// Which.
        call: Digest,
        /// How it ended.
        outcome: Outcome,
    },
    /// A permission rule, or somebody else's hook, refused a call.
    Denied {
        /// Which.
        call: Digest,
        /// Its tool.
        tool: Digest,
        /// The name of its end: told again under that, it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<Digest>,
    },
    /// All calls of one response have ended.
    TurnEnded,
    /// A hook ran.
    HookRan {
        /// Which.
        name: Digest,
        /// How many are kept.
        keep: u32,
    },
    /// A sub-agent was started from here.
    Spawned {
        /// How many are kept.
        keep: u32,
    },
    /// The agent wanted to end its turn.
    Stopped {
        /// A hook had kept it going.
        blocked: bool,
        /// The door that told of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        door: Option<Digest>,
    },
    /// The conversation was shortened.
    Compacted {
        /// By whom.
        trigger: String,
        /// The door that told of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        door: Option<Digest>,
    },
    /// The client's transcript was read up to here.
    Reported {
        /// How far.
        offset: u64,
        /// The last responses that were counted.
        last: Option<String>,
    },
    /// A model response was paid for, and cost growth is watched.
    Responded {
        /// In millionths of a dollar, or in tokens where nobody knows the price.
        spent: u64,
    },
    /// The model said something, and chanting is watched.
    Spoke {
        /// What.
        said: Said,
    },
    /// Old files of the memory folder were put away (L9).
    MemoryCleaned {
        /// Telemetry files rotated.
        files_rotated: u64,
        /// Session states archived.
        sessions_pruned: u64,
        /// Bytes freed.
        bytes_freed: u64,
    },
    /// The session is over.
    Over {
        /// Why.
        reason: String,
        /// The door that told of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        door: Option<Digest>,
    },
    /// Of one of its circuits.
    Board(BoardFact),
}

impl LaneFact {
    /// Whether it must be on disk before it is answered.
    pub fn is_momentous(&self) -> bool {
        match self {
            LaneFact::Board(fact) => fact.is_momentous(),
            LaneFact::Began { .. }
            | LaneFact::PolicyChanged { .. }
            | LaneFact::Prompted { .. }
            | LaneFact::Started { .. }
            | LaneFact::Ended(_)
            | LaneFact::Unended { .. }
            | LaneFact::Stray { .. }
            | LaneFact::Denied { .. }
            | LaneFact::TurnEnded
            | LaneFact::HookRan { .. }
            | LaneFact::Spawned { .. }
            | LaneFact::Stopped { .. }
            | LaneFact::Compacted { .. }
            | LaneFact::Reported { .. }
            | LaneFact::Responded { .. }
            | LaneFact::Spoke { .. }
            | LaneFact::MemoryCleaned { .. }
            | LaneFact::Over { .. } => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            LaneFact::Began { .. } => "began",
            LaneFact::PolicyChanged { .. } => "policy_changed",
            LaneFact::Prompted { by_user: true, .. } => "prompted",
            LaneFact::Prompted { by_user: false, is_refused: false, .. } => "notified",
            LaneFact::Prompted { by_user: false, is_refused: true, .. } => "kept_stopped",
            LaneFact::Started { .. } => "started",
            LaneFact::Ended(Ending { is_failed: false, .. }) => "ended",
            LaneFact::Ended(Ending { is_failed: true, .. }) => "failed",
            LaneFact::Unended { .. } => "unended",
            LaneFact::Stray { .. } => "stray_end",
            LaneFact::Denied { .. } => "denied",
            LaneFact::TurnEnded => "turn_ended",
            LaneFact::HookRan { .. } => "hook_ran",
            LaneFact::Spawned { .. } => "spawned",
            LaneFact::Stopped { blocked: false, .. } => "stopping",
            LaneFact::Stopped { blocked: true, .. } => "kept_going",
            LaneFact::Compacted { .. } => "compacted",
            LaneFact::Reported { .. } => "reported",
            LaneFact::Responded { .. } => "responded",
            LaneFact::Spoke { .. } => "spoke",
            LaneFact::MemoryCleaned { .. } => "memory_cleaned",
            LaneFact::Over { .. } => "over",
            LaneFact::Board(fact) => fact.word(),
        }
    }
}
