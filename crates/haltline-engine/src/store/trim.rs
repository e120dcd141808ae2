//! Keeps the journal bounded (E11) by folding the oldest facts into the anchor, a few with each write.
//!
//! Folding is exact: the anchor holds each row as it was at the last fact that was removed, so totals and states stay
//! the same and `journal verify` still starts from a known point.

use std::collections::BTreeSet;

use haltline_core::{CircuitName, Fact, Instant, Moment, apply};
use rusqlite::{Connection, OptionalExtension, params};

use super::entry::{Entry, Head};
use super::rows::{ENTRY_COLUMNS, head_at, read_entry};
use super::sqlite::Sqlite;
use super::{StoreError, folded, incident_table, latch, salvage};
use crate::project::ProjectKey;
use crate::spool;

/// How many facts are folded at once.
const FACTS_PER_PASS: u32 = 64;
/// A session without an event for this long is over.
const IDLE_MS: u64 = 7 * 86_400_000;
/// The same, when the store is full.
const IDLE_MS_WHEN_FULL: u64 = 3_600_000;
/// Trimming starts before the limit is reached, so that the limit is never reached.
const FILL_PERCENT: u64 = 90;

/// Folds the oldest facts if the folder is full or they are too old.
pub(super) fn trim(store: &Sqlite, connection: &Connection, writer: ProjectKey) -> Result<(), StoreError> {
    let fail = |error| store.database_error(error);
    let allowed = bytes_allowed(store);
    // The oldest facts may be short and the newest long, so one pass need not be enough.
    while bytes_used(connection).map_err(fail)? > allowed {
        let largest = "SELECT id FROM project ORDER BY seq - oldest_seq DESC LIMIT 1";
        let project: Option<i64> = connection.query_row(largest, [], |row| row.get(0)).optional().map_err(fail)?;
        let Some(project) = project else { break };
        let trimmer = Trimmer { store, connection, project: ProjectKey(project), idle_ms: IDLE_MS_WHEN_FULL };
        if trimmer.fold_oldest(None)? == 0 && incident_table::drop_when_full(connection).map_err(fail)? == 0 {
            break;
        }
    }
    let age_ms = i64::from(store.options.journal_days) * 86_400_000;
    let before = store.options.clock.now().at.plus_millis(-age_ms);
    let trimmer = Trimmer { store, connection, project: writer, idle_ms: IDLE_MS };
    trimmer.fold_oldest(Some(before)).map(drop)
}

fn bytes_used(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |pragma| connection.prepare_cached(pragma)?.query_row([], |row| row.get::<_, u64>(0));
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    Ok(pages * number("PRAGMA page_size")?)
}

/// Bytes the database may use: the folder's limit minus the files set aside and the events that wait, but at least a
/// quarter of the limit.
fn bytes_allowed(store: &Sqlite) -> u64 {
    let limit = store.options.bytes_max;
    let others = salvage::bytes_set_aside(store.folder()) + spool::bytes_waiting(store.folder());
    let free = limit.saturating_sub(others).max(limit / 4);
    free / 100 * FILL_PERCENT
}

/// Folds facts of one project.
struct Trimmer<'a> {
    store: &'a Sqlite,
    connection: &'a Connection,
    project: ProjectKey,
    /// A session without an event for this long is over.
    idle_ms: u64,
}

impl Trimmer<'_> {
    /// Folds some of the oldest facts, only from before that instant if one is given. Returns the number of the last
    /// one, or 0 if there was none to fold.
    fn fold_oldest(&self, before: Option<Instant>) -> Result<u64, StoreError> {
        let (connection, project) = (self.connection, self.project.0);
        let fail = |error| self.store.database_error(error);
        let mut anchor = connection
            .query_row("SELECT anchor_seq, anchor_hash FROM project WHERE id = ?1", [project], |row| head_at(row, 0))
            .map_err(fail)?;
        let sql = format!("SELECT {ENTRY_COLUMNS} FROM fact WHERE project = ?1 ORDER BY seq LIMIT ?2");
        // Usually the first fact is too young already, and the others are not read.
        let is_due = |at: Moment| before.is_none_or(|before| at.at < before);
        let oldest: Vec<(Entry, Moment, Fact)> = connection
            .prepare_cached(&sql)
            .and_then(|mut query| {
                let rows = query.query_map(params![project, FACTS_PER_PASS], |row| {
                    let entry = read_entry(row)?;
                    Ok(read_fact(&entry).filter(|(at, _)| is_due(*at)).map(|(at, fact)| (entry, at, fact)))
                })?;
                rows.map_while(Result::transpose).collect()
            })
            .map_err(fail)?;
        let mut folded = 0;
        for (entry, at, fact) in &oldest {
            if entry.seq > anchor.seq {
                self.fold_into_anchor(&entry.circuit, fact, *at)?;
                anchor = Head { seq: entry.seq, hash: entry.hash };
            }
            folded = entry.seq;
        }
        if folded == 0 {
            return Ok(0);
        }
        connection
            .execute("DELETE FROM fact WHERE project = ?1 AND seq <= ?2", params![project, folded])
            .and_then(|_| {
                connection.execute(
                    "UPDATE project SET anchor_seq = ?2, anchor_hash = ?3, oldest_seq = ?4 WHERE id = ?1",
                    params![project, anchor.seq, anchor.hash, folded + 1],
                )
            })
            .map_err(fail)?;
        let names: BTreeSet<&CircuitName> = oldest.iter().map(|(entry, _, _)| &entry.circuit).collect();
        for name in names {
            self.forget_idle(name, folded)?;
        }
        Ok(folded)
    }

    /// Deletes the row of a session that is over once all its facts are folded, because nothing will read it again.
    fn forget_idle(&self, name: &CircuitName, folded: u64) -> Result<(), StoreError> {
        let Some((last, state)) = self.store.read_state(self.connection, self.project, name)? else { return Ok(()) };
        if last > folded || !state.is_idle(self.store.options.clock.now(), self.idle_ms) {
            return Ok(());
        }
        let now = self.store.options.clock.now().at;
        incident_table::end_forgotten(self.connection, self.project, &state, now)
            .map_err(|error| self.store.database_error(error))?;
        for table in ["circuit", "anchor"] {
            let delete = format!("DELETE FROM {table} WHERE project = ?1 AND name = ?2");
            let deleted = self.connection.execute(&delete, params![self.project.0, name.as_str()]);
            deleted.map_err(|error| self.store.database_error(error))?;
        }
        latch::remove(&self.store.latch_folder(), self.project, name);
        Ok(())
    }

    fn fold_into_anchor(&self, name: &CircuitName, fact: &Fact, at: Moment) -> Result<(), StoreError> {
        let fail = |error| self.store.database_error(error);
        let key = params![self.project.0, name.as_str()];
        let text: Option<String> = self
            .connection
            .prepare_cached("SELECT state FROM anchor WHERE project = ?1 AND name = ?2")
            .and_then(|mut query| query.query_row(key, |row| row.get(0)).optional())
            .map_err(fail)?;
        let state = text.as_deref().map(|text| self.store.parse_state(name.as_str(), text)).transpose()?;
        let row = folded::row(text.as_deref(), fact, at, &apply(state, fact, at));
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO anchor (project, name, state) VALUES (?1, ?2, ?3)")
            .and_then(|mut put| put.execute(params![self.project.0, name.as_str(), row]))
            .map(drop)
            .map_err(fail)
    }
}

fn read_fact(entry: &Entry) -> Option<(Moment, Fact)> {
    let read = entry.read().ok()?;
    Some((read.at, read.fact?))
}
