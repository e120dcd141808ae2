//! Thresholds of each phase, and weights of the signals of progress.

use serde::{Deserialize, Serialize};

use super::{Kind, PhaseName, Source};

/// When a phase's circuit opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Iterations in a row without progress.
    pub no_progress: u32,
    /// Iterations in a row with the same error.
    pub same_error: u32,
}

/// How much each signal of progress weighs in an iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    pub commits: u32,
    pub staged: u32,
    /// Changes of tracked files.
    pub unstaged: u32,
    /// New files.
    pub untracked: u32,
    /// Changes in repositories below this one.
    pub repositories: u32,
    /// Changes in other work trees.
    pub worktrees: u32,
    /// Changed files where there is no git.
    pub files: u32,
    /// Better test results.
    pub tests: u32,
    /// What the agent reports in a status block.
    pub status: u32,
    /// An iteration whose signals weigh at least this much made progress.
    pub enough: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub red: Thresholds,
    pub green: Thresholds,
    pub refactor: Thresholds,
    pub document: Thresholds,
    pub qa: Thresholds,
    /// Phases that haltline does not know by name.
    pub other: Thresholds,
    /// Iterations of a loop.
    pub run: Thresholds,
    /// Neutral iterations in a row that end a loop: no person is there to answer.
    pub neutral: u32,
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

/// The limits that apply to a phase run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub thresholds: Thresholds,
    /// Iterations in a row with a denied permission that open the circuit; `None` = not counted.
    pub permission_denials: Option<u32>,
    /// Neutral iterations in a row that open the circuit; `None` = not counted.
    pub neutral: Option<u32>,
    /// How long the circuit stays OPEN before it becomes HALF_OPEN by itself; `None` = until a person decides.
    pub cooldown_ms: Option<u64>,
}

impl Bounds {
    /// haltline warns after this many iterations without progress (seed 001).
    const WARN_AT: u32 = 2;

    /// Number of iterations without progress at which haltline warns; never above the threshold that opens the circuit.
    pub fn warn_at(&self) -> u32 {
        Self::WARN_AT.min(self.thresholds.no_progress)
    }
}

impl Limits {
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
        Bounds { thresholds, permission_denials: None, neutral, cooldown_ms: None }
    }
}

impl Weights {
    pub fn weight_of(&self, source: Source) -> u32 {
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
