//! Seed 003's state file, kept as a mirror of the store (C6).
//!
//! The store is the truth. The file is re-made from it after every change, under a lock, and skipped where a
//! newer one stands already. A file that somebody else changed is read first: circuits unknown here are adopted,
//! unknown violations of known ones imported, never their state. A file that cannot be read is set aside.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::constraint::{
    Circuit, Condition, Fact as ConstraintFact, Foreign, ForeignViolation, Limits, Standing, Weight,
};
use haltline_core::{CircuitName, ConstraintId, Fact, Instant, Moment, State, digest_hex, shorten};
use serde::{Deserialize, Serialize};

use crate::file::{Lasting, set_aside, write_whole};
use crate::project::Project;
use crate::queue::{Turn, line_up};
use crate::redact::storable;
use crate::store::{Entry, Head, Store, StoreError};

/// The file's name, below the constraints folder.
pub const STATE_FILE: &str = ".circuit-state.json";
/// How many violations of a circuit the file lists.
pub const VIOLATIONS_MAX: usize = 1000;
/// The largest state file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many damaged state files are kept.
const SET_ASIDE_MAX: usize = 5;
/// How long one waits for another process that reads or writes the file.
const PATIENCE: Duration = Duration::from_secs(5);
/// What stands for an action whose text was purged.
const PURGED: &str = "[purged]";

/// One circuit's entry, in the seed's shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorEntry {
    state: String,
    violations: Vec<MirrorViolation>,
    last_trip: Option<String>,
    last_reset: Option<String>,
    config: Limits,
}

/// One violation, in the seed's shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorViolation {
    timestamp: String,
    action: String,
    session: String,
}

/// A violation as the journal tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Instant,
    /// What was done; `None` once purged.
    pub action: Option<String>,
    /// In which session.
    pub session: Option<String>,
    /// How much it weighed.
    pub weight: Weight,
    /// See [`haltline_core::constraint::fingerprint`].
    pub fingerprint: String,
}

/// The violations among a circuit's facts.
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

/// Newest first, as the file lists them; repeats are only counted.
pub(crate) fn listed(entries: &[Entry]) -> Vec<MirrorViolation> {
    let counted = violations(entries).into_iter().filter(|violation| violation.weight != Weight::Deduplicated);
    let line = |violation: Violation| MirrorViolation {
        timestamp: violation.at.to_seconds_text(),
        action: violation.action.unwrap_or_else(|| PURGED.to_owned()),
        session: violation.session.unwrap_or_else(|| PURGED.to_owned()),
    };
    counted.take(VIOLATIONS_MAX).map(line).collect()
}

/// When a fact was written, unless it was imported and so tells of another time.
fn happened_here(entry: &Entry) -> Option<Instant> {
    let read = entry.read().ok()?;
    let is_imported = matches!(read.fact, Some(Fact::Constraint(ConstraintFact::Violated { imported: true, .. })));
    (!is_imported).then_some(read.at.at)
}

/// As much of a circuit's history as the file lists violations of: any number of other facts may stand between.
fn newest(store: &dyn Store, project: &Project, name: &CircuitName) -> Result<Vec<Entry>, StoreError> {
    let mut limit = VIOLATIONS_MAX * 4;
    loop {
        let history = store.history(project.key, name, limit)?;
        if history.len() < limit || listed(&history).len() == VIOLATIONS_MAX {
            return Ok(history);
        }
        limit *= 4;
    }
}

impl MirrorEntry {
    fn new(circuit: &Circuit, entries: &[Entry], now: Moment) -> Self {
        Self {
            state: circuit.standing_at(now).condition().dashed().to_owned(),
            violations: listed(entries),
            last_trip: circuit.last_trip.map(Instant::to_seconds_text),
            last_reset: circuit.last_reset.map(Instant::to_seconds_text),
            config: circuit.rule.limits,
        }
    }
}

/// What a state file says, and what in it cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// By constraint.
    pub circuits: Vec<(ConstraintId, Foreign)>,
    /// One line each.
    pub problems: Vec<String>,
}

/// Reads a state file's content.
pub fn read_state_file(content: &[u8]) -> Reading {
    let mut reading = Reading::default();
    let entries: BTreeMap<String, serde_json::Value> = match serde_json::from_slice(content) {
        Ok(entries) => entries,
        Err(error) => {
            reading.problems.push(format!("not a JSON object of circuits ({})", shorten(&error.to_string())));
            return reading;
        }
    };
    for (id, entry) in entries {
        let taken =
            ConstraintId::parse(&id).map_err(|error| error.to_string()).and_then(|id| Ok((id, foreign(&entry)?)));
        match taken {
            Ok(taken) => reading.circuits.push(taken),
            Err(problem) => {
                reading.problems.push(format!("{}: {problem}", id.escape_debug().take(40).collect::<String>()))
            }
        }
    }
    reading
}

fn foreign(entry: &serde_json::Value) -> Result<Foreign, String> {
    let state = entry.get("state").cloned().unwrap_or_default();
    let state: Condition = serde_json::from_value(state.clone()).map_err(|_| {
        format!("state {}: expected \"CLOSED\", \"OPEN\" or \"HALF-OPEN\"", shorten(&state.to_string()))
    })?;
    let instant = |key: &str| match entry.get(key) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => value
            .as_str()
            .and_then(|text| Instant::parse(text).ok())
            .map(Some)
            .ok_or_else(|| format!("{key} {}: expected an RFC 3339 instant or null", shorten(&value.to_string()))),
    };
    let (last_trip, last_reset) = (instant("last_trip")?, instant("last_reset")?);
    let lines: Vec<MirrorViolation> = match entry.get("violations") {
        None => Vec::new(),
        Some(lines) => serde_json::from_value(lines.clone())
            .map_err(|error| format!("violations: {}", shorten(&error.to_string())))?,
    };
    let mut violations = Vec::with_capacity(lines.len());
    for line in lines {
        let at = Instant::parse(&line.timestamp).map_err(|error| error.to_string())?.whole_second();
        violations.push(ForeignViolation { at, action: storable(&line.action), session: storable(&line.session) });
    }
    let limits = entry.get("config").and_then(limits);
    Ok(Foreign { state, violations, last_trip, last_reset, limits })
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

/// Which file was written last, and after which fact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    seq: u64,
    /// The start of that fact's link: after a loss another fact may have the same number.
    #[serde(default)]
    link: u64,
    bytes: u64,
    modified_ns: i64,
    inode: u64,
}

impl Stamp {
    /// The stamp of the file as it is, after the fact this stamp names.
    fn renewed(self, path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        let modified_ns = file.mtime().wrapping_mul(1_000_000_000).wrapping_add(file.mtime_nsec());
        Some(Self { bytes: file.len(), modified_ns, inode: file.ino(), ..self })
    }

    fn after(head: Head) -> Self {
        let mut link = [0; 8];
        link.copy_from_slice(&head.hash[..8]);
        // 53 bits: exact in every JSON reader.
        Self { seq: head.seq, link: u64::from_be_bytes(link) >> 11, ..Self::default() }
    }

    fn is_after(self, head: Head) -> bool {
        let wanted = Self::after(head);
        (self.seq, self.link) == (wanted.seq, wanted.link)
    }
}

/// The state file of one work tree.
pub struct Mirror {
    /// Whether the state file is kept at all; the archive always is.
    is_on: bool,
    path: PathBuf,
    stamp_path: PathBuf,
    lock_path: PathBuf,
}

/// Why the mirror was not brought up to date. The store is, all the same.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The file could not be written or read.
    #[error("the state file {path} was not brought up to date: {source}; the store is, and the next write tries again")]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Mirror {
    /// The mirror of a work tree; its stamp and lock are kept in the state folder.
    pub fn new(is_on: bool, project: &Project, directory: &str, state_folder: &Path) -> Self {
        let tree = digest_hex(&[project.root.as_os_str().as_encoded_bytes(), directory.as_bytes()], 4);
        let stem = state_folder.join("mirrors").join(format!("{:016x}-{tree}", project.key.0));
        Self {
            is_on,
            path: project.root.join(directory).join(STATE_FILE),
            stamp_path: stem.with_extension("json"),
            lock_path: stem.with_extension("lock"),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file is not the one haltline wrote last, or tells of facts after `head`: the store lost them.
    pub fn is_foreign(&self, head: Head) -> bool {
        if !self.is_on {
            return false;
        }
        let stamp = self.stamp();
        let is_lost = stamp.seq > head.seq || (stamp.seq == head.seq && !stamp.is_after(head));
        stamp.renewed(&self.path).is_some_and(|found| found != stamp || is_lost)
    }

    /// Whether there is a state file to look at.
    pub fn is_there(&self) -> bool {
        self.is_on && self.path.exists()
    }

    fn stamp(&self) -> Stamp {
        fs::read(&self.stamp_path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Makes the next write happen although the journal did not grow.
    pub(crate) fn forget_stamp_order(&self) {
        if let Ok(text) = serde_json::to_vec(&Stamp { seq: 0, link: 0, ..self.stamp() }) {
            write_whole(&self.stamp_path, &text, Lasting::Remade).ok();
        }
    }

    /// One process at a time reads or writes the file.
    pub(crate) fn lock(&self) -> Result<Turn, MirrorError> {
        let folder = self.lock_path.parent().unwrap_or(Path::new("."));
        let turn = fs::create_dir_all(folder).and_then(|()| line_up(&self.lock_path, PATIENCE));
        let turn = turn.map_err(|source| self.io(source))?;
        turn.ok_or_else(|| self.io(io::Error::new(io::ErrorKind::TimedOut, "another process holds it")))
    }

    fn io(&self, source: io::Error) -> MirrorError {
        MirrorError::Io { path: self.path.clone(), source }
    }

    /// What somebody else wrote into the file since haltline did, with a damaged file moved aside. Under the lock.
    pub fn read_foreign(&self, head: Head, now: Moment) -> Result<(Reading, Option<PathBuf>), MirrorError> {
        if !self.is_foreign(head) {
            return Ok((Reading::default(), None));
        }
        let size = fs::metadata(&self.path).map_err(|source| self.io(source))?.len();
        let reading = if size > FILE_BYTES_MAX {
            Reading { circuits: Vec::new(), problems: vec![format!("{size} bytes: expected at most {FILE_BYTES_MAX}")] }
        } else {
            read_state_file(&fs::read(&self.path).map_err(|source| self.io(source))?)
        };
        if reading.problems.is_empty() {
            return Ok((reading, None));
        }
        let label = now.at.to_seconds_text().replace(':', "");
        let kept = set_aside(&self.path, &label, SET_ASIDE_MAX).map_err(|source| self.io(source))?;
        Ok((reading, Some(kept)))
    }

    /// Leaves only the violations of a known circuit that its journal does not have. `entries` is all of it.
    pub fn keep_unknown(foreign: &mut Foreign, circuit: &Circuit, entries: &[Entry]) {
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut folded = circuit.totals.violations;
        for violation in violations(entries) {
            folded = folded.saturating_sub(u64::from(violation.weight != Weight::Deduplicated));
            *known.entry(violation.fingerprint).or_default() += 1;
        }
        foreign.violations.retain(|violation| {
            violation.action != PURGED
                && match known.get_mut(&violation.fingerprint()) {
                    Some(count) if *count > 0 => {
                        *count -= 1;
                        false
                    }
                    Some(_) | None => true,
                }
        });
        // The circuit also counts violations whose facts were folded or lost. As many of the oldest lines, from
        // before the journal begins, are taken for those: counting them again would be worse than missing one.
        let begin = entries.iter().rev().find_map(happened_here);
        foreign.violations.sort_by_key(|violation| violation.at);
        foreign.violations.retain(|violation| {
            let is_folded = folded > 0 && begin.is_none_or(|begin| violation.at <= begin);
            folded -= u64::from(is_folded);
            !is_folded
        });
    }

    /// Makes the file anew from the store, unless it stands there already. Under the lock. Says where a damaged
    /// archive was moved to.
    pub fn write(&self, store: &dyn Store, project: &Project, now: Moment) -> Result<Option<PathBuf>, MirrorError> {
        if !self.path.parent().is_some_and(Path::is_dir) {
            return Ok(None);
        }
        let head = store.head(project.key)?;
        let stamp = self.stamp();
        // Both are read under the lock, so a stamp ahead of the store means that the store was lost meanwhile.
        if stamp.is_after(head) && stamp.renewed(&self.path) == Some(stamp) {
            return Ok(None);
        }
        let mut entries = BTreeMap::new();
        let mut archived = Vec::new();
        for (name, state) in store.circuits(project.key)? {
            let State::Constraint(circuit) = state else { continue };
            let history = newest(store, project, &name)?;
            if matches!(circuit.standing, Standing::Retired { .. }) {
                archived.push((name, circuit, history));
            } else {
                entries.insert(name.scope().to_owned(), MirrorEntry::new(&circuit, &history, now));
            }
        }
        if self.is_on && (!entries.is_empty() || self.path.exists()) {
            let mut text = serde_json::to_vec_pretty(&entries).expect("entries are strings and numbers");
            text.push(b'\n');
            write_whole(&self.path, &text, Lasting::Remade).map_err(|source| self.io(source))?;
        }
        let kept = crate::archive::add_missing(&self.path, &archived, now).map_err(|source| self.io(source))?;
        if let Some(stamp) = Stamp::after(head).renewed(&self.path) {
            let text = serde_json::to_vec(&stamp).expect("stamps are numbers");
            write_whole(&self.stamp_path, &text, Lasting::Remade).map_err(|source| self.io(source))?;
        }
        Ok(kept)
    }
}

/// A retired circuit with its history, for the archive.
pub(crate) type Retired = (CircuitName, Box<Circuit>, Vec<Entry>);

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = r#"{
  "git-safety-force-push": {
    "state": "HALF-OPEN",
    "violations": [
      {"timestamp": "2026-02-12T10:30:00Z", "action": "git push --force origin main", "session": "sess_abc123"},
      {"timestamp": "2026-02-08T15:45:00Z", "action": "force push", "session": "sess_def456"}
    ],
    "last_trip": null,
    "last_reset": "2026-02-01T00:00:00Z",
    "config": {"violation_threshold": 3, "window_days": 30, "cooldown_hours": 24, "dedup_seconds": 300}
  }
}"#;

    #[test]
    fn the_seeds_file_is_read() {
        let reading = read_state_file(SEED.as_bytes());
        assert_eq!(reading.problems, Vec::<String>::new());
        let (id, foreign) = &reading.circuits[0];
        assert_eq!((id.as_str(), foreign.state), ("git-safety-force-push", Condition::HalfOpen));
        assert_eq!(foreign.violations.len(), 2);
        assert_eq!(foreign.limits.map(|limits| limits.violation_threshold), Some(3));
    }

    #[test]
    fn what_cannot_be_read_is_named_and_the_rest_is_taken() {
        for (content, problem) in [
            ("{\"a\": {\"state\"", "not a JSON object"),
            ("[]", "not a JSON object"),
            ("{\"a/b\": {}}", "constraint id"),
            ("{\"a\": {\"state\": \"AJAR\"}}", "expected \"CLOSED\""),
            ("{\"a\": {\"state\": \"OPEN\", \"last_trip\": 3}}", "last_trip \"3\""),
            (
                "{\"a\": {\"state\": \"OPEN\", \"violations\": [{\"timestamp\": \"x\", \"action\": \"\", \"session\": \"\"}]}}",
                "instant \"x\"",
            ),
        ] {
            let reading = read_state_file(content.as_bytes());
            assert!(reading.problems.len() == 1 && reading.problems[0].contains(problem), "{content}: {reading:?}");
        }
        let mixed = read_state_file(b"{\"a\": {\"state\": \"OPEN\"}, \"b\": 3}");
        assert_eq!((mixed.circuits.len(), mixed.problems.len()), (1, 1));
    }
}
