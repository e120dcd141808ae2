//! Keeps the folder of an agent's memory small (L9): telemetry, session states, and the lists in them.
//!
//! haltline touches only files that seed 002 names, never the active session, and never through a link. One cleanup
//! runs at a time. A crash at any point loses nothing and leaves no half-written file: see `pack.rs`, `telemetry.rs`
//! and `sessions.rs`.

mod ledger;
mod pack;
mod sessions;
mod telemetry;

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::Instant;
use serde::Serialize;

use crate::queue::wait_in_queue;
use pack::UNFINISHED;
use telemetry::FileMeasure;

const DAY_MS: i64 = 86_400_000;
/// How deep the folder is searched.
const DEPTH_MAX: usize = 8;
/// How long one cleanup waits for another, which does the same work.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);
const LOCK: &str = ".haltline-memory.lock";

/// The limits of the memory folder; the defaults are those of seed 002.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// A telemetry file with more lines is rotated.
    pub telemetry_lines_max: u32,
    /// A larger telemetry file is rotated.
    pub telemetry_kb_max: u32,
    /// An older telemetry file is rotated.
    pub telemetry_age_days_max: u32,
    /// How many rotated files are kept of each telemetry file.
    pub rotations_kept: u32,
    /// How many session states are kept unpacked.
    pub sessions_max: u32,
    /// An older session state is archived.
    pub session_age_days_max: u32,
    /// How many entries of a session's evidence are kept.
    pub evidence_entries_max: u32,
    /// How many entries of a session's tool history are kept.
    pub tool_history_entries_max: u32,
    /// Limit on the size of the whole folder.
    pub total_bytes_max: u64,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            telemetry_lines_max: 1000,
            telemetry_kb_max: 50,
            telemetry_age_days_max: 7,
            rotations_kept: 5,
            sessions_max: 10,
            session_age_days_max: 7,
            evidence_entries_max: 100,
            tool_history_entries_max: 50,
            total_bytes_max: 5 * 1024 * 1024,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cleanup {
    /// Telemetry files that were rotated, or whose rotation was finished.
    pub files_rotated: usize,
    /// Session states that were archived.
    pub sessions_pruned: usize,
    /// Session states whose lists were cut.
    pub states_truncated: usize,
    /// Evidence entries that were replaced by a summary.
    pub evidence_dropped: usize,
    /// Rotated files that were deleted because there are enough newer ones.
    pub rotations_deleted: usize,
    /// Rotated files and archived states that were deleted because the folder was too large.
    pub oldest_deleted: usize,
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub bytes_freed: u64,
    /// Another process was cleaning up, so nothing was done.
    pub is_busy: bool,
    /// What failed, one line each; those files are unchanged.
    pub problems: Vec<String>,
}

impl Cleanup {
    fn note_result(&mut self, path: &Path, result: io::Result<()>) {
        match result {
            // A file that disappeared meanwhile needs no cleanup.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.problems.push(format!("{}: {error}", path.display()));
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// The current state of the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryReport {
    /// The size of all files.
    pub bytes: u64,
    pub bytes_max: u64,
    /// Lines of all live telemetry files together.
    pub telemetry_lines: u64,
    /// The limit on the lines of one telemetry file.
    pub telemetry_lines_max: u32,
    /// Live telemetry files, sorted by name.
    pub telemetry: Vec<TelemetryFile>,
    /// How many rotated files there are.
    pub rotations: usize,
    /// How many session states are not archived.
    pub sessions: usize,
    pub sessions_max: u32,
    /// How many session states are archived.
    pub archives: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TelemetryFile {
    pub name: String,
    pub lines: u64,
    pub bytes: u64,
    /// True if the next cleanup rotates it.
    pub is_due: bool,
}

/// A regular file in the folder.
struct Entry {
    name: String,
    path: PathBuf,
    bytes: u64,
    modified: Instant,
}

/// Cleans up a folder; never touches the state of `active_session`.
pub fn clean(
    directory: &Path,
    limits: &MemoryLimits,
    active_session: Option<&str>,
    now: Instant,
) -> io::Result<Cleanup> {
    let mut done = Cleanup::default();
    if !fs::metadata(directory)?.is_dir() {
        return Err(io::Error::other("not a folder"));
    }
    let Some(_guard) = wait_in_queue(&directory.join(LOCK), LOCK_TIMEOUT)? else {
        return Ok(Cleanup { is_busy: true, ..done });
    };
    done.bytes_before = size(directory);
    remove_unfinished(directory, &mut done);
    telemetry::clean(directory, &entries(directory), limits, now, &mut done);
    let states = sessions::states(&entries(directory), active_session);
    let staying = sessions::clean(directory, states, active_session, limits, now, &mut done);
    for state in staying.iter().filter(|state| active_session != Some(state.session.as_str())) {
        let cut = ledger::truncate(state, limits).map(|cut| {
            done.states_truncated += usize::from(cut != ledger::Cut::default());
            done.evidence_dropped += cut.evidence;
        });
        done.note_result(&state.path, cut);
    }
    delete_oldest(directory, limits.total_bytes_max, &mut done);
    done.bytes_after = size(directory);
    done.bytes_freed = done.bytes_before.saturating_sub(done.bytes_after);
    Ok(done)
}

/// The size of the files directly in a folder that a cleanup may read or pack; packing takes about 0.2 s per MB.
pub fn bytes_to_clean(directory: &Path) -> u64 {
    entries(directory).iter().filter(|entry| !entry.name.ends_with(".gz")).map(|entry| entry.bytes).sum()
}

/// The current state of a folder; a missing folder counts as empty.
pub fn report(directory: &Path, limits: &MemoryLimits, now: Instant) -> MemoryReport {
    let all = all_entries(directory);
    let top = entries(directory);
    let telemetry: Vec<TelemetryFile> = top
        .iter()
        .filter(|entry| telemetry::is_live(&entry.name))
        .filter_map(|entry| {
            let measure = FileMeasure::read(&entry.path).ok()?;
            let is_due = measure.is_due(limits, now);
            Some(TelemetryFile { name: entry.name.clone(), lines: measure.lines, bytes: measure.bytes, is_due })
        })
        .collect();
    MemoryReport {
        bytes: all.iter().map(|entry| entry.bytes).sum(),
        bytes_max: limits.total_bytes_max,
        telemetry_lines: telemetry.iter().map(|file| file.lines).sum(),
        telemetry_lines_max: limits.telemetry_lines_max,
        telemetry,
        rotations: top.iter().filter(|entry| telemetry::rotated_from(&entry.name).is_some()).count(),
        sessions: top.iter().filter(|entry| sessions::session_from_name(&entry.name).is_some()).count(),
        sessions_max: limits.sessions_max,
        archives: all.iter().filter(|entry| is_archive(directory, entry)).count(),
    }
}

/// Removes what a crash left. The lock guarantees that no other process is working on it.
fn remove_unfinished(directory: &Path, done: &mut Cleanup) {
    for entry in all_entries(directory) {
        if entry.name.ends_with(UNFINISHED) {
            done.note_result(&entry.path, fs::remove_file(&entry.path));
        }
    }
}

/// Deletes rotated files and archived states, oldest first, until the folder is small enough. Never deletes live files.
fn delete_oldest(directory: &Path, bytes_max: u64, done: &mut Cleanup) {
    let mut total = size(directory);
    if total < bytes_max {
        return;
    }
    let mut old = all_entries(directory);
    old.retain(|entry| is_rotation(directory, entry) || is_archive(directory, entry));
    old.sort_by(|left, right| (left.modified, &left.path).cmp(&(right.modified, &right.path)));
    for entry in old {
        if total < bytes_max {
            break;
        }
        let deleted = fs::remove_file(&entry.path).map(|()| {
            total = total.saturating_sub(entry.bytes);
            done.oldest_deleted += 1;
        });
        done.note_result(&entry.path, deleted);
        // Removes the folder of a day without archives; a folder that is not empty stays.
        if let Some(day) = entry.path.parent().filter(|day| *day != directory) {
            fs::remove_dir(day).ok();
        }
    }
    if total >= bytes_max {
        done.problems.push(format!(
            "{}: {} KB of live files alone; the limit is {} KB",
            directory.display(),
            total.div_ceil(1024),
            bytes_max / 1024
        ));
    }
}

fn is_rotation(directory: &Path, entry: &Entry) -> bool {
    telemetry::rotated_from(&entry.name).is_some() && entry.path.parent() == Some(directory)
}

fn is_archive(directory: &Path, entry: &Entry) -> bool {
    let is_packed = entry.name.ends_with(".json.gz") && entry.name.contains("_state.");
    is_packed && entry.path.starts_with(directory.join(sessions::ARCHIVES))
}

fn size(directory: &Path) -> u64 {
    all_entries(directory).iter().map(|entry| entry.bytes).sum()
}

/// The regular files directly in a folder, sorted by name.
fn entries(folder: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    collect(folder, 0, &mut found);
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found
}

/// The regular files in a folder and below.
fn all_entries(folder: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    collect(folder, DEPTH_MAX, &mut found);
    found
}

/// Skips links.
fn collect(folder: &Path, depth: usize, found: &mut Vec<Entry>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (Ok(kind), path) = (entry.metadata(), entry.path()) else { continue };
        if kind.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            found.push(Entry { name, path, bytes: kind.len(), modified: modified(&kind) });
        } else if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, found);
        }
    }
}

fn modified(file: &Metadata) -> Instant {
    Instant::from_millis(file.mtime().saturating_mul(1000).saturating_add(file.mtime_nsec() / 1_000_000))
}
