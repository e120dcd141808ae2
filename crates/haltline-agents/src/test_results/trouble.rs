//! What kept a test from running, by the words that compilers, package managers and runners use for it.
//!
//! Only asked where no test's own outcome is known, so a wrong guess names the wrong trouble and never counts.

use super::judge::Trouble;

/// A trouble that was found, where, and in which file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub trouble: Trouble,
    /// On which line it is said.
    pub line: usize,
    /// The file the words name.
    pub file: Option<String>,
}

/// What is said of each trouble. Of two that are said, the first of these is the cause: what cannot be fetched is missing,
/// and what is missing does not compile.
const WORDS: [(Trouble, &[&str]); 7] = [
    (
        Trouble::Network,
        &[
            "Could not resolve host",
            "Temporary failure in name resolution",
            "Name or service not known",
            "nodename nor servname provided",
            "getaddrinfo ENOTFOUND",
            "EAI_AGAIN",
            "npm error network",
            "npm ERR! network",
            "no such host",
            "Network is unreachable",
            "network is unreachable",
            "spurious network error",
            "NewConnectionError",
            "dial tcp",
            "failed to download from",
            "Failed to establish a new connection",
        ],
    ),
    (Trouble::TimedOut, &["panic: test timed out after "]),
    (
        Trouble::Crash,
        &[
            "INTERNALERROR>",
            "Fatal Python error:",
            "(signal:",
            "SIGSEGV: ",
            "SIGABRT: ",
            "Segmentation fault",
            "(core dumped)",
            "----- Native stack trace -----",
            "fatal runtime error:",
            "JavaScript heap out of memory",
            "Worker exited unexpectedly",
            "A worker process has failed to exit gracefully",
            "fatal error: ",
            "panic: ",
            "internal compiler error",
            "Out of memory",
            "Bail out!",
        ],
    ),
    (
        Trouble::MissingModule,
        &[
            "ModuleNotFoundError: ",
            "ImportError: cannot import name",
            "Cannot find module ",
            "Cannot find package ",
            "ERR_MODULE_NOT_FOUND",
            "Failed to load url ",
            "Failed to resolve import ",
            "error[E0432]",
            "error[E0463]",
            "error[E0583]",
            "cannot find module providing package",
            "no required module provides package",
            " is not in std",
            "no matching package named",
            "No matching distribution found",
        ],
    ),
    (
        Trouble::BuildElsewhere,
        &[
            "error[E",
            "error: could not compile ",
            "SyntaxError: ",
            "IndentationError: ",
            "TabError: ",
            "[build failed]",
            "[setup failed]",
            "Transform failed with ",
            "Expression expected",
            "Failed to parse source",
            "error TS",
            "Parse failure: ",
        ],
    ),
    (
        Trouble::Permission,
        &["Permission denied", "permission denied", "PermissionError: ", "EACCES", "EPERM", "Operation not permitted"],
    ),
    (
        Trouble::Environment,
        &[
            "command not found",
            "No such file or directory",
            "No space left on device",
            "ENOSPC",
            "linker `cc` not found",
            "error: no such command",
            "Missing script:",
            "could not find `Cargo.toml`",
            "go: cannot find main module",
            "go.mod file not found",
            "environment variable",
            "Too many open files",
        ],
    ),
];

/// What runners say that have found nothing to run.
const NOTHING: [&str; 8] = [
    "no tests ran",
    "No tests found",
    "no tests to run",
    "No test files found",
    "[no test files]",
    "No test suite found in file",
    "NO TESTS RAN",
    "0 tests run",
];

/// The cause among all that is said. `files` are those that were worked on.
pub(super) fn cause(lines: &[impl AsRef<str>], files: &[&str]) -> Option<Found> {
    let mut first: [Option<usize>; WORDS.len()] = [None; WORDS.len()];
    for (place, line) in lines.iter().enumerate() {
        let line = line.as_ref();
        for (slot, (trouble, words)) in first.iter_mut().zip(&WORDS) {
            if slot.is_none() && words.iter().any(|words| is_said(*trouble, line, words)) {
                *slot = Some(place);
            }
        }
    }
    let found = first.iter().zip(&WORDS).find_map(|(place, (trouble, _))| place.map(|place| (*trouble, place)));
    if let Some((trouble, line)) = found {
        return Some(match trouble {
            Trouble::BuildElsewhere => build(lines, line, files),
            Trouble::MissingModule => Found { trouble, line, file: source_near(lines, line) },
            _ => Found { trouble, line, file: None },
        });
    }
    let line = lines.iter().position(|line| NOTHING.iter().any(|words| line.as_ref().contains(words)))?;
    Some(Found { trouble: Trouble::RanNone, line, file: None })
}

/// Words that are common in prose only count where a runner or a runtime puts them: at the start of a line.
fn is_said(trouble: Trouble, line: &str, words: &str) -> bool {
    match trouble {
        Trouble::Crash if words.ends_with(": ") || words.ends_with('>') => line.starts_with(words),
        _ => line.contains(words),
    }
}

/// In which file something does not compile: one that was worked on, where one of those is named, else the first.
fn build(lines: &[impl AsRef<str>], line: usize, files: &[&str]) -> Found {
    let mut is_error = false;
    let mut elsewhere = None;
    for text in lines.iter().map(AsRef::as_ref) {
        // rustc points at warnings in the same way.
        if text.starts_with("warning") || text.starts_with("error") {
            is_error = text.starts_with("error");
        }
        let is_pointed_at = is_error || !text.trim_start().starts_with("--> ");
        let Some(file) = source(text).filter(|file| is_pointed_at && is_broken(text, file)) else {
            continue;
        };
        if files.iter().any(|worked_on| is_same(file, worked_on)) {
            return Found { trouble: Trouble::BuildUnderWork, line, file: Some(file.to_owned()) };
        }
        elsewhere = elsewhere.or_else(|| Some(file.to_owned()));
    }
    Found { trouble: Trouble::BuildElsewhere, line, file: elsewhere }
}

/// Python names every file on the way to the broken one; only the last has no function after it.
fn is_broken(text: &str, file: &str) -> bool {
    !file.ends_with(".py") || text.contains("File \"") && !text.contains(", in ")
}

/// The file nearest above or at a line.
fn source_near(lines: &[impl AsRef<str>], line: usize) -> Option<String> {
    const NEAR_LINES: usize = 6;
    let from = line.saturating_sub(NEAR_LINES);
    let above = lines[from..=line].iter().rev();
    let below = lines[line..].iter().skip(1).take(NEAR_LINES);
    above.chain(below).find_map(|text| source(text.as_ref()).or_else(|| quoted(text.as_ref()))).map(str::to_owned)
}

/// `calc.js` of `Cannot find module 'absent' from 'calc.js'`, `(resolved id: absent) in calc.js. Does`, `- calc.js`
fn quoted(text: &str) -> Option<&str> {
    let text = text.strip_prefix("# ").unwrap_or(text);
    let from = text.split_once("' from '").map(|(_, rest)| rest.trim_end_matches('\''));
    let inside = || text.split_once(") in ").map(|(_, rest)| rest.split(". ").next().unwrap_or(rest));
    from.or_else(inside).or_else(|| text.strip_prefix("- ")).filter(|file| has_extension(file))
}

const EXTENSIONS: [&str; 14] =
    [".rs", ".py", ".go", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".toml"];

fn has_extension(file: &str) -> bool {
    EXTENSIONS.iter().any(|extension| file.ends_with(extension))
}

/// Longer lines name no place in a source.
const LINE_BYTES_MAX: usize = 4096;

/// The file that a line points at: ` --> src/lib.rs:4:9`, `  File "calc.py", line 6`, `./calc.go:7:37: undefined`,
/// `SyntaxError: /sample/calc.js: Unexpected`, `/sample/calc.js:4`, `src/calc.ts(3,5): error TS2304`.
fn source(text: &str) -> Option<&str> {
    if text.len() > LINE_BYTES_MAX {
        return None;
    }
    let text = text.strip_prefix("E ").or_else(|| text.strip_prefix("# ")).unwrap_or(text).trim();
    let text = ["--> ", "File \"", "SyntaxError: ", "Exception during run: "]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .unwrap_or(text);
    let end = text.find([':', '"', '(']).unwrap_or(text.len());
    // A drive's letter has a colon behind it too.
    let behind_drive = if end == 1 { text.get(2..) } else { None };
    let end = behind_drive.map_or(end, |rest| rest.find([':', '"', '(']).map_or(text.len(), |place| place + 2));
    let file = &text[..end];
    (has_extension(file) && end < text.len() && !file.contains("node_modules") && !file.contains("site-packages"))
        .then_some(file)
}

/// Whether both are the same file: either may be told from a folder further in.
fn is_same(named: &str, worked_on: &str) -> bool {
    let tidy = |file: &str| file.trim_start_matches("./").replace('\\', "/");
    let (named, worked_on) = (tidy(named), tidy(worked_on));
    let ends =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    !named.is_empty() && !worked_on.is_empty() && (ends(&named, &worked_on) || ends(&worked_on, &named))
}
