//! Commands to haltline that a person types as a prompt: `/haltline why`, `/circuit-status`.

/// What the person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptCommand {
    /// A command that changes nothing, as words of haltline's command line.
    Show(Vec<String>),
    /// An operator action, which haltline carries out if a person typed the prompt.
    Act(OperatorCommand),
    /// An operator action that haltline carries out only in a terminal.
    Terminal(OperatorCommand),
    /// Which commands there are.
    Help,
}

/// An operator action as words of haltline's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorCommand {
    pub verb: &'static str,
    pub arguments: Vec<String>,
}

/// The operator actions that a prompt can carry out, with the options whose value is a text.
const ACTIONS: [(&str, &[&str]); 2] = [("resume", &["--hint", "--reason"]), ("false-positive", &["--reason"])];
/// The other operator actions that a person may try.
const TERMINAL_VERBS: [&str; 3] = ["reset", "pause", "unpause"];
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
        match first {
            "/circuit-status" => Some(Self::show(&["status"])),
            "/haltline" => Some(Self::from_words(rest).unwrap_or(Self::Help)),
            "haltline" => Self::from_words(rest),
            _other => None,
        }
    }

    fn show(words: &[&str]) -> Self {
        Self::Show(words.iter().map(|word| (*word).to_owned()).collect())
    }

    fn from_words(rest: &str) -> Option<Self> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (verb, arguments) = words.split_first()?;
        if let Some(verb) = TERMINAL_VERBS.iter().find(|known| *known == verb) {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            return Some(Self::Terminal(OperatorCommand { verb, arguments }));
        }
        if let Some((verb, options)) = ACTIONS.iter().find(|(known, _)| known == verb) {
            let arguments = action_arguments(arguments, options)?;
            return Some(Self::Act(OperatorCommand { verb, arguments }));
        }
        match (*verb, arguments) {
            ("status", []) => Some(Self::show(&["status"])),
            ("why", []) => Some(Self::show(&["why"])),
            ("why", [incident]) if is_incident(incident) => Some(Self::show(&["why", incident])),
            _other => None,
        }
    }
}

/// The arguments of an action: an incident, and options whose text goes on to the next option or to the end. A person
/// need not quote the text.
fn action_arguments(words: &[&str], options: &[&str]) -> Option<Vec<String>> {
    let mut arguments: Vec<String> = Vec::new();
    let mut rest = words;
    if let Some((incident, after)) = words.split_first().filter(|(first, _)| is_incident(first)) {
        arguments.push((*incident).to_owned());
        rest = after;
    }
    while let Some((first, after)) = rest.split_first() {
        let (name, begun) = first.split_once('=').map_or((*first, None), |(name, value)| (name, Some(value)));
        let option = options.iter().find(|option| **option == name)?;
        let is_next = |word: &&str| options.iter().any(|option| word.split('=').next() == Some(option));
        let length = after.iter().position(is_next).unwrap_or(after.len());
        let text: Vec<&str> = begun.into_iter().chain(after[..length].iter().copied()).collect();
        let text = text.join(" ");
        let text = text.trim_matches(['"', '\'']);
        if text.is_empty() {
            return None;
        }
        // One word: a text that begins with a dash is no option.
        arguments.push(format!("{option}={text}"));
        rest = &after[length..];
    }
    Some(arguments)
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
        let status = || Some(PromptCommand::show(&["status"]));
        for (prompt, expected) in [
            ("/circuit-status", status()),
            (" /haltline status \n", status()),
            ("haltline status", status()),
            ("/haltline why", Some(PromptCommand::show(&["why"]))),
            ("/haltline why 5edd13d4", Some(PromptCommand::show(&["why", "5edd13d4"]))),
            ("/haltline why --json", Some(PromptCommand::Help)),
            ("/haltline", Some(PromptCommand::Help)),
            ("/haltline please", Some(PromptCommand::Help)),
            ("haltline", None),
            ("haltline status is wrong, fix it", None),
            ("haltline resume is broken, fix it", None),
            ("what is haltline status", None),
            ("/haltlines status", None),
            ("haltline why\nand more", None),
        ] {
            assert_eq!(PromptCommand::parse(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn the_text_of_an_option_needs_no_quotes() {
        for (prompt, verb, expected) in [
            ("/haltline resume", "resume", &[][..]),
            ("haltline resume 5edd", "resume", &["5edd"][..]),
            ("/haltline resume 5edd13d4 --hint mock the jwt", "resume", &["5edd13d4", "--hint=mock the jwt"]),
            ("/haltline resume --hint \"-x is wrong\"", "resume", &["--hint=-x is wrong"]),
            ("/haltline resume --reason=seen it --hint go", "resume", &["--reason=seen it", "--hint=go"]),
            (
                "/haltline false-positive 5e --reason it is a poller",
                "false-positive",
                &["5e", "--reason=it is a poller"],
            ),
        ] {
            let arguments = expected.iter().map(|argument| (*argument).to_owned()).collect();
            let expected = PromptCommand::Act(OperatorCommand { verb, arguments });
            assert_eq!(PromptCommand::parse(prompt), Some(expected), "{prompt}");
        }
        for prompt in [
            "/haltline resume please",
            "/haltline resume --hint",
            "/haltline resume 5e 6f",
            "/haltline false-positive --list",
            "/haltline resume --json",
        ] {
            assert_eq!(PromptCommand::parse(prompt), Some(PromptCommand::Help), "{prompt}");
        }
        let arguments = vec!["30m".to_owned()];
        let expected = PromptCommand::Terminal(OperatorCommand { verb: "pause", arguments });
        assert_eq!(PromptCommand::parse("/haltline pause 30m"), Some(expected));
    }
}
