//! Sets a damaged store aside, keeps it, and rebuilds the store from what can still be read.
//!
//! A row is taken from its table, else rebuilt from its facts, else from its latch; the higher generation wins. So a
//! circuit that was OPEN is OPEN afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::{CircuitName, Instant, State, apply};
use rusqlite::{Connection, OpenFlags, Row, params};
use rustix::fs::{Access, access};

use super::connection::is_busy;
use super::entry::{Entry, Head};
use super::incident_table::{self, StoredIncident};
use super::rows::{ENTRY_COLUMNS, MESSAGE_COLUMNS, SEQ_MAX, head_at, insert_entry, read_entry, read_message};
use super::sqlite::Sqlite;
use super::{StoreError, Undelivered, folded, latch, schema};
use crate::file::{set_aside, set_aside_files, time_label, with_suffix};

/// What was saved from a damaged or missing store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvage {
    /// Where the damaged file is now; `None` if the file was missing.
    pub kept: Option<PathBuf>,
    /// Number of rows that were saved.
    pub circuits: usize,
    /// Number of rows that came from latches only.
    pub latched: usize,
    /// Number of facts that were saved.
    pub facts: usize,
}

/// Damaged databases can be large, so only one is kept.
const DATABASES_KEPT: usize = 1;

/// The size of the damaged databases that were set aside in a state folder.
pub(super) fn bytes_set_aside(folder: &Path) -> u64 {
    let files = set_aside_files(folder, "state.db.corrupt-");
    files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
}

/// Everything that could be read.
#[derive(Default)]
struct Rescued {
    projects: BTreeMap<i64, (Vec<u8>, Head)>,
    circuits: BTreeMap<(i64, CircuitName), (u64, State)>,
    /// The states a fold starts from, each with the number of the fact after which it starts.
    anchors: BTreeMap<(i64, CircuitName), (u64, State)>,
    /// The time of the newest violation that was folded into an anchor.
    folded_until: BTreeMap<(i64, CircuitName), Instant>,
    facts: BTreeMap<(i64, u64), Entry>,
    /// By id and project.
    messages: BTreeMap<(i64, i64), Undelivered>,
    /// By project and id.
    incidents: BTreeMap<(i64, String), StoredIncident>,
    latched: usize,
}

impl Salvage {
    /// Salvages the store. The caller holds the writers' lock. Returns `None` if the file is sound because another
    /// process was faster.
    pub(super) fn run(store: &Sqlite) -> Result<Option<Self>, StoreError> {
        if is_sound(store)? {
            return Ok(None);
        }
        let mut rescued = Rescued::default();
        rescued.read_database(&store.path());
        rescued.fold_missing();
        rescued.merge_latches(&store.latch_folder());
        let rebuilt = store.folder().join("state.db.rebuilt");
        remove_database(&rebuilt);
        let now = store.options.clock.now().at;
        rescued.write(&rebuilt, now).map_err(|error| store.database_error(error))?;
        let damaged = store.folder().join(format!("state.db.damaged-{}", time_label(now)));
        for suffix in ["-wal", "-shm"] {
            // The log belongs to the damaged file; next to the rebuilt one, SQLite would replay it into that.
            fs::rename(with_suffix(&store.path(), suffix), with_suffix(&damaged, suffix)).ok();
        }
        let kept = set_aside(&store.path(), now, DATABASES_KEPT).map_err(|source| store.io_error(source))?;
        for suffix in ["-wal", "-shm"] {
            fs::rename(with_suffix(&damaged, suffix), with_suffix(&kept, suffix)).ok();
        }
        fs::rename(&rebuilt, store.path()).map_err(|source| store.io_error(source))?;
        Ok(Some(Self {
            kept: Some(kept),
            circuits: rescued.circuits.len(),
            latched: rescued.latched,
            facts: rescued.facts.len(),
        }))
    }

    /// Fills a new, empty store with the circuits that were open in the one that is gone.
    pub(super) fn restore_latches(store: &Sqlite, connection: &Connection) -> Result<Option<Self>, StoreError> {
        let mut rescued = Rescued::default();
        rescued.merge_latches(&store.latch_folder());
        if rescued.latched == 0 {
            return Ok(None);
        }
        let now = store.options.clock.now().at;
        rescued.fill(connection, now).map_err(|error| store.database_error(error))?;
        Ok(Some(Self { kept: None, circuits: rescued.latched, latched: rescued.latched, facts: 0 }))
    }
}

impl Rescued {
    fn read_database(&mut self, path: &Path) {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let Ok(connection) = Connection::open_with_flags(path, flags) else { return };
        if schema::allow_tables_only(&connection).is_err() {
            return;
        }
        let mut anchor_seqs: BTreeMap<i64, u64> = BTreeMap::new();
        for_each_row(&connection, "SELECT id, identity, seq, hash, anchor_seq FROM project ORDER BY id", |row| {
            let project = row.get(0)?;
            let head = head_at(row, 2).unwrap_or_default();
            let head = if head.seq < SEQ_MAX { head } else { Head::default() };
            self.projects.insert(project, (row.get(1).unwrap_or_default(), head));
            anchor_seqs.insert(project, row.get(4).unwrap_or_default());
            Ok(())
        });
        for_each_row(&connection, "SELECT project, name, state FROM anchor ORDER BY project, name", |row| {
            let (project, text): (i64, String) = (row.get(0)?, row.get(2)?);
            let key = (project, CircuitName::from_stored(row.get(1)?));
            if let Some(until) = folded::until(&text) {
                self.folded_until.insert(key.clone(), until);
            }
            if let Ok(state) = serde_json::from_str(&text) {
                let seq = anchor_seqs.get(&project).copied().unwrap_or_default();
                self.anchors.insert(key, (seq, state));
            }
            Ok(())
        });
        for_each_row(&connection, &format!("SELECT {MESSAGE_COLUMNS}, project FROM outbox ORDER BY id"), |row| {
            let message = read_message(row)?;
            self.messages.insert((message.id, row.get(4)?), message);
            Ok(())
        });
        let incidents = format!("SELECT {} FROM incident ORDER BY project, name", incident_table::COLUMNS);
        for_each_row(&connection, &incidents, |row| {
            if let Some(incident) = incident_table::read(row)? {
                self.incidents.insert((incident.project.0, incident.start.id.clone()), incident);
            }
            Ok(())
        });
        for_each_row(&connection, "SELECT project, name, last, state FROM circuit ORDER BY project, name", |row| {
            let state: String = row.get(3)?;
            if let Ok(state) = serde_json::from_str(&state) {
                self.circuits.insert((row.get(0)?, CircuitName::from_stored(row.get(1)?)), (row.get(2)?, state));
            }
            Ok(())
        });
        let facts = format!("SELECT {ENTRY_COLUMNS}, project FROM fact ORDER BY project, seq");
        for_each_row(&connection, &facts, |row| {
            let entry = read_entry(row)?;
            self.facts.insert((row.get(7)?, entry.seq), entry);
            Ok(())
        });
    }

    /// Rebuilds rows that are lost from the anchor and the facts after it.
    fn fold_missing(&mut self) {
        let mut folded: BTreeMap<(i64, CircuitName), (u64, State)> = std::mem::take(&mut self.anchors);
        folded.retain(|key, _| !self.circuits.contains_key(key));
        for ((project, seq), entry) in &self.facts {
            let key = (*project, entry.circuit.clone());
            if self.circuits.contains_key(&key) || folded.get(&key).is_some_and(|(anchor, _)| seq <= anchor) {
                continue;
            }
            let Ok(read) = entry.read() else { continue };
            let Some(fact) = read.fact else { continue };
            let state = folded.remove(&key).map(|(_, state)| state);
            folded.insert(key, (*seq, apply(state, &fact, read.at)));
        }
        self.circuits.extend(folded);
        for (project, seq) in self.facts.keys() {
            let head = self.projects.get(project).map_or(0, |(_, head)| head.seq);
            if *seq > head {
                let entry = &self.facts[&(*project, *seq)];
                let identity = self.projects.get(project).map(|(identity, _)| identity.clone()).unwrap_or_default();
                self.projects.insert(*project, (identity, Head { seq: *seq, hash: entry.hash }));
            }
        }
        // If the facts are lost too, numbering still continues after the last known number.
        for ((project, _), (last, _)) in &self.circuits {
            let (_, head) = self.projects.entry(*project).or_default();
            if head.seq < *last {
                *head = Head { seq: *last, ..Head::default() };
            }
        }
    }

    fn merge_latches(&mut self, folder: &Path) {
        for latch::Latch { project, identity, name, state } in latch::read_all(folder) {
            let rescued = self.circuits.get(&(project, name.clone()));
            if rescued.is_none_or(|(_, rescued)| rescued.generation() < state.generation()) {
                let last = rescued.map_or(0, |(last, _)| *last);
                self.circuits.insert((project, name), (last, state));
                self.latched += 1;
            }
            let identity = identity.into_os_string().into_encoded_bytes();
            let entry = self.projects.entry(project).or_insert_with(|| (Vec::new(), Head::default()));
            if entry.0.is_empty() {
                entry.0 = identity;
            }
        }
    }

    fn write(&self, path: &Path, now: Instant) -> rusqlite::Result<()> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        schema::migrate(&connection)?;
        self.fill(&connection, now)?;
        // The file is about to be renamed, so its log must be folded in first.
        connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").ok();
        connection.close().map_err(|(_, error)| error)
    }

    /// Writes everything into a new database. The anchor is the present state, because lost facts cannot be folded
    /// again.
    fn fill(&self, connection: &Connection, now: Instant) -> rusqlite::Result<()> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for (project, (identity, head)) in &self.projects {
            let oldest = self.facts.range((*project, 0)..).next().filter(|((owner, _), _)| owner == project);
            connection.execute(
                "INSERT INTO project (id, identity, seq, hash, anchor_seq, anchor_hash, oldest_seq)
                 VALUES (?1, ?2, ?3, ?4, ?3, ?4, ?5)",
                params![project, identity, head.seq, head.hash, oldest.map_or(head.seq + 1, |((_, seq), _)| *seq)],
            )?;
        }
        for ((project, name), (last, state)) in &self.circuits {
            let text = serde_json::to_string(state).expect("states hold nothing that JSON cannot");
            connection
                .execute("INSERT INTO circuit VALUES (?1, ?2, ?3, ?4)", params![project, name.as_str(), last, text])?;
            let before = self.folded_until.get(&(*project, name.clone())).copied();
            let anchor = folded::rebuilt_row(before, state, now);
            connection.execute("INSERT INTO anchor VALUES (?1, ?2, ?3)", params![project, name.as_str(), anchor])?;
        }
        for ((project, _), entry) in &self.facts {
            insert_entry(connection, *project, entry)?;
        }
        for ((_, project), message) in &self.messages {
            connection.execute(
                "INSERT INTO outbox (project, name, incident, attempts) VALUES (?1, ?2, ?3, ?4)",
                params![project, message.circuit.as_str(), message.incident, message.attempts],
            )?;
        }
        for incident in self.incidents.values() {
            incident_table::put(connection, incident)?;
        }
        connection.execute_batch("COMMIT")
    }
}

/// Reads every row it can: forwards until something breaks, then backwards from the end.
fn for_each_row(connection: &Connection, sql: &str, mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>) {
    let backwards = sql.replace(" ORDER BY project, name", " ORDER BY project DESC, name DESC");
    let backwards = backwards.replace(" ORDER BY project, seq", " ORDER BY project DESC, seq DESC");
    let backwards = backwards.replace(" ORDER BY id", " ORDER BY id DESC");
    for sql in [sql, backwards.as_str()] {
        let Ok(mut query) = connection.prepare(sql) else { return };
        let Ok(mut rows) = query.query([]) else { continue };
        loop {
            match rows.next() {
                // A row that can be read but makes no sense is skipped.
                Ok(Some(row)) => drop(read(row)),
                Ok(None) => return,
                Err(_damaged) => break,
            }
        }
    }
}

/// Fails if somebody holds a lock: a store that cannot be read for that reason is not damaged.
fn is_sound(store: &Sqlite) -> Result<bool, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let checked = Connection::open_with_flags(store.path(), flags)
        .and_then(|connection| schema::allow_tables_only(&connection).map(|()| connection))
        .map_err(|error| store.database_error(error))
        .and_then(|connection| check(store, &connection));
    match checked {
        Err(error) if is_busy_error(&error) => Err(error),
        checked => Ok(checked.is_ok()),
    }
}

fn is_busy_error(error: &StoreError) -> bool {
    matches!(error, StoreError::Database { source, .. } if is_busy(source))
}

/// Fails if anything in the store cannot be read or is inconsistent.
pub(super) fn check(store: &Sqlite, connection: &Connection) -> Result<(), StoreError> {
    let fits = schema::check_readable(connection).and_then(|()| check_rows(connection));
    let is_read_only = || connection.is_readonly("main").unwrap_or(false);
    let damage = match fits {
        Err(error) => return Err(store.database_error(error)),
        Ok(Some(damage)) => damage,
        // A file that the system lets us write but SQLite does not has a damaged header.
        Ok(None) if is_read_only() && access(store.path(), Access::WRITE_OK).is_ok() => "its header is damaged",
        Ok(None) => return store.check_latches(connection, None),
    };
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Err(store.database_error(rusqlite::Error::SqliteFailure(code, Some(damage.to_owned()))))
}

/// Reads every row as the store would, and returns a description of the first inconsistency.
fn check_rows(connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
    if schema::version(connection)? < 1 {
        return Ok(Some("it has no version"));
    }
    let each = |sql: &str, read: &dyn Fn(&Row<'_>) -> rusqlite::Result<bool>| -> rusqlite::Result<bool> {
        let mut query = connection.prepare(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            if !read(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    incident_table::read_all(connection, None)?;
    let is_state = |text: String| serde_json::from_str::<State>(&text).is_ok();
    let heads = "SELECT id, identity, seq, hash, anchor_seq, anchor_hash, oldest_seq FROM project";
    let are_heads = each(heads, &|row| {
        let _identity: (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let _heads: [Head; 2] = [head_at(row, 2)?, head_at(row, 4)?];
        let _oldest: u64 = row.get(6)?;
        Ok(row.get::<_, u64>(2)? < SEQ_MAX)
    })?;
    if !are_heads {
        return Ok(Some("a journal's end is out of range"));
    }
    each(&format!("SELECT {MESSAGE_COLUMNS}, project FROM outbox"), &|row| {
        let _message: (Undelivered, i64) = (read_message(row)?, row.get(4)?);
        Ok(true)
    })?;
    each(&format!("SELECT {ENTRY_COLUMNS} FROM fact"), &|row| read_entry(row).map(|_| true))?;
    let circuits = "SELECT project, name, last, state FROM circuit";
    let are_states = each(circuits, &|row| {
        let _key: (i64, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        row.get(3).map(is_state)
    })? && each("SELECT state FROM anchor", &|row| row.get(0).map(is_state))?;
    let orphans = "SELECT 1 FROM fact LEFT JOIN project ON id = project WHERE id IS NULL OR fact.seq > project.seq
                  UNION ALL SELECT 1 FROM circuit LEFT JOIN project ON id = project WHERE id IS NULL";
    let has_orphans = connection.prepare(orphans)?.exists([])?;
    Ok(match (are_states, has_orphans) {
        (false, _) => Some("a circuit cannot be read"),
        (true, true) => Some("facts do not belong to a project"),
        (true, false) => None,
    })
}

fn remove_database(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(with_suffix(path, suffix)).ok();
    }
}
