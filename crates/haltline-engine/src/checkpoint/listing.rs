//! What is in a work tree: the files that a checkpoint keeps, and all the rest that it must know of.
//!
//! git says what is tracked, loose or ignored; what stands at each path is looked at here, and no link is followed on
//! the way. Nothing is written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::error::CheckpointError;
use super::manifest::{FOLDER_MODE, LeftOut, Manifest, folders_of, is_gits, is_plain, usual};
use super::place::{Place, line_if_any, whole};
use crate::git::{Git, GitError};

/// What a file was when it was listed: if any of it differs later, somebody wrote in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    mode: u32,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    /// Not compared where a file has several names: it changes when one of them goes.
    changed: Option<(i64, i64)>,
}

impl Seen {
    pub(super) fn of(found: &Metadata) -> Self {
        Self {
            mode: found.mode(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.nlink() == 1).then(|| (found.ctime(), found.ctime_nsec())),
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let changed = self.changed.zip(other.changed).is_none_or(|(one, other)| one == other);
        changed && (Self { changed: None, ..*self }) == (Self { changed: None, ..*other })
    }

    /// Whether it changed so late that a later change could bear the same time.
    pub(super) fn is_fresh(&self, second: i64) -> bool {
        self.changed.is_none_or(|(changed, _)| changed >= second - 2)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// An entry of git's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Staged {
    /// `H`: an ordinary one. git would not look at the files of others.
    pub(super) tag: u8,
    pub(super) mode: Vec<u8>,
    pub(super) id: String,
    pub(super) stage: u8,
    pub(super) path: Vec<u8>,
}

/// A work tree as it was found.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The files and links that are kept.
    pub(super) files: BTreeMap<Vec<u8>, Seen>,
    pub(super) manifest: Manifest,
    /// The index.
    pub(super) staged: Vec<Staged>,
    /// What `git checkout --merge` would need, which only the index refers to.
    pub(super) undo: Vec<Staged>,
}

impl Listing {
    /// Looks at the work tree. Of the paths in `asked`, files and links are kept even if they are ignored.
    pub(super) fn take(place: &Place, git: &Git, asked: &[&[u8]]) -> Result<Self, CheckpointError> {
        let arguments = ["ls-files", "-z", "-v", "-s", "-c", "-o", "--resolve-undo", "--exclude-standard"];
        let answer = whole(git, &arguments, &[])?;
        let mut look = Look { place, listing: Self::default(), folders: BTreeMap::new() };
        for record in answer.split(|&byte| byte == 0).filter(|record| record.len() > 2) {
            look.record(record[0], &record[2..]);
        }
        for path in asked {
            let is_inside = |folder: &[u8]| look.listing.manifest.repositories.contains_key(folder);
            if !is_inside(path) && !folders_of(path).any(is_inside) {
                look.file(path);
            }
        }
        look.walk()?;
        look.repositories();
        Ok(look.listing)
    }
}

struct Look<'a> {
    place: &'a Place,
    listing: Listing,
    /// Whether a path is a folder, reached through folders only, and its mode.
    folders: BTreeMap<Vec<u8>, Option<u32>>,
}

impl Look<'_> {
    /// One line of git's list.
    fn record(&mut self, tag: u8, rest: &[u8]) {
        if tag == b'?' {
            match rest.strip_suffix(b"/") {
                Some(repository) => self.repository(repository),
                None => self.file(rest),
            }
            return;
        }
        let Some(staged) = entry(tag, rest) else { return };
        if tag == b'U' {
            self.listing.undo.push(staged);
            return;
        }
        if staged.mode == b"160000" {
            if fs::symlink_metadata(self.path(&staged.path).join(".git")).is_ok() {
                self.repository(&staged.path);
            }
        } else {
            self.file(&staged.path);
        }
        self.listing.staged.push(staged);
    }

    fn path(&self, path: &[u8]) -> PathBuf {
        self.place.top.join(OsStr::from_bytes(path))
    }

    fn repository(&mut self, path: &[u8]) {
        if is_plain(path) && self.parents_are_folders(path) {
            self.listing.manifest.repositories.insert(path.to_vec(), None);
        }
    }

    /// Keeps what stands at a path, if it is a file or a link.
    fn file(&mut self, path: &[u8]) {
        if self.listing.files.contains_key(path) || !self.parents_are_folders(path) {
            return;
        }
        let full = self.path(path);
        let Ok(found) = fs::symlink_metadata(&full) else { return };
        let kind = found.file_type();
        if kind.is_dir() {
            return;
        }
        let manifest = &mut self.listing.manifest;
        if !is_plain(path) {
            if is_gits(path) {
                manifest.left_out.insert(path.to_vec(), LeftOut::GitsName);
            }
            return;
        }
        if kind.is_symlink() {
            self.listing.files.insert(path.to_vec(), Seen::of(&found));
            return;
        }
        if !kind.is_file() {
            manifest.left_out.insert(path.to_vec(), LeftOut::Special);
            return;
        }
        let mode = found.mode() & 0o7777;
        if mode & 0o004 == 0 && access(&full, Access::READ_OK).is_err() {
            manifest.left_out.insert(path.to_vec(), LeftOut::Unreadable);
            return;
        }
        if mode != usual(mode & 0o100 != 0) {
            manifest.file_modes.insert(path.to_vec(), mode);
        }
        self.listing.files.insert(path.to_vec(), Seen::of(&found));
    }

    fn parents_are_folders(&mut self, path: &[u8]) -> bool {
        let Some(folder) = folders_of(path).next() else { return true };
        if let Some(known) = self.folders.get(folder) {
            return known.is_some();
        }
        let is_reached = self.parents_are_folders(folder);
        let found = is_reached.then(|| fs::symlink_metadata(self.path(folder)).ok()).flatten();
        let mode = found.filter(Metadata::is_dir).map(|found| found.mode() & 0o7777);
        self.folders.insert(folder.to_vec(), mode);
        mode.is_some()
    }

    /// Finds the folders without kept files, and what is neither file, link nor folder.
    fn walk(&mut self) -> Result<(), CheckpointError> {
        let mut full: BTreeSet<Vec<u8>> = BTreeSet::new();
        for path in self.listing.files.keys() {
            for folder in folders_of(path) {
                if !full.insert(folder.to_vec()) {
                    break;
                }
            }
        }
        for folder in &full {
            if let Some(Some(mode)) = self.folders.get(folder).filter(|mode| **mode != Some(FOLDER_MODE)) {
                self.listing.manifest.folder_modes.insert(folder.clone(), *mode);
            }
        }
        let mut waiting: Vec<Vec<u8>> = full.iter().cloned().collect();
        waiting.push(Vec::new());
        // Each round asks git which of the folders that nobody knows are ignored, and looks into the others.
        while !waiting.is_empty() {
            let mut doubtful = BTreeMap::new();
            for folder in waiting.drain(..) {
                if self.look_into(&folder, &full, &mut doubtful) {
                    self.holds(&folder);
                }
            }
            let ignored = ignored(self.place, doubtful.keys())?;
            for (path, kind) in doubtful {
                if ignored.contains(&path) {
                    self.holds(folders_of(&path).next().unwrap_or_default());
                    continue;
                }
                match kind {
                    Kind::Special => drop(self.listing.manifest.left_out.insert(path, LeftOut::Special)),
                    Kind::Folder { is_repository: true, .. } => self.repository(&path),
                    Kind::Folder { mode, .. } => {
                        self.listing.manifest.empty_folders.insert(path.clone(), mode);
                        waiting.push(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes that something ignored is in a folder.
    fn holds(&mut self, folder: &[u8]) {
        let manifest = &mut self.listing.manifest;
        for folder in std::iter::once(folder).chain(folders_of(folder)) {
            if !manifest.empty_folders.contains_key(folder) || !manifest.holding.insert(folder.to_vec()) {
                break;
            }
        }
    }

    /// Adds the folders and special files of a folder that nobody knows yet. `true`: it has files or links.
    fn look_into(&self, folder: &[u8], full: &BTreeSet<Vec<u8>>, doubtful: &mut BTreeMap<Vec<u8>, Kind>) -> bool {
        let mut has_files = false;
        // One that cannot be read holds nothing that could be kept.
        for entry in fs::read_dir(self.path(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            let is_special = kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device();
            if name == ".git" || !(kind.is_dir() || is_special) {
                has_files |= name != ".git";
                continue;
            }
            let mut path = folder.to_vec();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            let manifest = &self.listing.manifest;
            if is_special {
                if !manifest.left_out.contains_key(&path) {
                    doubtful.insert(path, Kind::Special);
                }
                continue;
            }
            let is_known = full.contains(&path) || manifest.repositories.contains_key(&path);
            if !is_known && is_plain(&path) {
                let Ok(found) = fs::symlink_metadata(entry.path()) else { continue };
                let is_repository = fs::symlink_metadata(entry.path().join(".git")).is_ok();
                doubtful.insert(path, Kind::Folder { mode: found.mode() & 0o7777, is_repository });
            }
        }
        has_files
    }

    /// Reads which commit each repository inside has checked out.
    fn repositories(&mut self) {
        let top = &self.place.top;
        for (path, head) in &mut self.listing.manifest.repositories {
            let folder = top.join(OsStr::from_bytes(path));
            let parent = folder.parent().unwrap_or(Path::new("/")).to_owned();
            let git = Git::at(&folder).variable("GIT_CEILING_DIRECTORIES", parent);
            *head = line_if_any(&git, &["rev-parse", "-q", "--verify", "HEAD^{commit}"]).ok().flatten();
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Folder { mode: u32, is_repository: bool },
    Special,
}

/// `MODE ID STAGE\tPATH`.
fn entry(tag: u8, record: &[u8]) -> Option<Staged> {
    let tab = record.iter().position(|&byte| byte == b'\t')?;
    let mut fields = record[..tab].split(|&byte| byte == b' ');
    let mode = fields.next()?.to_vec();
    let id = std::str::from_utf8(fields.next()?).ok()?.to_owned();
    let stage = fields.next()?.first()?.checked_sub(b'0')?;
    Some(Staged { tag, mode, id, stage, path: record[tab + 1..].to_vec() })
}

/// Those of the paths that git ignores, whether it tracks them or not.
pub(super) fn ignored<'a>(
    place: &Place,
    paths: impl Iterator<Item = &'a Vec<u8>>,
) -> Result<BTreeSet<Vec<u8>>, CheckpointError> {
    let mut input = Vec::new();
    for path in paths {
        // A name that begins with a colon must not be read as a pattern.
        input.extend_from_slice(b"./");
        input.extend_from_slice(path);
        input.push(0);
    }
    if input.is_empty() {
        return Ok(BTreeSet::new());
    }
    // With an index, git would refuse to speak of what is below a submodule.
    let git = place.plain().variable("GIT_INDEX_FILE", place.own.join("no-index"));
    match whole(&git, &["check-ignore", "-z", "--no-index", "--stdin"], &input) {
        Ok(answer) => {
            Ok(answer.split(|&byte| byte == 0).filter_map(|path| Some(path.strip_prefix(b"./")?.to_vec())).collect())
        }
        Err(CheckpointError::Git(GitError::Failed { status, .. })) if status.code() == Some(1) => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_record_is_read_or_passed_over(record: Vec<u8>) {
            if let Some(staged) = entry(b'H', &record) {
                proptest::prop_assert!(staged.path.len() < record.len());
            }
        }
    }
}
