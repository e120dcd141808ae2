//! Where a value begins and ends: quoted, escaped, or up to the next separator.

use std::ops::Range;

/// How much of a value is looked at before it is decided what it is. A longer value is masked to its end.
pub(super) const LOOKED_AT_BYTES: usize = 256;

/// A value in a text.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    /// Where its content is, at most [`LOOKED_AT_BYTES`] of it.
    pub range: Range<usize>,
    pub quote: Option<Quote>,
}

/// What opened a quoted value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Quote {
    pub mark: u8,
    /// How many backslashes stand before it, in a text within a text.
    pub backslashes: usize,
    /// Three marks: the value may have several lines.
    pub is_triple: bool,
}

/// What ends a value without quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ends {
    /// In a shell or a file of settings a comma belongs to the value.
    Blank,
    /// In code and queries.
    Separator,
    /// A document's text between two tags.
    Tag,
}

/// How many backslashes may stand before a quote that is read as one.
const BACKSLASHES_MAX: usize = 7;

/// The quote that opens a value here, and where its content begins.
pub(super) fn opening_quote(bytes: &[u8], at: usize) -> Option<(Quote, usize)> {
    let backslashes = bytes[at..].iter().take(BACKSLASHES_MAX).take_while(|byte| **byte == b'\\').count();
    let mark = *bytes.get(at + backslashes)?;
    if !matches!(mark, b'"' | b'\'' | b'`') {
        return None;
    }
    let from = at + backslashes + 1;
    let is_triple = backslashes == 0 && bytes[from..].starts_with(&[mark, mark]);
    Some((Quote { mark, backslashes, is_triple }, from + if is_triple { 2 } else { 0 }))
}

impl Quote {
    /// True if the quote is closed at `at`, where its mark stands.
    fn closes(self, bytes: &[u8], from: usize, at: usize) -> bool {
        if self.is_triple {
            return bytes[at..].starts_with(&[self.mark; 3]);
        }
        let before = bytes[from..at].iter().rev().take(BACKSLASHES_MAX + 1).take_while(|byte| **byte == b'\\').count();
        match self.backslashes {
            // `\\"` closes: the backslash is escaped itself.
            0 => before % 2 == 0,
            count => before <= count,
        }
    }

    /// Where the content ends that begins at `from`: at the closing quote, or at the end of the line.
    pub fn end(self, bytes: &[u8], from: usize, limit: usize) -> usize {
        let mut at = from;
        while at < limit {
            match bytes[at] {
                b'\n' if self.mark != b'`' && !self.is_triple => return at,
                mark if mark == self.mark && self.closes(bytes, from, at) => {
                    let backslashes =
                        bytes[from..at].iter().rev().take(self.backslashes).take_while(|byte| **byte == b'\\').count();
                    return at - backslashes;
                }
                _ => at += 1,
            }
        }
        limit
    }
}

impl Ends {
    /// True if a value without quotes ends at this byte.
    fn ends_at(self, bytes: &[u8], at: usize) -> bool {
        match bytes[at] {
            b'\n' | b'\r' => true,
            b'<' => true,
            _ if self == Ends::Tag => false,
            byte if byte.is_ascii_whitespace() || byte.is_ascii_control() => true,
            b'"' | b'\'' | b'`' | b';' | b'&' | b'|' | b'>' => true,
            b'\\' => bytes
                .get(at + 1)
                .is_none_or(|next| matches!(next, b'n' | b'r' | b't' | b'"' | b'\'' | b'`' | b'\\' | b'\n')),
            b')' => self == Ends::Separator || !bytes[..at].contains(&b'('),
            b',' | b'}' | b']' => self == Ends::Separator,
            _ => false,
        }
    }

    pub fn end(self, bytes: &[u8], from: usize, limit: usize) -> usize {
        (from..limit).find(|at| self.ends_at_from(bytes, from, *at)).unwrap_or(limit)
    }

    fn ends_at_from(self, bytes: &[u8], from: usize, at: usize) -> bool {
        self.ends_at(&bytes[from..], at - from)
    }
}

impl Literal {
    /// The value that begins at `at`.
    pub fn read(bytes: &[u8], at: usize, ends: Ends) -> Literal {
        let at = at.min(bytes.len());
        let limit = |from: usize| bytes.len().min(from + LOOKED_AT_BYTES);
        match opening_quote(bytes, at) {
            Some((quote, from)) => Literal { range: from..quote.end(bytes, from, limit(from)), quote: Some(quote) },
            None => Literal { range: at..ends.end(bytes, at, limit(at)), quote: None },
        }
    }

    /// The whole value, also where it is longer than what was looked at.
    pub fn whole(&self, bytes: &[u8], ends: Ends) -> Range<usize> {
        if self.range.len() < LOOKED_AT_BYTES {
            return self.range.clone();
        }
        let from = self.range.start;
        match self.quote {
            Some(quote) => from..quote.end(bytes, from, bytes.len()),
            None => from..ends.end(bytes, from, bytes.len()),
        }
    }

    /// The text of what was looked at.
    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        let end = text.floor_char_boundary(self.range.end);
        &text[self.range.start.min(end)..end]
    }
}

/// The position after blanks and tabs.
pub(super) fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at.min(bytes.len())..].iter().take(32).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
