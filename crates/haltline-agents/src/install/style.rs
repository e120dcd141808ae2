//! Detects how a file is formatted, so that what haltline adds looks like the rest of it.

use serde_json::Value;

use super::comments::comments;
use super::edit::Edit;
use super::json_text::Node;

/// The formatting of a file.
#[derive(Debug)]
pub(super) struct Style {
    /// One level of indentation.
    unit: String,
    newline: &'static str,
    /// The whole file is on one line.
    is_one_line: bool,
    /// There is no optional white space.
    is_minified: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { unit: "  ".to_owned(), newline: "\n", is_one_line: false, is_minified: false }
    }
}

impl Style {
    /// Detects the formatting of this file.
    pub(super) fn detect(text: &str, root: &Node) -> Self {
        let members = root.members().unwrap_or_default();
        let unit = members
            .first()
            .and_then(|member| own_line(text, root, member.span.start))
            .filter(|indentation| !indentation.is_empty())
            .unwrap_or("  ");
        let is_minified =
            members.first().is_some_and(|member| text[member.span.start..member.value.span.start].ends_with(':'));
        Self {
            unit: unit.to_owned(),
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            is_one_line: !members.is_empty() && !text[root.span.clone()].contains('\n'),
            is_minified,
        }
    }

    fn gap(&self) -> &'static str {
        if self.is_minified { "" } else { " " }
    }

    /// Formats a value on one line.
    pub(super) fn inline(&self, value: &Value) -> String {
        match value {
            Value::Object(members) if !members.is_empty() => {
                let members: Vec<String> = members.iter().map(|(key, value)| self.member(key, value)).collect();
                self.braces(&members)
            }
            Value::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(|element| self.inline(element)).collect();
                format!("[{}]", self.list(&elements))
            }
            plain => plain.to_string(),
        }
    }

    fn list(&self, items: &[String]) -> String {
        items.join(if self.is_minified { "," } else { ", " })
    }

    fn braces(&self, members: &[String]) -> String {
        format!("{{{gap}{}{gap}}}", self.list(members), gap = self.gap())
    }

    /// Formats a member with its value on one line.
    pub(super) fn member(&self, key: &str, value: &Value) -> String {
        self.member_text(key, &self.inline(value))
    }

    /// Formats a member whose value is already text.
    pub(super) fn member_text(&self, key: &str, value: &str) -> String {
        format!("{}:{}{value}", Value::from(key), self.gap())
    }
}

/// How the children of a container are laid out.
#[derive(Debug)]
pub(super) enum ChildPlacement {
    /// One after the other on the same line.
    Inline,
    /// Each on a separate line with this indentation.
    Lines(String),
}

impl ChildPlacement {
    /// Detects the layout of the container's children, or chooses one if it has none.
    pub(super) fn in_container(text: &str, container: &Node, style: &Style) -> Self {
        match container.children().last() {
            Some(last) => match own_line(text, container, last.start) {
                Some(indentation) => ChildPlacement::Lines(indentation.to_owned()),
                None => ChildPlacement::Inline,
            },
            None if style.is_one_line => ChildPlacement::Inline,
            None => ChildPlacement::Lines(format!("{}{}", indentation(text, container.span.start), style.unit)),
        }
    }

    /// Adds items after the last child.
    pub(super) fn insert(&self, text: &str, container: &Node, items: &[String], style: &Style) -> Edit {
        let newline = style.newline;
        if let Some(last) = container.children().last() {
            let before = match self {
                ChildPlacement::Inline => format!(",{}", style.gap()),
                ChildPlacement::Lines(indentation) => format!(",{newline}{indentation}"),
            };
            let replacement = items.iter().map(|item| format!("{before}{item}")).collect();
            return Edit { span: last.end..last.end, replacement };
        }
        let inner = &text[container.span.start + 1..container.span.end - 1];
        let replacement = match self {
            _ if !comments(inner).is_empty() => {
                let outer = indentation(text, container.span.start);
                let indented = format!("{newline}{outer}{}", style.unit);
                format!("{}{indented}{}{newline}{outer}", inner.trim_end(), items.join(&format!(",{indented}")))
            }
            ChildPlacement::Inline if container.members().is_some() => {
                format!("{gap}{}{gap}", style.list(items), gap = style.gap())
            }
            ChildPlacement::Inline => style.list(items),
            ChildPlacement::Lines(indented) => {
                let items = items.join(&format!(",{newline}{indented}"));
                format!("{newline}{indented}{items}{newline}{}", indentation(text, container.span.start))
            }
        };
        Edit { span: container.span.start + 1..container.span.end - 1, replacement }
    }

    /// Formats an object as a child of this container, with its members on separate lines if the children have lines.
    pub(super) fn block(&self, members: &[String], style: &Style) -> String {
        let newline = style.newline;
        match self {
            ChildPlacement::Inline => style.braces(members),
            ChildPlacement::Lines(indentation) => {
                let deeper = format!("{newline}{indentation}{}", style.unit);
                let members: Vec<String> = members.iter().map(|member| format!("{deeper}{member}")).collect();
                format!("{{{}{newline}{indentation}}}", members.join(","))
            }
        }
    }
}

/// The indentation of a value that begins a line inside `container`; `None` if something precedes it on its line.
fn own_line<'a>(text: &'a str, container: &Node, start: usize) -> Option<&'a str> {
    let before = &text[container.span.start..start];
    let line = &before[before.rfind('\n')? + 1..];
    line.chars().all(is_blank).then_some(line)
}

/// The indentation of the line that contains byte `at`.
fn indentation(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..at];
    let length = line.find(|letter| !is_blank(letter)).unwrap_or(line.len());
    &line[..length]
}

fn is_blank(letter: char) -> bool {
    letter == ' ' || letter == '\t'
}
