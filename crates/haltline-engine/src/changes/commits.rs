//! Finds new commits: reachable now and not then, with content that did not exist before.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::exclusions::Exclusions;
use super::repository::Repository;
use super::status::is_id;
use super::tree_path::escaped;
use crate::git::{Git, GitError};

/// How many commits are counted at most.
const COMMITS_MAX: usize = 10_000;
/// What git prints for each commit: its tree, its parents, its subject.
const FORMAT: &str = "--format=%T/%P/%s";
/// How many digits of a commit's id are shown.
const ID_DIGITS_SHOWN: usize = 8;
/// How much of a commit's subject is shown.
const SUBJECT_CHARACTERS_MAX: usize = 60;

/// A commit as git lists it.
struct Commit {
    id: String,
    tree: String,
    parents: Vec<String>,
    subject: String,
}

impl Commit {
    fn display(&self) -> String {
        let id = self.id.get(..ID_DIGITS_SHOWN).unwrap_or(&self.id);
        let subject: String = self.subject.chars().take(SUBJECT_CHARACTERS_MAX).collect();
        format!("{id} {subject}")
    }
}

/// What the work trees of one repository could reach.
#[derive(Debug, Default)]
pub(super) struct ReachableCommits {
    tips: BTreeSet<String>,
    tips_elsewhere: BTreeSet<String>,
    /// The trees of the checked-out commits.
    trees: BTreeSet<String>,
}

impl ReachableCommits {
    /// Combines the work trees among `all` that share a repository with `one`, and `one` itself in case its repository
    /// has moved.
    pub(super) fn of_repository(one: &Repository, all: &[Repository]) -> Self {
        let mut reach = Self::default();
        for same in all.iter().filter(|other| other.common == one.common || other.top == one.top) {
            reach.tips.extend(same.tips.iter().cloned());
            reach.tips_elsewhere.extend(same.tips_elsewhere.iter().cloned());
            reach.trees.extend(same.tree.clone());
        }
        reach
    }

    fn contains(&self, tip: &str) -> bool {
        self.tips.contains(tip) || self.tips_elsewhere.contains(tip)
    }
}

/// The new commits of one work tree, newest first, as one line each.
///
/// A commit does not count if its tree is that of one of its parents (an empty commit, a merge that brings nothing), of
/// the commit that was checked out, or of a commit that is no longer reachable (it was only rewritten).
pub(super) fn since(
    now: &Repository,
    then: &ReachableCommits,
    all_now: &ReachableCommits,
    exclusions: &Exclusions,
    git: &Git,
    counted: &mut BTreeSet<String>,
) -> Vec<String> {
    if now.tips.iter().all(|tip| then.contains(tip)) {
        return Vec::new();
    }
    let found = (|| {
        let specs = exclusions.pathspecs(now.top.as_path());
        let new = list(git, &now.tips, [&then.tips, &then.tips_elsewhere], specs)?;
        let gone = list(git, &then.tips, [&all_now.tips, &all_now.tips_elsewhere], Vec::new())?;
        let merged = trees_of_merged(git, &new)?;
        Ok::<_, GitError>((new, gone, merged))
    })();
    let Ok((new, gone, merged)) = found else {
        // The old commits no longer exist, or git fails. It is still certain that the tree is another one.
        let is_new = now.tree.as_ref().is_some_and(|tree| !then.trees.contains(tree));
        let head = now.head.as_deref().filter(|head| is_new && counted.insert((*head).to_owned()));
        return head.into_iter().map(|head| head.chars().take(ID_DIGITS_SHOWN).collect()).collect();
    };
    let gone: BTreeSet<String> = gone.into_iter().map(|commit| commit.tree).collect();
    let is_only_merged = |commit: &Commit| {
        commit.parents.len() > 1 && commit.parents.iter().any(|parent| merged.get(parent) == Some(&commit.tree))
    };
    let counts =
        |commit: &Commit| !gone.contains(&commit.tree) && !then.trees.contains(&commit.tree) && !is_only_merged(commit);
    new.iter().filter(|commit| counts(commit) && counted.insert(commit.id.clone())).map(Commit::display).collect()
}

/// Commits reachable from `tips` and not from `without` that change any path that `specs` does not exclude.
fn list(
    git: &Git,
    tips: &BTreeSet<String>,
    without: [&BTreeSet<String>; 2],
    specs: Vec<Vec<u8>>,
) -> Result<Vec<Commit>, GitError> {
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    // A snapshot may come from a file, and git accepts options among the lines it reads.
    let with = tips.iter().filter(|tip| is_id(tip.as_bytes())).map(|tip| format!("{tip}\n"));
    let without = without.into_iter().flatten().filter(|tip| is_id(tip.as_bytes())).map(|tip| format!("^{tip}\n"));
    let input: String = with.chain(without).collect();
    let count = format!("--max-count={COMMITS_MAX}");
    let mut arguments: Vec<OsString> =
        ["rev-list", "--stdin", "--encoding=UTF-8", FORMAT, &count].map(OsString::from).into();
    if !specs.is_empty() {
        // With pathspecs, git itself leaves out commits that change nothing in them.
        arguments.extend(["--full-history", "--"].map(OsString::from));
        arguments.extend(specs.into_iter().map(OsString::from_vec));
    }
    Ok(read(&git.run_with_input(&arguments, input.as_bytes())?.bytes))
}

/// The trees of all parents of new merges. git's own filtering in [`list`] does not cover merges with commits that were
/// already known.
fn trees_of_merged(git: &Git, new: &[Commit]) -> Result<BTreeMap<String, String>, GitError> {
    let merges = new.iter().filter(|commit| commit.parents.len() > 1);
    let parents: BTreeSet<&String> = merges.flat_map(|commit| &commit.parents).collect();
    if parents.is_empty() {
        return Ok(BTreeMap::new());
    }
    let input: String = parents.into_iter().map(|parent| format!("{parent}\n")).collect();
    let output = git.run_with_input(&["rev-list", "--no-walk", "--stdin", FORMAT], input.as_bytes())?;
    Ok(read(&output.bytes).into_iter().map(|commit| (commit.id, commit.tree)).collect())
}

/// Parses two lines for each commit: `commit ID`, and the format's output.
fn read(output: &[u8]) -> Vec<Commit> {
    let mut commits = Vec::new();
    let mut lines = output.split(|&byte| byte == b'\n');
    while let (Some(first), Some(second)) = (lines.next(), lines.next()) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let id = first.strip_prefix(b"commit ").unwrap_or(first);
        let mut parts = second.splitn(3, |&byte| byte == b'/');
        let (Some(tree), Some(parents), Some(subject)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if is_id(id) && is_id(tree) {
            let parents = parents.split(|&byte| byte == b' ').filter(|id| is_id(id)).map(text).collect();
            commits.push(Commit { id: text(id), tree: text(tree), parents, subject: escaped(subject.trim_ascii()) });
        }
    }
    commits
}
