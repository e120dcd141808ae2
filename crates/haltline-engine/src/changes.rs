//! What an agent changed in a work tree between two moments (P8). Progress can show in several ways.
//!
//! A [`WorkTreeSnapshot`] is the state of a tree: commits, branches, and every path that differs from the commit, by
//! content. Taking one starts no program of the repository, changes nothing, and has limits on everything. Comparing
//! two snapshots ignores what only moved: an edit that was staged, a commit that was rewritten, a touched file.

mod blob;
mod budget;
mod commits;
mod compare;
mod content;
mod exclusions;
mod files;
mod heads;
mod repository;
mod safe_git;
mod search;
mod status;
mod tree_path;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use haltline_core::phase::Source;
use haltline_core::sha256;
use serde::{Deserialize, Serialize};

use crate::git::{Git, GitError};
use crate::project::git_common_directory;
use budget::Budget;
use exclusions::Exclusions;
use files::Files;
use repository::{Relation, Repository, Rest, SnapshotTarget};
use tree_path::TreePath;

/// How many examples a change lists.
pub const EXAMPLES_MAX: usize = 5;
/// How many work trees one snapshot covers.
const REPOSITORIES_MAX: usize = 64;

/// The limits of a snapshot, and what does not count in it.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// Paths that do not count, with everything below them; relative ones start at the root of the snapshot. What
    /// runners write themselves (`.prp-session`, `.haltline*`, state and logs in `.ralph`) never counts.
    pub excluded: Vec<PathBuf>,
    /// How long taking a snapshot may last.
    pub timeout: Duration,
    /// How many paths are kept one by one. The rest is kept as a number and a digest.
    pub paths_max: usize,
    /// Larger files are compared by size and time.
    pub content_file_bytes_max: u64,
    /// After this many bytes have been read, the remaining files are compared by size and time.
    pub content_bytes_max: u64,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            excluded: Vec::new(),
            timeout: Duration::from_secs(60),
            paths_max: 10_000,
            content_file_bytes_max: 16 * 1024 * 1024,
            content_bytes_max: 256 * 1024 * 1024,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub source: Source,
    /// How many paths or commits changed.
    pub count: u64,
    /// Some of them, one line each: paths with unusual bytes escaped, commits by id and subject.
    pub examples: Vec<String>,
}

/// The state of a tree at one moment. It can be written to a file and compared by another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTreeSnapshot {
    root: TreePath,
    /// The enclosing repository comes first.
    repositories: Vec<Repository>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<Files>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    excluded: Vec<TreePath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
    /// True if not every repository was found or read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    search_is_cut: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_truncated: bool,
}

/// A folder that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Problem {
    top: TreePath,
    text: String,
}

impl WorkTreeSnapshot {
    /// Captures the tree around and below `root`. A root that cannot be read gives an empty snapshot with a problem.
    pub fn capture(root: &Path, options: &SnapshotOptions) -> Self {
        let mut problems = Vec::new();
        let root = fs::canonicalize(root).unwrap_or_else(|error| {
            problems.push(Problem { top: TreePath::from_path(root), text: error.to_string() });
            root.to_owned()
        });
        let exclusions = Exclusions::new(&root, &options.excluded);
        let mut builder = SnapshotBuilder {
            root: &root,
            exclusions,
            budget: Budget::from_options(options),
            repositories: vec![],
            problems,
        };
        let around = builder.add_enclosing();
        let search_is_cut = builder.add_nested();
        let files = match around {
            Enclosing::Covers => None,
            Enclosing::Missing | Enclosing::Overlooks => {
                let separate = builder.repositories.iter().map(|one| one.top.as_path().to_owned()).collect();
                Some(Files::capture(&root, &separate, &builder.exclusions, &mut builder.budget))
            }
        };
        let SnapshotBuilder { exclusions, budget, mut repositories, problems, .. } = builder;
        let tops: BTreeSet<TreePath> = repositories.iter().map(|one| one.top.clone()).collect();
        repositories.iter_mut().for_each(|one| one.drop_nested(&tops));
        Self {
            root: TreePath::from_path(&root),
            repositories,
            files,
            excluded: exclusions.listed().iter().map(|path| TreePath::from_path(path)).collect(),
            is_truncated: search_is_cut || budget.is_truncated(),
            search_is_cut,
            problems,
        }
    }

    /// What changed since `before`, at most one entry for each source, in the order of sources.
    ///
    /// Call this right after taking `self`: commits, and the content of paths that are no longer listed, are read as
    /// they are now.
    pub fn changes_since(&self, before: &WorkTreeSnapshot) -> Vec<Change> {
        compare::changes(self, before)
    }

    /// A digest of the whole content: equal for a tree that returned to an earlier content, whatever was committed,
    /// staged or touched in between.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut sum = Vec::new();
        let part = |sum: &mut Vec<u8>, bytes: &[u8]| {
            sum.extend((bytes.len() as u64).to_be_bytes());
            sum.extend(bytes);
        };
        let rest = |sum: &mut Vec<u8>, rest: &Option<Rest>| match rest {
            Some(rest) => part(sum, rest.digest.as_bytes()),
            None => part(sum, b""),
        };
        let mut repositories: Vec<&Repository> = self.repositories.iter().collect();
        repositories.sort_by(|one, other| one.top.cmp(&other.top));
        for repository in repositories {
            let top = repository.top.as_path();
            part(&mut sum, TreePath::from_path(top.strip_prefix(self.root.as_path()).unwrap_or(Path::new(""))).bytes());
            part(&mut sum, repository.tree.as_deref().unwrap_or_default().as_bytes());
            for (path, state) in repository.paths.iter().filter(|(_path, state)| !state.is_as_committed) {
                part(&mut sum, path.bytes());
                state.content.write_to(&mut sum);
            }
            rest(&mut sum, &repository.rest);
        }
        if let Some(files) = &self.files {
            part(&mut sum, b"files");
            for (path, content) in &files.paths {
                part(&mut sum, path.bytes());
                content.write_to(&mut sum);
            }
            rest(&mut sum, &files.rest);
        }
        sha256(&[&sum])
    }

    /// True if something was left out because a limit was reached.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// What could not be read, and why, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.problems.iter().map(|problem| format!("{}: {}", problem.top, problem.text))
    }

    fn has_problem_at(&self, top: &TreePath) -> bool {
        self.problems.iter().any(|problem| problem.top == *top)
    }
}

/// What the repository around the root says about the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosing {
    Missing,
    /// It says what changes below the root.
    Covers,
    /// It does not: it ignores the root, or its configuration hides untracked files.
    Overlooks,
}

/// A snapshot under construction.
struct SnapshotBuilder<'a> {
    root: &'a Path,
    exclusions: Exclusions,
    budget: Budget,
    repositories: Vec<Repository>,
    problems: Vec<Problem>,
}

impl SnapshotBuilder<'_> {
    /// Adds the repository around the root. Like git, skips what only looks like one.
    fn add_enclosing(&mut self) -> Enclosing {
        for top in self.root.ancestors() {
            if fs::symlink_metadata(top.join(".git")).is_err() || !self.add_work_tree(top, Relation::Around) {
                continue;
            }
            let hides_untracked = self.repositories.first().is_some_and(|enclosing| enclosing.hides_untracked);
            let is_overlooked = hides_untracked || (top != self.root && self.is_ignored(top));
            return if is_overlooked { Enclosing::Overlooks } else { Enclosing::Covers };
        }
        Enclosing::Missing
    }

    fn is_ignored(&self, top: &Path) -> bool {
        let git = Git::at(top).timeout(self.budget.left_for_git());
        let output = git.run(&["check-ignore".as_ref(), "--quiet".as_ref(), "--".as_ref(), self.root.as_os_str()]);
        output.is_ok()
    }

    /// Adds the work trees below the root. Returns true if some were left out.
    fn add_nested(&mut self) -> bool {
        let mut found = search::find_below(self.root, &self.exclusions, &mut self.budget);
        let is_walk_cut = self.budget.is_out_of_visits();
        if let Some(enclosing) = self.repositories.first() {
            let linked = search::linked_work_trees(enclosing.common.as_path(), self.root);
            found.extend(linked.into_iter().filter(|top| !found.contains(top)).collect::<Vec<_>>());
        }
        let is_too_many = found.len() > REPOSITORIES_MAX;
        for top in found.into_iter().take(REPOSITORIES_MAX) {
            let common = git_common_directory(&top);
            let enclosing = self.repositories.first().filter(|first| first.relation == Relation::Around);
            let is_worktree = enclosing.is_some_and(|enclosing| Some(enclosing.common.as_path()) == common.as_deref());
            self.add_work_tree(&top, if is_worktree { Relation::Worktree } else { Relation::Nested });
        }
        is_walk_cut || is_too_many
    }

    /// Adds one work tree, or records the problem. Returns true if it was added.
    fn add_work_tree(&mut self, top: &Path, relation: Relation) -> bool {
        let problem = match git_common_directory(top) {
            Some(common) => {
                let subject = SnapshotTarget {
                    relation,
                    top,
                    common: &common,
                    owns_branches: !self.repositories.iter().any(|one| one.common.as_path() == common),
                    wants_untracked: relation != Relation::Around || top == self.root,
                };
                match Repository::capture(&subject, &self.exclusions, &mut self.budget) {
                    Ok(repository) => {
                        self.repositories.push(repository);
                        return true;
                    }
                    Err(error) => {
                        if matches!(error, GitError::TimedOut { .. }) {
                            self.budget.truncate();
                        }
                        error.to_string()
                    }
                }
            }
            None => "this is not a repository: haltline cannot read its .git".to_owned(),
        };
        self.problems.push(Problem { top: TreePath::from_path(top), text: problem });
        false
    }
}
