//! haltline's self-protection, as far as a hook can give it (E6): haltline denies actions of an agent against itself
//! before they run, and reports what it cannot deny. SECURITY.md says which is which.

use std::path::Path;
use std::process::{Command, Stdio};

use haltline_agents::Client;
use haltline_agents::hook::HookCall;

use super::provenance::{Channel, Input};
use crate::ancestry::{self, ClientFacts};
use crate::environment::{self, variable};
use crate::installation::InstallationRecord;

/// Where a hook keeps its files.
#[derive(Clone, Copy, Debug)]
pub struct HookPaths<'a> {
    pub state_folder: &'a Path,
    pub config_file: &'a Path,
    /// True if the hook's command line names the state folder.
    pub is_named: bool,
}

/// Records which process the client is, and returns whether an agent started it (L8). A session that another session
/// started belongs to that session's tree, whichever client runs it.
pub fn record_session(paths: HookPaths<'_>, hook_call: &mut HookCall) -> bool {
    let HookPaths { state_folder, config_file, is_named } = paths;
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
        let session = Some(hook_call.agent.session.as_str());
        let facts = ClientFacts { session, channel: Some(channel), config: Some(config_file) };
        ancestry::record(state_folder, &client, facts).ok();
        let is_installed = || InstallationRecord::read(state_folder).is_ok_and(|record| !record.is_empty());
        let default = environment::folder_of(&client).filter(|default| is_named && default != state_folder);
        if let Some(default) = default.filter(|_| is_installed()) {
            ancestry::record_elsewhere(&default, &client, state_folder).ok();
        }
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

/// Delivers notifications in a separate process, because the client waits for this one.
pub fn spawn_delivery(folder: &Path, state_folder: &Path, config_file: &Path) {
    spawn(folder, state_folder, config_file, &["notify", "deliver"]);
}

/// Starts a process that cleans the memory folders, but not what belongs to this session: the client waits for this one.
pub fn spawn_cleanup(folder: &Path, state_folder: &Path, config_file: &Path, session: &str) {
    spawn(folder, state_folder, config_file, &["memory", "clean", "--session", session]);
}

fn spawn(folder: &Path, state_folder: &Path, config_file: &Path, arguments: &[&str]) {
    let Ok(own) = std::env::current_exe() else { return };
    let mut command = Command::new(own);
    command.arg("-C").arg(folder).args(arguments);
    command.env("HALTLINE_STATE_DIR", state_folder).env("HALTLINE_CONFIG", config_file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A message stays in the store and a folder as it is: the next command tries again.
    command.spawn().ok();
}
