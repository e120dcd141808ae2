//! The report of one iteration: what callers tell haltline when it ends.

use serde::{Deserialize, Serialize};

use super::{Metrics, PhaseName};
use crate::identity::{CallResult, Digest, Outcome};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The phase it belongs to; `None` = the current one.
    pub phase: Option<PhaseName>,
    /// Its number, where the caller counts.
    pub iteration: Option<u64>,
    pub metrics: Metrics,
    /// Signals of progress that the caller observed.
    pub signals: Vec<Signal>,
    /// Digest of the work tree's content afterwards, if a snapshot was taken.
    pub tree: Option<Digest>,
    pub error: Option<ReportedError>,
    /// Why it says nothing about progress: the agent had a question or made a plan, hit a limit, or met trouble
    /// outside.
    pub neutral: Option<String>,
    pub permission_denied: bool,
    pub spent: Spent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    pub source: Source,
    /// How many files, commits and so on.
    pub count: u64,
}

/// Where a signal of progress was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Commits since the iteration's start.
    Commits,
    /// The git index.
    Staged,
    /// Changes of tracked files.
    Unstaged,
    /// New files.
    Untracked,
    Repositories,
    /// Other work trees of the repository.
    Worktrees,
    /// Changed files where there is no git.
    Files,
    Tests,
    /// A status block the agent wrote.
    Status,
    /// The caller's own statement that there was progress.
    Caller,
}

impl Source {
    pub fn as_str(self) -> &'static str {
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

    /// True if it is about the content of the work tree: such a signal weighs nothing when the work was undone.
    pub(super) fn is_about_work_tree(self) -> bool {
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedSignal {
    pub source: Source,
    pub count: u64,
    /// 0 if it does not count in this iteration.
    pub weight: u32,
}

/// Tells one error from another (P3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFingerprint {
    /// SHA-256 of message and type, as seed 001 writes it.
    pub raw: String,
    /// Digest without the parts that change from run to run; `None` for an error that another program recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Digest>,
}

impl ErrorFingerprint {
    /// True if either hash is equal.
    pub fn is_same(&self, other: &ErrorFingerprint) -> bool {
        self.raw == other.raw || (self.normal.is_some() && self.normal == other.normal)
    }
}

/// An error, with a fingerprint that was made before its text was masked or cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedError {
    pub fingerprint: ErrorFingerprint,
    pub kind: String,
    /// The line that haltline displays.
    pub shown: String,
}

impl ReportedError {
    /// Makes the fingerprint from the whole text.
    pub fn new(kind: &str, message: &str) -> Self {
        use sha2::{Digest as _, Sha256};
        use std::fmt::Write;
        let mut raw = String::with_capacity(64);
        for byte in Sha256::new().chain_update(message).chain_update(kind).finalize() {
            write!(raw, "{byte:02x}").expect("writing to a String cannot fail");
        }
        let normal = |text| CallResult::new(Outcome::Failed, None, text).normal.0.to_be_bytes();
        let normal = Digest::from_parts(&[b"phase error", &normal(kind), &normal(message)]);
        let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let shown = match (kind.is_empty(), line.starts_with(kind)) {
            (true, _) | (false, true) => line.to_owned(),
            (false, false) => format!("{kind}: {line}"),
        };
        Self { fingerprint: ErrorFingerprint { raw, normal: Some(normal) }, kind: kind.to_owned(), shown }
    }
}

/// What iterations cost, as far as the caller knows; unknown is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    #[serde(default)]
    pub wall_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

impl Spent {
    /// The sum of both.
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
