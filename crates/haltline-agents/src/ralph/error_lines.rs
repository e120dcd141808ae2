//! Finds the error in an agent's output, for a caller who only reports that there was one.

use std::collections::BTreeMap;

use haltline_core::identity::Digest;
use haltline_core::phase::ReportedError;

use crate::terminal_text::visible_text;

/// At most this many different lines make up an error; later ones are mostly consequences of it.
const LINES_MAX: usize = 50;
/// Longer lines, in bytes, are skipped.
const LINE_BYTES_MAX: usize = 4096;

/// The error of an output: the lines that look like errors, each once, in any order. Outputs that differ only in times,
/// process ids and durations have the same error. `None` if no line looks like an error.
pub fn find_error(output: &str) -> Option<ReportedError> {
    let mut lines: BTreeMap<Digest, String> = BTreeMap::new();
    let mut first = None;
    for line in output.lines() {
        let line = visible_text(line);
        let line = line.trim();
        if line.len() > LINE_BYTES_MAX || !looks_like_error(line) || has_error_field(line) {
            continue;
        }
        let error = ReportedError::new("", line);
        let Some(normal) = error.fingerprint.normal else { continue };
        first.get_or_insert(error.shown);
        lines.entry(normal).or_insert_with(|| line.to_owned());
        if lines.len() == LINES_MAX {
            break;
        }
    }
    let first = first?;
    let message = lines.into_values().collect::<Vec<_>>().join("\n");
    Some(ReportedError { shown: first, ..ReportedError::new("", &message) })
}

/// True for the lines that Ralph takes for errors, and for those of compilers and languages that Ralph misses.
fn looks_like_error(line: &str) -> bool {
    const ANYWHERE: [&str; 10] = [
        "]: error",
        ": error:",
        ": error ",
        "Link: error",
        "Error occurred",
        "failed with error",
        "exception",
        "Exception",
        "Fatal",
        "FATAL",
    ];
    let before_colon = line.split_once(':').map_or("", |(name, _)| name);
    let is_name =
        |name: &str| !name.contains(char::is_whitespace) && (name.ends_with("Error") || name.ends_with("ERROR"));
    let begins = ["error:", "error[", "fatal:", "panic:"].iter().any(|start| line.starts_with(start));
    begins
        || is_name(before_colon)
        || ANYWHERE.iter().any(|marker| line.contains(marker))
        || line.contains("' panicked at ")
}

/// True if the line has a JSON field with `error` in its name: `"is_error": false` is not an error.
fn has_error_field(line: &str) -> bool {
    let parts: Vec<&str> = line.split('"').collect();
    // A part lies between two quotes and the next part follows the second quote; the end of one string may also be the
    // start of another.
    parts.windows(2).skip(1).any(|pair| pair[0].contains("error") && pair[1].trim_start().starts_with(':'))
}
