//! Seeds the first private index of a work tree from the user's index, so that not every file must be hashed.
//!
//! git's index knows which files are unchanged since git last read them, but the content it records is what filters
//! and line-ending conversion made of them. An entry is used only if no filter is configured anywhere and the file has
//! as many bytes as the recorded content: no other conversion of git changes bytes and keeps their number.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::error::CheckpointError;
use super::listing::Listing;
use super::snapshot::has_shared_index;
use super::work_tree::{PrivateGit, WorkTree, run_for_bytes};

/// Copies the user's index and returns the paths for which it cannot be trusted, or `None` if it was not copied.
pub(super) fn seed_index(
    private: &PrivateGit<'_>,
    users_index: &Path,
    index_time: Option<(i64, i64)>,
    listing: &Listing,
) -> Result<Option<BTreeSet<Vec<u8>>>, CheckpointError> {
    let Some((index_second, _)) = index_time else { return Ok(None) };
    let is_sparse = listing.staged.iter().any(|entry| entry.tag == b'S' || entry.mode == b"040000");
    if is_sparse || has_shared_index(private.work_tree) || has_filters(private.work_tree, listing) {
        return Ok(None);
    }
    let input: String = listing.staged.iter().map(|entry| format!("{}\n", entry.id)).collect();
    let sizes =
        run_for_bytes(&private.git, &["cat-file", "--batch-check=%(objectsize)", "--buffer"], input.as_bytes())?;
    let mut sizes = sizes.split(|&byte| byte == b'\n');
    let mut doubtful = BTreeSet::new();
    for entry in &listing.staged {
        let size: Option<u64> = sizes.next().and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
        let stat = listing.files.get(&entry.path);
        // git never checks files whose entry has another tag, and a file as new as the index may have changed since.
        let is_plain = entry.tag == b'H' && entry.stage == 0 && entry.mode != b"160000";
        let is_trusted = stat.is_some_and(|stat| size == Some(stat.bytes()) && !stat.is_fresh(index_second));
        if !(is_plain && is_trusted) {
            doubtful.insert(entry.path.clone());
        }
    }
    if doubtful.len() == listing.staged.len() {
        return Ok(None);
    }
    let index = private.folder.join("index");
    fs::copy(users_index, &index).map_err(CheckpointError::file(&index))?;
    Ok(Some(doubtful))
}

/// True if any configuration defines a filter, or any attributes file could name one.
fn has_filters(work_tree: &WorkTree, listing: &Listing) -> bool {
    let is_attributes = |path: &[u8]| path.ends_with(b".gitattributes");
    let mentions_filter = |path: &[u8]| {
        let path = work_tree.top.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
        fs::read(path).is_ok_and(|content| content.windows(6).any(|word| word == b"filter"))
    };
    work_tree.has_filters || listing.files.keys().any(|path| is_attributes(path) && mentions_filter(path))
}
