//! What a headless client said of itself while it ran: its words, what it took, and how it ended.
//!
//! A client's exit code lies: Claude Code and Codex exit with 0 after a hook stopped them, so the ending is read from
//! their JSON streams. Only what the client and its agent say counts; what tools print, files hold and people ask
//! stands in the same streams and is passed over, because it quotes limits, errors and status blocks of others.
//! A program that prints plain text says little, and of that only its end is believed.
//!
//! Bytes go in as they come, in any pieces. Memory is bounded by the longest line that is read and by what is kept.

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

/// The longest line that is read; what is longer is skipped.
const LINE_BYTES_MAX: usize = 1 << 20;
/// How much of the agent's words is kept, from the end.
const WORDS_BYTES_MAX: usize = 64 << 10;
/// How much of one message is kept, from the end.
const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// How much of a client's complaint is kept, from the beginning.
const COMPLAINT_BYTES_MAX: usize = 2048;
/// A client that speaks JSON does so from the start. After so many other lines, JSON is something that is printed.
const PREAMBLE_LINES_MAX: u32 = 20;

/// What the program speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Text for people.
    #[default]
    Plain,
    /// Claude Code's `stream-json` or `json`.
    ClaudeCode,
    /// Codex's `exec --json`.
    Codex,
}

/// What it took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens of every kind; unknown where the program does not say.
    pub tokens: Option<u64>,
    /// Millionths of a dollar; unknown where neither the program nor the list of prices says.
    pub cost_micros: Option<u64>,
    /// The cost is tokens times list prices, not the client's own figure.
    pub estimated: bool,
    /// The figures are those of the whole session, with the runs it continues: Codex counts so. Whoever adds up runs
    /// takes the difference to the run before that had the same [`Told::session`].
    pub whole_session: bool,
}

/// How it ended, in the client's own account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It did not say.
    #[default]
    Silent,
    /// The agent ended its turn.
    Finished,
    /// A hook ended it.
    Hook {
        /// Why, where the stream says so.
        reason: Option<String>,
    },
    /// The service allows no more for a while.
    ApiLimit {
        /// Until when.
        resets: Option<Reset>,
        /// What the client said.
        message: String,
    },
    /// The service could not be reached, was overloaded, or did not let it in.
    Infrastructure {
        /// What the client said.
        message: String,
    },
    /// It used up the turns it was given.
    Turns,
    /// Something else went wrong.
    Failed {
        /// What, in the client's word.
        kind: String,
        /// What the client said.
        message: String,
    },
}

/// What a program said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What it speaks.
    pub dialect: Dialect,
    /// The session, as the client names it.
    pub session: Option<String>,
    /// The agent's own words, the last ones; of plain output its tail.
    pub words: String,
    /// The last thing the agent said.
    pub last_message: String,
    /// What it took.
    pub spent: Spent,
    /// How it ended.
    pub ending: Ending,
    /// Calls the client refused because nobody had allowed them, or a hook had not.
    pub denials: u32,
    /// Those of them that a hook refused.
    pub hook_denials: u32,
    /// Calls of tools, those of sub-agents included.
    pub tool_calls: u64,
    /// Those of them that write, as far as one can tell from the call.
    pub writing_calls: u64,
    /// It may only plan, or it handed in a plan to be approved.
    pub is_planning: bool,
    /// A question it asked by way of a tool, which nobody can answer here.
    pub asked: Option<String>,
}

/// Listens to a program.
#[derive(Debug, Default)]
pub struct Headless {
    speaker: Speaker,
    /// The beginning of a line that has not ended yet.
    line: Vec<u8>,
    /// The line is too long: it is skipped to its end.
    is_skipping: bool,
    prices: Vec<Price>,
}

#[derive(Debug)]
enum Speaker {
    /// What it speaks is not known yet, or is plain text.
    Plain {
        tail: Tail,
        lines: u32,
    },
    Claude(Box<Claude>),
    Codex(Box<Codex>),
}

impl Default for Speaker {
    fn default() -> Self {
        Speaker::Plain { tail: Tail::new(WORDS_BYTES_MAX), lines: 0 }
    }
}

impl Headless {
    /// One that knows these prices beside the list.
    pub fn with_prices(prices: &[Price]) -> Self {
        Self { prices: prices.to_vec(), ..Self::default() }
    }

    /// Takes what the program wrote next.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (rest, next) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() && !self.is_skipping && rest.len() <= LINE_BYTES_MAX {
                self.take(rest);
            } else {
                self.append(rest);
                self.end_line();
            }
            bytes = next;
        }
        self.append(bytes);
    }

    /// What it took so far.
    pub fn spent(&self) -> Spent {
        match &self.speaker {
            Speaker::Plain { .. } => Spent::default(),
            Speaker::Claude(claude) => claude.spent(&self.prices),
            Speaker::Codex(codex) => codex.spent(),
        }
    }

    /// The session, as the client named it so far.
    pub fn session(&self) -> Option<&str> {
        match &self.speaker {
            Speaker::Plain { .. } => None,
            Speaker::Claude(claude) => claude.session(),
            Speaker::Codex(codex) => codex.session(),
        }
    }

    /// All it said. A last line without an end counts.
    pub fn finish(mut self) -> Told {
        self.end_line();
        let spent = self.spent();
        match self.speaker {
            Speaker::Plain { tail, .. } => {
                let words = tail.finish();
                let ending = plain::ending(&words);
                let last_message = last_bytes(&words, MESSAGE_BYTES_MAX).to_owned();
                Told { words, last_message, ending, spent, ..Told::default() }
            }
            Speaker::Claude(claude) => Told { spent, ..claude.finish() },
            Speaker::Codex(codex) => Told { spent, ..codex.finish() },
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
            self.take(&line);
        }
    }

    fn take(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        self.recognise(line);
        match &mut self.speaker {
            Speaker::Claude(claude) => each_object(line, |object| claude.take(object)),
            Speaker::Codex(codex) => each_object(line, |object| codex.take(object)),
            Speaker::Plain { tail, lines } => {
                *lines = lines.saturating_add(u32::from(!line.is_empty()));
                tail.push(&terminal_text::shown(&json::mended(line)));
                tail.push("\n");
            }
        }
    }

    /// Finds out what is spoken. Whatever came before a client began is not its agent's.
    fn recognise(&mut self, line: &[u8]) {
        let Speaker::Plain { lines: 0..PREAMBLE_LINES_MAX, .. } = self.speaker else { return };
        let mut found = None;
        each_object(line, |object| {
            if found.is_none() && claude::is_spoken(object) {
                found = Some(Speaker::Claude(Box::default()));
            } else if found.is_none() && codex::is_spoken(object) {
                found = Some(Speaker::Codex(Box::default()));
            }
        });
        if let Some(speaker) = found {
            self.speaker = speaker;
        }
    }
}

/// The objects on a line: one, or those of a list.
fn each_object<'a>(line: &'a [u8], mut take: impl FnMut(&'a RawValue)) {
    if !matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return;
    }
    let Ok(value) = serde_json::from_slice::<&RawValue>(line) else { return };
    match json::list::<&RawValue>(value) {
        Some(list) => list.into_iter().for_each(take),
        None => take(value),
    }
}

/// The end of a long text.
#[derive(Debug)]
struct Tail {
    text: String,
    bytes_max: usize,
    is_cut: bool,
}

impl Tail {
    fn new(bytes_max: usize) -> Self {
        Self { text: String::new(), bytes_max, is_cut: false }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        // Cutting only when twice as much is there keeps the work linear.
        if self.text.len() > 2 * self.bytes_max {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let start = self.text.len() - last_bytes(&self.text, self.bytes_max).len();
        self.is_cut |= start > 0;
        self.text.drain(..start);
    }

    /// What is left; half a line at its beginning is dropped.
    fn finish(mut self) -> String {
        self.cut();
        match self.text.find('\n') {
            Some(end) if self.is_cut && end + 1 < self.text.len() => self.text.split_off(end + 1),
            Some(_) | None => self.text,
        }
    }
}

/// The last bytes of a text, from where a character begins.
fn last_bytes(text: &str, bytes_max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..]
}

/// The first bytes of a text, to where a character ends.
fn first_bytes(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A client's complaint, as it is kept.
fn complaint(message: &str) -> String {
    first_bytes(message.trim(), COMPLAINT_BYTES_MAX).to_owned()
}
