//! The files of a work tree as a tree of git, byte for byte.
//!
//! Private git hashes what changed since the last checkpoint, by an index of its own that is kept for it. That index
//! is trusted only while a ref holds all it refers to. A file that changed within two seconds of a checkpoint is hashed
//! again by the next one, whatever its times say: file systems and git count in seconds.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::thread;

use haltline_core::Instant;

use super::error::CheckpointError;
use super::head::{Head, operation};
use super::listing::{Listing, Staged};
use super::place::{Place, Private, line, whole};
use super::record::{self, Note, Parts};
use super::seed;
use crate::file::{Lasting, write_whole};
use crate::git::{Git, GitError};

/// How often files that change while they are read are tried again.
const TRIES_MAX: usize = 3;
/// Our index, in our folder, and what it may be trusted for.
const CACHE: &str = "index";
const TRUST: &str = "index.trust";
/// The user's index as it was, in the private folder.
const USERS_INDEX: &str = "users-index";

/// A work tree at one moment.
pub(super) struct Snapshot {
    pub(super) tree: String,
    pub(super) listing: Listing,
    index_time: Option<(i64, i64)>,
    /// Files that are to be hashed again.
    fresh: Vec<Vec<u8>>,
}

impl Snapshot {
    /// Looks at all files and writes those that are new into the repository's objects. No ref holds them yet. Of the
    /// paths in `asked`, files and links are kept even if they are ignored.
    pub(super) fn take(place: &Place, private: &Private, asked: &[&[u8]]) -> Result<Self, CheckpointError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::try_take(place, private, asked, tries == 1) {
                Err(CheckpointError::Git(GitError::Failed { .. })) if tries < TRIES_MAX => {}
                result => return result,
            }
        }
    }

    fn try_take(place: &Place, private: &Private, asked: &[&[u8]], may_trust: bool) -> Result<Self, CheckpointError> {
        let second = private.second()?;
        let index_time = copy_index(place, private)?;
        let users = private.folder.join(USERS_INDEX);
        let listing = Listing::take(place, &place.plain().variable("GIT_INDEX_FILE", &users), asked)?;
        let index = private.folder.join("index");
        match fs::remove_file(&index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(CheckpointError::file(&index)(error)),
            Ok(()) | Err(_) => {}
        }
        let doubtful = match may_trust {
            true => match trusted(place, private)? {
                Some(doubtful) => Some(doubtful),
                None => seed::plant(place, private, &users, index_time, &listing)?,
            },
            false => None,
        };
        let all = listing.files.keys().map(Vec::as_slice);
        let changed = ["--add", "--remove", "--replace"];
        match doubtful {
            Some(doubtful) => {
                let known = whole(&private.git, &["ls-files", "-z"], &[])?;
                let known = paths(&known);
                let is_outdated = |path: &[u8]| !listing.files.contains_key(path) || doubtful.contains(path);
                update(&private.git, &["--force-remove"], known.iter().copied().filter(|path| is_outdated(path)))?;
                // Handing over all paths would take longer than everything else together.
                let differing = whole(&private.git, &["diff-files", "-z", "--name-only", "--no-renames"], &[])?;
                let differing = paths(&differing);
                let is_new = |path: &[u8]| !known.contains(path) || doubtful.contains(path) || differing.contains(path);
                update(&private.git, &changed, all.filter(|path| is_new(path)))?;
            }
            None => update(&private.git, &changed, all)?,
        }
        let tree = line(&private.git, &["write-tree"])?;
        let fresh = listing.files.iter().filter(|(_path, seen)| seen.is_fresh(second));
        let fresh = fresh.map(|(path, _seen)| path.clone()).collect();
        Ok(Self { tree, listing, index_time, fresh })
    }

    /// Writes the checkpoint. No ref holds it yet.
    pub(super) fn write(
        &self,
        place: &Place,
        private: &Private,
        at: Instant,
    ) -> Result<(String, Note), CheckpointError> {
        // Three calls of git that have nothing to do with each other: together they take as long as the longest.
        let (head, kept, staged) = thread::scope(|scope| {
            let head = scope.spawn(|| Head::read(place));
            let kept = scope.spawn(|| self.kept_files(private));
            let staged = self.staged(place, private);
            (joined(head), joined(kept), staged)
        });
        let note = Note { at, head: head?, index_time: self.index_time, operation: operation(place) };
        let ((manifest, index), (staged, others)) = (kept?, staged?);
        let parts = Parts { tree: self.tree.clone(), manifest, index, staged, others };
        Ok((record::write(&private.git, &parts, &note)?, note))
    }

    /// The manifest and the user's index as blobs.
    fn kept_files(&self, private: &Private) -> Result<(String, Option<String>), CheckpointError> {
        let manifest = private.folder.join("manifest");
        fs::write(&manifest, self.listing.manifest.write()).map_err(CheckpointError::file(&manifest))?;
        let users = private.folder.join(USERS_INDEX);
        let mut arguments = ["hash-object", "-w", "--no-filters", "--"].map(OsString::from).to_vec();
        arguments.push(manifest.into_os_string());
        arguments.extend(self.index_time.map(|_time| users.into_os_string()));
        let ids = private.git.run(&arguments)?.bytes;
        let ids = String::from_utf8_lossy(&ids);
        let mut ids = ids.lines().map(str::to_owned);
        Ok((ids.next().unwrap_or_default(), ids.next()))
    }

    /// What the index refers to: a tree of its entries, and what is in no tree.
    fn staged(&self, place: &Place, private: &Private) -> Result<(Option<String>, Vec<String>), CheckpointError> {
        let conflicts: Vec<&Staged> = self.listing.staged.iter().filter(|entry| entry.stage > 0).collect();
        let loose = conflicts.iter().copied().chain(&self.listing.undo).filter(|entry| entry.mode != b"160000");
        let others: BTreeSet<String> = loose.map(|entry| entry.id.clone()).collect();
        if self.index_time.is_none() {
            return Ok((None, others.into_iter().collect()));
        }
        let copy = private.folder.join("staged-index");
        fs::copy(private.folder.join(USERS_INDEX), &copy).map_err(CheckpointError::file(&copy))?;
        let git = place.plain().variable("GIT_INDEX_FILE", &copy);
        let paths: BTreeSet<&[u8]> = conflicts.iter().map(|entry| entry.path.as_slice()).collect();
        update(&git, &["--force-remove"], paths.into_iter())?;
        let tree = line(&git, &["write-tree", "--missing-ok"])?;
        Ok((Some(tree), others.into_iter().collect()))
    }

    /// Keeps the private index for the next one. `commit` is held by a ref of ours.
    pub(super) fn remember(&self, place: &Place, private: &Private, commit: &str) {
        let (cache, trust) = (place.own.join(CACHE), place.own.join(TRUST));
        let mut content = commit.as_bytes().to_vec();
        for path in &self.fresh {
            content.push(0);
            content.extend_from_slice(path);
        }
        // The old trust must not meet the new index. Without either, the next one hashes everything.
        let forgotten = match fs::remove_file(&trust) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        };
        forgotten
            .and_then(|()| fs::rename(private.folder.join("index"), cache))
            .and_then(|()| write_whole(&trust, &content, Lasting::Remade))
            .ok();
    }
}

/// What a thread came to; it panics here if it did there.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn paths(answer: &[u8]) -> BTreeSet<&[u8]> {
    answer.split(|&byte| byte == 0).filter(|path| !path.is_empty()).collect()
}

/// `update-index` with these paths, if there are any.
pub(super) fn update<'a>(
    git: &Git,
    options: &[&str],
    paths: impl Iterator<Item = &'a [u8]>,
) -> Result<(), CheckpointError> {
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path);
        input.push(0);
    }
    if input.is_empty() {
        return Ok(());
    }
    let arguments: Vec<&str> = ["update-index", "-z"].iter().chain(options).chain(&["--stdin"]).copied().collect();
    Ok(git.run_with_input(&arguments, &input).map(drop)?)
}

/// Takes the kept index where it can be trusted, and says for which paths it cannot.
fn trusted(place: &Place, private: &Private) -> Result<Option<BTreeSet<Vec<u8>>>, CheckpointError> {
    let Ok(trust) = fs::read(place.own.join(TRUST)) else { return Ok(None) };
    let mut parts = trust.split(|&byte| byte == 0);
    let commit = parts.next().map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default();
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let points_at = format!("--points-at={commit}");
    let holders = place.plain().run(&["for-each-ref", "--count=1", &points_at, "refs/haltline/"]);
    if !holders.is_ok_and(|answer| !answer.bytes.is_empty()) {
        return Ok(None);
    }
    let index = private.folder.join("index");
    if fs::copy(place.own.join(CACHE), &index).is_err() {
        fs::remove_file(&index).ok();
        return Ok(None);
    }
    Ok(Some(parts.map(<[u8]>::to_vec).collect()))
}

/// Copies the user's index into the private folder, and says when it was written. An index that shares entries with
/// another file becomes one that does not: that other file may be gone some day.
fn copy_index(place: &Place, private: &Private) -> Result<Option<(i64, i64)>, CheckpointError> {
    let path = place.git_folder.join("index");
    let copy = private.folder.join(USERS_INDEX);
    let mut index = match File::open(&path) {
        Ok(index) => index,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CheckpointError::file(&path)(error)),
    };
    let found = index.metadata().map_err(CheckpointError::file(&path))?;
    let copied = File::create(&copy).and_then(|mut copy| io::copy(&mut index, &mut copy));
    copied.map_err(CheckpointError::file(&copy))?;
    if shares_entries(place) {
        let git = place.plain().variable("GIT_INDEX_FILE", &copy);
        git.run(&["update-index", "--no-split-index"]).map(drop)?;
    }
    Ok(Some((found.mtime(), found.mtime_nsec())))
}

/// Whether the index may have another file beside it.
pub(super) fn shares_entries(place: &Place) -> bool {
    let mut names = fs::read_dir(&place.git_folder).into_iter().flatten().flatten();
    names.any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex."))
}
