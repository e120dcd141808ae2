//! Finds the work trees below a folder by walking it; starts no program and follows no link.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::exclusions::{Exclusions, is_built};
use crate::project::read_pointer;

/// How many folders deep to search for repositories.
const DEPTH_MAX: usize = 6;

/// The folders below `root` that have a `.git`, nearest first. Folders with generated or downloaded files are skipped.
pub(super) fn find_below(root: &Path, exclusions: &Exclusions, budget: &mut Budget) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(root.to_owned(), 0)]);
    while let Some((folder, depth)) = waiting.pop_front() {
        if depth > 0 && fs::symlink_metadata(folder.join(".git")).is_ok() {
            found.push(folder.clone());
        }
        if depth == DEPTH_MAX {
            continue;
        }
        let mut subfolders = BTreeSet::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !budget.visit() {
                return found;
            }
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && name != ".git" && !is_built(name.as_bytes()) {
                subfolders.insert(name);
            }
        }
        for name in subfolders {
            let subfolder = folder.join(name);
            let inside = subfolder.strip_prefix(root).unwrap_or(&subfolder);
            if exclusions.counts(root, inside) {
                waiting.push_back((subfolder, depth + 1));
            }
        }
    }
    found
}

/// The linked work trees of a repository below `root`, as git records them. This also finds those that are too deep, or
/// in a folder that is not searched.
pub(super) fn linked_work_trees(common: &Path, root: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let tops = entries.filter_map(|entry| {
        let pointer = read_pointer(&entry.path().join("gitdir"))?;
        let pointer = std::ffi::OsStr::from_bytes(pointer.trim_ascii_end());
        let top = fs::canonicalize(entry.path().join(pointer).parent()?).ok()?;
        (top != root && top.starts_with(root)).then_some(top)
    });
    tops.collect()
}
