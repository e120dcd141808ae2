//! Recorded sessions, read into the words of the core: what `haltline backtest` replays (X3).
//!
//! A transcript says the same things as the live hooks do, later and in other words. Each format has a reader of its
//! own; what they read goes through the same identity and the same `decide` as a hook's payload. A reader never
//! panics, keeps no more than the calls that are open, and passes over kinds of records that it does not know.

mod claude;
mod codex;
mod plain;
mod record;
mod sniff;

use haltline_core::Instant;
use haltline_core::loop_::{Happening, Stream};

use crate::json;
use crate::price::Price;

/// How a recorded session is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Plain events (EVENTS.md).
    Plain,
    /// Claude Code's session files, and those of its sub-agents.
    Claude,
    /// Codex CLI's rollouts.
    Codex,
}

/// How a format is cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One record on each line.
    Lines,
    /// The whole file is one JSON document.
    Document,
}

/// One thing that a transcript says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it happened, where the transcript says so.
    pub at: Option<Instant>,
    /// Whose doing.
    pub stream: Stream,
    /// What happened.
    pub what: Happening,
    /// A second telling of what is in another record: it is judged, and not counted as a call of the session.
    pub is_echo: bool,
}

/// A piece of a transcript that nobody can read. It is counted and passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Plain, Format::Claude, Format::Codex];

    /// The word for it, as plain events name the client.
    pub fn word(self) -> &'static str {
        match self {
            Format::Plain => "plain",
            Format::Claude => "claude-code",
            Format::Codex => "codex",
        }
    }

    /// The format with this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }

    /// The format of a file that begins like this, by its content.
    pub fn of(head: &[u8]) -> Option<Self> {
        sniff::format(head)
    }

    /// How a file of it is cut into pieces.
    pub fn shape(self) -> Shape {
        match self {
            Format::Plain | Format::Claude | Format::Codex => Shape::Lines,
        }
    }
}

/// Reads the pieces of one file, in order.
#[derive(Debug)]
pub struct Reader(Kind);

#[derive(Debug)]
enum Kind {
    Plain,
    Claude(Box<claude::ClaudeReader>),
    Codex(Box<codex::CodexReader>),
}

impl Reader {
    /// A reader of a file. Its name is the session's where the file does not say.
    pub fn new(format: Format, name: &str) -> Self {
        Self::with_prices(format, name, &[])
    }

    /// The same, with prices that win over the list.
    pub fn with_prices(format: Format, name: &str, prices: &[Price]) -> Self {
        Self(match format {
            Format::Plain => Kind::Plain,
            Format::Claude => Kind::Claude(Box::new(claude::ClaudeReader::new(name, prices))),
            Format::Codex => Kind::Codex(Box::new(codex::CodexReader::new(name, prices))),
        })
    }

    /// Reads the next piece: what it says is added to `entries`, also where a part of it is damaged.
    pub fn take(&mut self, piece: &[u8], entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        let text = json::mended(piece);
        match &mut self.0 {
            Kind::Plain => plain::take(&text, entries),
            Kind::Claude(reader) => reader.take(&text, entries),
            Kind::Codex(reader) => reader.take(&text, entries),
        }
    }
}
