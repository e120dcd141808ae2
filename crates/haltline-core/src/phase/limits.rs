//! How much patience each phase has, and how much each sign of progress weighs.

use serde::{Deserialize, Serialize};

use super::{Kind, PhaseName, Source};

/// When a phase's circuit opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// After this many iterations without progress.
    pub no_progress: u32,
    /// After this many iterations with the same error.
    pub same_error: u32,
}

/// How much each sign of progress weighs in an iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// Commits since the iteration's start.
    pub commits: u32,
    /// Staged changes.
    pub staged: u32,
    /// Changes of tracked files.
    pub unstaged: u32,
    /// New files.
    pub untracked: u32,
    /// Changes in repositories below.
    pub repositories: u32,
    /// Changes in other worktrees.
    pub worktrees: u32,
    /// Changed files where there is no git.
    pub files: u32,
    /// Better test results.
    pub tests: u32,
    /// What the agent says of itself in a status block.
    pub status: u32,
    /// An iteration whose signs weigh this much made progress.
    pub enough: u32,
}

/// The limits of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// RED.
    pub red: Thresholds,
    /// GREEN.
    pub green: Thresholds,
    /// REFACTOR.
    pub refactor: Thresholds,
    /// DOCUMENT.
    pub document: Thresholds,
    /// QA.
    pub qa: Thresholds,
    /// Phases haltline was not told about.
    pub other: Thresholds,
    /// Iterations of a loop.
    pub run: Thresholds,
    /// So many neutral iterations in a row end a loop: nobody is there to answer.
    pub neutral: u32,
    /// What signs of progress weigh.
    pub weights: Weights,
}

impl Default for Limits {
    fn default() -> Self {
        let standard = Thresholds { no_progress: 3, same_error: 5 };
        Self {
            red: standard,
            green: Thresholds { no_progress: 2, same_error: 3 },
            refactor: Thresholds { no_progress: 5, same_error: 5 },
            document: standard,
            qa: Thresholds { no_progress: 3, same_error: 3 },
            other: standard,
            run: standard,
            neutral: 10,
            weights: Weights {
                commits: 2,
                staged: 2,
                unstaged: 2,
                untracked: 2,
                repositories: 2,
                worktrees: 2,
                files: 2,
                tests: 2,
                status: 1,
                enough: 2,
            },
        }
    }
}

/// The limits of one course of work, as they apply to what happens now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// When it opens.
    pub thresholds: Thresholds,
    /// After this many iterations in a row with denied permissions, where they are counted.
    pub denials: Option<u32>,
    /// After this many neutral iterations in a row, where they are counted.
    pub neutral: Option<u32>,
    /// How long it stays OPEN before it is monitored again by itself; `None` = until a person decides.
    pub cooldown_ms: Option<u64>,
}

impl Bounds {
    /// So many iterations without progress are told (seed 001).
    const WARNED_AT: u32 = 2;

    /// After how many iterations without progress it is warned: never later than it opens.
    pub fn warned_at(&self) -> u32 {
        Self::WARNED_AT.min(self.thresholds.no_progress)
    }
}

impl Limits {
    /// What applies in a phase.
    pub fn bounds(&self, phase: &PhaseName) -> Bounds {
        let kind = phase.kind();
        let thresholds = match kind {
            Kind::Red => self.red,
            Kind::Green => self.green,
            Kind::Refactor => self.refactor,
            Kind::Document => self.document,
            Kind::Qa => self.qa,
            Kind::Loop => self.run,
            Kind::Other => self.other,
        };
        let neutral = (kind == Kind::Loop).then_some(self.neutral);
        Bounds { thresholds, denials: None, neutral, cooldown_ms: None }
    }
}

impl Weights {
    /// What a sign of progress weighs.
    pub fn of(&self, source: Source) -> u32 {
        match source {
            Source::Commits => self.commits,
            Source::Staged => self.staged,
            Source::Unstaged => self.unstaged,
            Source::Untracked => self.untracked,
            Source::Repositories => self.repositories,
            Source::Worktrees => self.worktrees,
            Source::Files => self.files,
            Source::Tests => self.tests,
            Source::Status => self.status,
            Source::Caller => self.enough,
        }
    }
}
