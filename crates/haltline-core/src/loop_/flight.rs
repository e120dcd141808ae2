//! A call that has started and not ended, and what is known of it before it runs.

use serde::{Deserialize, Serialize};

use crate::identity::{Digest, Words};

/// A call that has started and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    /// Its name.
    pub call: Digest,
    /// The tool's name.
    pub tool: String,
    /// What it does.
    pub identity: Digest,
    /// The turn it started in.
    pub turn: u64,
    /// The board's generation then (E12).
    pub generation: u64,
    /// What is known of it.
    pub traits: Traits,
    /// What the client's transcript knows it by, where the call itself has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Digest>,
    /// The words of its arguments.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub words: Words,
}

/// What is known of a call before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
pub struct Traits {
    /// It writes if it succeeds.
    pub is_write: bool,
    /// It searches.
    pub is_search: bool,
    /// It starts a sub-agent.
    pub is_spawn: bool,
    /// It calls an external service.
    pub is_api: bool,
    /// It asks again by nature, and is not counted as a repeat.
    pub is_poller: bool,
    /// It waits before it looks: there is a reason to ask again.
    pub is_wait: bool,
    /// It comes after a good while in which nothing happened.
    pub is_rested: bool,
}

impl From<u8> for Traits {
    fn from(bits: u8) -> Self {
        Self {
            is_write: bits & 1 != 0,
            is_search: bits & 2 != 0,
            is_spawn: bits & 4 != 0,
            is_api: bits & 8 != 0,
            is_poller: bits & 16 != 0,
            is_wait: bits & 32 != 0,
            is_rested: bits & 64 != 0,
        }
    }
}

impl From<Traits> for u8 {
    fn from(traits: Traits) -> Self {
        u8::from(traits.is_write)
            | u8::from(traits.is_search) << 1
            | u8::from(traits.is_spawn) << 2
            | u8::from(traits.is_api) << 3
            | u8::from(traits.is_poller) << 4
            | u8::from(traits.is_wait) << 5
            | u8::from(traits.is_rested) << 6
    }
}
