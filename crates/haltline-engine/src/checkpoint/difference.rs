//! What differs between two states of a work tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::error::CheckpointError;
use super::manifest::{Manifest, folders_of, is_plain};
use super::place::whole;
use super::record::part;
use crate::git::Git;

/// How many changed paths are listed.
pub const PATHS_MAX: usize = 10_000;

/// Paths that changed, from the top of the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The first [`PATHS_MAX`], sorted by their bytes.
    pub paths: Vec<PathBuf>,
    /// How many more there are.
    pub more: u64,
}

/// A file or link in a tree of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) id: String,
}

impl Entry {
    pub(super) fn is_link(&self) -> bool {
        self.mode == "120000"
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode == "100755"
    }
}

/// A state of the work tree that is written down.
pub(super) struct State {
    pub(super) tree: String,
    pub(super) manifest: Manifest,
}

impl State {
    /// Reads a checkpoint.
    pub(super) fn of(git: &Git, commit: &str) -> Result<Self, CheckpointError> {
        let tree = part(git, commit, "tree")?;
        let manifest = whole(git, &["cat-file", "blob", &part(git, commit, "manifest")?], &[])?;
        let manifest = Manifest::read(&manifest)
            .ok_or_else(|| CheckpointError::damaged(commit, "its manifest is of another version"))?;
        Ok(Self { tree, manifest })
    }

    /// All files of a tree.
    pub(super) fn entries(&self, git: &Git) -> Result<BTreeMap<Vec<u8>, Entry>, CheckpointError> {
        let answer = whole(git, &["ls-tree", "-r", "-z", "--full-tree", &self.tree], &[])?;
        let mut entries = BTreeMap::new();
        for record in answer.split(|&byte| byte == 0).filter(|record| !record.is_empty()) {
            let entry = || {
                let tab = record.iter().position(|&byte| byte == b'\t')?;
                let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
                let (mode, kind, id) = (fields.next()?, fields.next()?, fields.next()?);
                let path = &record[tab + 1..];
                let entry = Entry { mode: mode.to_owned(), id: id.to_owned() };
                (kind == "blob" && is_plain(path)).then_some((path.to_vec(), entry))
            };
            // A tree we did not write could lead anywhere.
            let (path, entry) =
                entry().ok_or_else(|| CheckpointError::damaged(&self.tree, "its tree has a path that is no file's"))?;
            entries.insert(path, entry);
        }
        Ok(entries)
    }

    /// The paths whose files differ.
    fn files_that_differ(&self, other: &Self, git: &Git) -> Result<BTreeSet<Vec<u8>>, CheckpointError> {
        let arguments = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", &self.tree, &other.tree];
        let answer = whole(git, &arguments, &[])?;
        let mut paths: BTreeSet<Vec<u8>> =
            answer.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect();
        paths.extend(keys_that_differ(&self.manifest.file_modes, &other.manifest.file_modes));
        Ok(paths)
    }

    /// What has to be done to the files of `self` to make them those of `goal`. Both what is written and what is
    /// removed is sorted.
    pub(super) fn way_to(
        &self,
        goal: &Self,
        entries: &BTreeMap<Vec<u8>, Entry>,
        git: &Git,
    ) -> Result<Way, CheckpointError> {
        let mut way = Way::default();
        for path in self.files_that_differ(goal, git)? {
            match entries.get(&path) {
                Some(entry) => drop(way.written.insert(path, entry.clone())),
                None => drop(way.removed.insert(path)),
            }
        }
        Ok(way)
    }

    /// Every path that differs, folders and repositories too.
    pub(super) fn changed(&self, then: &Self, git: &Git) -> Result<Changed, CheckpointError> {
        let (now, then_too) = (&self.manifest, &then.manifest);
        let mut paths = self.files_that_differ(then, git)?;
        // What is inside a repository now is its own matter.
        let is_hidden = |path: &Vec<u8>| folders_of(path).any(|folder| now.repositories.contains_key(folder));
        paths.retain(|path| !is_hidden(path));
        let differs = keys_that_differ(&now.repositories, &then_too.repositories)
            .chain(keys_that_differ(&now.left_out, &then_too.left_out));
        paths.extend(differs);
        let folders = keys_that_differ(&now.empty_folders, &then_too.empty_folders)
            // What is ignored comes and goes without telling, and so do the folders around it.
            .filter(|folder| !now.holding.contains(folder) && !then_too.holding.contains(folder))
            .chain(keys_that_differ(&now.folder_modes, &then_too.folder_modes));
        // A folder whose files came or went is told by them.
        let told: BTreeSet<Vec<u8>> = paths.iter().flat_map(|path| folders_of(path).map(<[u8]>::to_vec)).collect();
        paths.extend(folders.filter(|folder| !told.contains(folder)));
        let more = paths.len().saturating_sub(PATHS_MAX) as u64;
        let paths = paths.into_iter().take(PATHS_MAX).map(|path| PathBuf::from(OsStr::from_bytes(&path))).collect();
        Ok(Changed { paths, more })
    }
}

/// What a rollback does to files.
#[derive(Debug, Default)]
pub(super) struct Way {
    pub(super) written: BTreeMap<Vec<u8>, Entry>,
    pub(super) removed: BTreeSet<Vec<u8>>,
}

fn keys_that_differ<'a, T: PartialEq>(
    one: &'a BTreeMap<Vec<u8>, T>,
    other: &'a BTreeMap<Vec<u8>, T>,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let keys: BTreeSet<&Vec<u8>> = one.keys().chain(other.keys()).collect();
    keys.into_iter().filter(|key| one.get(*key) != other.get(*key)).cloned()
}
