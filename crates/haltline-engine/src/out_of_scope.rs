//! Finds files that changed since a moment by walking the tree: what a shell command wrote is known only afterwards
//! (A5).
//!
//! A hook starts no program, so haltline walks the tree itself and skips what git ignores. It compares the inode change
//! time (ctime), which programs do not set. A deleted file is not found here; the next attempt's comparison of trees
//! finds it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use haltline_core::Instant;
use ignore::WalkBuilder;

use crate::archive::ARCHIVE_FILE;
use crate::incident::INCIDENTS_FILE;
use crate::mirror::STATE_FILE;
use crate::session_file;

/// How many files and folders are visited.
const ENTRIES_MAX: usize = 50_000;
/// How many changed files are reported.
const CHANGED_MAX: usize = 256;

/// The files below `root` that changed at or after `since`, relative to `root`.
pub(crate) fn changed_since(root: &Path, since: Instant) -> Vec<String> {
    let since_ms = i128::from(since.as_millis());
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .parents(true)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut found = Vec::new();
    for entry in walk.take(ENTRIES_MAX).flatten() {
        let Ok(file) = entry.path().symlink_metadata() else { continue };
        let changed_ms = i128::from(file.ctime()) * 1000 + i128::from(file.ctime_nsec()) / 1_000_000;
        if file.is_dir() || changed_ms < since_ms {
            continue;
        }
        if let Ok(path) = entry.path().strip_prefix(root)
            && !is_written_by_haltline(path)
        {
            found.push(path.to_string_lossy().into_owned());
        }
        if found.len() == CHANGED_MAX {
            break;
        }
    }
    found.sort();
    found
}

/// True for the files that haltline itself keeps in a project.
pub fn is_written_by_haltline(path: &Path) -> bool {
    let is_state_file = path.file_name().is_some_and(|name| {
        name == STATE_FILE || name == ARCHIVE_FILE || name == session_file::NAME || name == INCIDENTS_FILE
    });
    is_state_file || path.components().any(|part| part.as_os_str() == ".prp-session")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changed_files_are_found_and_ignored_ones_are_not() {
        let folder = tempfile::tempdir().expect("temp folder");
        let root = folder.path();
        for path in ["src", "target", ".git", ".github"] {
            fs::create_dir(root.join(path)).expect("created");
        }
        fs::write(root.join(".gitignore"), "target/\n*.log\n").expect("written");
        for path in ["src/a.rs", "target/b", "c.log", ".git/index", ".github/ci.yml", "with space\nand line"] {
            fs::write(root.join(path), "x").expect("written");
        }
        let early = Instant::from_millis(0);
        assert_eq!(changed_since(root, early), [".github/ci.yml", ".gitignore", "src/a.rs", "with space\nand line"]);
        let written = fs::metadata(root.join("src/a.rs")).expect("there");
        let after = Instant::from_millis((written.ctime() + 3600) * 1000);
        assert_eq!(changed_since(root, after), Vec::<String>::new());
    }
}
