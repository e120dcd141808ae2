//! How a short process uses the store alone: it locks the whole database file and keeps the index of the log in its own
//! memory, instead of making shared memory, filling it from the log and throwing it away.
//!
//! It does so only below the writers' lock, and ends it before it frees that lock. So writers never meet, readers wait for
//! milliseconds, and a process that keeps the database open (which the lock of the whole file would not be granted
//! beside) only makes hooks work as others do.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::connection::OpenConnection;
use super::foreign_lock::StoreFiles;
use super::sqlite::Sqlite;
use super::{StoreError, schema};
use crate::clock::Deadline;
use crate::queue::QueueGuard;

/// Ends an operation: see [`Sqlite::release_after_operation`].
pub(super) struct Operation<'a> {
    store: &'a Sqlite,
    /// The writers' lock of a process that does not use the store alone.
    _guard: Option<QueueGuard>,
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        self.store.release_after_operation();
    }
}

impl Sqlite {
    /// Waits for the writers' lock, unless this process has it.
    pub(super) fn begin_writing(&self, deadline: &Deadline) -> Result<Operation<'_>, StoreError> {
        if self.guard.borrow().is_some() {
            return Ok(Operation { store: self, _guard: None });
        }
        let guard = match self.wait_for_lock(deadline) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                self.create_folder()?;
                self.wait_for_lock(deadline)?
            }
            waited => waited?,
        };
        if !self.is_brief {
            return Ok(Operation { store: self, _guard: Some(guard) });
        }
        self.guard.replace(Some(guard));
        Ok(Operation { store: self, _guard: None })
    }

    /// Makes the following reads and writes of a [`super::Hold`] use the store alone, if that is possible.
    pub(super) fn open_alone_in_hold(&self, deadline: &Deadline) -> Result<(), StoreError> {
        if self.holds.get() == 0 || !self.is_brief || self.open.borrow().is_some() || self.guard.borrow().is_some() {
            return Ok(());
        }
        let guard = match self.wait_for_lock(deadline) {
            // Reading needs no lock: the folder may be gone, or read-only.
            Err(StoreError::Io { .. }) => return Ok(()),
            waited => waited?,
        };
        self.guard.replace(Some(guard));
        let opened = self.open_alone();
        self.open.replace(opened);
        Ok(())
    }

    /// The database, if nobody else has it open. The caller holds the writers' lock. What is wrong with a file is for those
    /// to find out who open it in the usual way.
    pub(super) fn open_alone(&self) -> Option<OpenConnection> {
        let path = self.path();
        let file = fs::metadata(&path).ok().filter(|file| self.is_brief && file.is_file() && file.len() > 0)?;
        let files = StoreFiles::open_without_shared_memory(&path);
        if !files.is_unused() {
            return None;
        }
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
        let connection = Connection::open_with_flags(path, flags).ok()?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok()?;
        schema::allow_tables_only(&connection).ok()?;
        connection.busy_timeout(Duration::ZERO).ok()?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE").ok()?;
        // The first access takes the lock, or fails because a reader was faster.
        let version = schema::version(&connection).ok()?;
        (version == schema::SCHEMA_VERSION).then(|| OpenConnection {
            connection,
            inode: file.ino(),
            files,
            is_alone: true,
        })
    }

    /// Ends the use of the store alone after an operation, so that others can go on.
    pub(super) fn release_after_operation(&self) {
        if !self.is_brief || self.holds.get() > 0 {
            return;
        }
        if self.open.borrow().as_ref().is_some_and(|open| open.is_alone) {
            self.open.take();
        }
        self.guard.take();
    }
}
