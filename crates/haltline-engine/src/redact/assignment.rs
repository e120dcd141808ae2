//! Finds secrets by the name that they are given: `name = value`, `"name": "value"`, `<name>value</name>`.
//!
//! Every `=`, `:`, `>` and `,` is looked at once, with a bounded part of the text before and behind it, so the time is
//! linear in the length of the text.

use std::ops::Range;

use super::character::{ALPHANUMERIC, DOT, LOWER, UNDERSCORE, UPPER, WORD, is_in, run_length};
use super::header;
use super::literal::{Ends, LOOKED_AT_BYTES, Literal, skip_blanks};
use super::name::{NAME_BYTES_MAX, Promise, is_of_vendor, promise};
use super::value::{is_call, is_identifier, is_member, is_name, is_placeholder, is_prose, is_random};

const NAME: u16 = WORD | DOT;

/// How a value is given to a name, which says what else it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// `NAME=value`, `--name=value`, `--name value`: a shell, a file of settings, a command line.
    Setting,
    /// `name=value`: a query, a connection string, an argument in code.
    Tight,
    /// `name = value`, `name: value`: code, a file of settings, a sentence.
    Spaced,
    /// Between two tags.
    Tag,
}

/// A name that stands before a separator.
struct Name<'a> {
    text: &'a str,
    /// Where it begins.
    from: usize,
    is_quoted: bool,
}

/// What a pass over a text remembers.
#[derive(Default)]
struct Pass {
    /// Where `name: NAME` ended whose value is a name that promises a secret: `value:` follows.
    named: Option<(usize, Promise)>,
    /// True after `kind: Secret`: what follows `data:` is secret whatever it is called.
    is_secret_object: bool,
    /// The indentation of `data:` of such an object.
    data_indent: Option<usize>,
}

/// Calls `found` with the position of every value that a name gives away.
pub(super) fn find(text: &str, found: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut pass = Pass { is_secret_object: has_secret_object(text), ..Pass::default() };
    let mut at = 0;
    while at < bytes.len() {
        at = match bytes[at] {
            b'=' | b':' => match pass.at_separator(text, at, found) {
                Some(end) => end.max(at + 1),
                None => at + 1,
            },
            b'>' => at_tag(text, at, found).unwrap_or(at + 1),
            b',' | b'(' => at_argument(text, at, found).unwrap_or(at + 1),
            _ => at + 1,
        };
    }
}

/// True for the manifest of a Kubernetes Secret.
fn has_secret_object(text: &str) -> bool {
    text.contains("ecret")
        && text.match_indices("kind").any(|(at, _)| {
            let rest = text[at + 4..].trim_start_matches(['"', '\'', '\\', ':', ' ', '\t']);
            rest.strip_prefix("Secret").or_else(|| rest.strip_prefix("secret")).is_some_and(|rest| {
                !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_' || next == '-')
            })
        })
}

impl Pass {
    /// Looks at a run of separators; returns where to go on.
    fn at_separator(&mut self, text: &str, at: usize, found: &mut impl FnMut(Range<usize>)) -> Option<usize> {
        let bytes = text.as_bytes();
        let run = run_of(bytes, at, b"=:>");
        let operator = &bytes[at..at + run];
        let after = at + run;
        let is_assignment = match operator {
            b"=" | b":" | b":=" | b"=>" | b"::=" | b":::=" => true,
            // A path of Rust or C++, a comparison.
            _ => false,
        };
        if !is_assignment
            || matches!(at.checked_sub(1).map(|at| bytes[at]), Some(b'!' | b'<' | b'~'))
            || (operator == b":" && bytes[after..].starts_with(b"//"))
        {
            return Some(after);
        }
        let name = name_before(text, at)?;
        let value_at = skip_blanks(bytes, after);
        let is_tight = operator == b"=" && value_at == after && !name.is_quoted && name.from + name.text.len() == at;
        let is_setting = is_tight && (name.text.bytes().all(|byte| !is_in(byte, LOWER)) || name.text.starts_with("--"));
        let style = match (is_tight, is_setting) {
            (_, true) => Style::Setting,
            (true, false) => Style::Tight,
            (false, false) => Style::Spaced,
        };
        if let Some(end) = header::credential(text, name.text, value_at, found) {
            return Some(end);
        }
        let value_at = continued(bytes, value_at);
        let ends = ends_of(style, operator);
        if self.is_secret_object
            && let Some(end) = self.of_secret_object(text, &name, value_at, found)
        {
            return Some(end);
        }
        if let Some(end) = self.of_named(text, &name, value_at, found) {
            return Some(end);
        }
        // `password: str = "x"`, `string password = "x"`: the type stands where the name does.
        let typed = || (operator != b":" && is_type(name.text)).then(|| name_of_typed(text, name.from)).flatten();
        let promise = promise(name.text).or_else(|| typed().and_then(promise));
        if promise.is_none()
            && !matches!(bytes.get(value_at), Some(byte) if is_in(*byte, ALPHANUMERIC) || matches!(byte, b'"' | b'\'' | b'`' | b'\\'))
        {
            return None;
        }
        if !name.is_quoted && matches!(bytes.get(value_at), Some(b'"' | b'\'')) && is_inside_quotes(bytes, value_at) {
            return None;
        }
        let value = typed_literal(text, value_at, ends);
        // The issuer's name is looked for only where a key may stand.
        let by_issuer =
            || (is_random(value.text(text).as_bytes(), 3.0) && is_of_vendor(name.text)).then_some(Promise::Perhaps);
        let promise = promise.or_else(by_issuer)?;
        let end = mask_if_secret(text, name.text, &value, promise, style, ends, found);
        // A value that is a name itself is looked at again: `export X=password=y`.
        end.or(Some(after))
    }

    /// `name: DB_PASSWORD`, then `value: x`.
    fn of_named(
        &mut self,
        text: &str,
        name: &Name<'_>,
        value_at: usize,
        found: &mut impl FnMut(Range<usize>),
    ) -> Option<usize> {
        let lower = name.text;
        let is_one_of = |names: &[&str]| names.iter().any(|name| lower.eq_ignore_ascii_case(name));
        if is_one_of(&["name", "key", "id", "field", "label", "option", "variable", "k"]) {
            let value = Literal::read(text.as_bytes(), value_at, Ends::Separator);
            let name = value.text(text);
            let by_issuer = || is_of_vendor(name).then_some(Promise::Perhaps);
            self.named = promise(name).or_else(by_issuer).map(|promise| (value.range.end, promise));
            return None;
        }
        if !is_one_of(&["value", "val", "content", "stringvalue", "v", "default"]) {
            return None;
        }
        let (since, promise) = self.named.take()?;
        if name.from.saturating_sub(since) > 96 {
            return None;
        }
        let value = Literal::read(text.as_bytes(), value_at, Ends::Separator);
        mask_if_secret(text, "", &value, promise, Style::Spaced, Ends::Separator, found)
    }

    /// Everything below `data:` of a Secret.
    fn of_secret_object(
        &mut self,
        text: &str,
        name: &Name<'_>,
        value_at: usize,
        found: &mut impl FnMut(Range<usize>),
    ) -> Option<usize> {
        let bytes = text.as_bytes();
        let line = bytes[..name.from].iter().rev().take(200).take_while(|byte| **byte != b'\n').count();
        let indent = bytes[name.from - line..name.from].iter().take_while(|byte| **byte == b' ').count();
        if matches!(name.text, "data" | "stringData") {
            self.data_indent = Some(indent);
            return None;
        }
        let data = self.data_indent?;
        let is_json = bytes[..value_at].iter().rev().take(200).any(|byte| *byte == b'{');
        if !is_json && indent <= data {
            self.data_indent = None;
            return None;
        }
        let value = Literal::read(bytes, value_at, Ends::Separator);
        let content = value.text(text);
        if content.len() < 4 || is_placeholder(content) {
            return None;
        }
        let whole = value.whole(bytes, Ends::Separator);
        let end = whole.end;
        found(whole);
        Some(end)
    }
}

fn run_of(bytes: &[u8], at: usize, set: &[u8]) -> usize {
    bytes[at..].iter().take(6).take_while(|byte| set.contains(byte)).count()
}

/// The style's ends; a value of YAML ends at a blank.
fn ends_of(style: Style, operator: &[u8]) -> Ends {
    match style {
        Style::Setting => Ends::Blank,
        Style::Tag => Ends::Tag,
        Style::Tight => Ends::Separator,
        Style::Spaced if operator == b":" => Ends::Blank,
        Style::Spaced => Ends::Separator,
    }
}

/// The value of a block of YAML is on the next line; so is one of JSON that was broken there.
fn continued(bytes: &[u8], at: usize) -> usize {
    let block = bytes[at..].iter().take(3).take_while(|byte| matches!(byte, b'|' | b'>' | b'-' | b'+')).count();
    let after = skip_blanks(bytes, at + block);
    let is_block = block > 0 && matches!(bytes[at], b'|' | b'>');
    match bytes.get(after) {
        Some(b'\n') if is_block => skip_blanks(bytes, after + 1),
        _ => at,
    }
}

/// The name before the separator at `at`: after blanks, a closing quote, a bracket.
fn name_before(text: &str, at: usize) -> Option<Name<'_>> {
    let bytes = text.as_bytes();
    let floor = at.saturating_sub(NAME_BYTES_MAX + 16);
    let mut end = at;
    let back = |end: usize, set: &[u8], most: usize| {
        bytes[floor..end].iter().rev().take(most).take_while(|byte| set.contains(byte)).count()
    };
    // `?=`, `||=`, `.=`, `+=`
    end -= back(end, b"?|.+", 2);
    end -= back(end, b" \t", 16);
    end -= back(end, b"])", 1);
    let quotes = back(end, b"\"'`", 1);
    let backslashes = if quotes > 0 { back(end - quotes, b"\\", 7) } else { 0 };
    end -= quotes + backslashes;
    // `"Api Key"`: in quotes a name has blanks.
    let length = bytes[floor..end]
        .iter()
        .rev()
        .take(NAME_BYTES_MAX)
        .take_while(|byte| is_in(**byte, NAME) || (quotes > 0 && **byte == b' '))
        .count();
    if length == 0 {
        return None;
    }
    let mut from = end - length;
    let word = &text[from..end];
    let before =
        |from: usize| bytes[floor..from - 1].iter().rev().take(16).take_while(|byte| is_in(**byte, NAME)).count();
    if quotes == 0 && from > floor + 1 && bytes[from - 1] == b' ' {
        // `API key: x`
        if word.eq_ignore_ascii_case("key") {
            let longer = from - 1 - before(from);
            if promise(&text[longer..end]).is_some_and(|promise| promise > Promise::Perhaps) {
                from = longer;
            }
        } else if matches!(word, "is" | "was") {
            // `my password is: x`
            end = from - 1;
            from = end - before(from);
        }
    }
    while from < end && matches!(bytes[from], b'.' | b' ') {
        from += 1;
    }
    (from < end).then(|| Name { text: &text[from..end], from, is_quoted: quotes > 0 })
}

fn is_type(name: &str) -> bool {
    let lower = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    matches!(lower.as_str(), "string" | "str" | "text" | "char" | "varchar" | "bytes" | "final" | "const")
}

/// The name that a type stands behind: `password: str`, `token string`, `key: &'static str`.
fn name_of_typed(text: &str, type_from: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let floor = type_from.saturating_sub(NAME_BYTES_MAX + 32);
    let mut end = type_from;
    end -= bytes[floor..end]
        .iter()
        .rev()
        .take(12)
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b':' | b'*' | b'&' | b'[' | b']'))
        .count();
    if text[floor.max(text.ceil_char_boundary(floor))..end].ends_with("'static") {
        end -= 7;
        end -= bytes[floor..end].iter().rev().take(8).take_while(|byte| matches!(byte, b' ' | b':' | b'&')).count();
    }
    let length = bytes[floor..end].iter().rev().take(NAME_BYTES_MAX).take_while(|byte| is_in(**byte, NAME)).count();
    (length > 0).then(|| &text[end - length..end])
}

/// The value, without what wraps a literal: `b"x"`, `String::from("x")`, `new Secret("x")`.
fn typed_literal(text: &str, at: usize, ends: Ends) -> Literal {
    let bytes = text.as_bytes();
    let head = run_length(&bytes[..bytes.len().min(at + 48)], at, ALPHANUMERIC | UNDERSCORE);
    let is_quote = |at: usize| matches!(bytes.get(at), Some(b'"' | b'\''));
    if (1..=2).contains(&head) && is_quote(at + head) {
        return Literal::read(bytes, at + head, ends);
    }
    let wrapper = bytes[at..]
        .iter()
        .take(48)
        .take_while(|byte| is_in(**byte, ALPHANUMERIC | UNDERSCORE | DOT) || matches!(byte, b':' | b' '))
        .count();
    if wrapper > 0 && bytes.get(at + wrapper) == Some(&b'(') && is_quote(at + wrapper + 1) {
        let call = text[at..at + wrapper].to_ascii_lowercase();
        let makes = [
            "string::from",
            "some",
            "ok",
            "new",
            "tostring",
            "secretstring",
            "secret",
            "str",
            "bytes",
            "sensitive",
            "base64",
        ];
        if makes.iter().any(|maker| call.ends_with(maker)) && !call.contains("env") {
            return Literal::read(bytes, at + wrapper + 1, ends);
        }
    }
    Literal::read(bytes, at, ends)
}

/// `("password", "x")`: a quoted name, a comma, a quoted value. Returns where to go on.
fn at_argument(text: &str, at: usize, found: &mut impl FnMut(Range<usize>)) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes[at] == b'(' {
        // `PASSWORD('x')`
        let name = name_before(text, at)?;
        let is_call = name.text.eq_ignore_ascii_case("password") && bytes.get(at + 1) == Some(&b'\'');
        let value = Literal::read(bytes, at + 1, Ends::Separator);
        return is_call
            .then(|| mask_if_secret(text, name.text, &value, Promise::Token, Style::Spaced, Ends::Separator, found))?;
    }
    let before = at.checked_sub(1).map(|at| bytes[at])?;
    if !matches!(before, b'"' | b'\'') {
        return None;
    }
    let value_at = skip_blanks(bytes, at + 1);
    if !matches!(bytes.get(value_at), Some(b'"' | b'\'' | b'\\')) {
        return None;
    }
    let name = name_before(text, at)?;
    let value = Literal::read(bytes, value_at, Ends::Separator);
    let content = value.text(text);
    let by_issuer = || (is_random(content.as_bytes(), 3.0) && is_of_vendor(name.text)).then_some(Promise::Perhaps);
    let promise = promise(name.text).or_else(by_issuer)?;
    // A list of names is no list of secrets.
    let is_secret = value.quote.is_some() && content.len() >= 6 && !is_name(content) && !content.contains(' ');
    if !is_secret {
        return None;
    }
    mask_if_secret(text, name.text, &value, promise, Style::Spaced, Ends::Separator, found)
}

/// `<password>x</password>` and `<string name="api_key">x</string>`.
fn at_tag(text: &str, at: usize, found: &mut impl FnMut(Range<usize>)) -> Option<usize> {
    let bytes = text.as_bytes();
    let floor = at.saturating_sub(NAME_BYTES_MAX * 2);
    let tag_bytes = bytes[floor..at].iter().rev().position(|byte| *byte == b'<')?;
    let open = at - 1 - tag_bytes;
    let tag = &text[open + 1..at];
    if tag.starts_with(['/', '!', '?']) || tag.ends_with('/') || tag.contains('\n') {
        return None;
    }
    let value_at = at + 1 + bytes[at + 1..].iter().take(64).take_while(|byte| byte.is_ascii_whitespace()).count();
    let value = Literal {
        range: value_at..Ends::Tag.end(bytes, value_at, bytes.len().min(value_at + LOOKED_AT_BYTES)),
        quote: None,
    };
    // Text up to the closing tag; the blanks before it do not count.
    if !bytes[value.range.end..].starts_with(b"</") && !closes_later(bytes, value.range.end) || value.range.is_empty() {
        return None;
    }
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let named = ["name=", "key=", "id="].iter().find_map(|attribute| {
        let (_, rest) = attributes.split_once(attribute)?;
        rest.trim_start_matches(['"', '\'', '\\']).split(['"', '\'', '\\']).next()
    });
    let name = name.rsplit(':').next().unwrap_or(name);
    let by_issuer = || {
        let is_issuer = is_of_vendor(name) || named.is_some_and(is_of_vendor);
        (is_random(value.text(text).as_bytes(), 3.0) && is_issuer).then_some(Promise::Perhaps)
    };
    let promise = promise(name).into_iter().chain(named.and_then(promise)).max().or_else(by_issuer)?;
    mask_if_secret(text, name, &value, promise, Style::Tag, Ends::Tag, found)
}

/// True if only blanks stand before the closing tag.
fn closes_later(bytes: &[u8], at: usize) -> bool {
    let blanks = bytes[at..].iter().take(64).take_while(|byte| byte.is_ascii_whitespace()).count();
    bytes[at + blanks..].starts_with(b"</")
}

/// True if a quote of this kind is open on the line, so that the next one closes it: `"Enter the password: "`.
fn is_inside_quotes(bytes: &[u8], at: usize) -> bool {
    let mark = bytes[at];
    let floor = at.saturating_sub(400);
    let mut count = 0;
    for index in (floor..at).rev() {
        if bytes[index] == b'\n' {
            break;
        }
        count += usize::from(bytes[index] == mark && bytes[index - usize::from(index > 0)] != b'\\');
    }
    count % 2 == 1
}

/// Masks the value if what its name promises holds; returns where it ends.
pub(super) fn mask_if_secret(
    text: &str,
    name: &str,
    value: &Literal,
    promise: Promise,
    style: Style,
    ends: Ends,
    found: &mut impl FnMut(Range<usize>),
) -> Option<usize> {
    let content = value.text(text);
    let trimmed = content.trim_end_matches([' ', '\t']);
    if is_placeholder(trimmed) || !is_secret(text, name, trimmed, value, promise, style) {
        return None;
    }
    let whole = value.whole(text.as_bytes(), ends);
    // In a sentence the full stop and the comma are not part of it.
    let end = match value.quote {
        None if whole.len() == content.len() => {
            let kept = content.trim_end_matches(if style == Style::Spaced {
                &[',', '.', ' ', '\t'][..]
            } else {
                &[' ', '\t'][..]
            });
            whole.start + kept.len()
        }
        _ => whole.end,
    };
    if end == whole.start {
        return None;
    }
    found(whole.start..end);
    Some(whole.end)
}

fn is_secret(text: &str, name: &str, value: &str, literal: &Literal, promise: Promise, style: Style) -> bool {
    let bytes = value.as_bytes();
    let value_lower = || value.trim_matches(['-', '_', '.']).to_ascii_lowercase();
    if promise == Promise::Perhaps {
        let bits = if bytes.len() >= 24 { 3.3 } else { 3.0 };
        return is_random(bytes, bits) && !is_path(value) && !is_plain_hash(name, value);
    }
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_quoted = literal.quote.is_some();
    // `PASS: TestName`, `ok ? 'pass' : 'fail'`
    if name.eq_ignore_ascii_case("pass")
        && style == Style::Spaced
        && (name == "PASS" || digits == 0 || (!is_quoted && !is_setting_line(text, literal.range.start)))
    {
        return false;
    }
    let is_token = promise == Promise::Token;
    // `token = ","`, `secret: 3`
    if is_token && (bytes.len() < 4 || (digits == bytes.len() && (bytes.len() < 8 || style != Style::Setting))) {
        return false;
    }
    if digits == bytes.len() && (bytes.len() < 4 || (style == Style::Spaced && !is_quoted)) {
        return false;
    }
    if is_path(value) && (is_token || style != Style::Setting || digits == 0) {
        return false;
    }
    // `password: password`, `"token": "token"`: the name of a field.
    if value.eq_ignore_ascii_case(name)
        || (is_name(value) && self::promise(value).is_some_and(|promise| promise > Promise::Perhaps))
    {
        return style == Style::Setting && !is_name(value);
    }
    if is_quoted {
        if is_prose(value) {
            return false;
        }
        if is_token {
            let has_blank = value.contains(' ');
            return !is_name(value)
                && !has_blank
                && !is_call(value)
                && (digits > 0 || bytes.len() >= 8 || is_random(bytes, 2.5));
        }
        return !is_call(value) && !value_lower().contains("password");
    }
    let next = text.as_bytes().get(literal.range.end).copied().unwrap_or(b'\n');
    match style {
        Style::Tag => !(is_prose(value) || is_call(value) || is_token && is_name(value)),
        Style::Setting => !(is_call(value) || is_token && is_name(value) && bytes.len() < 8),
        Style::Tight => {
            // An argument of a call in code is a name.
            if is_call(value) || is_member(value) || (is_identifier(value) && matches!(next, b',' | b')' | b']' | b'}'))
            {
                return false;
            }
            if is_token { !is_name(value) || is_random(bytes, 3.5) } else { true }
        }
        Style::Spaced => {
            if is_call(value) || is_member(value) || value.contains(['<', '>', '{', '}', '[', '"', '?', '*']) {
                return false;
            }
            let is_word = is_identifier(value.trim_end_matches([',', '.', ';', ':', ')']));
            if is_token {
                return !is_word
                    && !is_name(value.trim_end_matches([',', '.', ';', ':', ')']))
                    && digits > 0
                    && bytes.len() >= 6
                    && is_token_text(value);
            }
            if is_word {
                // A line of settings holds nothing else; code and sentences go on.
                let is_line_end = matches!(next, b'\n' | b'\r') || literal.range.end >= text.len();
                let is_plain =
                    value.bytes().all(|byte| is_in(byte, LOWER)) || value.bytes().all(|byte| is_in(byte, UPPER));
                return is_line_end && is_plain && bytes.len() >= 6 && is_setting_line(text, literal.range.start);
            }
            !(value.ends_with([';', ',']) || value.contains(['(', '|']))
        }
    }
}

/// True if nothing but a name stands before the value on its line.
fn is_setting_line(text: &str, at: usize) -> bool {
    let before = &text[text.floor_char_boundary(at.saturating_sub(NAME_BYTES_MAX))..at];
    let line = before.rsplit('\n').next().unwrap_or(before).trim();
    line.split_ascii_whitespace().count() <= 2
}

fn is_token_text(value: &str) -> bool {
    value.bytes().filter(|byte| !is_in(*byte, super::character::BASE64 | WORD | DOT | super::character::TILDE)).count()
        <= 1
}

/// A path: two separators, or one at the start, with words between them.
fn is_path(value: &str) -> bool {
    let value = value.strip_prefix("file:").unwrap_or(value);
    let is_rooted = value.starts_with(['/', '~']) || value.starts_with("./") || value.starts_with("../");
    if value.contains("://") {
        return true;
    }
    if !value.contains('/') {
        return false;
    }
    let parts = value.split('/').filter(|part| !part.is_empty());
    let (mut words, mut all) = (0, 0);
    for part in parts {
        all += 1;
        words += usize::from(
            part.bytes().filter(|byte| byte.is_ascii_digit()).count() * 4 <= part.len()
                && part.bytes().all(|byte| is_in(byte, NAME))
                && part.len() < 24,
        );
    }
    all > 0 && words * 3 >= all * 2 && (is_rooted || all >= 2) && !value.contains(['+', '='])
}

/// `commit_key: 40 digits of hex` is a hash unless its name says more than `key`.
fn is_plain_hash(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_hex
        && (lower.ends_with("key")
            || lower.ends_with("keys")
            || lower.ends_with("hash")
            || lower.ends_with("session")
            || lower.ends_with("id"))
        && !is_of_vendor(name)
}
