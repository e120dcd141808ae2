//! What follows a committed decision: mirror and archive files, seed 002's incidents file, notifications.
//!
//! An effect never decides and never commits an event.

use std::fs::OpenOptions;
use std::io::Write;

use haltline_core::{Decision, Effect};

use crate::engine::{Engine, is_notify};
use crate::incident;
use crate::store::Store;

/// File in which seed 002 keeps its incidents, in its memory folder.
pub const INCIDENTS_FILE: &str = "circuit_breaker_incidents.jsonl";

impl<S: Store> Engine<S> {
    /// Runs the effects of a committed decision.
    pub(crate) fn run_effects(&self, decision: &Decision) {
        if !self.uses_files() {
            return;
        }
        self.write_incidents(decision);
        let effects = &decision.effects;
        let has_archive = effects.iter().any(|effect| matches!(effect, Effect::Archive(_)));
        if has_archive || (self.config().constraint_mirror() && effects.contains(&Effect::Mirror)) {
            self.write_mirror();
        }
        if effects.iter().any(is_notify) {
            self.notify();
        }
    }

    /// Appends trips to seed 002's incidents file if the project has seed 002's memory folder (L10).
    fn write_incidents(&self, decision: &Decision) {
        let tripped = incident::recorded_trips(decision);
        if tripped.is_empty() {
            return;
        }
        let folder = self.project().root.join(self.config().memory_directory());
        if !folder.is_dir() {
            return;
        }
        let lines: String = tripped.into_iter().map(|incident| self.incident_line(incident)).collect();
        let file = folder.join(INCIDENTS_FILE);
        let append = || OpenOptions::new().create(true).append(true).open(&file)?.write_all(lines.as_bytes());
        if let Err(error) = append() {
            self.add_notice(format!("{}: {error}", file.display()));
        }
    }
}
