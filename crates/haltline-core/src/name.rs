//! Names of circuits, and ids of the constraints some of them are named after (E8, E14).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attempt::SliceId;

/// The name of a row: `prefix/scope`, unique within a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CircuitName(String);

impl CircuitName {
    pub fn constraint(id: &ConstraintId) -> Self {
        Self(format!("constraint/{id}"))
    }

    /// The row that keeps the operator's trust in the project's own configuration.
    pub fn trust() -> Self {
        Self("trust/project-file".to_owned())
    }

    /// The row that keeps what a person switched for the project or for everything.
    pub fn control() -> Self {
        Self("control/operator".to_owned())
    }

    /// The row that counts what all agents of this machine use.
    pub fn machine_ledger() -> Self {
        Self("machine/budget".to_owned())
    }

    /// The row of the circuits of an account at a model service.
    pub fn provider(provider: &str, account: &str) -> Self {
        Self(format!("machine/provider/{}/{}", escape_part(provider), escape_part(account)))
    }

    /// The row that counts what all agents of a project use.
    pub fn project_ledger() -> Self {
        Self("budget/project".to_owned())
    }

    /// True for the rows that all projects of a machine share. They are kept with what concerns everything.
    pub fn is_machine_wide(&self) -> bool {
        self.0.starts_with("machine/")
    }

    /// The row of one agent: the session's main agent, or a sub-agent of it.
    pub fn agent(session: &str, agent: Option<&str>) -> Self {
        match agent {
            None => Self(format!("loop/{}", escape_part(session))),
            Some(agent) => Self(format!("loop/{}/agent/{}", escape_part(session), escape_part(agent))),
        }
    }

    /// The row of a root session and all its sub-agents.
    pub fn tree(root: &str) -> Self {
        Self(format!("tree/{}", escape_part(root)))
    }

    /// The row that lists false positives.
    pub fn exemptions() -> Self {
        Self("exempt/project".to_owned())
    }

    /// A phase run: the phases of a session folder, a `haltline run`, or Ralph's loops. Each worktree has its own
    /// (E14).
    pub fn phase_run(kind: &str, scope: &str, worktree: Option<&str>) -> Self {
        match worktree {
            None => Self(format!("phase/{kind}/{}", escape_part(scope))),
            Some(worktree) => Self(format!("phase/{kind}/{}@{}", escape_part(scope), escape_part(worktree))),
        }
    }

    /// A slice. Each worktree has its own (E14).
    pub fn slice(id: &SliceId, worktree: Option<&str>) -> Self {
        match worktree {
            None => Self(format!("attempt/{id}")),
            Some(worktree) => Self(format!("attempt/{id}@{}", escape_part(worktree))),
        }
    }

    pub fn claim(pipeline: &str, id: &str) -> Self {
        Self(format!("claim/{}/{}", escape_part(pipeline), escape_part(id)))
    }

    /// The row that indexes a pipeline's claims.
    pub fn pipeline(pipeline: &str) -> Self {
        Self(format!("claims/{}", escape_part(pipeline)))
    }

    /// True for the phase run of a loop, which stays in one phase.
    pub fn is_loop(&self) -> bool {
        ["phase/run/", "phase/ralph/"].iter().any(|prefix| self.0.starts_with(prefix))
    }

    /// Returns the name of something inside this row.
    pub fn below(&self, part: &str) -> Self {
        Self(format!("{}/{part}", self.0))
    }

    /// True for the rows of this session: its own, those of its sub-agents and that of its tree.
    pub fn belongs_to_session(&self, session: &str) -> bool {
        let agent = Self::agent(session, None);
        *self == agent || *self == Self::tree(session) || self.0.starts_with(&format!("{}/", agent.0))
    }

    /// Wraps a name that was read back from a store, without checking it.
    pub fn from_stored(name: String) -> Self {
        Self(name)
    }

    /// The part before the first slash.
    pub fn prefix(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// The part after the first slash.
    pub fn scope(&self) -> &str {
        self.0.split_once('/').map_or("", |(_prefix, scope)| scope)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Escapes a foreign name so that it is one part of ours: it cannot contain a slash, and a long one becomes a digest.
fn escape_part(name: &str) -> String {
    if name.len() > NAME_BYTES_MAX {
        return format!("~{}", crate::digest_hex(&[name.as_bytes()], 16));
    }
    let mut part = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '%' => part.push_str("%25"),
            '/' => part.push_str("%2F"),
            '~' if part.is_empty() => part.push_str("%7E"),
            other => part.push(other),
        }
    }
    part
}

/// A session's or an agent's name that is longer than this, in bytes, is replaced by a digest.
const NAME_BYTES_MAX: usize = 200;

/// Prints the name on one line, with control characters escaped, even if a damaged store holds a strange name.
impl fmt::Display for CircuitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.escape_debug())
    }
}

/// The id of a constraint. It is also a file name, so it is limited to characters every file system accepts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ConstraintId(String);

/// The text is not a valid constraint id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdError {
    shown: String,
}

impl ConstraintId {
    /// The maximum length of an id, in bytes.
    pub const BYTES_MAX: usize = 128;

    /// Accepts letters, digits, `.`, `_` and `-`, beginning with a letter or digit, without `..`.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let fits = is_plain(text, Self::BYTES_MAX) && !text.contains("..");
        if fits { Ok(Self(text.to_owned())) } else { Err(IdError { shown: shorten(text) }) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a text is safe in a file name and easy to type: letters, digits, `.`, `_` and `-`, beginning with a
/// letter or digit.
pub(crate) fn is_plain(text: &str, bytes_max: usize) -> bool {
    text.len() <= bytes_max
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// A number with its noun: `1 turn`, `2 turns`.
pub fn counted(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Formats a value for a one-line message: quoted, control characters escaped, shortened to fit on a line.
pub fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
        return format!("{shown:?} ({} bytes)", text.len());
    }
    format!("{shown:?}")
}

impl fmt::Display for ConstraintId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for IdError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "constraint id {}: expected letters, digits, '.', '_' or '-', without '..', at most {} bytes",
            self.shown,
            ConstraintId::BYTES_MAX
        )
    }
}
