//! Where HEAD stands, and what git has begun and not finished.

use std::fs;

use super::error::CheckpointError;
use super::place::{Place, line, line_if_any};
use crate::project::read_pointer;

/// Where HEAD stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit; `None`: the branch has none yet.
    pub commit: Option<String>,
    /// The branch, as `refs/heads/…`; `None`: HEAD is detached.
    pub branch: Option<String>,
}

impl Head {
    pub(super) fn read(place: &Place) -> Result<Self, CheckpointError> {
        let git = place.plain();
        Ok(Self {
            commit: line_if_any(&git, &["rev-parse", "-q", "--verify", "HEAD^{commit}"])?,
            branch: match branch(place) {
                Some(known) => known,
                None => line_if_any(&git, &["symbolic-ref", "-q", "HEAD"])?,
            },
        })
    }

    /// How many commits HEAD has that `then` did not have.
    pub(super) fn commits_since(&self, then: &Self, place: &Place) -> Result<u64, CheckpointError> {
        let Some(now) = self.commit.as_deref().filter(|_| self.commit != then.commit) else { return Ok(0) };
        let range = then.commit.as_ref().map_or(now.to_owned(), |then| format!("{then}..{now}"));
        let count = line(&place.plain(), &["rev-list", "--count", &range, "--"])?;
        Ok(count.trim().parse().unwrap_or(0))
    }

    /// Takes the branch, or the detached HEAD, to the commit of `then`. No hook runs, and no file is touched.
    pub(super) fn take_back(&self, then: &Self, place: &Place) -> Result<(), CheckpointError> {
        let name = self.branch.as_deref().unwrap_or("HEAD");
        let git = place
            .plain()
            .variable("GIT_COMMITTER_NAME", "haltline")
            .variable("GIT_COMMITTER_EMAIL", "haltline@localhost");
        let moved = match (&self.commit, &then.commit) {
            (now, then) if now == then => return Ok(()),
            (Some(now), None) => git.run(&["update-ref", "--no-deref", "-m", MESSAGE, "-d", name, now]),
            (Some(now), Some(then)) => git.run(&["update-ref", "--no-deref", "-m", MESSAGE, name, then, now]),
            // An empty old value: there must be none.
            (None, Some(then)) => git.run(&["update-ref", "--no-deref", "-m", MESSAGE, name, then, ""]),
            (None, None) => return Ok(()),
        };
        Ok(moved.map(drop)?)
    }
}

/// The branch as the file says, where it says so plainly: a call of git saved.
fn branch(place: &Place) -> Option<Option<String>> {
    let path = place.git_folder.join("HEAD");
    fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let content = String::from_utf8(read_pointer(&path)?).ok()?;
    let content = content.trim_end();
    match content.strip_prefix("ref: ") {
        // Refs may be kept where the file does not tell of them.
        Some(branch) => {
            (branch.starts_with("refs/heads/") && branch != "refs/heads/.invalid").then(|| Some(branch.to_owned()))
        }
        None => content.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(None),
    }
}

const MESSAGE: &str = "haltline: rolled back";

/// What git has begun in this work tree: a word, and which commit where there is one.
pub(super) fn operation(place: &Place) -> Option<String> {
    let named = [("merge", "MERGE_HEAD"), ("cherry-pick", "CHERRY_PICK_HEAD"), ("revert", "REVERT_HEAD")];
    let commit = |(word, file): (&str, &str)| {
        let content = read_pointer(&place.git_folder.join(file))?;
        let id = String::from_utf8_lossy(&content).split_whitespace().collect::<Vec<_>>().join(",");
        Some(format!("{word} {id}"))
    };
    let is_there = |name: &str| fs::symlink_metadata(place.git_folder.join(name)).is_ok();
    let rebase = (is_there("rebase-merge") || is_there("rebase-apply")).then(|| "rebase".to_owned());
    rebase.or_else(|| named.into_iter().find_map(commit))
}
