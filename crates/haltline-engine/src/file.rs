//! Files that are either old or new, never half: written beside, synced, renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whether a file must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// It is the last resort: on disk before we go on.
    Synced,
    /// It can be made again from the store.
    Remade,
}

/// Replaces a file's content in one step. The temporary name is `NAME.tmp`, as seed 003 has it; callers hold a
/// lock, or write content that is the same whoever wins.
pub fn write_whole(path: &Path, content: &[u8], lasting: Lasting) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        match lasting {
            Lasting::Synced => file.sync_data(),
            Lasting::Remade => Ok(()),
        }
    });
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, path)) {
        // Leave no half file behind; the first error is the one to tell.
        fs::remove_file(&temporary).ok();
        return Err(error);
    }
    Ok(())
}

/// Moves a damaged file out of the way, beside itself, and says where. Keeps the newest `keep`.
pub fn set_aside(path: &Path, label: &str, keep: usize) -> io::Result<PathBuf> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let prefix = format!("{name}.corrupt-");
    let mut target = path.with_file_name(format!("{prefix}{label}"));
    let mut attempt = 1;
    while target.exists() {
        attempt += 1;
        target = path.with_file_name(format!("{prefix}{label}-{attempt}"));
    }
    fs::rename(path, &target)?;
    forget_oldest(&target, &prefix, keep);
    Ok(target)
}

/// By their labels; the one just set aside stays whatever the clock said.
fn forget_oldest(newest: &Path, prefix: &str, keep: usize) {
    let mut others = set_aside_files(newest.parent().unwrap_or(Path::new(".")), prefix);
    others.retain(|other| other != newest);
    for old in others.iter().rev().skip(keep.saturating_sub(1)) {
        fs::remove_file(old).ok();
    }
}

/// The files of a folder whose names begin with `prefix`.
pub fn set_aside_files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = files
        .flatten()
        .filter(|file| file.file_name().to_string_lossy().starts_with(prefix))
        .map(|file| file.path())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("state.json");
        for content in ["one", "two"] {
            write_whole(&path, content.as_bytes(), Lasting::Synced).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), content);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
        assert!(write_whole(&folder.path().join("missing/state.json"), b"x", Lasting::Remade).is_err());
    }

    #[test]
    fn damaged_files_are_kept_but_not_without_end() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("state.json");
        for _ in 0..8 {
            fs::write(&path, "damaged").expect("written");
            set_aside(&path, "20260212", 3).expect("moved");
        }
        assert!(!path.exists());
        assert_eq!(set_aside_files(folder.path(), "state.json.corrupt-").len(), 3);
    }
}
