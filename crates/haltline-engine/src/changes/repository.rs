//! One git work tree at one moment: its commit, its branches, and every path that differs from the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::blob::{self, Blob};
use super::budget::Budget;
use super::content::{Content, hex};
use super::exclusions::{Exclusions, is_build_leaving};
use super::safe_git::{SafeGit, rejected};
use super::status;
use super::tree_path::TreePath;
use crate::git::{Git, GitError};
use crate::project::is_linked_worktree;

/// How many different branch tips are kept. With more, only the checked-out commit is kept.
const TIPS_MAX: usize = 5_000;

/// How a work tree relates to the root of the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Relation {
    /// It contains the root.
    Around,
    /// Another work tree of the same repository, below the root.
    Worktree,
    /// Another repository or a submodule, below the root.
    Nested,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Repository {
    #[serde(rename = "place")]
    pub(super) relation: Relation,
    pub(super) top: TreePath,
    /// The git directory that all work trees of the repository share.
    pub(super) common: TreePath,
    /// The configuration says that untracked files are not listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) hides_untracked: bool,
    /// The checked-out commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tree: Option<String>,
    /// The checked-out commit and, in the first work tree of a repository, the branch tips that no other work tree has
    /// checked out.
    pub(super) tips: BTreeSet<String>,
    /// Branch tips that another work tree has checked out: somebody else's work, but not new when it arrives here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) tips_elsewhere: BTreeSet<String>,
    /// The paths that differ from the commit.
    pub(super) paths: BTreeMap<TreePath, PathState>,
    /// The differing paths beyond the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Rest>,
}

/// How a path differs from the commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathState {
    /// Mode and id in the index, if they differ from the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) staged: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_unstaged: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_untracked: bool,
    /// The work tree equals the commit; only the index differs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_as_committed: bool,
    pub(super) content: Content,
}

/// Paths beyond the limit: their number and a digest of names, sizes and times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rest {
    pub(super) count: u64,
    pub(super) digest: String,
}

/// Sums up the paths beyond the limit.
#[derive(Default)]
pub(super) struct RestSum {
    count: u64,
    is_cut: bool,
    hasher: Box<Xxh3>,
}

impl RestSum {
    pub(super) fn add(&mut self, path: &[u8], top: &Path, budget: &mut Budget) {
        self.count += 1;
        self.hasher.update(&(path.len() as u64).to_be_bytes());
        self.hasher.update(path);
        if budget.visit() {
            let mut sum = Vec::new();
            Content::unread_at(&top.join(OsStr::from_bytes(path))).write_to(&mut sum);
            self.hasher.update(&sum);
        }
    }

    /// Records that there are more paths, nobody knows how many.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(super) fn finish(self) -> Option<Rest> {
        (self.count > 0 || self.is_cut).then(|| Rest { count: self.count, digest: hex(self.hasher.digest128()) })
    }
}

/// Which work tree to capture, and how.
pub(super) struct SnapshotTarget<'a> {
    pub(super) relation: Relation,
    pub(super) top: &'a Path,
    pub(super) common: &'a Path,
    /// True if no other work tree of its repository came first.
    pub(super) owns_branches: bool,
    /// True if untracked files are listed even if the configuration hides them.
    pub(super) wants_untracked: bool,
}

impl Repository {
    pub(super) fn capture(
        target: &SnapshotTarget<'_>,
        exclusions: &Exclusions,
        budget: &mut Budget,
    ) -> Result<Self, GitError> {
        let &SnapshotTarget { relation, top, common, owns_branches, wants_untracked } = target;
        let SafeGit { git, hides_untracked, other_worktree } = SafeGit::at(top, budget.left_for_git())?;
        let is_there = |other: PathBuf| fs::canonicalize(common.join(other)).is_ok_and(|other| other == top);
        if other_worktree.is_some_and(|other| !is_linked_worktree(top) && !is_there(other)) {
            return Err(rejected("core.worktree is another folder"));
        }
        let hides_untracked = hides_untracked && !wants_untracked;
        let output = git.clone().timeout(budget.left_for_git()).run(&status::arguments(!hides_untracked))?;
        let status = status::read(&output.bytes, output.is_cut);
        let mut paths = BTreeMap::new();
        let mut rest = RestSum::default();
        if output.is_cut {
            budget.truncate();
            rest.cut();
        }
        let mut committed = BTreeMap::new();
        for entry in status.entries {
            let path = TreePath::new(entry.path);
            let is_leaving = entry.is_untracked && is_build_leaving(path.as_path());
            if is_leaving || !exclusions.counts(top, path.as_path()) {
                continue;
            }
            // A path can be listed twice: removed from the index, but still in the work tree.
            if let Some(PathState { is_untracked, .. }) = paths.get_mut(&path) {
                *is_untracked |= entry.is_untracked;
                continue;
            }
            if !budget.reserve_path() {
                rest.add(entry.path, top, budget);
                continue;
            }
            if let Some(blob) = entry.committed.filter(|_blob| entry.staged.is_some()) {
                committed.insert(path.clone(), blob);
            }
            let content = Content::at(&path.join_to(top), budget);
            let (staged, is_unstaged, is_untracked) = (entry.staged, entry.is_unstaged, entry.is_untracked);
            paths.insert(path, PathState { staged, is_unstaged, is_untracked, is_as_committed: false, content });
        }
        mark_as_committed(&mut paths, &committed, &git.clone().timeout(budget.left_for_git()));
        let head = status.head;
        let branches = Branches::read(&git.clone().timeout(budget.left_for_git()), top)?;
        let tree = match &head {
            Some(head) => match branches.tree_of(head) {
                Some(tree) => Some(tree),
                None => Some(tree_of(&git.timeout(budget.left_for_git()), head)?),
            },
            None => None,
        };
        let mut tips: BTreeSet<String> = head.clone().into_iter().collect();
        let mut tips_elsewhere = BTreeSet::new();
        if owns_branches {
            if branches.is_too_many() {
                budget.truncate();
            } else {
                tips.extend(branches.here);
                tips_elsewhere = branches.elsewhere;
            }
        }
        let (top, common) = (TreePath::from_path(top), TreePath::from_path(common));
        let rest = rest.finish();
        Ok(Self { relation, top, common, hides_untracked, head, tree, tips, tips_elsewhere, paths, rest })
    }

    /// Leaves out paths that the snapshot covers separately: submodules and nested repositories.
    pub(super) fn drop_nested(&mut self, tops: &BTreeSet<TreePath>) {
        let top = self.top.as_path().to_owned();
        self.paths.retain(|path, state| {
            if state.content != Content::Folder || !tops.contains(&TreePath::from_path(&trimmed(path.join_to(&top)))) {
                return true;
            }
            state.is_unstaged = false;
            state.is_untracked = false;
            // Only this repository knows that another commit of a submodule is staged.
            state.staged.is_some()
        });
    }
}

/// Marks paths that differ only in the index. They are few: git is asked only if index and work tree differ too.
fn mark_as_committed(paths: &mut BTreeMap<TreePath, PathState>, committed: &BTreeMap<TreePath, Blob>, git: &Git) {
    let compared = committed.iter().filter_map(|(path, blob)| {
        let state = paths.get(path).filter(|state| state.is_unstaged || state.is_untracked)?;
        Some((path, &state.content, blob))
    });
    for path in blob::unchanged(git, compared) {
        if let Some(state) = paths.get_mut(&path) {
            state.is_as_committed = true;
        }
    }
}

/// Removes the slash that git puts at the end of a nested repository's path.
fn trimmed(path: PathBuf) -> PathBuf {
    path.components().collect()
}

#[derive(Default)]
struct Branches {
    here: BTreeSet<String>,
    elsewhere: BTreeSet<String>,
    /// The checked-out branch's commit and its tree.
    current: Option<(String, String)>,
}

impl Branches {
    fn read(git: &Git, top: &Path) -> Result<Self, GitError> {
        let format = "--format=%(objectname) %(if)%(HEAD)%(then)%(tree)%(end) %(worktreepath)%00";
        let output = git.run(&["for-each-ref", format, "refs/heads"])?;
        let mut branches = Self::default();
        for record in output.bytes.split(|&byte| byte == 0) {
            let record = record.strip_prefix(b"\n").unwrap_or(record);
            let mut parts = record.splitn(3, |&byte| byte == b' ');
            let (Some(id), Some(tree), Some(worktree)) = (parts.next(), parts.next(), parts.next()) else { continue };
            if !status::is_id(id) {
                continue;
            }
            let id = String::from_utf8_lossy(id).into_owned();
            if status::is_id(tree) {
                branches.current = Some((id.clone(), String::from_utf8_lossy(tree).into_owned()));
            }
            let is_here = worktree.is_empty() || Path::new(OsStr::from_bytes(worktree)) == top;
            if is_here { &mut branches.here } else { &mut branches.elsewhere }.insert(id);
        }
        Ok(branches)
    }

    fn tree_of(&self, head: &str) -> Option<String> {
        self.current.as_ref().filter(|(id, _tree)| id == head).map(|(_id, tree)| tree.clone())
    }

    fn is_too_many(&self) -> bool {
        self.here.len() + self.elsewhere.len() > TIPS_MAX
    }
}

/// The tree of a commit that no branch points to.
fn tree_of(git: &Git, commit: &str) -> Result<String, GitError> {
    let output = git.run(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
    Ok(String::from_utf8_lossy(&output.bytes).trim().to_owned())
}
