//! What the client and the model saw, for tests to examine.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::Exchange;

/// Everything that a run recorded.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The requests to the model and its replies.
    pub exchanges: Vec<Exchange>,
    /// The sessions, in the order of the plan.
    pub sessions: Vec<SessionReport>,
    /// The commands of the person, in the order of the plan.
    pub commands: Vec<CommandReport>,
}

/// One client from start to end.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionReport {
    /// The exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// It ran too long and was killed.
    pub is_overdue: bool,
    pub milliseconds: u64,
    /// The JSON lines of its output.
    pub lines: Vec<Value>,
    /// Its standard error.
    pub errors: String,
}

/// One command of the person.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommandReport {
    pub command: String,
    pub exit: Option<i32>,
    /// Standard output and standard error together.
    pub output: String,
}

impl Outcome {
    /// The requests of the conversations that follow this script. A request without tools asks for a title or a summary
    /// and quotes the prompt; it is left out.
    pub fn requests(&self, script: &str) -> Vec<&Exchange> {
        let follows = |exchange: &&Exchange| exchange.script.as_deref() == Some(script) && !exchange.tools.is_empty();
        self.exchanges.iter().filter(follows).collect()
    }

    /// The last request of a script: it contains everything that the model received in that conversation.
    ///
    /// # Panics
    /// When there was no request.
    pub fn last_request(&self, script: &str) -> &Exchange {
        self.requests(script).last().copied().expect("the model was asked at least once")
    }

    /// The only session.
    ///
    /// # Panics
    /// When there were several.
    pub fn session(&self) -> &SessionReport {
        assert_eq!(self.sessions.len(), 1, "one session was planned");
        &self.sessions[0]
    }
}

impl SessionReport {
    /// The closing line of the client.
    ///
    /// # Panics
    /// When there is none; the message has what the client printed instead.
    pub fn result(&self) -> &Value {
        let result = self.lines.iter().rev().find(|line| line["type"] == "result");
        result.unwrap_or_else(|| panic!("the client reported no result; overdue: {}; {}", self.is_overdue, self.errors))
    }

    /// The reason that the client gives for its end: `completed`, `hook_stopped`, ….
    pub fn terminal_reason(&self) -> &str {
        self.result()["terminal_reason"].as_str().unwrap_or_default()
    }

    /// The reasons of every result: a client continues after a result when sub-agents in the background report.
    pub fn terminal_reasons(&self) -> Vec<&str> {
        let results = self.lines.iter().filter(|line| line["type"] == "result");
        results.map(|line| line["terminal_reason"].as_str().unwrap_or_default()).collect()
    }

    /// What hooks showed to the person.
    pub fn notices(&self) -> Vec<&str> {
        let notices = self.lines.iter().filter(|line| line["subtype"] == "informational");
        notices.filter_map(|line| line["content"].as_str()).collect()
    }

    /// The notices that mention haltline.
    pub fn haltline_notices(&self) -> Vec<&str> {
        self.notices().into_iter().filter(|notice| notice.to_lowercase().contains("haltline")).collect()
    }

    /// The id of the session.
    pub fn id(&self) -> &str {
        self.result()["session_id"].as_str().unwrap_or_default()
    }

    /// The lines that contain `text`.
    pub fn lines_containing(&self, text: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line.to_string().contains(text)).collect()
    }
}
