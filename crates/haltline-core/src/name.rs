//! Names of circuits, and of the constraints they are named after (E8, E14).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attempt::SliceId;

/// `family/scope`, unique within a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CircuitName(String);

impl CircuitName {
    /// The circuit of a constraint.
    pub fn constraint(id: &ConstraintId) -> Self {
        Self(format!("constraint/{id}"))
    }

    /// Where the operator's trust in the project's own configuration is kept.
    pub fn trust() -> Self {
        Self("trust/project-file".to_owned())
    }

    /// The row of one agent's stream.
    pub fn lane(session: &str, agent: Option<&str>) -> Self {
        match agent {
            None => Self(format!("loop/{}", one_part(session))),
            Some(agent) => Self(format!("loop/{}/agent/{}", one_part(session), one_part(agent))),
        }
    }

    /// The row of a root session and all its sub-agents.
    pub fn tree(root: &str) -> Self {
        Self(format!("tree/{}", one_part(root)))
    }

    /// Where false alarms are listed.
    pub fn exempt() -> Self {
        Self("exempt/project".to_owned())
    }

    /// A course of work: the phases of a session folder, a run, Ralph's loops. Worktrees have their own (E14).
    pub fn course(front: &str, scope: &str, worktree: Option<&str>) -> Self {
        match worktree {
            None => Self(format!("phase/{front}/{}", one_part(scope))),
            Some(worktree) => Self(format!("phase/{front}/{}@{}", one_part(scope), one_part(worktree))),
        }
    }

    /// A slice. Worktrees have their own (E14).
    pub fn slice(id: &SliceId, worktree: Option<&str>) -> Self {
        match worktree {
            None => Self(format!("attempt/{id}")),
            Some(worktree) => Self(format!("attempt/{id}@{}", one_part(worktree))),
        }
    }

    /// A claim of a pipeline.
    pub fn claim(pipeline: &str, id: &str) -> Self {
        Self(format!("claim/{}/{}", one_part(pipeline), one_part(id)))
    }

    /// A pipeline's index of claims.
    pub fn pipeline(pipeline: &str) -> Self {
        Self(format!("claims/{}", one_part(pipeline)))
    }

    /// Whether it is the course of a loop, which has one phase for ever.
    pub fn is_loop(&self) -> bool {
        ["phase/run/", "phase/ralph/"].iter().any(|front| self.0.starts_with(front))
    }

    /// The name of something within this one.
    pub fn below(&self, part: &str) -> Self {
        Self(format!("{}/{part}", self.0))
    }

    /// Whether it is a row of this session: its own, its sub-agents', its tree's.
    pub fn is_of_session(&self, session: &str) -> bool {
        let lane = Self::lane(session, None);
        *self == lane || *self == Self::tree(session) || self.0.starts_with(&format!("{}/", lane.0))
    }

    /// A name read back from a store.
    pub fn stored(name: String) -> Self {
        Self(name)
    }

    /// The part before the first slash.
    pub fn family(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// The part after the first slash.
    pub fn scope(&self) -> &str {
        self.0.split_once('/').map_or("", |(_family, scope)| scope)
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A foreign name as one part of ours: it cannot reach into another's, nor be longer than a line.
fn one_part(name: &str) -> String {
    if name.len() > NAME_BYTES_MAX {
        return format!("~{}", crate::digest_hex(&[name.as_bytes()], 16));
    }
    let mut part = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '%' => part.push_str("%25"),
            '/' => part.push_str("%2F"),
            '~' if part.is_empty() => part.push_str("%7E"),
            other => part.push(other),
        }
    }
    part
}

/// How long a session's or an agent's name may be, in bytes, before it is replaced by a digest.
const NAME_BYTES_MAX: usize = 200;

/// On one line whatever a damaged store says: control characters are escaped.
impl fmt::Display for CircuitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.escape_debug())
    }
}

/// The name of a constraint: also a file name, so it is kept to characters every file system takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ConstraintId(String);

/// The text cannot name a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdError {
    shown: String,
}

impl ConstraintId {
    /// How long an id may be, in bytes.
    pub const BYTES_MAX: usize = 128;

    /// Takes a text as an id: letters, digits, `.`, `_` and `-`, beginning with a letter or digit, without `..`.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let fits = is_plain(text, Self::BYTES_MAX) && !text.contains("..");
        if fits { Ok(Self(text.to_owned())) } else { Err(IdError { shown: shorten(text) }) }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text is safe in a file name and easy to type: letters, digits, `.`, `_` and `-`, beginning with a letter or
/// digit.
pub(crate) fn is_plain(text: &str, bytes_max: usize) -> bool {
    text.len() <= bytes_max
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// A value for a one-line message: quoted, control characters escaped, never longer than a line.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_plain_file_name() {
        for good in ["git-safety-force-push", "a", "C-12.v2", "x_y"] {
            assert_eq!(ConstraintId::parse(good).expect("good").as_str(), good);
        }
        let long = "a".repeat(129);
        for bad in ["", "a/b", "..", "a..b", ".hidden", "-flag", "a\nb", "é", " a", long.as_str()] {
            assert!(ConstraintId::parse(bad).is_err(), "{bad:?} should be refused");
        }
        assert!(ConstraintId::parse(&"a".repeat(128)).is_ok());
    }

    #[test]
    fn a_bad_id_is_shown_on_one_short_line() {
        let message = ConstraintId::parse(&"line\n".repeat(2000)).expect_err("bad").to_string();
        assert!(!message.contains('\n') && message.len() < 300, "{message}");
        assert!(message.contains("10000 bytes"), "{message}");
    }

    #[test]
    fn a_circuit_name_has_family_and_scope() {
        let name = CircuitName::constraint(&ConstraintId::parse("a.b").expect("good"));
        assert_eq!((name.family(), name.scope(), name.as_str()), ("constraint", "a.b", "constraint/a.b"));
        assert_eq!(CircuitName::trust().family(), "trust");
        assert_eq!(CircuitName::lane("s1", None).as_str(), "loop/s1");
        assert_eq!(CircuitName::lane("s1", Some("a")).below("repeat").as_str(), "loop/s1/agent/a/repeat");
        assert_ne!(CircuitName::lane("s1/agent/a", None), CircuitName::lane("s1", Some("a")));
        assert!(CircuitName::lane("s1", Some("a")).is_of_session("s1") && CircuitName::tree("s1").is_of_session("s1"));
        assert!(!CircuitName::lane("s10", None).is_of_session("s1"));
        assert!(CircuitName::tree(&"x".repeat(5000)).as_str().len() < 100);
        assert_eq!(name.to_string(), "constraint/a.b");
        assert_eq!(CircuitName::stored("constraint/a\nb".to_owned()).to_string(), "constraint/a\\nb");
    }
}
