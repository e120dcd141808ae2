//! The facts about one agent, as its journal keeps them.

use serde::{Deserialize, Serialize};

use super::agent_state::is_default;
use super::circuits::CircuitFact;
use super::{InFlightCall, TurnEnd};
use crate::fact::{FactKind, synced, unsynced};
use crate::identity::{Digest, ModelText, Outcome, WordHash};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    None,
    /// The call wrote something new: repeats and failures counted before it no longer count (L4).
    Written,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    pub call: Digest,
    pub outcome: Outcome,
    /// Digest of the result without its volatile parts.
    pub normal: Digest,
    /// Digest of the result as it is.
    pub raw: Digest,
    /// True if the call failed and the agent caused the failure.
    pub is_failed: bool,
    pub progress: Progress,
    /// How many completed calls the agent's row keeps.
    pub keep: u32,
    /// The words that the error and the call have in common.
    #[serde(rename = "shared", default, skip_serializing_if = "Vec::is_empty")]
    pub shared_words: Vec<WordHash>,
    /// True if the error quotes a part of the call.
    #[serde(rename = "is_named", default, skip_serializing_if = "std::ops::Not::not")]
    pub quotes_call: bool,
    /// True if the result says next to nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_terse: bool,
    /// The id of the end, if the client gives start and end different ids.
    #[serde(rename = "end", default, skip_serializing_if = "Option::is_none")]
    pub end_id: Option<Digest>,
    /// True if the call ended the turn: it was a way out that ends work, or the same way out once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_turn: bool,
    /// The kind of the error, if the call failed and said one.
    #[serde(rename = "kind", default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<Digest>,
    /// The program that is not there, if the call failed because of that.
    #[serde(rename = "missing", default, skip_serializing_if = "Option::is_none")]
    pub missing_program: Option<Digest>,
    /// True if the call looked for something and found nothing.
    #[serde(rename = "in_vain", default, skip_serializing_if = "std::ops::Not::not")]
    pub finds_nothing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFact {
    /// haltline saw the agent for the first time, or its session started again.
    Began {
        client: String,
        /// The root session of the agent's tree, if that is not the agent's own session.
        #[serde(rename = "root", default, skip_serializing_if = "Option::is_none")]
        root_session: Option<String>,
        /// True if an agent started the client itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_nested: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
        /// The one hook source that haltline listens to; set only if the client sends no call ids.
        #[serde(rename = "door", default, skip_serializing_if = "Option::is_none")]
        hook_source: Option<Digest>,
        /// The hook source that delivered the event; set only if the client sends call ids.
        #[serde(rename = "told_by", default, skip_serializing_if = "Option::is_none")]
        delivered_by: Option<Digest>,
        /// haltline did not see the session start: somebody installed it while the session ran, or removed its store.
        #[serde(rename = "unseen", default, skip_serializing_if = "std::ops::Not::not")]
        missed_start: bool,
        /// The series of the model, if the client says it.
        #[serde(rename = "model", default, skip_serializing_if = "Option::is_none")]
        model_series: Option<String>,
    },
    /// The policy differs from the one at the last event.
    PolicyChanged {
        /// Digest of the new policy.
        policy: String,
    },
    Prompted {
        /// True if a person wrote the prompt.
        by_user: bool,
        /// True if haltline denied the prompt: it had ended the turn, and only a person may resume the agent.
        #[serde(rename = "is_refused", default, skip_serializing_if = "std::ops::Not::not")]
        is_denied: bool,
        /// True if spawns before the prompt no longer count towards the spawn rate.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        clears_spawns: bool,
        #[serde(rename = "door", default, skip_serializing_if = "Option::is_none")]
        hook_source: Option<Digest>,
    },
    Started {
        #[serde(rename = "flight")]
        call: InFlightCall,
        /// The id of the response that the call belongs to.
        #[serde(rename = "message", default, skip_serializing_if = "Option::is_none")]
        response: Option<Digest>,
    },
    Ended(Ending),
    /// haltline will never see the end of this call.
    Unended {
        call: Digest,
    },
    /// A call ended whose start haltline did not see.
    #[serde(rename = "stray")]
    EndWithoutStart {
        call: Digest,
        outcome: Outcome,
    },
    /// A permission rule, or a hook that is not haltline's, denied a call.
    #[serde(rename = "denied")]
    PermissionDenied {
        call: Digest,
        tool: Digest,
        /// The id of the end, by which haltline recognises a duplicate.
        #[serde(rename = "end", default, skip_serializing_if = "Option::is_none")]
        end_id: Option<Digest>,
    },
    /// The model service had to read a large prompt in full.
    PromptUncached {
        /// What it cost, in millionths of a dollar; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micros: Option<u64>,
    },
    /// The model service read a prompt from its cache again.
    PromptCached,
    /// All calls of one response have ended.
    TurnEnded,
    HookRan {
        /// Digest of the hook's name.
        name: Digest,
        /// How many runs the agent's row keeps.
        keep: u32,
    },
    Spawned {
        /// How many spawns the agent's row keeps.
        keep: u32,
    },
    /// The agent wanted to end its turn.
    Stopped {
        /// True if a Stop hook had kept it going.
        blocked: bool,
        #[serde(default, skip_serializing_if = "is_default")]
        end: TurnEnd,
        #[serde(rename = "door", default, skip_serializing_if = "Option::is_none")]
        hook_source: Option<Digest>,
    },
    Compacted {
        trigger: String,
        #[serde(rename = "door", default, skip_serializing_if = "Option::is_none")]
        hook_source: Option<Digest>,
        /// True if it came right after another one, or did not make the conversation shorter.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_useless: bool,
    },
    /// A sub-agent of this agent ended: that is news.
    #[serde(rename = "news")]
    SubAgentReported,
    /// haltline read the client's transcript up to `offset`.
    #[serde(rename = "reported")]
    TranscriptRead {
        offset: u64,
        /// The id of the last response that was counted.
        #[serde(rename = "last")]
        last_response: Option<String>,
    },
    /// A model response was paid for. Recorded only if cost growth is watched.
    Responded {
        /// In millionths of a dollar, or in tokens if the price is unknown.
        spent: u64,
    },
    /// The model wrote a text. Recorded only if chanting is watched.
    Spoke {
        #[serde(rename = "said")]
        text: ModelText,
    },
    /// haltline cleaned up old files of the memory folder (L9).
    MemoryCleaned {
        files_rotated: u64,
        /// Number of session states archived.
        sessions_pruned: u64,
        bytes_freed: u64,
    },
    /// A client's settings were changed so that haltline's hooks see less, or nothing; the text names the file and says what
    /// it does.
    HooksRemoved,
    /// An event of this session did not come from its client and was not believed; the text names the event.
    EventForged,
    #[serde(rename = "over")]
    SessionEnded {
        reason: String,
        #[serde(rename = "door", default, skip_serializing_if = "Option::is_none")]
        hook_source: Option<Digest>,
    },
    #[serde(rename = "board")]
    Circuit(CircuitFact),
}

impl AgentFact {
    /// The fact's stable name in listings, and whether it is synced.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            AgentFact::Began { .. } => unsynced("began"),
            AgentFact::PolicyChanged { .. } => unsynced("policy_changed"),
            AgentFact::Prompted { by_user: true, .. } => unsynced("prompted"),
            AgentFact::Prompted { by_user: false, is_denied: false, .. } => unsynced("notified"),
            AgentFact::Prompted { by_user: false, is_denied: true, .. } => unsynced("kept_stopped"),
            AgentFact::Started { .. } => unsynced("started"),
            AgentFact::Ended(Ending { is_failed: false, .. }) => unsynced("ended"),
            AgentFact::Ended(Ending { is_failed: true, .. }) => unsynced("failed"),
            AgentFact::Unended { .. } => unsynced("unended"),
            AgentFact::EndWithoutStart { .. } => unsynced("stray_end"),
            AgentFact::PermissionDenied { .. } => unsynced("denied"),
            AgentFact::PromptUncached { .. } => unsynced("prompt_uncached"),
            AgentFact::PromptCached => unsynced("prompt_cached"),
            AgentFact::TurnEnded => unsynced("turn_ended"),
            AgentFact::HookRan { .. } => unsynced("hook_ran"),
            AgentFact::Spawned { .. } => unsynced("spawned"),
            AgentFact::Stopped { blocked: false, .. } => unsynced("stopping"),
            AgentFact::Stopped { blocked: true, .. } => unsynced("kept_going"),
            AgentFact::Compacted { .. } => unsynced("compacted"),
            AgentFact::SubAgentReported => unsynced("sub_agent_reported"),
            AgentFact::TranscriptRead { .. } => unsynced("reported"),
            AgentFact::Responded { .. } => unsynced("responded"),
            AgentFact::Spoke { .. } => unsynced("spoke"),
            AgentFact::MemoryCleaned { .. } => unsynced("memory_cleaned"),
            AgentFact::HooksRemoved => synced("hooks_removed"),
            AgentFact::EventForged => synced("event_forged"),
            AgentFact::SessionEnded { .. } => unsynced("over"),
            AgentFact::Circuit(fact) => fact.kind(),
        }
    }
}
