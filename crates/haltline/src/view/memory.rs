//! Views of the agent's memory folder.

use std::path::Path;

use haltline_engine::memory_protection::{Cleanup, MemoryReport};
use serde::Serialize;

/// The result of `haltline memory report`.
#[derive(Debug, Serialize)]
pub struct ReportView {
    pub schema: u32,
    pub folders: Vec<MemoryView>,
}

#[derive(Debug, Serialize)]
pub struct MemoryView {
    pub folder: String,
    pub bytes: u64,
    pub bytes_max: u64,
    /// Lines of all live telemetry files together.
    pub telemetry_lines: u64,
    /// Limit for one telemetry file.
    pub telemetry_lines_max: u32,
    pub telemetry: Vec<TelemetryView>,
    pub rotations: usize,
    pub sessions: usize,
    pub sessions_max: u32,
    pub archives: usize,
}

/// A live telemetry file.
#[derive(Debug, Serialize)]
pub struct TelemetryView {
    pub name: String,
    pub lines: u64,
    pub bytes: u64,
    /// True if the next cleanup rotates it.
    pub is_due: bool,
}

impl MemoryView {
    pub fn new(folder: &Path, report: &MemoryReport, telemetry_lines_max: u32) -> Self {
        let telemetry: Vec<TelemetryView> = report
            .telemetry
            .iter()
            .map(|file| TelemetryView {
                name: file.name.clone(),
                lines: file.lines,
                bytes: file.bytes,
                is_due: file.is_due,
            })
            .collect();
        Self {
            folder: folder.display().to_string(),
            bytes: report.bytes,
            bytes_max: report.bytes_max,
            telemetry_lines: telemetry.iter().map(|file| file.lines).sum(),
            telemetry_lines_max,
            telemetry,
            rotations: report.rotations,
            sessions: report.sessions,
            sessions_max: report.sessions_max,
            archives: report.archives,
        }
    }
}

/// The result of `haltline memory clean`.
#[derive(Debug, Serialize)]
pub struct CleanView {
    pub schema: u32,
    pub folders: Vec<CleanedView>,
}

#[derive(Debug, Serialize)]
pub struct CleanedView {
    pub folder: String,
    pub files_rotated: usize,
    pub sessions_pruned: usize,
    pub states_truncated: usize,
    pub evidence_dropped: usize,
    pub rotations_deleted: usize,
    pub oldest_deleted: usize,
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub bytes_freed: u64,
    /// Another process was cleaning the folder, so nothing was done.
    pub is_busy: bool,
    pub problems: Vec<String>,
}

impl CleanedView {
    pub fn new(folder: &Path, done: &Cleanup) -> Self {
        Self {
            folder: folder.display().to_string(),
            files_rotated: done.files_rotated,
            sessions_pruned: done.sessions_pruned,
            states_truncated: done.states_truncated,
            evidence_dropped: done.evidence_dropped,
            rotations_deleted: done.rotations_deleted,
            oldest_deleted: done.oldest_deleted,
            bytes_before: done.bytes_before,
            bytes_after: done.bytes_after,
            bytes_freed: done.bytes_freed(),
            is_busy: done.is_busy,
            problems: done.problems.clone(),
        }
    }
}
