//! The ways in which one program runs another: an interpreter its script, a runner its tool.

use super::code::is_interpreter;
use super::{Program, wrapper};

/// Programs that run the program behind one of these words: `uv run x`, `npm exec x`.
const RUNNERS: [(&str, &[&str]); 17] = [
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("rye", &["run"]),
    ("pipx", &["run"]),
    ("conda", &["run"]),
    ("pixi", &["run"]),
    ("go", &["run"]),
    ("deno", &["run"]),
    ("bun", &["run", "x"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx", "run"]),
    ("bundle", &["exec"]),
    ("direnv", &["exec"]),
];
/// Programs that run the program that their first operand names.
const DIRECT_RUNNERS: [&str; 6] = ["npx", "bunx", "uvx", "source", ".", "pythonw"];
/// Options of interpreters and runners that take a separate word as their value.
const VALUED: [&str; 16] = [
    "-W",
    "-X",
    "-o",
    "-O",
    "-I",
    "-r",
    "--require",
    "--with",
    "--python",
    "-p",
    "--package",
    "--project",
    "--env-file",
    "--directory",
    "-n",
    "--from",
];

impl Program {
    /// The words of everything that this program starts: itself, what it was wrapped in, and the script or tool that an
    /// interpreter or a runner would run.
    pub(super) fn invocations(&self) -> Vec<&[String]> {
        let mut found: Vec<&[String]> = Vec::new();
        if !self.words.is_empty() {
            found.push(&self.words);
        }
        let wrappers = self.wrapped.len().saturating_sub(self.words.len());
        found.extend((0..wrappers).map(|start| &self.wrapped[start..]));
        let mut inner = started_by(&self.words);
        while let Some(words) = inner.filter(|_| found.len() < 16) {
            found.push(words);
            inner = started_by(words);
        }
        found
    }
}

/// What an interpreter or a runner would run, with its arguments.
fn started_by(words: &[String]) -> Option<&[String]> {
    let (program, arguments) = words.split_first()?;
    let name = super::base(program);
    if let Some((_, verbs)) = RUNNERS.iter().find(|(runner, _)| *runner == name) {
        let at = arguments.iter().take(6).position(|word| verbs.contains(&word.as_str()))?;
        return first_operand(&arguments[at + 1..]);
    }
    if DIRECT_RUNNERS.contains(&name) {
        return first_operand(arguments);
    }
    if !(is_interpreter(program) || wrapper::is_shell(program)) || super::code::is_awk(program) {
        return None;
    }
    if let Some(at) = arguments.iter().take_while(|word| word.starts_with('-')).position(|word| word == "-m") {
        return arguments.get(at + 1..).filter(|rest| !rest.is_empty());
    }
    if arguments.iter().any(|word| matches!(&**word, "-c" | "-e" | "--eval")) {
        return None;
    }
    first_operand(arguments)
}

fn first_operand(arguments: &[String]) -> Option<&[String]> {
    arguments.get(wrapper::options_end(arguments, &VALUED)..).filter(|rest| !rest.is_empty())
}
