//! How rows of the store are read.

use haltline_core::CircuitName;
use rusqlite::{Connection, OptionalExtension};

use super::entry::{Entry, Head};
use crate::project::ProjectKey;

/// No journal gets this long: a larger number was made up. It is also the last one every JSON reader has exactly.
pub(super) const SEQ_MAX: u64 = 1 << 53;

/// The end of a project's journal.
pub(super) fn read_head(connection: &Connection, project: ProjectKey) -> rusqlite::Result<Option<Head>> {
    let mut query = connection.prepare_cached("SELECT seq, hash FROM project WHERE id = ?1")?;
    query.query_row([project.0], |row| Ok(Head { seq: row.get(0)?, hash: row.get(1)? })).optional()
}

/// A fact, from the columns [`ENTRY`] names.
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
