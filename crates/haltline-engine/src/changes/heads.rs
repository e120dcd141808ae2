//! What moving from one commit to another did to paths that were as committed before.
//!
//! A path that differs from the commit now need not have changed: `git reset` undoes a commit and leaves the files.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::blob::{self, Blob};
use super::repository::{PathState, Repository};
use super::status::is_id;
use super::tree_path::TreePath;
use crate::git::Git;

/// The id of the empty tree, in repositories with SHA-1 and with SHA-256 ids.
const EMPTY_TREES: [&str; 2] =
    ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"];

/// The commits checked out then and now. What differs between them is read at most once.
pub(super) struct Heads {
    trees: Option<(String, String)>,
    git: Option<Git>,
    differences: OnceCell<Option<BTreeMap<TreePath, Blob>>>,
}

/// What the earlier commit had at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EarlierContent {
    /// The same as the current commit.
    Same,
    /// Something else.
    Other,
    /// git does not say.
    Unknown,
}

impl Heads {
    pub(super) fn new(now: &Repository, then: &Repository, git: Option<Git>) -> Self {
        let trees = match (&then.tree, &now.tree) {
            (then, now) if then == now => None,
            (Some(then), Some(now)) => Some((then.clone(), now.clone())),
            (None, Some(now)) => Some((empty_tree(now), now.clone())),
            (Some(then), None) => Some((then.clone(), empty_tree(then))),
            (None, None) => None,
        };
        Self { trees, git, differences: OnceCell::new() }
    }

    pub(super) fn earlier_content(&self, path: &TreePath) -> EarlierContent {
        if self.trees.is_none() {
            return EarlierContent::Same;
        }
        match self.differences() {
            Some(differences) if differences.contains_key(path) => EarlierContent::Other,
            Some(_) => EarlierContent::Same,
            None => EarlierContent::Unknown,
        }
    }

    /// The paths among `new`, all as committed then, whose content is still that of the earlier commit.
    pub(super) fn unchanged(&self, new: &[(&TreePath, &PathState)]) -> BTreeSet<TreePath> {
        if self.trees.is_none() || new.is_empty() {
            return BTreeSet::new();
        }
        let (Some(differences), Some(git)) = (self.differences(), &self.git) else { return BTreeSet::new() };
        let compared = new.iter().filter_map(|(path, state)| Some((*path, &state.content, differences.get(*path)?)));
        blob::unchanged(git, compared)
    }

    fn differences(&self) -> Option<&BTreeMap<TreePath, Blob>> {
        self.differences.get_or_init(|| self.read_differences()).as_ref()
    }

    fn read_differences(&self) -> Option<BTreeMap<TreePath, Blob>> {
        let ((then, now), git) = (self.trees.as_ref()?, self.git.as_ref()?);
        if ![then, now].iter().all(|tree| is_id(tree.as_bytes())) {
            // A snapshot may come from a file, and git would accept an option in place of an id.
            return None;
        }
        let output = git.run(&["diff-tree", "-r", "-z", "--raw", "--no-renames", then, now]).ok()?;
        if output.is_cut {
            return None;
        }
        let mut differences = BTreeMap::new();
        let mut records = output.bytes.split(|&byte| byte == 0);
        // `:MODE MODE ID ID LETTER`, followed by the path as a separate record.
        while let (Some(record), Some(path)) = (records.next(), records.next()) {
            let record = String::from_utf8_lossy(record.strip_prefix(b":").unwrap_or(record));
            let mut parts = record.split(' ');
            let (Some(mode), Some(_), Some(id)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let blob = Blob { mode: mode.to_owned(), id: id.to_owned() };
            differences.insert(TreePath::new(path), blob);
        }
        Some(differences)
    }
}

/// The id of the empty tree, as long as `other`.
fn empty_tree(other: &str) -> String {
    EMPTY_TREES.iter().find(|tree| tree.len() == other.len()).map_or_else(String::new, |tree| (*tree).to_owned())
}
