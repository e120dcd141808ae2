//! haltline's self-protection, as far as a hook can give it (E6): haltline denies actions of an agent against itself
//! before they run, and reports what it cannot deny. SECURITY.md says which is which.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haltline_agents::hook::HookCall;
use haltline_agents::{Client, install};
use haltline_engine::file::{Links, read_regular};

use super::provenance::{Channel, Input};
use crate::ancestry;
use crate::environment::variable;
use crate::installation::InstallationRecord;

/// Largest settings file that is read.
const SETTINGS_BYTES_MAX: u64 = 16 << 20;

/// Records which process the client is, and returns whether an agent started it (L8). A session that another session
/// started belongs to that session's tree, whichever client runs it.
pub fn record_session(state_folder: &Path, hook_call: &mut HookCall) -> bool {
    let named = hook_call.client.protocol().variables.process.and_then(variable).and_then(|id| id.parse().ok());
    let input = Input::current();
    let found = input.creating_ancestor().or_else(|| ancestry::find_client(named, hook_call.client.name()));
    let Some(client) = found else { return false };
    let between: Vec<_> = ancestry::ancestors().take_while(|ancestor| ancestor.id != client.id).collect();
    let channel = Channel::of(input, &client, &between).word();
    let record = client.client_record(state_folder);
    // A command of the client's agent that makes up a session must not add it to the client's.
    if record.as_ref().and_then(|record| record.channel()).is_none_or(|recorded| recorded == channel) {
        // Without the record, operator actions below this client are still denied by the other markers.
        ancestry::record(state_folder, &client, Some(&hook_call.agent.session), Some(channel)).ok();
    }
    let variables = || Client::ALL.into_iter().map(|client| client.protocol().variables);
    let sessions = variables().filter_map(|variables| client.variable(variables.session?));
    let parent = sessions.into_iter().find(|session| *session != hook_call.agent.session);
    let is_inside =
        || variables().any(|variables| variables.marker.is_some_and(|name| client.variable(name).is_some()));
    let is_nested = parent.is_some() || is_inside();
    hook_call.agent.parent_session = parent;
    is_nested
}

/// True if haltline wrote its hooks into this settings file and some of them are gone.
pub fn has_lost_hooks(file: &str, state_folder: &Path) -> bool {
    let lost = || -> Option<bool> {
        let record = InstallationRecord::read(state_folder).ok()?;
        let installed = record.find(&fs::canonicalize(file).unwrap_or_else(|_gone| PathBuf::from(file)))?;
        let text = read_regular(Path::new(file), SETTINGS_BYTES_MAX, Links::Follow).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let client = Client::ALL.into_iter().find(|client| client.name() == installed.client)?;
        let left = install::find(&text, client, installed.binary.to_str()?).unwrap_or_default();
        let is_left = |event: &str| left.iter().any(|found| found.event == event && !found.is_restricted);
        Some(!client.protocol().layout.events().all(is_left))
    };
    lost().unwrap_or(false)
}

/// Delivers notifications in a separate process, because the client waits for this one.
pub fn spawn_delivery(folder: &Path, state_folder: &Path, config_file: &Path) {
    let Ok(own) = std::env::current_exe() else { return };
    let mut command = Command::new(own);
    command.arg("-C").arg(folder).args(["notify", "deliver"]);
    command.env("HALTLINE_STATE_DIR", state_folder).env("HALTLINE_CONFIG", config_file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The message stays in the store: the next command tries again.
    command.spawn().ok();
}
