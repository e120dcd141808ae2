//! The client's settings: haltline's hooks as `haltline init` writes them, and hooks of others.

use std::path::Path;

use haltline_agents::Client;
use haltline_agents::install::{Entries, Hook, install};
use serde_json::{Value, json};

use super::drivers;

/// A client's settings with one command as the hook of all events that haltline handles, as `haltline init` writes
/// them, added to what the client needs to run at all.
///
/// # Panics
/// When the driver's own settings cannot be changed.
pub fn hooks(client: Client, program: &Path, arguments: &[String]) -> String {
    let hook = Hook { command: program.display().to_string(), args: arguments.to_vec() };
    let user = &client.protocol().layout.user;
    let name = format!("{}/{}", user.folder, user.file);
    let before = drivers::installed(client).files.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    install(before, &Entries { client, hook, status_line: None }).expect("a driver's settings can be changed").text
}

/// The hooks that a client keeps in a separate file per event: file names, relative to the settings, and texts.
pub fn hook_files(client: Client, program: &Path, arguments: &[String]) -> Vec<(&'static str, String)> {
    let hook = Hook { command: program.display().to_string(), args: arguments.to_vec() };
    let own = client.protocol().layout.own_files.iter().filter(|own| own.event.is_some());
    own.map(|own| (own.path, (own.content.text)(&hook))).collect()
}

/// Settings with a foreign hook, a shell command, before or after the existing ones.
///
/// # Panics
/// When the settings are not JSON.
pub fn with_foreign(settings: &str, event: &str, command: &str, is_first: bool) -> String {
    let mut settings: Value = serde_json::from_str(settings).expect("settings are JSON");
    let entry = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] });
    let entries = &mut settings["hooks"][event];
    if let Some(entries) = entries.as_array_mut() {
        entries.insert(if is_first { 0 } else { entries.len() }, entry);
    } else {
        *entries = json!([entry]);
    }
    settings.to_string()
}
