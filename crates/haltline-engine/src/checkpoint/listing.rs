//! Lists a work tree: the files that a checkpoint keeps, and everything else that it must know about.
//!
//! git says what is tracked, untracked or ignored; haltline itself checks what is at each path, and follows no link on
//! the way. Nothing is written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

use rustix::fs::{Access, access};

use super::error::CheckpointError;
use super::manifest::{
    DEFAULT_FOLDER_MODE, LeftOut, Manifest, default_file_mode, folders_around, has_git_part, is_safe_path,
};
use super::work_tree::{WorkTree, run_for_bytes, run_for_optional_line, uncut};
use crate::file::Stamp;
use crate::git::{Git, records};

/// The metadata of a file when it was listed. If any of it differs later, the file was changed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStat {
    mode: u32,
    stamp: Stamp,
    /// The file has several hard links: its change time also changes when one of them is removed.
    has_links: bool,
}

impl FileStat {
    pub(super) fn from_metadata(found: &Metadata) -> Self {
        Self { mode: found.mode(), stamp: Stamp::from(found), has_links: found.nlink() != 1 }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_file = if self.has_links || other.has_links {
            self.stamp.is_same_but_for_change_time(&other.stamp)
        } else {
            self.stamp == other.stamp
        };
        is_same_file && self.mode == other.mode
    }

    /// True if the file changed so recently that a later change could get the same time.
    pub(super) fn is_fresh(&self, second: i64) -> bool {
        self.has_links || self.stamp.changed_s() >= second - 2
    }

    pub(super) fn bytes(&self) -> u64 {
        self.stamp.size()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// `H` is an ordinary entry. git does not check the files of entries with other tags.
    pub(super) tag: u8,
    pub(super) mode: Vec<u8>,
    pub(super) id: String,
    pub(super) stage: u8,
    pub(super) path: Vec<u8>,
}

/// The content of a work tree.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The files and links that a checkpoint keeps.
    pub(super) files: BTreeMap<Vec<u8>, FileStat>,
    pub(super) manifest: Manifest,
    pub(super) staged: Vec<IndexEntry>,
    /// What `git checkout --merge` would need; only the index refers to it.
    pub(super) resolve_undo: Vec<IndexEntry>,
}

impl Listing {
    /// Lists the work tree. Files and links at the paths in `always_kept` are kept even if they are ignored.
    pub(super) fn read(work_tree: &WorkTree, git: &Git, always_kept: &[&[u8]]) -> Result<Self, CheckpointError> {
        let arguments = ["ls-files", "-z", "-v", "-s", "-c", "-o", "--resolve-undo", "--exclude-standard"];
        let output = run_for_bytes(git, &arguments, &[])?;
        let mut lister = Lister { work_tree, listing: Self::default(), folders: BTreeMap::new() };
        for record in records(&output).filter(|record| record.len() > 2) {
            lister.add_record(record[0], &record[2..]);
        }
        for path in always_kept {
            let is_inside = |folder: &[u8]| lister.listing.manifest.repositories.contains_key(folder);
            if !is_inside(path) && !folders_around(path).any(is_inside) {
                lister.add_file(path);
            }
        }
        lister.walk()?;
        lister.read_repository_heads();
        Ok(lister.listing)
    }
}

struct Lister<'a> {
    work_tree: &'a WorkTree,
    listing: Listing,
    /// The mode of each path that is a folder reached through folders only; `None` for other paths.
    folders: BTreeMap<Vec<u8>, Option<u32>>,
}

impl Lister<'_> {
    fn add_record(&mut self, tag: u8, rest: &[u8]) {
        if tag == b'?' {
            match rest.strip_suffix(b"/") {
                Some(repository) => self.add_repository(repository),
                None => self.add_file(rest),
            }
            return;
        }
        let Some(staged) = parse_entry(tag, rest) else { return };
        if tag == b'U' {
            self.listing.resolve_undo.push(staged);
            return;
        }
        if staged.mode == b"160000" {
            if fs::symlink_metadata(self.full_path(&staged.path).join(".git")).is_ok() {
                self.add_repository(&staged.path);
            }
        } else {
            self.add_file(&staged.path);
        }
        self.listing.staged.push(staged);
    }

    fn full_path(&self, path: &[u8]) -> PathBuf {
        self.work_tree.top.join(OsStr::from_bytes(path))
    }

    fn add_repository(&mut self, path: &[u8]) {
        if is_safe_path(path) && self.parents_are_folders(path) {
            self.listing.manifest.repositories.insert(path.to_vec(), None);
        }
    }

    /// Keeps what is at a path, if it is a file or a link.
    fn add_file(&mut self, path: &[u8]) {
        if self.listing.files.contains_key(path) || !self.parents_are_folders(path) {
            return;
        }
        let full = self.full_path(path);
        let Ok(found) = fs::symlink_metadata(&full) else { return };
        let kind = found.file_type();
        if kind.is_dir() {
            return;
        }
        let manifest = &mut self.listing.manifest;
        if !is_safe_path(path) {
            if has_git_part(path) {
                manifest.left_out.insert(path.to_vec(), LeftOut::GitName);
            }
            return;
        }
        if kind.is_symlink() {
            self.listing.files.insert(path.to_vec(), FileStat::from_metadata(&found));
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
        if mode != default_file_mode(mode & 0o100 != 0) {
            manifest.file_modes.insert(path.to_vec(), mode);
        }
        self.listing.files.insert(path.to_vec(), FileStat::from_metadata(&found));
    }

    fn parents_are_folders(&mut self, path: &[u8]) -> bool {
        let Some(folder) = folders_around(path).next() else { return true };
        if let Some(known) = self.folders.get(folder) {
            return known.is_some();
        }
        let is_reached = self.parents_are_folders(folder);
        let found = is_reached.then(|| fs::symlink_metadata(self.full_path(folder)).ok()).flatten();
        let mode = found.filter(Metadata::is_dir).map(|found| found.mode() & 0o7777);
        self.folders.insert(folder.to_vec(), mode);
        mode.is_some()
    }

    /// Finds the folders without kept files, and special files.
    fn walk(&mut self) -> Result<(), CheckpointError> {
        let mut full: BTreeSet<Vec<u8>> = BTreeSet::new();
        for path in self.listing.files.keys() {
            for folder in folders_around(path) {
                if !full.insert(folder.to_vec()) {
                    break;
                }
            }
        }
        for folder in &full {
            if let Some(Some(mode)) = self.folders.get(folder).filter(|mode| **mode != Some(DEFAULT_FOLDER_MODE)) {
                self.listing.manifest.folder_modes.insert(folder.clone(), *mode);
            }
        }
        let mut waiting: Vec<Vec<u8>> = full.iter().cloned().collect();
        waiting.push(Vec::new());
        // Each round asks git which of the newly found folders are ignored, and scans the others.
        while !waiting.is_empty() {
            let mut doubtful = BTreeMap::new();
            for folder in waiting.drain(..) {
                if self.scan_folder(&folder, &full, &mut doubtful) {
                    self.note_ignored_below(&folder);
                }
            }
            let ignored = ignored(self.work_tree, doubtful.keys())?;
            for (path, kind) in doubtful {
                if ignored.contains(&path) {
                    self.note_ignored_below(folders_around(&path).next().unwrap_or_default());
                    continue;
                }
                match kind {
                    Kind::Special => drop(self.listing.manifest.left_out.insert(path, LeftOut::Special)),
                    Kind::Folder { is_repository: true, .. } => self.add_repository(&path),
                    Kind::Folder { mode, .. } => {
                        self.listing.manifest.empty_folders.insert(path.clone(), mode);
                        waiting.push(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes that a folder contains something ignored.
    fn note_ignored_below(&mut self, folder: &[u8]) {
        let manifest = &mut self.listing.manifest;
        for folder in std::iter::once(folder).chain(folders_around(folder)) {
            if !manifest.empty_folders.contains_key(folder) || !manifest.holding_ignored.insert(folder.to_vec()) {
                break;
            }
        }
    }

    /// Collects subfolders and special files that are not listed yet. Returns true if the folder has files or links.
    fn scan_folder(&self, folder: &[u8], full: &BTreeSet<Vec<u8>>, doubtful: &mut BTreeMap<Vec<u8>, Kind>) -> bool {
        let mut has_files = false;
        // A folder that cannot be read contains nothing that could be kept.
        for entry in fs::read_dir(self.full_path(folder)).into_iter().flatten().flatten() {
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
            if !is_known && is_safe_path(&path) {
                let Ok(found) = fs::symlink_metadata(entry.path()) else { continue };
                let is_repository = fs::symlink_metadata(entry.path().join(".git")).is_ok();
                doubtful.insert(path, Kind::Folder { mode: found.mode() & 0o7777, is_repository });
            }
        }
        has_files
    }

    /// Reads which commit each nested repository has checked out.
    fn read_repository_heads(&mut self) {
        let top = &self.work_tree.top;
        for (path, head) in &mut self.listing.manifest.repositories {
            let git = Git::only_at(&top.join(OsStr::from_bytes(path)));
            *head = run_for_optional_line(&git, &["rev-parse", "-q", "--verify", "HEAD^{commit}"]).ok().flatten();
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Folder { mode: u32, is_repository: bool },
    Special,
}

/// Parses `MODE ID STAGE\tPATH`.
fn parse_entry(tag: u8, record: &[u8]) -> Option<IndexEntry> {
    let tab = record.iter().position(|&byte| byte == b'\t')?;
    let mut fields = record[..tab].split(|&byte| byte == b' ');
    let mode = fields.next()?.to_vec();
    let id = std::str::from_utf8(fields.next()?).ok()?.to_owned();
    let stage = fields.next()?.first()?.checked_sub(b'0')?;
    Some(IndexEntry { tag, mode, id, stage, path: record[tab + 1..].to_vec() })
}

/// The paths that git's ignore rules match, whether git tracks them or not.
pub(super) fn ignored<'a>(
    work_tree: &WorkTree,
    paths: impl Iterator<Item = &'a Vec<u8>>,
) -> Result<BTreeSet<Vec<u8>>, CheckpointError> {
    let mut input = Vec::new();
    for path in paths {
        // Without `./`, a name that begins with a colon would be read as a pattern.
        input.extend_from_slice(b"./");
        input.extend_from_slice(path);
        input.push(0);
    }
    if input.is_empty() {
        return Ok(BTreeSet::new());
    }
    // With an index, git would reject paths below a submodule.
    let git = work_tree.plain().variable("GIT_INDEX_FILE", work_tree.haltline_folder.join("no-index"));
    let found = git.find(&["check-ignore", "-z", "--no-index", "--stdin"], &input)?;
    let output = found.map(uncut).transpose()?.unwrap_or_default();
    Ok(records(&output).filter_map(|path| Some(path.strip_prefix(b"./")?.to_vec())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_record_is_parsed_or_ignored(record: Vec<u8>) {
            if let Some(staged) = parse_entry(b'H', &record) {
                proptest::prop_assert!(staged.path.len() < record.len());
            }
        }
    }
}
