//! Opens and replaces files with care. A project, and an agent in it, can plant links, pipes, devices and huge files, so
//! nothing here follows a planted link, waits for a pipe, or reads without a limit. Files are replaced atomically: a
//! reader sees the old or the new content and never half of it. A [`Stamp`] tells whether a file changed.

mod seal;
mod stamp;

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::Instant;
use rustix::fs::OFlags;
use serde::Serialize;

pub(crate) use seal::{Sealed, seal, unseal};
pub use stamp::{Stamp, StampedPath};

/// The end of the name of a file that is being written.
const TEMPORARY_SUFFIX: &str = ".tmp";
/// A temporary file this much older than a new one belongs to a process that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);
/// One write in this many looks for abandoned temporary files.
const ABANDONED_CHECK_EVERY: u64 = 16;

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
    /// Creates a file that did not exist: no link is followed, and no other file is overwritten.
    fn create(self, path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.write(true).create_new(true);
        match self {
            Access::Umask => options.open(path),
            Access::Owner => options.mode(0o600).open(path),
        }
    }
}

/// Replaces a file's content in one step. The temporary name is unpredictable, so nobody can plant a link there.
pub fn write_atomically(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    replace_file(path, &temporary_path(path), Access::Umask, durability, |file| file.write_all(content))
}

/// As [`write_atomically`], for a file that only its owner may read, at no time anybody else.
pub fn write_privately(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    replace_file(path, &temporary_path(path), Access::Owner, durability, |file| file.write_all(content))
}

/// A new name beside `path`: `NAME.RANDOM.tmp`. Nobody can guess it and plant a link there.
pub fn temporary_path(path: &Path) -> PathBuf {
    let random = RandomState::new().hash_one(std::process::id());
    with_suffix(path, &format!(".{random:016x}{TEMPORARY_SUFFIX}"))
}

/// Deletes temporary files of `path` that killed processes left: those that are older than the one just written.
fn remove_abandoned(path: &Path, written: &fs::Metadata) {
    let (Some(folder), Some(name), Ok(written)) = (path.parent(), path.file_name(), written.modified()) else { return };
    let prefix = format!("{}.", name.to_string_lossy());
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = file.file_name();
        let random = found.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(TEMPORARY_SUFFIX));
        let is_temporary =
            random.is_some_and(|random| random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit()));
        let age = file
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|at| written.duration_since(at).ok());
        if is_temporary && age.is_some_and(|age| age >= ABANDONED_AFTER) {
            fs::remove_file(file.path()).ok();
        }
    }
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
    let created = match access.create(temporary) {
        // A killed process left its file under a fixed name. Deleting removes a link itself, never what it names.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(temporary).and_then(|()| access.create(temporary))
        }
        created => created,
    };
    let replaced = created.and_then(|mut file| {
        write(&mut file)?;
        match durability {
            Durability::Synced => file.sync_data()?,
            Durability::SyncedWithFolder => file.sync_all()?,
            Durability::Rebuildable => {}
        }
        let written = file.metadata()?;
        fs::rename(temporary, path)?;
        // Looking at the folder at every write would make the write slower as the folder grows.
        if RandomState::new().hash_one(0).is_multiple_of(ABANDONED_CHECK_EVERY) {
            remove_abandoned(path, &written);
        }
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

/// Whether a path may be a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// A link is an error: for files that a project controls.
    Reject,
    /// A link is followed: for files of the user, who may keep them elsewhere.
    Follow,
}

/// Opens a regular file. A link is not followed, and opening a pipe does not block.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_checked(File::options().read(true), path, Links::Reject)
}

/// Opens a regular file that may be reached through a link; opening a pipe does not block.
pub fn open_linked(path: &Path) -> io::Result<File> {
    open_checked(File::options().read(true), path, Links::Follow)
}

/// Opens a regular file to append to it, and creates it if it is missing.
pub fn append_regular(path: &Path) -> io::Result<File> {
    open_checked(File::options().append(true).create(true), path, Links::Reject)
}

/// Opens a lock file, and creates it if it is missing.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    open_checked(File::options().write(true).create(true).truncate(false), path, Links::Reject)
}

/// Reads a regular file of at most `bytes_max` bytes; a longer one is an error before anything is read.
pub fn read_regular(path: &Path, bytes_max: u64, links: Links) -> io::Result<Vec<u8>> {
    let (file, found) = open_and_look(File::options().read(true), path, links)?;
    let length = found.len();
    if length > bytes_max {
        return Err(io::Error::other(format!("{length} bytes: expected at most {bytes_max}")));
    }
    let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // The file may grow while it is read.
    file.take(bytes_max).read_to_end(&mut content)?;
    Ok(content)
}

fn open_checked(options: &mut OpenOptions, path: &Path, links: Links) -> io::Result<File> {
    open_and_look(options, path, links).map(|(file, _found)| file)
}

fn open_and_look(options: &mut OpenOptions, path: &Path, links: Links) -> io::Result<(File, fs::Metadata)> {
    let flags = match links {
        Links::Reject => OFlags::NOFOLLOW | OFlags::NONBLOCK,
        Links::Follow => OFlags::NONBLOCK,
    };
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file =
        options.custom_flags(flags).open(path).map_err(|error| match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::LOOP) => io::Error::other("it is a symbolic link"),
            Some(rustix::io::Errno::NXIO) => io::Error::other("it is not a file"),
            Some(_) | None => error,
        })?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    Ok((file, found))
}

/// Fails if a folder on the way from `root` to `folder` is a symbolic link, through which a project could make haltline
/// write somewhere else. Folders that do not exist yet are fine.
pub fn reject_linked_folder(root: &Path, folder: &Path) -> io::Result<()> {
    let Ok(below) = folder.strip_prefix(root) else { return Ok(()) };
    let mut path = root.to_owned();
    for part in below.components() {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                return Err(io::Error::other(format!(
                    "{} is a symbolic link; haltline does not write through it",
                    path.display()
                )));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Syncs the folder that contains `path`, so that a rename survives a crash.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// The path with `suffix` added to its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
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
