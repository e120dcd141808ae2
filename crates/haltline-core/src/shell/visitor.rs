//! Visits every program of a command line: in substitutions, below wrappers, and in texts that a program runs.

use super::expand::{self, Names};
use super::lex::{Joint, Redirect, Word};
use super::wrapper::{self, Unwrapped};
use super::{PROGRAMS_MAX, Program, Simple, base, code, lex, simple_commands};

/// How much of a command is read; the rest counts as unread.
pub(super) const READ_BYTES_MAX: usize = 128 * 1024;
/// How deep `sh -c`, `eval` and substitutions are followed.
const DEPTH_MAX: usize = 6;
/// How much nested text is read again, in addition to the command itself.
const NESTED_BYTES_MAX: usize = 128 * 1024;

/// The programs of commands that are already split, from a text of `length` bytes, in the order of the text. Text that
/// is not read is added to `unread`.
pub(super) fn programs(commands: Vec<Simple>, length: usize, unread: &mut String) -> Vec<Program> {
    let budget = length.saturating_mul(8).saturating_add(4096).min(NESTED_BYTES_MAX);
    let mut visitor = Visitor { budget, found: Vec::new(), names: Names::default(), unread };
    visitor.commands(commands, 0);
    visitor.found
}

struct Visitor<'a> {
    /// How many bytes may still be read: nested text is read again, and the total must stay bounded.
    budget: usize,
    found: Vec<Program>,
    /// Variables and aliases that the line has set so far.
    names: Names,
    unread: &'a mut String,
}

impl Visitor<'_> {
    fn text(&mut self, text: &str, depth: usize) {
        if depth > DEPTH_MAX || text.len() > self.budget {
            self.leave_unread(text);
            return;
        }
        self.budget -= text.len();
        let (pieces, read) = lex::pieces(text);
        self.leave_unread(&text[read..]);
        self.commands(simple_commands(pieces), depth);
    }

    /// Keeps a text that is not read. What is longer than a command can be is not kept twice.
    fn leave_unread(&mut self, text: &str) {
        if !text.is_empty() && self.unread.len() < READ_BYTES_MAX {
            self.unread.push('\n');
            self.unread.push_str(text);
        }
    }

    fn commands(&mut self, commands: Vec<Simple>, depth: usize) {
        let mut piped: Option<String> = None;
        for command in commands {
            if self.found.len() >= PROGRAMS_MAX {
                for word in &command.words {
                    self.leave_unread(&word.value);
                }
                continue;
            }
            let nested: Vec<String> = command
                .words
                .iter()
                .chain(command.redirects.iter().map(|redirect| &redirect.target))
                .flat_map(|word| word.nested.iter().cloned())
                .collect();
            if command.words.first().is_some_and(|first| !first.is_quoted && first.value == "for") {
                self.names.learn_loop(&command.words);
            }
            let loop_values = self.names.loop_values(&command.words);
            let stdin = command.redirects.iter().find_map(|redirect| match &redirect.body {
                Some(body) => Some(body.clone()),
                None => redirect.operator.ends_with("<<<").then(|| redirect.target.value.clone()),
            });
            let stdin = stdin.or(piped.take());
            if let Some((name, values)) = loop_values {
                for value in values.iter().skip(1) {
                    self.names.set(&name, value);
                    let words = expand::words(command.words.clone(), &self.names);
                    self.program(words, Vec::new(), None, depth);
                }
                self.names.set(&name, values.first().map(String::as_str).unwrap_or_default());
            }
            let words = match heads_a_list(&command.words) {
                true => Vec::new(),
                false => expand::words(command.words, &self.names),
            };
            if command.after == Joint::Pipe {
                piped = piped_output(&words, stdin.as_deref());
            }
            self.names.learn(&words);
            self.program(words, command.redirects, stdin, depth);
            for inner in nested {
                self.text(&inner, depth + 1);
            }
        }
    }

    fn program(&mut self, words: Vec<String>, redirects: Vec<Redirect>, stdin: Option<String>, depth: usize) {
        if let Some(text) = self.names.alias(&words) {
            // The alias itself may have the name of what it runs.
            let names = std::mem::take(&mut self.names);
            self.text(&text, depth + 1);
            self.names = names;
        }
        let is_fed = words.iter().any(|word| matches!(base(word), "xargs" | "parallel"));
        match (wrapper::unwrap(&words), &stdin) {
            (Unwrapped::Program(rest), Some(text)) if is_fed && rest.len() < words.len() && depth < DEPTH_MAX => {
                // What `xargs` reads is more words of the program.
                let piped = text.split_whitespace().take(PROGRAMS_MAX).map(str::to_owned);
                let words: Vec<String> = rest.iter().cloned().chain(piped).collect();
                self.program(words, redirects, None, depth + 1);
            }
            (Unwrapped::Program(rest), _) => {
                let mut program = Program { words: rest.to_vec(), redirects, stdin, ..Program::default() };
                if rest.len() < words.len() {
                    program.has_unknown_words = is_fed;
                    program.wrapped = words;
                }
                self.nested_scripts(&program, depth);
                let at = self.found.len();
                self.found.push(program);
                self.executed(at, depth);
            }
            (Unwrapped::Script(script), _) => {
                let script = match &stdin {
                    Some(text) if is_fed => script.replacen("{}", text, 4),
                    Some(_) | None => script,
                };
                self.found.push(Program { wrapped: words, redirects, stdin, ..Program::default() });
                self.text(&script, depth + 1);
            }
        }
    }

    /// Follows the commands that `find -exec` would run, and the script that a shell reads.
    fn executed(&mut self, at: usize, depth: usize) {
        let name = self.found[at].name();
        if (name == "find" || name == "fd") && depth < DEPTH_MAX {
            let inner: Vec<Vec<String>> =
                wrapper::executed(&self.found[at].words).into_iter().map(<[String]>::to_vec).collect();
            for words in inner {
                self.program(words, Vec::new(), None, depth + 1);
            }
        }
        if wrapper::reads_script(&self.found[at].words)
            && let Some(script) = self.found[at].stdin.clone()
        {
            // A recipe line of make may begin with a mark.
            self.text(&script.replace("\t@", "\t"), depth + 1);
        }
    }

    /// Reads the texts among the arguments of a program that it would run: `git -c alias.x='!…'`, `make --eval`, code.
    fn nested_scripts(&mut self, program: &Program, depth: usize) {
        for script in wrapper::nested_scripts(&program.words) {
            self.text(&script, depth + 1);
        }
        if let Some(code) = code::code_of(&program.words, program.stdin.as_deref()) {
            for script in code::commands(code) {
                self.text(&script, depth + 1);
            }
        }
    }
}

/// True for the head of a list such as `for x in a b`: its substitutions run, its words do not.
fn heads_a_list(words: &[Word]) -> bool {
    let first = words.first().filter(|first| !first.is_quoted).map(|first| first.value.as_str());
    matches!(first, Some("for" | "select" | "case" | "function"))
}

/// What a command writes into the pipe after it, if the text shows it. Of a program that lists paths, the folders in
/// which it looks.
fn piped_output(words: &[String], stdin: Option<&str>) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let operands = || arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    match base(program) {
        "echo" | "printf" => {
            let text: Vec<&str> = arguments
                .iter()
                .map(String::as_str)
                .skip_while(|word| matches!(*word, "-e" | "-n" | "-en" | "--"))
                .collect();
            Some(text.join(" ").replace("\\n", "\n").replace("\\t", "\t"))
        }
        "cat" if arguments.is_empty() || arguments == ["-"] => stdin.map(str::to_owned),
        "find" | "ls" | "fd" | "realpath" | "readlink" | "dirname" => {
            let folders: Vec<&str> = operands().filter(|word| word.contains('/') || word.starts_with('~')).collect();
            (!folders.is_empty()).then(|| folders.join("\n"))
        }
        "tr" | "sort" | "uniq" | "head" | "tail" | "sed" | "grep" => stdin.map(str::to_owned),
        &_ => None,
    }
}
