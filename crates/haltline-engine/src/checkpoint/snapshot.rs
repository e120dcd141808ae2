//! Writes the files of a work tree as a git tree, byte for byte.
//!
//! Private git hashes what changed since the last checkpoint. For that, haltline caches a private index, which is
//! trusted only while a ref holds everything it refers to. A file that changed within two seconds of a checkpoint is
//! hashed again by the next one, whatever its times say, because file systems and git may count in whole seconds.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::thread;

use haltline_core::Instant;

use super::error::CheckpointError;
use super::head::{Head, operation};
use super::index_seed;
use super::listing::{IndexEntry, Listing};
use super::record::{self, Note, Parts};
use super::work_tree::{PrivateGit, WorkTree, run_for_bytes, run_for_line};
use crate::file::{Durability, if_exists, write_atomically};
use crate::git::{Git, GitError, records};

/// How often to start again when files change while they are read.
const TRIES_MAX: usize = 3;
/// haltline's cached index, and the file that says for which paths it may be trusted.
const CACHE: &str = "index";
const CACHE_TRUST: &str = "index.trust";
/// The copy of the user's index in the private folder.
const USERS_INDEX: &str = "users-index";

/// A work tree at one moment.
pub(super) struct Snapshot {
    pub(super) tree: String,
    pub(super) listing: Listing,
    index_time: Option<(i64, i64)>,
    /// Files that the next checkpoint must hash again.
    rehashed_next: Vec<Vec<u8>>,
}

impl Snapshot {
    /// Reads all files and writes the new ones into the repository's objects. No ref holds them yet. Files and links
    /// at the paths in `always_kept` are kept even if they are ignored.
    pub(super) fn create(private: &PrivateGit<'_>, always_kept: &[&[u8]]) -> Result<Self, CheckpointError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::try_create(private, always_kept, tries == 1) {
                Err(CheckpointError::Git(GitError::Failed { .. })) if tries < TRIES_MAX => {}
                result => return result,
            }
        }
    }

    fn try_create(private: &PrivateGit<'_>, always_kept: &[&[u8]], may_trust: bool) -> Result<Self, CheckpointError> {
        let work_tree = private.work_tree;
        let second = private.file_system_second()?;
        let index_time = copy_users_index(private)?;
        let users_index = private.folder.join(USERS_INDEX);
        let listing =
            Listing::read(work_tree, &work_tree.plain().variable("GIT_INDEX_FILE", &users_index), always_kept)?;
        let index = private.folder.join("index");
        if_exists(fs::remove_file(&index)).map_err(CheckpointError::file(&index))?;
        let mut doubtful = None;
        if may_trust {
            doubtful = match restore_cached_index(private)? {
                None => index_seed::seed_index(private, &users_index, index_time, &listing)?,
                cached => cached,
            };
        }
        let all = listing.files.keys().map(Vec::as_slice);
        let changed = ["--add", "--remove", "--replace"];
        match doubtful {
            Some(doubtful) => {
                let known = run_for_bytes(&private.git, &["ls-files", "-z"], &[])?;
                let known: BTreeSet<&[u8]> = records(&known).collect();
                let is_outdated = |path: &[u8]| !listing.files.contains_key(path) || doubtful.contains(path);
                update_index(
                    &private.git,
                    &["--force-remove"],
                    known.iter().copied().filter(|path| is_outdated(path)),
                )?;
                // Passing all paths to git would take longer than everything else together.
                let differing = run_for_bytes(&private.git, &["diff-files", "-z", "--name-only", "--no-renames"], &[])?;
                let differing: BTreeSet<&[u8]> = records(&differing).collect();
                let is_new = |path: &[u8]| !known.contains(path) || doubtful.contains(path) || differing.contains(path);
                update_index(&private.git, &changed, all.filter(|path| is_new(path)))?;
            }
            None => update_index(&private.git, &changed, all)?,
        }
        let tree = run_for_line(&private.git, &["write-tree"])?;
        let rehashed_next = listing.files.iter().filter(|(_path, stat)| stat.is_fresh(second));
        let rehashed_next = rehashed_next.map(|(path, _stat)| path.clone()).collect();
        Ok(Self { tree, listing, index_time, rehashed_next })
    }

    /// Writes the commit of the checkpoint. No ref holds it yet.
    pub(super) fn write(&self, private: &PrivateGit<'_>, at: Instant) -> Result<(String, Note), CheckpointError> {
        let work_tree = private.work_tree;
        // Three independent git calls: in parallel they take only as long as the longest.
        let (head, kept, staged) = thread::scope(|scope| {
            let head = scope.spawn(|| Head::read(work_tree));
            let kept = scope.spawn(|| self.write_blobs(private));
            let staged = self.write_staged(private);
            (join(head), join(kept), staged)
        });
        let note = Note { at, head: head?, index_time: self.index_time, operation: operation(work_tree) };
        let ((manifest, index), (staged, others)) = (kept?, staged?);
        let parts = Parts { tree: self.tree.clone(), manifest, index, staged, others };
        Ok((record::write(&private.git, &parts, &note)?, note))
    }

    /// Writes the manifest and the user's index as blobs.
    fn write_blobs(&self, private: &PrivateGit<'_>) -> Result<(String, Option<String>), CheckpointError> {
        let manifest = private.folder.join("manifest");
        fs::write(&manifest, self.listing.manifest.write()).map_err(CheckpointError::file(&manifest))?;
        let users_index = private.folder.join(USERS_INDEX);
        let mut arguments = ["hash-object", "-w", "--no-filters", "--"].map(OsString::from).to_vec();
        arguments.push(manifest.into_os_string());
        arguments.extend(self.index_time.map(|_time| users_index.into_os_string()));
        let ids = private.git.run(&arguments)?.bytes;
        let ids = String::from_utf8_lossy(&ids);
        let mut ids = ids.lines().map(str::to_owned);
        Ok((ids.next().unwrap_or_default(), ids.next()))
    }

    /// Writes what the index refers to: a tree of its entries, and the ids that are in no tree.
    fn write_staged(&self, private: &PrivateGit<'_>) -> Result<(Option<String>, Vec<String>), CheckpointError> {
        let conflicts: Vec<&IndexEntry> = self.listing.staged.iter().filter(|entry| entry.stage > 0).collect();
        let loose = conflicts.iter().copied().chain(&self.listing.resolve_undo).filter(|entry| entry.mode != b"160000");
        let others: BTreeSet<String> = loose.map(|entry| entry.id.clone()).collect();
        if self.index_time.is_none() {
            return Ok((None, others.into_iter().collect()));
        }
        let copy = private.folder.join("staged-index");
        fs::copy(private.folder.join(USERS_INDEX), &copy).map_err(CheckpointError::file(&copy))?;
        let git = private.work_tree.plain().variable("GIT_INDEX_FILE", &copy);
        let paths: BTreeSet<&[u8]> = conflicts.iter().map(|entry| entry.path.as_slice()).collect();
        update_index(&git, &["--force-remove"], paths.into_iter())?;
        let tree = run_for_line(&git, &["write-tree", "--missing-ok"])?;
        Ok((Some(tree), others.into_iter().collect()))
    }

    /// Caches the private index for the next checkpoint. A haltline ref must already hold `commit`.
    pub(super) fn cache_index(&self, private: &PrivateGit<'_>, commit: &str) {
        let [cache, trust] = [CACHE, CACHE_TRUST].map(|name| private.work_tree.haltline_folder.join(name));
        let mut content = commit.as_bytes().to_vec();
        for path in &self.rehashed_next {
            content.push(0);
            content.extend_from_slice(path);
        }
        // The old trust file must never meet the new index. Without either, the next checkpoint hashes everything.
        if_exists(fs::remove_file(&trust))
            .and_then(|_forgotten| fs::rename(private.folder.join("index"), cache))
            .and_then(|()| write_atomically(&trust, &content, Durability::Rebuildable))
            .ok();
    }
}

/// Waits for a thread and propagates its panic.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs `update-index` with these paths, if there are any.
pub(super) fn update_index<'a>(
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

/// Restores the cached index if it can be trusted, and returns the paths for which it cannot.
fn restore_cached_index(private: &PrivateGit<'_>) -> Result<Option<BTreeSet<Vec<u8>>>, CheckpointError> {
    let work_tree = private.work_tree;
    let Ok(trust) = fs::read(work_tree.haltline_folder.join(CACHE_TRUST)) else { return Ok(None) };
    let mut parts = trust.split(|&byte| byte == 0);
    let commit = parts.next().map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default();
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let points_at = format!("--points-at={commit}");
    let holders = work_tree.plain().run(&["for-each-ref", "--count=1", &points_at, "refs/haltline/"]);
    if !holders.is_ok_and(|output| !output.bytes.is_empty()) {
        return Ok(None);
    }
    let index = private.folder.join("index");
    if fs::copy(work_tree.haltline_folder.join(CACHE), &index).is_err() {
        fs::remove_file(&index).ok();
        return Ok(None);
    }
    Ok(Some(parts.map(<[u8]>::to_vec).collect()))
}

/// Copies the user's index into the private folder and returns when it was written. A split index is made whole,
/// because the shared file it depends on may be deleted some day.
fn copy_users_index(private: &PrivateGit<'_>) -> Result<Option<(i64, i64)>, CheckpointError> {
    let work_tree = private.work_tree;
    let path = work_tree.git_folder.join("index");
    let copy = private.folder.join(USERS_INDEX);
    let index = if_exists(File::open(&path)).map_err(CheckpointError::file(&path))?;
    let Some(mut index) = index else { return Ok(None) };
    let found = index.metadata().map_err(CheckpointError::file(&path))?;
    let copied = File::create(&copy).and_then(|mut copy| io::copy(&mut index, &mut copy));
    copied.map_err(CheckpointError::file(&copy))?;
    if has_shared_index(work_tree) {
        let git = work_tree.plain().variable("GIT_INDEX_FILE", &copy);
        git.run(&["update-index", "--no-split-index"]).map(drop)?;
    }
    Ok(Some((found.mtime(), found.mtime_nsec())))
}

/// True if the index may depend on a shared index file.
pub(super) fn has_shared_index(work_tree: &WorkTree) -> bool {
    let mut names = fs::read_dir(&work_tree.git_folder).into_iter().flatten().flatten();
    names.any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex."))
}
