//! What the model will do, turn by turn. A prompt names its script, `[[script:NAME]]`, and so does the prompt of a
//! sub-agent; the model itself remembers nothing, so agents side by side need no care.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The turns of one conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    /// What the prompt calls it.
    pub name: String,
    /// One model response each.
    pub steps: Vec<Step>,
    /// What comes after the last step.
    pub afterwards: Afterwards,
    /// The tokens each response claims to have taken.
    pub usage: Usage,
}

/// What a script does after its last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Afterwards {
    /// It says that it is finished, and asks for nothing more.
    Finish,
    /// It begins again, until this many turns are over; then it finishes.
    Repeat {
        /// All turns together.
        turns_max: usize,
    },
}

/// One model response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Only text: the turn ends.
    Say(String),
    /// One tool call.
    Call(Call),
    /// Several tool calls in one message.
    Calls(Vec<Call>),
    /// The API answers with an error status instead.
    Fail {
        /// The HTTP status.
        status: u16,
        /// The message in its body.
        message: String,
    },
}

/// One tool call, as the client names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

/// The tokens a response claims.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Usage {
    /// Read for the first time.
    pub input: u64,
    /// Written.
    pub output: u64,
}

impl Script {
    /// A script that finishes after its last step.
    pub fn new(name: &str, steps: Vec<Step>) -> Self {
        // Small numbers: a client that thinks its window is nearly full would compact the conversation.
        let usage = Usage { input: 1_000, output: 100 };
        Self { name: name.to_owned(), steps, afterwards: Afterwards::Finish, usage }
    }

    /// A script that begins again after its last step, for so many turns in all.
    pub fn repeating(name: &str, steps: Vec<Step>, turns_max: usize) -> Self {
        Self { afterwards: Afterwards::Repeat { turns_max }, ..Self::new(name, steps) }
    }

    /// The same script with other token counts.
    #[must_use]
    pub fn using(self, input: u64, output: u64) -> Self {
        Self { usage: Usage { input, output }, ..self }
    }

    /// The marker that a prompt carries.
    pub fn marker(&self) -> String {
        marker(&self.name)
    }

    /// The response number `turn`, counted from 0.
    pub fn step(&self, turn: usize) -> Step {
        let place = match self.afterwards {
            Afterwards::Repeat { turns_max } if turn < turns_max => turn % self.steps.len().max(1),
            Afterwards::Repeat { .. } => usize::MAX,
            Afterwards::Finish => turn,
        };
        self.steps.get(place).cloned().unwrap_or_else(|| Step::Say("The script is finished.".to_owned()))
    }
}

/// The marker that makes a prompt follow the script of this name.
pub fn marker(name: &str) -> String {
    format!("[[script:{name}]]")
}

/// The name in the last marker of a text.
pub fn named(text: &str) -> Option<&str> {
    text.rsplit_once("[[script:")?.1.split_once("]]").map(|(name, _)| name)
}

/// A shell command.
pub fn shell(command: &str) -> Call {
    Call { tool: "Bash".to_owned(), input: json!({ "command": command }) }
}

/// Reads a file; the client wants this before an edit.
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
    // The description comes back in texts of the parent: it must not carry the marker.
    let input = json!({ "description": "a part of the work", "prompt": prompt, "subagent_type": "general-purpose" });
    Call { tool: "Agent".to_owned(), input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeating_script_finishes_after_its_last_turn() {
        let script = Script::repeating("ab", vec![Step::Call(shell("a")), Step::Call(shell("b"))], 3);
        let turns: Vec<Step> = (0..4).map(|turn| script.step(turn)).collect();
        assert_eq!(turns[..3], [Step::Call(shell("a")), Step::Call(shell("b")), Step::Call(shell("a"))]);
        assert!(matches!(turns[3], Step::Say(_)));
    }

    #[test]
    fn the_last_marker_of_a_text_names_the_script() {
        assert_eq!(named("first [[script:one]], then [[script:two]]."), Some("two"));
        assert_eq!(named("no marker"), None);
    }
}
