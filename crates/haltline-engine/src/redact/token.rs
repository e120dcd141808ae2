//! Finds secrets that are recognised by their own form, wherever they stand.

use std::ops::Range;

use super::character::{
    ALPHANUMERIC, BASE64, DASH, DIGIT, DOLLAR, DOT, HEX, LOWER, PLUS_SLASH, TILDE, UNDERSCORE, UPPER, WORD,
    is_boundary, is_in, run_length,
};
use super::token_kinds::{SECRET_ADDRESSES, TokenKind, kinds_from};
use super::value::is_random;

/// What a run of characters consists of that may hold a token without a fixed beginning.
const RUN: u16 = WORD | DOT | TILDE;
/// Shorter runs hold none of them.
const RUN_BYTES_MIN: usize = 30;
/// The longest part of a run that is looked at.
const RUN_BYTES_MAX: usize = 1024;

/// Calls `found` with the position of every token.
pub(super) fn find(text: &str, found: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut run_end = 0;
    while at < bytes.len() {
        if !is_in(bytes[at], ALPHANUMERIC | DOLLAR) {
            at += 1;
            continue;
        }
        let is_start = is_boundary(bytes, at);
        if is_start && let Some(end) = token_end(bytes, at) {
            found(at..end);
            at = end;
            continue;
        }
        let is_letter_of_escape =
            at > 0 && bytes[at - 1] == b'\\' && matches!(bytes[at], b'n' | b'r' | b't' | b'f' | b'b');
        if is_start && !is_letter_of_escape && at >= run_end {
            let length = run_length(&bytes[..bytes.len().min(at + RUN_BYTES_MAX)], at, RUN);
            run_end = at + length;
            if length >= RUN_BYTES_MIN {
                let run = text[at..run_end].trim_end_matches('.');
                if let Some(range) = structured(run) {
                    found(at + range.start..at + range.end);
                    at += range.end;
                    continue;
                }
            }
            if let Some(end) = with_separator(bytes, at) {
                found(at..end);
                at = end;
                continue;
            }
        }
        at += 1;
        // Within a word no token begins, except behind an escape.
        let is_escape = at >= 2 && matches!(bytes[at - 2], b'\\' | b'%' | b'[' | b';');
        if is_start && !is_escape {
            at += run_length(bytes, at, ALPHANUMERIC);
        }
    }
}

/// The end of the token that begins here.
fn token_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let second = rest.get(1);
    let end = |kind: &TokenKind| {
        if kind.start.as_bytes().get(1) != second {
            return None;
        }
        let after = rest.strip_prefix(kind.start.as_bytes())?;
        let length = run_length(after, 0, kind.set);
        if length < kind.min || length > kind.max {
            return None;
        }
        // Of a token of one length nothing may be left over.
        if kind.max != usize::MAX && after.get(length).is_some_and(|next| is_in(*next, ALPHANUMERIC | UNDERSCORE)) {
            return None;
        }
        let is_word = || length < 30 && !after[..length].iter().any(u8::is_ascii_digit);
        if is_padding(&after[..length]) || (kind.is_common_start && (is_word() || !is_random(&after[..length], 3.0))) {
            return None;
        }
        Some(at + kind.start.len() + trimmed(&after[..length]))
    };
    if let Some(end) = kinds_from(rest[0]).iter().find_map(end) {
        return Some(end);
    }
    if rest.starts_with(b"eyJ") { web_token(rest).map(|length| at + length) } else { None }
}

/// The length without a full stop at the end, which belongs to the sentence.
fn trimmed(run: &[u8]) -> usize {
    run.iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1)
}

/// True if all characters are the same, as in `xxxxxxxx`.
fn is_padding(run: &[u8]) -> bool {
    run.iter().all(|byte| matches!(byte, b'x' | b'X' | b'.' | b'*' | b'-' | b'_' | b'0'))
}

/// The length of a JSON web token: two or three parts, of which the first two hold an object.
fn web_token(rest: &[u8]) -> Option<usize> {
    let first = run_length(rest, 0, WORD | PLUS_SLASH);
    let has_part = rest.get(first) == Some(&b'.');
    // A part alone is an encoded object, as in the cursor of a page, unless it is the head of a web token that was cut.
    if first < 11 || !has_part {
        return None;
    }
    let second = run_length(rest, first + 1, WORD | PLUS_SLASH);
    // An encrypted token has five parts, of which the second may be empty.
    if second < 4 && rest.get(first + 1 + second) != Some(&b'.') {
        return None;
    }
    let whole = run_length(rest, 0, BASE64 | WORD | DOT);
    Some(trimmed(&rest[..whole]))
}

/// Finds a token whose mark is in its middle or at its end.
fn structured(run: &str) -> Option<Range<usize>> {
    let bytes = run.as_bytes();
    let set_before = |at: usize, set: u16| bytes[..at].iter().rev().take_while(|byte| is_in(**byte, set)).count();
    if let Some(mark) = run.find(".atlasv1.") {
        let (before, after) = (set_before(mark, ALPHANUMERIC), run_length(bytes, mark + 9, WORD));
        if before >= 10 && after >= 40 {
            return Some(mark - before..mark + 9 + after);
        }
    }
    // A client secret of Microsoft Entra: three characters, a digit, `Q~`.
    if let Some(mark) = run.find("Q~") {
        let after = run_length(bytes, mark + 2, WORD | DOT | TILDE);
        if mark >= 4 && bytes[mark - 1].is_ascii_digit() && after >= 30 {
            return Some(mark - 4..mark + 2 + after);
        }
    }
    if run.ends_with("_mmk") && run.len() >= 36 {
        return Some(0..run.len());
    }
    if run.contains(".acc_") || run.contains(".acc-") {
        let is_authress = ["sc_", "ext_", "scauth_", "authress_"].iter().any(|start| run.starts_with(start));
        if is_authress && run.len() >= 60 {
            return Some(0..run.len());
        }
    }
    let dots = || bytes.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
    if bytes[0].is_ascii_alphanumeric() && dots().take(4).count() == 2 {
        let parts: Vec<&str> = run.split('.').collect();
        let has_form = |lengths: [Range<usize>; 3]| {
            std::iter::zip(&parts, lengths).all(|(part, length)| length.contains(&part.len()))
        };
        // A bot's token of Discord: its number in base 64, a time, a signature.
        if has_form([23..29, 6..8, 27..45]) && matches!(bytes[0], b'M' | b'N' | b'O') && is_random(bytes, 3.5) {
            return Some(0..run.len());
        }
    }
    // Mailchimp: 32 digits of hex and a data centre.
    if let Some(mark) = run.find("-us") {
        let after = run_length(bytes, mark + 3, DIGIT);
        if set_before(mark, HEX) == 32 && (1..=2).contains(&after) && mark + 3 + after == run.len() {
            return Some(mark - 32..run.len());
        }
    }
    // Mailgun's signing key: 32, 8 and 8 digits of hex.
    if run.len() == 50 && run.bytes().enumerate().all(|(at, byte)| (byte == b'-') == (at == 32 || at == 41)) {
        let is_hex = run.bytes().all(|byte| is_in(byte, HEX | DASH));
        if is_hex {
            return Some(0..run.len());
        }
    }
    None
}

/// The end of a token that is a number, `:` or `|`, and a secret: of a bot of Telegram, of an application of Facebook.
fn with_separator(bytes: &[u8], at: usize) -> Option<usize> {
    if !bytes[at].is_ascii_digit() {
        return None;
    }
    let number = run_length(&bytes[..bytes.len().min(at + 20)], at, DIGIT);
    let from = at + number + 1;
    let separator = *bytes.get(at + number)?;
    let length = run_length(&bytes[..bytes.len().min(at + 200)], from.min(bytes.len()), WORD);
    let is_token = match separator {
        b':' => (5..=16).contains(&number) && bytes.get(from) == Some(&b'A') && (33..=50).contains(&length),
        b'|' | b'%' => {
            (15..=16).contains(&number) && (27..=45).contains(&length) && is_random(&bytes[from..from + length], 3.0)
        }
        _ => false,
    };
    is_token.then_some(from + length)
}

/// Addresses that are secrets themselves.
pub(super) fn find_addresses(text: &str, found: &mut impl FnMut(Range<usize>)) {
    if !text.contains(".com/") && !text.contains(".org/bot") {
        return;
    }
    for mark in SECRET_ADDRESSES {
        let mut covered = 0;
        for (at, _) in text.match_indices(mark) {
            let from = at + mark.len();
            if from < covered {
                continue;
            }
            let length = run_length(text.as_bytes(), from, BASE64 | WORD | DOT);
            // `@` is part of the addresses of Teams.
            let more = text[from + length..]
                .strip_prefix('@')
                .map_or(0, |rest| 1 + run_length(rest.as_bytes(), 0, BASE64 | WORD | DOT));
            covered = from + length + more;
            if length + more >= 16 {
                found(from..from + trimmed(&text.as_bytes()[from..from + length + more]));
            }
        }
    }
    // The bots of Telegram have their token in the path.
    for (at, mark) in text.match_indices("api.telegram.org/bot") {
        let from = at + mark.len();
        if let Some(end) = with_separator(text.as_bytes(), from.min(text.len().saturating_sub(1))) {
            found(from..end);
        }
    }
}

/// A line of a key without what quotes it in code.
pub(super) fn bare_line(line: &str) -> &str {
    line.trim().trim_start_matches('>').trim_matches(['"', '\'', ',', '+', ' ']).trim_end_matches("\\n")
}

/// True if the line may be one of a key's body: nothing but base 64.
pub(super) fn is_base64_line(line: &str) -> bool {
    let line = bare_line(line);
    (12..=76).contains(&line.len()) && line.bytes().all(|byte| is_in(byte, BASE64))
}

/// True for a line of a key's body: nothing but base 64, as long as the lines of such files are.
pub(super) fn is_key_body(line: &str) -> bool {
    let line = bare_line(line);
    let bytes = line.as_bytes();
    if !(60..=76).contains(&bytes.len()) || !bytes.iter().all(|byte| is_in(*byte, BASE64)) {
        return false;
    }
    let has = |set| bytes.iter().any(|byte| is_in(*byte, set));
    has(UPPER) && has(LOWER) && has(DIGIT) && !line.trim_end_matches('=').contains('=') && is_random(bytes, 4.5)
}
