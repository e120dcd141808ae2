//! A call that has started and not ended, and what haltline knows of it before it runs.

use serde::{Deserialize, Serialize};

use super::way_out::only_prints;
use crate::identity::{Action, Digest, Looks, WordSet};

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
    /// The shapes of the lines that the command prints only for the reader.
    #[serde(rename = "prints", default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<Digest>,
}

/// What haltline knows of a call before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u16", into = "u16")]
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
    /// The call looks at something that may change by itself.
    pub may_poll: bool,
    /// The call only reads.
    pub is_reading: bool,
    /// The call may make a missing program available.
    pub is_setup: bool,
}

impl CallTraits {
    /// What the action alone says.
    pub(super) fn of(action: &Action) -> Self {
        let Action { is_write, is_search, is_spawn, is_wait, looks, .. } = *action;
        let Looks { may_poll, is_reading, is_setup, is_status: _ } = looks;
        let is_statement = only_prints(action);
        Self { is_write, is_search, is_spawn, is_wait, is_statement, may_poll, is_reading, is_setup, ..Self::default() }
    }
}

impl From<u16> for CallTraits {
    fn from(bits: u16) -> Self {
        Self {
            is_write: bits & 1 != 0,
            is_search: bits & 2 != 0,
            is_spawn: bits & 4 != 0,
            is_api: bits & 8 != 0,
            is_poller: bits & 16 != 0,
            is_wait: bits & 32 != 0,
            is_after_idle: bits & 64 != 0,
            is_statement: bits & 128 != 0,
            may_poll: bits & 256 != 0,
            is_reading: bits & 512 != 0,
            is_setup: bits & 1024 != 0,
        }
    }
}

impl From<CallTraits> for u16 {
    fn from(traits: CallTraits) -> Self {
        u16::from(traits.is_write)
            | u16::from(traits.is_search) << 1
            | u16::from(traits.is_spawn) << 2
            | u16::from(traits.is_api) << 3
            | u16::from(traits.is_poller) << 4
            | u16::from(traits.is_wait) << 5
            | u16::from(traits.is_after_idle) << 6
            | u16::from(traits.is_statement) << 7
            | u16::from(traits.may_poll) << 8
            | u16::from(traits.is_reading) << 9
            | u16::from(traits.is_setup) << 10
    }
}
