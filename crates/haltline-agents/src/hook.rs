//! What hooks of all clients have in common: the words in which an event is read, and what a client brings of its own.
//!
//! A client's own words never leave its file: it reads its payload into a [`Reading`] and writes its answer from an
//! [`Asked`] and a verdict. Both are pure, take any bytes, and never panic.

use std::fmt;

use haltline_core::Verdict;
use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::{Happening, Stream};

use crate::Client;
use crate::feed::Feed;
use crate::install::Layout;
use crate::rehearsal::Rehearsal;

/// What is peculiar to one client.
#[derive(Debug)]
pub struct Protocol {
    /// The word that means it on a command line.
    pub word: &'static str,
    /// Its name, as plain events spell it.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Reads what a hook gets on its standard input.
    pub read: fn(&[u8]) -> Result<Reading, ReadError>,
    /// What a hook prints; `None` is silence. The last text is for the person.
    pub answer: fn(&Asked, &Verdict, Option<&str>) -> Option<String>,
    /// Whether the person is shown a text that comes with the answer of this verdict.
    pub shows_notice: fn(&Asked, &Verdict) -> bool,
    /// When the model reads a warning.
    pub warned: Warned,
    /// What a hook prints that could not even read its event: a text for the person, unless it was told already, where any
    /// client shows it.
    pub complaint: fn(Option<&str>) -> Option<String>,
    /// What stands in its transcript and not in its payloads.
    pub feed: Option<Feed>,
    /// How a verdict of `stop` ends the agent.
    pub stop: Stop,
    /// The variables it sets for its hooks.
    pub variables: Variables,
    /// Where and how its hooks are written down.
    pub layout: Layout,
    /// How `doctor` plays a loop to it.
    pub rehearsal: Rehearsal,
}

/// When the model reads a warning.
#[derive(Clone, Copy, Debug)]
pub enum Warned {
    /// With the answer to the call it is about, or not at all.
    AtOnce,
    /// With the answers to these events only: until then it waits.
    With(fn(HookEvent) -> bool),
}

/// How a verdict of `stop` ends the agent.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// The answer says so, and the client obeys.
    Answered,
    /// No answer ends a turn: the refusal is answered, and the client's process is interrupted as by Ctrl-C.
    Interrupted {
        /// Whether a process with these arguments works on one task, for nobody who sits before it, and ends with it.
        /// Any other may serve several people or sessions, or hold a terminal.
        is_unattended: fn(&[String]) -> bool,
    },
    /// There is nothing stronger than refusing every call.
    Refused,
}

/// Variables that a client sets for its hooks, where it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// The number of its own process.
    pub process: Option<&'static str>,
    /// The session.
    pub session: Option<&'static str>,
    /// That it is there at all; in the client's own environment it means that an agent started the client.
    pub inside: Option<&'static str>,
    /// The folder it was started in, which does not follow the agent's `cd`.
    pub project: Option<&'static str>,
}

/// Which hook ran, by what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// A session begins or goes on.
    SessionStart,
    /// A prompt is about to be taken.
    Prompt,
    /// The model is about to be asked.
    ModelStart,
    /// A call is about to run.
    ToolStart,
    /// A call ended; a client that tells failures apart means a success.
    ToolEnd,
    /// A call failed.
    ToolFailed,
    /// All calls of one response have ended.
    Batch,
    /// A sub-agent begins.
    SpawnStart,
    /// A sub-agent ends.
    SpawnEnd,
    /// The agent wants to end its turn.
    Stop,
    /// An error of the service ended the turn.
    StopFailed,
    /// Somebody broke off the turn.
    Interrupted,
    /// The conversation is about to be shortened.
    Compaction,
    /// The session is over.
    SessionEnd,
    /// A settings file changed.
    SettingsChanged,
    /// One that haltline has no answer to.
    Other,
}

/// Who waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The client.
    pub client: Client,
    /// Which hook.
    pub event: HookEvent,
    /// Its name, as the client spells it.
    pub name: String,
    /// Whose doing.
    pub stream: Stream,
}

/// What a hook was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which hook, of whom.
    pub asked: Asked,
    /// What happened, where it concerns a decision.
    pub what: Option<Happening>,
    /// Where the agent works now; it follows the agent's `cd`.
    pub folder: Option<String>,
    /// The model that works, where the client says.
    pub model: Option<String>,
    /// The transcript that this event is a good moment to read.
    pub feed: Option<String>,
    /// The end of a call that only the transcript can complete.
    pub unsettled: Option<Unsettled>,
    /// The settings file that changed.
    pub config_file: Option<String>,
}

/// The end of a call of which the payload does not say how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// The call.
    pub call: String,
    /// What came back.
    pub text: String,
}

impl Reading {
    /// Completes the end of a call by what the transcript says of it.
    pub fn settle(&mut self, outcome: Outcome, exit: Option<i32>) {
        let Some(unsettled) = self.unsettled.take() else { return };
        if let Some(Happening::ToolEnd { answer, .. }) = &mut self.what {
            **answer = Answer::new(outcome, exit, &unsettled.text);
        }
    }
}

/// No client cuts a text shorter than this.
const TEXT_BYTES_MAX: usize = 8_000;

/// A text as an answer carries it: never without a word, which some clients take for no refusal, and never too long.
pub(crate) fn capped(text: &str) -> String {
    if text.trim().is_empty() {
        return "refused by haltline".to_owned();
    }
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT_BYTES_MAX - '…'.len_utf8())])
}

/// The payload says nothing that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It is no JSON object.
    NotAnObject,
    /// The JSON breaks off or is malformed.
    Malformed {
        /// Where in the line, from 1.
        column: usize,
        /// The line, from 1.
        line: usize,
    },
    /// It names no session.
    NoSession,
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotAnObject => formatter.write_str("hook input: expected a JSON object"),
            ReadError::Malformed { line, column } => {
                write!(formatter, "hook input: malformed at line {line} column {column}, expected a JSON object")
            }
            ReadError::NoSession => formatter.write_str("hook input: session_id: expected the session's name"),
        }
    }
}

impl std::error::Error for ReadError {}
