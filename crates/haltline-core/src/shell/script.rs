//! A command line, parsed once for every check that reads it.

use super::base;
use super::lex::{self, Piece};
use super::visitor::{self, READ_BYTES_MAX};
use super::{CommandPattern, Program, Simple, simple_commands};
use crate::identity::Digest;

/// What a command line would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub(crate) programs: Vec<Program>,
    /// The text that was left unread, because the command is too long, has too many parts or is nested too deeply.
    pub(crate) unread: String,
}

impl Script {
    /// Parses a command line. Any text can be parsed.
    pub fn parse(command: &str) -> Self {
        let (pieces, read) = Self::pieces(command);
        Self::from_simple(simple_commands(pieces), command, read)
    }

    /// The pieces of a command line, and how many of its bytes they stand for.
    pub(crate) fn pieces(command: &str) -> (Vec<Piece>, usize) {
        lex::pieces(&command[..command.floor_char_boundary(READ_BYTES_MAX)])
    }

    /// The programs of commands that are already split, from the first `read` bytes of `command`.
    pub(crate) fn from_simple(commands: Vec<Simple>, command: &str, read: usize) -> Self {
        let mut unread = command.get(read..).unwrap_or_default().to_owned();
        let programs = visitor::programs(commands, read, &mut unread);
        Self { programs, unread }
    }

    /// Adds what another text would run.
    pub(crate) fn add(&mut self, other: Self) {
        self.programs.extend(other.programs);
        self.unread.push_str(&other.unread);
    }

    /// The words of each program, without assignments and wrappers.
    pub fn programs(&self) -> impl Iterator<Item = &[String]> {
        self.programs.iter().map(|program| program.words.as_slice())
    }

    /// Returns whether the script runs the program `name`: by itself, through an interpreter or a runner, or by sending a
    /// request to it if the name is an address. A file that is only named does not count.
    pub fn calls(&self, name: &str) -> bool {
        if CommandPattern::parse(name).is_some_and(|pattern| pattern.matches(self)) {
            return true;
        }
        self.programs.iter().any(|program| runs_module(program, name) || asks_address(program, name))
    }

    /// The digests of the programs that it would run by their bare names, found on the search path.
    pub(crate) fn missing_candidates(&self) -> Vec<Digest> {
        let is_bare = |program: &&Program| {
            program.wrapped.is_empty() && program.words.first().is_some_and(|name| !name.contains(['/', '$']))
        };
        self.programs.iter().filter(is_bare).map(|program| program_digest(program.name())).collect()
    }

    /// The number of bytes that no check has read.
    pub fn unread_bytes(&self) -> usize {
        self.unread.len()
    }
}

/// A program's name, as a failure to find it says it.
pub(crate) fn program_digest(name: &str) -> Digest {
    Digest::from_parts(&[b"program", base(name).as_bytes()])
}

/// `python -m tools.research` runs `research.py`.
fn runs_module(program: &Program, name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".py") else { return false };
    let modules = program.words.windows(2).filter(|pair| pair[0] == "-m").map(|pair| &pair[1]);
    program.name().starts_with("python") && modules.into_iter().any(|module| module.rsplit('.').next() == Some(stem))
}

/// True if a program that sends requests names an address that contains `name`.
fn asks_address(program: &Program, name: &str) -> bool {
    let is_client = matches!(program.name(), "curl" | "wget" | "http" | "https" | "xh" | "grpcurl" | "websocat");
    let is_script = [".py", ".sh", ".js", ".ts", ".rb", ".pl"].iter().any(|extension| name.ends_with(extension));
    let mut operands = program.words.iter().skip(1).filter(|word| !word.starts_with('-'));
    is_client && !is_script && name.contains('.') && operands.any(|word| word.contains(name))
}
