//! JSON as text: where every value stands, so that a file can be changed without being written anew.
//!
//! `serde_json` judges whether the text is JSON and says where it is not; the scan below only finds places in text
//! that passed.

use std::ops::Range;

use super::InstallError;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    /// From its first byte to after its last.
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
    /// The members, of an object.
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            Kind::Array(_) | Kind::Text(_) | Kind::Plain => None,
        }
    }

    /// The elements, of an array.
    pub(super) fn elements(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            Kind::Object(_) | Kind::Text(_) | Kind::Plain => None,
        }
    }

    /// The text, of a string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Object(_) | Kind::Array(_) | Kind::Plain => None,
        }
    }

    /// The member a reader would see: of two with one key, the last.
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.members()?.iter().rev().find(|member| member.key == key)
    }

    /// Where the children stand, in order.
    pub(super) fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(elements) => elements.iter().map(|element| element.span.clone()).collect(),
            Kind::Text(_) | Kind::Plain => Vec::new(),
        }
    }
}

/// The root of a text that must be an object. A byte order mark before it is not part of it.
pub(super) fn parse(text: &str) -> Result<Node, InstallError> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let checked = serde_json::from_str::<serde_json::Value>(&text[start..]);
    if let Err(error) = checked {
        let words = error.to_string();
        let reason = words.split(" at line ").next().unwrap_or_default().to_owned();
        return Err(InstallError::NotJson { line: error.line(), column: error.column(), reason });
    }
    let mut scan = Scan { text, at: start };
    scan.skip_blank();
    // Cannot be: the text was checked. If it were, refusing is right.
    let lost = |at: usize| InstallError::NotJson { line: line_of(text, at), column: 1, reason: "not read".to_owned() };
    let root = scan.value().ok_or_else(|| lost(scan.at))?;
    if root.members().is_none() {
        return Err(InstallError::Shape {
            line: line_of(text, root.span.start),
            what: "the file".to_owned(),
            expected: "an object",
        });
    }
    Ok(root)
}

/// The number of the line a byte is on.
pub(super) fn line_of(text: &str, at: usize) -> usize {
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

    /// Steps over `byte`, if it is next.
    fn take(&mut self, byte: u8) -> bool {
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
        if self.take(b'}') {
            return Some(members);
        }
        loop {
            self.skip_blank();
            let start = self.at;
            let key = self.string()?;
            if !self.take(b':') {
                return None;
            }
            let value = self.value()?;
            members.push(Member { key, span: start..self.at, value });
            if !self.take(b',') {
                return self.take(b'}').then_some(members);
            }
        }
    }

    fn array(&mut self) -> Option<Vec<Node>> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.take(b']') {
            return Some(elements);
        }
        loop {
            elements.push(self.value()?);
            if !self.take(b',') {
                return self.take(b']').then_some(elements);
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
