//! What a headless client reports about its own run: the agent's text, the tokens and cost it used, and how it ended.
//!
//! The exit code of a client is not reliable: Claude Code and Codex exit with 0 after a hook stopped them, so haltline
//! reads the ending from their JSON output. Only what the client and its agent say counts. The same output contains
//! what tools print, files hold and people type; haltline ignores it, because it may quote limits, errors and status
//! blocks of others. A program that prints plain text says little about itself, and haltline trusts only the end of it.
//!
//! Bytes are pushed as they arrive, in pieces of any size. Memory is bounded by the longest line and by what is kept.

mod claude;
mod codex;
mod fault;
mod plain;
mod reset;

use serde_json::value::RawValue;

use crate::json;
use crate::price::Price;
use crate::terminal_text;
use claude::Claude;
use codex::Codex;
pub use reset::Reset;

/// Longer lines are skipped.
const LINE_BYTES_MAX: usize = 1 << 20;
/// How much of the agent's text is kept, from the end.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// How much of one message is kept, from the end.
const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// How much of a client's error message is kept, from the beginning.
const ERROR_BYTES_MAX: usize = 2048;
/// A client that prints JSON does so from the start. After this many other lines, JSON is only something that was
/// printed.
const PREAMBLE_LINES_MAX: u32 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people.
    #[default]
    Plain,
    /// Claude Code's `stream-json` or `json`.
    ClaudeCode,
    /// Codex's `exec --json`.
    Codex,
}

/// What a run has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens of every kind; `None` if the program does not say.
    pub tokens: Option<u64>,
    /// Millionths of a dollar; `None` if neither the program nor the price list says.
    pub cost_micros: Option<u64>,
    /// The cost is tokens times list prices, not the client's own figure.
    pub estimated: bool,
    /// The numbers cover the whole session, including the runs that this one continues; Codex counts like that. To add
    /// up runs, take the difference to the previous run with the same [`HeadlessReport::session`].
    pub whole_session: bool,
}

/// How the run ended, as the client itself reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// The client did not say.
    #[default]
    Silent,
    /// The agent ended its turn.
    Finished,
    Hook {
        reason: Option<String>,
    },
    /// The service accepts no more requests for a while.
    ApiLimit {
        resets: Option<Reset>,
        message: String,
    },
    /// The service could not be reached, was overloaded, or rejected the login.
    Infrastructure {
        message: String,
    },
    /// The run used up its limit of turns.
    Turns,
    /// Something else went wrong.
    Failed {
        /// The client's name for the error.
        kind: String,
        message: String,
    },
}

/// What a program reported about its own run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadlessReport {
    pub format: OutputFormat,
    /// The session's id, as the client names it.
    pub session: Option<String>,
    /// The end of the agent's text; for plain output, the end of the output.
    pub text: String,
    pub last_message: String,
    pub spent: Spent,
    pub ending: Ending,
    /// Calls that the client denied, by a hook or because nobody had allowed them.
    pub denials: u32,
    /// Those of `denials` that a hook denied.
    pub hook_denials: u32,
    /// Tool calls, including those of sub-agents.
    pub tool_calls: u64,
    /// Those of `tool_calls` that write, as far as the call shows it.
    pub writing_calls: u64,
    /// The agent may only plan, or it submitted a plan for approval.
    pub is_planning: bool,
    /// A question that the agent asked with a tool, which nobody can answer in a headless run.
    pub question: Option<String>,
}

impl HeadlessReport {
    fn add_message(&mut self, message: &str, text: &mut TextTail) {
        text.push(message);
        text.push("\n");
        self.last_message = last_bytes(message, MESSAGE_BYTES_MAX).to_owned();
    }
}

/// Parses the output of a program while it runs.
#[derive(Debug, Default)]
pub struct HeadlessParser {
    parser: FormatParser,
    /// The beginning of a line that has not ended yet.
    line: Vec<u8>,
    /// The line is too long, and the rest of it is skipped.
    is_skipping: bool,
    prices: Vec<Price>,
}

#[derive(Debug)]
enum FormatParser {
    /// The format is not known yet, or is plain text.
    Plain {
        tail: TextTail,
        lines: u32,
    },
    Claude(Box<Claude>),
    Codex(Box<Codex>),
}

impl Default for FormatParser {
    fn default() -> Self {
        FormatParser::Plain { tail: TextTail::default(), lines: 0 }
    }
}

impl HeadlessParser {
    /// A parser that knows these prices in addition to the list.
    pub fn with_prices(prices: &[Price]) -> Self {
        Self { prices: prices.to_vec(), ..Self::default() }
    }

    /// Parses the next bytes of the output.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (rest, next) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() && !self.is_skipping && rest.len() <= LINE_BYTES_MAX {
                self.parse_line(rest);
            } else {
                self.append(rest);
                self.end_line();
            }
            bytes = next;
        }
        self.append(bytes);
    }

    /// What the run has used so far.
    pub fn spent(&self) -> Spent {
        match &self.parser {
            FormatParser::Plain { .. } => Spent::default(),
            FormatParser::Claude(claude) => claude.spent(&self.prices),
            FormatParser::Codex(codex) => codex.spent(),
        }
    }

    /// The session's id, if the client has named it yet.
    pub fn session(&self) -> Option<&str> {
        match &self.parser {
            FormatParser::Plain { .. } => None,
            FormatParser::Claude(claude) => claude.session(),
            FormatParser::Codex(codex) => codex.session(),
        }
    }

    /// Everything the program reported. A last line without a line break counts.
    pub fn finish(mut self) -> HeadlessReport {
        self.end_line();
        let spent = self.spent();
        match self.parser {
            FormatParser::Plain { tail, .. } => {
                let text = tail.finish();
                let ending = plain::ending(&text);
                let last_message = last_bytes(&text, MESSAGE_BYTES_MAX).to_owned();
                HeadlessReport { text, last_message, ending, spent, ..HeadlessReport::default() }
            }
            FormatParser::Claude(claude) => HeadlessReport { spent, ..claude.finish() },
            FormatParser::Codex(codex) => HeadlessReport { spent, ..codex.finish() },
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.is_skipping || self.line.len() + bytes.len() > LINE_BYTES_MAX {
            self.is_skipping = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !std::mem::take(&mut self.is_skipping) && !line.is_empty() {
            self.parse_line(&line);
        }
    }

    fn parse_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        self.recognise(line);
        match &mut self.parser {
            FormatParser::Claude(claude) => each_object(line, |object| claude.parse_object(object)),
            FormatParser::Codex(codex) => each_object(line, |object| codex.parse_object(object)),
            FormatParser::Plain { tail, lines } => {
                *lines = lines.saturating_add(u32::from(!line.is_empty()));
                tail.push(&terminal_text::visible_text(&json::decode_lossy(line)));
                tail.push("\n");
            }
        }
    }

    /// Detects the format. Lines from before the client's first one do not belong to its agent.
    fn recognise(&mut self, line: &[u8]) {
        let FormatParser::Plain { lines: 0..PREAMBLE_LINES_MAX, .. } = self.parser else { return };
        let mut found = None;
        each_object(line, |object| {
            if found.is_none() && claude::recognises(object) {
                found = Some(FormatParser::Claude(Box::default()));
            } else if found.is_none() && codex::recognises(object) {
                found = Some(FormatParser::Codex(Box::default()));
            }
        });
        if let Some(parser) = found {
            self.parser = parser;
        }
    }
}

/// Calls `handle` with each object on a line: the only one, or those of a list.
fn each_object<'a>(line: &'a [u8], mut handle: impl FnMut(&'a RawValue)) {
    if !matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return;
    }
    let Ok(value) = serde_json::from_slice::<&RawValue>(line) else { return };
    match json::list::<&RawValue>(value) {
        Some(list) => list.into_iter().for_each(handle),
        None => handle(value),
    }
}

/// Keeps the end of a long text.
#[derive(Debug, Default)]
struct TextTail {
    text: String,
    is_cut: bool,
}

impl TextTail {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        // Cutting only at twice the limit keeps the work linear.
        if self.text.len() > 2 * TEXT_BYTES_MAX {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let start = self.text.len() - last_bytes(&self.text, TEXT_BYTES_MAX).len();
        self.is_cut |= start > 0;
        self.text.drain(..start);
    }

    /// The kept text; a partial line at its beginning is dropped.
    fn finish(mut self) -> String {
        self.cut();
        match self.text.find('\n') {
            Some(end) if self.is_cut && end + 1 < self.text.len() => self.text.split_off(end + 1),
            Some(_) | None => self.text,
        }
    }
}

/// The last bytes of a text, starting at a character boundary.
fn last_bytes(text: &str, bytes_max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..]
}

/// The first bytes of a text, ending at a character boundary.
fn first_bytes(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The ending that a client's message about itself means; `None` if it is another kind of message.
pub(crate) fn ending_of_message(message: &str, error_name: Option<&str>) -> Option<Ending> {
    fault::ending(message, None, error_name)
}

/// The part of a client's error message that is kept.
fn error_excerpt(message: &str) -> String {
    first_bytes(message.trim(), ERROR_BYTES_MAX).to_owned()
}
