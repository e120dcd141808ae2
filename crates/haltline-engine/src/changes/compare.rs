//! Compares two snapshots. If a path is no longer listed, or there are new commits, the tree and git are read as they
//! are now.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::commits::{self, ReachableCommits};
use super::content::Content;
use super::exclusions::Exclusions;
use super::files::Files;
use super::heads::{EarlierContent, Heads};
use super::repository::{PathState, Relation, Repository, Rest};
use super::safe_git::SafeGit;
use super::tree_path::TreePath;
use super::{Change, EXAMPLES_MAX, SnapshotOptions, Source, WorkTreeSnapshot};
use crate::git::Git;

pub(super) fn changes(now: &WorkTreeSnapshot, then: &WorkTreeSnapshot) -> Vec<Change> {
    let root = now.root.as_path();
    let excluded: Vec<PathBuf> = now.excluded.iter().map(|path| path.as_path().to_owned()).collect();
    let mut comparison = Comparison {
        now,
        then,
        root,
        exclusions: Exclusions::new(root, &excluded),
        budget: Budget::from_options(&SnapshotOptions::default()),
        commits_counted: BTreeMap::new(),
        changes: BTreeMap::new(),
    };
    for repository in &now.repositories {
        comparison.compare_repository(repository);
    }
    comparison.count_removed_repositories();
    if let (Some(now), Some(then)) = (&now.files, &then.files) {
        comparison.compare_files(now, then);
    }
    comparison.changes.into_values().collect()
}

struct Comparison<'a> {
    now: &'a WorkTreeSnapshot,
    then: &'a WorkTreeSnapshot,
    root: &'a Path,
    exclusions: Exclusions,
    budget: Budget,
    /// Commits that are already counted, for each repository, because its work trees share them.
    commits_counted: BTreeMap<&'a TreePath, BTreeSet<String>>,
    changes: BTreeMap<Source, Change>,
}

impl<'a> Comparison<'a> {
    fn compare_repository(&mut self, now: &'a Repository) {
        let before = self.then.repositories.iter().find(|other| other.top == now.top);
        if let Some(then) = before {
            return self.compare_work_tree(now, then);
        }
        if self.then.search_is_cut || self.then.has_problem_at(&now.top) {
            // It may have existed without being captured.
            return;
        }
        match now.relation {
            // A new work tree of a known repository contributes what is in it and was not known before.
            Relation::Worktree => {
                let empty = Repository {
                    paths: BTreeMap::new(),
                    rest: None,
                    tips: BTreeSet::new(),
                    tips_elsewhere: BTreeSet::new(),
                    ..now.clone()
                };
                self.compare_work_tree(now, &empty);
            }
            Relation::Around | Relation::Nested => {
                self.count(Source::Repositories, format!("{} (new repository)", self.label(now)));
            }
        }
    }

    fn count_removed_repositories(&mut self) {
        for gone in &self.then.repositories {
            let is_listed = self.now.repositories.iter().any(|other| other.top == gone.top);
            // One that still exists but was not captured is too deep, beyond the limit on repositories, or hidden by a
            // new repository around the root.
            let is_there = || fs::symlink_metadata(gone.top.as_path().join(".git")).is_ok();
            if !is_listed && gone.relation != Relation::Worktree && !is_there() {
                self.count(Source::Repositories, format!("{} (repository removed)", self.label(gone)));
            }
        }
    }

    fn compare_work_tree(&mut self, now: &'a Repository, then: &Repository) {
        let git = self.git_if_moved(now);
        let commits = match &git {
            Some(git) => {
                let reach_then = ReachableCommits::of_repository(now, &self.then.repositories);
                let reach_now = ReachableCommits::of_repository(now, &self.now.repositories);
                let counted = self.commits_counted.entry(&now.common).or_default();
                commits::since(now, &reach_then, &reach_now, &self.exclusions, git, counted)
            }
            None => Vec::new(),
        };
        let has_commits = !commits.is_empty();
        for commit in commits {
            let example = self.example(now, &commit);
            self.count(source_of(now.relation, Source::Commits), example);
        }
        let heads = Heads::new(now, then, git);
        self.compare_listed_paths(now, then);
        self.count_new_paths(now, then, &heads);
        self.count_gone_paths(now, then, &heads, has_commits);
        self.compare_rest(now, then.rest.as_ref(), has_commits);
    }

    /// git at a work tree, or `None` if no commit or branch moved, in which case git need not be asked.
    fn git_if_moved(&self, now: &Repository) -> Option<Git> {
        let is_moved = self.then.repositories.iter().find(|other| other.top == now.top).is_none_or(|then| {
            (&now.head, &now.tips, &now.tips_elsewhere) != (&then.head, &then.tips, &then.tips_elsewhere)
        });
        let safe_git = is_moved.then(|| SafeGit::at(now.top.as_path(), self.budget.left_for_git()).ok()).flatten();
        safe_git.map(|safe_git| safe_git.git.timeout(self.budget.left_for_git()))
    }

    /// Counts paths that differed from the commit then and differ now.
    fn compare_listed_paths(&mut self, now: &Repository, then: &Repository) {
        for (path, state) in &now.paths {
            let Some(before) = then.paths.get(path) else { continue };
            let is_new_in_index = state.staged.is_some() && state.staged != before.staged;
            if !state.content.is_same(&before.content) {
                let here = sources_of(state).filter(|&source| {
                    source != Source::Staged || !(state.is_unstaged || state.is_untracked) || is_new_in_index
                });
                let mut here: Vec<Source> = here.collect();
                if here.is_empty() {
                    // The work tree returned to the commit's content, and only the index still differs.
                    here.push(sources_of(before).next().unwrap_or(Source::Unstaged));
                }
                for source in here {
                    self.count_path(now, source, path);
                }
            } else if is_new_in_index && (state.is_unstaged || state.content == Content::Folder) {
                // The index has something new that is not in the work tree either.
                self.count_path(now, Source::Staged, path);
            }
        }
    }

    /// Counts paths that did not differ from the commit then, and do now.
    fn count_new_paths(&mut self, now: &Repository, then: &Repository, heads: &Heads) {
        if then.rest.is_some() {
            // They may have been among the paths beyond the limit.
            return;
        }
        let new = now.paths.iter().filter(|(path, _state)| !then.paths.contains_key(path));
        let new: Vec<(&TreePath, &PathState)> = new.collect();
        let unchanged = heads.unchanged(&new);
        for (path, state) in new {
            if !unchanged.contains(path) {
                for source in sources_of(state) {
                    self.count_path(now, source, path);
                }
            }
        }
    }

    /// Counts paths that differed from the commit then, and do not now.
    fn count_gone_paths(&mut self, now: &Repository, then: &Repository, heads: &Heads, has_commits: bool) {
        for (path, before) in &then.paths {
            if now.paths.contains_key(path) {
                continue;
            }
            let here = Content::at(&path.join_to(now.top.as_path()), &mut self.budget);
            if here.is_same(&before.content) || before.content == Content::Folder {
                continue;
            }
            if has_commits && heads.earlier_content(path) != EarlierContent::Same {
                // It was edited further and then committed: the commit counts.
                continue;
            }
            for source in sources_of(before).take(1) {
                self.count_path(now, source, path);
            }
        }
    }

    fn compare_rest(&mut self, now: &Repository, then: Option<&Rest>, has_commits: bool) {
        let source = source_of(now.relation, Source::Untracked);
        match (&now.rest, then) {
            (Some(rest), None) => self.count_many(source, rest.count, "more paths than haltline keeps".to_owned()),
            (Some(rest), Some(before)) if rest != before => {
                self.count(source, "a path beyond those that haltline keeps".to_owned());
            }
            (None, Some(_before)) if !has_commits => {
                self.count(source, "fewer paths than before".to_owned());
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    fn compare_files(&mut self, now: &Files, then: &Files) {
        for (path, content) in &now.paths {
            let is_changed = match then.paths.get(path) {
                Some(before) => !content.is_same(before),
                None => then.rest.is_none(),
            };
            if is_changed {
                self.count(Source::Files, path.to_string());
            }
        }
        for (path, before) in &then.paths {
            let is_listed = now.paths.contains_key(path);
            if !is_listed && !Content::at(&path.join_to(self.root), &mut self.budget).is_same(before) {
                self.count(Source::Files, path.to_string());
            }
        }
        match (&now.rest, &then.rest) {
            (Some(rest), None) => {
                self.count_many(Source::Files, rest.count, "more files than haltline keeps".to_owned())
            }
            (now, then) if now != then => {
                self.count(Source::Files, "a file beyond those that haltline keeps".to_owned());
            }
            (_same, _as_then) => {}
        }
    }

    fn count_path(&mut self, repository: &Repository, source: Source, path: &TreePath) {
        let example = self.example(repository, &path.to_string());
        self.count(source_of(repository.relation, source), example);
    }

    fn count(&mut self, source: Source, example: String) {
        self.count_many(source, 1, example);
    }

    fn count_many(&mut self, source: Source, count: u64, example: String) {
        if count == 0 {
            return;
        }
        let change = self.changes.entry(source).or_insert(Change { source, count: 0, examples: Vec::new() });
        change.count += count;
        if change.examples.len() < EXAMPLES_MAX {
            change.examples.push(example);
        }
    }

    /// Text for an example, prefixed with the repository's folder unless it is the enclosing repository.
    fn example(&self, repository: &Repository, text: &str) -> String {
        match repository.relation {
            Relation::Around => text.to_owned(),
            Relation::Worktree | Relation::Nested => format!("{}{text}", self.label(repository)),
        }
    }

    /// The folder of a repository, relative to the root.
    fn label(&self, repository: &Repository) -> String {
        let top = repository.top.as_path();
        let inside = top.strip_prefix(self.root).unwrap_or(top);
        let name = if inside.as_os_str().is_empty() { Path::new(OsStr::new(".")) } else { inside };
        format!("{}/", TreePath::from_path(name))
    }
}

/// The source that a change in a work tree counts towards.
fn source_of(relation: Relation, source: Source) -> Source {
    match relation {
        Relation::Around => source,
        Relation::Worktree => Source::Worktrees,
        Relation::Nested => Source::Repositories,
    }
}

/// The sources in which a path differs from the commit.
fn sources_of(state: &PathState) -> impl Iterator<Item = Source> {
    let is_in_tree = !state.is_as_committed;
    let untracked = (is_in_tree && state.is_untracked).then_some(Source::Untracked);
    let unstaged = (is_in_tree && state.is_unstaged).then_some(Source::Unstaged);
    let staged = state.staged.is_some().then_some(Source::Staged);
    if untracked.is_some() { [untracked, None] } else { [unstaged, staged] }.into_iter().flatten()
}
