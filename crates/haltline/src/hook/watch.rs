//! haltline's own protection, as far as a hook can give it (E6): what an agent must not do to it is refused before it
//! runs, and what cannot be refused is noticed. SECURITY.md says which is which.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haltline_agents::hook::Asked;
use haltline_agents::{Client, install};
use haltline_core::identity::Action;
use haltline_core::{CircuitName, Reason, Retry, Verdict, shell};

use super::shown;
use crate::ancestry;
use crate::installation::Record;
use crate::surroundings::variable;

/// What an action would do to haltline, as the end of "this would …".
pub fn tampering(action: &Action, state_folder: &Path, config_file: &Path) -> Option<String> {
    if let Some(command) = &action.command {
        if let Some(verb) = shell::operator_verb(command) {
            return Some(format!("run `haltline {verb}`"));
        }
        let home = variable("HOME");
        // A path that is no text cannot be spelled in a command either.
        let own = [state_folder, config_file].map(|path| shown(path).unwrap_or_default());
        match shell::touched(command, &own, home.as_deref()) {
            Some(0) => return Some("change haltline's store".to_owned()),
            Some(_) => return Some("change haltline's configuration".to_owned()),
            None => {}
        }
    }
    let path = Path::new(action.path.as_deref().filter(|_| action.is_write)?);
    if path.starts_with(state_folder) {
        return Some("change haltline's store".to_owned());
    }
    (path == config_file).then(|| "change haltline's configuration".to_owned())
}

/// Writes down which process the client is, and finds out whether it was itself started by an agent (L8). A session
/// that another one started belongs to that one's tree, whichever client's it is.
pub fn session(state_folder: &Path, asked: &mut Asked) -> bool {
    let named = asked.client.protocol().variables.process.and_then(variable).and_then(|id| id.parse().ok());
    let Some(client) = ancestry::client(named, asked.client.name()) else { return false };
    // Without the record an operator verb below this client is still refused by its other marks.
    ancestry::record(state_folder, &client, Some(&asked.stream.session)).ok();
    let variables = || Client::ALL.into_iter().map(|client| client.protocol().variables);
    let sessions = variables().filter_map(|variables| client.variable(variables.session?));
    let parent = sessions.into_iter().find(|session| *session != asked.stream.session);
    let is_inside =
        || variables().any(|variables| variables.inside.is_some_and(|name| client.variable(name).is_some()));
    let is_nested = parent.is_some() || is_inside();
    asked.stream.root = parent;
    is_nested
}

/// A settings file changed: if haltline's hooks are gone from it, the change is refused, and the person is told.
pub fn settings(file: Option<&str>, state_folder: &Path, notices: &mut Vec<String>) -> Option<Verdict> {
    let file = file?;
    let record = Record::read(state_folder).ok()?;
    let installed = record.of(&fs::canonicalize(file).unwrap_or_else(|_gone| PathBuf::from(file)))?;
    let text = fs::read_to_string(file).unwrap_or_default();
    let client = Client::ALL.into_iter().find(|client| client.name() == installed.client)?;
    let left = install::find(&text, client, shown(&installed.binary)?).unwrap_or_default();
    let is_left = |event: &str| left.iter().any(|found| found.event == event && !found.is_narrowed);
    if client.protocol().layout.events().all(is_left) {
        return None;
    }
    let text = format!(
        "HALTLINE HL-OWN-03: refused. This takes haltline's hooks out of {file}, which is for people only.\nDo: tell the person what you need and why.\nDo not: look for another way to do it."
    );
    notices.push(format!(
        "haltline (HL-OWN-03): its hooks were taken out of {file} while a session ran. `haltline doctor` shows what is left, `haltline init` puts them back."
    ));
    let circuit = CircuitName::stored("loop/settings".to_owned());
    Some(Verdict::Deny(Reason { circuit, code: "HL-OWN-03", text, retry: Retry::Person }))
}

/// Tells people of trips in a process of its own: the client waits for this one.
pub fn deliver(folder: &Path, state_folder: &Path, config_file: &Path) {
    let Ok(own) = std::env::current_exe() else { return };
    let mut command = Command::new(own);
    command.arg("-C").arg(folder).args(["notify", "deliver"]);
    command.env("HALTLINE_STATE_DIR", state_folder).env("HALTLINE_CONFIG", config_file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The message waits in the store: the next command tries again.
    command.spawn().ok();
}
