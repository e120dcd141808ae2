//! Files moved into compressed ones without a moment in which their content is nowhere.
//!
//! A packed file is written beside its place, synced, renamed, and its folder synced; only then may the original go.
//! What a crash leaves is either a temporary file, which is ours by its ending and made anew, or both copies.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rustix::fs::OFlags;

/// The ending of files that are not finished. Other programs have their own temporary files, which are not ours.
pub(super) const UNFINISHED: &str = ".haltline-tmp";

/// Opens a file that is a file: a link or a pipe in the folder is not followed or waited for.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true), path)
}

/// Opens such a file to append to, or makes it.
pub(super) fn append_plain(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().append(true).create(true), path)
}

fn plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = options.custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    Ok(file)
}

/// Writes a file whole, with the permissions and the time of modification of `like`.
pub(super) fn write_like(path: &Path, content: &[u8], like: &File) -> io::Result<()> {
    finish(path, like, |file| file.write_all(content))
}

/// Packs all that can still be read from `source` into `path`.
pub(super) fn pack(source: &mut File, path: &Path) -> io::Result<()> {
    let like = source.try_clone()?;
    finish(path, &like, |file| {
        let mut encoder = GzEncoder::new(file, Compression::default());
        io::copy(source, &mut encoder)?;
        encoder.finish().map(|_file| ())
    })
}

fn finish(path: &Path, like: &File, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(UNFINISHED);
    let unfinished = PathBuf::from(unfinished);
    let attributes = like.metadata()?;
    let written = File::create(&unfinished).and_then(|mut file| {
        file.set_permissions(attributes.permissions())?;
        write(&mut file)?;
        file.set_modified(attributes.modified()?)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        sync_folder(path)
    });
    if written.is_err() {
        // Leave no half file behind; the first error is the one to tell.
        fs::remove_file(&unfinished).ok();
    }
    written
}

/// Makes a rename last.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Whether a packed file holds exactly what `source` does.
pub(super) fn holds(packed: &Path, source: &mut File) -> bool {
    let Ok(packed) = open_plain(packed) else { return false };
    let (mut packed, mut theirs, mut ours) = (GzDecoder::new(packed), vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let (Ok(left), Ok(right)) = (fill(&mut packed, &mut theirs), fill(source, &mut ours)) else { return false };
        if left != right || theirs[..left] != ours[..right] {
            return false;
        }
        if left == 0 {
            return true;
        }
    }
}

/// Reads until the buffer is full or nothing comes any more.
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
