//! Recognises what kept a test from running, by the phrases that compilers, package managers and runners print.
//!
//! Used only when the outcome of the test itself is unknown, so a wrong guess names the wrong trouble and is never
//! counted as an attempt.

use super::classify::Trouble;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundTrouble {
    pub trouble: Trouble,
    pub line: usize,
    /// The file that the output names.
    pub file: Option<String>,
}

/// The phrases for each trouble. When an output has phrases of several, the first in this list is the cause: what
/// cannot be downloaded is missing, and what is missing does not compile.
const PHRASES: [(Trouble, &[&str]); 7] = [
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

/// Phrases of runners that found nothing to run.
const NOTHING_RAN_PHRASES: [&str; 8] = [
    "no tests ran",
    "No tests found",
    "no tests to run",
    "No test files found",
    "[no test files]",
    "No test suite found in file",
    "NO TESTS RAN",
    "0 tests run",
];

/// Finds the cause in the output. `files` are the files that the attempt changed.
pub(super) fn find_cause(lines: &[impl AsRef<str>], files: &[&str]) -> Option<FoundTrouble> {
    let mut first: [Option<usize>; PHRASES.len()] = [None; PHRASES.len()];
    for (index, line) in lines.iter().enumerate() {
        let line = line.as_ref();
        for (slot, (trouble, phrases)) in first.iter_mut().zip(&PHRASES) {
            if slot.is_none() && phrases.iter().any(|phrases| contains_phrase(*trouble, line, phrases)) {
                *slot = Some(index);
            }
        }
    }
    let found = first.iter().zip(&PHRASES).find_map(|(index, (trouble, _))| index.map(|index| (*trouble, index)));
    if let Some((trouble, line)) = found {
        return Some(match trouble {
            Trouble::BuildElsewhere => find_broken_file(lines, line, files),
            Trouble::MissingModule => FoundTrouble { trouble, line, file: source_file_near(lines, line) },
            _ => FoundTrouble { trouble, line, file: None },
        });
    }
    let line = lines.iter().position(|line| NOTHING_RAN_PHRASES.iter().any(|phrase| line.as_ref().contains(phrase)))?;
    Some(FoundTrouble { trouble: Trouble::RanNone, line, file: None })
}

/// Phrases that are common in prose count only at the start of a line, where a runner or a runtime prints them.
fn contains_phrase(trouble: Trouble, line: &str, phrase: &str) -> bool {
    match trouble {
        Trouble::Crash if phrase.ends_with(": ") || phrase.ends_with('>') => line.starts_with(phrase),
        _ => line.contains(phrase),
    }
}

/// Finds the file that does not compile: a changed file if the output names one, else the first file it names.
fn find_broken_file(lines: &[impl AsRef<str>], line: usize, files: &[&str]) -> FoundTrouble {
    let mut is_error = false;
    let mut elsewhere = None;
    for text in lines.iter().map(AsRef::as_ref) {
        // rustc points at warnings in the same way.
        if text.starts_with("warning") || text.starts_with("error") {
            is_error = text.starts_with("error");
        }
        let is_pointed_at = is_error || !text.trim_start().starts_with("--> ");
        let Some(file) = source_file(text).filter(|file| is_pointed_at && is_where_python_broke(text, file)) else {
            continue;
        };
        if files.iter().any(|worked_on| is_same_file(file, worked_on)) {
            return FoundTrouble { trouble: Trouble::BuildUnderWork, line, file: Some(file.to_owned()) };
        }
        elsewhere = elsewhere.or_else(|| Some(file.to_owned()));
    }
    FoundTrouble { trouble: Trouble::BuildElsewhere, line, file: elsewhere }
}

/// Python names every file on the way to the broken one; only the broken one's line has no function name after it.
fn is_where_python_broke(text: &str, file: &str) -> bool {
    !file.ends_with(".py") || text.contains("File \"") && !text.contains(", in ")
}

/// The file named at this line or nearest to it; lines above are searched before lines below.
fn source_file_near(lines: &[impl AsRef<str>], line: usize) -> Option<String> {
    const NEAR_LINES: usize = 6;
    let from = line.saturating_sub(NEAR_LINES);
    let above = lines[from..=line].iter().rev();
    let below = lines[line..].iter().skip(1).take(NEAR_LINES);
    above
        .chain(below)
        .find_map(|text| source_file(text.as_ref()).or_else(|| quoted_file(text.as_ref())))
        .map(str::to_owned)
}

/// `calc.js` of `Cannot find module 'absent' from 'calc.js'`, `(resolved id: absent) in calc.js. Does`, `- calc.js`
fn quoted_file(text: &str) -> Option<&str> {
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

/// Longer lines are not searched for a file name.
const LINE_BYTES_MAX: usize = 4096;

/// The file that a line points at: ` --> src/lib.rs:4:9`, `  File "calc.py", line 6`, `./calc.go:7:37: undefined`,
/// `SyntaxError: /sample/calc.js: Unexpected`, `/sample/calc.js:4`, `src/calc.ts(3,5): error TS2304`.
fn source_file(text: &str) -> Option<&str> {
    if text.len() > LINE_BYTES_MAX {
        return None;
    }
    let text = text.strip_prefix("E ").or_else(|| text.strip_prefix("# ")).unwrap_or(text).trim();
    let text = ["--> ", "File \"", "SyntaxError: ", "Exception during run: "]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .unwrap_or(text);
    let end = text.find([':', '"', '(']).unwrap_or(text.len());
    // The letter of a Windows drive also has a colon behind it.
    let behind_drive = if end == 1 { text.get(2..) } else { None };
    let end = behind_drive.map_or(end, |rest| rest.find([':', '"', '(']).map_or(text.len(), |colon| colon + 2));
    let file = &text[..end];
    (has_extension(file) && end < text.len() && !file.contains("node_modules") && !file.contains("site-packages"))
        .then_some(file)
}

/// True when both name the same file; either path may start from a deeper folder.
fn is_same_file(named: &str, worked_on: &str) -> bool {
    let tidy = |file: &str| file.trim_start_matches("./").replace('\\', "/");
    let (named, worked_on) = (tidy(named), tidy(worked_on));
    let ends =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    !named.is_empty() && !worked_on.is_empty() && (ends(&named, &worked_on) || ends(&worked_on, &named))
}
