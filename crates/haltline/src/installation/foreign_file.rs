//! Changes a file that belongs to another program: follows links, replaces the file whole, never overwrites a new edit.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_engine::file::{Access, Durability, replace_file};

use crate::error::Failure;

/// The file as it was read.
pub struct ForeignFile {
    path: PathBuf,
    /// Where its content really is, after links.
    target: PathBuf,
    /// Its content; `None` if there is no file.
    pub text: Option<String>,
}

impl ForeignFile {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let target = match (fs::canonicalize(path), fs::read_link(path)) {
            (Ok(target), _) => target,
            // A link to a file that does not exist yet.
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
                Err(_) => Err(self.failure("not UTF-8 text")),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// A failure that names the file.
    pub fn failure(&self, reason: impl std::fmt::Display) -> Failure {
        Failure::Plain(format!("{}: {reason}", self.path.display()))
    }

    /// Replaces the content in one step and keeps the mode; an executable is made runnable. Fails if the file is no
    /// longer what was read.
    pub fn replace(&self, text: &str, is_executable: bool) -> Result<(), Failure> {
        self.check_unchanged()?;
        let mode = fs::metadata(&self.target).ok().map(|file| file.permissions());
        if mode.as_ref().is_some_and(fs::Permissions::readonly) {
            return Err(self.failure("is read-only; make it writable first (chmod u+w)"));
        }
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.target.with_file_name(format!(".{name}.haltline-{}.tmp", std::process::id()));
        let replaced = replace_file(&self.target, &temporary, Access::Umask, Durability::Synced, |file| {
            if let Some(mode) = mode {
                file.set_permissions(mode)?;
            }
            if is_executable {
                let mode = file.metadata()?.permissions().mode();
                // Everybody who may read it may also run it.
                file.set_permissions(fs::Permissions::from_mode(mode | mode >> 2 & 0o111))?;
            }
            file.write_all(text.as_bytes())
        });
        replaced.map_err(|error| self.failure(error))
    }

    /// Deletes the file if it exists and is still what was read.
    pub fn delete(&self) -> Result<(), Failure> {
        self.check_unchanged()?;
        match fs::remove_file(&self.target) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failure(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn check_unchanged(&self) -> Result<(), Failure> {
        if self.content()? == self.text {
            return Ok(());
        }
        Err(self.failure("another program changed it just now; run the command again"))
    }
}

/// Removes folders, given outermost first. A folder that is not empty holds something of the user's, and stays.
pub fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        fs::remove_dir(folder).ok();
    }
}

/// Creates a folder with all its parents and returns those that were created, outermost first.
pub fn make_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    fs::create_dir_all(folder).map_err(|error| Failure::Plain(format!("folder {}: {error}", folder.display())))?;
    Ok(missing)
}
