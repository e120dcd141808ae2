//! Seed 003's archive of retired circuits (C8): entries are added, never changed.

use std::io;
use std::path::{Path, PathBuf};

use haltline_core::constraint::{Circuit, CircuitState, StateName};
use haltline_core::{Instant, Moment};
use serde::Serialize;
use serde_json::Map;

use crate::file::{Durability, Links, if_exists, pretty_json, read_regular, set_aside, write_atomically};
use crate::mirror::{MirrorViolation, RetiredCircuit, listed_violations};

/// Name of the archive, in the folder of the state file.
pub const ARCHIVE_FILE: &str = ".circuit-state-archive.json";
/// How many damaged archives are kept.
const SET_ASIDE_MAX: usize = 5;
/// Largest archive that is read.
const ARCHIVE_BYTES_MAX: u64 = 64 << 20;

#[derive(Serialize)]
struct ArchiveEntry {
    archived: String,
    final_state: &'static str,
    total_violations: u64,
    total_trips: u64,
    lifetime_days: i64,
    violations: Vec<MirrorViolation>,
    trip_history: Vec<ArchivedTrip>,
}

#[derive(Serialize)]
struct ArchivedTrip {
    tripped: String,
    reset: Option<String>,
    method: Option<&'static str>,
}

/// Adds retired circuits that are missing in the archive next to `state_file`. Returns the path a damaged archive was
/// moved to.
pub(crate) fn add_missing(state_file: &Path, retired: &[RetiredCircuit], now: Moment) -> io::Result<Option<PathBuf>> {
    if retired.is_empty() {
        return Ok(None);
    }
    let mut kept = None;
    let path = state_file.with_file_name(ARCHIVE_FILE);
    let mut archive: Map<String, serde_json::Value> =
        match if_exists(read_regular(&path, ARCHIVE_BYTES_MAX, Links::Reject))? {
            None => Map::new(),
            Some(content) => match serde_json::from_slice(&content) {
                Ok(archive) => archive,
                Err(_damaged) => {
                    kept = Some(set_aside(&path, now.at, SET_ASIDE_MAX)?);
                    Map::new()
                }
            },
        };
    let entries_before = archive.len();
    for (name, circuit, history) in retired {
        if !archive.contains_key(name.scope())
            && let CircuitState::Retired { at, from } = circuit.state
        {
            let entry = ArchiveEntry::new(circuit, at, from, listed_violations(history));
            archive.insert(name.scope().to_owned(), serde_json::to_value(entry).expect("strings and numbers"));
        }
    }
    if archive.len() == entries_before {
        return Ok(kept);
    }
    write_atomically(&path, &pretty_json(&archive), Durability::Synced)?;
    Ok(kept)
}

impl ArchiveEntry {
    fn new(circuit: &Circuit, at: Instant, from: StateName, violations: Vec<MirrorViolation>) -> Self {
        let born = circuit.created.or(circuit.first).unwrap_or(at);
        Self {
            archived: at.to_seconds_text(),
            final_state: from.dashed(),
            total_violations: circuit.totals.violations,
            total_trips: circuit.totals.trips,
            lifetime_days: (at.as_millis() - born.as_millis()).max(0) / 86_400_000,
            violations,
            trip_history: circuit
                .trips
                .iter()
                .rev()
                .map(|trip| ArchivedTrip {
                    tripped: trip.tripped.to_seconds_text(),
                    reset: trip.closed.map(Instant::to_seconds_text),
                    method: trip.closed.map(|_| if trip.by_person { "manual" } else { "cooldown" }),
                })
                .collect(),
        }
    }
}
