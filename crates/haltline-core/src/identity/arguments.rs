//! The arguments of a call, as JSON: read without copying, and hashed so that key order, blanks, the spelling of
//! numbers and the spelling of paths do not matter.
//!
//! A call may carry megabytes (a file to write), so long texts are neither decoded nor copied: their digest is that of
//! their JSON spelling. Two spellings of one long text therefore count as two texts, which at worst restarts a count.

use std::borrow::Cow;

use super::path;

/// Longer texts are compared by their JSON spelling.
const DECODED_BYTES_MAX: usize = 16 * 1024;
/// Values nested deeper than this are not parsed; the whole input is then compared as plain text.
const DEPTH_MAX: usize = 32;

/// A JSON value that borrows from the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node<'a> {
    /// The members in the order of the text.
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
    Array(Vec<Node<'a>>),
    /// A string, including its quotes.
    Text(&'a str),
    /// A number, `true`, `false` or `null`.
    Bare(&'a str),
}

impl<'a> Node<'a> {
    /// Parses JSON; returns `None` if the text is not JSON.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        let node = reader.value(0)?;
        reader.blanks();
        (reader.at == text.len()).then_some(node)
    }

    /// The decoded string, unless it is longer than [`DECODED_BYTES_MAX`].
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Node::Text(quoted) if quoted.len() <= DECODED_BYTES_MAX => decoded(quoted),
            Node::Text(_) | Node::Object(_) | Node::Array(_) | Node::Bare(_) => None,
        }
    }

    /// The decoded string, however long.
    pub(super) fn whole_text(&self) -> Option<Cow<'a, str>> {
        match self {
            Node::Text(quoted) => decoded(quoted),
            Node::Object(_) | Node::Array(_) | Node::Bare(_) => None,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Node<'a>> {
        match self {
            Node::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, node)| node),
            Node::Array(_) | Node::Text(_) | Node::Bare(_) => None,
        }
    }

    /// The first of these members that is a string.
    pub(super) fn first_text(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        names.iter().find_map(|name| self.get(name)?.text())
    }

    /// Writes the canonical form of the value.
    pub(super) fn write(&self, rules: &Rules<'_>, into: &mut dyn FnMut(&[u8])) {
        match self {
            Node::Object(members) => {
                let mut members: Vec<&(Cow<'a, str>, Node<'a>)> =
                    members.iter().filter(|(key, node)| !rules.leaves_out(key, node)).collect();
                members.sort_by(|left, right| left.0.cmp(&right.0));
                into(b"{");
                for (key, node) in members {
                    framed(key.as_bytes(), into);
                    node.write_member(key, rules, into);
                }
                into(b"}");
            }
            Node::Array(elements) => {
                into(b"[");
                for element in elements {
                    element.write(rules, into);
                }
                into(b"]");
            }
            Node::Text(quoted) => {
                into(b"\"");
                match self.text() {
                    Some(text) => framed(text.as_bytes(), into),
                    None => framed(quoted.as_bytes(), into),
                }
            }
            Node::Bare(word) => {
                into(b"=");
                framed(number(word).as_bytes(), into);
            }
        }
    }

    fn write_member(&self, key: &str, rules: &Rules<'_>, into: &mut dyn FnMut(&[u8])) {
        if path::is_path_field(key) {
            if let Some(text) = self.text().filter(|text| path::is_path(text)) {
                into(b"/");
                framed(path::resolved(&text, rules.folder).as_bytes(), into);
                return;
            }
            if let Node::Array(elements) = self {
                into(b"[");
                elements.iter().for_each(|element| element.write_member(key, rules, into));
                into(b"]");
                return;
            }
        }
        self.write(rules, into);
    }
}

/// What does not matter in the arguments of one tool.
pub(super) struct Rules<'a> {
    /// Members that do not change what the call does.
    pub left_out: &'a [&'a str],
    /// The agent's working folder.
    pub folder: Option<&'a str>,
}

impl Rules<'_> {
    fn leaves_out(&self, key: &str, node: &Node<'_>) -> bool {
        if self.left_out.contains(&key) {
            return true;
        }
        match node {
            Node::Bare("null") => true,
            // `false` is the default of these members.
            Node::Bare("false") => matches!(key, "replace_all" | "replaceAll" | "run_in_background" | "is_background"),
            // Searching in the working folder and searching without a folder are the same search.
            Node::Text(_) if path::is_path_field(key) => node.text().is_some_and(|text| {
                path::is_path(&text) && path::resolved(&text, self.folder) == path::resolved(".", self.folder)
            }),
            Node::Object(_) | Node::Array(_) | Node::Text(_) | Node::Bare(_) => false,
        }
    }
}

fn framed(bytes: &[u8], into: &mut dyn FnMut(&[u8])) {
    into(&(bytes.len() as u64).to_be_bytes());
    into(bytes);
}

/// Normalizes a number by its value: `1`, `1.0` and `1e0` are equal.
fn number(word: &str) -> Cow<'_, str> {
    let is_short = word.len() <= 15 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match word.parse::<f64>() {
        Ok(value) if !is_short && value.is_finite() => {
            let is_exact = value.abs() < 9e15 || word.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
            if is_exact { Cow::Owned(format!("{value}")) } else { Cow::Borrowed(word) }
        }
        Ok(_) | Err(_) => Cow::Borrowed(word),
    }
}

fn decoded(quoted: &str) -> Option<Cow<'_, str>> {
    if quoted.contains('\\') {
        serde_json::from_str::<String>(quoted).ok().map(Cow::Owned)
    } else {
        quoted.get(1..quoted.len() - 1).map(Cow::Borrowed)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn consume(&mut self, byte: u8) -> bool {
        self.blanks();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Option<Node<'a>> {
        self.blanks();
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Node::Text),
            0..=u8::MAX => self.bare(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Node<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.consume(b'}') {
            return Some(Node::Object(members));
        }
        loop {
            self.blanks();
            let key = self.string().and_then(decoded)?;
            if !self.consume(b':') {
                return None;
            }
            members.push((key, self.value(depth + 1)?));
            if self.consume(b'}') {
                return Some(Node::Object(members));
            }
            if !self.consume(b',') {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Node<'a>> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.consume(b']') {
            return Some(Node::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if self.consume(b']') {
                return Some(Node::Array(elements));
            }
            if !self.consume(b',') {
                return None;
            }
        }
    }

    /// Reads a string with its quotes. It ends at the first quote with an even number of backslashes before it.
    fn string(&mut self) -> Option<&'a str> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at;
        let mut from = start + 1;
        loop {
            let end = from + self.text.get(from..)?.find('"')?;
            let backslashes =
                self.text.as_bytes()[start + 1..end].iter().rev().take_while(|byte| **byte == b'\\').count();
            from = end + 1;
            if backslashes.is_multiple_of(2) {
                self.at = from;
                return self.text.get(start..from);
            }
        }
    }

    fn bare(&mut self) -> Option<Node<'a>> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        let word = &rest[..length];
        self.at += length;
        let is_known =
            matches!(word, "true" | "false" | "null") || serde_json::from_str::<serde_json::Number>(word).is_ok();
        is_known.then_some(Node::Bare(word))
    }
}
