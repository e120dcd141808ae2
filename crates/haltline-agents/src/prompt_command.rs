//! Commands to haltline that a person types as a prompt: `/haltline why`, `/circuit-status`.

/// What the person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptCommand {
    Status,
    Why {
        /// The incident; the newest without it.
        incident: Option<String>,
    },
    /// A verb that changes something and is carried out only in a terminal.
    Terminal {
        verb: &'static str,
        arguments: Vec<String>,
    },
    /// Which commands there are.
    Help,
}

/// The verbs that change something.
const TERMINAL_VERBS: [&str; 5] = ["resume", "reset", "false-positive", "pause", "unpause"];
/// A longer prompt is not a command.
const PROMPT_BYTES_MAX: usize = 400;

impl PromptCommand {
    /// The command that a prompt consists of. `haltline VERB` is enough where the client keeps prompts that begin with
    /// `/` for itself; a text that merely mentions haltline is no command.
    pub fn parse(prompt: &str) -> Option<Self> {
        let prompt = prompt.trim();
        if prompt.len() > PROMPT_BYTES_MAX || prompt.contains('\n') {
            return None;
        }
        let (first, rest) = prompt.split_once(char::is_whitespace).unwrap_or((prompt, ""));
        let mut words = rest.split_whitespace();
        match first {
            "/circuit-status" => Some(Self::Status),
            "/haltline" => Some(Self::from_words(&mut words).unwrap_or(Self::Help)),
            "haltline" => Self::from_words(&mut words),
            _other => None,
        }
    }

    fn from_words<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let verb = words.next()?;
        let arguments: Vec<String> = words.map(str::to_owned).collect();
        if let Some(verb) = TERMINAL_VERBS.iter().find(|known| **known == verb) {
            return Some(Self::Terminal { verb, arguments });
        }
        match (verb, arguments.as_slice()) {
            ("status", []) => Some(Self::Status),
            ("why", []) => Some(Self::Why { incident: None }),
            ("why", [incident]) if is_incident(incident) => Some(Self::Why { incident: Some(incident.clone()) }),
            _other => None,
        }
    }
}

/// Incident ids are hexadecimal; nothing else must reach a command line.
fn is_incident(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_a_command_only_as_a_whole() {
        let why = |incident: Option<&str>| PromptCommand::Why { incident: incident.map(str::to_owned) };
        for (prompt, expected) in [
            ("/circuit-status", Some(PromptCommand::Status)),
            (" /haltline status \n", Some(PromptCommand::Status)),
            ("haltline status", Some(PromptCommand::Status)),
            ("/haltline why", Some(why(None))),
            ("/haltline why 5edd13d4", Some(why(Some("5edd13d4")))),
            ("/haltline why --json", Some(PromptCommand::Help)),
            ("/haltline", Some(PromptCommand::Help)),
            ("/haltline please", Some(PromptCommand::Help)),
            ("haltline", None),
            ("haltline status is wrong, fix it", None),
            ("what is haltline status", None),
            ("/haltlines status", None),
            ("haltline why\nand more", None),
        ] {
            assert_eq!(PromptCommand::parse(prompt), expected, "{prompt:?}");
        }
        let arguments = vec!["5edd13d4".to_owned(), "--hint".to_owned(), "mock".to_owned()];
        let expected = PromptCommand::Terminal { verb: "resume", arguments };
        assert_eq!(PromptCommand::parse("/haltline resume 5edd13d4 --hint mock"), Some(expected));
    }
}
