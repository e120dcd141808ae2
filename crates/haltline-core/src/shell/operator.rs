//! Whether a command line would run a verb that is for people (E6).

use super::{base, each, wrapper};

/// Verbs that only a person may use, wherever they stand among haltline's commands.
const VERBS: [&str; 15] = [
    "reset",
    "retire",
    "override",
    "resolve",
    "skip",
    "abort",
    "modify",
    "rollback",
    "trust",
    "resume",
    "pause",
    "false-positive",
    "uninstall",
    "purge",
    "revoke",
];

/// Commands that have verbs of their own, with those of them that only a person may use.
const GROUPS: [(&str, &[&str]); 9] = [
    ("constraint", &["reset", "retire", "override", "revoke", "trust"]),
    ("config", &["set", "unset", "edit"]),
    ("phase", &["reset", "skip", "abort", "modify", "decide"]),
    ("attempt", &["reset", "rollback", "resume", "begin", "end"]),
    ("claim", &["override", "resolve", "reopen"]),
    ("loop", &["reset", "pause", "resume"]),
    ("budget", &["set", "raise", "reset"]),
    ("ralph", &["reset"]),
    ("false-positive", &[]),
];

/// Options in front of the verb that take a value as a word of its own.
const VALUED: [&str; 6] = ["-C", "--directory", "--pipeline", "--session", "--config", "--store"];

/// The operator verb that `command` would run, as in `reset` or `constraint reset`; `None` for a mere mention of one.
pub fn operator_verb(command: &str) -> Option<String> {
    if !command.contains("haltline") {
        // Quotes may hide it: `halt"line"`, `hal$'t'line`. Only a name that is written out, in one piece or in parts, can run.
        let bare: String = command.chars().filter(|letter| !"'\"\\\n$".contains(*letter)).collect();
        if !bare.contains("haltline") {
            return None;
        }
    }
    let mut found = None;
    each(command, &mut |program| {
        if found.is_none() {
            found = verb_of(&program.words).or_else(|| verb_in_code(&program.words, program.fed.as_deref()));
        }
    });
    found
}

fn verb_of(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let arguments = match base(program) {
        "haltline" => arguments,
        // Built and run in one go.
        "cargo"
            if arguments.iter().any(|word| word == "run") && arguments.iter().any(|word| word.contains("haltline")) =>
        {
            arguments.split(|word| word == "--").nth(1)?
        }
        &_ => return None,
    };
    let only_asks = |word: &String| word == "--help" || word == "-h" || word == "--version" || word == "-V";
    if arguments.iter().take_while(|word| *word != "--").any(only_asks) {
        return None;
    }
    let mut said = Said { arguments };
    let first = said.next()?;
    if let Some((group, verbs)) = GROUPS.iter().find(|(group, verbs)| *group == first && !verbs.is_empty()) {
        let verb = said.next()?;
        if !verbs.contains(&verb) {
            return None;
        }
        return match verb {
            // Taking up a claim with new evidence, or dropping it, is open to agents (D3).
            "resolve" => arguments
                .iter()
                .any(|word| word.trim_start_matches('-') == "override")
                .then(|| "claim resolve override".to_owned()),
            // Beginning and ending a slice is open to agents; another scope and giving up are not (E6).
            "begin" => with(arguments, "--reason").then(|| "attempt begin --reason".to_owned()),
            "end" => with(arguments, "--give-up").then(|| "attempt end --give-up".to_owned()),
            "decide" => said.next().map(|decision| format!("phase decide {decision}")),
            verb => Some(format!("{group} {verb}")),
        };
    }
    VERBS.contains(&first).then(|| first.to_owned())
}

/// Whether an option is among the arguments.
fn with(arguments: &[String], option: &str) -> bool {
    arguments.iter().any(|word| word.split('=').next() == Some(option))
}

/// The words that are no options.
struct Said<'a> {
    arguments: &'a [String],
}

impl<'a> Said<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let behind = wrapper::options_end(self.arguments, &VALUED);
        let (word, rest) = self.arguments.get(behind..)?.split_first()?;
        self.arguments = rest;
        Some(word)
    }
}

/// Code given to an interpreter that starts haltline with such a verb.
fn verb_in_code(words: &[String], fed: Option<&str>) -> Option<String> {
    if !is_interpreter(words.first()?) {
        return None;
    }
    let code = inline_code(words).or(fed)?;
    let starts_programs = ["system", "subprocess", "popen", "exec", "spawn"].iter().any(|call| code.contains(call));
    let behind = code.split_once("haltline").map(|(_, behind)| behind).filter(|_| starts_programs)?;
    let mut named =
        behind.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').filter(|word| !word.is_empty());
    named.find(|word| VERBS.contains(word)).map(str::to_owned)
}

/// A program that runs code given as text.
pub(super) fn is_interpreter(program: &str) -> bool {
    let name = base(program);
    ["python", "node", "perl", "ruby", "php", "deno", "bun", "lua", "osascript", "awk", "gawk"].iter().any(|known| {
        name.strip_prefix(known).is_some_and(|version| version.bytes().all(|byte| b"0123456789.".contains(&byte)))
    })
}

/// The code that stands among the arguments of an interpreter.
pub(super) fn inline_code(words: &[String]) -> Option<&str> {
    let flag = words
        .iter()
        .position(|word| matches!(word.as_str(), "-c" | "-e" | "-E" | "--eval" | "-p" | "-pe" | "-ne" | "eval" | "-r"));
    flag.and_then(|place| words.get(place + 1)).map(String::as_str)
}
