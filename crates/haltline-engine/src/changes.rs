//! What an agent changed in a work tree between two moments (P8): progress is plural.
//!
//! A [`Look`] is the state of a tree: commits, branches, and every path that differs from the commit, by content. It
//! starts no program of the repository, changes nothing, and has limits on everything. Two looks are compared; what is
//! only moved (an edit that is staged, a commit written anew, a file that is touched) is no change.

mod blob;
mod budget;
mod commits;
mod compare;
mod content;
mod exclusions;
mod files;
mod heads;
mod quiet;
mod repository;
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
use repository::{Place, Repository, Rest, Subject};
use tree_path::TreePath;

/// How many examples a change has at most.
pub const EXAMPLES_MAX: usize = 5;
/// How many work trees one look covers.
const REPOSITORIES_MAX: usize = 64;

/// Limits of a look, and what does not count in it.
#[derive(Clone, Debug)]
pub struct LookOptions {
    /// Paths that do not count, with all below them; relative ones start at the root of the look. What runners write
    /// themselves (`.prp-session`, `.haltline*`, state and logs in `.ralph`) never counts.
    pub excluded: Vec<PathBuf>,
    /// How long a look may take.
    pub patience: Duration,
    /// How many paths are kept one by one. Of the rest there is a number and a digest.
    pub paths_max: usize,
    /// Larger files are told apart by size and time.
    pub content_file_bytes_max: u64,
    /// When so many bytes are read, the other files are told apart by size and time.
    pub content_bytes_max: u64,
}

impl Default for LookOptions {
    fn default() -> Self {
        Self {
            excluded: Vec::new(),
            patience: Duration::from_secs(60),
            paths_max: 10_000,
            content_file_bytes_max: 16 * 1024 * 1024,
            content_bytes_max: 256 * 1024 * 1024,
        }
    }
}

/// What changed in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Where.
    pub source: Source,
    /// How many paths or commits.
    pub count: u64,
    /// Some of them, one line each: paths with odd bytes escaped, commits by id and subject.
    pub examples: Vec<String>,
}

/// The state of a tree at one moment. It can be written to a file and compared by another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    root: TreePath,
    /// The one around the root first.
    repositories: Vec<Repository>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<Files>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    excluded: Vec<TreePath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
    /// Not every repository was found or looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    search_is_cut: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_truncated: bool,
}

/// A folder that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Problem {
    top: TreePath,
    text: String,
}

impl Look {
    /// Looks at the tree around and below `root`. A root that cannot be read makes an empty look with a problem.
    pub fn take(root: &Path, options: &LookOptions) -> Self {
        let mut problems = Vec::new();
        let root = fs::canonicalize(root).unwrap_or_else(|error| {
            problems.push(Problem { top: TreePath::of(root), text: error.to_string() });
            root.to_owned()
        });
        let exclusions = Exclusions::new(&root, &options.excluded);
        let mut taking =
            Taking { root: &root, exclusions, budget: Budget::of(options), repositories: vec![], problems };
        let around = taking.around();
        let search_is_cut = taking.below();
        let files = match around {
            Around::Covers => None,
            Around::Nothing | Around::Overlooks => {
                let apart = taking.repositories.iter().map(|one| one.top.as_path().to_owned()).collect();
                Some(Files::look(&root, &apart, &taking.exclusions, &mut taking.budget))
            }
        };
        let Taking { exclusions, budget, mut repositories, problems, .. } = taking;
        let tops: BTreeSet<TreePath> = repositories.iter().map(|one| one.top.clone()).collect();
        repositories.iter_mut().for_each(|one| one.leave_to_others(&tops));
        Self {
            root: TreePath::of(&root),
            repositories,
            files,
            excluded: exclusions.listed().iter().map(|path| TreePath::of(path)).collect(),
            is_truncated: search_is_cut || budget.is_truncated(),
            search_is_cut,
            problems,
        }
    }

    /// What changed since `before`, at most one entry for each source, in their order.
    ///
    /// Ask right after the look: commits and the content of paths that left the list are read as they are now.
    pub fn changes_since(&self, before: &Look) -> Vec<Change> {
        compare::changes(self, before)
    }

    /// A name for the whole content: the same for a tree that was seen before, whatever was committed, staged or
    /// touched on the way back to it.
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
            part(&mut sum, TreePath::of(top.strip_prefix(self.root.as_path()).unwrap_or(Path::new(""))).bytes());
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

    /// Whether something was left out because a limit was reached.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// What could not be looked at, and why, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.problems.iter().map(|problem| format!("{}: {}", problem.top, problem.text))
    }

    fn has_problem_at(&self, top: &TreePath) -> bool {
        self.problems.iter().any(|problem| problem.top == *top)
    }
}

/// What the repository around the root is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// There is none.
    Nothing,
    /// It says what changes below the root.
    Covers,
    /// It does not: the root is ignored by it, or the configuration hides what git does not know.
    Overlooks,
}

/// A look that is being taken.
struct Taking<'a> {
    root: &'a Path,
    exclusions: Exclusions,
    budget: Budget,
    repositories: Vec<Repository>,
    problems: Vec<Problem>,
}

impl Taking<'_> {
    /// The repository around the root, passing over what only looks like one, as git does.
    fn around(&mut self) -> Around {
        for top in self.root.ancestors() {
            if fs::symlink_metadata(top.join(".git")).is_err() || !self.look(top, Place::Around) {
                continue;
            }
            let hides_untracked = self.repositories.first().is_some_and(|around| around.hides_untracked);
            let is_overlooked = hides_untracked || (top != self.root && self.is_ignored(top));
            return if is_overlooked { Around::Overlooks } else { Around::Covers };
        }
        Around::Nothing
    }

    fn is_ignored(&self, top: &Path) -> bool {
        let git = Git::at(top).deadline(self.budget.left_for_git());
        let answer = git.run(&["check-ignore".as_ref(), "--quiet".as_ref(), "--".as_ref(), self.root.as_os_str()]);
        answer.is_ok()
    }

    /// Work trees below the root. `true`: not all of them.
    fn below(&mut self) -> bool {
        let mut found = search::below(self.root, &self.exclusions, &mut self.budget);
        let is_walk_cut = self.budget.is_out_of_visits();
        if let Some(around) = self.repositories.first() {
            let linked = search::linked(around.common.as_path(), self.root);
            found.extend(linked.into_iter().filter(|top| !found.contains(top)).collect::<Vec<_>>());
        }
        let is_too_many = found.len() > REPOSITORIES_MAX;
        for top in found.into_iter().take(REPOSITORIES_MAX) {
            let common = git_common_directory(&top);
            let around = self.repositories.first().filter(|first| first.place == Place::Around);
            let is_worktree = around.is_some_and(|around| Some(around.common.as_path()) == common.as_deref());
            self.look(&top, if is_worktree { Place::Worktree } else { Place::Nested });
        }
        is_walk_cut || is_too_many
    }

    /// Looks at one work tree; a problem is kept.
    fn look(&mut self, top: &Path, place: Place) -> bool {
        let problem = match git_common_directory(top) {
            Some(common) => {
                let subject = Subject {
                    place,
                    top,
                    common: &common,
                    owns_branches: !self.repositories.iter().any(|one| one.common.as_path() == common),
                    wants_untracked: place != Place::Around || top == self.root,
                };
                match Repository::look(&subject, &self.exclusions, &mut self.budget) {
                    Ok(repository) => {
                        self.repositories.push(repository);
                        return true;
                    }
                    Err(error) => {
                        if matches!(error, GitError::Late { .. }) {
                            self.budget.truncate();
                        }
                        error.to_string()
                    }
                }
            }
            None => "this is no repository: its .git cannot be read".to_owned(),
        };
        self.problems.push(Problem { top: TreePath::of(top), text: problem });
        false
    }
}
