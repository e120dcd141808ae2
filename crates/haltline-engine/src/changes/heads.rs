//! What moving from one commit to another did to paths that were as committed then.
//!
//! A path that differs from the commit now need not have changed: `git reset` takes a commit back and leaves the files.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use super::content::Content;
use super::repository::{PathState, Repository};
use super::status::is_id;
use super::tree_path::TreePath;
use crate::git::Git;

/// How many files are compared with the commit of then.
const COMPARED_MAX: usize = 2_000;
/// The name of the tree with nothing in it, in repositories with short and with long names.
const EMPTY_TREES: [&str; 2] =
    ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"];

/// The commits that are checked out now and were then, with what differs between them asked once, if at all.
pub(super) struct Heads {
    trees: Option<(String, String)>,
    git: Option<Git>,
    differences: OnceCell<Option<BTreeMap<TreePath, Blob>>>,
}

/// A path in the commit of then: its mode and id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Blob {
    mode: String,
    id: String,
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
        let mut unchanged = BTreeSet::new();
        if self.trees.is_none() || new.is_empty() {
            return unchanged;
        }
        let Some(differences) = self.differences() else { return unchanged };
        let mut compared: Vec<(&TreePath, &Blob)> = Vec::new();
        for (path, state) in new {
            let Some(blob) = differences.get(*path) else { continue };
            match &state.content {
                Content::Absent if blob.is_nothing() => {
                    unchanged.insert((*path).clone());
                }
                Content::File { is_executable, .. } if blob.is_file(*is_executable) => compared.push((path, blob)),
                Content::Absent | Content::File { .. } | Content::Link(_) | Content::Folder | Content::Other => {}
            }
        }
        compared.truncate(COMPARED_MAX);
        let ids = self.ids_of(compared.iter().map(|(path, _blob)| *path)).unwrap_or_default();
        let same = compared.iter().zip(ids).filter(|((_path, blob), id)| blob.id == *id);
        unchanged.extend(same.map(|((path, _blob), _id)| (*path).clone()));
        unchanged
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

    /// The ids that files of the work tree would have. Nothing is written, and no program runs.
    fn ids_of<'a>(&self, paths: impl Iterator<Item = &'a TreePath>) -> Option<Vec<String>> {
        let mut arguments: Vec<OsString> = ["hash-object", "--"].map(OsString::from).into();
        arguments.extend(paths.map(|path| path.as_path().as_os_str().to_owned()));
        if arguments.len() == 2 {
            return None;
        }
        let answer = self.git.as_ref()?.run(&arguments).ok()?;
        let ids = answer.bytes.split(|&byte| byte == b'\n').filter(|id| is_id(id));
        Some(ids.map(|id| String::from_utf8_lossy(id).into_owned()).collect())
    }
}

impl Blob {
    fn is_nothing(&self) -> bool {
        self.mode == "000000"
    }

    fn is_file(&self, is_executable: bool) -> bool {
        self.mode == if is_executable { "100755" } else { "100644" }
    }
}

/// The empty tree, named as long as `other` is.
fn empty_tree(other: &str) -> String {
    EMPTY_TREES.iter().find(|tree| tree.len() == other.len()).map_or_else(String::new, |tree| (*tree).to_owned())
}
