//! The labelled histories of `bench/corpus`: what an agent did, and whether a careful person would have stopped it.
//!
//! [`read`] takes the notation that `bench/corpus/README.md` explains, [`History::events`] writes plain events
//! (EVENTS.md, version 1). Nothing here decides anything: the histories are judged by the program under test.

mod notation;
mod plain;
mod template;

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// What a careful person would say of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The agent is stuck: the call to refuse lies between these two, counted from 1.
    Loop {
        /// The first call that may be refused.
        from: usize,
        /// The last call that may pass unrefused up to here.
        to: usize,
    },
    /// The agent gets on, or waits for good reason: nothing is to be refused.
    Work,
}

/// One short history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Its name, unique within its class.
    pub name: String,
    /// The class of loop or of work it stands for.
    pub class: String,
    /// Whether it is to be stopped, and when.
    pub label: Label,
    /// What happens, and why the label is right.
    pub why: String,
    /// The client whose tools appear.
    pub client: String,
    /// Where it stands: file and line.
    pub place: String,
    steps: Vec<Step>,
}

/// A line of a history, its repeats written out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    /// Time that passes first, in milliseconds, beyond the usual.
    after_ms: u64,
    /// Whose doing; none is the main agent's.
    agent: Option<String>,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Call(Call),
    Prompt { by_user: bool, text: String },
    Spawn { child: String, depth: u64 },
    SpawnEnd { child: String },
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
    /// Sent in the same response as the call before.
    joins: bool,
    /// The call before once more, under the same id: a client repeats it after its provider failed.
    replays: bool,
}

impl History {
    /// The name of the session its events tell of.
    pub fn session(&self) -> String {
        format!("{}.{}", self.class, self.name)
    }

    /// How many calls it has; a replayed one counts once.
    pub fn calls(&self) -> usize {
        self.steps.iter().filter(|step| matches!(&step.what, What::Call(call) if !call.replays)).count()
    }

    /// Its events, in order; `number` places it on the clock, an hour or more after the one before.
    pub fn events(&self, number: usize) -> Vec<Value> {
        plain::events(self, number)
    }

    /// What the labels file says of it.
    pub fn labels(&self) -> Value {
        let (label, window) = match self.label {
            Label::Loop { from, to } => ("loop", json!([from, to])),
            Label::Work => ("work", Value::Null),
        };
        json!({
            "session": self.session(), "class": self.class, "name": self.name, "label": label, "refused": window,
            "calls": self.calls(), "why": self.why, "place": self.place,
        })
    }
}

/// A line that is no line of a history: file, line, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationError {
    place: String,
    text: String,
}

impl NotationError {
    fn new(file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { place: format!("{file}:{line}"), text: text.into() }
    }
}

impl fmt::Display for NotationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.text)
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
        place: path.display().to_string(),
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
                let text = format!("{} is already the name of the history at {}", history.session(), other.place);
                return Err(NotationError { place: history.place, text });
            }
            histories.push(history);
        }
    }
    Ok(histories)
}
