//! JSON as text: the position of every value, so that haltline can change a file without rewriting it.
//!
//! `serde_json` decides whether the text is JSON and reports where it is not; the scanner below only finds positions in
//! text that passed this check. Comments and trailing commas count as blanks.

use std::ops::Range;

use super::InstallError;
use super::comments::without_comments;

/// A value and its position.
#[derive(Debug)]
pub(super) struct Node {
    /// From the value's first byte to after its last.
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Text(String),
    /// A number, `true`, `false` or `null`.
    Plain,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    /// From the key's first byte to after the value's last.
    pub(super) span: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            Kind::Array(_) | Kind::Text(_) | Kind::Plain => None,
        }
    }

    pub(super) fn elements(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            Kind::Object(_) | Kind::Text(_) | Kind::Plain => None,
        }
    }

    /// The text, if this is a string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Object(_) | Kind::Array(_) | Kind::Plain => None,
        }
    }

    /// The member with this key; of duplicates the last, as JSON readers do.
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.members()?.iter().rev().find(|member| member.key == key)
    }

    /// The spans of all children, in order.
    pub(super) fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(elements) => elements.iter().map(|element| element.span.clone()).collect(),
            Kind::Text(_) | Kind::Plain => Vec::new(),
        }
    }
}

/// Parses a text whose root must be an object. A byte order mark before the root is not part of it.
pub(super) fn parse(text: &str) -> Result<Node, InstallError> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let text = &*without_comments(text);
    let checked = serde_json::from_str::<serde_json::Value>(&text[start..]);
    if let Err(error) = checked {
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default().to_owned();
        return Err(InstallError::NotJson { line: error.line(), column: error.column(), reason });
    }
    let mut scan = Scan { text, at: start };
    scan.skip_blank();
    // Cannot happen: the text was checked. If it did, an error would be right.
    let unreadable =
        |at: usize| InstallError::NotJson { line: line_number(text, at), column: 1, reason: "not read".to_owned() };
    let root = scan.value().ok_or_else(|| unreadable(scan.at))?;
    if root.members().is_none() {
        return Err(InstallError::Shape {
            line: line_number(text, root.span.start),
            what: "the file".to_owned(),
            expected: "an object",
        });
    }
    Ok(root)
}

/// The number of the line that contains byte `at`, counted from 1.
pub(super) fn line_number(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips `byte` if it is the next token; returns whether it was.
    fn skip_token(&mut self, byte: u8) -> bool {
        self.skip_blank();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> Option<Node> {
        self.skip_blank();
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => Kind::Object(self.object()?),
            b'[' => Kind::Array(self.array()?),
            b'"' => Kind::Text(self.string()?),
            _other => {
                let rest = &self.text.as_bytes()[start..];
                let length = rest.iter().take_while(|byte| !b",]} \t\r\n".contains(byte)).count();
                self.at += length;
                Kind::Plain
            }
        };
        Some(Node { span: start..self.at, kind })
    }

    fn object(&mut self) -> Option<Vec<Member>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.skip_token(b'}') {
            return Some(members);
        }
        loop {
            self.skip_blank();
            let start = self.at;
            let key = self.string()?;
            if !self.skip_token(b':') {
                return None;
            }
            let value = self.value()?;
            members.push(Member { key, span: start..self.at, value });
            if !self.skip_token(b',') {
                return self.skip_token(b'}').then_some(members);
            }
        }
    }

    fn array(&mut self) -> Option<Vec<Node>> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.skip_token(b']') {
            return Some(elements);
        }
        loop {
            elements.push(self.value()?);
            if !self.skip_token(b',') {
                return self.skip_token(b']').then_some(elements);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _other => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }
}
