//! The table of incidents: one short row for each, which outlives the facts of the journal.
//!
//! A row is written in the transaction that trips a circuit and again in the one that ends the incident, and at no other
//! time. The table is bounded: beyond [`INCIDENTS_MAX`] rows of a project the oldest that ended are dropped first.

use haltline_core::{
    CircuitName, Fact, IncidentEnd, IncidentStart, IncidentTexts, Recorded, State, incident_end, incident_start,
};
use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;

use super::schema;
use crate::project::ProjectKey;

/// How many incidents of a project are kept.
pub const INCIDENTS_MAX: usize = 1000;
/// The schema from which on the table exists.
const SCHEMA_WITH_TABLE: i64 = 2;
/// How many incidents are dropped at once when the store is full.
const DROPPED_AT_ONCE: usize = 100;
/// Limit on a text in the table, in characters.
const TEXT_CHARS_MAX: usize = 400;

/// One incident as the table keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIncident {
    pub project: ProjectKey,
    /// The row whose circuit tripped.
    pub row: CircuitName,
    /// Number of the fact that began it.
    pub seq: u64,
    pub start: IncidentStart,
    /// `None` while it is open.
    pub end: Option<IncidentEnd>,
    /// Empty once purged.
    pub texts: IncidentTexts,
}

/// What a fact changes in the table.
#[derive(Clone, Debug, Default)]
pub(super) struct IncidentChanges {
    pub begun: Option<(IncidentStart, IncidentTexts)>,
    /// The ids of the incidents that the fact ended, and how.
    pub ended: Vec<(String, IncidentEnd)>,
}

impl IncidentChanges {
    /// Compares the incidents that were open in a row before a fact with those that are open after it.
    pub fn between(before: Option<&State>, recorded: &Recorded, after: &State) -> Self {
        let open_before = before.map(State::open_incidents).unwrap_or_default();
        let open_after = after.open_incidents();
        // Nearly every fact leaves the incidents as they were.
        if open_before == open_after {
            return Self::default();
        }
        let is_new = |id: &str| open_after.contains(&id) && !open_before.contains(&id);
        let begun = incident_start(after, recorded).filter(|(start, _)| is_new(&start.id));
        let follower = begun.as_ref().map(|(start, _)| start);
        let over = open_before.into_iter().filter(|id| !open_after.contains(id));
        let ended = over
            .filter_map(|id| Some((id.to_owned(), incident_end(before?, recorded, id, follower))))
            .map(|(id, mut end)| {
                if let Some(text) = follower.filter(|_| end.followed_by.is_none()) {
                    // Another circuit of the row tripped and pushed this one out.
                    end.how = format!("dropped_for_{}", text.id);
                }
                (id, end)
            })
            .collect();
        Self { begun, ended }
    }

    pub fn is_empty(&self) -> bool {
        self.begun.is_none() && self.ended.is_empty()
    }

    /// The reason that the person who ended the incidents gave.
    pub fn end_reason(recorded: &Recorded) -> Option<String> {
        match &recorded.fact {
            Fact::Attempt(haltline_core::attempt::Fact::Reset { guidance, .. })
            | Fact::Phase(haltline_core::phase::Fact::Modified { guidance, .. }) => Some(short(guidance)),
            Fact::Claim(haltline_core::claim::Fact::Resolved { how, .. }) => Some(short(how.text())),
            other => other.operator().and(recorded.texts.text.as_deref()).map(short),
        }
    }
}

/// A text that is short enough for the table.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The texts as the table keeps them: short, and with secrets masked.
pub(super) fn storable(texts: IncidentTexts) -> IncidentTexts {
    let shown = |text: Option<String>| text.map(|text| short(&crate::redact::mask(&text)));
    IncidentTexts { about: shown(texts.about), reason: shown(texts.reason), end_reason: shown(texts.end_reason) }
}

/// Which incidents are dropped last: those that exempt something, then open ones.
fn rank(end: Option<&IncidentEnd>) -> i64 {
    match end {
        None => 1,
        Some(end) if end.how == "false_alarm" => 2,
        Some(_) => 0,
    }
}

/// Writes what a fact changed.
pub(super) fn write(
    connection: &Connection,
    project: ProjectKey,
    seq: u64,
    recorded: &Recorded,
    changes: IncidentChanges,
) -> rusqlite::Result<()> {
    let IncidentChanges { begun, ended } = changes;
    for (id, end) in ended {
        let stored = find(connection, project, &id)?;
        let Some(mut incident) = stored else { continue };
        incident.texts.end_reason = IncidentChanges::end_reason(recorded);
        incident.end = Some(end);
        put(connection, &incident)?;
    }
    if let Some((start, texts)) = begun {
        let (row, texts) = (recorded.circuit.clone(), texts);
        put(connection, &StoredIncident { project, row, seq, start, end: None, texts })?;
        drop_excess(connection, project)?;
    }
    Ok(())
}

pub(super) fn put(connection: &Connection, incident: &StoredIncident) -> rusqlite::Result<()> {
    let StoredIncident { project, row, seq, start, end, texts } = incident;
    let json = |written: Result<String, serde_json::Error>| written.expect("incidents hold nothing that JSON cannot");
    let texts = json(serde_json::to_string(&storable(texts.clone())));
    let ending = end.as_ref().map(|end| json(serde_json::to_string(end)));
    let (id, start) = (&start.id, json(serde_json::to_string(start)));
    let values = params![project.0, id, row.as_str(), seq, rank(end.as_ref()), start, ending, texts];
    let sql = "INSERT OR REPLACE INTO incident (project, id, name, seq, rank, start, ending, texts)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(values).map(drop)
}

fn find(connection: &Connection, project: ProjectKey, id: &str) -> rusqlite::Result<Option<StoredIncident>> {
    let sql = format!("SELECT {COLUMNS} FROM incident WHERE project = ?1 AND id = ?2");
    let mut query = connection.prepare_cached(&sql)?;
    query.query_map(params![project.0, id], read)?.next().transpose().map(Option::flatten)
}

/// Drops the oldest incidents of a project beyond [`INCIDENTS_MAX`].
fn drop_excess(connection: &Connection, project: ProjectKey) -> rusqlite::Result<()> {
    let count: usize = connection
        .prepare_cached("SELECT count(*) FROM incident WHERE project = ?1")?
        .query_row([project.0], |row| row.get(0))?;
    drop_oldest(connection, Some(project), count.saturating_sub(INCIDENTS_MAX)).map(drop)
}

/// Drops incidents because the store is full; returns how many.
pub(super) fn drop_when_full(connection: &Connection) -> rusqlite::Result<usize> {
    drop_oldest(connection, None, DROPPED_AT_ONCE)
}

fn drop_oldest(connection: &Connection, project: Option<ProjectKey>, count: usize) -> rusqlite::Result<usize> {
    if count == 0 {
        return Ok(0);
    }
    let sql = "DELETE FROM incident WHERE (project, id) IN (
                   SELECT project, id FROM incident WHERE ?1 IS NULL OR project = ?1 ORDER BY rank, seq LIMIT ?2)";
    connection.prepare_cached(sql)?.execute(params![project.map(|project| project.0), count])
}

/// All incidents of a project, or of all projects, in no order. A store that no newer haltline has written to yet has
/// none.
pub(super) fn read_all(connection: &Connection, project: Option<ProjectKey>) -> rusqlite::Result<Vec<StoredIncident>> {
    if schema::version(connection)? < SCHEMA_WITH_TABLE {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {COLUMNS} FROM incident WHERE ?1 IS NULL OR project = ?1");
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map([project.map(|project| project.0)], read)?;
    rows.filter_map(Result::transpose).collect()
}

/// The columns that [`read`] reads.
pub(super) const COLUMNS: &str = "project, name, seq, start, ending, texts";

/// Reads a row; `None` if it makes no sense, because an incident's record must never stop a decision.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Option<StoredIncident>> {
    let (start, ending): (String, Option<String>) = (row.get(3)?, row.get(4)?);
    let texts: Option<String> = row.get(5)?;
    let (project, name, seq) = (ProjectKey(row.get(0)?), CircuitName::from_stored(row.get(1)?), row.get(2)?);
    let Some(start) = parse(&start) else { return Ok(None) };
    let end = ending.and_then(|ending| parse(&ending));
    let texts = texts.and_then(|texts| parse(&texts)).unwrap_or_default();
    Ok(Some(StoredIncident { project, row: name, seq, start, end, texts }))
}

fn parse<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// Ends the incidents of a row that the store forgets, because its session is over.
pub(super) fn end_forgotten(
    connection: &Connection,
    project: ProjectKey,
    state: &State,
    at: haltline_core::Instant,
) -> rusqlite::Result<()> {
    for id in state.open_incidents() {
        if let Some(mut incident) = find(connection, project, id)?.filter(|incident| incident.end.is_none()) {
            incident.end = Some(IncidentEnd { at, how: "session_over".to_owned(), who: None, followed_by: None });
            put(connection, &incident)?;
        }
    }
    Ok(())
}
