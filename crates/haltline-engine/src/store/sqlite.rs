//! The store of a user: one SQLite file in WAL mode, written by many short processes at once.
//!
//! The settings were chosen by measurement. Writers queue on a lock file. A commit that only counts is not synced;
//! one that trips a circuit or records an operator action is synced before haltline answers. The write-ahead log is
//! kept small and is not checkpointed when a process ends.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::{CircuitName, Decision, Halt, Memory, State, shorten};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::connection::OpenConnection;
use super::entry::{Entry, Head};
use super::incident_table::{self, StoredIncident};
use super::rows::{ENTRY_COLUMNS, MESSAGE_COLUMNS, head_at, read_entry, read_head, read_message};
use super::salvage::Salvage;
use super::stall::Stall;
use super::transaction::Transaction;
use super::{
    Anchor, DELIVERY_ATTEMPTS_MAX, Provenance, Store, StoreError, StoredProject, TransactionOutcome, Undelivered,
    folded, latch, schema,
};
use crate::clock::{Clock, Deadline};
use crate::control::everywhere;
use crate::project::{Project, ProjectKey};
use crate::queue::QueueGuard;

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
    pub(super) salvages: RefCell<Vec<Salvage>>,
    pub(super) open: RefCell<Option<OpenConnection>>,
    /// The end of all waiting; `None` if each operation may wait for the timeout.
    pub(super) shared_deadline: Option<Deadline>,
    /// Set once an operation waited until the shared deadline, or for a holder that is known to be stuck: from then on
    /// reads take no locks and writes fail at once.
    pub(super) stall: RefCell<Option<Stall>>,
    /// See [`Self::set_brief`].
    pub(super) is_brief: bool,
    /// The writers' lock, between operations that nobody may come between.
    pub(super) guard: RefCell<Option<QueueGuard>>,
    /// Number of [`Hold`]s.
    pub(super) holds: Cell<u32>,
}

/// Keeps the store for this process until it is dropped; see [`Sqlite::hold`].
pub struct Hold<'a>(&'a Sqlite);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.holds.update(|holds| holds - 1);
        self.0.release_after_operation();
    }
}

impl Sqlite {
    /// Opens a store in this folder. Nothing is created before the first write.
    pub fn new(folder: &Path, options: SqliteOptions) -> Self {
        Self {
            folder: folder.to_owned(),
            options,
            salvages: RefCell::new(Vec::new()),
            open: RefCell::new(None),
            shared_deadline: None,
            stall: RefCell::new(None),
            is_brief: false,
            guard: RefCell::new(None),
            holds: Cell::new(0),
        }
    }

    /// The same store with other options, for the next event of a process that answers many. It stays open, and forgets
    /// what happened before.
    pub fn renewed(self, options: SqliteOptions) -> Self {
        Self { open: self.open, ..Self::new(&self.folder, options) }
    }

    /// Says whether this process makes one or two commits and ends. While such a process holds the writers' lock and
    /// nobody else has the database open, it locks the whole file: then SQLite needs no shared memory, which is most of
    /// the work of a short process. Readers wait for it a moment. If somebody else has the database open, everything is
    /// as without this.
    pub fn set_brief(&mut self, is_brief: bool) {
        self.is_brief = is_brief;
    }

    /// Lets no other process write between two operations of a process that uses the store alone, so that the store is
    /// opened once for both. Other processes wait: hold it only around operations that follow each other at once.
    pub fn hold(&self) -> Hold<'_> {
        self.holds.update(|holds| holds + 1);
        Hold(self)
    }

    /// Makes all operations together wait no longer than the timeout, which starts now: for hooks, whose client waits.
    pub fn share_timeout(&mut self) {
        self.shared_deadline = Some(Deadline::new(self.options.timeout));
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

    pub(super) fn io_error(&self, source: io::Error) -> StoreError {
        let hint = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder writable, or set HALTLINE_STATE_DIR to a writable folder"
            }
            io::ErrorKind::StorageFull => "free some space; haltline wrote nothing",
            _other => "check the folder, or set HALTLINE_STATE_DIR to another",
        };
        StoreError::Io { path: self.path(), hint, source }
    }

    pub(super) fn database_error(&self, source: rusqlite::Error) -> StoreError {
        let hint = match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                "make the folder writable, or set HALTLINE_STATE_DIR to a writable folder"
            }
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => "free some space; haltline wrote nothing",
            Some(_) | None => "haltline wrote nothing",
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
        let project = self.owner(project, name);
        let read = self.read_rows(|connection| {
            let state = self.read_state(connection, project, name)?.map(|(_, state)| state);
            self.check_latch(project, name, state.as_ref())?;
            Ok(state)
        });
        match read {
            // What was OPEN is still known when the database cannot be read.
            Err(busy @ StoreError::Busy { .. }) => {
                latch::read(&self.latch_folder(), project, name).map(|latch| Some(latch.state)).ok_or(busy)
            }
            other => other,
        }
    }

    fn circuits(&self, project: ProjectKey) -> Result<Vec<(CircuitName, State)>, StoreError> {
        let sql = "SELECT name, state FROM circuit WHERE project = ?1 ORDER BY name";
        self.read_rows(|connection| {
            self.check_latches(connection, Some(project))?;
            self.read_states(connection, sql, project)
        })
    }

    fn history(&self, project: ProjectKey, name: &CircuitName, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let project = self.owner(project, name);
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
            let rows = self.read_text_rows(connection, sql, project)?;
            let until = |(name, row): &(CircuitName, String)| Some((name.clone(), folded::until(row)?));
            let folded_until = rows.iter().filter_map(until).collect();
            Ok(Anchor { head, states: self.parse_states(rows)?, folded_until })
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
    /// The project in whose journal the facts of a row are.
    fn owner(&self, project: ProjectKey, name: &CircuitName) -> ProjectKey {
        if name.is_machine_wide() { everywhere(&self.folder).key } else { project }
    }

    fn read_states(
        &self,
        connection: &Connection,
        sql: &str,
        project: ProjectKey,
    ) -> Result<Vec<(CircuitName, State)>, StoreError> {
        self.parse_states(self.read_text_rows(connection, sql, project)?)
    }

    fn read_text_rows(
        &self,
        connection: &Connection,
        sql: &str,
        project: ProjectKey,
    ) -> Result<Vec<(CircuitName, String)>, StoreError> {
        let rows = connection.prepare_cached(sql).and_then(|mut query| {
            query.query_map([project.0], |row| Ok((CircuitName::from_stored(row.get(0)?), row.get(1)?)))?.collect()
        });
        rows.map_err(|error| self.database_error(error))
    }

    fn parse_states(&self, rows: Vec<(CircuitName, String)>) -> Result<Vec<(CircuitName, State)>, StoreError> {
        rows.into_iter()
            .map(|(name, text)| {
                let state = self.parse_state(name.as_str(), &text)?;
                Ok((name, state))
            })
            .collect()
    }
}
