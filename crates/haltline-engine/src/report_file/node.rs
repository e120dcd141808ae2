//! YAML as a small tree that knows its lines. Scalars stay the text they are: `1.50` is not a number here.

use std::collections::BTreeSet;

use haltline_core::shorten;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::ReportError;

/// How deep lists and mappings may stand in each other; a report needs four levels.
const DEPTH_MAX: usize = 16;
/// How much of the parser's words is passed on, in characters.
const MESSAGE_CHARS_MAX: usize = 160;

/// A value and where it stands.
#[derive(Debug)]
pub struct Node {
    /// From 1.
    pub line: usize,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug)]
pub enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// Any other scalar.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in its order, each key once.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// An error at this place.
    pub fn wrong(&self, problem: String) -> ReportError {
        ReportError::Wrong { line: self.line, problem }
    }

    /// An error that says what stands here and what should.
    pub fn expected(&self, name: &str, expected: &str) -> ReportError {
        let found = match &self.kind {
            Kind::Null => "empty".to_owned(),
            Kind::Text(text) => shorten(text),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a mapping".to_owned(),
        };
        self.wrong(format!("{name} is {found}: expected {expected}"))
    }
}

/// The only document of a text; nothing where there is none.
pub fn parse(text: &str) -> Result<Node, ReportError> {
    let mut reader = Reader { parser: Parser::new_from_str(text) };
    let mut document = None;
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(..) if document.is_some() => {
                return Err(wrong(span, "a second document is not taken; one file is one report"));
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
        self.parser.next_event().transpose().map_err(|error| unreadable(&error))
    }

    /// The next event, which must come because something was begun.
    fn owed(&mut self) -> Result<(Event<'input>, Span), ReportError> {
        let end = || ReportError::Wrong { line: 1, problem: "the text ends in the middle".to_owned() };
        self.next()?.ok_or_else(end)
    }

    fn node(&mut self, event: Event<'input>, span: Span, depth: usize) -> Result<Node, ReportError> {
        if depth > DEPTH_MAX {
            return Err(wrong(span, "lists and mappings stand too deep in each other"));
        }
        let line = span.start.line().max(1);
        let kind = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "" | "~" | "null" | "Null" | "NULL") => {
                Kind::Null
            }
            Event::Scalar(text, ..) => Kind::Text(text.into_owned()),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.map(depth)?,
            Event::Alias(_) => return Err(wrong(span, "an alias (`*name`) is not taken; write the text out")),
            _ => return Err(wrong(span, "this is not expected here")),
        };
        Ok(Node { line, kind })
    }

    fn list(&mut self, depth: usize) -> Result<Kind, ReportError> {
        let mut nodes = Vec::new();
        loop {
            match self.owed()? {
                (Event::SequenceEnd, _) => return Ok(Kind::List(nodes)),
                (event, span) => nodes.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Kind, ReportError> {
        let mut pairs = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            let (event, span) = self.owed()?;
            let key = match event {
                Event::MappingEnd => return Ok(Kind::Map(pairs)),
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(wrong(span, "a field's name must be text")),
            };
            if !keys.insert(key.clone()) {
                return Err(wrong(span, &format!("{} stands here a second time", shorten(&key))));
            }
            let (event, value_span) = self.owed()?;
            let mut value = self.node(event, value_span, depth + 1)?;
            // An empty value has no place of its own, and a text is looked for at its name.
            if matches!(value.kind, Kind::Null | Kind::Text(_)) {
                value.line = span.start.line().max(1);
            }
            pairs.push((key, value));
        }
    }
}

fn wrong(span: Span, problem: &str) -> ReportError {
    ReportError::Wrong { line: span.start.line().max(1), problem: problem.to_owned() }
}

fn unreadable(error: &ScanError) -> ReportError {
    let message = error.to_string();
    let first: String = message.lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS_MAX).collect();
    ReportError::Wrong { line: error.marker().line().max(1), problem: format!("this is not YAML ({first})") }
}
