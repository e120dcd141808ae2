//! Finds credentials in headers: `Authorization: SCHEME credential`, cookies, and a `Bearer` on its own.

use std::ops::Range;

use super::character::{BASE64, DOT, LETTER, TILDE, WORD, is_in, run_length};
use super::literal::{Ends, Literal, opening_quote, skip_blanks};
use super::value::{is_placeholder, is_random};

/// Parts of a cookie that are no values.
const ATTRIBUTES: [&str; 7] = ["path", "domain", "expires", "max-age", "samesite", "priority", "version"];

/// If the name is that of a header with a credential, masks it and returns where its value ends.
pub(super) fn credential(
    text: &str,
    name: &str,
    value_at: usize,
    found: &mut impl FnMut(Range<usize>),
) -> Option<usize> {
    let is = |header: &str| name.eq_ignore_ascii_case(header);
    if is("cookie") || is("set-cookie") || is("set_cookie") || name.ends_with(".cookie") {
        return cookies(text, value_at, found);
    }
    if !is("authorization") && !is("proxy-authorization") && !is("x-authorization") && !is("auth-header") {
        return None;
    }
    let bytes = text.as_bytes();
    let (from, end) = match opening_quote(bytes, value_at) {
        Some((quote, from)) => (from, quote.end(bytes, from, bytes.len().min(from + HEADER_BYTES_MAX))),
        None => {
            let line = bytes.len().min(value_at + HEADER_BYTES_MAX);
            let mut end =
                (value_at..line).find(|at| matches!(bytes[*at], b'\n' | b'\r' | b'"' | b'\'' | b'`')).unwrap_or(line);
            while end > value_at && matches!(bytes[end - 1], b'\\' | b' ') {
                end -= 1;
            }
            (value_at, end)
        }
    };
    let end = text.floor_char_boundary(end).max(from);
    let value = &text[from..end];
    let scheme = run_length(value.as_bytes(), 0, WORD);
    let rest = value[scheme..].trim_start_matches(' ');
    let credential = if scheme > 0 && !rest.is_empty() && value.as_bytes()[scheme] == b' ' { rest } else { value };
    let first = credential.split([' ', ',']).next().unwrap_or_default();
    let is_known = ["bearer", "basic", "token", "apikey", "bot", "key"]
        .iter()
        .any(|known| value[..scheme].eq_ignore_ascii_case(known));
    let is_list = ["digest", "aws4-hmac-sha256", "oauth", "signature", "hawk"]
        .iter()
        .any(|known| value[..scheme].eq_ignore_ascii_case(known));
    let is_word = first.bytes().all(|byte| is_in(byte, LETTER) || matches!(byte, b'_' | b'-' | b'.'));
    let is_secret = match (is_placeholder(first), is_word) {
        (true, _) => false,
        (false, true) => is_known && first == credential.trim_end() && first.len() >= 8,
        (false, false) => first.len() >= 4 && !first.contains(['(', '[', '{', '$']),
    };
    if !is_secret && !is_list {
        return None;
    }
    // A list of signed parts is masked whole, quotes and all.
    let until = if is_list {
        (from..bytes.len().min(from + HEADER_BYTES_MAX)).find(|at| matches!(bytes[*at], b'\n' | b'\r')).unwrap_or(end)
    } else if credential.contains(' ') && !is_list {
        end - credential.len() + first.len()
    } else {
        end
    };
    let start = end - credential.len();
    let until = start
        + text[start..text.floor_char_boundary(until).max(start)].trim_end_matches([',', ' ', '"', '\'', '\\']).len();
    if start == until || &text[start..until] == super::MASK {
        return None;
    }
    found(start..until);
    Some(until)
}

/// The longest header that is read.
const HEADER_BYTES_MAX: usize = 4096;

/// Masks the values of a cookie header; returns where it ends.
pub(super) fn cookies(text: &str, at: usize, found: &mut impl FnMut(Range<usize>)) -> Option<usize> {
    let bytes = text.as_bytes();
    let limit = |from: usize| bytes.len().min(from + HEADER_BYTES_MAX);
    let (from, end) = match opening_quote(bytes, at) {
        Some((quote, from)) => (from, quote.end(bytes, from, limit(from))),
        None => (
            at,
            (at..limit(at))
                .find(|at| matches!(bytes[*at], b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<'))
                .unwrap_or(limit(at)),
        ),
    };
    let end = text.floor_char_boundary(end).max(from);
    let mut masked = None;
    let mut part_from = from;
    for part in text[from..end].split(';') {
        let part_end = part_from + part.len();
        if let Some((name, value)) = part.split_once('=') {
            let value = value.trim_end_matches([' ', '\\']);
            let name = name.trim();
            let is_attribute = ATTRIBUTES.iter().any(|attribute| name.eq_ignore_ascii_case(attribute));
            let is_name = !name.is_empty() && name.bytes().all(|byte| is_in(byte, WORD | DOT) || byte == b':');
            let value_from = part_from + part.len() - part.split_once('=').map_or(0, |(_, value)| value.len());
            if is_name
                && !is_attribute
                && value.len() >= 4
                && !value.contains(['(', '{', ' '])
                && !is_placeholder(value)
            {
                found(value_from..value_from + value.len());
                masked = Some(end);
            }
        }
        part_from = part_end + 1;
    }
    masked
}

/// `Bearer x` and `Basic x` wherever they stand.
pub(super) fn schemes(text: &str, found: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    for at in 1..bytes.len() {
        // The last letters of `Bearer`, `Basic`, `FlyV1`.
        if bytes[at] != b' ' || !matches!(bytes[at - 1], b'r' | b'R' | b'c' | b'C' | b'1') {
            continue;
        }
        let scheme = bytes[..at].iter().rev().take(7).take_while(|byte| is_in(**byte, WORD)).count();
        let word = &text[at - scheme..at];
        let bits = match word {
            _ if word.eq_ignore_ascii_case("bearer") => 2.0,
            _ if word.eq_ignore_ascii_case("basic") => 3.0,
            "FlyV1" => 2.0,
            _ => continue,
        };
        let from = skip_blanks(bytes, at);
        let length = run_length(bytes, from, BASE64 | WORD | DOT | TILDE);
        let value = &text[from..from + length];
        let value = value.trim_end_matches('.');
        let is_secret = is_random(value.as_bytes(), bits)
            || (value.len() >= 8
                && value.bytes().any(|byte| byte.is_ascii_digit())
                && !value.contains('/')
                && word.eq_ignore_ascii_case("bearer"));
        if is_secret && !is_placeholder(value) {
            found(from..from + value.len());
        }
    }
}

/// The value after an option that takes cookies.
pub(super) fn cookie_option(text: &str, at: usize, found: &mut impl FnMut(Range<usize>)) {
    if Literal::read(text.as_bytes(), at, Ends::Blank).text(text).contains('=') {
        cookies(text, at, found);
    }
}
