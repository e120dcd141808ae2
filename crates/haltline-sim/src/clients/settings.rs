//! The client's settings: haltline's hooks as `haltline init` writes them, and those of others.

use std::path::Path;

use haltline_agents::Client;
use haltline_agents::install::Hook;
use serde_json::{Value, json};

/// A client's settings in which one command is asked about all events that haltline listens to.
pub fn hooks(client: Client, program: &Path, arguments: &[String]) -> Value {
    let hook = Hook { command: program.display().to_string(), args: arguments.to_vec() };
    client.protocol().layout.whole(&hook)
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
