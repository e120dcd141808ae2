//! What the client and the model saw, for tests to ask.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::Exchange;

/// Everything a run left behind.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What the model was asked and answered.
    pub exchanges: Vec<Exchange>,
    /// The clients, in the order of the plan.
    pub sessions: Vec<Report>,
    /// The person's commands, in the order of the plan.
    pub commands: Vec<CommandReport>,
}

/// One client from start to end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its exit code; none when a signal ended it.
    pub exit: Option<i32>,
    /// Whether it had to be killed for taking too long.
    pub is_overdue: bool,
    /// How long it ran.
    pub milliseconds: u64,
    /// Its stream of JSON lines.
    pub lines: Vec<Value>,
    /// What it wrote to the error output.
    pub errors: String,
}

/// One command of the person.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommandReport {
    /// What was typed.
    pub command: String,
    /// Its exit code.
    pub exit: Option<i32>,
    /// Its output and error output.
    pub output: String,
}

impl Outcome {
    /// The requests of the conversations that follow this script. One without tools asks for a title or a summary, and
    /// quotes the prompt.
    pub fn requests(&self, script: &str) -> Vec<&Exchange> {
        let follows = |exchange: &&Exchange| exchange.script.as_deref() == Some(script) && !exchange.tools.is_empty();
        self.exchanges.iter().filter(follows).collect()
    }

    /// The last request of a script: it holds all that the model was ever told in that conversation.
    ///
    /// # Panics
    /// When the model was never asked.
    pub fn last_request(&self, script: &str) -> &Exchange {
        self.requests(script).last().copied().expect("the model was asked at least once")
    }

    /// The only session.
    ///
    /// # Panics
    /// When there were several.
    pub fn session(&self) -> &Report {
        assert_eq!(self.sessions.len(), 1, "one session was planned");
        &self.sessions[0]
    }
}

impl Report {
    /// The closing line of the client.
    ///
    /// # Panics
    /// When there is none, with what the client said instead.
    pub fn result(&self) -> &Value {
        let result = self.lines.iter().rev().find(|line| line["type"] == "result");
        result.unwrap_or_else(|| panic!("the client reported no result; overdue: {}; {}", self.is_overdue, self.errors))
    }

    /// Why the client says it ended: `completed`, `hook_stopped`, ….
    pub fn terminal_reason(&self) -> &str {
        self.result()["terminal_reason"].as_str().unwrap_or_default()
    }

    /// The same for every answer: a client goes on after a result when sub-agents in the background report.
    pub fn terminal_reasons(&self) -> Vec<&str> {
        let results = self.lines.iter().filter(|line| line["type"] == "result");
        results.map(|line| line["terminal_reason"].as_str().unwrap_or_default()).collect()
    }

    /// What hooks had shown to the person.
    pub fn notices(&self) -> Vec<&str> {
        let notices = self.lines.iter().filter(|line| line["subtype"] == "informational");
        notices.filter_map(|line| line["content"].as_str()).collect()
    }

    /// The notices that speak of haltline.
    pub fn shown(&self) -> Vec<&str> {
        self.notices().into_iter().filter(|notice| notice.to_lowercase().contains("haltline")).collect()
    }

    /// The id of the session.
    pub fn id(&self) -> &str {
        self.result()["session_id"].as_str().unwrap_or_default()
    }

    /// The lines that contain these words.
    pub fn lines_saying(&self, words: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line.to_string().contains(words)).collect()
    }
}
