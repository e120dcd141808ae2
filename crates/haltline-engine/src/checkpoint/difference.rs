//! The difference between two states of a work tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::error::CheckpointError;
use super::manifest::{Manifest, folders_around, is_safe_path};
use super::record::object_id;
use super::work_tree::run_for_bytes;
use crate::git::{Git, records};

/// How many changed paths are listed.
pub const PATHS_MAX: usize = 10_000;

/// Changed paths, relative to the top of the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    /// The first [`PATHS_MAX`], sorted by their bytes.
    pub paths: Vec<PathBuf>,
    /// How many more changed paths there are.
    pub more: u64,
}

/// A file or link in a git tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: String,
    pub(super) id: String,
}

impl TreeEntry {
    pub(super) fn is_link(&self) -> bool {
        self.mode == "120000"
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode == "100755"
    }
}

/// A recorded state of the work tree.
pub(super) struct TreeState {
    pub(super) tree: String,
    pub(super) manifest: Manifest,
}

impl TreeState {
    /// Reads the state that a checkpoint recorded.
    pub(super) fn read(git: &Git, commit: &str) -> Result<Self, CheckpointError> {
        let tree = object_id(git, commit, "tree")?;
        let manifest = run_for_bytes(git, &["cat-file", "blob", &object_id(git, commit, "manifest")?], &[])?;
        let manifest = Manifest::read(&manifest)
            .ok_or_else(|| CheckpointError::damaged(commit, "its manifest is of another version"))?;
        Ok(Self { tree, manifest })
    }

    /// All files of the tree.
    pub(super) fn entries(&self, git: &Git) -> Result<BTreeMap<Vec<u8>, TreeEntry>, CheckpointError> {
        let output = run_for_bytes(git, &["ls-tree", "-r", "-z", "--full-tree", &self.tree], &[])?;
        let mut entries = BTreeMap::new();
        for record in records(&output) {
            let entry = || {
                let tab = record.iter().position(|&byte| byte == b'\t')?;
                let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
                let (mode, kind, id) = (fields.next()?, fields.next()?, fields.next()?);
                let path = &record[tab + 1..];
                let entry = TreeEntry { mode: mode.to_owned(), id: id.to_owned() };
                (kind == "blob" && is_safe_path(path)).then_some((path.to_vec(), entry))
            };
            // A tree that haltline did not write could point outside the work tree.
            let (path, entry) = entry()
                .ok_or_else(|| CheckpointError::damaged(&self.tree, "its tree has a path that cannot be a file"))?;
            entries.insert(path, entry);
        }
        Ok(entries)
    }

    fn files_that_differ(&self, other: &Self, git: &Git) -> Result<BTreeSet<Vec<u8>>, CheckpointError> {
        let arguments = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", &self.tree, &other.tree];
        let output = run_for_bytes(git, &arguments, &[])?;
        let mut paths: BTreeSet<Vec<u8>> = records(&output).map(<[u8]>::to_vec).collect();
        paths.extend(keys_that_differ(&self.manifest.file_modes, &other.manifest.file_modes));
        Ok(paths)
    }

    /// What has to be done to the files of `self` to make them those of `goal`.
    pub(super) fn plan_to(
        &self,
        goal: &Self,
        entries: &BTreeMap<Vec<u8>, TreeEntry>,
        git: &Git,
    ) -> Result<RollbackPlan, CheckpointError> {
        let mut plan = RollbackPlan::default();
        for path in self.files_that_differ(goal, git)? {
            match entries.get(&path) {
                Some(entry) => drop(plan.written.insert(path, entry.clone())),
                None => drop(plan.removed.insert(path)),
            }
        }
        Ok(plan)
    }

    /// Every path that differs, including folders and nested repositories.
    pub(super) fn changed_paths(&self, then: &Self, git: &Git) -> Result<ChangedPaths, CheckpointError> {
        let (now, earlier) = (&self.manifest, &then.manifest);
        let mut paths = self.files_that_differ(then, git)?;
        // Changes inside a nested repository do not belong to this work tree.
        let is_hidden = |path: &Vec<u8>| folders_around(path).any(|folder| now.repositories.contains_key(folder));
        paths.retain(|path| !is_hidden(path));
        let differs = keys_that_differ(&now.repositories, &earlier.repositories)
            .chain(keys_that_differ(&now.left_out, &earlier.left_out));
        paths.extend(differs);
        let folders = keys_that_differ(&now.empty_folders, &earlier.empty_folders)
            // Ignored files come and go without being listed, and so do the folders around them.
            .filter(|folder| !now.holding_ignored.contains(folder) && !earlier.holding_ignored.contains(folder))
            .chain(keys_that_differ(&now.folder_modes, &earlier.folder_modes));
        // A folder whose files appeared or disappeared is already represented by those files.
        let covered: BTreeSet<Vec<u8>> =
            paths.iter().flat_map(|path| folders_around(path).map(<[u8]>::to_vec)).collect();
        paths.extend(folders.filter(|folder| !covered.contains(folder)));
        let more = paths.len().saturating_sub(PATHS_MAX) as u64;
        let paths = paths.into_iter().take(PATHS_MAX).map(|path| PathBuf::from(OsStr::from_bytes(&path))).collect();
        Ok(ChangedPaths { paths, more })
    }
}

/// What a rollback has to do to files.
#[derive(Debug, Default)]
pub(super) struct RollbackPlan {
    pub(super) written: BTreeMap<Vec<u8>, TreeEntry>,
    pub(super) removed: BTreeSet<Vec<u8>>,
}

fn keys_that_differ<'a, T: PartialEq>(
    one: &'a BTreeMap<Vec<u8>, T>,
    other: &'a BTreeMap<Vec<u8>, T>,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let keys: BTreeSet<&Vec<u8>> = one.keys().chain(other.keys()).collect();
    keys.into_iter().filter(|key| one.get(*key) != other.get(*key)).cloned()
}
