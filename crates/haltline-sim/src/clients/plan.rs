//! What `client-run` is to do inside the namespaces: one file in, one [`super::outcome::Outcome`] out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::script::Script;

/// One run of one test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The client, by its word.
    pub client: String,
    /// Its program.
    pub program: PathBuf,
    /// `HOME` of everything inside.
    pub home: PathBuf,
    /// The folder for temporary files.
    pub temporary: PathBuf,
    /// Where the clients start.
    pub project: PathBuf,
    /// Folders put before the system's `PATH`.
    pub programs: Vec<PathBuf>,
    /// What the model plays.
    pub scripts: Vec<Script>,
    /// One after the other.
    pub stages: Vec<Stage>,
    /// The model refuses everything after so many requests.
    pub requests_max: usize,
    /// A client that runs longer is killed, and the outcome says so.
    pub seconds_max: u64,
}

/// One part of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Stage {
    /// Clients side by side.
    Clients(Vec<Session>),
    /// A command that a person types in a shell beside the clients, when none runs.
    Command(String),
    /// A command that starts clients itself; they reach the model.
    Loop(String),
}

/// One start of a client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Session {
    /// The prompt; it names its script.
    pub prompt: String,
    /// More arguments for the client, such as `--continue`.
    pub arguments: Vec<String>,
    /// More variables.
    pub environment: BTreeMap<String, String>,
}

impl Session {
    /// A session whose prompt names this script.
    pub fn of(script: &Script) -> Self {
        Self { prompt: format!("Please do the task. {}", script.marker()), ..Self::default() }
    }

    /// The same session with more arguments.
    #[must_use]
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The same session with one more variable.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }
}
