//! Detects the format of a file by its first bytes.
//!
//! The bytes may be cut off anywhere, and the first lines may be damaged: haltline examines the members of the first
//! objects as far as they are there, and does not require that an object is complete.

use super::Format;

const LINES_MAX: usize = 32;
const MEMBERS_MAX: usize = 64;

pub fn format(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut start = 0;
    for _ in 0..LINES_MAX {
        let rest = head.get(start..)?;
        if let Some(format) = members(rest).and_then(|members| format_of(&members)) {
            return Some(format);
        }
        start += rest.iter().position(|byte| *byte == b'\n')? + 1;
    }
    None
}

/// The members of an object with their values, as far as they are there.
struct Members<'a> {
    each: Vec<(&'a [u8], &'a [u8])>,
    /// The end of the object is there too.
    is_whole: bool,
}

impl Members<'_> {
    fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    fn has_all(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.has(name))
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.each.iter().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value)
    }

    /// The value as a text without escapes.
    fn text(&self, name: &str) -> Option<&str> {
        let text = self.value(name)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        str::from_utf8(text).ok()
    }

    fn within(&self, name: &str) -> Option<Members<'_>> {
        members(self.value(name)?)
    }
}

fn format_of(members: &Members<'_>) -> Option<Format> {
    match members.text("type") {
        Some(kind) => format_of_record(members, kind),
        None => format_of_header(members),
    }
}

/// The format of a record that has a `type`.
fn format_of_record(members: &Members<'_>, kind: &str) -> Option<Format> {
    if members.value("v") == Some(b"1") && members.has("session") {
        return Some(Format::Plain);
    }
    if members.has_all(&["payload", "timestamp"]) {
        return Some(Format::Codex);
    }
    if kind.contains('.') && members.has("data") {
        return Some(Format::Copilot);
    }
    let has_parts = members.within("message").is_some_and(|message| message.has("parts"));
    if members.has("sessionId") && (has_parts || members.has_any(&["systemPayload", "toolCallResult"])) {
        return Some(Format::Qwen);
    }
    let is_claude = members.has_any(&["isSidechain", "leafUuid", "snapshot", "operation"])
        || members.is_whole && members.has("sessionId");
    if is_claude {
        return Some(Format::Claude);
    }
    let is_message = matches!(kind, "gemini" | "user" | "info" | "error" | "warning");
    (is_message && members.has_all(&["id", "timestamp", "content"])).then_some(Format::Gemini)
}

/// The format of a header line or of a document.
fn format_of_header(members: &Members<'_>) -> Option<Format> {
    if members.value("trajectory").is_some_and(|value| value.starts_with(b"[")) {
        return Some(Format::SweAgent);
    }
    let info = members.within("info");
    if info.is_some_and(|info| info.text("id").is_some_and(|id| id.starts_with("ses")) || info.has("projectID")) {
        return Some(Format::OpenCode);
    }
    if members.has_all(&["id", "timestamp", "instructions"]) {
        return Some(Format::Codex);
    }
    if members.has_all(&["sessionId", "projectHash"]) {
        let is_document = members.has("messages");
        // Only the end of the object shows whether it contains messages.
        return if is_document { Some(Format::GeminiDocument) } else { members.is_whole.then_some(Format::Gemini) };
    }
    members.has("$set").then_some(Format::Gemini)
}

fn members(text: &[u8]) -> Option<Members<'_>> {
    let mut at = skip_blanks(text, 0);
    if text.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    let mut found = Members { each: Vec::new(), is_whole: false };
    while found.each.len() < MEMBERS_MAX {
        at = skip_blanks(text, at);
        if text.get(at) == Some(&b',') {
            at = skip_blanks(text, at + 1);
        }
        found.is_whole = text.get(at) == Some(&b'}');
        if text.get(at) != Some(&b'"') {
            break;
        }
        let key_end = text_end(text, at);
        let Some(key) = text.get(at + 1..key_end.saturating_sub(1)) else { break };
        at = skip_blanks(text, key_end);
        if text.get(at) != Some(&b':') {
            break;
        }
        at = skip_blanks(text, at + 1);
        let end = value_end(text, at);
        found.each.push((key, text.get(at..end).unwrap_or_default()));
        at = end;
    }
    Some(found)
}

fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The index after the closing quote of a text that begins here.
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

/// The index after a value that begins here, or the end of the bytes.
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
