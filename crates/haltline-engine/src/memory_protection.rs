//! Keeps the folder in which an agent remembers things small (L9): telemetry, session states, their lists.
//!
//! Only files that seed 002 names are touched, never the active session, never through a link. One cleaner works at a
//! time. A crash at any point loses nothing and leaves no half file: see `pack.rs`, `telemetry.rs` and `sessions.rs`.

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

use crate::queue::line_up;
use pack::UNFINISHED;
use telemetry::Measure;

const DAY_MS: i64 = 86_400_000;
/// How deep the folder is looked through.
const DEPTH_MAX: usize = 8;
/// How long one cleaner waits for another: it does the same work.
const PATIENCE: Duration = Duration::from_millis(200);
const LOCK: &str = ".haltline-memory.lock";

/// What that folder may hold; seed 002's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// A telemetry file with more lines is rotated.
    pub telemetry_lines_max: u32,
    /// A larger one too.
    pub telemetry_kb_max: u32,
    /// And an older one.
    pub telemetry_age_days_max: u32,
    /// Rotated files kept of each telemetry file.
    pub rotations_kept: u32,
    /// Session states that stay.
    pub sessions_max: u32,
    /// An older one is archived.
    pub session_age_days_max: u32,
    /// Entries of a session's evidence that stay.
    pub evidence_entries_max: u32,
    /// Entries of a session's tool history that stay.
    pub tool_history_entries_max: u32,
    /// The whole folder, in bytes.
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

/// What a cleaning did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    /// Telemetry files rotated, or whose rotation was finished.
    pub files_rotated: usize,
    /// Session states packed away.
    pub sessions_pruned: usize,
    /// Session states whose lists were cut.
    pub states_truncated: usize,
    /// Entries of evidence that were summed up.
    pub evidence_dropped: usize,
    /// Rotated files deleted because there were newer ones enough.
    pub rotations_deleted: usize,
    /// Rotated files and packed states deleted because the folder was too large.
    pub oldest_deleted: usize,
    /// The folder's size before.
    pub bytes_before: u64,
    /// And after.
    pub bytes_after: u64,
    /// Another process was at it; nothing was done.
    pub is_busy: bool,
    /// What did not work, one line each; it stays as it was.
    pub problems: Vec<String>,
}

impl Cleanup {
    /// How much smaller the folder is.
    pub fn bytes_freed(&self) -> u64 {
        self.bytes_before.saturating_sub(self.bytes_after)
    }

    fn note(&mut self, path: &Path, result: io::Result<()>) {
        match result {
            // A file that went away meanwhile needs no cleaning.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.problems.push(format!("{}: {error}", path.display()));
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// How the folder is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// All files in it, in bytes.
    pub bytes: u64,
    /// What they may be.
    pub bytes_max: u64,
    /// Live telemetry, by name.
    pub telemetry: Vec<TelemetryFile>,
    /// Rotated files.
    pub rotations: usize,
    /// Session states that are not packed away.
    pub sessions: usize,
    /// How many of those may be.
    pub sessions_max: u32,
    /// Session states that are packed away.
    pub archives: usize,
}

/// A live telemetry file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetryFile {
    /// Its name.
    pub name: String,
    /// Its lines.
    pub lines: u64,
    /// Its size.
    pub bytes: u64,
    /// Whether the next cleaning rotates it.
    pub is_due: bool,
}

/// A plain file of the folder.
struct Entry {
    name: String,
    path: PathBuf,
    bytes: u64,
    modified: Instant,
}

/// Cleans a folder; `active_session` is the one whose state is never touched.
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
    let Some(_turn) = line_up(&directory.join(LOCK), PATIENCE)? else {
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
        done.note(&state.path, cut);
    }
    delete_oldest(directory, limits.total_bytes_max, &mut done);
    done.bytes_after = size(directory);
    Ok(done)
}

/// How a folder is; one that is not there is empty.
pub fn report(directory: &Path, limits: &MemoryLimits, now: Instant) -> MemoryReport {
    let all = all_entries(directory);
    let top = entries(directory);
    let telemetry = top.iter().filter(|entry| telemetry::is_live(&entry.name)).filter_map(|entry| {
        let measure = Measure::of(&entry.path).ok()?;
        let is_due = measure.is_due(limits, now);
        Some(TelemetryFile { name: entry.name.clone(), lines: measure.lines, bytes: measure.bytes, is_due })
    });
    MemoryReport {
        bytes: all.iter().map(|entry| entry.bytes).sum(),
        bytes_max: limits.total_bytes_max,
        telemetry: telemetry.collect(),
        rotations: top.iter().filter(|entry| telemetry::rotated_from(&entry.name).is_some()).count(),
        sessions: top.iter().filter(|entry| sessions::session_of(&entry.name).is_some()).count(),
        sessions_max: limits.sessions_max,
        archives: all.iter().filter(|entry| is_archive(directory, entry)).count(),
    }
}

/// What a crash left; the lock makes sure that nobody is at work on it.
fn remove_unfinished(directory: &Path, done: &mut Cleanup) {
    for entry in all_entries(directory) {
        if entry.name.ends_with(UNFINISHED) {
            done.note(&entry.path, fs::remove_file(&entry.path));
        }
    }
}

/// Rotated files and packed states go, the oldest first, until the folder is small enough. Live files never do.
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
        done.note(&entry.path, deleted);
        // A day without archives needs no folder; one with others in it stays.
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

/// The plain files directly in a folder, by name.
fn entries(folder: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    collect(folder, 0, &mut found);
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found
}

/// The plain files in a folder and below.
fn all_entries(folder: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    collect(folder, DEPTH_MAX, &mut found);
    found
}

/// Links are neither files nor folders here.
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
