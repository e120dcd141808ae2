//! A damaged store is set aside, kept, and rebuilt from what can still be read of it.
//!
//! Circuits come from their rows, else from their facts, else from their latches; of two, the one with the higher
//! generation. So a circuit that was OPEN is OPEN afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::{CircuitName, State, apply};
use rusqlite::{Connection, OpenFlags, Row, params};

use super::entry::{Entry, Head};
use super::sqlite::{ENTRY, Sqlite, read_entry};
use super::{StoreError, latch, schema};
use crate::file::{set_aside, set_aside_files};

/// What a rescue came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvage {
    /// Where the damaged file is now; `None` where it was simply gone.
    pub kept: Option<PathBuf>,
    /// How many circuits could be brought over.
    pub circuits: usize,
    /// How many of them came from latches only.
    pub latched: usize,
    /// How many facts could be brought over.
    pub facts: usize,
}

/// Damaged databases can be large; one is kept.
const DATABASES_KEPT: usize = 1;

/// The bytes of what was set aside in a state folder.
pub(super) fn bytes_set_aside(folder: &Path) -> u64 {
    let files = set_aside_files(folder, "state.db.corrupt-");
    files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
}

/// Everything that could be read.
#[derive(Default)]
struct Rescued {
    projects: BTreeMap<i64, (Vec<u8>, Head)>,
    circuits: BTreeMap<(i64, CircuitName), (u64, State)>,
    facts: BTreeMap<(i64, u64), Entry>,
    latched: usize,
}

impl Salvage {
    /// Rescues the store. The caller has the writers' turn. `None` where the file turns out to be sound: another
    /// process was faster.
    pub(super) fn run(store: &Sqlite) -> Result<Option<Self>, StoreError> {
        if is_sound(&store.path()) {
            return Ok(None);
        }
        let mut rescued = Rescued::default();
        rescued.read_database(&store.path());
        rescued.fold_missing();
        rescued.merge_latches(&store.latches());
        let rebuilt = store.folder().join("state.db.rebuilt");
        remove_database(&rebuilt);
        rescued.write(&rebuilt).map_err(|error| store.database(error))?;
        let label = store.options.clock.now().at.to_seconds_text().replace(':', "");
        for suffix in ["-wal", "-shm"] {
            let side = with_suffix(&store.path(), suffix);
            if side.exists() {
                // The log belongs to the damaged file; beside the rebuilt one it would be replayed into it.
                fs::rename(&side, with_suffix(&store.folder().join(format!("state.db.damaged-{label}")), suffix)).ok();
            }
        }
        let kept = set_aside(&store.path(), &label, DATABASES_KEPT).map_err(|source| store.io(source))?;
        for suffix in ["-wal", "-shm"] {
            let side = with_suffix(&store.folder().join(format!("state.db.damaged-{label}")), suffix);
            fs::rename(&side, with_suffix(&kept, suffix)).ok();
        }
        fs::rename(&rebuilt, store.path()).map_err(|source| store.io(source))?;
        Ok(Some(Self {
            kept: Some(kept),
            circuits: rescued.circuits.len(),
            latched: rescued.latched,
            facts: rescued.facts.len(),
        }))
    }

    /// Fills a new, empty store with the circuits that were open in one that is gone.
    pub(super) fn restore_latches(store: &Sqlite, connection: &Connection) -> Result<Option<Self>, StoreError> {
        let mut rescued = Rescued::default();
        rescued.merge_latches(&store.latches());
        if rescued.latched == 0 {
            return Ok(None);
        }
        rescued.fill(connection).map_err(|error| store.database(error))?;
        Ok(Some(Self { kept: None, circuits: rescued.latched, latched: rescued.latched, facts: 0 }))
    }
}

impl Rescued {
    fn read_database(&mut self, path: &Path) {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let Ok(connection) = Connection::open_with_flags(path, flags) else { return };
        each_row(&connection, "SELECT id, identity, seq, hash FROM project ORDER BY id", |row| {
            self.projects.insert(row.get(0)?, (row.get(1)?, Head { seq: row.get(2)?, hash: row.get(3)? }));
            Ok(())
        });
        each_row(&connection, "SELECT project, name, last, state FROM circuit ORDER BY project, name", |row| {
            let state: String = row.get(3)?;
            if let Ok(state) = serde_json::from_str(&state) {
                self.circuits.insert((row.get(0)?, CircuitName::stored(row.get(1)?)), (row.get(2)?, state));
            }
            Ok(())
        });
        let facts = format!("SELECT {ENTRY}, project FROM fact ORDER BY project, seq");
        each_row(&connection, &facts, |row| {
            let entry = read_entry(row)?;
            self.facts.insert((row.get(7)?, entry.seq), entry);
            Ok(())
        });
    }

    /// Circuits whose row is lost, from their facts.
    fn fold_missing(&mut self) {
        let mut folded: BTreeMap<(i64, CircuitName), (u64, State)> = BTreeMap::new();
        for ((project, seq), entry) in &self.facts {
            let key = (*project, entry.circuit.clone());
            if self.circuits.contains_key(&key) {
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
    }

    fn merge_latches(&mut self, folder: &Path) {
        for latch::Latch { project, identity, name, state } in latch::all(folder) {
            let known = self.circuits.get(&(project, name.clone())).map(|(_, state)| state.generation());
            if known.is_none_or(|known| known < state.generation()) {
                self.circuits.insert((project, name), (0, state));
                self.latched += 1;
            }
            let identity = identity.into_os_string().into_encoded_bytes();
            let entry = self.projects.entry(project).or_insert_with(|| (Vec::new(), Head::default()));
            if entry.0.is_empty() {
                entry.0 = identity;
            }
        }
    }

    fn write(&self, path: &Path) -> rusqlite::Result<()> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        schema::migrate(&connection)?;
        self.fill(&connection)?;
        // Closed whole, with its log folded in: it is about to be renamed.
        connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").ok();
        connection.close().map_err(|(_, error)| error)
    }

    /// The anchor is the present: what was lost cannot be folded again, and what is there is where to go on from.
    fn fill(&self, connection: &Connection) -> rusqlite::Result<()> {
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
            connection.execute("INSERT INTO anchor VALUES (?1, ?2, ?3)", params![project, name.as_str(), text])?;
        }
        for ((project, _), entry) in &self.facts {
            connection.execute(
                "INSERT INTO fact VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    project,
                    entry.seq,
                    entry.previous,
                    entry.circuit.as_str(),
                    entry.body,
                    entry.texts,
                    entry.texts_digest,
                    entry.hash
                ],
            )?;
        }
        connection.execute_batch("COMMIT")
    }
}

/// Every row that can be read, from the front until something breaks, then from the back.
fn each_row(connection: &Connection, sql: &str, mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>) {
    let backwards = sql.replace(" ORDER BY project, name", " ORDER BY project DESC, name DESC");
    let backwards = backwards.replace(" ORDER BY project, seq", " ORDER BY project DESC, seq DESC");
    let backwards = backwards.replace(" ORDER BY id", " ORDER BY id DESC");
    for sql in [sql, backwards.as_str()] {
        let Ok(mut query) = connection.prepare(sql) else { return };
        let Ok(mut rows) = query.query([]) else { continue };
        loop {
            match rows.next() {
                // A row that reads but makes no sense is passed over.
                Ok(Some(row)) => drop(take(row)),
                Ok(None) => return,
                Err(_damaged) => break,
            }
        }
    }
}

fn is_sound(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let check = || -> rusqlite::Result<bool> {
        let connection = Connection::open_with_flags(path, flags)?;
        schema::check_readable(&connection)?;
        if schema::version(&connection)? < 1 {
            return Ok(false);
        }
        let mut query = connection.prepare("SELECT state FROM circuit")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let state: String = row.get(0)?;
            if serde_json::from_str::<State>(&state).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    };
    check().unwrap_or(false)
}

fn remove_database(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(with_suffix(path, suffix)).ok();
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
