//! The store of a user: one SQLite file in WAL mode, written by many short processes at once.
//!
//! The settings were chosen by measurement. Writers queue on a lock file. A commit that only counts is not synced;
//! one that trips a circuit or records an operator action is synced before haltline answers. The write-ahead log is
//! kept small and is not checkpointed when a process ends.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::{CircuitName, Decision, Halt, Memory, State, shorten};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::entry::{Entry, Head};
use super::incident_table::{self, StoredIncident};
use super::rows::{ENTRY_COLUMNS, MESSAGE_COLUMNS, head_at, read_entry, read_head, read_message};
use super::salvage::{self, Salvage};
use super::transaction::Transaction;
use super::{
    Anchor, DELIVERY_ATTEMPTS_MAX, Provenance, Store, StoreError, StoredProject, TransactionOutcome, Undelivered,
    latch, schema,
};
use crate::clock::{Clock, Deadline};
use crate::file::{if_exists, with_suffix};
use crate::network::network_kind;
use crate::project::{Project, ProjectKey};
use crate::queue::{QueueGuard, wait_in_queue};

#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// How long a writer waits for other writers.
    pub timeout: Duration,
    /// The state folder stays below this size.
    pub bytes_max: u64,
    /// Facts older than this are folded into the anchor.
    pub journal_days: u32,
    /// Names the files that are set aside, and gives the age of facts.
    pub clock: Clock,
}

/// A store in a state folder.
pub struct Sqlite {
    folder: PathBuf,
    pub(super) options: SqliteOptions,
    salvages: RefCell<Vec<Salvage>>,
    open: RefCell<Option<OpenConnection>>,
}

/// A connection, and the inode of its file: another process may have replaced the file by a rebuilt one.
struct OpenConnection {
    connection: Connection,
    inode: u64,
}

/// The write-ahead log is checkpointed beyond this size, because every process that opens the store alone reads all of
/// it.
const LOG_BYTES_MAX: u64 = 256 * 1024;

impl Sqlite {
    /// Opens a store in this folder. Nothing is created before the first write.
    pub fn new(folder: &Path, options: SqliteOptions) -> Self {
        Self { folder: folder.to_owned(), options, salvages: RefCell::new(Vec::new()), open: RefCell::new(None) }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join("state.db")
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn latch_folder(&self) -> PathBuf {
        self.folder.join("latches")
    }

    /// Sets the limits from the configuration, which is read after the store was made.
    pub fn set_limits(&mut self, bytes_max: u64, journal_days: u32) {
        self.options.bytes_max = bytes_max;
        self.options.journal_days = journal_days;
    }

    /// Takes the reports about damage that was repaired since this store was opened; each is returned once.
    pub fn take_salvages(&self) -> Vec<Salvage> {
        self.salvages.take()
    }

    /// The schema version of the file if a newer haltline wrote it.
    pub fn newer_schema(&self) -> Result<Option<i64>, StoreError> {
        let found = self.read(schema::version)?;
        Ok((found > schema::SCHEMA_VERSION).then_some(found))
    }

    /// Checks that the store accepts writes, by writing the schema version that is there already.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        self.write(|connection| {
            let again = format!("BEGIN IMMEDIATE; PRAGMA user_version = {}; COMMIT", schema::SCHEMA_VERSION);
            connection.execute_batch(&again).map_err(|error| self.database_error(error))
        })
    }

    /// Waits for the lock that serializes writers. SQLite's own waiting polls; a file lock wakes the process up.
    fn wait_for_lock(&self, deadline: &Deadline) -> Result<QueueGuard, StoreError> {
        let path = self.folder.join("state.lock");
        let guard = wait_in_queue(&path, deadline.remaining()).map_err(|source| self.io_error(source))?;
        guard.ok_or_else(|| StoreError::Busy { path: self.path(), waited_ms: deadline.elapsed().as_millis() })
    }

    /// Runs `work` on a connection that may write, under the writers' lock. A damaged file is salvaged and `work` tried
    /// again.
    fn write<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let deadline = Deadline::new(self.options.timeout);
        self.create_folder()?;
        let guard = self.wait_for_lock(&deadline)?;
        let attempt = || {
            self.reopen_if_replaced();
            let mut open = self.open.borrow_mut();
            // The connection may have been opened for reading, or the file upgraded since.
            let is_current = |open: &OpenConnection| schema::version(&open.connection) == Ok(schema::SCHEMA_VERSION);
            let open = match &mut *open {
                Some(open) if is_current(open) => open,
                other => other.insert(self.open_for_writing()?),
            };
            open.connection.busy_timeout(deadline.remaining()).map_err(|error| self.database_error(error))?;
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
        drop(guard);
        result.map_err(|error| self.as_busy_error(error, &deadline))
    }

    fn as_busy_error(&self, error: StoreError, deadline: &Deadline) -> StoreError {
        match error {
            StoreError::Database { source, .. } if source.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                StoreError::Busy { path: self.path(), waited_ms: deadline.elapsed().as_millis() }
            }
            other => other,
        }
    }

    /// Runs `work` on a connection that reads; the default if there is no store yet.
    fn read<T: Default>(&self, work: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.read_rows(|connection| work(connection).map_err(|error| self.database_error(error)))
    }

    fn read_rows<T: Default>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.reopen_if_replaced();
        let attempt = || {
            let mut open = self.open.borrow_mut();
            let open = match &mut *open {
                Some(open) => open,
                none => match self.open_for_reading()? {
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

    fn reopen_if_replaced(&self) {
        let mut open = self.open.borrow_mut();
        if let Some(OpenConnection { inode, .. }) = &*open
            && fs::metadata(self.path()).map(|file| file.ino()).ok() != Some(*inode)
        {
            *open = None;
        }
    }

    fn create_folder(&self) -> Result<(), StoreError> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let private = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        private.map_err(|source| self.io_error(source))
    }

    fn open_for_reading(&self) -> Result<Option<OpenConnection>, StoreError> {
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
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(self.path(), flags | OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_read_only| Connection::open_with_flags(self.path(), flags | OpenFlags::SQLITE_OPEN_READ_ONLY));
        let connection = opened.map_err(|error| self.database_error(error))?;
        self.configure(&connection).map_err(|error| self.database_error(error))?;
        Ok(Some(OpenConnection { connection, inode: file.ino() }))
    }

    fn open_for_writing(&self) -> Result<OpenConnection, StoreError> {
        let found = if_exists(fs::metadata(self.path())).map_err(|source| self.io_error(source))?;
        if found.as_ref().is_some_and(|file| !file.is_file()) {
            return Err(self.io_error(io::Error::other("it is not a file")));
        }
        let is_new = found.is_none_or(|file| file.len() == 0);
        if is_new && let Some(kind) = network_kind(&self.folder) {
            return Err(StoreError::Network { path: self.folder.clone(), kind });
        }
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
        let create = if is_new { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
        let fail = |error| self.database_error(error);
        let connection = Connection::open_with_flags(self.path(), flags | create).map_err(fail)?;
        self.configure(&connection).map_err(fail)?;
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
        Ok(OpenConnection { connection, inode })
    }

    /// Fails if a row is older than its latch. The latch is written after the row, so the end of the log must be lost.
    pub(super) fn check_latch(
        &self,
        project: ProjectKey,
        name: &CircuitName,
        stored: Option<&State>,
    ) -> Result<(), StoreError> {
        let Some(latch) = latch::read(&self.latch_folder(), project, name) else { return Ok(()) };
        self.compare_latch(&latch, stored)
    }

    fn compare_latch(&self, latch: &latch::Latch, stored: Option<&State>) -> Result<(), StoreError> {
        if stored.is_some_and(|stored| stored.generation() >= latch.state.generation()) {
            return Ok(());
        }
        let reason = "its latch is newer than its row".to_owned();
        Err(StoreError::Row { path: self.path(), circuit: shorten(latch.name.as_str()), reason })
    }

    /// Compares all latches with their rows, of one project or of all.
    pub(super) fn check_latches(&self, connection: &Connection, project: Option<ProjectKey>) -> Result<(), StoreError> {
        for latch in latch::read_all(&self.latch_folder()) {
            if project.is_some_and(|project| project.0 != latch.project) {
                continue;
            }
            let stored = self.read_state(connection, ProjectKey(latch.project), &latch.name)?;
            self.compare_latch(&latch, stored.as_ref().map(|(_, state)| state))?;
        }
        Ok(())
    }

    /// The number of a row's last fact, and its state.
    pub(super) fn read_state(
        &self,
        connection: &Connection,
        project: ProjectKey,
        name: &CircuitName,
    ) -> Result<Option<(u64, State)>, StoreError> {
        let row: Option<(u64, String)> = connection
            .prepare_cached("SELECT last, state FROM circuit WHERE project = ?1 AND name = ?2")
            .and_then(|mut query| {
                query.query_row(params![project.0, name.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(|error| self.database_error(error))?;
        row.map(|(last, text)| Ok((last, self.parse_state(name.as_str(), &text)?))).transpose()
    }

    fn configure(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::allow_tables_only(connection)?;
        connection.busy_timeout(self.options.timeout)
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

    pub(super) fn io_error(&self, source: io::Error) -> StoreError {
        let hint = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder writable, or set HALTLINE_STATE_DIR to one that is"
            }
            io::ErrorKind::StorageFull => "free some space; nothing was written",
            _other => "check the folder, or set HALTLINE_STATE_DIR to another",
        };
        StoreError::Io { path: self.path(), hint, source }
    }

    pub(super) fn database_error(&self, source: rusqlite::Error) -> StoreError {
        let hint = match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                "make the folder writable, or set HALTLINE_STATE_DIR to one that is"
            }
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => "free some space; nothing was written",
            Some(_) | None => "nothing was written",
        };
        StoreError::Database { path: self.path(), hint, source }
    }

    pub(super) fn parse_state(&self, name: &str, text: &str) -> Result<State, StoreError> {
        serde_json::from_str(text).map_err(|error| StoreError::Row {
            path: self.path(),
            circuit: shorten(name),
            reason: error.to_string(),
        })
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

impl Store for Sqlite {
    fn transact(
        &self,
        project: &Project,
        provenance: Provenance<'_>,
        decide: &dyn Fn(&Memory) -> Result<Decision, Halt>,
    ) -> Result<TransactionOutcome, StoreError> {
        self.write(|connection| Transaction::run(self, connection, project, provenance, decide))
    }

    fn circuit(&self, project: ProjectKey, name: &CircuitName) -> Result<Option<State>, StoreError> {
        self.read_rows(|connection| {
            let state = self.read_state(connection, project, name)?.map(|(_, state)| state);
            self.check_latch(project, name, state.as_ref())?;
            Ok(state)
        })
    }

    fn circuits(&self, project: ProjectKey) -> Result<Vec<(CircuitName, State)>, StoreError> {
        let sql = "SELECT name, state FROM circuit WHERE project = ?1 ORDER BY name";
        self.read_rows(|connection| {
            self.check_latches(connection, Some(project))?;
            self.read_states(connection, sql, project)
        })
    }

    fn history(&self, project: ProjectKey, name: &CircuitName, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.read(|connection| {
            let mut next: u64 = connection
                .prepare_cached("SELECT last FROM circuit WHERE project = ?1 AND name = ?2")?
                .query_row(params![project.0, name.as_str()], |row| row.get(0))
                .optional()?
                .unwrap_or_default();
            let sql = format!("SELECT {ENTRY_COLUMNS} FROM fact WHERE project = ?1 AND seq = ?2");
            let mut query = connection.prepare_cached(&sql)?;
            let mut entries = Vec::new();
            while next > 0 && entries.len() < limit {
                // The facts before the oldest one kept are folded into the anchor.
                let Some(entry) = query.query_row(params![project.0, next], read_entry).optional()? else { break };
                // Facts point backwards; anything else is damage and must not lead to an endless loop.
                next = if entry.previous < next { entry.previous } else { 0 };
                entries.push(entry);
            }
            Ok(entries)
        })
    }

    fn journal(&self, project: ProjectKey, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        // SQLite counts to i64::MAX; a caller that wants all facts may pass a larger number.
        let (after, limit) = (i64::try_from(after).unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX));
        self.read(|connection| {
            let sql = format!("SELECT {ENTRY_COLUMNS} FROM fact WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
            let mut query = connection.prepare_cached(&sql)?;
            query.query_map(params![project.0, after, limit], read_entry)?.collect()
        })
    }

    fn anchor(&self, project: ProjectKey) -> Result<Anchor, StoreError> {
        self.read_rows(|connection| {
            let head = connection
                .prepare_cached("SELECT anchor_seq, anchor_hash FROM project WHERE id = ?1")
                .and_then(|mut query| query.query_row([project.0], |row| head_at(row, 0)).optional())
                .map_err(|error| self.database_error(error))?
                .unwrap_or_default();
            let sql = "SELECT name, state FROM anchor WHERE project = ?1 ORDER BY name";
            Ok(Anchor { head, states: self.read_states(connection, sql, project)? })
        })
    }

    fn head(&self, project: ProjectKey) -> Result<Head, StoreError> {
        Ok(self.read(|connection| read_head(connection, project))?.unwrap_or_default())
    }

    fn projects(&self) -> Result<Vec<StoredProject>, StoreError> {
        self.read(|connection| {
            let mut query =
                connection.prepare_cached("SELECT id, identity, seq, hash FROM project ORDER BY identity")?;
            let rows = query.query_map([], |row| {
                let identity: Vec<u8> = row.get(1)?;
                Ok(StoredProject {
                    key: ProjectKey(row.get(0)?),
                    identity: PathBuf::from(String::from_utf8_lossy(&identity).into_owned()),
                    head: head_at(row, 2)?,
                })
            })?;
            rows.collect()
        })
    }

    fn purge(&self, session: &str) -> Result<usize, StoreError> {
        // The texts contain the session as a JSON string: search for exactly that.
        let wanted = serde_json::to_string(session).expect("a string is JSON");
        let (agent, tree) = (CircuitName::agent(session, None), CircuitName::tree(session));
        self.write(|connection| {
            let fail = |error| self.database_error(error);
            connection.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
            let purged = connection
                .execute(
                    "UPDATE fact SET texts = NULL WHERE texts <> '{}' AND (
                         instr(texts, '\"session\":' || ?1 || ',') > 0 OR instr(texts, '\"session\":' || ?1 || '}') > 0
                         OR name = ?2 OR name = ?3 OR substr(name, 1, length(?4)) = ?4)",
                    [&wanted, agent.as_str(), tree.as_str(), &format!("{}/", agent.as_str())],
                )
                .map_err(fail)?;
            connection
                .execute(
                    "UPDATE incident SET texts = NULL
                     WHERE name = ?1 OR name = ?2 OR substr(name, 1, length(?3)) = ?3",
                    [agent.as_str(), tree.as_str(), &format!("{}/", agent.as_str())],
                )
                .map_err(fail)?;
            connection.execute_batch("COMMIT").map_err(fail)?;
            self.sync_log()?;
            // Purged text must not remain readable in free pages or in the log.
            connection
                .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
                .map_err(fail)?;
            Ok(purged)
        })
    }

    fn incidents(&self, project: Option<ProjectKey>) -> Result<Vec<StoredIncident>, StoreError> {
        self.read(|connection| incident_table::read_all(connection, project))
    }

    fn undelivered(&self, project: ProjectKey) -> Result<Vec<Undelivered>, StoreError> {
        self.read(|connection| {
            let sql = format!("SELECT {MESSAGE_COLUMNS} FROM outbox WHERE project = ?1 ORDER BY id");
            connection.prepare_cached(&sql)?.query_map([project.0], read_message)?.collect()
        })
    }

    fn record_delivery(&self, id: i64, is_delivered: bool) -> Result<(), StoreError> {
        self.write(|connection| {
            let fail = |error| self.database_error(error);
            connection.execute("UPDATE outbox SET attempts = attempts + 1 WHERE id = ?1", [id]).map_err(fail)?;
            connection
                .execute(
                    "DELETE FROM outbox WHERE id = ?1 AND (?2 OR attempts >= ?3)",
                    params![id, is_delivered, DELIVERY_ATTEMPTS_MAX],
                )
                .map_err(fail)?;
            Ok(())
        })
    }
}

impl Sqlite {
    fn read_states(
        &self,
        connection: &Connection,
        sql: &str,
        project: ProjectKey,
    ) -> Result<Vec<(CircuitName, State)>, StoreError> {
        let rows: rusqlite::Result<Vec<(String, String)>> = connection
            .prepare_cached(sql)
            .and_then(|mut query| query.query_map([project.0], |row| Ok((row.get(0)?, row.get(1)?)))?.collect());
        let rows = rows.map_err(|error| self.database_error(error))?;
        rows.into_iter()
            .map(|(name, text)| Ok((CircuitName::from_stored(name.clone()), self.parse_state(&name, &text)?)))
            .collect()
    }
}
