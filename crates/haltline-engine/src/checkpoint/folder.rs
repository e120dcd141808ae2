//! Changes files in a work tree without ever following a link: every folder of a path is opened as a folder, from the
//! top down.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

/// The name of the temporary copy that is renamed over the file it replaces.
const TEMPORARY_NAME: &str = ".haltline-beside";

/// The open top folder of a work tree.
pub(super) struct TopFolder {
    folder: OwnedFd,
}

impl TopFolder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { folder: rustix::fs::open(path, folder_flags(), Mode::empty())? })
    }

    /// Moves a file or link to `path`, over a file or link that is there. Creates missing folders.
    pub(super) fn replace(&self, from: &Path, path: &[u8]) -> io::Result<()> {
        let (folder, name) = self.parent(path, true)?;
        let folder = folder.as_fd(&self.folder);
        match with_write_permission(folder, || renameat(CWD, from, folder, name)) {
            Err(Errno::XDEV) => copy_then_rename(from, folder, name),
            result => Ok(result?),
        }
    }

    pub(super) fn remove(&self, path: &[u8]) -> io::Result<()> {
        let (folder, name) = self.parent(path, false)?;
        let folder = folder.as_fd(&self.folder);
        Ok(with_write_permission(folder, || unlinkat(folder, name, AtFlags::empty()))?)
    }

    /// Removes a folder if it is empty. Returns false if it is not.
    pub(super) fn remove_folder(&self, path: &[u8]) -> io::Result<bool> {
        let (folder, name) = match self.parent(path, false) {
            Ok(found) => found,
            Err(error) if is_gone(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        let folder = folder.as_fd(&self.folder);
        match with_write_permission(folder, || unlinkat(folder, name, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// True if there is a folder at `path` and no link on the way to it.
    pub(super) fn is_folder(&self, path: &[u8]) -> bool {
        let found = self.parent(path, false);
        found.is_ok_and(|(folder, name)| descend(folder.as_fd(&self.folder), name, false).is_ok())
    }

    /// Creates a folder and its missing parents. A folder that exists is no error.
    pub(super) fn make_folder(&self, path: &[u8]) -> io::Result<()> {
        let (folder, name) = self.parent(path, true)?;
        descend(folder.as_fd(&self.folder), name, true).map(drop)
    }

    /// Sets the mode of a folder, if the folder exists and has another mode.
    pub(super) fn set_folder_mode(&self, path: &[u8], mode: u32) -> io::Result<()> {
        let (folder, name) = self.parent(path, false)?;
        let folder = descend(folder.as_fd(&self.folder), name, false)?;
        let is_same = Mode::from_raw_mode(fstat(&folder)?.st_mode) == Mode::from_raw_mode(mode as _);
        if !is_same {
            fchmod(&folder, Mode::from_raw_mode(mode as _))?;
        }
        Ok(())
    }

    /// The folder that contains `path`, and the last part of `path`.
    fn parent<'a>(&self, path: &'a [u8], creates: bool) -> io::Result<(Parent, &'a OsStr)> {
        let mut parts = path.split(|&byte| byte == b'/').map(OsStr::from_bytes).peekable();
        let mut parent = Parent::Top;
        loop {
            let Some(part) = parts.next() else { return Err(io::ErrorKind::InvalidInput.into()) };
            if parts.peek().is_none() {
                return Ok((parent, part));
            }
            parent = Parent::Below(descend(parent.as_fd(&self.folder), part, creates)?);
        }
    }
}

enum Parent {
    Top,
    Below(OwnedFd),
}

impl Parent {
    fn as_fd<'a>(&'a self, top: &'a OwnedFd) -> BorrowedFd<'a> {
        match self {
            Self::Top => top.as_fd(),
            Self::Below(folder) => folder.as_fd(),
        }
    }
}

/// True if the error says that nothing is at the path.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || Errno::from_io_error(error).is_some_and(|error| error == Errno::LOOP)
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn descend(folder: BorrowedFd<'_>, name: &OsStr, creates: bool) -> io::Result<OwnedFd> {
    match openat(folder, name, folder_flags(), Mode::empty()) {
        Err(Errno::NOENT) if creates => {
            with_write_permission(folder, || match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
                Err(Errno::EXIST) => Ok(()),
                result => result,
            })?;
            Ok(openat(folder, name, folder_flags(), Mode::empty())?)
        }
        result => Ok(result?),
    }
}

/// Runs `action`; if the system denies it, makes the folder writable and tries once more. The end of a rollback sets
/// the right mode.
fn with_write_permission<T>(
    folder: BorrowedFd<'_>,
    action: impl Fn() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    match action() {
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(fstat(folder)?.st_mode);
            fchmod(folder, mode | Mode::RWXU)?;
            action()
        }
        result => result,
    }
}

/// Copies instead of renaming, for work trees that span several file systems.
fn copy_then_rename(from: &Path, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match unlinkat(folder, TEMPORARY_NAME, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        symlinkat(fs::read_link(from)?, folder, TEMPORARY_NAME)?;
    } else {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(openat(folder, TEMPORARY_NAME, flags, Mode::RUSR | Mode::WUSR)?);
        io::copy(&mut File::open(from)?, &mut copy)?;
        copy.set_permissions(Permissions::from_mode(found.permissions().mode() & 0o7777))?;
        copy.sync_data()?;
    }
    Ok(renameat(folder, TEMPORARY_NAME, folder, name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passes_through_a_link() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        fs::create_dir_all(&inside).and_then(|()| fs::create_dir_all(outside.join("empty"))).expect("made");
        fs::write(outside.join("precious"), "x").expect("written");
        std::os::unix::fs::symlink(&outside, inside.join("link")).expect("linked");
        let staged = folder.path().join("staged");
        fs::write(&staged, "new").expect("written");
        let top = TopFolder::open(&inside).expect("opened");
        assert!(top.replace(&staged, b"link/precious").is_err());
        assert!(top.replace(&staged, b"link/new").is_err());
        assert!(top.remove(b"link/precious").is_err());
        assert!(top.remove_folder(b"link").is_err());
        assert!(top.make_folder(b"link").is_err());
        assert!(top.make_folder(b"link/made").is_err());
        assert!(top.set_folder_mode(b"link", 0o700).is_err());
        let names = fs::read_dir(&outside).expect("read").count();
        assert_eq!((names, fs::read(outside.join("precious")).expect("there")), (2, b"x".to_vec()));
        top.remove(b"link").expect("the link itself goes");
        assert!(outside.join("precious").exists() && !inside.join("link").exists());
    }

    #[test]
    fn a_copy_to_another_file_system_has_the_effect_of_a_rename() {
        let folder = tempfile::tempdir().expect("temp folder");
        let top = TopFolder::open(folder.path()).expect("opened");
        let staged = folder.path().join("staged");
        fs::write(&staged, "new").expect("written");
        fs::set_permissions(&staged, Permissions::from_mode(0o750)).expect("permitted");
        fs::write(folder.path().join("a"), "old").expect("written");
        fs::write(folder.path().join(TEMPORARY_NAME), "left by a kill").expect("written");
        copy_then_rename(&staged, top.folder.as_fd(), OsStr::new("a")).expect("copied");
        let mode = fs::metadata(folder.path().join("a")).expect("there").permissions().mode() & 0o7777;
        assert_eq!((fs::read(folder.path().join("a")).expect("there"), mode), (b"new".to_vec(), 0o750));
        assert!(!folder.path().join(TEMPORARY_NAME).exists());
    }
}
