//! `.response_analysis`: what Ralph found in the output of one loop.

use serde_json::{Map, Value};

/// Ralph's findings about one loop. A field that the file does not have is `None`, 0 or false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The loop that the file is about.
    pub loop_number: Option<u64>,
    /// Path of the agent's output.
    pub output_file: Option<String>,
    /// The agent reported that the work is done.
    pub is_complete: bool,
    /// Number of files the agent reports as changed.
    pub files_modified: u64,
    /// The agent asked a question instead of working.
    pub asks_question: bool,
    pub is_permission_denied: bool,
}

impl Analysis {
    /// Parses the file; `None` if it is not a JSON object. Numbers and booleans may be written as strings.
    pub fn parse(content: &[u8]) -> Option<Self> {
        let file: Map<String, Value> = serde_json::from_slice(content).ok()?;
        // Old versions wrote everything at the top level.
        let found = file.get("analysis").and_then(Value::as_object).unwrap_or(&file);
        let is_set = |key: &str| match found.get(key) {
            Some(Value::Bool(value)) => *value,
            Some(Value::String(text)) => text.trim() == "true",
            Some(_) | None => false,
        };
        Some(Self {
            loop_number: file.get("loop_number").and_then(parse_number),
            output_file: file
                .get("output_file")
                .and_then(Value::as_str)
                .filter(|path| !path.is_empty())
                .map(str::to_owned),
            is_complete: is_set("has_completion_signal") || is_set("exit_signal"),
            files_modified: found.get("files_modified").and_then(parse_number).unwrap_or(0),
            asks_question: is_set("asking_questions"),
            is_permission_denied: is_set("has_permission_denials"),
        })
    }

    /// True if it is about this loop. A file that a crashed run left behind says nothing about the current loop.
    pub fn is_about(&self, loop_number: u64) -> bool {
        self.loop_number.is_none_or(|number| number == loop_number)
    }
}

fn parse_number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    }
}
