//! Recorded sessions, read into events of the core: what `haltline backtest` replays (X3).
//!
//! A transcript says the same as the live hooks, later and in another form. Each format has its own reader; the events
//! it reads go through the same identity and the same `decide` as a hook's payload. A reader never panics, keeps no
//! more than the calls that are open, and ignores kinds of records that it does not know.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod copilot;
pub(crate) mod gemini;
pub mod locations;
pub(crate) mod opencode;
mod plain;
pub(crate) mod qwen;
pub(crate) mod record;
mod sniff;
mod swe_agent;

use haltline_core::Instant;
use haltline_core::loop_::{AgentRef, LoopEvent};

use crate::json;
use crate::price::Price;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Plain events (docs/reference/events.md).
    Plain,
    /// Claude Code's session files, and those of its sub-agents.
    Claude,
    Codex,
    /// Gemini CLI's chats, in lines.
    Gemini,
    /// Gemini CLI's chats as older versions wrote them, one document each.
    GeminiDocument,
    Qwen,
    /// Copilot CLI's `events.jsonl`.
    Copilot,
    OpenCode,
    SweAgent,
}

/// How a file of a format is divided into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Lines,
    /// The whole file is one JSON document.
    Document,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The time of the event, if the transcript has it.
    pub at: Option<Instant>,
    pub agent_ref: AgentRef,
    pub event: LoopEvent,
    /// It repeats what another record says: it is evaluated, but not counted as a call of the session.
    pub is_echo: bool,
}

/// A piece of a transcript that cannot be read. It is counted and skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl Format {
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

    /// The stable name, as plain events name the client.
    pub fn as_str(self) -> &'static str {
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

    /// The format with this name. For a client with two formats, lines and a document, it is the one in lines: call
    /// [`Format::detect`] too, and prefer its result if it is of the same client.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// Detects the format of a file by its first bytes.
    pub fn detect(head: &[u8]) -> Option<Self> {
        sniff::format(head)
    }

    /// How a file of this format is divided into pieces.
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
pub struct Reader(FormatReader);

#[derive(Debug)]
enum FormatReader {
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
    /// A reader of a file. The file's name is the session's if the file does not name the session.
    pub fn new(format: Format, name: &str) -> Self {
        Self::with_prices(format, name, &[])
    }

    /// Like [`Reader::new`], with prices that win over the list.
    pub fn with_prices(format: Format, name: &str, prices: &[Price]) -> Self {
        Self(match format {
            Format::Plain => FormatReader::Plain(Box::default()),
            Format::Claude => FormatReader::Claude(Box::new(claude::ClaudeReader::new(name, prices))),
            Format::Codex => FormatReader::Codex(Box::new(codex::CodexReader::new(name, prices))),
            Format::Gemini | Format::GeminiDocument => {
                FormatReader::Gemini(Box::new(gemini::GeminiReader::new(name, prices)))
            }
            Format::Qwen => FormatReader::Qwen(Box::new(qwen::QwenReader::new(name, prices))),
            Format::Copilot => FormatReader::Copilot(Box::new(copilot::CopilotReader::new(name, prices))),
            Format::OpenCode => FormatReader::OpenCode(Box::new(opencode::OpenCodeReader::new(name, prices))),
            Format::SweAgent => FormatReader::SweAgent(Box::new(swe_agent::SweAgentReader::new(name))),
        })
    }

    /// Reads the next piece and adds its events to `entries`, also when a part of the piece is damaged.
    pub fn read_piece(&mut self, piece: &[u8], entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        let text = json::decode_lossy(piece);
        match &mut self.0 {
            FormatReader::Plain(reader) => reader.read_line(&text, entries),
            FormatReader::Claude(reader) => reader.read_line(&text, entries),
            FormatReader::Codex(reader) => reader.read_line(&text, entries),
            FormatReader::Gemini(reader) => reader.read_piece(&text, entries),
            FormatReader::Qwen(reader) => reader.read_line(&text, entries),
            FormatReader::Copilot(reader) => reader.read_line(&text, entries),
            FormatReader::OpenCode(reader) => reader.read_document(&text, entries),
            FormatReader::SweAgent(reader) => reader.read_document(&text, entries),
        }
    }
}
