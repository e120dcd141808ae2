//! Replaces files atomically, so that a reader sees the old or the new content and never half of it, and tells with a
//! [`Stamp`] whether a file changed.

mod stamp;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use haltline_core::Instant;
use rustix::fs::OFlags;
use serde::Serialize;

pub use stamp::{Stamp, StampedPath};

/// Whether a file must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The file is the last resort: it is synced to disk before haltline continues.
    Synced,
    /// As [`Durability::Synced`], and the new name too survives a power cut, because the original is deleted next.
    SyncedWithFolder,
    /// The file can be rebuilt from the store.
    Rebuildable,
}

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody whom the process's umask allows.
    Umask,
    /// Only its owner, from the moment it is created.
    Owner,
}

impl Access {
    fn create(self, path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        match self {
            Access::Umask => options.open(path),
            Access::Owner => {
                let file = options.mode(0o600).open(path)?;
                // A temporary file that a killed process left may have another mode.
                file.set_permissions(fs::Permissions::from_mode(0o600))?;
                Ok(file)
            }
        }
    }
}

/// Replaces a file's content in one step. The temporary name is `NAME.tmp`, as in seed 003; callers hold a lock, or
/// write the same content as any other writer.
pub fn write_atomically(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    replace_file(path, &with_suffix(path, ".tmp"), Access::Umask, durability, |file| file.write_all(content))
}

/// As [`write_atomically`], for a file that only its owner may read, at no time anybody else.
pub fn write_privately(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    replace_file(path, &with_suffix(path, ".tmp"), Access::Owner, durability, |file| file.write_all(content))
}

/// Replaces the file at `path` in one step with what `write` puts into `temporary`, a path in the same folder. All files
/// that haltline replaces by name go through here; `write` may also set the mode and the time.
pub fn replace_file(
    path: &Path,
    temporary: &Path,
    access: Access,
    durability: Durability,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let replaced = access.create(temporary).and_then(|mut file| {
        write(&mut file)?;
        match durability {
            Durability::Synced => file.sync_data()?,
            Durability::SyncedWithFolder => file.sync_all()?,
            Durability::Rebuildable => {}
        }
        fs::rename(temporary, path)?;
        match durability {
            Durability::SyncedWithFolder => sync_folder(path),
            Durability::Synced | Durability::Rebuildable => Ok(()),
        }
    });
    if replaced.is_err() {
        // Leave no half-written file behind; the first error is the one to report.
        fs::remove_file(temporary).ok();
    }
    replaced
}

/// Opens a regular file. A link is not followed, and opening a pipe does not block.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    open_checked(File::options().read(true), path)
}

/// Opens a regular file to append to it, and creates it if it is missing.
pub(crate) fn append_regular(path: &Path) -> io::Result<File> {
    open_checked(File::options().append(true).create(true), path)
}

fn open_checked(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = options.custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    Ok(file)
}

/// Syncs the folder that contains `path`, so that a rename survives a crash.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// The path with `suffix` added to its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut longer = path.as_os_str().to_owned();
    longer.push(suffix);
    PathBuf::from(longer)
}

/// The result of an operation on a file; `None` if there is no such file.
pub(crate) fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A value as indented JSON with a line end, as people and other programs expect it in a file.
pub(crate) fn pretty_json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("texts and numbers can be written");
    text.push(b'\n');
    text
}

/// The time as a part of a file name.
pub(crate) fn time_label(at: Instant) -> String {
    at.to_seconds_text().replace(':', "")
}

/// Renames a damaged file within its folder and returns its new path. Keeps the newest `keep` such files.
pub fn set_aside(path: &Path, at: Instant, keep: usize) -> io::Result<PathBuf> {
    let label = time_label(at);
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

/// Deletes the oldest by label. The one just set aside stays, even if its label is older because a clock was wrong.
fn forget_oldest(newest: &Path, prefix: &str, keep: usize) {
    let mut others = set_aside_files(newest.parent().unwrap_or(Path::new(".")), prefix);
    others.retain(|other| other != newest);
    for old in others.iter().rev().skip(keep.saturating_sub(1)) {
        fs::remove_file(old).ok();
    }
}

/// The files of a folder whose names start with `prefix`, sorted.
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
    fn a_file_is_replaced_whole_and_leaves_no_other_file() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("state.json");
        for content in ["one", "two"] {
            write_atomically(&path, content.as_bytes(), Durability::Synced).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), content);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
        assert!(write_atomically(&folder.path().join("missing/state.json"), b"x", Durability::Rebuildable).is_err());
    }

    #[test]
    fn a_private_file_is_never_readable_by_others() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("texts.json");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let temporary = with_suffix(&path, ".tmp");
        fs::write(&temporary, "left by a kill").expect("written");
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o644)).expect("permitted");
        write_privately(&path, b"secret", Durability::Rebuildable).expect("written");
        assert_eq!((mode(&path), fs::read(&path).expect("read")), (0o600, b"secret".to_vec()));
        // The old file may be open to everybody: its mode is not taken over.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("permitted");
        write_privately(&path, b"another", Durability::Synced).expect("written");
        assert_eq!((mode(&path), temporary.exists()), (0o600, false));
    }

    #[test]
    fn a_failed_write_leaves_the_old_content_and_no_other_file() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("state.json");
        fs::write(&path, "old").expect("written");
        let temporary = with_suffix(&path, ".tmp");
        let failed = replace_file(&path, &temporary, Access::Umask, Durability::Synced, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no space"))
        });
        assert_eq!(failed.map_err(|error| error.to_string()), Err("no space".to_owned()));
        assert_eq!(fs::read_to_string(&path).expect("read"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
    }

    #[test]
    fn damaged_files_are_kept_but_not_without_end() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("state.json");
        for _ in 0..8 {
            fs::write(&path, "damaged").expect("written");
            set_aside(&path, Instant::from_millis(0), 3).expect("moved");
        }
        assert!(!path.exists());
        assert_eq!(set_aside_files(folder.path(), "state.json.corrupt-").len(), 3);
    }
}
