//! Moves files into compressed ones so that their content always exists on disk.
//!
//! A packed file is written beside its final path, synced, renamed, and its folder synced; only then may the original
//! be removed. A crash leaves either a temporary file, which is recognised by its ending and removed, or both copies.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::file::{Access, Durability, open_regular, replace_file, with_suffix};

/// The ending of unfinished files. Temporary files of other programs have other endings and are left alone.
pub(super) const UNFINISHED: &str = ".haltline-tmp";

/// Writes a whole file, with the permissions and the modification time of `like`.
pub(super) fn write_like(path: &Path, content: &[u8], like: &File) -> io::Result<()> {
    write_and_rename(path, like, |file| file.write_all(content))
}

/// Packs everything from the current position of `source` into `path`.
pub(super) fn pack(source: &mut File, path: &Path) -> io::Result<()> {
    let like = source.try_clone()?;
    write_and_rename(path, &like, |file| {
        let mut encoder = GzEncoder::new(file, Compression::default());
        io::copy(source, &mut encoder)?;
        encoder.finish().map(|_file| ())
    })
}

fn write_and_rename(path: &Path, like: &File, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let attributes = like.metadata()?;
    replace_file(path, &with_suffix(path, UNFINISHED), Access::Umask, Durability::SyncedWithFolder, |file| {
        file.set_permissions(attributes.permissions())?;
        write(file)?;
        file.set_modified(attributes.modified()?)
    })
}

/// True if a packed file has exactly the content of `source`.
pub(super) fn has_same_content(packed: &Path, source: &mut File) -> bool {
    let Ok(packed) = open_regular(packed) else { return false };
    let (mut packed, mut packed_bytes, mut source_bytes) =
        (GzDecoder::new(packed), vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let (Ok(left), Ok(right)) = (fill(&mut packed, &mut packed_bytes), fill(source, &mut source_bytes)) else {
            return false;
        };
        if left != right || packed_bytes[..left] != source_bytes[..right] {
            return false;
        }
        if left == 0 {
            return true;
        }
    }
}

/// Reads until the buffer is full or the source ends.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
