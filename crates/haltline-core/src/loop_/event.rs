//! The events of the loop breaker: what one agent did, in the terms of plain events (docs/reference/events.md).

use serde::{Deserialize, Serialize};

use crate::ConstraintId;
use crate::attempt::Touched;
use crate::constraint::RuleFile;
use crate::identity::{Action, CallResult, ModelText};
use crate::loop_::{ProviderAccount, ProviderFault};

/// Which agent an event belongs to, and how its client delivers events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRef {
    pub session: String,
    /// The id of the sub-agent; `None` is the main agent of the session.
    pub sub_agent: Option<String>,
    /// The session that started this one, if the client or the environment says so.
    pub parent_session: Option<String>,
    /// The client's name, as plain events spell it.
    pub client: String,
    /// True if the client reports the end of each batch of calls (L3).
    pub marks_batches: bool,
    pub call_ids: CallIds,
    /// The configuration that delivered the event, if known: a client may deliver the same event from several.
    pub hook_source: Option<String>,
    /// Whose allowance the agent's requests use, if that is known.
    pub account: Option<ProviderAccount>,
    /// The `haltline run` that started the client, if one did.
    pub run: Option<String>,
}

/// Whether a client's call ids can be used to recognise a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallIds {
    /// Every call has an id that its start and its end share. haltline recognises duplicates by that id.
    #[default]
    Stable,
    /// The start and the end of a call have different ids, but each id is the same from every hook source. An end
    /// closes the oldest in-flight call with the same arguments; if there is none, the end is a duplicate.
    StartOnly,
    /// The client sends no call ids. Every start is a new call. An end closes the oldest in-flight call with the same
    /// arguments, or else the only one of its tool. Duplicates can be recognised only by their hook source, so haltline
    /// listens to one source per agent. An end without arguments comes from the transcript and closes the oldest call
    /// with that transcript id.
    None,
}

/// The kinds of events that carry no id. haltline recognises duplicates by their hook source: until the next call
/// starts or a minute has passed, it counts a kind only from the source that delivered it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnidentifiedEvent {
    Begin,
    Prompt,
    /// A prompt that the client sent by itself.
    Notice,
    /// The agent wants to end its turn.
    Stop,
    Compaction,
    End,
}

/// What is known of the end of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// Nothing that the agent started is known to run on.
    #[default]
    Idle,
    /// Something that the agent started still runs, so that it has a reason to wait.
    Waiting,
    /// The client reported this end before, and now it shows that something keeps the agent going.
    Reported,
}

/// The tokens of a model response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that were not read from the cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// A range of a client's transcript. It counts only if no other hook has read further in the meantime: hooks that run
/// in parallel read the same lines, or a few more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptRange {
    /// The offset where reading started.
    pub from: u64,
    /// The last response that was already counted when reading started.
    pub last_response: Option<String>,
    /// The offset where reading ended.
    pub to: u64,
    /// The last prompt by a person in the range, if the transcript marks such prompts; the value says whether it lifts
    /// the spawn limits.
    pub prompt: Option<bool>,
    /// Calls that ended in the range, by call id, with their results. Calls that are not in flight are ignored.
    pub ended: Vec<(String, CallResult)>,
}

/// A constraint that guards an action (C8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    pub id: ConstraintId,
    /// What the constraint's file says now.
    pub file: Option<RuleFile>,
}

/// What a call must not touch. Only the engine can know it: it reads constraint files, scopes and paths.
///
/// A reader that builds a [`LoopEvent::ToolStart`] from a payload or a transcript leaves it `Missing`, and the core rejects a
/// call whose context is still missing. So a front that forgets to gather it fails; it never lets a call through as if
/// there were nothing to protect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallContext {
    Missing,
    Gathered(Protections),
}

/// What stands between a call and its execution, apart from the loop breaker's own circuits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protections {
    /// The constraints whose guards cover the call.
    pub guarded: Vec<Guarded>,
    /// The files that the call would change; filled only while slices are under way.
    pub touched: Vec<Touched>,
    /// If the call would touch haltline itself: what it would do, as the end of "this would …" (E6).
    pub tampering: Option<String>,
}

/// Something that happened in one agent's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopEvent {
    /// The session starts, or is resumed.
    SessionStart {
        model: Option<String>,
        resumed: bool,
        /// True if an agent started the client itself (L8).
        is_nested: bool,
    },
    /// The agent gets a prompt.
    Prompt {
        /// True if a person wrote it; false for a prompt that the client sent by itself, such as a sub-agent's result.
        by_user: bool,
        /// True if the prompt has `SUDO PARALLEL` on a line by itself (L8).
        bypass: bool,
    },
    /// Model responses since the last report. The reporter must count each response once.
    Message {
        /// `None` if unknown.
        usage: Option<Usage>,
        /// In millionths of a dollar; `None` if the price is unknown.
        cost: Option<u64>,
        /// The model, if one answered and the client says which.
        model: Option<String>,
        /// The range of the client's transcript that these responses were read from, if they were.
        range: Option<TranscriptRange>,
        /// The id of the last response that was counted.
        last_response: Option<String>,
        /// The text of the last response, if known.
        text: Option<ModelText>,
    },
    /// The client is about to call the model: the calls of the last response are over. A retried request is reported
    /// again.
    ModelStart,
    /// A call is about to run, and waits for haltline's verdict.
    ToolStart {
        call: String,
        /// The id of the response that the call belongs to, if the client says it.
        response: Option<String>,
        action: Box<Action>,
        context: CallContext,
    },
    ToolEnd {
        call: String,
        /// The call's action, if the client repeats it.
        action: Option<Box<Action>>,
        result: Box<CallResult>,
    },
    /// All calls of one response have ended (L3). A call that has not ended by now never will.
    Batch {
        ends: Vec<BatchEnd>,
    },
    SpawnStart {
        sub_agent: String,
        /// The depth below the main agent, if known.
        depth: Option<u32>,
    },
    SpawnEnd {
        /// The sub-agent's id. If the client does not say it, haltline assumes the sub-agent that started first.
        sub_agent: Option<String>,
    },
    /// A hook of the client ran.
    Hook {
        name: String,
    },
    /// The agent wants to end its turn.
    Stop {
        /// True if a Stop hook kept the agent going before.
        blocked: bool,
        /// The sub-agents that still run, if the client lists them.
        running: Option<Vec<String>>,
        end: TurnEnd,
    },
    /// A model service answered with a limit or an error of its own, which ended the turn.
    ProviderFault(ProviderFault),
    /// The client compacted the conversation.
    Compaction {
        /// What caused it, such as `auto`.
        trigger: String,
        /// Whether it made the conversation shorter, if the client says it.
        has_shrunk: Option<bool>,
    },
    /// haltline cleaned up old files of the memory folder (L9).
    Cleanup {
        files_rotated: u64,
        /// Number of session states archived.
        sessions_pruned: u64,
        bytes_freed: u64,
    },
    /// Somebody changed a client's settings so that haltline's hooks see less, or nothing (E6).
    HooksRemoved {
        /// The settings file.
        file: String,
        /// What the file does now, as the end of a sentence.
        what: String,
        /// True if the client asks before the change takes effect, so that denying it prevents it.
        is_preventable: bool,
    },
    /// Somebody other than the client delivered an event of this session (E6). It is not believed.
    Forged {
        /// The event's name, as the payload spells it.
        name: String,
    },
    SessionEnd {
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchEnd {
    pub call: String,
    pub action: Action,
    pub result: CallResult,
}

impl LoopEvent {
    /// The event's kind, if the event has no id by which haltline could recognise a duplicate.
    pub fn unidentified(&self) -> Option<UnidentifiedEvent> {
        match self {
            LoopEvent::SessionStart { .. } => Some(UnidentifiedEvent::Begin),
            LoopEvent::Prompt { by_user: true, .. } => Some(UnidentifiedEvent::Prompt),
            LoopEvent::Prompt { by_user: false, .. } => Some(UnidentifiedEvent::Notice),
            LoopEvent::Stop { .. } => Some(UnidentifiedEvent::Stop),
            LoopEvent::Compaction { .. } => Some(UnidentifiedEvent::Compaction),
            LoopEvent::SessionEnd { .. } => Some(UnidentifiedEvent::End),
            // These have ids, count nothing, or come from one source only.
            LoopEvent::Message { .. }
            | LoopEvent::ModelStart
            | LoopEvent::ToolStart { .. }
            | LoopEvent::ToolEnd { .. }
            | LoopEvent::Batch { .. }
            | LoopEvent::SpawnStart { .. }
            | LoopEvent::SpawnEnd { .. }
            | LoopEvent::Hook { .. }
            | LoopEvent::ProviderFault(_)
            | LoopEvent::Cleanup { .. }
            | LoopEvent::HooksRemoved { .. }
            | LoopEvent::Forged { .. } => None,
        }
    }

    /// True if the event could free its agent: it resets counts, lifts limits, closes circuits, or ends something that
    /// is counted. Only the agent's client may report it (E6).
    pub fn could_free(&self) -> bool {
        match self {
            LoopEvent::SessionStart { .. }
            | LoopEvent::Prompt { .. }
            | LoopEvent::ModelStart
            | LoopEvent::ToolEnd { .. }
            | LoopEvent::Batch { .. }
            | LoopEvent::SpawnEnd { .. }
            | LoopEvent::Stop { .. }
            | LoopEvent::Compaction { .. }
            | LoopEvent::SessionEnd { .. } => true,
            LoopEvent::Message { .. }
            | LoopEvent::ToolStart { .. }
            | LoopEvent::SpawnStart { .. }
            | LoopEvent::Hook { .. }
            | LoopEvent::ProviderFault(_)
            | LoopEvent::Cleanup { .. }
            | LoopEvent::HooksRemoved { .. }
            | LoopEvent::Forged { .. } => false,
        }
    }

    /// The event's stable name in the journal, as plain events spell it.
    pub fn cause(&self) -> &'static str {
        match self {
            LoopEvent::SessionStart { .. } => "session_start",
            LoopEvent::Prompt { .. } => "prompt",
            LoopEvent::Message { .. } => "message",
            LoopEvent::ModelStart => "model_start",
            LoopEvent::ToolStart { .. } => "tool_start",
            LoopEvent::ToolEnd { .. } => "tool_end",
            LoopEvent::Batch { .. } => "batch",
            LoopEvent::SpawnStart { .. } => "spawn_start",
            LoopEvent::SpawnEnd { .. } => "spawn_end",
            LoopEvent::Hook { .. } => "hook",
            LoopEvent::Stop { .. } => "stop",
            LoopEvent::ProviderFault(_) => "provider_fault",
            LoopEvent::Compaction { .. } => "compaction",
            LoopEvent::Cleanup { .. } => "cleanup",
            LoopEvent::HooksRemoved { .. } => "hooks_removed",
            LoopEvent::Forged { .. } => "forged",
            LoopEvent::SessionEnd { .. } => "session_end",
        }
    }
}
