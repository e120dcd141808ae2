//! Connections to the store: opens them, waits for locks a bounded time, salvages a damaged file, and reads without locks
//! what can be read while somebody else holds them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::foreign_lock::{StoreFiles, Use};
use super::salvage::{self, Salvage};
use super::sqlite::Sqlite;
use super::stall::{Stall, StallWatch, describe_process, is_unwritten, lock_holder, progress};
use super::{StoreError, latch, schema};
use crate::clock::Deadline;
use crate::file::{if_exists, with_suffix};
use crate::network::network_kind;
use crate::queue::{QueueGuard, wait_in_queue_for};

/// How long to sleep before looking again whether a foreign lock is gone.
const POLL: Duration = Duration::from_millis(2);
/// How often reading without locks starts again because somebody wrote meanwhile.
const UNLOCKED_READS_MAX: usize = 3;

/// A connection, and the inode of its file: another process may have replaced the file by a rebuilt one.
pub(super) struct OpenConnection {
    pub connection: Connection,
    pub inode: u64,
    pub files: StoreFiles,
    /// True if no other process can open the database: see `alone.rs`.
    pub is_alone: bool,
}

/// The write-ahead log is checkpointed beyond this size, because every process that opens the store alone reads all of
/// it.
const LOG_BYTES_MAX: u64 = 256 * 1024;

impl Sqlite {
    /// The time limit of an operation.
    fn deadline(&self) -> Deadline {
        self.shared_deadline.unwrap_or_else(|| Deadline::new(self.options.timeout))
    }

    /// Waits for the lock that serializes writers. SQLite's own waiting polls; a file lock wakes the process up.
    pub(super) fn wait_for_lock(&self, deadline: &Deadline) -> Result<QueueGuard, StoreError> {
        let path = self.folder().join("state.lock");
        let mut watch = None;
        let begin_waiting = || self.wait_limit(watch.insert(StallWatch::begin(&self.path())), Use::Writing, deadline);
        let guard = wait_in_queue_for(&path, begin_waiting).map_err(|source| self.io_error(source))?;
        guard.ok_or_else(|| self.busy(deadline, watch.as_ref(), lock_holder(&path)))
    }

    /// Waits until no other program holds a lock that would make SQLite wait without a limit.
    fn wait_for_others(&self, files: &StoreFiles, purpose: Use, deadline: &Deadline) -> Result<(), StoreError> {
        let Some(mut obstacle) = files.obstacle(purpose) else { return Ok(()) };
        let watch = StallWatch::begin(&self.path());
        let limit = Deadline::new(self.wait_limit(&watch, purpose, deadline));
        while !limit.remaining().is_zero() {
            thread::park_timeout(limit.remaining().min(POLL));
            match files.obstacle(purpose) {
                Some(found) => obstacle = found,
                None => return Ok(()),
            }
        }
        Err(self.busy(deadline, Some(&watch), obstacle.process))
    }

    /// Only a process that must answer soon cuts its wait short, and one that only reads: it can read without locks.
    fn wait_limit(&self, watch: &StallWatch, purpose: Use, deadline: &Deadline) -> Duration {
        match purpose {
            Use::Writing if self.shared_deadline.is_none() => deadline.remaining(),
            Use::Reading | Use::Writing => watch.wait_limit(deadline),
        }
    }

    /// The error of an operation that waited long enough.
    fn busy(&self, deadline: &Deadline, watch: Option<&StallWatch>, process: Option<i32>) -> StoreError {
        let waited = deadline.elapsed();
        let is_stalled = watch.is_some_and(|watch| watch.is_stalled(&self.path(), waited));
        let stall = Stall { is_stalled, holder: process.filter(|_| is_stalled).map(describe_process) };
        if self.shared_deadline.is_some() {
            self.stall.replace(Some(stall.clone()));
        }
        self.busy_error(stall, deadline)
    }

    fn busy_error(&self, Stall { is_stalled, holder }: Stall, deadline: &Deadline) -> StoreError {
        StoreError::Busy { path: self.path(), waited_ms: deadline.elapsed().as_millis(), is_stalled, holder }
    }

    /// Fails if an operation of this process gave up already.
    fn check_not_given_up(&self, deadline: &Deadline) -> Result<(), StoreError> {
        let stall = self.stall.borrow().clone();
        stall.map_or(Ok(()), |stall| Err(self.busy_error(stall, deadline)))
    }

    /// Runs `work` on a connection that may write, under the writers' lock. A damaged file is salvaged and `work` tried
    /// again.
    pub(super) fn write<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let deadline = self.deadline();
        self.check_not_given_up(&deadline)?;
        let operation = self.begin_writing(&deadline)?;
        let attempt = || {
            self.reopen_if_replaced();
            let mut open = self.open.borrow_mut();
            if open.is_none() {
                *open = self.open_alone();
            }
            // The connection may have been opened for reading, or the file upgraded since.
            let is_current = |open: &OpenConnection| schema::version(&open.connection) == Ok(schema::SCHEMA_VERSION);
            if let Some(open) = &mut *open {
                self.prepare(open, Use::Writing, &deadline)?;
            }
            let open = match &mut *open {
                Some(open) if is_current(open) => open,
                other => other.insert(self.open_for_writing(&deadline)?),
            };
            self.limit_waiting(&open.connection, &deadline)?;
            let result = work(&open.connection);
            if result.is_ok() {
                self.bound_log(&open.connection);
            }
            if result.is_err() && !open.connection.is_autocommit() {
                // The first error is the one to report; a transaction that cannot be rolled back ends with its
                // connection.
                open.connection.execute_batch("ROLLBACK").ok();
            }
            result
        };
        let result = match attempt() {
            Err(error) if is_damage(&error) => {
                self.open.take();
                let salvage = Salvage::run(self)?;
                self.salvages.borrow_mut().extend(salvage);
                attempt()
            }
            other => other,
        };
        drop(operation);
        result.map_err(|error| self.as_busy_error(error, &deadline))
    }

    /// Waits until an open connection can be used.
    fn prepare(&self, open: &mut OpenConnection, purpose: Use, deadline: &Deadline) -> Result<(), StoreError> {
        if open.is_alone {
            return Ok(());
        }
        if open.files.is_incomplete() {
            open.files = StoreFiles::open(&self.path());
        }
        self.wait_for_others(&open.files, purpose, deadline)?;
        self.limit_waiting(&open.connection, deadline)
    }

    fn limit_waiting(&self, connection: &Connection, deadline: &Deadline) -> Result<(), StoreError> {
        connection.busy_timeout(deadline.remaining()).map_err(|error| self.database_error(error))
    }

    fn as_busy_error(&self, error: StoreError, deadline: &Deadline) -> StoreError {
        match error {
            StoreError::Database { source, .. } if is_busy(&source) => self.busy(deadline, None, None),
            other => other,
        }
    }

    /// Runs `work` on a connection that reads; the default if there is no store yet.
    pub(super) fn read<T: Default>(&self, work: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.read_rows(|connection| work(connection).map_err(|error| self.database_error(error)))
    }

    /// As [`Self::read`]. What cannot be read because somebody holds a lock is read without locks.
    pub(super) fn read_rows<T: Default>(
        &self,
        work: impl Fn(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = self.deadline();
        let read = self.check_not_given_up(&deadline).and_then(|()| self.read_locked(&work, &deadline));
        match read.map_err(|error| self.as_busy_error(error, &deadline)) {
            Err(busy @ StoreError::Busy { .. }) => self.read_unlocked(&work).map_err(|_damaged| busy),
            other => other,
        }
    }

    fn read_locked<T: Default>(
        &self,
        work: impl Fn(&Connection) -> Result<T, StoreError>,
        deadline: &Deadline,
    ) -> Result<T, StoreError> {
        self.reopen_if_replaced();
        self.open_alone_in_hold(deadline)?;
        let attempt = || {
            let mut open = self.open.borrow_mut();
            let open = match &mut *open {
                Some(open) => {
                    self.prepare(open, Use::Reading, deadline)?;
                    open
                }
                none => match self.open_for_reading(deadline)? {
                    Some(opened) => none.insert(opened),
                    None => return Ok(None),
                },
            };
            work(&open.connection).map(Some)
        };
        let read = match attempt() {
            Ok(None) if !latch::read_all(&self.latch_folder()).is_empty() => {
                // The file is gone but circuits were open: opening it for writing restores them from their latches.
                self.write(|_connection| Ok(()))?;
                attempt()
            }
            Err(error) if is_damage(&error) => {
                self.open.take();
                self.write(|connection| salvage::check(self, connection))?;
                attempt()
            }
            other => other,
        };
        Ok(read?.unwrap_or_default())
    }

    /// Reads the database and its log as they are, past every lock. The result counts only if nobody wrote meanwhile.
    fn read_unlocked<T: Default>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let path = self.path();
        for _ in 0..UNLOCKED_READS_MAX {
            let before = progress(&path);
            if before[0].is_none() && latch::read_all(&self.latch_folder()).is_empty() {
                return Ok(T::default());
            }
            let connection = self.open_unlocked().map_err(|error| self.database_error(error))?;
            let read = work(&connection);
            if is_unwritten(&before, &progress(&path)) {
                return read;
            }
        }
        Err(self.io_error(io::Error::other("it changed while it was read")))
    }

    /// SQLite's file access without locks. In exclusive mode it keeps the index of the log in memory, and neither reads
    /// nor writes the shared memory, which somebody may hold or have damaged.
    fn open_unlocked(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if StoreFiles::open(&self.path()).is_leased() {
            // Opening it would wait for the holder of the lease.
            return Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None));
        }
        let connection = Connection::open_with_flags_and_vfs(self.path(), flags, c"unix-none")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::allow_tables_only(&connection)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        Ok(connection)
    }

    fn reopen_if_replaced(&self) {
        let mut open = self.open.borrow_mut();
        // A process that replaces the file holds the writers' lock, and so does one that is alone.
        if let Some(OpenConnection { inode, is_alone: false, .. }) = &*open
            && fs::metadata(self.path()).map(|file| file.ino()).ok() != Some(*inode)
        {
            *open = None;
        }
    }

    pub(super) fn create_folder(&self) -> Result<(), StoreError> {
        if self.folder().is_dir() {
            return Ok(());
        }
        let private = fs::DirBuilder::new().recursive(true).mode(0o700).create(self.folder());
        private.map_err(|source| self.io_error(source))
    }

    fn open_for_reading(&self, deadline: &Deadline) -> Result<Option<OpenConnection>, StoreError> {
        // A store that cannot be looked at is not an empty one: only a missing file means that nothing is stored.
        let file = match fs::metadata(self.path()) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(self.io_error(source)),
        };
        if !file.is_file() {
            return Err(self.io_error(io::Error::other("it is not a file")));
        }
        if file.len() == 0 {
            return Ok(None);
        }
        let files = StoreFiles::open(&self.path());
        self.wait_for_others(&files, Use::Reading, deadline)?;
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(self.path(), flags | OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_read_only| Connection::open_with_flags(self.path(), flags | OpenFlags::SQLITE_OPEN_READ_ONLY));
        let connection = opened.map_err(|error| self.database_error(error))?;
        self.configure(&connection, deadline).map_err(|error| self.database_error(error))?;
        Ok(Some(OpenConnection { connection, inode: file.ino(), files, is_alone: false }))
    }

    fn open_for_writing(&self, deadline: &Deadline) -> Result<OpenConnection, StoreError> {
        let found = if_exists(fs::metadata(self.path())).map_err(|source| self.io_error(source))?;
        if found.as_ref().is_some_and(|file| !file.is_file()) {
            return Err(self.io_error(io::Error::other("it is not a file")));
        }
        let is_new = found.is_none_or(|file| file.len() == 0);
        if is_new && let Some(kind) = network_kind(self.folder()) {
            return Err(StoreError::Network { path: self.folder().to_owned(), kind });
        }
        let files = StoreFiles::open(&self.path());
        self.wait_for_others(&files, Use::Writing, deadline)?;
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
        let create = if is_new { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
        let fail = |error| self.database_error(error);
        let connection = Connection::open_with_flags(self.path(), flags | create).map_err(fail)?;
        self.configure(&connection, deadline).map_err(fail)?;
        if is_new {
            connection.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
        }
        match schema::version(&connection).map_err(fail)? {
            schema::SCHEMA_VERSION => {}
            older if older < schema::SCHEMA_VERSION => {
                schema::migrate(&connection).map_err(fail)?;
                if is_new {
                    let restored = Salvage::restore_latches(self, &connection)?;
                    self.salvages.borrow_mut().extend(restored);
                }
            }
            found => return Err(StoreError::Newer { path: self.path(), found, known: schema::SCHEMA_VERSION }),
        }
        let inode = fs::metadata(self.path()).map_err(|source| self.io_error(source))?.ino();
        Ok(OpenConnection { connection, inode, files, is_alone: false })
    }

    fn configure(&self, connection: &Connection, deadline: &Deadline) -> rusqlite::Result<()> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::allow_tables_only(connection)?;
        connection.busy_timeout(deadline.remaining())
    }

    fn log_path(&self) -> PathBuf {
        with_suffix(&self.path(), "-wal")
    }

    /// Keeps the log small. SQLite's own checkpoints do not: how far they got is forgotten when the last process ends,
    /// so the log would only grow. This does not wait for a reader that is in the way; the next writer tries again.
    fn bound_log(&self, connection: &Connection) {
        if fs::metadata(self.log_path()).is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
            let fold = || {
                connection.busy_timeout(Duration::ZERO)?;
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_row| Ok(()))
            };
            // The facts are committed whether or not this succeeds.
            fold().ok();
        }
    }

    /// Syncs the log to disk, so that the most important facts survive a power cut before haltline answers.
    pub(super) fn sync_log(&self) -> Result<(), StoreError> {
        let synced = if_exists(File::open(self.log_path()).and_then(|log| log.sync_data()));
        synced.map(drop).map_err(|error| self.io_error(error))
    }
}

/// True if the error may mean that the file itself is damaged. A file that the salvage finds sound is left as it is.
fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::Database { source, .. } => match source.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation
                | ErrorCode::ReadOnly
                | ErrorCode::Unknown,
            ) => true,
            // A file that ends in the middle of a page.
            Some(_) => {
                source.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
            }
            None => {
                matches!(
                    source,
                    rusqlite::Error::InvalidColumnType(..)
                        | rusqlite::Error::FromSqlConversionFailure(..)
                        | rusqlite::Error::IntegralValueOutOfRange(..)
                        | rusqlite::Error::ToSqlConversionFailure(..)
                        | rusqlite::Error::Utf8Error(..)
                        // A table or column is missing, or exists already.
                        | rusqlite::Error::SqlInputError { .. }
                )
            }
        },
        StoreError::Row { .. } => true,
        StoreError::Busy { .. }
        | StoreError::Newer { .. }
        | StoreError::Network { .. }
        | StoreError::Io { .. }
        | StoreError::EndlessDecision => false,
    }
}

/// True if somebody else holds a lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed))
}
