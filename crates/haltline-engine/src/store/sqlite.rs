//! The store of a user: one SQLite file in WAL mode, written by many short processes at once.
//!
//! The settings are the ones DESIGN.md measured: writers queue on a lock file, a commit of plain counting is
//! not synced, one that trips or records a person's act is synced before it is answered, the write-ahead log is
//! kept small and is not folded back when a process ends.

use std::cell::RefCell;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::{CircuitName, Memory, State, Step, shorten};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::entry::{Entry, Head};
use super::rows::{ENTRY, read_entry, read_head};
use super::salvage::{self, Salvage};
use super::transaction::Transaction;
use super::{Anchor, DELIVERY_ATTEMPTS_MAX, Known, Outcome, Store, StoreError, Undelivered, Writing, latch, schema};
use crate::clock::{Clock, Patience};
use crate::network::network_kind;
use crate::project::{Project, ProjectKey};
use crate::queue::{Turn, line_up};

/// How the file is kept.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// How long a writer waits for others.
    pub patience: Duration,
    /// The state folder stays under this, in bytes.
    pub bytes_max: u64,
    /// Facts older than this are folded into the anchor, in days.
    pub journal_days: u32,
    /// For naming files that are set aside, and for the age of facts.
    pub clock: Clock,
}

/// A store in a state folder.
pub struct Sqlite {
    folder: PathBuf,
    pub(super) options: SqliteOptions,
    salvages: RefCell<Vec<Salvage>>,
    open: RefCell<Option<Open>>,
}

/// A connection, and the file it belongs to: another process may have put a rebuilt file in its place.
struct Open {
    connection: Connection,
    inode: u64,
}

/// The write-ahead log is folded back beyond this. Every process that opens the store alone reads all of it.
const LOG_BYTES_MAX: u64 = 256 * 1024;

impl Sqlite {
    /// A store in this folder. Nothing is created before the first write.
    pub fn new(folder: &Path, options: SqliteOptions) -> Self {
        Self { folder: folder.to_owned(), options, salvages: RefCell::new(Vec::new()), open: RefCell::new(None) }
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.folder.join("state.db")
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn latches(&self) -> PathBuf {
        self.folder.join("latches")
    }

    /// Sets the limits the configuration names, once it could be read.
    pub fn set_limits(&mut self, bytes_max: u64, journal_days: u32) {
        self.options.bytes_max = bytes_max;
        self.options.journal_days = journal_days;
    }

    /// What had to be rescued since this store was opened; told once.
    pub fn salvages(&self) -> Vec<Salvage> {
        self.salvages.take()
    }

    /// Whether a newer haltline wrote the file, and its schema.
    pub fn newer_schema(&self) -> Result<Option<i64>, StoreError> {
        let found = self.read(schema::version)?.unwrap_or_default();
        Ok((found > schema::SCHEMA_VERSION).then_some(found))
    }

    /// Writes, in one's turn, what is there already: whether the store takes writes at all.
    pub fn probe(&self) -> Result<(), StoreError> {
        self.write(|connection| {
            let again = format!("BEGIN IMMEDIATE; PRAGMA user_version = {}; COMMIT", schema::SCHEMA_VERSION);
            connection.execute_batch(&again).map_err(|error| self.database(error))
        })
    }

    /// Writers queue before they begin a transaction: SQLite's own waiting polls, a lock wakes up.
    fn take_turn(&self, patience: &Patience) -> Result<Turn, StoreError> {
        let path = self.folder.join("state.lock");
        let turn = line_up(&path, patience.left()).map_err(|source| self.io(source))?;
        turn.ok_or_else(|| StoreError::Busy { path: self.path(), waited_ms: patience.used().as_millis() })
    }

    /// Runs `work` on a connection that may write, in one's turn; a damaged file is rescued and tried once more.
    fn write<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let patience = Patience::new(self.options.patience);
        self.create_folder()?;
        let turn = self.take_turn(&patience)?;
        let attempt = || {
            self.reopen_if_replaced();
            let mut open = self.open.borrow_mut();
            // The connection may have been opened for reading, or the file upgraded since.
            let is_ours = |open: &Open| schema::version(&open.connection) == Ok(schema::SCHEMA_VERSION);
            let open = match &mut *open {
                Some(open) if is_ours(open) => open,
                other => other.insert(self.open_for_writing()?),
            };
            open.connection.busy_timeout(patience.left()).map_err(|error| self.database(error))?;
            let result = work(&open.connection);
            if result.is_ok() {
                self.bound_log(&open.connection);
            }
            if result.is_err() && !open.connection.is_autocommit() {
                // The first error is the one to tell; a transaction that cannot be rolled back ends with its connection.
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
        drop(turn);
        result.map_err(|error| self.name_busy(error, &patience))
    }

    fn name_busy(&self, error: StoreError, patience: &Patience) -> StoreError {
        match error {
            StoreError::Database { source, .. } if source.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                StoreError::Busy { path: self.path(), waited_ms: patience.used().as_millis() }
            }
            other => other,
        }
    }

    /// Runs `work` on a connection that reads; `None` where there is no store yet.
    fn read<T>(&self, work: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<Option<T>, StoreError> {
        self.read_rows(|connection| work(connection).map_err(|error| self.database(error)))
    }

    fn read_rows<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<Option<T>, StoreError> {
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
        match attempt() {
            Ok(None) if !latch::all(&self.latches()).is_empty() => {
                // The file is gone but circuits were open: the writer's way in brings them back.
                self.write(|_connection| Ok(()))?;
                attempt()
            }
            Err(error) if is_damage(&error) => {
                self.open.take();
                self.write(|connection| salvage::check(self, connection))?;
                attempt()
            }
            other => other,
        }
    }

    fn reopen_if_replaced(&self) {
        let mut open = self.open.borrow_mut();
        if let Some(Open { inode, .. }) = &*open
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
        private.map_err(|source| self.io(source))
    }

    fn open_for_reading(&self) -> Result<Option<Open>, StoreError> {
        let Ok(file) = fs::metadata(self.path()) else { return Ok(None) };
        if file.len() == 0 {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(self.path(), flags | OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_read_only| Connection::open_with_flags(self.path(), flags | OpenFlags::SQLITE_OPEN_READ_ONLY));
        let connection = opened.map_err(|error| self.database(error))?;
        self.configure(&connection).map_err(|error| self.database(error))?;
        Ok(Some(Open { connection, inode: file.ino() }))
    }

    fn open_for_writing(&self) -> Result<Open, StoreError> {
        let is_new = fs::metadata(self.path()).map_or(0, |file| file.len()) == 0;
        if is_new && let Some(kind) = network_kind(&self.folder) {
            return Err(StoreError::Network { path: self.folder.clone(), kind });
        }
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
        let create = if is_new { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
        let fail = |error| self.database(error);
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
        let inode = fs::metadata(self.path()).map_err(|source| self.io(source))?.ino();
        Ok(Open { connection, inode })
    }

    /// A circuit is never behind its latch, which is written after it: where it is, the end of the log was lost.
    pub(super) fn check_latch(
        &self,
        project: ProjectKey,
        name: &CircuitName,
        stored: Option<&State>,
    ) -> Result<(), StoreError> {
        let Some(latch) = latch::of(&self.latches(), project, name) else { return Ok(()) };
        self.compare_latch(&latch, stored)
    }

    fn compare_latch(&self, latch: &latch::Latch, stored: Option<&State>) -> Result<(), StoreError> {
        if stored.is_some_and(|stored| stored.generation() >= latch.state.generation()) {
            return Ok(());
        }
        let reason = "its latch is newer than its row".to_owned();
        Err(StoreError::Row { path: self.path(), circuit: shorten(latch.name.as_str()), reason })
    }

    /// Compares all latches with the circuits, of one project or of all.
    pub(super) fn check_latches(&self, connection: &Connection, project: Option<ProjectKey>) -> Result<(), StoreError> {
        for latch in latch::all(&self.latches()) {
            if project.is_some_and(|project| project.0 != latch.project) {
                continue;
            }
            let stored = self.read_state(connection, ProjectKey(latch.project), &latch.name)?;
            self.compare_latch(&latch, stored.as_ref().map(|(_, state)| state))?;
        }
        Ok(())
    }

    /// A circuit's last fact and state.
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
            .map_err(|error| self.database(error))?;
        row.map(|(last, text)| Ok((last, self.parse_state(name.as_str(), &text)?))).transpose()
    }

    fn configure(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::allow_tables_only(connection)?;
        connection.busy_timeout(self.options.patience)
    }

    fn log_path(&self) -> PathBuf {
        let mut log = self.path().into_os_string();
        log.push("-wal");
        log.into()
    }

    /// Keeps the log small. SQLite's own folding does not: what it has folded is forgotten with the last process,
    /// so the log would only grow. A reader in the way is not waited for; the next writer tries again.
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

    /// Facts that matter most survive a power cut: the log is on disk before the answer is out.
    pub(super) fn sync_log(&self) -> Result<(), StoreError> {
        match File::open(self.log_path()).and_then(|log| log.sync_data()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.io(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) fn io(&self, source: std::io::Error) -> StoreError {
        let hint = match source.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder writable, or set HALTLINE_STATE_DIR to one that is"
            }
            std::io::ErrorKind::StorageFull => "free some space; nothing was written",
            _other => "check the folder, or set HALTLINE_STATE_DIR to another",
        };
        StoreError::Io { path: self.path(), hint, source }
    }

    pub(super) fn database(&self, source: rusqlite::Error) -> StoreError {
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

/// Whether an error may mean that the file itself is damaged. What the rescue finds sound is left as it is.
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
                        // A table or column is missing, or there already.
                        | rusqlite::Error::SqlInputError { .. }
                )
            }
        },
        StoreError::Row { .. } => true,
        StoreError::Busy { .. } | StoreError::Newer { .. } | StoreError::Network { .. } | StoreError::Io { .. } => {
            false
        }
    }
}

impl Store for Sqlite {
    fn transact(
        &self,
        project: &Project,
        writing: Writing<'_>,
        decide: &dyn Fn(&Memory) -> Step,
    ) -> Result<Outcome, StoreError> {
        self.write(|connection| Transaction::run(self, connection, project, writing, decide))
    }

    fn circuit(&self, project: ProjectKey, name: &CircuitName) -> Result<Option<State>, StoreError> {
        let state = self.read_rows(|connection| {
            let state = self.read_state(connection, project, name)?.map(|(_, state)| state);
            self.check_latch(project, name, state.as_ref())?;
            Ok(state)
        })?;
        Ok(state.flatten())
    }

    fn circuits(&self, project: ProjectKey) -> Result<Vec<(CircuitName, State)>, StoreError> {
        let sql = "SELECT name, state FROM circuit WHERE project = ?1 ORDER BY name";
        let states = self.read_rows(|connection| {
            self.check_latches(connection, Some(project))?;
            self.read_states(connection, sql, project)
        })?;
        Ok(states.unwrap_or_default())
    }

    fn history(&self, project: ProjectKey, name: &CircuitName, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let entries = self.read(|connection| {
            let mut next: u64 = connection
                .prepare_cached("SELECT last FROM circuit WHERE project = ?1 AND name = ?2")?
                .query_row(params![project.0, name.as_str()], |row| row.get(0))
                .optional()?
                .unwrap_or_default();
            let sql = format!("SELECT {ENTRY} FROM fact WHERE project = ?1 AND seq = ?2");
            let mut query = connection.prepare_cached(&sql)?;
            let mut entries = Vec::new();
            while next > 0 && entries.len() < limit {
                // The facts before the oldest one kept are folded into the anchor.
                let Some(entry) = query.query_row(params![project.0, next], read_entry).optional()? else { break };
                // Facts point backwards; anything else is damage, and must not turn in circles.
                next = if entry.previous < next { entry.previous } else { 0 };
                entries.push(entry);
            }
            Ok(entries)
        })?;
        Ok(entries.unwrap_or_default())
    }

    fn journal(&self, project: ProjectKey, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        // SQLite counts to i64::MAX; "all of them" may be asked for in larger numbers.
        let (after, limit) = (i64::try_from(after).unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX));
        let entries = self.read(|connection| {
            let sql = format!("SELECT {ENTRY} FROM fact WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
            let mut query = connection.prepare_cached(&sql)?;
            query.query_map(params![project.0, after, limit], read_entry)?.collect()
        })?;
        Ok(entries.unwrap_or_default())
    }

    fn anchor(&self, project: ProjectKey) -> Result<Anchor, StoreError> {
        let anchor = self.read_rows(|connection| {
            let head = connection
                .prepare_cached("SELECT anchor_seq, anchor_hash FROM project WHERE id = ?1")
                .and_then(|mut query| {
                    query.query_row([project.0], |row| Ok(Head { seq: row.get(0)?, hash: row.get(1)? })).optional()
                })
                .map_err(|error| self.database(error))?
                .unwrap_or_default();
            let sql = "SELECT name, state FROM anchor WHERE project = ?1 ORDER BY name";
            Ok(Anchor { head, states: self.read_states(connection, sql, project)? })
        })?;
        Ok(anchor.unwrap_or_default())
    }

    fn head(&self, project: ProjectKey) -> Result<Head, StoreError> {
        Ok(self.read(|connection| read_head(connection, project))?.flatten().unwrap_or_default())
    }

    fn projects(&self) -> Result<Vec<Known>, StoreError> {
        let known = self.read(|connection| {
            let mut query =
                connection.prepare_cached("SELECT id, identity, seq, hash FROM project ORDER BY identity")?;
            let rows = query.query_map([], |row| {
                let identity: Vec<u8> = row.get(1)?;
                Ok(Known {
                    key: ProjectKey(row.get(0)?),
                    identity: PathBuf::from(String::from_utf8_lossy(&identity).into_owned()),
                    head: Head { seq: row.get(2)?, hash: row.get(3)? },
                })
            })?;
            rows.collect()
        })?;
        Ok(known.unwrap_or_default())
    }

    fn purge(&self, session: &str) -> Result<usize, StoreError> {
        // The session stands in the texts as a JSON string; look for it as such, then make sure.
        let wanted = serde_json::to_string(session).expect("a string is JSON");
        let (lane, tree) = (CircuitName::lane(session, None), CircuitName::tree(session));
        self.write(|connection| {
            let fail = |error| self.database(error);
            connection.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
            let purged = connection
                .execute(
                    "UPDATE fact SET texts = NULL WHERE texts <> '{}' AND (
                         instr(texts, '\"session\":' || ?1 || ',') > 0 OR instr(texts, '\"session\":' || ?1 || '}') > 0
                         OR name = ?2 OR name = ?3 OR substr(name, 1, length(?4)) = ?4)",
                    [&wanted, lane.as_str(), tree.as_str(), &format!("{}/", lane.as_str())],
                )
                .map_err(fail)?;
            connection.execute_batch("COMMIT").map_err(fail)?;
            self.sync_log()?;
            // What was purged must not be readable in free pages or the log either.
            connection
                .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
                .map_err(fail)?;
            Ok(purged)
        })
    }

    fn undelivered(&self, project: ProjectKey) -> Result<Vec<Undelivered>, StoreError> {
        let waiting = self.read(|connection| {
            let sql = "SELECT id, name, incident, attempts FROM outbox WHERE project = ?1 ORDER BY id";
            let mut query = connection.prepare_cached(sql)?;
            let rows = query.query_map([project.0], |row| {
                Ok(Undelivered {
                    id: row.get(0)?,
                    circuit: CircuitName::stored(row.get(1)?),
                    incident: row.get(2)?,
                    attempts: row.get(3)?,
                })
            })?;
            rows.collect()
        })?;
        Ok(waiting.unwrap_or_default())
    }

    fn delivered(&self, id: i64, reached: bool) -> Result<(), StoreError> {
        self.write(|connection| {
            let fail = |error| self.database(error);
            connection.execute("UPDATE outbox SET attempts = attempts + 1 WHERE id = ?1", [id]).map_err(fail)?;
            connection
                .execute(
                    "DELETE FROM outbox WHERE id = ?1 AND (?2 OR attempts >= ?3)",
                    params![id, reached, DELIVERY_ATTEMPTS_MAX],
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
        let rows = rows.map_err(|error| self.database(error))?;
        rows.into_iter()
            .map(|(name, text)| Ok((CircuitName::stored(name.clone()), self.parse_state(&name, &text)?)))
            .collect()
    }
}
