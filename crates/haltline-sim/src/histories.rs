//! The labelled histories of `bench/corpus`: what an agent did, and whether a careful person would have stopped it.
//!
//! [`read`] parses the notation that `bench/corpus/README.md` explains, [`History::events`] writes plain events
//! (docs/reference/events.md, version 1). Nothing here decides anything: the program under test evaluates the histories.

mod notation;
mod plain;
mod template;

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// How a careful person would label a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The agent loops: haltline must deny a call between these two, which are counted from 1.
    Loop {
        /// The first call that may be denied.
        from: usize,
        /// The last call that may be denied; haltline missed a loop that gets past it.
        to: usize,
    },
    /// The agent makes progress, or waits for a good reason: nothing may be denied.
    Work,
}

/// One short history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Its name, unique within its class.
    pub name: String,
    /// The class of loop or of work that it represents.
    pub class: String,
    /// Whether it must be stopped, and when.
    pub label: Label,
    /// What happens, and why the label is right.
    pub why: String,
    /// The client whose tools it uses.
    pub client: String,
    /// File and line.
    pub location: String,
    steps: Vec<HistoryStep>,
}

/// A line of a history, with repeats expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HistoryStep {
    /// Time that passes before it, in milliseconds, in addition to the usual time.
    after_ms: u64,
    /// The agent; `None` is the main agent.
    agent: Option<String>,
    event: HistoryEvent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HistoryEvent {
    Call(Call),
    Prompt { by_user: bool, text: String },
    Spawn { sub_agent: String, depth: u64 },
    SpawnEnd { sub_agent: String },
    Hook { name: String },
    Stop { blocked: bool },
    Compaction { trigger: String },
    SessionStart { resumed: bool },
    Wait,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    tool: String,
    input: Value,
    outcome: String,
    by: Option<String>,
    exit: Option<i64>,
    output: String,
    /// It is in the same response as the call before.
    joins: bool,
    /// It repeats the call before with the same id: a client does that after its provider failed.
    replays: bool,
}

impl History {
    /// The session name in its events.
    pub fn session(&self) -> String {
        format!("{}.{}", self.class, self.name)
    }

    /// The number of calls; a replayed one counts once.
    pub fn calls(&self) -> usize {
        self.steps.iter().filter(|step| matches!(&step.event, HistoryEvent::Call(call) if !call.replays)).count()
    }

    /// Its events, in order; `number` sets their time, an hour or more after the previous history.
    pub fn events(&self, number: usize) -> Vec<Value> {
        plain::events(self, number)
    }

    /// Its entry in the labels file.
    pub fn labels(&self) -> Value {
        let (label, window) = match self.label {
            Label::Loop { from, to } => ("loop", json!([from, to])),
            Label::Work => ("work", Value::Null),
        };
        json!({
            "session": self.session(), "class": self.class, "name": self.name, "label": label, "refused": window,
            "calls": self.calls(), "why": self.why, "place": self.location,
        })
    }
}

/// A line that is not valid in a history: file, line, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationError {
    location: String,
    text: String,
}

impl NotationError {
    fn new(file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { location: format!("{file}:{line}"), text: text.into() }
    }
}

impl fmt::Display for NotationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.location, self.text)
    }
}

impl std::error::Error for NotationError {}

/// The histories of one text; `file` is its name in messages.
pub fn read(file: &str, text: &str) -> Result<Vec<History>, NotationError> {
    notation::read(file, text)
}

/// The histories of every `.txt` file of a folder, in the order of their names.
pub fn read_folder(folder: &Path) -> Result<Vec<History>, NotationError> {
    let shown = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let unreadable = |path: &Path, error: std::io::Error| NotationError {
        location: path.display().to_string(),
        text: format!("cannot be read: {error}"),
    };
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            files.push(path);
        }
    }
    files.sort();
    let mut histories: Vec<History> = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        for history in read(&shown(&path), &text)? {
            if let Some(other) = histories.iter().find(|other| other.session() == history.session()) {
                let text = format!("{} is already the name of the history at {}", history.session(), other.location);
                return Err(NotationError { location: history.location, text });
            }
            histories.push(history);
        }
    }
    Ok(histories)
}
