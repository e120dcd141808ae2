//! Text of `haltline memory`.

use haltline_engine::memory_protection::{Cleanup, MemoryReport};

use super::{Page, count, fit};
use crate::view::memory::{FolderView, FoldersView};

/// `memory report`.
pub fn memory_report(view: &FoldersView<MemoryReport>) -> String {
    folders(view, |page, report| {
        push_memory_health(page, report);
        for file in &report.telemetry {
            let due = if file.is_due { ", due" } else { "" };
            let (lines, kb) = (count(file.lines, "line"), file.bytes.div_ceil(1024));
            page.line(format_args!("    {}: {lines}, {kb} KB{due}", fit(&file.name, 40)));
        }
    })
}

/// `memory clean`.
pub fn memory_clean(view: &FoldersView<Cleanup>) -> String {
    folders(view, |page, done| {
        if done.is_busy {
            return page.line("  Another process is cleaning this folder.");
        }
        page.line(format_args!(
            "  Memory cleanup: {} rotated, {} pruned, {} KB freed",
            count(done.files_rotated, "file"),
            count(done.sessions_pruned, "session"),
            done.bytes_freed.div_ceil(1024)
        ));
        if done.evidence_dropped > 0 {
            page.line(format_args!("  Evidence: summarised the oldest {} entries", done.evidence_dropped));
        }
        let deleted = done.rotations_deleted + done.oldest_deleted;
        if deleted > 0 {
            page.line(format_args!("  Oldest copies deleted: {deleted}"));
        }
    })
}

fn folders<T>(view: &FoldersView<T>, push: impl Fn(&mut Page, &T)) -> String {
    let mut page = Page::new(0);
    if view.folders.is_empty() {
        page.line("This project has no memory folder; name one with --dir FOLDER.");
    }
    for FolderView { folder, content } in &view.folders {
        page.line(fit(folder, 78));
        push(&mut page, content);
    }
    page.finish()
}

/// The lines about memory health, as seed 002 prescribes them.
pub fn push_memory_health(page: &mut Page, report: &MemoryReport) {
    let MemoryReport { bytes, bytes_max, telemetry_lines, telemetry_lines_max, sessions, sessions_max, .. } = report;
    let used = *bytes as f64 / *bytes_max as f64 * 100.0;
    let of_limit = |lines: u64| lines * 100 / u64::from(*telemetry_lines_max);
    let limit = if *sessions >= *sessions_max as usize { "at limit" } else { "below limit" };
    let longest = report.telemetry.iter().map(|file| file.lines).max().unwrap_or_default();
    let telemetry = match report.telemetry.len() {
        0 | 1 => format!("{}% of {telemetry_lines_max} limit", of_limit(*telemetry_lines)),
        files => format!("{files} files, the longest at {}% of {telemetry_lines_max} limit", of_limit(longest)),
    };
    page.line(format_args!("  Total: {}KB / {}MB limit ({used:.1}% used)", bytes.div_ceil(1024), bytes_max >> 20));
    page.line(format_args!("  Telemetry: {} ({telemetry})", count(*telemetry_lines, "line")));
    page.line(format_args!("  Sessions: {sessions} active ({limit}), {} archived", report.archives));
    page.line(format_args!("  Rotations: {}", report.rotations));
}
