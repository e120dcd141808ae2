//! What the model does, turn by turn. A prompt names its script, `[[script:NAME]]`, and so does the prompt of a
//! sub-agent; the model itself keeps no state, so parallel agents need no special care.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The turns of one conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    /// The name in the prompt's marker.
    pub name: String,
    /// One model response each.
    pub steps: Vec<ScriptStep>,
    /// What comes after the last step.
    pub afterwards: Afterwards,
    /// The tokens that each response claims to have used.
    pub usage: Usage,
}

/// What a script does after its last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Afterwards {
    /// It says that it is finished, and makes no more calls.
    Finish,
    /// It starts over until this many turns have passed; then it finishes.
    Repeat {
        /// All turns together.
        turns_max: usize,
    },
}

/// One model response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ScriptStep {
    /// Only text: the turn ends.
    Say(String),
    Call(Call),
    /// Several tool calls in one message.
    Calls(Vec<Call>),
    /// The API responds with an error status instead.
    Fail {
        status: u16,
        /// The message in the body.
        message: String,
    },
}

/// One tool call, with Claude Code's names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub tool: String,
    /// The arguments.
    pub input: Value,
}

/// The tokens that a response claims.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that are not cached.
    pub input: u64,
    pub output: u64,
}

impl Script {
    /// A script that finishes after its last step.
    pub fn new(name: &str, steps: Vec<ScriptStep>) -> Self {
        // Small numbers: a client that thinks its window is nearly full would compact the conversation.
        let usage = Usage { input: 1_000, output: 100 };
        Self { name: name.to_owned(), steps, afterwards: Afterwards::Finish, usage }
    }

    /// A script that starts over after its last step, for this many turns in total.
    pub fn repeating(name: &str, steps: Vec<ScriptStep>, turns_max: usize) -> Self {
        Self { afterwards: Afterwards::Repeat { turns_max }, ..Self::new(name, steps) }
    }

    /// The same script with other token counts.
    #[must_use]
    pub fn using(self, input: u64, output: u64) -> Self {
        Self { usage: Usage { input, output }, ..self }
    }

    /// The marker that a prompt contains.
    pub fn marker(&self) -> String {
        marker(&self.name)
    }

    /// The response for `turn`, starting at 0.
    pub fn step(&self, turn: usize) -> ScriptStep {
        let index = match self.afterwards {
            Afterwards::Repeat { turns_max } if turn < turns_max => turn % self.steps.len().max(1),
            Afterwards::Repeat { .. } => usize::MAX,
            Afterwards::Finish => turn,
        };
        self.steps.get(index).cloned().unwrap_or_else(|| ScriptStep::Say("The script is finished.".to_owned()))
    }
}

/// The marker that makes a prompt follow the script of this name.
pub fn marker(name: &str) -> String {
    format!("[[script:{name}]]")
}

/// The name in the last marker of a text.
pub fn marked_name(text: &str) -> Option<&str> {
    text.rsplit_once("[[script:")?.1.split_once("]]").map(|(name, _)| name)
}

/// A shell command.
pub fn shell(command: &str) -> Call {
    Call { tool: "Bash".to_owned(), input: json!({ "command": command }) }
}

/// Reads a file; the client requires this before an edit.
pub fn read(path: &str) -> Call {
    Call { tool: "Read".to_owned(), input: json!({ "file_path": path }) }
}

/// Replaces a text in a file.
pub fn edit(path: &str, old: &str, new: &str) -> Call {
    Call { tool: "Edit".to_owned(), input: json!({ "file_path": path, "old_string": old, "new_string": new }) }
}

/// Writes a whole file.
pub fn write(path: &str, content: &str) -> Call {
    Call { tool: "Write".to_owned(), input: json!({ "file_path": path, "content": content }) }
}

/// Starts a sub-agent that follows the script of this name.
pub fn spawn(name: &str) -> Call {
    let prompt = format!("Please do the part that is yours. {}", marker(name));
    // The description appears in later texts of the parent, so it must not contain the marker.
    let input = json!({ "description": "a part of the work", "prompt": prompt, "subagent_type": "general-purpose" });
    Call { tool: "Agent".to_owned(), input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeating_script_finishes_after_its_last_turn() {
        let script = Script::repeating("ab", vec![ScriptStep::Call(shell("a")), ScriptStep::Call(shell("b"))], 3);
        let turns: Vec<ScriptStep> = (0..4).map(|turn| script.step(turn)).collect();
        assert_eq!(
            turns[..3],
            [ScriptStep::Call(shell("a")), ScriptStep::Call(shell("b")), ScriptStep::Call(shell("a"))]
        );
        assert!(matches!(turns[3], ScriptStep::Say(_)));
    }

    #[test]
    fn the_last_marker_of_a_text_names_the_script() {
        assert_eq!(marked_name("first [[script:one]], then [[script:two]]."), Some("two"));
        assert_eq!(marked_name("no marker"), None);
    }
}
