//! The trips of the last replay, for `haltline why`: one small file in the state folder, always written whole. It is
//! not part of the store, and losing it loses nothing that happened.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use haltline_core::{Instant, digest_hex};
use serde::{Deserialize, Serialize};

use super::{ReplayedSession, Trip};
use crate::file::{Durability, write_privately};

pub const TRIPS_KEPT_MAX: usize = 200;
/// The file's name, in the state folder.
const NAME: &str = "backtest.json";
const SCHEMA: u32 = 1;

/// A trip of a replay, with where it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTrip {
    /// The incident id. The same trip of the same file has the same id in every run.
    pub incident: String,
    pub source: String,
    pub format: String,
    pub session: String,
    /// Number of the call, starting at 1.
    pub call: u64,
    /// Number of calls in the session.
    pub calls: u64,
    /// When, if the transcript says so.
    pub at: Option<Instant>,
    pub circuit: String,
    pub code: String,
    /// `warn`, `deny` or `stop`.
    pub verdict: String,
    /// The text that the agent would have read.
    pub reason: String,
    /// The last results before it, newest first: when, and the text.
    pub evidence: Vec<(Option<Instant>, String)>,
    /// Number of calls that followed.
    pub calls_after: u64,
    /// What they cost, in millionths of a dollar, if known.
    pub micros_after: Option<u64>,
    /// A later call committed work.
    pub is_committed_after: bool,
}

impl KeptTrip {
    /// A trip of a session in a recorded file.
    pub fn new(source: &str, format: &str, session: &ReplayedSession, trip: &Trip) -> Self {
        let call = trip.call.to_be_bytes();
        let parts: [&[u8]; 6] = [
            source.as_bytes(),
            session.session.as_bytes(),
            &call,
            trip.circuit.as_bytes(),
            trip.severity.as_str().as_bytes(),
            trip.reason.as_bytes(),
        ];
        Self {
            incident: digest_hex(&parts, 4),
            source: source.to_owned(),
            format: format.to_owned(),
            session: session.session.clone(),
            call: trip.call,
            calls: session.calls,
            at: trip.at,
            circuit: trip.circuit.clone(),
            code: trip.code.to_owned(),
            verdict: trip.severity.as_str().to_owned(),
            reason: trip.reason.clone(),
            evidence: trip.evidence.iter().map(|evidence| (evidence.at, evidence.result.clone())).collect(),
            calls_after: trip.calls_after,
            micros_after: trip.micros_after,
            is_committed_after: trip.is_committed_after,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripsFile {
    schema: u32,
    /// The trips that matter most come first, then the others, newest first.
    pub trips: Vec<KeptTrip>,
}

impl TripsFile {
    /// Adds a trip; if there are too many, the oldest are dropped.
    pub fn keep(&mut self, trip: KeptTrip) {
        self.trips.push(trip);
        if self.trips.len() >= 2 * TRIPS_KEPT_MAX {
            self.forget_oldest(TRIPS_KEPT_MAX);
        }
    }

    fn forget_oldest(&mut self, keep: usize) {
        self.trips.sort_by_key(|trip| std::cmp::Reverse(trip.at));
        self.trips.truncate(keep);
    }

    /// Replaces the file in the state folder. The trips in `first` are kept whatever their age.
    pub fn write(mut self, state_folder: &Path, first: Vec<KeptTrip>) -> io::Result<()> {
        self.schema = SCHEMA;
        self.trips.retain(|trip| !first.contains(trip));
        self.forget_oldest(TRIPS_KEPT_MAX.saturating_sub(first.len()));
        self.trips.splice(0..0, first);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(state_folder)?;
        // The file quotes texts of a session.
        write_privately(&path(state_folder), &serde_json::to_vec(&self)?, Durability::Rebuildable)
    }

    /// The trip with this incident id, if the last replay found it.
    pub fn find(state_folder: &Path, incident: &str) -> Option<KeptTrip> {
        let content = fs::read(path(state_folder)).ok()?;
        let file: Self = serde_json::from_slice(&content).ok()?;
        file.trips.into_iter().find(|trip| trip.incident == incident)
    }
}

fn path(state_folder: &Path) -> PathBuf {
    state_folder.join(NAME)
}
