//! Claude Code's hooks: what it says on stdin, in the words of the core, and what it wants to hear on stdout.
//!
//! Written against version 2.1.325. The client's payloads change often and hold what tools print, so a field that is
//! missing or of a wrong kind is taken as unknown; only a payload without a session says nothing at all. Nothing here
//! panics, and nothing here ever tells the client to allow a call (E7).

mod answer;
mod payload;
pub(crate) mod response;
pub mod transcript;

use std::fmt;

use haltline_core::loop_::{Happening, Stream};

pub use answer::{answer, shows_notice};
pub use payload::read;

/// Which hook ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// A session begins or goes on.
    SessionStart,
    /// A prompt is about to be taken.
    UserPromptSubmit,
    /// A call is about to run.
    PreToolUse,
    /// A call succeeded.
    PostToolUse,
    /// A call failed.
    PostToolUseFailure,
    /// All calls of one response have ended.
    PostToolBatch,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent ends.
    SubagentStop,
    /// The agent wants to end its turn.
    Stop,
    /// An error of the service ended the turn.
    StopFailure,
    /// The conversation is about to be shortened.
    PreCompact,
    /// The session is over.
    SessionEnd,
    /// A settings file changed.
    ConfigChange,
    /// One that haltline has no answer to.
    Other(String),
}

impl HookEvent {
    /// The event of this name, as the client spells it.
    pub fn named(name: &str) -> Self {
        match name {
            "SessionStart" => HookEvent::SessionStart,
            "UserPromptSubmit" => HookEvent::UserPromptSubmit,
            "PreToolUse" => HookEvent::PreToolUse,
            "PostToolUse" => HookEvent::PostToolUse,
            "PostToolUseFailure" => HookEvent::PostToolUseFailure,
            "PostToolBatch" => HookEvent::PostToolBatch,
            "SubagentStart" => HookEvent::SubagentStart,
            "SubagentStop" => HookEvent::SubagentStop,
            "Stop" => HookEvent::Stop,
            "StopFailure" => HookEvent::StopFailure,
            "PreCompact" => HookEvent::PreCompact,
            "SessionEnd" => HookEvent::SessionEnd,
            "ConfigChange" => HookEvent::ConfigChange,
            other => HookEvent::Other(other.to_owned()),
        }
    }

    /// The name, as the client spells it.
    pub fn name(&self) -> &str {
        match self {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::PostToolUseFailure => "PostToolUseFailure",
            HookEvent::PostToolBatch => "PostToolBatch",
            HookEvent::SubagentStart => "SubagentStart",
            HookEvent::SubagentStop => "SubagentStop",
            HookEvent::Stop => "Stop",
            HookEvent::StopFailure => "StopFailure",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::SessionEnd => "SessionEnd",
            HookEvent::ConfigChange => "ConfigChange",
            HookEvent::Other(name) => name,
        }
    }
}

/// What a hook was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which hook.
    pub event: HookEvent,
    /// Whose doing.
    pub stream: Stream,
    /// What happened, where it concerns a decision.
    pub what: Option<Happening>,
    /// Where the agent works now; it follows the agent's `cd`.
    pub folder: Option<String>,
    /// The session's transcript.
    pub transcript: Option<String>,
    /// The transcript of the sub-agent that ended.
    pub agent_transcript: Option<String>,
    /// The prompt it belongs to.
    pub prompt_id: Option<String>,
    /// The settings file that changed.
    pub config_file: Option<String>,
    /// What ended the turn, in the client's word (`rate_limit`, `overloaded`, …).
    pub error: Option<String>,
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
