//! YAML as a small tree that knows its lines. Scalars stay text: `1.50` is not a number here.

use std::collections::BTreeSet;

use haltline_core::shorten;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::ReportError;

/// How deep lists and mappings may be nested; a report needs four levels.
const DEPTH_MAX: usize = 16;
/// How much of the parser's message is passed on, in characters.
const MESSAGE_CHARS_MAX: usize = 160;

/// A value and its position.
#[derive(Debug)]
pub struct Node {
    /// Starts at 1.
    pub line: usize,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// Any other scalar.
    Text(String),
    List(Vec<Node>),
    /// A mapping in its original order, each key once.
    Map(Vec<(String, Node)>),
}

impl Node {
    pub fn error(&self, problem: String) -> ReportError {
        ReportError::Invalid { line: self.line, problem }
    }

    /// An error that says what the node is and what was expected.
    pub fn expected(&self, name: &str, expected: &str) -> ReportError {
        let found = match &self.kind {
            Kind::Null => "empty".to_owned(),
            Kind::Text(text) => shorten(text),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a mapping".to_owned(),
        };
        self.error(format!("{name} is {found}: expected {expected}"))
    }
}

/// Parses the only document of a text; an empty text gives [`Kind::Null`].
pub fn parse(text: &str) -> Result<Node, ReportError> {
    let mut reader = Reader { parser: Parser::new_from_str(text) };
    let mut document = None;
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(..) if document.is_some() => {
                return Err(error_at(span, "expected one document per file, with one report"));
            }
            Event::DocumentStart(..) => {}
            other => document = Some(reader.node(other, span, 0)?),
        }
    }
    Ok(document.unwrap_or(Node { line: 1, kind: Kind::Null }))
}

struct Reader<'input> {
    parser: Parser<'input, StrInput<'input>>,
}

impl<'input> Reader<'input> {
    fn next(&mut self) -> Result<Option<(Event<'input>, Span)>, ReportError> {
        self.parser.next_event().transpose().map_err(|error| syntax_error(&error))
    }

    /// The next event, which must exist because a list or mapping is still open.
    fn expect_next(&mut self) -> Result<(Event<'input>, Span), ReportError> {
        let end = || ReportError::Invalid { line: 1, problem: "the text ends unexpectedly".to_owned() };
        self.next()?.ok_or_else(end)
    }

    fn node(&mut self, event: Event<'input>, span: Span, depth: usize) -> Result<Node, ReportError> {
        if depth > DEPTH_MAX {
            return Err(error_at(span, "lists and mappings are nested too deeply"));
        }
        let line = span.start.line().max(1);
        let kind = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "" | "~" | "null" | "Null" | "NULL") => {
                Kind::Null
            }
            Event::Scalar(text, ..) => Kind::Text(text.into_owned()),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.map(depth)?,
            Event::Alias(_) => return Err(error_at(span, "aliases (`*name`) are not supported; write the text out")),
            _ => return Err(error_at(span, "this is not expected here")),
        };
        Ok(Node { line, kind })
    }

    fn list(&mut self, depth: usize) -> Result<Kind, ReportError> {
        let mut nodes = Vec::new();
        loop {
            match self.expect_next()? {
                (Event::SequenceEnd, _) => return Ok(Kind::List(nodes)),
                (event, span) => nodes.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Kind, ReportError> {
        let mut pairs = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            let (event, span) = self.expect_next()?;
            let key = match event {
                Event::MappingEnd => return Ok(Kind::Map(pairs)),
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(error_at(span, "a field's name must be text")),
            };
            if !keys.insert(key.clone()) {
                return Err(error_at(span, &format!("{} appears twice", shorten(&key))));
            }
            let (event, value_span) = self.expect_next()?;
            let mut value = self.node(event, value_span, depth + 1)?;
            // An empty value has no position of its own, and people look for a text at its field name.
            if matches!(value.kind, Kind::Null | Kind::Text(_)) {
                value.line = span.start.line().max(1);
            }
            pairs.push((key, value));
        }
    }
}

fn error_at(span: Span, problem: &str) -> ReportError {
    ReportError::Invalid { line: span.start.line().max(1), problem: problem.to_owned() }
}

fn syntax_error(error: &ScanError) -> ReportError {
    let message = error.to_string();
    let first: String = message.lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS_MAX).collect();
    ReportError::Invalid { line: error.marker().line().max(1), problem: format!("this is not YAML ({first})") }
}
