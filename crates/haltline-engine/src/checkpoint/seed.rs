//! The first private index of a work tree, from the user's own, so that not every file must be hashed.
//!
//! git's index says which files are unchanged since it last looked, but its content is what filters and line endings
//! made of them. An entry is taken over only if no filter is anywhere in sight and the file has as many bytes as its
//! content: no other conversion of git keeps the number of bytes and changes one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::error::CheckpointError;
use super::listing::Listing;
use super::place::{Place, Private, whole};
use super::snapshot::shares_entries;

/// Takes over the user's index, and says for which paths it cannot be trusted. `None`: for none.
pub(super) fn plant(
    place: &Place,
    private: &Private,
    users: &Path,
    index_time: Option<(i64, i64)>,
    listing: &Listing,
) -> Result<Option<BTreeSet<Vec<u8>>>, CheckpointError> {
    let Some((index_second, _)) = index_time else { return Ok(None) };
    let is_sparse = listing.staged.iter().any(|entry| entry.tag == b'S' || entry.mode == b"040000");
    if is_sparse || shares_entries(place) || has_filters(place, listing) {
        return Ok(None);
    }
    let input: String = listing.staged.iter().map(|entry| format!("{}\n", entry.id)).collect();
    let sizes = whole(&private.git, &["cat-file", "--batch-check=%(objectsize)", "--buffer"], input.as_bytes())?;
    let mut sizes = sizes.split(|&byte| byte == b'\n');
    let mut doubtful = BTreeSet::new();
    for entry in &listing.staged {
        let size: Option<u64> = sizes.next().and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
        let seen = listing.files.get(&entry.path);
        // git never looks at files whose entry has another tag, and a file as new as the index may have changed since.
        let is_plain = entry.tag == b'H' && entry.stage == 0 && entry.mode != b"160000";
        let is_trusted = seen.is_some_and(|seen| size == Some(seen.bytes()) && !seen.is_fresh(index_second));
        if !(is_plain && is_trusted) {
            doubtful.insert(entry.path.clone());
        }
    }
    if doubtful.len() == listing.staged.len() {
        return Ok(None);
    }
    let index = private.folder.join("index");
    fs::copy(users, &index).map_err(CheckpointError::file(&index))?;
    Ok(Some(doubtful))
}

/// Whether any configuration has a filter, or any file of attributes could name one.
fn has_filters(place: &Place, listing: &Listing) -> bool {
    let is_attributes = |path: &[u8]| path.ends_with(b".gitattributes");
    let has_word = |path: &[u8]| {
        let path = place.top.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
        fs::read(path).is_ok_and(|content| content.windows(6).any(|word| word == b"filter"))
    };
    place.has_filters || listing.files.keys().any(|path| is_attributes(path) && has_word(path))
}
