//! What `client-run` does inside the namespaces: one file in, one [`super::outcome::Outcome`] out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::script::Script;

/// One run of one test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The stable name of the client.
    pub client: String,
    /// The client's program.
    pub program: PathBuf,
    /// `HOME` of everything inside.
    pub home: PathBuf,
    /// The folder for temporary files.
    pub temporary: PathBuf,
    /// The folder in which the clients start.
    pub project: PathBuf,
    /// Folders that come before the system's `PATH`.
    pub programs: Vec<PathBuf>,
    /// The scripts of the model.
    pub scripts: Vec<Script>,
    /// Run one after the other.
    pub stages: Vec<Stage>,
    /// The model rejects every request after this many.
    pub requests_max: usize,
    /// A client that runs longer is killed, and the outcome says so.
    pub seconds_max: u64,
}

/// One part of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Stage {
    /// Clients that run in parallel.
    Clients(Vec<Session>),
    /// A command that a person types in a shell while no client runs.
    Command(String),
    /// A command that starts clients itself; they can reach the model.
    Loop(String),
}

/// One start of a client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Session {
    /// The prompt, which names its script.
    pub prompt: String,
    /// Additional arguments for the client, such as `--continue`.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub environment: BTreeMap<String, String>,
}

impl Session {
    /// A session whose prompt names this script.
    pub fn from_script(script: &Script) -> Self {
        Self { prompt: format!("Please do the task. {}", script.marker()), ..Self::default() }
    }

    /// The same session with additional arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The same session with one more environment variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }
}
