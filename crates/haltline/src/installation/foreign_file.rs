//! A file that belongs to somebody else: followed through links, replaced whole, never by accident over an edit.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::Failure;

/// The file as it was found.
pub struct ForeignFile {
    path: PathBuf,
    /// Where its content really lies.
    target: PathBuf,
    /// Its content; `None` where there is no file.
    pub text: Option<String>,
}

impl ForeignFile {
    /// Reads it.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let target = match (fs::canonicalize(path), fs::read_link(path)) {
            (Ok(target), _) => target,
            // A link to a file that is still to be made.
            (Err(_), Ok(link)) => path.parent().unwrap_or(Path::new("/")).join(link),
            (Err(_), Err(_)) => path.to_owned(),
        };
        let file = Self { path: path.to_owned(), target, text: None };
        let text = file.content()?;
        Ok(Self { text, ..file })
    }

    fn content(&self) -> Result<Option<String>, Failure> {
        match fs::read(&self.target) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.refused("not UTF-8 text")),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused(error)),
        }
    }

    /// A failure that names the file.
    pub fn refused(&self, reason: impl std::fmt::Display) -> Failure {
        Failure::Plain(format!("{}: {reason}", self.path.display()))
    }

    /// Replaces the content in one step and keeps the mode, but for a program's, which can be started afterwards; refused
    /// where it is not what was read any more.
    pub fn replace(&self, text: &str, is_executable: bool) -> Result<(), Failure> {
        self.check_unchanged()?;
        let mode = fs::metadata(&self.target).ok().map(|file| file.permissions());
        if mode.as_ref().is_some_and(fs::Permissions::readonly) {
            return Err(self.refused("is read-only; make it writable first (chmod u+w)"));
        }
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.target.with_file_name(format!(".{name}.haltline-{}.tmp", std::process::id()));
        let written =
            OpenOptions::new().write(true).create(true).truncate(true).open(&temporary).and_then(|mut file| {
                if let Some(mode) = mode {
                    file.set_permissions(mode)?;
                }
                if is_executable {
                    let mode = file.metadata()?.permissions().mode();
                    // For everybody who may read it.
                    file.set_permissions(fs::Permissions::from_mode(mode | mode >> 2 & 0o111))?;
                }
                file.write_all(text.as_bytes())?;
                file.sync_data()?;
                fs::rename(&temporary, &self.target)
            });
        if let Err(error) = written {
            // Leave no half file behind; the first error is the one to tell.
            fs::remove_file(&temporary).ok();
            return Err(self.refused(error));
        }
        Ok(())
    }

    /// Deletes it, where it is there and what was read.
    pub fn delete(&self) -> Result<(), Failure> {
        self.check_unchanged()?;
        match fs::remove_file(&self.target) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.refused(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn check_unchanged(&self) -> Result<(), Failure> {
        if self.content()? == self.text {
            return Ok(());
        }
        Err(self.refused("was changed by somebody else just now; run the command again"))
    }
}

/// Takes folders away again, outermost first; one that is not empty holds something of the user's, and stays.
pub fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        fs::remove_dir(folder).ok();
    }
}

/// Makes a folder with all above it; says which ones were made, outermost first.
pub fn make_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    fs::create_dir_all(folder).map_err(|error| Failure::Plain(format!("folder {}: {error}", folder.display())))?;
    Ok(missing)
}
