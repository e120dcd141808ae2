//! The diagnostic report as a YAML file (A4): haltline writes it with what is known, and reads it when it is filed.
//!
//! Texts round-trip byte for byte, whatever they contain: a runner's output is evidence. Parsing is bounded and accepts
//! plain YAML only: no aliases, no unknown field, no field twice. A file may hold several reports, each a document; the
//! comment above a document says which test it is about.

mod node;
mod render;

use haltline_core::attempt::{FIELDS, Listed, LogLine, RecoveryOption, Report, ScopeViolation};
use haltline_core::shorten;

use node::{Kind, Node};
pub use render::{Hints, render};

/// How large a report file may be. The longest error kept, 256 KB, takes six times as much if every character is a line
/// end that has to be quoted, and must still be readable.
const REPORT_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Why a file is not a valid report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("the report is larger than {REPORT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the report is not UTF-8 text (line {line})")]
    NotText {
        /// The first line that is not UTF-8.
        line: usize,
    },
    /// The file is not YAML, or not a report.
    #[error("line {line}: {problem}")]
    Invalid {
        /// Starts at 1.
        line: usize,
        /// What is wrong there, and what was expected.
        problem: String,
    },
}

impl ReportError {
    /// The same error in a file that has this many lines before the parsed text.
    fn after_lines(self, lines: usize) -> Self {
        match self {
            ReportError::TooLarge => ReportError::TooLarge,
            ReportError::NotText { line } => ReportError::NotText { line: line + lines },
            ReportError::Invalid { line, problem } => ReportError::Invalid { line: line + lines, problem },
        }
    }
}

/// One report of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportDocument {
    /// The comment lines before its first field, without the `# `.
    pub comments: Vec<String>,
    pub report: Report,
}

/// Parses a file with one or more reports. Only what cannot be understood is an error here; the core says which fields
/// are missing. A file without any field is one empty report.
pub fn parse_documents(content: &[u8]) -> Result<Vec<ReportDocument>, ReportError> {
    let text = text(content)?;
    let mut documents = Vec::new();
    let mut comments = Vec::new();
    for (first_line, part) in split_documents(text) {
        let head = part.lines().take_while(|line| line.trim().is_empty() || line.starts_with('#'));
        comments.extend(head.filter_map(|line| Some(line.strip_prefix('#')?.trim().to_owned())));
        // A part without fields is what stands before the first `---`: its comments belong to the next report.
        let is_blank = |line: &str| line.trim().is_empty() || line.starts_with('#');
        if part.lines().all(is_blank) {
            continue;
        }
        let report = parse_text(part).map_err(|error| error.after_lines(first_line))?;
        documents.push(ReportDocument { comments: std::mem::take(&mut comments), report });
    }
    if documents.is_empty() {
        documents.push(ReportDocument { comments, report: Report::default() });
    }
    Ok(documents)
}

/// Splits a text at its lines `---`, which no YAML document can contain at the start of a line. Returns the number of
/// lines before each part.
fn split_documents(text: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut start, mut first_line, mut offset) = (Vec::new(), 0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" {
            parts.push((first_line, &text[start..offset]));
            (start, first_line) = (offset + line.len(), number + 1);
        }
        offset += line.len();
    }
    parts.push((first_line, &text[start..]));
    parts
}

/// Parses a report file that holds one report.
pub fn parse(content: &[u8]) -> Result<Report, ReportError> {
    parse_text(text(content)?)
}

/// The text of a report file, within the limit and without a byte order mark.
fn text(content: &[u8]) -> Result<&str, ReportError> {
    if content.len() as u64 > REPORT_BYTES_MAX {
        return Err(ReportError::TooLarge);
    }
    let text = std::str::from_utf8(content).map_err(|error| {
        let before = &content[..error.valid_up_to()];
        ReportError::NotText { line: 1 + before.iter().filter(|&&byte| byte == b'\n').count() }
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn parse_text(text: &str) -> Result<Report, ReportError> {
    let node = node::parse(text)?;
    let mut report = Report::default();
    for (field, value) in fields(node, "the report", &FIELDS.map(|(field, _)| field))? {
        match field {
            "test_expectation" => report.test_expectation = text_of(value, field)?,
            "actual_error" => report.actual_error = text_of(value, field)?,
            "attempt_log" => report.attempt_log = list(value, field, log_line)?,
            "cumulative_files_modified" => report.cumulative_files_modified = list(value, field, text_of)?,
            "scope_violations" => report.scope_violations = list(value, field, violation)?,
            "best_hypothesis" => report.best_hypothesis = text_of(value, field)?,
            "specific_question" => report.specific_question = text_of(value, field)?,
            "recovery_options" => report.recovery_options = list(value, field, recovery_option)?,
            _ => return Err(value.error(format!("{field} is not expected here"))),
        }
    }
    Ok(report)
}

/// The fields of a mapping, each of which must be known. An empty node is an empty mapping.
fn fields<'known>(node: Node, name: &str, known: &[&'known str]) -> Result<Vec<(&'known str, Node)>, ReportError> {
    let pairs = match node.kind {
        Kind::Map(pairs) => pairs,
        Kind::Null => return Ok(Vec::new()),
        Kind::Text(_) | Kind::List(_) => return Err(node.expected(name, "fields (`name: value`)")),
    };
    let known_field = |(key, value): (String, Node)| match known.iter().find(|field| **field == key) {
        Some(field) => Ok((*field, value)),
        None => Err(value.error(format!("{name} has no field {}; expected {}", shorten(&key), known.join(", ")))),
    };
    pairs.into_iter().map(known_field).collect()
}

fn text_of(node: Node, name: &str) -> Result<String, ReportError> {
    match node.kind {
        Kind::Text(text) => Ok(text),
        Kind::Null => Ok(String::new()),
        Kind::List(_) | Kind::Map(_) => Err(node.expected(name, "text")),
    }
}

fn list<T>(
    node: Node,
    name: &str,
    item: impl Fn(Node, &str) -> Result<T, ReportError>,
) -> Result<Listed<T>, ReportError> {
    match node.kind {
        Kind::Text(text) => Ok(Listed::Text(text)),
        Kind::Null => Ok(Listed::default()),
        Kind::Map(_) => Err(node.expected(name, "a list (`- …`), or `not applicable: …` in quotes")),
        Kind::List(nodes) => {
            let items = nodes.into_iter().enumerate().map(|(at, node)| item(node, &format!("{name}[{}]", at + 1)));
            Ok(Listed::Items(items.collect::<Result<_, _>>()?))
        }
    }
}

fn log_line(node: Node, name: &str) -> Result<LogLine, ReportError> {
    let mut line = LogLine::default();
    for (field, value) in fields(node, name, &["attempt", "strategy", "files", "result"])? {
        let field_path = format!("{name}.{field}");
        match field {
            "attempt" => line.attempt = number(value, &field_path)?,
            "strategy" => line.strategy = text_of(value, &field_path)?,
            "files" => line.files = files(value, &field_path)?,
            _ => line.result = text_of(value, &field_path)?,
        }
    }
    Ok(line)
}

fn number(node: Node, name: &str) -> Result<u32, ReportError> {
    match &node.kind {
        Kind::Text(text) => text.trim().parse().map_err(|_| node.expected(name, "a whole number")),
        Kind::Null => Ok(0),
        Kind::List(_) | Kind::Map(_) => Err(node.expected(name, "a whole number")),
    }
}

/// A list of files, or a single file without a list around it.
fn files(node: Node, name: &str) -> Result<Vec<String>, ReportError> {
    Ok(match list(node, name, text_of)? {
        Listed::Items(files) => files,
        Listed::Text(file) if file.is_empty() => Vec::new(),
        Listed::Text(file) => vec![file],
    })
}

fn violation(node: Node, name: &str) -> Result<ScopeViolation, ReportError> {
    let mut violation = ScopeViolation::default();
    for (field, value) in fields(node, name, &["file", "justification"])? {
        let text = text_of(value, &format!("{name}.{field}"))?;
        match field {
            "file" => violation.file = text,
            _ => violation.justification = text,
        }
    }
    Ok(violation)
}

fn recovery_option(node: Node, name: &str) -> Result<RecoveryOption, ReportError> {
    let mut recovery = RecoveryOption::default();
    for (field, value) in fields(node, name, &["option", "risk"])? {
        let text = text_of(value, &format!("{name}.{field}"))?;
        match field {
            "option" => recovery.option = text,
            _ => recovery.risk = text,
        }
    }
    Ok(recovery)
}
