//! Text of `haltline memory`.

use super::{count, fit};
use crate::view::memory::{CleanView, MemoryView, ReportView};

const NOTHING: &str = "No memory folder here; `--dir` names another.\n";

/// `memory report`.
pub fn memory_report(view: &ReportView) -> String {
    if view.folders.is_empty() {
        return NOTHING.to_owned();
    }
    let mut out = String::new();
    for folder in &view.folders {
        out.push_str(&format!("{}\n", fit(&folder.folder, 78)));
        out.push_str(&memory_health(folder));
        for file in &folder.telemetry {
            let due = if file.is_due { ", due" } else { "" };
            let (lines, kb) = (count(file.lines, "line"), file.bytes.div_ceil(1024));
            out.push_str(&format!("    {}: {lines}, {kb} KB{due}\n", fit(&file.name, 40)));
        }
    }
    out
}

/// Seed 002's lines about memory health.
pub fn memory_health(view: &MemoryView) -> String {
    let MemoryView { bytes, bytes_max, telemetry_lines, telemetry_lines_max, sessions, sessions_max, .. } = view;
    let used = *bytes as f64 / *bytes_max as f64 * 100.0;
    let of_limit = telemetry_lines * 100 / u64::from(*telemetry_lines_max);
    let limit = if *sessions >= *sessions_max as usize { "at limit" } else { "below limit" };
    let longest = view.telemetry.iter().map(|file| file.lines).max().unwrap_or_default();
    let longest = longest * 100 / u64::from(*telemetry_lines_max);
    let telemetry = match view.telemetry.len() {
        0 | 1 => format!("{of_limit}% of {telemetry_lines_max} limit"),
        files => format!("{files} files, the longest at {longest}% of {telemetry_lines_max} limit"),
    };
    format!(
        "  Total: {}KB / {}MB limit ({used:.1}% used)\n  Telemetry: {} ({telemetry})\n  Sessions: {sessions} active ({limit}), {} archived\n  Rotations: {}\n",
        bytes.div_ceil(1024),
        bytes_max >> 20,
        count(*telemetry_lines, "line"),
        view.archives,
        view.rotations,
    )
}

/// `memory clean`.
pub fn memory_clean(view: &CleanView) -> String {
    if view.folders.is_empty() {
        return NOTHING.to_owned();
    }
    let mut out = String::new();
    for folder in &view.folders {
        out.push_str(&format!("{}\n", fit(&folder.folder, 78)));
        if folder.is_busy {
            out.push_str("  Another process is cleaning it.\n");
            continue;
        }
        out.push_str(&format!(
            "  Memory cleanup: {} rotated, {} pruned, {} KB freed\n",
            count(folder.files_rotated as u64, "file"),
            count(folder.sessions_pruned as u64, "session"),
            folder.bytes_freed.div_ceil(1024)
        ));
        if folder.evidence_dropped > 0 {
            out.push_str(&format!("  Evidence: oldest summed up, {}\n", folder.evidence_dropped));
        }
        let deleted = folder.rotations_deleted + folder.oldest_deleted;
        if deleted > 0 {
            out.push_str(&format!("  Oldest copies deleted: {deleted}\n"));
        }
    }
    out
}
