//! `.response_analysis`: what Ralph found in the output of one loop.

use serde_json::{Map, Value};

/// What was found in one loop. What the file does not say is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The loop it is about.
    pub loop_number: Option<u64>,
    /// Where the agent's output is.
    pub output_file: Option<String>,
    /// The agent said that the work is done.
    pub is_complete: bool,
    /// Files the agent says it changed.
    pub files_modified: u64,
    /// The agent asked instead of working.
    pub asks: bool,
    /// A permission was denied.
    pub denied: bool,
}

impl Analysis {
    /// Reads the file; `None` where it is no JSON object. Numbers and booleans may be written as texts.
    pub fn parse(content: &[u8]) -> Option<Self> {
        let file: Map<String, Value> = serde_json::from_slice(content).ok()?;
        // Old versions wrote everything at the top.
        let found = file.get("analysis").and_then(Value::as_object).unwrap_or(&file);
        let is_set = |key: &str| match found.get(key) {
            Some(Value::Bool(value)) => *value,
            Some(Value::String(text)) => text.trim() == "true",
            Some(_) | None => false,
        };
        Some(Self {
            loop_number: file.get("loop_number").and_then(whole),
            output_file: file
                .get("output_file")
                .and_then(Value::as_str)
                .filter(|path| !path.is_empty())
                .map(str::to_owned),
            is_complete: is_set("has_completion_signal") || is_set("exit_signal"),
            files_modified: found.get("files_modified").and_then(whole).unwrap_or(0),
            asks: is_set("asking_questions"),
            denied: is_set("has_permission_denials"),
        })
    }

    /// Whether it is about this loop. One that was left behind by a run that crashed says nothing about the present.
    pub fn is_about(&self, loop_number: u64) -> bool {
        self.loop_number.is_none_or(|number| number == loop_number)
    }
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_loop_left_behind_is_read_in_either_layout() {
        let nested = br#"{"loop_number": 4, "output_file": "logs/a.log", "analysis": {"exit_signal": true,
            "files_modified": "3", "asking_questions": "true", "has_permission_denials": false}}"#;
        let expected = Analysis {
            loop_number: Some(4),
            output_file: Some("logs/a.log".to_owned()),
            is_complete: true,
            files_modified: 3,
            asks: true,
            denied: false,
        };
        assert_eq!(Analysis::parse(nested), Some(expected));
        let flat = Analysis::parse(br#"{"has_permission_denials": true}"#).expect("an object");
        assert!(flat.denied && !flat.is_complete && flat.loop_number.is_none());
    }

    #[test]
    fn it_is_about_its_own_loop_and_no_other() {
        let analysis = Analysis { loop_number: Some(7), ..Analysis::default() };
        assert!(analysis.is_about(7) && !analysis.is_about(1));
        assert!(Analysis::default().is_about(1), "one without a number is taken at its word");
    }

    #[test]
    fn anything_else_is_no_analysis() {
        for content in ["", "null", "[1]", "\"x\"", "{\"loop_number\": ", "\u{0}"] {
            assert_eq!(Analysis::parse(content.as_bytes()), None, "{content:?}");
        }
        let odd = br#"{"loop_number": -1, "output_file": 5, "analysis": {"files_modified": 1e99, "exit_signal": 1}}"#;
        assert_eq!(Analysis::parse(odd), Some(Analysis::default()));
    }
}
