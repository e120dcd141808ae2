//! What makes two calls "the same" (L4): haltline compares their tools, their canonical arguments, their normalized
//! results, and whether they wrote.
//!
//! Everything here is versioned by [`IDENTITY_VERSION`]: digests of different versions never match, so an improved
//! rule restarts the counts instead of comparing what cannot be compared.

mod action;
mod argument_shape;
mod arguments;
mod call_result;
mod command;
mod denial;
mod error_kind;
mod label;
mod looks;
mod measure;
mod model_text;
mod noise;
mod path;
mod token;
mod tool;
mod volatile;
mod word_set;
mod wording;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::shell::Script;

pub use call_result::Edges;
pub use denial::is_still_running;
pub use model_text::ModelText;
pub use word_set::{ErrorText, WordHash, WordSet};
pub use wording::{is_same_wording, wording_digest};

/// Must be raised whenever the digest of the same call would change.
pub const IDENTITY_VERSION: u32 = 2;
/// Must be raised whenever [`Digest::from_parts`] would change; stored keys of agents and circuits depend on it.
const DIGEST_VERSION: u32 = 1;

/// A hash that identifies some content: equal contents have equal digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub u64);

impl Digest {
    /// Hashes `parts`, each preceded by its length so that two different lists of parts do not collide.
    pub fn from_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        hasher.update(&DIGEST_VERSION.to_be_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.digest())
    }
}

/// What a call is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The tool's name as the client spells it.
    pub tool: String,
    /// The digest of the tool and its canonical arguments.
    pub identity: Digest,
    /// The shell command, if the tool is a shell.
    pub command: Option<String>,
    /// What the call would run, if it runs a command or its arguments look like one. Every check reads this.
    pub script: Option<Arc<Script>>,
    /// The file the call is about, if there is one.
    pub path: Option<String>,
    /// All files the call names, if it may change them: the tool is an editor or belongs to an MCP server.
    pub targets: Vec<String>,
    /// True if the call starts a sub-agent.
    pub is_spawn: bool,
    /// True if the call changes files when it succeeds.
    pub is_write: bool,
    /// True if the call searches: exit code 1 then means "no match", not a failure.
    pub is_search: bool,
    /// True if the call waits before it looks, so the agent may legitimately repeat it.
    pub is_wait: bool,
    pub looks: Looks,
    /// The shapes of the lines that the command prints only for the reader.
    pub printed: Vec<Digest>,
    /// True if the call saves work: an edit, or a plain `git add` or `git commit` (L7).
    pub is_saving: bool,
    pub words: WordSet,
    /// The action on one short line, as a person would write it. Not redacted yet.
    pub shown: String,
}

/// What a call looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// True if the call looks at something that may change by itself.
    pub may_poll: bool,
    /// True if the call only reads.
    pub is_reading: bool,
    /// True if the call asks cheaply how things stand: `git status`, `ls`.
    pub is_status: bool,
    /// True if the call may make a missing program available.
    pub is_setup: bool,
}

/// How a call ended. The numbers are part of a result's digest and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool did what the call asked for.
    Ok = 0,
    Failed = 1,
    Rejected = 2,
    /// A rule, a permission or a hook denied the call.
    Denied = 3,
    /// The call was cancelled because a sibling call failed or somebody interrupted.
    Cancelled = 4,
    /// The service reported a rate limit or an exhausted quota.
    RateLimited = 5,
    Unknown = 6,
}

impl Outcome {
    /// True if the call ran and its result says something about the call.
    pub fn has_result(self) -> bool {
        match self {
            Outcome::Ok | Outcome::Failed => true,
            Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited | Outcome::Unknown => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeniedBy {
    Haltline,
    /// The client's permission rules.
    Permission,
    /// A hook other than haltline's.
    Hook,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    pub outcome: Outcome,
    pub denied_by: Option<DeniedBy>,
    /// The exit code, if there is one.
    pub exit: Option<i32>,
    /// The digest of the outcome, the exit code and the output without its volatile parts.
    pub normal: Digest,
    /// The digest of the unchanged output.
    pub raw: Digest,
    /// How to leave out the first or the last line.
    pub edges: Option<Edges>,
    /// The first meaningful line of the output, shortened. Not redacted yet.
    pub shown: String,
    /// The words of the error, if the call failed.
    pub error_text: ErrorText,
    /// The kind of the error, if the call failed and says one.
    pub error_kind: Option<Digest>,
    /// The program that is not there, if the call failed because of that.
    pub missing_program: Option<Digest>,
    /// True if the output says that nothing was found.
    pub finds_nothing: bool,
    /// True if the output is an acknowledgement or less.
    pub is_terse: bool,
    /// What the call cost in millionths of a dollar, if known.
    pub cost: Option<u64>,
    pub sub_agent: Option<String>,
    /// True if that sub-agent keeps running after this result.
    pub is_sub_agent_running: bool,
}
