//! What "the same" means (L4): one call is compared with another by its tool, its canonical arguments, its
//! normalised answer, and whether it wrote.
//!
//! Everything here is versioned by [`IDENTITY_VERSION`]: digests of different versions never match, so a better
//! rule starts counting anew instead of comparing what cannot be compared.

mod action;
mod answer;
mod arguments;
mod command;
mod path;
mod refusal;
mod said;
mod token;
mod tool;
mod volatile;
mod wording;
mod words;

use serde::{Deserialize, Serialize};

pub use refusal::still_runs;
pub use said::Said;
pub use wording::{is_same_wording, wording};
pub use words::{Complaint, Word, Words};

/// Rises whenever a digest of the same call would come out differently.
pub const IDENTITY_VERSION: u32 = 1;

/// A name of some content: equal contents have equal digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub u64);

impl Digest {
    /// The digest of `parts`, each preceded by its length so that no two lists of parts are taken for one another.
    pub fn of(parts: &[&[u8]]) -> Self {
        digest(parts)
    }
}

/// What a call is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The tool's name as the client says it.
    pub tool: String,
    /// The tool and its canonical arguments.
    pub identity: Digest,
    /// The shell command, where it is one.
    pub command: Option<String>,
    /// The file it is about, where there is one.
    pub path: Option<String>,
    /// All files it names, where it may change them: an editor, or a tool of a server.
    pub targets: Vec<String>,
    /// It starts a sub-agent.
    pub is_spawn: bool,
    /// It changes files if it succeeds.
    pub is_write: bool,
    /// It searches: an exit of 1 means "no match", not a failure.
    pub is_search: bool,
    /// It waits, and then looks: what it asks may be asked again.
    pub is_wait: bool,
    /// It saves work: an edit, or a plain `git add` or `git commit` (L7).
    pub is_saving: bool,
    /// The words of its arguments.
    pub words: Words,
    /// The action on one short line, as a person would write it. Not yet redacted.
    pub shown: String,
}

fn digest(parts: &[&[u8]]) -> Digest {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(&IDENTITY_VERSION.to_be_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    Digest(hasher.digest())
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was asked.
    Ok,
    /// It failed.
    Failed,
    /// The user said no.
    Rejected,
    /// A rule, a permission or a hook said no.
    Denied,
    /// A sibling failed, or somebody interrupted.
    Cancelled,
    /// The service said: too often, or no quota left.
    RateLimited,
    /// Nobody knows.
    Unknown,
}

/// Who denied a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// haltline itself.
    Haltline,
    /// The client's permission rules.
    Permission,
    /// Somebody else's hook.
    Hook,
}

/// What came back from a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub outcome: Outcome,
    /// Who denied it.
    pub by: Option<By>,
    /// The exit code, where there is one.
    pub exit: Option<i32>,
    /// The answer without its volatile parts; the exit code is in it.
    pub normal: Digest,
    /// The answer as it is.
    pub raw: Digest,
    /// The first telling line of it, short. Not yet redacted.
    pub shown: String,
    /// What a failure says.
    pub complaint: Complaint,
    /// It says next to nothing.
    pub is_terse: bool,
    /// What the call cost, in millionths of a dollar, where somebody said so.
    pub cost: Option<u64>,
    /// The sub-agent it started.
    pub child: Option<String>,
    /// The sub-agent it started goes on after this answer.
    pub is_running: bool,
}
