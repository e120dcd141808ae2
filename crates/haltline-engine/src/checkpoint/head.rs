//! Where HEAD points, and which git operation is in progress.

use std::fs;

use super::error::CheckpointError;
use super::work_tree::{WorkTree, run_for_line, run_for_optional_line};
use crate::project::read_pointer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// `None` if the branch has no commit yet.
    pub commit: Option<String>,
    /// The branch as `refs/heads/…`; `None` if HEAD is detached.
    pub branch: Option<String>,
}

impl Head {
    pub(super) fn read(work_tree: &WorkTree) -> Result<Self, CheckpointError> {
        let git = work_tree.plain();
        Ok(Self {
            commit: run_for_optional_line(&git, &["rev-parse", "-q", "--verify", "HEAD^{commit}"])?,
            branch: match branch_from_file(work_tree) {
                Some(known) => known,
                None => run_for_optional_line(&git, &["symbolic-ref", "-q", "HEAD"])?,
            },
        })
    }

    /// How many commits HEAD has that `then` did not have.
    pub(super) fn commits_since(&self, then: &Self, work_tree: &WorkTree) -> Result<u64, CheckpointError> {
        let Some(now) = self.commit.as_deref().filter(|_| self.commit != then.commit) else { return Ok(0) };
        let range = then.commit.as_ref().map_or(now.to_owned(), |then| format!("{then}..{now}"));
        let count = run_for_line(&work_tree.plain(), &["rev-list", "--count", &range, "--"])?;
        Ok(count.trim().parse().unwrap_or(0))
    }

    /// Moves the branch, or the detached HEAD, to the commit of `then`. Runs no hook and touches no file.
    pub(super) fn move_to(&self, then: &Self, work_tree: &WorkTree) -> Result<(), CheckpointError> {
        let name = self.branch.as_deref().unwrap_or("HEAD");
        let git = work_tree
            .plain()
            .variable("GIT_COMMITTER_NAME", "haltline")
            .variable("GIT_COMMITTER_EMAIL", "haltline@localhost");
        let moved = match (&self.commit, &then.commit) {
            (now, then) if now == then => return Ok(()),
            (Some(now), None) => git.run(&["update-ref", "--no-deref", "-m", MESSAGE, "-d", name, now]),
            (Some(now), Some(then)) => git.run(&["update-ref", "--no-deref", "-m", MESSAGE, name, then, now]),
            // An empty old value means that the ref must not exist.
            (None, Some(then)) => git.run(&["update-ref", "--no-deref", "-m", MESSAGE, name, then, ""]),
            (None, None) => return Ok(()),
        };
        Ok(moved.map(drop)?)
    }
}

/// The branch as the HEAD file states it, where that is unambiguous; this saves a git call.
fn branch_from_file(work_tree: &WorkTree) -> Option<Option<String>> {
    let path = work_tree.git_folder.join("HEAD");
    fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let content = String::from_utf8(read_pointer(&path)?).ok()?;
    let content = content.trim_end();
    match content.strip_prefix("ref: ") {
        // Other ref storage formats keep refs elsewhere and put a placeholder into this file.
        Some(branch) => {
            (branch.starts_with("refs/heads/") && branch != "refs/heads/.invalid").then(|| Some(branch.to_owned()))
        }
        None => content.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(None),
    }
}

const MESSAGE: &str = "haltline: rolled back";

/// The git operation in progress in this work tree: its kind, and the commit where there is one.
pub(super) fn operation(work_tree: &WorkTree) -> Option<String> {
    let named = [("merge", "MERGE_HEAD"), ("cherry-pick", "CHERRY_PICK_HEAD"), ("revert", "REVERT_HEAD")];
    let commit = |(kind, file): (&str, &str)| {
        let content = read_pointer(&work_tree.git_folder.join(file))?;
        let id = String::from_utf8_lossy(&content).split_whitespace().collect::<Vec<_>>().join(",");
        Some(format!("{kind} {id}"))
    };
    let is_there = |name: &str| fs::symlink_metadata(work_tree.git_folder.join(name)).is_ok();
    let rebase = (is_there("rebase-merge") || is_there("rebase-apply")).then(|| "rebase".to_owned());
    rebase.or_else(|| named.into_iter().find_map(commit))
}
