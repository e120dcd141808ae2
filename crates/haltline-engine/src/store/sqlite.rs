//! The store of a user: one SQLite file in WAL mode, written by many short processes at once.
//!
//! The settings are the ones DESIGN.md measured: writers queue on a lock file, a commit of plain counting is
//! not synced, one that trips or records a person's act is synced before it is answered, the write-ahead log is
//! kept small and is not folded back when a process ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::{CircuitName, Decision, Effect, Memory, State, Step, apply};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::entry::{Entry, Head};
use super::salvage::{self, Salvage};
use super::{
    Anchor, Committed, DELIVERY_ATTEMPTS_MAX, Known, Outcome, Store, StoreError, Undelivered, Writing, latch, schema,
    trim,
};
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
/// Every how many facts the size and age of the journal are looked at.
const TRIM_EVERY: u64 = 16;

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
        if schema::version(&connection).map_err(|error| self.database(error))? <= schema::SCHEMA_VERSION {
            self.check_latches(&connection)?;
        }
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
            schema::SCHEMA_VERSION => self.check_latches(&connection)?,
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
    pub(super) fn check_latches(&self, connection: &Connection) -> Result<(), StoreError> {
        for latch::Latch { project, name, state, .. } in latch::all(&self.latches()) {
            let stored: Option<String> = connection
                .prepare_cached("SELECT state FROM circuit WHERE project = ?1 AND name = ?2")
                .and_then(|mut query| query.query_row(params![project, name.as_str()], |row| row.get(0)).optional())
                .map_err(|error| self.database(error))?;
            let stored = stored.map(|text| self.parse_state(name.as_str(), &text)).transpose()?;
            if stored.is_none_or(|stored| stored.generation() < state.generation()) {
                let reason = "its latch is newer than its row".to_owned();
                return Err(StoreError::Row { path: self.path(), circuit: name.to_string(), reason });
            }
        }
        Ok(())
    }

    fn configure(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
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
    fn sync_log(&self) -> Result<(), StoreError> {
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
            circuit: name.to_owned(),
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
            Some(_) => false,
            None => {
                matches!(
                    source,
                    rusqlite::Error::InvalidColumnType(..)
                        | rusqlite::Error::FromSqlConversionFailure(..)
                        | rusqlite::Error::IntegralValueOutOfRange(..)
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

/// A transaction's view of one project.
struct Transaction<'a> {
    store: &'a Sqlite,
    connection: &'a Connection,
    project: &'a Project,
    /// The number of the last fact of each circuit that was read.
    last: BTreeMap<CircuitName, u64>,
}

impl Transaction<'_> {
    fn head(&self) -> Result<Option<Head>, StoreError> {
        read_head(self.connection, self.project.key).map_err(|error| self.store.database(error))
    }

    fn load(&mut self, name: &CircuitName) -> Result<Option<State>, StoreError> {
        let row: Option<(u64, String)> = self
            .connection
            .prepare_cached("SELECT last, state FROM circuit WHERE project = ?1 AND name = ?2")
            .and_then(|mut query| {
                query
                    .query_row(params![self.project.key.0, name.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(|error| self.store.database(error))?;
        let Some((last, state)) = row else { return Ok(None) };
        self.last.insert(name.clone(), last);
        self.store.parse_state(name.as_str(), &state).map(Some)
    }

    /// Writes facts, states and head. Returns the rows as they are now, and the new head.
    fn commit(
        &mut self,
        before: &Memory,
        decision: &Decision,
        writing: Writing<'_>,
    ) -> Result<(Memory, Head), StoreError> {
        let known = self.head()?;
        let mut head = known.unwrap_or_default();
        let mut after = before.clone();
        let mut changed: BTreeMap<&CircuitName, State> = BTreeMap::new();
        let fail = |error| self.store.database(error);
        let mut insert = self
            .connection
            .prepare_cached(
                "INSERT INTO fact (project, seq, previous, name, body, texts, texts_digest, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )
            .map_err(fail)?;
        for recorded in &decision.facts {
            let name = &recorded.circuit;
            let previous = self.last.get(name).copied().unwrap_or_default();
            let entry = Entry::new(head, previous, recorded, writing);
            insert
                .execute(params![
                    self.project.key.0,
                    entry.seq,
                    previous,
                    name.as_str(),
                    entry.body,
                    entry.texts,
                    entry.texts_digest,
                    entry.hash
                ])
                .map_err(fail)?;
            head = Head { seq: entry.seq, hash: entry.hash };
            self.last.insert(name.clone(), entry.seq);
            let state = changed.remove(name).or_else(|| before.state(name).cloned());
            changed.insert(name, apply(state, &recorded.fact, recorded.at));
        }
        for (name, state) in changed {
            let text = serde_json::to_string(&state).expect("states hold nothing that JSON cannot");
            self.connection
                .prepare_cached("INSERT OR REPLACE INTO circuit (project, name, last, state) VALUES (?1, ?2, ?3, ?4)")
                .and_then(|mut put| put.execute(params![self.project.key.0, name.as_str(), self.last[name], text]))
                .map_err(fail)?;
            after.insert(name.clone(), Some(state));
        }
        self.put_head(known.is_none(), head).map_err(fail)?;
        for effect in &decision.effects {
            if let Effect::Notify { circuit, incident } = effect {
                self.connection
                    .prepare_cached("INSERT INTO outbox (project, name, incident, attempts) VALUES (?1, ?2, ?3, 0)")
                    .and_then(|mut put| put.execute(params![self.project.key.0, circuit.as_str(), incident]))
                    .map_err(fail)?;
            }
        }
        Ok((after, head))
    }

    fn put_head(&self, is_new: bool, head: Head) -> rusqlite::Result<usize> {
        if is_new {
            return self.connection.execute(
                "INSERT INTO project (id, identity, seq, hash, anchor_seq, anchor_hash, oldest_seq)
                 VALUES (?1, ?2, ?3, ?4, 0, zeroblob(32), 1)",
                params![self.project.key.0, self.project.identity.as_os_str().as_encoded_bytes(), head.seq, head.hash],
            );
        }
        // The identity goes along: a rescue may have lost it.
        let mut update =
            self.connection.prepare_cached("UPDATE project SET seq = ?2, hash = ?3, identity = ?4 WHERE id = ?1")?;
        let identity = self.project.identity.as_os_str().as_encoded_bytes();
        update.execute(params![self.project.key.0, head.seq, head.hash, identity])
    }
}

fn read_head(connection: &Connection, project: ProjectKey) -> rusqlite::Result<Option<Head>> {
    let mut query = connection.prepare_cached("SELECT seq, hash FROM project WHERE id = ?1")?;
    query.query_row([project.0], |row| Ok(Head { seq: row.get(0)?, hash: row.get(1)? })).optional()
}

pub(super) fn read_entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: row.get(0)?,
        previous: row.get(1)?,
        circuit: CircuitName::stored(row.get(2)?),
        body: row.get(3)?,
        texts: row.get(4)?,
        texts_digest: row.get(5)?,
        hash: row.get(6)?,
    })
}

/// The columns [`read_entry`] reads.
pub(super) const ENTRY: &str = "seq, previous, name, body, texts, texts_digest, hash";

impl Store for Sqlite {
    fn transact(
        &self,
        project: &Project,
        writing: Writing<'_>,
        decide: &dyn Fn(&Memory) -> Step,
    ) -> Result<Outcome, StoreError> {
        let outcome = self.write(|connection| {
            let fail = |error| self.database(error);
            connection.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
            let mut transaction = Transaction { store: self, connection, project, last: BTreeMap::new() };
            let mut before = Memory::default();
            let decision = loop {
                match decide(&before) {
                    Step::Needs(names) => {
                        for name in names {
                            let state = transaction.load(&name)?;
                            before.insert(name, state);
                        }
                    }
                    Step::Decided(decision) => break decision,
                    Step::Rejected(rejection) => {
                        connection.execute_batch("ROLLBACK").map_err(fail)?;
                        return Ok(Outcome::Rejected(rejection));
                    }
                }
            };
            if decision.facts.is_empty() {
                let head = transaction.head()?.unwrap_or_default();
                connection.execute_batch("ROLLBACK").map_err(fail)?;
                let after = before.clone();
                return Ok(Outcome::Committed(Box::new(Committed { before, after, decision, head })));
            }
            let (after, head) = transaction.commit(&before, &decision, writing)?;
            if head.seq / TRIM_EVERY != (head.seq - decision.facts.len() as u64) / TRIM_EVERY {
                trim::trim(self, connection, project.key)?;
            }
            connection.execute_batch("COMMIT").map_err(fail)?;
            if decision.facts.iter().any(|recorded| recorded.fact.is_momentous()) {
                self.sync_log()?;
            }
            Ok(Outcome::Committed(Box::new(Committed { before, after, decision, head })))
        })?;
        if let Outcome::Committed(committed) = &outcome {
            for recorded in &committed.decision.facts {
                let (before, after) = (&committed.before, &committed.after);
                if let Some(state) = after.state(&recorded.circuit) {
                    latch::follow(&self.latches(), project, &recorded.circuit, before.state(&recorded.circuit), state);
                }
            }
        }
        Ok(outcome)
    }

    fn circuit(&self, project: ProjectKey, name: &CircuitName) -> Result<Option<State>, StoreError> {
        let text = self.read_rows(|connection| {
            let found: Option<String> = connection
                .prepare_cached("SELECT state FROM circuit WHERE project = ?1 AND name = ?2")
                .and_then(|mut query| query.query_row(params![project.0, name.as_str()], |row| row.get(0)).optional())
                .map_err(|error| self.database(error))?;
            found.map(|text| self.parse_state(name.as_str(), &text)).transpose()
        })?;
        Ok(text.flatten())
    }

    fn circuits(&self, project: ProjectKey) -> Result<Vec<(CircuitName, State)>, StoreError> {
        let sql = "SELECT name, state FROM circuit WHERE project = ?1 ORDER BY name";
        Ok(self.read_rows(|connection| self.read_states(connection, sql, project))?.unwrap_or_default())
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
        self.write(|connection| {
            let fail = |error| self.database(error);
            connection.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
            let purged = connection
                .execute(
                    "UPDATE fact SET texts = NULL WHERE instr(texts, '\"session\":' || ?1 || ',') > 0
                     OR instr(texts, '\"session\":' || ?1 || '}') > 0",
                    [&wanted],
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
