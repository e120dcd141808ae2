//! What an agent does, in the words of the plain events (EVENTS.md).

use serde::{Deserialize, Serialize};

use crate::ConstraintId;
use crate::attempt::Touched;
use crate::constraint::Seen;
use crate::identity::{Action, Answer, Said};

/// Whose doing it is: one agent's own stream of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The session.
    pub session: String,
    /// The sub-agent; `None` is the main one.
    pub agent: Option<String>,
    /// The session that started this one, where somebody says so.
    pub root: Option<String>,
    /// The client, as plain events spell it.
    pub client: String,
    /// The client marks the end of each batch of calls (L3).
    pub is_batched: bool,
    /// How its calls are told apart.
    pub naming: Naming,
    /// The configuration that tells of it, where somebody says: a client may tell the same through several.
    pub door: Option<String>,
}

/// How the calls of a client are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Each has a name: one that is told twice is known by it.
    #[default]
    Own,
    /// Each start has one and each end another, the same through every door. An end belongs to the oldest call of the same
    /// words; without such a call it was told before.
    Begun,
    /// None has. Each start is a call, and an end belongs to the oldest of the same words, or to the only one of its tool. What
    /// is told twice can then only be known by who tells it, so each stream is heard through one door. An end without words
    /// is the transcript's, and belongs to the oldest of that name.
    Counted,
}

/// A kind of event that has no name. Told twice it is known by who tells: until a call begins or some time has passed, the
/// events of a kind are heard through the door that told of the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nameless {
    /// The session begins.
    Begin,
    /// A person asks.
    Prompt,
    /// The client asks.
    Notice,
    /// The agent wants to end its turn.
    Stop,
    /// The conversation is shortened.
    Compaction,
    /// The session is over.
    End,
}

/// What a model response took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Fresh tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
}

/// A passage of a client's transcript. It counts only where nobody has read on in the meantime: hooks that run beside each
/// other see the same lines, or some more of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// How far the transcript had been read.
    pub from: u64,
    /// The last response that had been counted.
    pub known: Option<String>,
    /// How far it is read now.
    pub to: u64,
    /// The last prompt of a person in it, where the transcript tells them from others: whether it lifts the spawn limits.
    pub prompt: Option<bool>,
    /// Calls that are over, by their names, with what came back. Those that are not in flight say nothing new.
    pub ended: Vec<(String, Answer)>,
}

/// A constraint that stands in front of an action (C8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// Which.
    pub id: ConstraintId,
    /// What its file says now.
    pub seen: Option<Seen>,
}

/// What happened in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The session begins, or is taken up again.
    SessionStart {
        /// The model, where it is known.
        model: Option<String>,
        /// It goes on from before.
        resumed: bool,
        /// The client itself was started by an agent (L8).
        is_nested: bool,
    },
    /// Somebody, or something, asks.
    Prompt {
        /// A person, not a notification.
        by_user: bool,
        /// `SUDO PARALLEL` on a line of its own (L8).
        bypass: bool,
    },
    /// Model responses since the last report: each was counted once by whoever reports.
    Message {
        /// The tokens; `None` where nobody knows.
        usage: Option<Usage>,
        /// In millionths of a dollar; `None` where nobody knows the price.
        cost: Option<u64>,
        /// The passage of the client's transcript that says so, where it was read.
        offset: Option<Passage>,
        /// The last response that was counted.
        last: Option<String>,
        /// What the last of them said, where that is known.
        said: Option<Said>,
    },
    /// The model is about to be asked: the calls of its last response are over. Told again for a request that is tried again.
    ModelStart,
    /// A call is about to run.
    ToolStart {
        /// Its name.
        call: String,
        /// The response it belongs to, where the client says.
        message: Option<String>,
        /// What it would do.
        action: Box<Action>,
        /// Constraints whose guards cover it.
        guarded: Vec<Guarded>,
        /// Files it changes, where slices are under way.
        touched: Vec<Touched>,
        /// It reaches for haltline itself: what it would do, as the end of "this would …" (E6).
        tampering: Option<String>,
    },
    /// A call ended.
    ToolEnd {
        /// Its name.
        call: String,
        /// What it did, where the client repeats it.
        action: Option<Box<Action>>,
        /// What came back.
        answer: Box<Answer>,
    },
    /// All calls of one response have ended (L3). What has not ended by now never will.
    Batch {
        /// The calls of it.
        ends: Vec<BatchEnd>,
    },
    /// A sub-agent begins.
    SpawnStart {
        /// Its name.
        child: String,
        /// How deep below the main agent, where somebody says so.
        depth: Option<u32>,
    },
    /// A sub-agent ends.
    SpawnEnd {
        /// Its name; where the client does not say it, the one that began first is meant.
        child: Option<String>,
    },
    /// A hook of the client ran.
    Hook {
        /// Which.
        name: String,
    },
    /// The agent wanted to end its turn.
    Stop {
        /// A hook kept it going before.
        blocked: bool,
        /// The sub-agents that still run, where the client lists them.
        running: Option<Vec<String>>,
    },
    /// The conversation was shortened.
    Compaction {
        /// By whom.
        trigger: String,
    },
    /// Old files of the memory folder were put away (L9).
    Cleanup {
        /// Telemetry files rotated.
        files_rotated: u64,
        /// Session states archived.
        sessions_pruned: u64,
        /// Bytes freed.
        bytes_freed: u64,
    },
    /// The session is over.
    SessionEnd {
        /// Why.
        reason: String,
    },
}

/// One call of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchEnd {
    /// Its name.
    pub call: String,
    /// What it did.
    pub action: Action,
    /// What came back.
    pub answer: Answer,
}

impl Happening {
    /// Its kind, where it has no name to be known by.
    pub fn nameless(&self) -> Option<Nameless> {
        match self {
            Happening::SessionStart { .. } => Some(Nameless::Begin),
            Happening::Prompt { by_user: true, .. } => Some(Nameless::Prompt),
            Happening::Prompt { by_user: false, .. } => Some(Nameless::Notice),
            Happening::Stop { .. } => Some(Nameless::Stop),
            Happening::Compaction { .. } => Some(Nameless::Compaction),
            Happening::SessionEnd { .. } => Some(Nameless::End),
            // These have names, count nothing, or come through one door only.
            Happening::Message { .. }
            | Happening::ModelStart
            | Happening::ToolStart { .. }
            | Happening::ToolEnd { .. }
            | Happening::Batch { .. }
            | Happening::SpawnStart { .. }
            | Happening::SpawnEnd { .. }
            | Happening::Hook { .. }
            | Happening::Cleanup { .. } => None,
        }
    }

    /// The word the journal keeps, as plain events spell it.
    pub fn cause(&self) -> &'static str {
        match self {
            Happening::SessionStart { .. } => "session_start",
            Happening::Prompt { .. } => "prompt",
            Happening::Message { .. } => "message",
            Happening::ModelStart => "model_start",
            Happening::ToolStart { .. } => "tool_start",
            Happening::ToolEnd { .. } => "tool_end",
            Happening::Batch { .. } => "batch",
            Happening::SpawnStart { .. } => "spawn_start",
            Happening::SpawnEnd { .. } => "spawn_end",
            Happening::Hook { .. } => "hook",
            Happening::Stop { .. } => "stop",
            Happening::Compaction { .. } => "compaction",
            Happening::Cleanup { .. } => "cleanup",
            Happening::SessionEnd { .. } => "session_end",
        }
    }
}
