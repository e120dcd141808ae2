//! Reads and writes rows of the SQLite store.

use haltline_core::CircuitName;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Undelivered;
use super::entry::{Entry, Head};
use crate::project::ProjectKey;

/// No journal gets this long: a larger number is damage. It is also the last number that every JSON reader has exactly.
pub(super) const SEQ_MAX: u64 = 1 << 53;

/// The end of a project's journal.
pub(super) fn read_head(connection: &Connection, project: ProjectKey) -> rusqlite::Result<Option<Head>> {
    let mut query = connection.prepare_cached("SELECT seq, hash FROM project WHERE id = ?1")?;
    query.query_row([project.0], |row| head_at(row, 0)).optional()
}

/// The end of a journal from two columns, of which `first` is the number.
pub(super) fn head_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Head> {
    Ok(Head { seq: row.get(first)?, hash: row.get(first + 1)? })
}

/// Reads a fact from the columns in [`ENTRY_COLUMNS`].
pub(super) fn read_entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: row.get(0)?,
        previous: row.get(1)?,
        circuit: CircuitName::from_stored(row.get(2)?),
        body: row.get(3)?,
        texts: row.get(4)?,
        texts_digest: row.get(5)?,
        hash: row.get(6)?,
    })
}

/// The columns that [`read_entry`] reads.
pub(super) const ENTRY_COLUMNS: &str = "seq, previous, name, body, texts, texts_digest, hash";

pub(super) fn insert_entry(connection: &Connection, project: i64, entry: &Entry) -> rusqlite::Result<()> {
    let sql = format!("INSERT INTO fact (project, {ENTRY_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    let Entry { seq, previous, circuit, body, texts, texts_digest, hash } = entry;
    let values = params![project, seq, previous, circuit.as_str(), body, texts, texts_digest, hash];
    connection.prepare_cached(&sql)?.execute(values).map(drop)
}

/// Reads a notification from the columns in [`MESSAGE_COLUMNS`].
pub(super) fn read_message(row: &Row<'_>) -> rusqlite::Result<Undelivered> {
    let circuit = CircuitName::from_stored(row.get(1)?);
    Ok(Undelivered { id: row.get(0)?, circuit, incident: row.get(2)?, attempts: row.get(3)? })
}

/// The columns that [`read_message`] reads.
pub(super) const MESSAGE_COLUMNS: &str = "id, name, incident, attempts";
