//! What is told of an iteration.

use serde::{Deserialize, Serialize};

use super::{Metrics, PhaseName};
use crate::identity::{Answer, Digest, Outcome};

/// One iteration, as it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The phase it belongs to; the current one where nobody says.
    pub phase: Option<PhaseName>,
    /// Its number, where the caller counts.
    pub iteration: Option<u64>,
    /// Its numbers.
    pub metrics: Metrics,
    /// What was seen to change.
    pub signals: Vec<Signal>,
    /// The content of the work tree afterwards, where it was looked at.
    pub tree: Option<Digest>,
    /// The error it ended with.
    pub error: Option<ErrorSeen>,
    /// Why it says nothing about progress: a question, a plan, a limit, trouble outside.
    pub neutral: Option<String>,
    /// A permission was denied in it.
    pub denied: bool,
    /// What it took.
    pub spent: Spent,
}

/// A sign of progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Where it was seen.
    pub source: Source,
    /// How many: files, commits.
    pub count: u64,
}

/// Where a sign of progress was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Commits since the iteration's start.
    Commits,
    /// The index.
    Staged,
    /// Tracked files.
    Unstaged,
    /// New files.
    Untracked,
    /// Repositories below this one.
    Repositories,
    /// Other worktrees.
    Worktrees,
    /// Files, where there is no git.
    Files,
    /// Test results.
    Tests,
    /// A status block the agent wrote.
    Status,
    /// The caller looked, and says so.
    Caller,
}

impl Source {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Source::Commits => "commits",
            Source::Staged => "staged",
            Source::Unstaged => "unstaged",
            Source::Untracked => "untracked",
            Source::Repositories => "repositories",
            Source::Worktrees => "worktrees",
            Source::Files => "files",
            Source::Tests => "tests",
            Source::Status => "status",
            Source::Caller => "caller",
        }
    }

    /// Whether it is about the content of the work tree: undone work is none.
    pub(super) fn is_of_tree(self) -> bool {
        match self {
            Source::Commits
            | Source::Staged
            | Source::Unstaged
            | Source::Untracked
            | Source::Repositories
            | Source::Worktrees
            | Source::Files => true,
            Source::Tests | Source::Status | Source::Caller => false,
        }
    }
}

/// A sign of progress, weighed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// Where it was seen.
    pub source: Source,
    /// How many.
    pub count: u64,
    /// What it weighs in this iteration.
    pub weight: u32,
}

/// What tells one error from another (P3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorMark {
    /// SHA-256 of message and type, as seed 001 writes it.
    pub raw: String,
    /// The same without what changes from run to run; unknown for an error another program wrote down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Digest>,
}

impl ErrorMark {
    /// Whether it is the same error, by either hash.
    pub fn is_same(&self, other: &ErrorMark) -> bool {
        self.raw == other.raw || (self.normal.is_some() && self.normal == other.normal)
    }
}

/// An error, marked before anything was left out of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorSeen {
    /// What tells it from others.
    pub mark: ErrorMark,
    /// Its type.
    pub kind: String,
    /// What is shown of it.
    pub shown: String,
}

impl ErrorSeen {
    /// Marks an error by its whole text.
    pub fn new(kind: &str, message: &str) -> Self {
        use sha2::{Digest as _, Sha256};
        use std::fmt::Write;
        let mut raw = String::with_capacity(64);
        for byte in Sha256::new().chain_update(message).chain_update(kind).finalize() {
            write!(raw, "{byte:02x}").expect("writing to a String cannot fail");
        }
        let normal = |text| Answer::new(Outcome::Failed, None, text).normal.0.to_be_bytes();
        let normal = Digest::of(&[b"phase error", &normal(kind), &normal(message)]);
        let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let shown = match (kind.is_empty(), line.starts_with(kind)) {
            (true, _) | (false, true) => line.to_owned(),
            (false, false) => format!("{kind}: {line}"),
        };
        Self { mark: ErrorMark { raw, normal: Some(normal) }, kind: kind.to_owned(), shown }
    }
}

/// What iterations took, as far as anybody said; unknown is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Wall time in milliseconds.
    #[serde(default)]
    pub wall_ms: u64,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

impl Spent {
    /// Both together.
    pub fn plus(self, other: Spent) -> Spent {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (known, None) | (None, known) => known,
        };
        Spent {
            wall_ms: self.wall_ms.saturating_add(other.wall_ms),
            tokens: both(self.tokens, other.tokens),
            micros: both(self.micros, other.micros),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_seeds_and_a_timestamp_makes_no_new_error() {
        let seen = ErrorSeen::new("TypeError", "Cannot read property 'x' of undefined");
        // printf %s "Cannot read property 'x' of undefinedTypeError" | sha256sum
        assert_eq!(seen.mark.raw, "78cbf0c0bdcb64f99bd416b286dfa8084a29d0830d1e25a5e8189970618c7882");
        assert_eq!(seen.shown, "TypeError: Cannot read property 'x' of undefined");
        let one = ErrorSeen::new("Timeout", "2026-11-16T10:00:00Z request 1234 timed out after 3.2s");
        let other = ErrorSeen::new("Timeout", "2026-11-16T10:05:31Z request 1234 timed out after 7.9s");
        assert!(one.mark.raw != other.mark.raw && one.mark.is_same(&other.mark));
        assert!(!one.mark.is_same(&seen.mark));
        assert!(
            !one.mark
                .is_same(&ErrorSeen::new("Refused", "2026-11-16T10:00:00Z request 1234 timed out after 3.2s").mark)
        );
    }

    #[test]
    fn what_is_unknown_stays_unknown_in_a_sum() {
        let known = Spent { wall_ms: 5, tokens: Some(3), micros: None };
        assert_eq!(known.plus(Spent::default()), known);
        assert_eq!(known.plus(known), Spent { wall_ms: 10, tokens: Some(6), micros: None });
    }
}
