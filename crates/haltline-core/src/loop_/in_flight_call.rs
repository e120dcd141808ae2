//! A call that has started and not ended, and what haltline knows of it before it runs.

use serde::{Deserialize, Serialize};

use super::way_out::only_prints;
use crate::identity::{Action, Digest, WordSet};

/// A call that has started and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlightCall {
    #[serde(rename = "call")]
    pub id: Digest,
    pub tool: String,
    pub identity: Digest,
    pub turn: u64,
    /// The generation of the agent's circuits when the call started (E12).
    pub generation: u64,
    pub traits: CallTraits,
    /// The id under which the client's transcript lists the call, if the client sends no call ids.
    #[serde(rename = "name", default, skip_serializing_if = "Option::is_none")]
    pub transcript_id: Option<Digest>,
    #[serde(default, skip_serializing_if = "WordSet::is_empty")]
    pub words: WordSet,
}

/// What haltline knows of a call before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
pub struct CallTraits {
    /// The call writes something if it succeeds.
    pub is_write: bool,
    pub is_search: bool,
    /// The call starts a sub-agent.
    pub is_spawn: bool,
    /// The call uses an external service.
    pub is_api: bool,
    /// The call polls by nature, and does not count as a repeat.
    pub is_poller: bool,
    /// The call waits before it checks something, so there is a reason to repeat it.
    pub is_wait: bool,
    /// The agent was idle for a while before the call.
    pub is_after_idle: bool,
    /// The call only says something: it is a way out, or prints its own words. Its result is no news.
    pub is_statement: bool,
}

impl CallTraits {
    /// What the action alone says.
    pub(super) fn of(action: &Action) -> Self {
        let Action { is_write, is_search, is_spawn, is_wait, .. } = *action;
        Self { is_write, is_search, is_spawn, is_wait, is_statement: only_prints(action), ..Self::default() }
    }
}

impl From<u8> for CallTraits {
    fn from(bits: u8) -> Self {
        Self {
            is_write: bits & 1 != 0,
            is_search: bits & 2 != 0,
            is_spawn: bits & 4 != 0,
            is_api: bits & 8 != 0,
            is_poller: bits & 16 != 0,
            is_wait: bits & 32 != 0,
            is_after_idle: bits & 64 != 0,
            is_statement: bits & 128 != 0,
        }
    }
}

impl From<CallTraits> for u8 {
    fn from(traits: CallTraits) -> Self {
        u8::from(traits.is_write)
            | u8::from(traits.is_search) << 1
            | u8::from(traits.is_spawn) << 2
            | u8::from(traits.is_api) << 3
            | u8::from(traits.is_poller) << 4
            | u8::from(traits.is_wait) << 5
            | u8::from(traits.is_after_idle) << 6
            | u8::from(traits.is_statement) << 7
    }
}
