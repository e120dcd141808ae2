//! Which programs a command line would run: a small shell splitter used for identity (L4), guards (C8), API limits (L8)
//! and self-protection (E6).
//!
//! A command is parsed once per call; [`Script`] is what every check reads. It expands only what the line itself shows:
//! braces, variables and aliases that the same line sets. It does not see a program hidden in a script file or in the
//! environment, and SECURITY.md says so. It never fails, takes time linear in the text, and says what it left unread.

mod code;
mod expand;
mod invocation;
pub(crate) mod lex;
mod operator;
mod option_table;
mod pattern;
mod script;
mod touches;
mod visitor;
pub(crate) mod wrapper;

pub use operator::{operator_verb, switches_off};
pub use pattern::CommandPattern;
pub use script::Script;
pub(crate) use script::program_digest;
pub use touches::{OwnPath, touched, touches};

use lex::{Joint, OPENERS, Piece, Redirect, Word};

/// The maximum number of programs that one command line yields.
const PROGRAMS_MAX: usize = 4096;

/// The name of a program without its folder.
pub(crate) fn base(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// One simple command that would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// The program and its arguments, without assignments and wrappers.
    pub words: Vec<String>,
    /// The words as written, if they begin with a wrapper such as `sudo` or `bash -c`.
    pub wrapped: Vec<String>,
    pub redirects: Vec<Redirect>,
    /// The text it reads: a here-document, or what `echo` pipes into it.
    pub stdin: Option<String>,
    /// True if `xargs` adds words that the text does not show.
    pub has_unknown_words: bool,
}

impl Program {
    /// The name of the program without its folder; empty if a shell runs a text instead.
    pub fn name(&self) -> &str {
        self.words.first().map(|word| base(word)).unwrap_or_default()
    }
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
    commands.retain(|command| !command.words.is_empty() || !command.redirects.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(command: &str) -> Vec<Vec<String>> {
        Script::parse(command)
            .programs()
            .filter(|words| words.iter().any(|word| !word.is_empty()))
            .map(<[String]>::to_vec)
            .collect()
    }

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
            ("for x in $(ls); do rm $x; done", "ls/rm $(ls)"),
            ("while ! make; do true; done", "make/true"),
            ("find . -name x -exec rm {} \\; -print", "find . -name x -exec rm {} ; -print/rm {}"),
            ("ls | xargs -n 1 rm -f", "ls/rm -f"),
            ("[[ a > b && c ]] && ls", "[[ a > b && c ]]/ls"),
            ("diff <(ls a) <(ls b)", "diff <(ls a) <(ls b)/ls a/ls b"),
            ("echo \"${x:-$(ls)}\"", "echo $(ls)/ls"),
            ("make 2>&1 | tee log", "make/tee log"),
            ("echo 'not closed; ls", "echo not closed; ls"),
        ] {
            let found: Vec<String> = programs(command).iter().map(|words| words.join(" ")).collect();
            assert_eq!(found.join("/"), expected, "{command}");
        }
    }
}
