//! Finds the project a folder belongs to (E14) by reading `.git` directly, without starting a program.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use haltline_core::{digest_hex, sha256};

/// The largest file that is read for the path it contains.
const POINTER_BYTES_MAX: u64 = 64 * 1024;

/// A short, stable id of a project in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectKey(pub i64);

/// A project and the current work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub key: ProjectKey,
    /// The git common directory, which work trees share, or the root folder if there is no git.
    pub identity: PathBuf,
    /// The top folder of this work tree.
    pub root: PathBuf,
}

impl Project {
    /// The project that contains `start`: the nearest folder with `.git`, else the nearest with one of `markers`, else
    /// `start`.
    pub fn find(start: &Path, markers: &[&str]) -> io::Result<Self> {
        let start = fs::canonicalize(start)?;
        for folder in start.ancestors() {
            // Only the last part of the path can still be a link.
            let resolve = |git: PathBuf| match fs::symlink_metadata(&git).ok()?.is_dir() {
                true => Some(git),
                false => fs::canonicalize(git).ok(),
            };
            if let Some(identity) = common_directory(folder, resolve) {
                return Ok(Self::new(identity, folder.to_owned()));
            }
        }
        let marked = start.ancestors().find(|folder| markers.iter().any(|marker| folder.join(marker).exists()));
        let root = marked.unwrap_or(&start).to_owned();
        Ok(Self::new(root.clone(), root))
    }

    /// The work tree's name, unless it is the project's first (E14).
    pub fn worktree(&self) -> Option<String> {
        let is_first = self.identity == self.root || self.identity.parent() == Some(&self.root);
        (!is_first).then(|| {
            let folder = self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let digest = digest_hex(&[self.root.as_os_str().as_encoded_bytes()], 4);
            format!("{folder}-{digest}")
        })
    }

    /// The top folder of the project's first work tree if it is known, else of this one.
    pub fn main_checkout(&self) -> &Path {
        let first = self.identity.parent().filter(|_| self.identity.ends_with(".git"));
        first.filter(|_| is_linked_worktree(&self.root)).unwrap_or(&self.root)
    }

    pub fn new(identity: PathBuf, root: PathBuf) -> Self {
        let digest = sha256(&[identity.as_os_str().as_encoded_bytes()]);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[..8]);
        // Positive, so that it is written the same way as any kind of number.
        Self { key: ProjectKey(i64::from_be_bytes(bytes) & i64::MAX), identity, root }
    }
}

/// The git directory that all work trees of `folder` share, if `folder` is the top of one.
pub(crate) fn git_common_directory(folder: &Path) -> Option<PathBuf> {
    common_directory(folder, |git| fs::canonicalize(git).ok())
}

/// `resolve` makes the canonical path of a `.git` that is a folder, or leads to one.
fn common_directory(folder: &Path, resolve: impl FnOnce(PathBuf) -> Option<PathBuf>) -> Option<PathBuf> {
    let git = folder.join(".git");
    if fs::metadata(&git).ok()?.is_dir() {
        return resolve(git);
    }
    let directory = git_directory_from_file(folder)?;
    let common = match read_pointer(&directory.join("commondir")) {
        Some(relative) => directory.join(OsStr::from_bytes(relative.trim_ascii())),
        None => directory,
    };
    fs::canonicalize(common).ok()
}

/// True if `folder` is a work tree that was added to a repository elsewhere.
pub(crate) fn is_linked_worktree(folder: &Path) -> bool {
    git_directory_from_file(folder).is_some_and(|directory| directory.join("commondir").exists())
}

/// The git directory that a file called `.git` names.
fn git_directory_from_file(folder: &Path) -> Option<PathBuf> {
    let pointer = read_pointer(&folder.join(".git"))?;
    Some(folder.join(OsStr::from_bytes(pointer.strip_prefix(b"gitdir:")?.trim_ascii())))
}

/// Reads a file that contains a path, which need not be UTF-8. Skips pipes, which could block, and files that are too
/// large.
pub(crate) fn read_pointer(path: &Path) -> Option<Vec<u8>> {
    let kind = fs::metadata(path).ok()?;
    (kind.is_file() && kind.len() <= POINTER_BYTES_MAX).then(|| fs::read(path).ok()).flatten()
}
