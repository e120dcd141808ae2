//! A folder without git: its files by size, time and, if they are small, content.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::content::Content;
use super::exclusions::{Exclusions, is_built};
use super::repository::{Rest, RestSum};
use super::tree_path::TreePath;

/// Larger files are not read: without git, every snapshot visits every file.
const CONTENT_FILE_BYTES_MAX: u64 = 256 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Files {
    pub(super) paths: BTreeMap<TreePath, Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Rest>,
}

impl Files {
    /// Walks `root` without the folders in `separate`, which have their own entries in the snapshot.
    pub(super) fn capture(
        root: &Path,
        separate: &BTreeSet<PathBuf>,
        exclusions: &Exclusions,
        budget: &mut Budget,
    ) -> Self {
        budget.set_content_file_bytes_max(CONTENT_FILE_BYTES_MAX);
        let mut paths = BTreeMap::new();
        let mut rest = RestSum::default();
        let mut waiting = vec![root.to_owned()];
        'walk: while let Some(folder) = waiting.pop() {
            let mut names = BTreeSet::new();
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if !budget.visit() {
                    rest.cut();
                    break 'walk;
                }
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                names.insert((entry.file_name(), is_folder));
            }
            if folder != root && is_git_directory(&names) {
                // A bare repository: its work trees show what is in it.
                continue;
            }
            // The last folder pushed is visited first. Sorting the names makes a cut fall at the same point every time.
            for (name, is_folder) in names.into_iter().rev() {
                let whole = folder.join(&name);
                let path = TreePath::from_path(whole.strip_prefix(root).unwrap_or(&whole));
                if !exclusions.counts(root, path.as_path()) {
                    continue;
                }
                if is_folder {
                    if name != ".git" && !is_built(name.as_bytes()) && !separate.contains(&whole) {
                        waiting.push(whole);
                    }
                } else if budget.reserve_path() {
                    paths.insert(path, Content::at(&whole, budget));
                } else {
                    rest.add(path.bytes(), root, budget);
                }
            }
        }
        Self { paths, rest: rest.finish() }
    }
}

/// True if these are the names in a git directory.
fn is_git_directory(names: &BTreeSet<(OsString, bool)>) -> bool {
    [("HEAD", false), ("objects", true), ("refs", true)]
        .iter()
        .all(|&(name, is_folder)| names.contains(&(OsString::from(name), is_folder)))
}
