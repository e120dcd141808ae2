//! Finds locks that other programs hold on the store's files before SQLite would wait for them.
//!
//! SQLite retries some of them for ten seconds and does not ask its busy handler, and a lease makes every opening wait.
//! haltline's own processes queue on a lock file and hold SQLite's locks for milliseconds only.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::fs::OFlags;

use crate::file::with_suffix;

/// The bytes that SQLite locks in the database: one for pending writers, one for reserved ones, and 510 for readers.
const DATABASE_BYTES: (i64, i64) = (0x4000_0000, 512);
/// The bytes of the shared memory for one writer, one checkpoint and one recovery.
const WRITER_BYTES: (i64, i64) = (120, 3);
/// The byte of the writer alone, and the others. A writer is in no reader's way while the index in the memory is whole:
/// otherwise the reader must rebuild it, and needs the writer's lock for that.
const WRITER_BYTE: (i64, i64) = (120, 1);
const CHECKPOINT_BYTES: (i64, i64) = (121, 2);
/// The byte that says who uses the memory. A process that finds it free empties the memory.
const USER_BYTE: (i64, i64) = (128, 1);
/// The bytes of the shared memory for readers, and the one that says who uses the memory at all.
const READER_BYTES: (i64, i64) = (123, 6);

/// What somebody wants to do with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Reading,
    /// The caller holds the writers' lock file, so no other haltline writes.
    Writing,
}

/// Who is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// The process, where the system tells.
    pub process: Option<i32>,
}

/// The store's files, opened to look for locks.
#[derive(Clone, Debug, Default)]
pub(super) struct StoreFiles {
    database: Option<Arc<File>>,
    shared_memory: Option<Arc<File>>,
    is_leased: bool,
}

/// The files from which [`StoreFiles`] looks for some that are gone.
const OPEN_FILES_MANY: usize = 16;

/// The files that this process opened. They stay open: closing one would free the locks that SQLite holds on it for this
/// process. And nobody can take a lease on a file that is open.
static OPEN_FILES: Mutex<Vec<OpenFile>> = Mutex::new(Vec::new());

struct OpenFile {
    /// Device and inode.
    identity: (u64, u64),
    file: Arc<File>,
}

impl StoreFiles {
    /// Opens the files of a database without waiting for anybody.
    pub(super) fn open(database: &Path) -> Self {
        let shared_memory = open(&with_suffix(database, "-shm"));
        let without = Self::open_without_shared_memory(database);
        let is_leased = without.is_leased || matches!(&shared_memory, Err(error) if is_lease(error));
        Self { shared_memory: shared_memory.ok().flatten(), is_leased, ..without }
    }

    /// As [`Self::open`], for a process that will be alone and uses no shared memory.
    pub(super) fn open_without_shared_memory(database: &Path) -> Self {
        let (database, log) = (open(database), open(&with_suffix(database, "-wal")));
        let is_leased = [&database, &log].into_iter().any(|file| matches!(file, Err(error) if is_lease(error)));
        Self { database: database.ok().flatten(), shared_memory: None, is_leased }
    }

    /// True if no other process has the database open in a way that SQLite notices.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_leased
            && self.database.as_ref().is_some_and(|file| holder(file, DATABASE_BYTES, libc::F_WRLCK).is_none())
    }

    /// True if opening one of the files would wait for the holder of a lease.
    pub(super) fn is_leased(&self) -> bool {
        self.is_leased
    }

    /// True if SQLite has created its shared memory since the files were opened.
    pub(super) fn is_incomplete(&self) -> bool {
        self.shared_memory.is_none()
    }

    /// A foreign lock that would make SQLite wait.
    pub(super) fn obstacle(&self, purpose: Use) -> Option<Obstacle> {
        if self.is_leased {
            return Some(Obstacle { process: None });
        }
        let any_lock = match purpose {
            Use::Reading => CHECKPOINT_BYTES,
            Use::Writing => WRITER_BYTES,
        };
        let find = |file: &Option<Arc<File>>, bytes, kind| file.as_ref().and_then(|file| holder(file, bytes, kind));
        let is_rebuilt = || {
            let used_by = find(&self.shared_memory, USER_BYTE, libc::F_WRLCK);
            used_by.is_none() || !self.shared_memory.as_ref().is_some_and(|memory| is_index_whole(memory))
        };
        let writer = || find(&self.shared_memory, WRITER_BYTE, libc::F_WRLCK).filter(|_| is_rebuilt());
        find(&self.database, DATABASE_BYTES, libc::F_RDLCK)
            .or_else(|| find(&self.shared_memory, any_lock, libc::F_WRLCK))
            .or_else(|| find(&self.shared_memory, READER_BYTES, libc::F_RDLCK))
            .or_else(writer)
    }
}

/// True if SQLite accepts the head of the index: two copies that are the same, with the right sums. A writer changes them
/// one after the other, so the answer may be no for an instant.
fn is_index_whole(memory: &File) -> bool {
    const COPY_BYTES: usize = 48;
    const SUMMED_BYTES: usize = 40;
    let mut head = [0; 2 * COPY_BYTES];
    if memory.read_exact_at(&mut head, 0).is_err() || head[..COPY_BYTES] != head[COPY_BYTES..] {
        return false;
    }
    let mut words = head[..COPY_BYTES].chunks_exact(4).map(|word| match word {
        &[first, second, third, fourth] => u32::from_ne_bytes([first, second, third, fourth]),
        _other => 0,
    });
    let mut sums = (0_u32, 0_u32);
    for _ in 0..SUMMED_BYTES / 8 {
        let (one, other) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        sums.0 = sums.0.wrapping_add(one).wrapping_add(sums.1);
        sums.1 = sums.1.wrapping_add(other).wrapping_add(sums.0);
    }
    // The thirteenth byte says that it was initialised.
    head[12] != 0 && sums == (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// The holder of a lock on some of these bytes with which a lock of this kind cannot be had.
fn holder(file: &File, (start, length): (i64, i64), kind: libc::c_int) -> Option<Obstacle> {
    let mut lock = libc::flock {
        l_type: i16::try_from(kind).ok()?,
        l_whence: i16::try_from(libc::SEEK_SET).ok()?,
        l_start: start,
        l_len: length,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_GETLK(&mut lock)).ok()?;
    let is_locked = libc::c_int::from(lock.l_type) != libc::F_UNLCK;
    // A lock of an open file, or of another PID namespace, has no process.
    is_locked.then_some(Obstacle { process: Some(lock.l_pid).filter(|process| *process > 0) })
}

/// The file at a path; `None` if there is none, or this account may not open it.
fn open(path: &Path) -> io::Result<Option<Arc<File>>> {
    let Ok(found) = fs::metadata(path) else { return Ok(None) };
    if !found.is_file() {
        return Ok(None);
    }
    let identity = (found.dev(), found.ino());
    let mut open_files = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = open_files.iter().find(|known| known.identity == identity) {
        return Ok(Some(Arc::clone(&known.file)));
    }
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let open = |options: &mut OpenOptions| options.read(true).custom_flags(flags).open(path);
    // Only opening it for writing meets a lease that readers share.
    let file = match open(File::options().write(true)) {
        Err(error) if !is_lease(&error) => open(&mut File::options()),
        opened => opened,
    };
    let file = match file {
        Ok(file) => Arc::new(file),
        Err(error) if is_lease(&error) => return Err(error),
        Err(_unreadable) => return Ok(None),
    };
    // Nobody else can open a file that was deleted, so its locks no longer matter.
    if open_files.len() >= OPEN_FILES_MANY {
        open_files.retain(|known| known.file.metadata().is_ok_and(|file| file.nlink() > 0));
    }
    open_files.push(OpenFile { identity, file: Arc::clone(&file) });
    Ok(Some(file))
}

fn is_lease(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
