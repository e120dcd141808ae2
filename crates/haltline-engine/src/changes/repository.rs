//! One work tree of git at one moment: which commit, which branches, and every path that differs from the commit.

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
use super::exclusions::Exclusions;
use super::quiet::{Quiet, refused};
use super::status;
use super::tree_path::TreePath;
use crate::git::{Git, GitError};
use crate::project::is_linked_worktree;

/// How many different branch tips are kept. With more, only the commit that is checked out is.
const TIPS_MAX: usize = 5_000;

/// What a work tree is to the folder that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// It is the work tree around the folder.
    Around,
    /// Another work tree of the same repository, below the folder.
    Worktree,
    /// A repository of its own below the folder, or a submodule.
    Nested,
}

/// One work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Repository {
    pub(super) place: Place,
    /// Its folder.
    pub(super) top: TreePath,
    /// The git directory that all work trees of the repository share.
    pub(super) common: TreePath,
    /// The configuration says that files git does not know are not to be looked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) hides_untracked: bool,
    /// The commit that is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<String>,
    /// The tree of that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tree: Option<String>,
    /// That commit and, in the first work tree of a repository, the tips of branches that no other work tree has out.
    pub(super) tips: BTreeSet<String>,
    /// The tips of branches that another work tree has out: somebody else's work, but not new when it arrives here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) tips_elsewhere: BTreeSet<String>,
    /// What differs from the commit.
    pub(super) paths: BTreeMap<TreePath, PathState>,
    /// What differs beyond the limit of paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Rest>,
}

/// How a path differs from the commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathState {
    /// Mode and id in the index, where it differs from the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) staged: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_unstaged: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_untracked: bool,
    /// The work tree has what the commit has; only the index differs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_as_committed: bool,
    pub(super) content: Content,
}

/// Paths that were too many to keep: their number and a digest of names, sizes and times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rest {
    pub(super) count: u64,
    pub(super) digest: String,
}

/// Sums up the paths that are too many.
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

    /// There are more, nobody knows how many.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(super) fn end(self) -> Option<Rest> {
        (self.count > 0 || self.is_cut).then(|| Rest { count: self.count, digest: hex(self.hasher.digest128()) })
    }
}

/// Which work tree is looked at, and how.
pub(super) struct Subject<'a> {
    pub(super) place: Place,
    pub(super) top: &'a Path,
    pub(super) common: &'a Path,
    /// No other work tree of its repository came first.
    pub(super) owns_branches: bool,
    /// Files that git does not know are looked for in any case, not only where the configuration shows them.
    pub(super) wants_untracked: bool,
}

impl Repository {
    /// Looks at a work tree.
    pub(super) fn look(subject: &Subject<'_>, exclusions: &Exclusions, budget: &mut Budget) -> Result<Self, GitError> {
        let &Subject { place, top, common, owns_branches, wants_untracked } = subject;
        let Quiet { git, hides_untracked, other_worktree } = Quiet::at(top, budget.left_for_git())?;
        let is_there = |other: PathBuf| fs::canonicalize(common.join(other)).is_ok_and(|other| other == top);
        if other_worktree.is_some_and(|other| !is_linked_worktree(top) && !is_there(other)) {
            return Err(refused("core.worktree is another folder"));
        }
        let hides_untracked = hides_untracked && !wants_untracked;
        let answer = git.clone().deadline(budget.left_for_git()).run(&status::arguments(!hides_untracked))?;
        let status = status::read(&answer.bytes, answer.is_cut);
        let mut paths = BTreeMap::new();
        let mut rest = RestSum::default();
        if answer.is_cut {
            budget.truncate();
            rest.cut();
        }
        let mut committed = BTreeMap::new();
        for entry in status.entries {
            let path = TreePath::new(entry.path);
            if !exclusions.counts(top, path.as_path()) {
                continue;
            }
            // A path can come twice: taken out of the index, but still there.
            if let Some(PathState { is_untracked, .. }) = paths.get_mut(&path) {
                *is_untracked |= entry.is_untracked;
                continue;
            }
            if !budget.take_path() {
                rest.add(entry.path, top, budget);
                continue;
            }
            if let Some(blob) = entry.committed.filter(|_blob| entry.staged.is_some()) {
                committed.insert(path.clone(), blob);
            }
            let content = Content::at(&path.below(top), budget);
            let (staged, is_unstaged, is_untracked) = (entry.staged, entry.is_unstaged, entry.is_untracked);
            paths.insert(path, PathState { staged, is_unstaged, is_untracked, is_as_committed: false, content });
        }
        mark_as_committed(&mut paths, &committed, &git.clone().deadline(budget.left_for_git()));
        let head = status.head;
        let branches = Branches::read(&git.clone().deadline(budget.left_for_git()), top)?;
        let tree = match &head {
            Some(head) => match branches.tree_of(head) {
                Some(tree) => Some(tree),
                None => Some(tree_of(&git.deadline(budget.left_for_git()), head)?),
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
        let (top, common) = (TreePath::of(top), TreePath::of(common));
        let rest = rest.end();
        Ok(Self { place, top, common, hides_untracked, head, tree, tips, tips_elsewhere, paths, rest })
    }

    /// Leaves out what is looked at on its own: submodules and repositories inside this one.
    pub(super) fn leave_to_others(&mut self, tops: &BTreeSet<TreePath>) {
        let top = self.top.as_path().to_owned();
        self.paths.retain(|path, state| {
            if state.content != Content::Folder || !tops.contains(&TreePath::of(&trimmed(path.below(&top)))) {
                return true;
            }
            state.is_unstaged = false;
            state.is_untracked = false;
            // That another commit of a submodule is staged is said here and nowhere else.
            state.staged.is_some()
        });
    }
}

/// Marks paths that differ in the index only. They are few: git is asked only where index and work tree differ too.
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

/// git names a repository inside another one with a slash at the end.
fn trimmed(path: PathBuf) -> PathBuf {
    path.components().collect()
}

/// The branches of a repository.
#[derive(Default)]
struct Branches {
    here: BTreeSet<String>,
    elsewhere: BTreeSet<String>,
    /// The branch that is checked out, and its tree.
    current: Option<(String, String)>,
}

impl Branches {
    fn read(git: &Git, top: &Path) -> Result<Self, GitError> {
        let format = "--format=%(objectname) %(if)%(HEAD)%(then)%(tree)%(end) %(worktreepath)%00";
        let answer = git.run(&["for-each-ref", format, "refs/heads"])?;
        let mut branches = Self::default();
        for record in answer.bytes.split(|&byte| byte == 0) {
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

/// The tree of a commit that is on no branch.
fn tree_of(git: &Git, commit: &str) -> Result<String, GitError> {
    let answer = git.run(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
    Ok(String::from_utf8_lossy(&answer.bytes).trim().to_owned())
}
