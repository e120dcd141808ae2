//! Detects whether a command line would run an operator action (E6).

use super::{base, for_each_program, wrapper};

/// Verbs that only a person may use, in any of haltline's command groups.
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

/// Command groups, each with the verbs in it that only a person may use.
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

/// Options before the verb that take their value as a separate word.
const VALUED: [&str; 6] = ["-C", "--directory", "--pipeline", "--session", "--config", "--store"];

/// Returns the operator action that `command` would run, such as `reset` or `constraint reset`; `None` if the command
/// only mentions one.
pub fn operator_verb(command: &str) -> Option<String> {
    if !command.contains("haltline") {
        // Quotes may hide the name: `halt"line"`, `hal$'t'line`. Only a name that is written out, in one piece or in
        // parts, can run.
        let bare: String = command.chars().filter(|letter| !"'\"\\\n$".contains(*letter)).collect();
        if !bare.contains("haltline") {
            return None;
        }
    }
    let mut found = None;
    for_each_program(command, &mut |program| {
        if found.is_none() {
            found = verb_of(&program.words).or_else(|| verb_in_code(&program.words, program.stdin.as_deref()));
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
    let is_help_or_version = |word: &String| word == "--help" || word == "-h" || word == "--version" || word == "-V";
    if arguments.iter().take_while(|word| *word != "--").any(is_help_or_version) {
        return None;
    }
    let mut operands = Operands { arguments };
    let first = operands.next()?;
    if let Some((group, verbs)) = GROUPS.iter().find(|(group, verbs)| *group == first && !verbs.is_empty()) {
        let verb = operands.next()?;
        if !verbs.contains(&verb) {
            return None;
        }
        return match verb {
            // Agents may resolve a dispute with new evidence, or by dropping the claim (D3).
            "resolve" => arguments
                .iter()
                .any(|word| word.trim_start_matches('-') == "override")
                .then(|| "claim resolve override".to_owned()),
            // Agents may begin and end a slice; changing the scope and giving up are for people (E6).
            "begin" => with(arguments, "--reason").then(|| "attempt begin --reason".to_owned()),
            "end" => with(arguments, "--give-up").then(|| "attempt end --give-up".to_owned()),
            "decide" => operands.next().map(|decision| format!("phase decide {decision}")),
            verb => Some(format!("{group} {verb}")),
        };
    }
    VERBS.contains(&first).then(|| first.to_owned())
}

fn with(arguments: &[String], option: &str) -> bool {
    arguments.iter().any(|word| word.split('=').next() == Some(option))
}

/// Iterates over the words that are not options.
struct Operands<'a> {
    arguments: &'a [String],
}

impl<'a> Operands<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let behind = wrapper::options_end(self.arguments, &VALUED);
        let (word, rest) = self.arguments.get(behind..)?.split_first()?;
        self.arguments = rest;
        Some(word)
    }
}

/// Finds such a verb in code that is passed to an interpreter and starts haltline.
fn verb_in_code(words: &[String], stdin: Option<&str>) -> Option<String> {
    if !is_interpreter(words.first()?) {
        return None;
    }
    let code = inline_code(words).or(stdin)?;
    let starts_programs = ["system", "subprocess", "popen", "exec", "spawn"].iter().any(|call| code.contains(call));
    let behind = code.split_once("haltline").map(|(_, behind)| behind).filter(|_| starts_programs)?;
    let mut named =
        behind.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').filter(|word| !word.is_empty());
    named.find(|word| VERBS.contains(word)).map(str::to_owned)
}

/// Returns whether a program runs code that is passed as text.
pub(super) fn is_interpreter(program: &str) -> bool {
    let name = base(program);
    ["python", "node", "perl", "ruby", "php", "deno", "bun", "lua", "osascript", "awk", "gawk"].iter().any(|known| {
        name.strip_prefix(known).is_some_and(|version| version.bytes().all(|byte| b"0123456789.".contains(&byte)))
    })
}

/// The code among the arguments of an interpreter.
pub(super) fn inline_code(words: &[String]) -> Option<&str> {
    let flag = words
        .iter()
        .position(|word| matches!(word.as_str(), "-c" | "-e" | "-E" | "--eval" | "-p" | "-pe" | "-ne" | "eval" | "-r"));
    flag.and_then(|index| words.get(index + 1)).map(String::as_str)
}
