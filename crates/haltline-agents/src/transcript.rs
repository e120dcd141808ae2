//! Recorded sessions, read into the words of the core: what `haltline backtest` replays (X3).
//!
//! A transcript says the same things as the live hooks do, later and in other words. Each format has a reader of its
//! own; what they read goes through the same identity and the same `decide` as a hook's payload. A reader never
//! panics, keeps no more than the calls that are open, and passes over kinds of records that it does not know.

mod claude;
pub(crate) mod codex;
mod copilot;
pub(crate) mod gemini;
mod opencode;
pub mod places;
mod plain;
pub(crate) mod qwen;
pub(crate) mod record;
mod sniff;
mod swe_agent;

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
    /// Gemini CLI's chats, in lines.
    Gemini,
    /// Gemini CLI's chats as older versions wrote them, one document each.
    GeminiDocument,
    /// Qwen Code's chats.
    Qwen,
    /// Copilot CLI's `events.jsonl`.
    Copilot,
    /// OpenCode's exports.
    OpenCode,
    /// SWE-agent's `.traj` files.
    SweAgent,
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
    pub const ALL: [Format; 9] = [
        Format::Plain,
        Format::Claude,
        Format::Codex,
        Format::Gemini,
        Format::GeminiDocument,
        Format::Qwen,
        Format::Copilot,
        Format::OpenCode,
        Format::SweAgent,
    ];

    /// The word for it, as plain events name the client.
    pub fn word(self) -> &'static str {
        match self {
            Format::Plain => "plain",
            Format::Claude => "claude-code",
            Format::Codex => "codex",
            Format::Gemini | Format::GeminiDocument => "gemini",
            Format::Qwen => "qwen",
            Format::Copilot => "copilot",
            Format::OpenCode => "opencode",
            Format::SweAgent => "swe-agent",
        }
    }

    /// The format with this name. Where a client has two, in lines and as a document, it is the one in lines: ask
    /// [`Format::of`] too, and take its word where it names the same client.
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
            Format::Plain | Format::Claude | Format::Codex | Format::Gemini | Format::Qwen | Format::Copilot => {
                Shape::Lines
            }
            Format::GeminiDocument | Format::OpenCode | Format::SweAgent => Shape::Document,
        }
    }
}

/// Reads the pieces of one file, in order.
#[derive(Debug)]
pub struct Reader(Kind);

#[derive(Debug)]
enum Kind {
    Plain(Box<plain::PlainReader>),
    Claude(Box<claude::ClaudeReader>),
    Codex(Box<codex::CodexReader>),
    Gemini(Box<gemini::GeminiReader>),
    Qwen(Box<qwen::QwenReader>),
    Copilot(Box<copilot::CopilotReader>),
    OpenCode(Box<opencode::OpenCodeReader>),
    SweAgent(Box<swe_agent::SweAgentReader>),
}

impl Reader {
    /// A reader of a file. Its name is the session's where the file does not say.
    pub fn new(format: Format, name: &str) -> Self {
        Self::with_prices(format, name, &[])
    }

    /// The same, with prices that win over the list.
    pub fn with_prices(format: Format, name: &str, prices: &[Price]) -> Self {
        Self(match format {
            Format::Plain => Kind::Plain(Box::default()),
            Format::Claude => Kind::Claude(Box::new(claude::ClaudeReader::new(name, prices))),
            Format::Codex => Kind::Codex(Box::new(codex::CodexReader::new(name, prices))),
            Format::Gemini | Format::GeminiDocument => Kind::Gemini(Box::new(gemini::GeminiReader::new(name, prices))),
            Format::Qwen => Kind::Qwen(Box::new(qwen::QwenReader::new(name, prices))),
            Format::Copilot => Kind::Copilot(Box::new(copilot::CopilotReader::new(name, prices))),
            Format::OpenCode => Kind::OpenCode(Box::new(opencode::OpenCodeReader::new(name, prices))),
            Format::SweAgent => Kind::SweAgent(Box::new(swe_agent::SweAgentReader::new(name))),
        })
    }

    /// Reads the next piece: what it says is added to `entries`, also where a part of it is damaged.
    pub fn take(&mut self, piece: &[u8], entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        let text = json::mended(piece);
        match &mut self.0 {
            Kind::Plain(reader) => reader.take(&text, entries),
            Kind::Claude(reader) => reader.take(&text, entries),
            Kind::Codex(reader) => reader.take(&text, entries),
            Kind::Gemini(reader) => reader.take(&text, entries),
            Kind::Qwen(reader) => reader.take(&text, entries),
            Kind::Copilot(reader) => reader.take(&text, entries),
            Kind::OpenCode(reader) => reader.take(&text, entries),
            Kind::SweAgent(reader) => reader.take(&text, entries),
        }
    }
}
