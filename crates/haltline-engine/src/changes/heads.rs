//! What moving from one commit to another did to paths that were as committed then.
//!
//! A path that differs from the commit now need not have changed: `git reset` takes a commit back and leaves the files.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::blob::{self, Blob};
use super::repository::{PathState, Repository};
use super::status::is_id;
use super::tree_path::TreePath;
use crate::git::Git;

/// The name of the tree with nothing in it, in repositories with short and with long names.
const EMPTY_TREES: [&str; 2] =
    ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"];

/// The commits that are checked out now and were then, with what differs between them asked once, if at all.
pub(super) struct Heads {
    trees: Option<(String, String)>,
    git: Option<Git>,
    differences: OnceCell<Option<BTreeMap<TreePath, Blob>>>,
}

/// What the commit of then had at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Was {
    /// The same as the commit of now.
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

    /// What the commit of then had at `path`.
    pub(super) fn was(&self, path: &TreePath) -> Was {
        if self.trees.is_none() {
            return Was::Same;
        }
        match self.differences() {
            Some(differences) if differences.contains_key(path) => Was::Other,
            Some(_) => Was::Same,
            None => Was::Unknown,
        }
    }

    /// The paths among `new`, all as committed then, whose content is still that of the commit of then.
    pub(super) fn unchanged(&self, new: &[(&TreePath, &PathState)]) -> BTreeSet<TreePath> {
        if self.trees.is_none() || new.is_empty() {
            return BTreeSet::new();
        }
        let (Some(differences), Some(git)) = (self.differences(), &self.git) else { return BTreeSet::new() };
        let compared = new.iter().filter_map(|(path, state)| Some((*path, &state.content, differences.get(*path)?)));
        blob::unchanged(git, compared)
    }

    fn differences(&self) -> Option<&BTreeMap<TreePath, Blob>> {
        self.differences.get_or_init(|| self.ask()).as_ref()
    }

    fn ask(&self) -> Option<BTreeMap<TreePath, Blob>> {
        let ((then, now), git) = (self.trees.as_ref()?, self.git.as_ref()?);
        if ![then, now].iter().all(|tree| is_id(tree.as_bytes())) {
            // A look comes from a file, and git would take an option for one.
            return None;
        }
        let answer = git.run(&["diff-tree", "-r", "-z", "--raw", "--no-renames", then, now]).ok()?;
        if answer.is_cut {
            return None;
        }
        let mut differences = BTreeMap::new();
        let mut records = answer.bytes.split(|&byte| byte == 0);
        // `:MODE MODE ID ID LETTER`, then the path in a record of its own.
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

/// The empty tree, named as long as `other` is.
fn empty_tree(other: &str) -> String {
    EMPTY_TREES.iter().find(|tree| tree.len() == other.len()).map_or_else(String::new, |tree| (*tree).to_owned())
}
