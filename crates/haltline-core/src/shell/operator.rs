//! Detects whether a command line would run an operator action (E6).

use super::{Program, Script, base, wrapper};
use crate::glob_matches;

/// Verbs that only a person may use, in any of haltline's command groups.
const VERBS: [&str; 17] = [
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
    "unpause",
    "false-positive",
    "uninstall",
    "update",
    "purge",
    "revoke",
];

/// Command groups, each with the verbs in it that only a person may use.
const GROUPS: [(&str, &[&str]); 10] = [
    ("constraint", &["reset", "retire", "override", "revoke", "trust"]),
    ("config", &["set", "unset", "edit"]),
    ("phase", &["reset", "skip", "abort", "modify", "decide", "begin"]),
    ("attempt", &["reset", "rollback", "resume", "begin", "end"]),
    ("claim", &["override", "resolve", "reopen"]),
    ("loop", &["reset", "pause", "resume"]),
    ("budget", &["set", "raise", "reset"]),
    ("prices", &["update"]),
    ("ralph", &["reset"]),
    ("false-positive", &[]),
];

/// Options before the verb that take their value as a separate word.
const VALUED: [&str; 6] = ["-C", "--directory", "--pipeline", "--session", "--config", "--store"];

/// Shown in place of a verb that only the shell knows.
const UNKNOWN_WORDS: &str = "with words that are not in the command";

/// Options without a value, behind which `--help` is still a request for help.
const FLAGS: [&str; 6] = ["--all", "--yes", "-y", "--json", "--list", "--verbose"];

/// Returns the operator action that the command would run, such as `reset` or `constraint reset`; `None` if the command
/// only mentions one.
pub fn operator_verb(script: &Script) -> Option<String> {
    script
        .programs
        .iter()
        .find_map(|program| program.invocations().into_iter().find_map(|words| verb_of(words, program)))
}

/// Returns whether the command would start a program with `HALTLINE=off`, which haltline honours only for a client that a
/// person starts.
pub fn switches_off(script: &Script) -> bool {
    script.programs.iter().any(|program| {
        let is_export =
            matches!(program.name(), "export" | "declare" | "typeset" | "local" | "set" | "setenv" | "systemd-run");
        let exported = program.words.iter().filter(|_| is_export);
        // The assignments and wrappers before the program.
        let prefix = &program.wrapped[..program.wrapped.len().saturating_sub(program.words.len())];
        prefix.iter().chain(exported.clone()).any(|word| assigns_off(word))
            || exported.clone().zip(exported.skip(1)).any(|(name, value)| name == "HALTLINE" && value == "off")
    })
}

/// True for `HALTLINE=off`, also behind an option, and for a value that only a shell can know.
fn assigns_off(word: &str) -> bool {
    let value = word.strip_prefix("HALTLINE=").or_else(|| word.split_once("=HALTLINE=").map(|(_option, value)| value));
    value.is_some_and(|value| value == "off" || value.contains(['$', '`']))
}

/// True if a word in command position is haltline, or a glob that the shell may expand to it.
fn is_haltline(program: &str) -> bool {
    let name = base(program);
    let name = name.strip_prefix('@').unwrap_or(name);
    if name.contains(['*', '?', '[']) {
        return glob_matches(&without_sets(name), "haltline");
    }
    name == "haltline"
}

/// A glob with `?` in place of each `[…]`.
fn without_sets(glob: &str) -> String {
    let mut result = String::new();
    let mut rest = glob;
    while let Some(at) = rest.find('[') {
        result.push_str(&rest[..at]);
        result.push('?');
        rest = rest[at..].split_once(']').map_or("", |(_, behind)| behind);
    }
    result + rest
}

fn verb_of(words: &[String], program: &Program) -> Option<String> {
    let (name, arguments) = words.split_first()?;
    let arguments = match base(name) {
        _ if is_haltline(name) => arguments,
        // Built and run in one go.
        "cargo"
            if arguments.iter().any(|word| word == "run") && arguments.iter().any(|word| word.contains("haltline")) =>
        {
            arguments.split(|word| word == "--").nth(1)?
        }
        &_ => return None,
    };
    if asks_for_help(arguments) {
        return None;
    }
    let mut operands = Operands { arguments };
    let Some(first) = operands.next() else {
        return (program.has_unknown_words || is_fed(program)).then(|| UNKNOWN_WORDS.to_owned());
    };
    if first.starts_with(['$', '`']) || first.contains("{}") && is_fed(program) {
        return Some(UNKNOWN_WORDS.to_owned());
    }
    if let Some((group, verbs)) = GROUPS.iter().find(|(group, verbs)| *group == first && !verbs.is_empty()) {
        let verb = operands.next()?;
        if verb.starts_with(['$', '`']) {
            return Some(format!("{group} {UNKNOWN_WORDS}"));
        }
        if !verbs.contains(&verb) {
            return None;
        }
        return match (*group, verb) {
            // Agents may resolve a dispute with new evidence, or by dropping the claim (D3).
            (_, "resolve") => arguments
                .iter()
                .any(|word| word.trim_start_matches('-') == "override")
                .then(|| "claim resolve override".to_owned()),
            // Agents may begin a phase; a new run forgets what the last one counted.
            ("phase", "begin") => with(arguments, "--new-run").then(|| "phase begin --new-run".to_owned()),
            // Agents may begin and end a slice; changing the scope and giving up are for people (E6).
            (_, "begin") => with(arguments, "--reason").then(|| "attempt begin --reason".to_owned()),
            (_, "end") => with(arguments, "--give-up").then(|| "attempt end --give-up".to_owned()),
            (_, "decide") => operands.next().map(|decision| format!("phase decide {decision}")),
            (_, verb) => Some(format!("{group} {verb}")),
        };
    }
    // Lists of what waits and of what is exempt change nothing.
    let only_lists = match first {
        "trust" | "false-positive" => with(arguments, "--list"),
        "update" => with(arguments, "--check"),
        &_ => false,
    };
    (VERBS.contains(&first) && !only_lists).then(|| first.to_owned())
}

/// True if another program adds words: `xargs haltline`.
fn is_fed(program: &Program) -> bool {
    let wrappers = &program.wrapped[..program.wrapped.len().saturating_sub(program.words.len())];
    wrappers.iter().any(|word| matches!(base(word), "xargs" | "parallel"))
}

/// True if the words ask for help or the version. Behind an option that takes a value, `--help` is the value.
fn asks_for_help(arguments: &[String]) -> bool {
    let asks = |word: &String| word == "--help" || word == "-h" || word == "--version" || word == "-V";
    let words: Vec<&String> = arguments.iter().take_while(|word| *word != "--").collect();
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map(|before| words[before].as_str());
        let is_value =
            before.is_some_and(|before| before.starts_with('-') && !before.contains('=') && !FLAGS.contains(&before));
        asks(word) && !is_value
    })
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
