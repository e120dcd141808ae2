//! Compares two looks. Where a path left the list, or commits came, the tree and git are asked as they are now.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::commits::{self, Reach};
use super::content::Content;
use super::exclusions::Exclusions;
use super::files::Files;
use super::heads::{Heads, Was};
use super::quiet::Quiet;
use super::repository::{PathState, Place, Repository, Rest};
use super::tree_path::TreePath;
use super::{Change, EXAMPLES_MAX, Look, LookOptions, Source};
use crate::git::Git;

/// All that changed.
pub(super) fn changes(now: &Look, then: &Look) -> Vec<Change> {
    let root = now.root.as_path();
    let excluded: Vec<PathBuf> = now.excluded.iter().map(|path| path.as_path().to_owned()).collect();
    let mut comparison = Comparison {
        now,
        then,
        root,
        exclusions: Exclusions::new(root, &excluded),
        budget: Budget::of(&LookOptions::default()),
        commits_seen: BTreeMap::new(),
        changes: BTreeMap::new(),
    };
    for repository in &now.repositories {
        comparison.repository(repository);
    }
    comparison.repositories_gone();
    if let (Some(now), Some(then)) = (&now.files, &then.files) {
        comparison.files(now, then);
    }
    comparison.changes.into_values().collect()
}

struct Comparison<'a> {
    now: &'a Look,
    then: &'a Look,
    root: &'a Path,
    exclusions: Exclusions,
    budget: Budget,
    /// Commits that are counted already, for each repository: its work trees share them.
    commits_seen: BTreeMap<&'a TreePath, BTreeSet<String>>,
    changes: BTreeMap<Source, Change>,
}

impl<'a> Comparison<'a> {
    fn repository(&mut self, now: &'a Repository) {
        let before = self.then.repositories.iter().find(|other| other.top == now.top);
        if let Some(then) = before {
            return self.work_tree(now, then);
        }
        if self.then.search_is_cut || self.then.has_problem_at(&now.top) {
            // It may have been there, and nobody looked.
            return;
        }
        match now.place {
            // A new work tree of a known repository brings what is in it and was not known.
            Place::Worktree => {
                let empty = Repository {
                    paths: BTreeMap::new(),
                    rest: None,
                    tips: BTreeSet::new(),
                    tips_elsewhere: BTreeSet::new(),
                    ..now.clone()
                };
                self.work_tree(now, &empty);
            }
            Place::Around | Place::Nested => {
                self.count(Source::Repositories, format!("{} (new repository)", self.label(now)));
            }
        }
    }

    fn repositories_gone(&mut self) {
        for gone in &self.then.repositories {
            let is_listed = self.now.repositories.iter().any(|other| other.top == gone.top);
            // One that is there and was not looked at is too deep, too many, or hidden by a new one around the root.
            let is_there = || fs::symlink_metadata(gone.top.as_path().join(".git")).is_ok();
            if !is_listed && gone.place != Place::Worktree && !is_there() {
                self.count(Source::Repositories, format!("{} (repository removed)", self.label(gone)));
            }
        }
    }

    fn work_tree(&mut self, now: &'a Repository, then: &Repository) {
        let git = self.git(now);
        let commits = match &git {
            Some(git) => {
                let reach_then = Reach::around(now, &self.then.repositories);
                let reach_now = Reach::around(now, &self.now.repositories);
                let seen = self.commits_seen.entry(&now.common).or_default();
                commits::since(now, &reach_then, &reach_now, &self.exclusions, git, seen)
            }
            None => Vec::new(),
        };
        let has_commits = !commits.is_empty();
        for commit in commits {
            let example = self.example(now, &commit);
            self.count(source_of(now.place, Source::Commits), example);
        }
        let heads = Heads::new(now, then, git);
        self.paths_listed(now, then);
        self.paths_new(now, then, &heads);
        self.paths_gone(now, then, &heads, has_commits);
        self.rest(now, then.rest.as_ref(), has_commits);
    }

    /// git at a work tree, where anything could be asked of it: only a commit that was checked out since makes one ask.
    fn git(&self, now: &Repository) -> Option<Git> {
        let is_moved = self.then.repositories.iter().find(|other| other.top == now.top).is_none_or(|then| {
            (&now.head, &now.tips, &now.tips_elsewhere) != (&then.head, &then.tips, &then.tips_elsewhere)
        });
        let quiet = is_moved.then(|| Quiet::at(now.top.as_path(), self.budget.left_for_git()).ok()).flatten();
        quiet.map(|quiet| quiet.git.deadline(self.budget.left_for_git()))
    }

    /// Paths that differed from the commit then and now.
    fn paths_listed(&mut self, now: &Repository, then: &Repository) {
        for (path, state) in &now.paths {
            let Some(before) = then.paths.get(path) else { continue };
            let is_new_in_index = state.staged.is_some() && state.staged != before.staged;
            if !state.content.is_same(&before.content) {
                let here = sources_of(state).filter(|&source| {
                    source != Source::Staged || !(state.is_unstaged || state.is_untracked) || is_new_in_index
                });
                let mut here: Vec<Source> = here.collect();
                if here.is_empty() {
                    // The tree went back to what the commit has, and left the index behind.
                    here.push(sources_of(before).next().unwrap_or(Source::Unstaged));
                }
                for source in here {
                    self.count_path(now, source, path);
                }
            } else if is_new_in_index && (state.is_unstaged || state.content == Content::Folder) {
                // The index has something that neither the work tree has nor the index had.
                self.count_path(now, Source::Staged, path);
            }
        }
    }

    /// Paths that did not differ from the commit then, and do now.
    fn paths_new(&mut self, now: &Repository, then: &Repository, heads: &Heads) {
        if then.rest.is_some() {
            // They may have been among those that were too many to keep.
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

    /// Paths that differed from the commit then, and do not now.
    fn paths_gone(&mut self, now: &Repository, then: &Repository, heads: &Heads, has_commits: bool) {
        for (path, before) in &then.paths {
            if now.paths.contains_key(path) {
                continue;
            }
            let here = Content::at(&path.below(now.top.as_path()), &mut self.budget);
            if here.is_same(&before.content) || before.content == Content::Folder {
                continue;
            }
            if has_commits && heads.was(path) != Was::Same {
                // It was edited further and then committed: the commit counts.
                continue;
            }
            for source in sources_of(before).take(1) {
                self.count_path(now, source, path);
            }
        }
    }

    fn rest(&mut self, now: &Repository, then: Option<&Rest>, has_commits: bool) {
        let source = source_of(now.place, Source::Untracked);
        match (&now.rest, then) {
            (Some(rest), None) => self.count_many(source, rest.count, "more paths than are kept".to_owned()),
            (Some(rest), Some(before)) if rest != before => {
                self.count(source, "something among more paths than are kept".to_owned());
            }
            (None, Some(_before)) if !has_commits => {
                self.count(source, "fewer paths than before".to_owned());
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    fn files(&mut self, now: &Files, then: &Files) {
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
            if !is_listed && !Content::at(&path.below(self.root), &mut self.budget).is_same(before) {
                self.count(Source::Files, path.to_string());
            }
        }
        match (&now.rest, &then.rest) {
            (Some(rest), None) => self.count_many(Source::Files, rest.count, "more files than are kept".to_owned()),
            (now, then) if now != then => {
                self.count(Source::Files, "something among more files than are kept".to_owned());
            }
            (_same, _as_then) => {}
        }
    }

    fn count_path(&mut self, repository: &Repository, source: Source, path: &TreePath) {
        let example = self.example(repository, &path.to_string());
        self.count(source_of(repository.place, source), example);
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

    /// Something in a repository, by the repository's folder too where it is not the one around the root.
    fn example(&self, repository: &Repository, text: &str) -> String {
        match repository.place {
            Place::Around => text.to_owned(),
            Place::Worktree | Place::Nested => format!("{}{text}", self.label(repository)),
        }
    }

    /// A repository's folder, from the root.
    fn label(&self, repository: &Repository) -> String {
        let top = repository.top.as_path();
        let inside = top.strip_prefix(self.root).unwrap_or(top);
        let name = if inside.as_os_str().is_empty() { Path::new(OsStr::new(".")) } else { inside };
        format!("{}/", TreePath::of(name))
    }
}

/// What a change in a work tree counts as.
fn source_of(place: Place, source: Source) -> Source {
    match place {
        Place::Around => source,
        Place::Worktree => Source::Worktrees,
        Place::Nested => Source::Repositories,
    }
}

/// Where a path differs from the commit.
fn sources_of(state: &PathState) -> impl Iterator<Item = Source> {
    let is_in_tree = !state.is_as_committed;
    let untracked = (is_in_tree && state.is_untracked).then_some(Source::Untracked);
    let unstaged = (is_in_tree && state.is_unstaged).then_some(Source::Unstaged);
    let staged = state.staged.is_some().then_some(Source::Staged);
    if untracked.is_some() { [untracked, None] } else { [unstaged, staged] }.into_iter().flatten()
}
