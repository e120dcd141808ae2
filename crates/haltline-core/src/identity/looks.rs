//! What a call looks at, and whether that may change by itself (L4): a test that nobody changed fails again however long
//! the agent waits, and a server may be up a second later.

use crate::shell::{Program, Script};

use super::Looks;
use super::path::is_log;
use super::tool::ToolKind;

/// Programs that build, test or check what is there: waiting changes nothing for them.
const WORKERS: [&str; 48] = [
    "make",
    "gmake",
    "cmake",
    "ninja",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "cargo",
    "rustc",
    "go",
    "pytest",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tsc",
    "eslint",
    "prettier",
    "ruff",
    "mypy",
    "flake8",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "ant",
    "bazel",
    "dotnet",
    "rspec",
    "rake",
    "bundle",
    "phpunit",
    "ctest",
    "gcc",
    "g++",
    "clang",
    "cc",
    "javac",
    "swift",
    "xcodebuild",
    "mix",
    "sbt",
    "rubocop",
];
/// Programs that only read what lies there.
const READERS: [&str; 38] = [
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "find",
    "fd",
    "sed",
    "awk",
    "gawk",
    "pwd",
    "cut",
    "sort",
    "uniq",
    "tr",
    "diff",
    "cmp",
    "which",
    "type",
    "jq",
    "yq",
    "xargs",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "md5sum",
    "sha256sum",
    "sha1sum",
    "file",
    "column",
    "tree",
    "locate",
    "nl",
    "tac",
    "strings",
];
/// Programs that print files.
const PRINTERS: [&str; 7] = ["cat", "head", "tail", "less", "more", "wc", "bat"];
/// Programs that say how things stand.
const STATUS: [&str; 16] = [
    "ls", "ps", "df", "du", "stat", "uptime", "hostname", "uname", "whoami", "id", "env", "printenv", "free", "date",
    "test", "[",
];
/// Programs that only print what they are given.
const PRINTS: [&str; 6] = ["echo", "printf", "true", ":", "cd", "sleep"];

pub(super) fn looks_of_script(script: &Script, is_write: bool) -> Looks {
    let mut named = script.programs.iter().filter(|program| !PRINTS.contains(&program.name())).peekable();
    if named.peek().is_none() {
        return Looks::default();
    }
    let mut looks = Looks { is_reading: !is_write, is_status: !is_write, ..Looks::default() };
    for program in named {
        let name = program.name();
        let is_printer = PRINTERS.contains(&name);
        let prints_log = is_printer && program.words.iter().skip(1).any(|word| is_log(word));
        let is_status = STATUS.contains(&name) || asks_git_status(program);
        let is_reader = is_printer || READERS.contains(&name) || name == "git" && !is_write;
        looks.may_poll |= prints_log || (!is_reader && !WORKERS.contains(&name));
        looks.is_reading &= is_reader || STATUS.contains(&name);
        looks.is_status &= is_status || READERS.contains(&name) && program.words.len() < 4;
        looks.is_setup |= is_setup(program);
    }
    looks.is_status &=
        script.programs.iter().any(|program| STATUS.contains(&program.name()) || asks_git_status(program));
    looks
}

/// True for a program whose work time does not change.
pub(super) fn is_worker(program: &Program) -> bool {
    WORKERS.contains(&program.name())
}

fn asks_git_status(program: &Program) -> bool {
    program.name() == "git"
        && program
            .words
            .iter()
            .skip(1)
            .find(|word| !word.starts_with('-'))
            .is_some_and(|verb| matches!(verb.as_str(), "status" | "branch" | "rev-parse"))
}

/// True for a program that may make another one available: it installs something, or changes where programs are found.
fn is_setup(program: &Program) -> bool {
    let verbs =
        ["install", "add", "i", "ci", "sync", "use", "setup", "get", "update", "ensurepath", "activate", "create"];
    matches!(
        program.name(),
        "source" | "." | "export" | "alias" | "ln" | "hash" | "curl" | "wget" | "nvm" | "module" | "chmod"
    ) || program.words.iter().skip(1).take(4).any(|word| verbs.contains(&word.as_str()))
        || program.wrapped.iter().any(|word| word.starts_with("PATH="))
}

/// What a call of another tool looks at.
pub(super) fn looks_of_tool(kind: ToolKind, tool: &str, path: Option<&str>, input: &str) -> Looks {
    let last = tool.rsplit("__").next().unwrap_or(tool).to_ascii_lowercase();
    let reads = ["read", "view", "cat", "open", "list", "ls", "get", "show", "search", "find"];
    let is_reader = kind == ToolKind::Search || reads.iter().any(|name| last.starts_with(name));
    match kind {
        ToolKind::Poll => Looks { may_poll: true, ..Looks::default() },
        ToolKind::Edit | ToolKind::Spawn | ToolKind::Shell | ToolKind::ForeignShell => Looks::default(),
        ToolKind::Query => Looks { may_poll: true, is_reading: is_question(input), ..Looks::default() },
        ToolKind::Search => Looks { is_reading: true, ..Looks::default() },
        ToolKind::Other => {
            let is_own_file = is_reader && path.is_some_and(|path| !is_log(path));
            Looks { may_poll: !is_own_file, is_reading: is_reader, ..Looks::default() }
        }
    }
}

/// True for a query that only asks.
fn is_question(query: &str) -> bool {
    let text = query.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
    let text = text.trim_start_matches("query").trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
    let verb = text.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default().to_ascii_lowercase();
    matches!(verb.as_str(), "select" | "with" | "show" | "describe" | "desc" | "explain" | "pragma" | "values")
}
