//! How far the reading is, on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::front::text;
use crate::surroundings::variable;

/// How many marks a full bar has.
const MARKS: u64 = 40;

/// A bar on standard error.
pub struct Progress {
    done: Arc<AtomicU64>,
    all: u64,
    is_shown: bool,
    /// What the bar says now, in percent.
    said: Option<u64>,
}

impl Progress {
    /// A bar that follows `done` up to `all` bytes. Lines on the same terminal would tear it apart.
    pub fn new(done: &Arc<AtomicU64>, all: u64, has_lines: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal() && variable("TERM").is_some_and(|kind| kind != "dumb");
        let is_torn = has_lines && std::io::stdout().is_terminal();
        Self { done: Arc::clone(done), all, is_shown: is_terminal && !is_torn && all > 0, said: None }
    }

    /// Draws it anew where it moved.
    pub fn look(&mut self) {
        if !self.is_shown {
            return;
        }
        let percent = (self.done.load(Ordering::Relaxed).min(self.all) * 100) / self.all;
        if self.said == Some(percent) {
            return;
        }
        self.said = Some(percent);
        let full = usize::try_from(percent * MARKS / 100).unwrap_or_default();
        let (full, empty) = ("#".repeat(full), " ".repeat(usize::try_from(MARKS).unwrap_or_default() - full));
        let line = format!("\rReading [{full}{empty}] {percent:>3} %");
        // A terminal that is gone needs no bar.
        std::io::stderr().write_all(line.as_bytes()).ok();
    }

    /// Says something a person should know, beside the bar.
    pub fn warn(&mut self, problem: &str) {
        self.clear();
        text::warn(&text::shown(problem));
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        if self.said.take().is_some() {
            std::io::stderr().write_all(b"\r\x1b[K").ok();
        }
    }
}
