//! Finds the work trees below a folder by walking it: no program is started, and no link is followed.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::exclusions::{Exclusions, is_built};
use crate::project::read_pointer;

/// How many folders deep repositories are looked for.
const DEPTH_MAX: usize = 6;

/// The folders below `root` that have a `.git`, nearest first. Folders that are built or fetched are not searched.
pub(super) fn below(root: &Path, exclusions: &Exclusions, budget: &mut Budget) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(root.to_owned(), 0)]);
    while let Some((folder, depth)) = waiting.pop_front() {
        if depth > 0 && fs::symlink_metadata(folder.join(".git")).is_ok() {
            found.push(folder.clone());
        }
        if depth == DEPTH_MAX {
            continue;
        }
        let mut children = BTreeSet::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !budget.visit() {
                return found;
            }
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && name != ".git" && !is_built(name.as_bytes()) {
                children.insert(name);
            }
        }
        for name in children {
            let child = folder.join(name);
            let inside = child.strip_prefix(root).unwrap_or(&child);
            if exclusions.counts(root, inside) {
                waiting.push_back((child, depth + 1));
            }
        }
    }
    found
}

/// The work trees that a repository itself knows of, below `root`: also where they are deep, or in a folder that is
/// not searched.
pub(super) fn linked(common: &Path, root: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let tops = entries.filter_map(|entry| {
        let pointer = read_pointer(&entry.path().join("gitdir"))?;
        let pointer = std::ffi::OsStr::from_bytes(pointer.trim_ascii_end());
        let top = fs::canonicalize(entry.path().join(pointer).parent()?).ok()?;
        (top != root && top.starts_with(root)).then_some(top)
    });
    tops.collect()
}
