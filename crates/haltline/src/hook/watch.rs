//! haltline's own protection, as far as a hook can give it (E6): what an agent must not do to it is refused before it
//! runs, and what cannot be refused is noticed. SECURITY.md says which is which.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haltline_agents::install;
use haltline_core::identity::Action;
use haltline_core::loop_::Stream;
use haltline_core::{CircuitName, Reason, Retry, Verdict, shell};

use super::shown;
use crate::ancestry;
use crate::installation::Record;
use crate::surroundings::variable;

/// Variables that say which client, and which session, started a process.
const CLIENT_PROCESS: &str = "CLAUDE_PID";
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";
const INSIDE: &str = "CLAUDECODE";

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
/// that another one started belongs to that one's tree.
pub fn session(state_folder: &Path, stream: &mut Stream) -> bool {
    let named = variable(CLIENT_PROCESS).and_then(|id| id.parse().ok());
    let Some(client) = ancestry::client(named) else { return false };
    // Without the record an operator verb below this client is still refused by its other marks.
    ancestry::record(state_folder, &client).ok();
    let parent = client.variable(SESSION).filter(|session| *session != stream.session);
    let is_nested = parent.is_some() || client.variable(INSIDE).is_some();
    stream.root = parent;
    is_nested
}

/// A settings file changed: if haltline's hooks are gone from it, the change is refused, and the person is told.
pub fn settings(file: Option<&str>, state_folder: &Path, notices: &mut Vec<String>) -> Option<Verdict> {
    let file = file?;
    let record = Record::read(state_folder).ok()?;
    let installed = record.of(&fs::canonicalize(file).unwrap_or_else(|_gone| PathBuf::from(file)))?;
    let text = fs::read_to_string(file).unwrap_or_default();
    let left = install::find(&text, shown(&installed.binary)?).unwrap_or_default();
    let is_left = |event: &str| left.iter().any(|found| found.event == event && !found.is_narrowed);
    if install::EVENTS.iter().all(|event| is_left(event)) {
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
