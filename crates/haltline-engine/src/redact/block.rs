//! Finds private keys of several lines, whole or cut: by their first line, by their last, by the lines between.

use std::ops::Range;

use super::token::{is_base64_line, is_key_body};

/// The longest line that names a key.
const TITLE_BYTES_MAX: usize = 80;

/// Calls `found` with the position of every private key.
pub(super) fn find(text: &str, found: &mut impl FnMut(Range<usize>)) {
    let mut covered = 0;
    if text.contains("----") {
        let mut begun: Option<usize> = None;
        let mut at = 0;
        while let Some(dashes) = text[at..].find("----") {
            let from = at + dashes;
            let title_from = from + text[from..].bytes().take_while(|byte| matches!(byte, b'-' | b' ')).count();
            let length = text.as_bytes()[title_from..]
                .iter()
                .take(TITLE_BYTES_MAX)
                .take_while(|byte| **byte != b'-' && **byte != b'\n')
                .count();
            let title = &text[title_from..title_from + length];
            let closing = text[title_from + length..].bytes().take_while(|byte| *byte == b'-').count();
            let end = title_from + length + closing;
            let upper = title.trim().to_ascii_uppercase();
            let is_key = closing >= 4 && (upper.contains("PRIVATE KEY") || upper.contains("PGP MESSAGE"));
            at = (title_from + length).max(from + 1);
            if !is_key {
                continue;
            }
            if upper.starts_with("BEGIN ") {
                begun = begun.or(Some(from));
                at = end;
            } else if upper.starts_with("END ") {
                // Without its beginning: all of the lines before that look like a key.
                let start = begun.take().unwrap_or_else(|| body_before(text, from));
                found(start..end);
                covered = end;
                at = end;
            }
        }
        if let Some(start) = begun {
            found(start..text.len());
            return;
        }
    }
    lines(text, covered, found);
    if text.contains('\n') {
        putty(text, found);
    }
}

/// Where the lines begin that stand before the last line of a key.
fn body_before(text: &str, end: usize) -> usize {
    let mut from = end;
    for line in text[..end].rsplit('\n') {
        let body = line.trim().trim_matches(['"', '\'', ',', '+']);
        let is_body =
            body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\'));
        let start = end - (end - line_start(text, line));
        if !is_body || body.len() > 200 {
            // What stands before the last line on the same line, as where line breaks are escaped.
            if from == end {
                let blank = line.rfind([' ', '"', '\'']).map_or(0, |blank| blank + 1);
                from = start + blank;
            }
            break;
        }
        from = start;
    }
    from
}

fn line_start(text: &str, line: &str) -> usize {
    line.as_ptr() as usize - text.as_ptr() as usize
}

/// Lines of the body of a key, where neither its first nor its last line is left.
fn lines(text: &str, covered: usize, found: &mut impl FnMut(Range<usize>)) {
    if text.len() < covered + 60 {
        return;
    }
    let mut at = 0;
    // The line before, if it may belong to a key, and whether this line follows one of a key.
    let mut before: Option<Range<usize>> = None;
    let mut follows = false;
    for line in text.split_inclusive('\n') {
        let from = at;
        at += line.len();
        if from < covered {
            continue;
        }
        let whole = from..from + line.trim_end().len();
        let may_belong = (12..=120).contains(&line.len()) && is_base64_line(line);
        let is_body = may_belong && is_key_body(line);
        if is_body && let Some(before) = before.take() {
            found(before);
        }
        if follows && may_belong && !is_body {
            found(whole.clone());
        }
        follows = is_body;
        before = (may_belong && !is_body).then_some(whole);
        if line.len() < 60 {
            continue;
        }
        // The line may stand between blanks.
        let words = if line.len() > 400 { "" } else { line };
        for word in words.split_ascii_whitespace().filter(|word| word.len() >= 60) {
            if is_key_body(word) {
                let start = line_start(text, word);
                found(start..start + word.len());
            }
        }
    }
}

/// A key of PuTTY: the lines that `Private-Lines:` counts.
fn putty(text: &str, found: &mut impl FnMut(Range<usize>)) {
    let mark = "Private-Lines:";
    let mut searched = 0;
    while let Some(at) = text[searched..].find(mark) {
        let from = searched + at + mark.len();
        let rest = &text[from..];
        let end = rest.find("Private-MAC").unwrap_or(rest.len());
        searched = from + end;
        let start = rest[..end].find('\n').map_or(0, |line| line + 1);
        let body = rest[start..end].trim_end();
        if !body.is_empty() && body != super::MASK {
            found(from + start..from + start + body.len());
        }
    }
}
