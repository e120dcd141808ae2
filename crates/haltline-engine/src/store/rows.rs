//! Reads rows of the SQLite store.

use haltline_core::CircuitName;
use rusqlite::{Connection, OptionalExtension};

use super::entry::{Entry, Head};
use crate::project::ProjectKey;

/// No journal gets this long: a larger number is damage. It is also the last number that every JSON reader has exactly.
pub(super) const SEQ_MAX: u64 = 1 << 53;

/// The end of a project's journal.
pub(super) fn read_head(connection: &Connection, project: ProjectKey) -> rusqlite::Result<Option<Head>> {
    let mut query = connection.prepare_cached("SELECT seq, hash FROM project WHERE id = ?1")?;
    query.query_row([project.0], |row| Ok(Head { seq: row.get(0)?, hash: row.get(1)? })).optional()
}

/// Reads a fact from the columns in [`ENTRY_COLUMNS`].
pub(super) fn read_entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
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
