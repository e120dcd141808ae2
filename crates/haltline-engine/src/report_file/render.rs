//! Writes a report as YAML. Texts are block scalars, as people would write them. What a block cannot hold unchanged
//! (control characters, a carriage return, blanks at the very end) is quoted, still one line for each line.

use std::fmt::Write;

use haltline_core::attempt::{FIELDS, Listed, Report};

/// Whether a comment before each field says what to write there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// For the agent or person who fills the report in.
    Shown,
    /// For readers.
    Hidden,
}

pub fn render(report: &Report, hints: Hints) -> String {
    let mut out = String::new();
    for (field, hint) in FIELDS {
        if hints == Hints::Shown {
            push_line(&mut out, &format!("# {field}: {hint}"));
        }
        match field {
            "test_expectation" => push_text(&mut out, field, &report.test_expectation),
            "actual_error" => push_text(&mut out, field, &report.actual_error),
            "attempt_log" => push_list(&mut out, field, &report.attempt_log, |out, entry| {
                push_line(out, &format!("  - attempt: {}", entry.attempt));
                push_nested(out, "    strategy: ", &entry.strategy, 4);
                match entry.files.as_slice() {
                    [] => push_line(out, "    files: []"),
                    files => {
                        push_line(out, "    files:");
                        files.iter().for_each(|file| push_nested(out, "      - ", file, 6));
                    }
                }
                push_nested(out, "    result: ", &entry.result, 4);
            }),
            "cumulative_files_modified" => {
                push_list(&mut out, field, &report.cumulative_files_modified, |out, file| {
                    push_nested(out, "  - ", file, 2)
                });
            }
            "scope_violations" => push_list(&mut out, field, &report.scope_violations, |out, violation| {
                push_nested(out, "  - file: ", &violation.file, 4);
                push_nested(out, "    justification: ", &violation.justification, 4);
            }),
            "best_hypothesis" => push_text(&mut out, field, &report.best_hypothesis),
            "specific_question" => push_text(&mut out, field, &report.specific_question),
            _ => push_list(&mut out, field, &report.recovery_options, |out, recovery| {
                push_nested(out, "  - option: ", &recovery.option, 4);
                push_nested(out, "    risk: ", &recovery.risk, 4);
            }),
        }
    }
    out
}

fn push_line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Writes a field of the report itself.
fn push_text(out: &mut String, field: &str, text: &str) {
    out.push_str(field);
    out.push_str(": ");
    if fits_block(text) { push_block(out, text, 0) } else { push_quoted(out, text, 0) }
}

/// Writes a nested text, below names that are indented by `indent`.
fn push_nested(out: &mut String, head: &str, text: &str, indent: usize) {
    out.push_str(head);
    if text.contains('\n') && fits_block(text) { push_block(out, text, indent) } else { push_quoted(out, text, indent) }
}

fn push_list<T>(out: &mut String, field: &str, listed: &Listed<T>, each: impl Fn(&mut String, &T)) {
    match listed {
        Listed::Items(items) if items.is_empty() => push_line(out, &format!("{field}: []")),
        Listed::Items(items) => {
            push_line(out, &format!("{field}:"));
            items.iter().for_each(|item| each(out, item));
        }
        Listed::Text(text) => push_nested(out, &format!("{field}: "), text, 0),
    }
}

/// True if every YAML reader returns from a block exactly what was written into it.
fn fits_block(text: &str) -> bool {
    let is_plain = |letter: char| match letter {
        '\n' | '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
            // Line ends to YAML 1.1 readers, and a byte order mark that some readers drop.
            !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
        }
        _ => false,
    };
    let is_blank = |line: &str| line.chars().all(|letter| matches!(letter, ' ' | '\t'));
    // Readers differ in how they treat blank lines at either end.
    let body = text.trim_end_matches('\n');
    let ends_well = !body.rsplit('\n').next().is_none_or(is_blank);
    let begins_well = !body.split('\n').next().is_none_or(|first| is_blank(first) || first.starts_with('\t'));
    begins_well && ends_well && text.chars().all(is_plain)
}

fn push_block(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    out.push('|');
    if body.starts_with(' ') {
        // Readers would take the first line's blanks for the block's indentation.
        out.push('2');
    }
    match text.len() - body.len() {
        0 => out.push('-'),
        1 => {}
        _ => out.push('+'),
    }
    out.push('\n');
    for row in body.split('\n') {
        if !row.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent + 2));
            out.push_str(row);
        }
        out.push('\n');
    }
    // The body's last line has its own line end; the others are kept as empty lines.
    out.extend(std::iter::repeat_n('\n', (text.len() - body.len()).saturating_sub(1)));
}

/// Writes a text in double quotes. Several lines stay several: an escaped line end is not part of the text, and neither
/// are the blanks that follow it, so a line's own first blank is escaped.
fn push_quoted(out: &mut String, text: &str, indent: usize) {
    let rows: Vec<&str> = text.split_inclusive('\n').collect();
    out.push('"');
    for row in &rows {
        if rows.len() > 1 {
            out.push_str("\\\n");
            out.extend(std::iter::repeat_n(' ', indent + 2));
        }
        for (at, letter) in row.chars().enumerate() {
            push_escaped(out, letter, at == 0 && rows.len() > 1);
        }
    }
    out.push_str("\"\n");
}

fn push_escaped(out: &mut String, letter: char, is_first: bool) {
    match letter {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0' => out.push_str("\\0"),
        '\u{1b}' => out.push_str("\\e"),
        ' ' if is_first => out.push_str("\\ "),
        ' '..='~' => out.push(letter),
        '\u{a1}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..
            if !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}') =>
        {
            out.push(letter);
        }
        _ if u32::from(letter) <= 0xff => {
            write!(out, "\\x{:02x}", u32::from(letter)).expect("writing to a String cannot fail");
        }
        _ => write!(out, "\\u{:04x}", u32::from(letter)).expect("writing to a String cannot fail"),
    }
}
