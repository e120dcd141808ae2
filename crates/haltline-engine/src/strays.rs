//! Files that changed since a moment, found by looking at the tree: what a shell command wrote is known only afterwards
//! (A5).
//!
//! A hook starts no program, so the look is its own: a walk that passes over what git ignores. The system's own time of
//! change is compared, which no program sets. A file that is gone is not found here; the next attempt's comparison of
//! trees finds it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use haltline_core::Instant;
use ignore::WalkBuilder;

/// How many files and folders are looked at.
const ENTRIES_MAX: usize = 50_000;
/// How many changed files are told.
const CHANGED_MAX: usize = 256;

/// The files below `root` that changed at or after `since`, as paths of the project.
pub(crate) fn changed(root: &Path, since: Instant) -> Vec<String> {
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
        if let Ok(path) = entry.path().strip_prefix(root) {
            found.push(path.to_string_lossy().into_owned());
        }
        if found.len() == CHANGED_MAX {
            break;
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_changed_is_found_and_what_git_ignores_is_not() {
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
        assert_eq!(changed(root, early), [".github/ci.yml", ".gitignore", "src/a.rs", "with space\nand line"]);
        let written = fs::metadata(root.join("src/a.rs")).expect("there");
        let after = Instant::from_millis((written.ctime() + 3600) * 1000);
        assert_eq!(changed(root, after), Vec::<String>::new());
    }
}
