//! Seed 003's state file, kept as a mirror of the store (C6).
//!
//! The store is the truth. haltline rewrites the file after every change, under a lock, unless the file is already
//! newer. If another program changed the file, haltline reads it first: it adopts circuits it does not know and imports
//! unknown violations of known circuits, but never their state. A file that cannot be read is set aside.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::constraint::{
    Circuit, CircuitState, Fact as ConstraintFact, ForeignCircuit, ForeignViolation, Limits, StateName, Weight,
};
use haltline_core::{CircuitName, ConstraintId, Fact, Instant, Moment, State, digest_hex, shorten};
use serde::{Deserialize, Serialize};

use crate::file::{
    Durability, Links, Stamp, pretty_json, read_regular, reject_linked_folder, set_aside, write_atomically,
};
use crate::project::Project;
use crate::queue::{QueueGuard, wait_in_queue};
use crate::redact::storable;
use crate::store::{Entry, Head, Store, StoreError};

/// The file's name, in the constraints folder.
pub const STATE_FILE: &str = ".circuit-state.json";
/// How many violations of a circuit the file lists.
pub const VIOLATIONS_MAX: usize = 1000;
/// The largest state file that is read.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many damaged state files are kept.
const SET_ASIDE_MAX: usize = 5;
/// How long to wait for another process that reads or writes the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Replaces texts that were purged.
const PURGED: &str = "[purged]";

/// One circuit's entry, in the seed's format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorEntry {
    state: String,
    violations: Vec<MirrorViolation>,
    last_trip: Option<String>,
    last_reset: Option<String>,
    config: Limits,
}

/// One violation, in the seed's format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorViolation {
    timestamp: String,
    action: String,
    session: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub at: Instant,
    /// `None` once purged.
    pub action: Option<String>,
    pub session: Option<String>,
    pub weight: Weight,
    /// See [`haltline_core::constraint::fingerprint`].
    pub fingerprint: String,
}

/// The violations among a circuit's facts, newest first.
pub fn violations(entries: &[Entry]) -> Vec<Violation> {
    let mut found: Vec<Violation> = entries.iter().filter_map(violation).collect();
    found.sort_by_key(|violation| std::cmp::Reverse(violation.at));
    found
}

fn violation(entry: &Entry) -> Option<Violation> {
    let read = entry.read().ok()?;
    let Some(Fact::Constraint(ConstraintFact::Violated { weight, fingerprint, .. })) = read.fact else { return None };
    let texts = entry.texts();
    Some(Violation { at: read.at.at, action: texts.text, session: texts.session, weight, fingerprint })
}

/// The violations the file lists, newest first. Repeats within the dedup window are left out.
pub(crate) fn listed_violations(entries: &[Entry]) -> Vec<MirrorViolation> {
    let counted = violations(entries).into_iter().filter(|violation| violation.weight != Weight::Deduplicated);
    let to_listed = |violation: Violation| MirrorViolation {
        timestamp: violation.at.to_seconds_text(),
        action: violation.action.unwrap_or_else(|| PURGED.to_owned()),
        session: violation.session.unwrap_or_else(|| PURGED.to_owned()),
    };
    counted.take(VIOLATIONS_MAX).map(to_listed).collect()
}

/// When a fact was recorded, or `None` for an imported one, which has the time of the other program.
fn local_time(entry: &Entry) -> Option<Instant> {
    let read = entry.read().ok()?;
    let is_imported = matches!(read.fact, Some(Fact::Constraint(ConstraintFact::Violated { imported: true, .. })));
    (!is_imported).then_some(read.at.at)
}

/// A circuit's newest facts, enough to fill the file's list of violations: any number of other facts may be in between.
fn recent_history(store: &dyn Store, project: &Project, name: &CircuitName) -> Result<Vec<Entry>, StoreError> {
    let mut limit = VIOLATIONS_MAX * 4;
    loop {
        let history = store.history(project.key, name, limit)?;
        if history.len() < limit || listed_violations(&history).len() == VIOLATIONS_MAX {
            return Ok(history);
        }
        limit *= 4;
    }
}

impl MirrorEntry {
    fn new(circuit: &Circuit, entries: &[Entry], now: Moment) -> Self {
        Self {
            state: circuit.state_at(now).name().dashed().to_owned(),
            violations: listed_violations(entries),
            last_trip: circuit.last_trip.map(Instant::to_seconds_text),
            last_reset: circuit.last_reset.map(Instant::to_seconds_text),
            config: circuit.rule.limits,
        }
    }
}

/// What a state file says, and what in it cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFileContent {
    pub circuits: Vec<(ConstraintId, ForeignCircuit)>,
    /// One line each.
    pub problems: Vec<String>,
}

pub fn read_state_file(content: &[u8]) -> StateFileContent {
    let mut parsed = StateFileContent::default();
    let entries: BTreeMap<String, serde_json::Value> = match serde_json::from_slice(content) {
        Ok(entries) => entries,
        Err(error) => {
            parsed.problems.push(format!("not a JSON object of circuits ({})", shorten(&error.to_string())));
            return parsed;
        }
    };
    for (id, entry) in entries {
        let circuit =
            ConstraintId::parse(&id).map_err(|error| error.to_string()).and_then(|id| Ok((id, foreign(&entry)?)));
        match circuit {
            Ok(circuit) => parsed.circuits.push(circuit),
            Err(problem) => {
                parsed.problems.push(format!("{}: {problem}", id.escape_debug().take(40).collect::<String>()))
            }
        }
    }
    parsed
}

fn foreign(entry: &serde_json::Value) -> Result<ForeignCircuit, String> {
    let state = entry.get("state").cloned().unwrap_or_default();
    let state: StateName = serde_json::from_value(state.clone()).map_err(|_| {
        format!("state {}: expected \"CLOSED\", \"OPEN\" or \"HALF-OPEN\"", shorten(&state.to_string()))
    })?;
    let instant = |key: &str| match entry.get(key) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => value
            .as_str()
            .and_then(|text| Instant::parse(text).ok())
            .map(Some)
            .ok_or_else(|| format!("{key} {}: expected an RFC 3339 time or null", shorten(&value.to_string()))),
    };
    let (last_trip, last_reset) = (instant("last_trip")?, instant("last_reset")?);
    let listed: Vec<MirrorViolation> = match entry.get("violations") {
        None => Vec::new(),
        Some(listed) => serde_json::from_value(listed.clone())
            .map_err(|error| format!("violations: {}", shorten(&error.to_string())))?,
    };
    let mut violations = Vec::with_capacity(listed.len());
    for violation in listed {
        let at = Instant::parse(&violation.timestamp).map_err(|error| error.to_string())?.whole_second();
        violations.push(ForeignViolation {
            at,
            action: storable(&violation.action),
            session: storable(&violation.session),
        });
    }
    let limits = entry.get("config").and_then(limits);
    Ok(ForeignCircuit { state, violations, last_trip, last_reset, limits })
}

fn limits(config: &serde_json::Value) -> Option<Limits> {
    let mut limits = Limits::default();
    for (field, _, _) in Limits::RANGES {
        if let Some(number) = config.get(field).and_then(serde_json::Value::as_i64) {
            limits.set(field, number).ok()?;
        }
    }
    Some(limits)
}

/// Identifies the file that haltline wrote last, and the fact after which it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WrittenMirror {
    seq: u64,
    /// Start of that fact's chain hash: after a loss, another fact may have the same number.
    #[serde(rename = "link", default)]
    hash_prefix: u64,
    /// `None` if haltline has not written the file yet, or an earlier version did: then it is read once more.
    #[serde(rename = "file", default)]
    stamp: Option<Stamp>,
}

impl WrittenMirror {
    /// This value with the stamp that the file has now; `None` if there is no file.
    fn with_stamp_of(self, path: &Path) -> Option<Self> {
        Stamp::read(path).map(|stamp| Self { stamp: Some(stamp), ..self })
    }

    fn for_head(head: Head) -> Self {
        let mut hash_prefix = [0; 8];
        hash_prefix.copy_from_slice(&head.hash[..8]);
        // 53 bits, which every JSON reader has exactly.
        Self { seq: head.seq, hash_prefix: u64::from_be_bytes(hash_prefix) >> 11, ..Self::default() }
    }

    fn is_for_head(self, head: Head) -> bool {
        let wanted = Self::for_head(head);
        (self.seq, self.hash_prefix) == (wanted.seq, wanted.hash_prefix)
    }
}

/// The state file of one work tree.
pub struct Mirror {
    /// False if the configuration switches the state file off; the archive is always written.
    is_enabled: bool,
    path: PathBuf,
    stamp_path: PathBuf,
    lock_path: PathBuf,
    lock_timeout: Duration,
}

/// Why the mirror was not updated. The store is up to date all the same.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The file could not be written or read.
    #[error(
        "haltline could not update the state file {path}: {source}; the store is up to date, and the next write tries again"
    )]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Mirror {
    /// The mirror of a work tree; its stamp and lock are kept in the state folder.
    pub fn new(is_enabled: bool, project: &Project, directory: &str, state_folder: &Path) -> Self {
        let tree = digest_hex(&[project.root.as_os_str().as_encoded_bytes(), directory.as_bytes()], 4);
        let stem = state_folder.join("mirrors").join(format!("{:016x}-{tree}", project.key.0));
        Self {
            is_enabled,
            path: project.root.join(directory).join(STATE_FILE),
            stamp_path: stem.with_extension("json"),
            lock_path: stem.with_extension("lock"),
            lock_timeout: LOCK_TIMEOUT,
        }
    }

    /// Waits only this long for another process that reads or writes the file.
    pub(crate) fn with_lock_timeout(self, lock_timeout: Duration) -> Self {
        Self { lock_timeout, ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the file is not the one haltline wrote last, or was written after facts that the store has lost since.
    pub fn is_foreign(&self, head: Head) -> bool {
        if !self.is_enabled {
            return false;
        }
        let written = self.written();
        let is_lost = written.seq > head.seq || (written.seq == head.seq && !written.is_for_head(head));
        written.with_stamp_of(&self.path).is_some_and(|found| found != written || is_lost)
    }

    /// True if facts were added since haltline wrote the file, perhaps from another work tree.
    pub(crate) fn is_behind(&self, head: Head) -> bool {
        self.written().seq < head.seq
    }

    /// True if the mirror is enabled and the file exists.
    pub fn exists(&self) -> bool {
        self.is_enabled && self.path.exists()
    }

    fn written(&self) -> WrittenMirror {
        read_regular(&self.stamp_path, FILE_BYTES_MAX, Links::Reject)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    /// Makes the next write happen although the journal did not grow.
    pub(crate) fn invalidate_stamp(&self) {
        if let Ok(text) = serde_json::to_vec(&WrittenMirror { seq: 0, hash_prefix: 0, ..self.written() }) {
            write_atomically(&self.stamp_path, &text, Durability::Rebuildable).ok();
        }
    }

    /// Waits for the lock: one process at a time reads or writes the file.
    pub(crate) fn lock(&self) -> Result<QueueGuard, MirrorError> {
        let folder = self.lock_path.parent().unwrap_or(Path::new("."));
        let guard = fs::create_dir_all(folder).and_then(|()| wait_in_queue(&self.lock_path, self.lock_timeout));
        let guard = guard.map_err(|source| self.io_error(source))?;
        guard.ok_or_else(|| self.io_error(io::Error::new(io::ErrorKind::TimedOut, "another process holds it")))
    }

    fn io_error(&self, source: io::Error) -> MirrorError {
        MirrorError::Io { path: self.path.clone(), source }
    }

    /// Reads what another program wrote into the file since haltline did, and moves a damaged file aside. The caller
    /// holds the lock.
    pub fn read_foreign(&self, head: Head, now: Moment) -> Result<(StateFileContent, Option<PathBuf>), MirrorError> {
        if !self.is_foreign(head) {
            return Ok((StateFileContent::default(), None));
        }
        let parsed = match read_regular(&self.path, FILE_BYTES_MAX, Links::Reject) {
            Ok(content) => read_state_file(&content),
            Err(error) if error.kind() == io::ErrorKind::Other => {
                StateFileContent { circuits: Vec::new(), problems: vec![error.to_string()] }
            }
            Err(source) => return Err(self.io_error(source)),
        };
        if parsed.problems.is_empty() {
            return Ok((parsed, None));
        }
        let kept = set_aside(&self.path, now.at, SET_ASIDE_MAX).map_err(|source| self.io_error(source))?;
        Ok((parsed, Some(kept)))
    }

    /// Keeps only those violations of a known circuit that are not in its journal. `entries` is the whole journal;
    /// `folded_until` is the time of the newest violation that is no longer in it.
    pub fn retain_unknown(
        foreign: &mut ForeignCircuit,
        circuit: &Circuit,
        entries: &[Entry],
        folded_until: Option<Instant>,
    ) {
        let mut known_counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut folded = circuit.totals.violations;
        for violation in violations(entries) {
            folded = folded.saturating_sub(u64::from(violation.weight != Weight::Deduplicated));
            *known_counts.entry(violation.fingerprint).or_default() += 1;
        }
        foreign.violations.retain(|violation| {
            violation.action != PURGED
                && match known_counts.get_mut(&violation.fingerprint()) {
                    Some(count) if *count > 0 => {
                        *count -= 1;
                        false
                    }
                    Some(_) | None => true,
                }
        });
        // The circuit also counts violations whose facts were folded or lost. That many of the oldest lines from before
        // the start of the journal, or from before the newest folded one, are skipped, because counting a violation twice
        // is worse than missing one.
        let begin =
            entries.iter().rev().find_map(local_time).map(|begin| folded_until.map_or(begin, |at| begin.max(at)));
        foreign.violations.sort_by_key(|violation| violation.at);
        foreign.violations.retain(|violation| {
            let is_folded = folded > 0 && begin.is_none_or(|begin| violation.at <= begin);
            folded -= u64::from(is_folded);
            !is_folded
        });
    }

    /// Writes the file from the store, unless it is up to date. The caller holds the lock. Returns the path a damaged
    /// archive was moved to.
    pub fn write(&self, store: &dyn Store, project: &Project, now: Moment) -> Result<Option<PathBuf>, MirrorError> {
        let Some(folder) = self.path.parent().filter(|folder| folder.is_dir()) else { return Ok(None) };
        reject_linked_folder(&project.root, folder).map_err(|source| self.io_error(source))?;
        let head = store.head(project.key)?;
        let written = self.written();
        // Both are read under the lock, so a file ahead of the store means that the store was lost meanwhile.
        if written.is_for_head(head) && written.with_stamp_of(&self.path) == Some(written) {
            return Ok(None);
        }
        let mut entries = BTreeMap::new();
        let mut archived = Vec::new();
        for (name, state) in store.circuits(project.key)? {
            let State::Constraint(circuit) = state else { continue };
            let history = recent_history(store, project, &name)?;
            if matches!(circuit.state, CircuitState::Retired { .. }) {
                archived.push((name, circuit, history));
            } else {
                entries.insert(name.scope().to_owned(), MirrorEntry::new(&circuit, &history, now));
            }
        }
        if self.is_enabled && (!entries.is_empty() || self.path.exists()) {
            let text = pretty_json(&entries);
            // Facts of other breakers do not change the file.
            if fs::read(&self.path).ok().as_deref() != Some(text.as_ref()) {
                write_atomically(&self.path, &text, Durability::Rebuildable).map_err(|source| self.io_error(source))?;
            }
        }
        let kept = crate::archive::add_missing(&self.path, &archived, now).map_err(|source| self.io_error(source))?;
        if let Some(written) = WrittenMirror::for_head(head).with_stamp_of(&self.path) {
            let text = serde_json::to_vec(&written).expect("stamps are numbers");
            write_atomically(&self.stamp_path, &text, Durability::Rebuildable)
                .map_err(|source| self.io_error(source))?;
        }
        Ok(kept)
    }
}

/// A retired circuit with its history, for the archive.
pub(crate) type RetiredCircuit = (CircuitName, Box<Circuit>, Vec<Entry>);
