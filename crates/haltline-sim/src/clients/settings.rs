//! The client's settings: haltline's hooks as `haltline init` writes them, and those of others.

use std::path::Path;

use haltline_agents::install::TIMEOUT_SECONDS;
use serde_json::{Map, Value, json};

/// The events haltline's hook is registered for.
pub use haltline_agents::install::EVENTS;

/// Settings in which one command is asked about all [`EVENTS`].
pub fn hooks(program: &Path, arguments: &[String]) -> Value {
    let handler = json!({ "type": "command", "command": program, "args": arguments, "timeout": TIMEOUT_SECONDS });
    let events = EVENTS.map(|event| (event.to_owned(), json!([{ "hooks": [handler] }])));
    json!({ "hooks": Map::from_iter(events) })
}

/// Adds a hook of someone else, a shell command, before or after those that are there.
pub fn add_foreign(settings: &mut Value, event: &str, command: &str, is_first: bool) {
    let entry = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] });
    let entries = &mut settings["hooks"][event];
    if let Some(entries) = entries.as_array_mut() {
        entries.insert(if is_first { 0 } else { entries.len() }, entry);
    } else {
        *entries = json!([entry]);
    }
}
