//! Which programs a command line would run: a small shell splitter used for identity (L4) and self-protection (E6).
//!
//! It reads text and expands nothing: it does not see a program hidden in a variable, an alias or a script file, and
//! SECURITY.md says so. It never fails, and takes time linear in the text.

pub(crate) mod lex;
mod operator;
mod touches;
pub(crate) mod wrapper;

pub use operator::operator_verb;
pub use touches::{touched, touches};

use lex::{Joint, OPENERS, Piece, Redirect, Word};
use wrapper::Unwrapped;

/// The maximum number of programs, and of words of one program, that [`programs`] returns.
const PROGRAMS_MAX: usize = 4096;
/// How deep `sh -c`, `eval` and substitutions are followed.
const DEPTH_MAX: usize = 6;

/// Returns the simple commands of a command line, each as its words. Compound commands are split, quotes resolved,
/// assignments and wrappers such as `env -i` or `timeout 5` removed, and `sh -c`, `eval` and `$(…)` replaced by what
/// they would run.
pub fn programs(command: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for_each_program(command, &mut |program| {
        if found.len() < PROGRAMS_MAX && program.words.iter().any(|word| !word.is_empty()) {
            found.push(program.words.iter().take(PROGRAMS_MAX).cloned().collect());
        }
    });
    found
}

/// The name of a program without its folder.
pub(crate) fn base(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// One simple command that would run.
#[derive(Debug)]
pub(crate) struct Program {
    /// The program and its arguments, without assignments and wrappers.
    pub words: Vec<String>,
    pub redirects: Vec<Redirect>,
    /// The text it reads: a here-document, or what `echo` pipes into it.
    pub stdin: Option<String>,
}

/// A simple command as written in the text.
#[derive(Debug)]
pub(crate) struct Simple {
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// The separator that follows it.
    pub after: Joint,
}

/// Splits pieces into simple commands, without the words that only control flow: `if`, `do`, `for x in …`.
pub(crate) fn simple_commands(pieces: Vec<Piece>) -> Vec<Simple> {
    let mut commands = Vec::new();
    let mut current = Simple { words: Vec::new(), redirects: Vec::new(), after: Joint::Sequence };
    for piece in pieces {
        match piece {
            Piece::Word(word) => {
                let is_first = current.words.is_empty() && !word.is_quoted;
                let steers =
                    OPENERS.contains(&word.value.as_str()) || matches!(&*word.value, "fi" | "done" | "esac" | "}");
                if !(is_first && steers && word.value != "time") {
                    current.words.push(word);
                }
            }
            Piece::Redirect(redirect) => current.redirects.push(redirect),
            Piece::Joint(joint) => {
                let next = Simple { words: Vec::new(), redirects: Vec::new(), after: Joint::Sequence };
                let mut ended = std::mem::replace(&mut current, next);
                ended.after = joint;
                commands.push(ended);
            }
        }
    }
    commands.push(current);
    for command in &mut commands {
        let heads_a_list = command
            .words
            .first()
            .is_some_and(|first| !first.is_quoted && matches!(&*first.value, "for" | "select" | "case" | "function"));
        if heads_a_list {
            // Its substitutions run, its words do not.
            let nested = command.words.drain(..).flat_map(|word| word.nested).collect();
            command.words.push(Word { nested, is_quoted: true, ..Word::default() });
        }
    }
    commands.retain(|command| !command.words.is_empty() || !command.redirects.is_empty());
    commands
}

/// Calls `sink` with every program that `command` would run, in the order of the text.
pub(crate) fn for_each_program(command: &str, sink: &mut dyn FnMut(&Program)) {
    for_each_program_in(simple_commands(lex::pieces(command)), command.len(), sink);
}

/// Does the same for commands that are already split, from a text of `length` bytes.
pub(crate) fn for_each_program_in(commands: Vec<Simple>, length: usize, sink: &mut dyn FnMut(&Program)) {
    let budget = length.saturating_mul(8).saturating_add(4096);
    Visitor { budget, sink }.commands(commands, 0);
}

struct Visitor<'a> {
    /// How many bytes may still be read: nested text is read again, and the total must stay bounded.
    budget: usize,
    sink: &'a mut dyn FnMut(&Program),
}

impl Visitor<'_> {
    fn text(&mut self, text: &str, depth: usize) {
        if depth > DEPTH_MAX || text.len() > self.budget {
            return;
        }
        self.budget -= text.len();
        self.commands(simple_commands(lex::pieces(text)), depth);
    }

    fn commands(&mut self, commands: Vec<Simple>, depth: usize) {
        let mut piped: Option<String> = None;
        for command in commands {
            let nested: Vec<String> = command
                .words
                .iter()
                .chain(command.redirects.iter().map(|redirect| &redirect.target))
                .flat_map(|word| word.nested.iter().cloned())
                .collect();
            let words: Vec<String> = command.words.into_iter().map(|word| word.value).collect();
            let stdin = command.redirects.iter().find_map(|redirect| match &redirect.body {
                Some(body) => Some(body.clone()),
                None => redirect.operator.ends_with("<<<").then(|| redirect.target.value.clone()),
            });
            let stdin = stdin.or(piped.take());
            if command.after == Joint::Pipe {
                piped = piped_output(&words, stdin.as_deref());
            }
            self.program(words, command.redirects, stdin, depth);
            for inner in nested {
                self.text(&inner, depth + 1);
            }
        }
    }

    fn program(&mut self, words: Vec<String>, redirects: Vec<Redirect>, stdin: Option<String>, depth: usize) {
        match wrapper::unwrap(&words) {
            Unwrapped::Program(rest) => {
                let program = Program { words: rest.to_vec(), redirects, stdin };
                (self.sink)(&program);
                let name = program.words.first().map(|word| base(word)).unwrap_or_default();
                if (name == "find" || name == "fd") && depth < DEPTH_MAX {
                    for inner in wrapper::executed(&program.words) {
                        self.program(inner.to_vec(), Vec::new(), None, depth + 1);
                    }
                }
                if let (true, Some(script)) = (wrapper::reads_script(&program.words), &program.stdin) {
                    self.text(script, depth + 1);
                }
            }
            Unwrapped::Script(script) => {
                (self.sink)(&Program { words: Vec::new(), redirects, stdin });
                self.text(&script, depth + 1);
            }
        }
    }
}

/// What a command writes into the pipe after it, if the text shows it.
fn piped_output(words: &[String], stdin: Option<&str>) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    match base(program) {
        "echo" | "printf" => {
            let text: Vec<&str> = arguments
                .iter()
                .map(String::as_str)
                .skip_while(|word| matches!(*word, "-e" | "-n" | "-en" | "--"))
                .collect();
            Some(text.join(" "))
        }
        "cat" if arguments.is_empty() || arguments == ["-"] => stdin.map(str::to_owned),
        &_ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_programs_of_compound_commands() {
        for (command, expected) in [
            ("", ""),
            ("ls", "ls"),
            ("ls -l; pwd && whoami || id | cat & true", "ls -l/pwd/whoami/id/cat/true"),
            ("(cd a; make) && { echo b; }", "cd a/make/echo b"),
            ("echo 'a;b' \"c|d\" e\\;f", "echo a;b c|d e;f"),
            ("echo $(date +%s) `uname`", "echo $(date +%s) `uname`/date +%s/uname"),
            ("A=1 B='x y' env -i C=2 sudo -u me nohup timeout -s 9 5 nice -n 3 make all", "make all"),
            ("bash -lc 'make; ls'", "make/ls"),
            ("sh -c \"bash -c 'eval ls'\"", "ls"),
            ("script -qc 'make it' /dev/null", "make it"),
            ("env -S 'A=1 make it' more", "make it more"),
            ("su root -c 'make it'", "make it"),
            ("cat <<EOF > f\nrm -rf x\nEOF\nls", "cat/ls"),
            ("bash <<'EOF'\nmake it\nEOF", "bash/make it"),
            ("echo make it | sh", "echo make it/sh/make it"),
            (
                "git commit -m \"$(cat <<'EOF'\ndon't (stop\nEOF\n)\"; ls",
                "git commit -m $(cat <<'EOF'\ndon't (stop\nEOF\n)/cat/ls",
            ),
            ("# only a remark\nls # and one more; pwd", "ls"),
            ("if grep -q a b; then ls; else pwd; fi", "grep -q a b/ls/pwd"),
            ("for x in $(ls); do rm $x; done", "ls/rm $x"),
            ("while ! make; do true; done", "make/true"),
            ("find . -name x -exec rm {} \\; -print", "find . -name x -exec rm {} ; -print/rm {}"),
            ("ls | xargs -n 1 rm -f", "ls/rm -f"),
            ("[[ a > b && c ]] && ls", "[[ a > b && c ]]/ls"),
            ("diff <(ls a) <(ls b)", "diff <(ls a) <(ls b)/ls a/ls b"),
            ("echo \"${x:-$(ls)}\"", "echo ${x:-$(ls)}/ls"),
            ("make 2>&1 | tee log", "make/tee log"),
            ("echo 'not closed; ls", "echo not closed; ls"),
        ] {
            let found: Vec<String> = programs(command).iter().map(|words| words.join(" ")).collect();
            assert_eq!(found.join("/"), expected, "{command}");
        }
    }
}
