//! What guards would have caught in the person's own transcripts, for `haltline constraint new`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haltline_core::constraint::Guard;
use haltline_core::loop_::LoopEvent;
use haltline_engine::redact::storable;
use serde::Serialize;

use super::files::Recording;
use super::own_transcripts;
use super::progress::Progress;
use super::source::{Counts, Merged, Opened, Source};

/// At most this much is read, the newest transcripts first.
const BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How many calls are listed.
const LISTED_MAX: usize = 5;

/// The calls that guards cover.
#[derive(Debug, Default, Serialize)]
pub struct GuardedCalls {
    /// Transcripts that were read.
    pub files: u64,
    /// Transcripts that were left out because the older ones exceed the limit.
    pub files_left_out: u64,
    pub calls: u64,
    pub sessions: u64,
    /// The calls themselves, newest transcript first.
    pub examples: Vec<String>,
}

/// Reads the person's transcripts, the newest first, and collects what the guards cover.
pub fn find(guards: &[Guard], root: &Path, is_json: bool) -> GuardedCalls {
    let found = own_transcripts();
    let mut recordings = found.recordings;
    let modified =
        |recording: &Recording| recording.files.first().and_then(|file| file.metadata().ok()?.modified().ok());
    recordings.sort_by_cached_key(|recording| std::cmp::Reverse(modified(recording)));
    let counts = Arc::new(Counts::default());
    let mut progress = Progress::new(&counts.bytes, found.bytes.min(BYTES_MAX), is_json);
    let root = root.to_str().unwrap_or_default();
    let mut caught = GuardedCalls::default();
    for recording in &recordings {
        let files = recording.files.len() as u64;
        if counts.bytes.load(Ordering::Relaxed) >= BYTES_MAX {
            caught.files_left_out += files;
            continue;
        }
        caught.files += files;
        let sources = recording.files.iter().filter_map(|path| match Source::open(path, None, &[], &counts) {
            Opened::Source(source) => Some(*source),
            Opened::Unknown | Opened::Broken(_) => None,
        });
        let mut entries = Merged::new(sources.collect(), &counts, None);
        let before = caught.calls;
        while let Some(entry) = entries.next() {
            progress.redraw();
            let LoopEvent::ToolStart { action, .. } = &entry.event else { continue };
            if entry.is_echo || !guards.iter().any(|guard| guard.covers(action, root)) {
                continue;
            }
            caught.calls += 1;
            if caught.examples.len() < LISTED_MAX {
                caught.examples.push(storable(&action.shown));
            }
        }
        caught.sessions += u64::from(caught.calls > before);
    }
    progress.clear();
    caught
}
