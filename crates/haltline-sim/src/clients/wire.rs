//! The model APIs of the clients, each converted to the form of one of them, so that a test examines an exchange in the
//! same way for every client. A new API is a file below and an entry in [`WIRES`].

mod completions;
mod generate_content;
mod messages;
mod responses;
mod tools;

use serde_json::Value;

use super::script::Usage;

/// One API.
pub(super) struct Wire {
    /// How the path of a request ends.
    paths: &'static [&'static str],
    /// True when a request with this path and body wants a streamed response.
    pub(super) is_streamed: fn(path: &str, body: &Value) -> bool,
    /// Parses a request.
    pub(super) conversation: fn(body: &Value) -> Conversation,
    /// The body of a response with this content.
    pub(super) message: fn(number: usize, body: &Value, content: Vec<Value>, usage: Usage) -> Value,
    /// The same response as a stream of events.
    pub(super) events: fn(message: &Value) -> String,
}

/// The content of a request, in the form of the Messages API.
#[derive(Default)]
pub(super) struct Conversation {
    pub(super) messages: Vec<Value>,
    /// The names of the offered tools.
    pub(super) tools: Vec<String>,
}

const WIRES: &[Wire] = &[messages::WIRE, responses::WIRE, completions::WIRE, generate_content::WIRE];

/// The API of a path.
pub(super) fn wire_of(path: &str) -> Option<&'static Wire> {
    WIRES.iter().find(|wire| wire.paths.iter().any(|end| path.ends_with(end)))
}

/// A stream of named events.
fn stream(events: &[Value]) -> String {
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    lines.collect()
}

/// A stream of events without names.
fn unnamed_stream(events: &[String]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}
