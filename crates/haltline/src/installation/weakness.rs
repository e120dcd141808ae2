//! Finds what keeps installed hooks from seeing what their client does: hooks that were removed, narrowed, silenced, given no
//! time, or pointed elsewhere, in any settings file that the client reads (E6).
//!
//! What was installed is in the record, so settings without haltline are never called weak.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::install::{DisableSetting, Form, InstalledHook, find, is_false_in_toml, without_comments};
use haltline_engine::file::{Links, read_regular};
use haltline_engine::project::Project;
use serde_json::{Value, json};

use super::{InstallScope, Installation, InstallationRecord};

/// Largest settings file that is read.
const SETTINGS_BYTES_MAX: u64 = 16 << 20;

/// One way in which a settings file weakens haltline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakness {
    /// The settings file.
    pub file: PathBuf,
    /// What it does, as the end of a sentence that begins with the file.
    pub what: String,
}

/// Every file that decides whether the client runs haltline's hooks here: settings of the user, the project and the
/// organisation, haltline's own files beside them, and the record of installations.
pub fn watched_files(client: Client, project: &Project) -> Vec<PathBuf> {
    let layout = &client.protocol().layout;
    let mut files = settings_files(client, project);
    let settings = files.clone();
    let folders = || settings.iter().filter_map(|file| file.parent());
    for own in layout.own_files.iter().filter(|own| own.event.is_some()) {
        files.extend(folders().map(|folder| folder.join(own.path)));
    }
    for switch in layout.disable_settings {
        if let DisableSetting::IfFalseInToml { file, .. } = switch {
            files.extend(folders().map(|folder| folder.join(file)));
        }
    }
    files.dedup();
    files
}

/// The settings files that the client reads in this project.
fn settings_files(client: Client, project: &Project) -> Vec<PathBuf> {
    let layout = &client.protocol().layout;
    let scopes = [InstallScope::User, InstallScope::Project];
    let of_scopes = scopes.into_iter().filter_map(|scope| scope.settings_file(client, project).ok());
    let more = layout.more_project_files.iter().map(|file| project.root.join(file));
    of_scopes.chain(more).chain(layout.managed.map(PathBuf::from)).collect()
}

/// What weakens the client's hooks that use this state folder. Empty if haltline is not installed for the client here.
pub fn weaknesses(client: Client, project: &Project, state_folder: &Path) -> Vec<Weakness> {
    let Ok(record) = InstallationRecord::read(state_folder) else { return Vec::new() };
    let files = settings_files(client, project);
    let resolved = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_gone| path.to_owned());
    let mut found = Vec::new();
    let mut installed = Vec::new();
    for file in &files {
        let path = resolved(file);
        let Some(installation) = record.find(file).or_else(|| record.find(&path)) else { continue };
        if installation.client != client.name() {
            continue;
        }
        let hooks = hooks_in(client, file, installation);
        found.extend(of_installation(client, file, installation, &hooks));
        installed.extend(hooks);
    }
    let is_installed = files.iter().any(|file| record.find(file).is_some() || record.find(&resolved(file)).is_some());
    if is_installed {
        found.extend(files.iter().flat_map(|file| switches(client, file, &installed)));
    }
    found
}

/// haltline's hooks in a settings file and in haltline's own files beside it.
fn hooks_in(client: Client, file: &Path, installation: &Installation) -> Vec<InstalledHook> {
    let layout = &client.protocol().layout;
    let binary = installation.binary.to_string_lossy();
    let mut hooks = find(&read(file), client, &binary).unwrap_or_default();
    if let Form::GeneratedFile(content) = layout.form
        && content.is_executable
        && !is_executable(file)
    {
        hooks.clear();
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    for own in layout.own_files {
        let path = folder.join(own.path);
        let Some(hook) = (own.content.parse_hook)(&read(&path)) else { continue };
        if let Some(event) = own.event
            && (!own.content.is_executable || is_executable(&path))
        {
            hooks.push(InstalledHook::in_generated_file(event, hook));
        }
    }
    hooks
}

fn read(path: &Path) -> String {
    let bytes = read_regular(path, SETTINGS_BYTES_MAX, Links::Follow).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

/// Compares the hooks of a settings file with what was installed there.
fn of_installation(client: Client, file: &Path, installation: &Installation, hooks: &[InstalledHook]) -> Vec<Weakness> {
    let weakness = |what: String| Weakness { file: file.to_owned(), what };
    let events: Vec<&str> = client.protocol().layout.events().collect();
    let of_event = |event: &str| hooks.iter().filter(move |found| found.event == event).collect::<Vec<_>>();
    let names = |is_weak: &dyn Fn(&str) -> bool| -> Vec<&str> {
        events.iter().copied().filter(|event| is_weak(event)).collect()
    };
    let missing = names(&|event| of_event(event).is_empty());
    if missing.len() == events.len() {
        return vec![weakness("none of haltline's hooks is left in it".to_owned())];
    }
    // Where an event has several of haltline's hooks, a good one is enough.
    let all = |event: &str, is_weak: &dyn Fn(&InstalledHook) -> bool| {
        let hooks = of_event(event);
        !hooks.is_empty() && hooks.iter().all(|found| is_weak(found))
    };
    let restricted = names(&|event| all(event, &|found| found.is_restricted));
    let hurried = names(&|event| all(event, &|found| found.is_hurried));
    let differs = |option: &str, expected: &Path| {
        hooks.iter().find_map(|found| {
            let given = found.hook.option(option);
            (given.map(Path::new) != Some(expected)).then(|| given.unwrap_or("none").to_owned())
        })
    };
    let same_program = |command: &str| {
        Path::new(command) == installation.binary
            || fs::canonicalize(command).is_ok_and(|path| path == installation.binary)
            || fs::canonicalize(&installation.binary).is_ok_and(|path| path == Path::new(command))
    };
    let program = hooks.iter().map(|found| found.hook.command.as_str()).find(|command| !same_program(command));
    let mut what = Vec::new();
    if !missing.is_empty() {
        what.push(format!("it has no hook of haltline for {}", missing.join(", ")));
    }
    if !restricted.is_empty() {
        let list = restricted.join(", ");
        what.push(format!("haltline's hooks for {list} see only some calls, or cannot deny them"));
    }
    if !hurried.is_empty() {
        what.push(format!("haltline's hooks for {} get too little time to answer", hurried.join(", ")));
    }
    if let Some(other) = differs("--state", &installation.state) {
        what.push(format!("haltline's hooks use another state folder: {other}"));
    }
    if let Some(other) = differs("--config", &installation.config) {
        what.push(format!("haltline's hooks use another configuration: {other}"));
    }
    if let Some(program) = program {
        what.push(format!("haltline's hooks run another program: {program}"));
    }
    what.into_iter().map(weakness).collect()
}

/// Settings in this file that switch haltline's hooks off.
fn switches(client: Client, file: &Path, installed: &[InstalledHook]) -> Vec<Weakness> {
    let layout = &client.protocol().layout;
    if layout.disable_settings.is_empty() {
        return Vec::new();
    }
    let text = read(file);
    let value: Value = serde_json::from_str(without_comments(&text).trim_start_matches('\u{feff}')).unwrap_or_default();
    let value_at = |key: &str| key.split('.').fold(&value, |value, key| &value[key]);
    let disables = |key: &str| format!("{key} disables all hooks");
    let of_switch = |switch: &DisableSetting| match switch {
        DisableSetting::IfTrue(key) => {
            (*value_at(key) == true).then(|| Weakness { file: file.to_owned(), what: disables(key) })
        }
        DisableSetting::IfFalse(key) => {
            (*value_at(key) == false).then(|| Weakness { file: file.to_owned(), what: disables(key) })
        }
        DisableSetting::IfFalseInToml { file: name, key } => {
            let path = file.with_file_name(name);
            is_false_in_toml(&read(&path), key).then(|| Weakness { file: path, what: disables(key) })
        }
        DisableSetting::IfListed(key) => {
            let names = value_at(key).as_array()?;
            let is_listed = |found: &&InstalledHook| names.contains(&json!(found.name));
            let events: Vec<&str> = installed.iter().filter(is_listed).map(|found| found.event.as_str()).collect();
            let what = format!("{key} disables haltline's hooks: {}", events.join(", "));
            (!events.is_empty()).then(|| Weakness { file: file.to_owned(), what })
        }
    };
    layout.disable_settings.iter().filter_map(of_switch).collect()
}
