//! Which format a file is in, by how it begins.
//!
//! The beginning may be cut anywhere, and its first lines may be damaged: the members of the first objects are looked
//! at as far as they are there, without asking that an object ends.

use super::Format;

/// How many lines are looked at.
const LINES_MAX: usize = 32;
/// How many members of one object are looked at.
const MEMBERS_MAX: usize = 64;

/// The format of a file that begins like this.
pub fn format(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut start = 0;
    for _ in 0..LINES_MAX {
        let rest = head.get(start..)?;
        if let Some(format) = members(rest).and_then(|members| of(&members)) {
            return Some(format);
        }
        start += rest.iter().position(|byte| *byte == b'\n')? + 1;
    }
    None
}

/// The members of an object, each with the beginning of its value.
struct Members<'a>(Vec<(&'a [u8], &'a [u8])>);

impl Members<'_> {
    fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value)
    }

    /// The value as a text without escapes.
    fn word(&self, name: &str) -> Option<&str> {
        let text = self.value(name)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        str::from_utf8(text).ok()
    }
}

fn of(members: &Members<'_>) -> Option<Format> {
    let kind = members.word("type");
    if members.value("v") == Some(b"1") && kind.is_some() && members.has("session") {
        return Some(Format::Plain);
    }
    let is_claude = members.has("sessionId") || members.has("parentUuid");
    let is_note = matches!(kind, Some("summary")) && members.has("leafUuid")
        || matches!(kind, Some("file-history-snapshot")) && members.has("messageId");
    if kind.is_some() && (is_claude || is_note) {
        return Some(Format::Claude);
    }
    let is_rollout = kind.is_some() && members.has("payload") && members.has("timestamp");
    let is_first_rollout =
        kind.is_none() && members.has("instructions") && members.has("timestamp") && members.has("id");
    if is_rollout || is_first_rollout {
        return Some(Format::Codex);
    }
    None
}

fn members(text: &[u8]) -> Option<Members<'_>> {
    let mut at = blanks(text, 0);
    if text.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    let mut found = Members(Vec::new());
    while found.0.len() < MEMBERS_MAX {
        at = blanks(text, at);
        if text.get(at) == Some(&b',') {
            at = blanks(text, at + 1);
        }
        let key_end = match text.get(at) {
            Some(b'"') => text_end(text, at),
            Some(_) | None => break,
        };
        let Some(key) = text.get(at + 1..key_end.saturating_sub(1)) else { break };
        at = blanks(text, key_end);
        if text.get(at) != Some(&b':') {
            break;
        }
        at = blanks(text, at + 1);
        let end = value_end(text, at);
        found.0.push((key, text.get(at..end).unwrap_or_default()));
        at = end;
    }
    Some(found)
}

fn blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Where a text that begins here has ended, its quotes included.
fn text_end(text: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Where a value that begins here has ended, or where the head is cut.
fn value_end(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = text_end(text, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                if depth == 0 {
                    return at;
                }
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}
