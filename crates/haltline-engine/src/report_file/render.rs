//! A report as YAML. Texts stand as block scalars, as people would write them; what a block cannot hold unchanged
//! (control characters, a carriage return, blanks at the very end) is quoted, still one line for each line.

use std::fmt::Write;

use haltline_core::attempt::{FIELDS, Listed, Report};

/// Whether each field is preceded by what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// For who fills it in.
    Shown,
    /// For who reads it.
    Hidden,
}

/// The report's text.
pub fn render(report: &Report, hints: Hints) -> String {
    let mut out = String::new();
    for (field, hint) in FIELDS {
        if hints == Hints::Shown {
            line(&mut out, &format!("# {field}: {hint}"));
        }
        match field {
            "test_expectation" => text(&mut out, field, &report.test_expectation),
            "actual_error" => text(&mut out, field, &report.actual_error),
            "attempt_log" => list(&mut out, field, &report.attempt_log, |out, entry| {
                line(out, &format!("  - attempt: {}", entry.attempt));
                nested(out, "    strategy: ", &entry.strategy, 4);
                match entry.files.as_slice() {
                    [] => line(out, "    files: []"),
                    files => {
                        line(out, "    files:");
                        files.iter().for_each(|file| nested(out, "      - ", file, 6));
                    }
                }
                nested(out, "    result: ", &entry.result, 4);
            }),
            "cumulative_files_modified" => {
                list(&mut out, field, &report.cumulative_files_modified, |out, file| nested(out, "  - ", file, 2));
            }
            "scope_violations" => list(&mut out, field, &report.scope_violations, |out, violation| {
                nested(out, "  - file: ", &violation.file, 4);
                nested(out, "    justification: ", &violation.justification, 4);
            }),
            "best_hypothesis" => text(&mut out, field, &report.best_hypothesis),
            "specific_question" => text(&mut out, field, &report.specific_question),
            _ => list(&mut out, field, &report.recovery_options, |out, way| {
                nested(out, "  - option: ", &way.option, 4);
                nested(out, "    risk: ", &way.risk, 4);
            }),
        }
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// A field of the report itself.
fn text(out: &mut String, field: &str, text: &str) {
    out.push_str(field);
    out.push_str(": ");
    if fits_block(text) { block(out, text, 0) } else { quoted(out, text, 0) }
}

/// A text further in, below names that stand at `indent`.
fn nested(out: &mut String, head: &str, text: &str, indent: usize) {
    out.push_str(head);
    if text.contains('\n') && fits_block(text) { block(out, text, indent) } else { quoted(out, text, indent) }
}

fn list<T>(out: &mut String, field: &str, listed: &Listed<T>, each: impl Fn(&mut String, &T)) {
    match listed {
        Listed::Items(items) if items.is_empty() => line(out, &format!("{field}: []")),
        Listed::Items(items) => {
            line(out, &format!("{field}:"));
            items.iter().for_each(|item| each(out, item));
        }
        Listed::Words(words) => nested(out, &format!("{field}: "), words, 0),
    }
}

/// Whether every reader of YAML gives back from a block what was put into it.
fn fits_block(text: &str) -> bool {
    let is_plain = |letter: char| match letter {
        '\n' | '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
            // Line ends to readers of YAML 1.1, and a mark that some drop.
            !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
        }
        _ => false,
    };
    let is_blank = |line: &str| line.chars().all(|letter| matches!(letter, ' ' | '\t'));
    // Blank lines at either end are where readers differ.
    let body = text.trim_end_matches('\n');
    let ends_well = !body.rsplit('\n').next().is_none_or(is_blank);
    let begins_well = !body.split('\n').next().is_none_or(|first| is_blank(first) || first.starts_with('\t'));
    begins_well && ends_well && text.chars().all(is_plain)
}

fn block(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    out.push('|');
    if body.starts_with(' ') {
        // The first line's blanks would be taken for the block's indentation.
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
    // The body's last line has its own end; the others are kept as empty lines.
    out.extend(std::iter::repeat_n('\n', (text.len() - body.len()).saturating_sub(1)));
}

/// In double quotes. Several lines stay several: an escaped line end is no part of the text, and neither are the
/// blanks that follow it, so a line's own first blank is escaped.
fn quoted(out: &mut String, text: &str, indent: usize) {
    let rows: Vec<&str> = text.split_inclusive('\n').collect();
    out.push('"');
    for row in &rows {
        if rows.len() > 1 {
            out.push_str("\\\n");
            out.extend(std::iter::repeat_n(' ', indent + 2));
        }
        for (at, letter) in row.chars().enumerate() {
            escaped(out, letter, at == 0 && rows.len() > 1);
        }
    }
    out.push_str("\"\n");
}

fn escaped(out: &mut String, letter: char, is_first: bool) {
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
