//! A hook that replaces haltline: it records the events it receives, and answers what the test says. With it a test
//! shows what the client does with an answer, no matter what haltline would have answered.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An answer, and when to give it. The first that matches is given.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CannedAnswer {
    pub event: String,
    /// Only for payloads that contain this text.
    pub containing: String,
    /// Only for payloads that do not contain this text, if there is one.
    pub lacking: Option<String>,
    /// Only from the nth such event of the run, starting at 1; 0 means every event.
    pub from: usize,
    /// A shell command to run first.
    pub run: Option<String>,
    /// The answer on standard output; `None` prints nothing.
    pub answer: Option<Value>,
}

/// One event as the hook received it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HookNote {
    /// Start of the hook, in nanoseconds since 1970.
    pub started: u128,
    /// End of the hook, in nanoseconds since 1970.
    pub ended: u128,
    pub payload: Value,
    /// The hook's environment variables whose names refer to the client.
    pub environment: BTreeMap<String, String>,
    /// The same variables of the client's process.
    pub client_environment: BTreeMap<String, String>,
    /// How many of the payload's calls are already in the transcript with their response's usage.
    pub calls_with_usage: usize,
}

impl HookNote {
    /// All notes of a sandbox, in order of arrival.
    pub fn all(folder: &Path) -> Vec<Self> {
        let text = fs::read_to_string(folder.join("noted.jsonl")).unwrap_or_default();
        let mut noted: Vec<Self> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        noted.sort_by_key(|note| note.started);
        noted
    }

    pub fn event(&self) -> &str {
        event_name(&self.payload)
    }
}

/// The name of the event, under whichever key the client has for it.
fn event_name(payload: &Value) -> &str {
    let names = ["hook_event_name", "hookName"];
    names.iter().find_map(|name| payload[name].as_str()).unwrap_or_default()
}

/// The hook: records the payload of standard input in `folder` and prints the answer that matches.
///
/// # Errors
/// When the note cannot be written.
pub fn answer(folder: &Path) -> io::Result<()> {
    let started = nanoseconds();
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let payload: Value = serde_json::from_str(&text)?;
    let answers: Vec<CannedAnswer> = serde_json::from_slice(&fs::read(folder.join("answers.json"))?)?;
    let before = HookNote::all(folder);
    let fits = |answer: &CannedAnswer, payload: &Value| {
        let text = payload.to_string();
        event_name(payload) == answer.event
            && text.contains(&answer.containing)
            && !answer.lacking.as_ref().is_some_and(|text_part| text.contains(text_part))
    };
    let chosen = answers.iter().find(|answer| {
        let earlier = before.iter().filter(|note| fits(answer, &note.payload)).count();
        fits(answer, &payload) && earlier + 1 >= answer.from
    });
    if let Some(command) = chosen.and_then(|answer| answer.run.as_ref()) {
        Command::new("sh").args(["-c", command]).status()?;
    }
    if let Some(answer) = chosen.and_then(|answer| answer.answer.as_ref()) {
        println!("{answer}");
    }
    let calls_with_usage = calls_with_usage(&payload);
    let environment = std::env::vars().filter(|(name, _)| is_of_client(name)).collect();
    let note = HookNote {
        started,
        ended: nanoseconds(),
        payload,
        environment,
        client_environment: client_environment(),
        calls_with_usage,
    };
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("noted.jsonl"))?;
    // One write per line, so that concurrent hooks do not mix their lines.
    file.write_all(format!("{}\n", serde_json::to_string(&note)?).as_bytes())
}

fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
}

fn is_of_client(name: &str) -> bool {
    name.starts_with("CLAUDE")
}

/// The environment variables that the client itself was started with.
fn client_environment() -> BTreeMap<String, String> {
    let process = std::env::var("CLAUDE_PID").unwrap_or_default();
    let text = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| is_of_client(name)).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn calls_with_usage(payload: &Value) -> usize {
    let session = payload["transcript_path"].as_str().unwrap_or_default();
    // A sub-agent's payload names its parent's transcript; its own is in a folder next to that.
    let path = payload["agent_id"].as_str().map_or_else(
        || session.to_owned(),
        |agent| format!("{}/subagents/agent-{agent}.jsonl", session.trim_end_matches(".jsonl")),
    );
    let transcript = fs::read_to_string(path).unwrap_or_default();
    let single = payload["tool_use_id"].as_str();
    let batch = payload["tool_calls"].as_array().into_iter().flatten();
    let calls = batch.filter_map(|call| call["tool_use_id"].as_str()).chain(single);
    let has_usage =
        |call: &str| transcript.lines().any(|line| line.contains(call) && line.contains("\"output_tokens\""));
    calls.filter(|call| has_usage(call)).count()
}
