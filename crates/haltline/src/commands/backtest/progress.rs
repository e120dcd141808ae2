//! The progress bar, shown on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::environment::variable;
use crate::front::text;

/// Number of characters of a full bar.
const BAR_WIDTH: u64 = 40;

/// A progress bar on standard error.
pub struct Progress {
    done: Arc<AtomicU64>,
    all: u64,
    is_shown: bool,
    /// The percentage on the screen, if the bar is drawn.
    shown_percent: Option<u64>,
}

impl Progress {
    /// A bar that follows `done` up to `all` bytes. It is hidden where output lines on the same terminal would tear it.
    pub fn new(done: &Arc<AtomicU64>, all: u64, has_lines: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal() && variable("TERM").is_some_and(|kind| kind != "dumb");
        let is_torn = has_lines && std::io::stdout().is_terminal();
        Self { done: Arc::clone(done), all, is_shown: is_terminal && !is_torn && all > 0, shown_percent: None }
    }

    /// Draws the bar again if the percentage changed.
    pub fn redraw(&mut self) {
        if !self.is_shown {
            return;
        }
        let percent = (self.done.load(Ordering::Relaxed).min(self.all) * 100) / self.all;
        if self.shown_percent == Some(percent) {
            return;
        }
        self.shown_percent = Some(percent);
        let full = usize::try_from(percent * BAR_WIDTH / 100).unwrap_or_default();
        let (full, empty) = ("#".repeat(full), " ".repeat(usize::try_from(BAR_WIDTH).unwrap_or_default() - full));
        let line = format!("\rReading [{full}{empty}] {percent:>3} %");
        // A closed terminal needs no bar.
        std::io::stderr().write_all(line.as_bytes()).ok();
    }

    /// Prints a warning; the bar is cleared first.
    pub fn warn(&mut self, problem: &str) {
        self.clear();
        text::warn(&text::escape_line(problem));
    }

    /// Removes the bar.
    pub fn clear(&mut self) {
        if self.shown_percent.take().is_some() {
            std::io::stderr().write_all(b"\r\x1b[K").ok();
        }
    }
}
