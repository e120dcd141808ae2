//! `haltline uninstall`: restores the settings and keeps what the user changed since (X2). An operator action (E6).

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use haltline_agents::Client;
use haltline_agents::install::{Form, find, remove};

use super::init::{SidecarFile, as_text, read_settings, with_nothing_changed};
use crate::cli::Uninstall;
use crate::context::Context;
use crate::diff::unified;
use crate::error::Failure;
use crate::front::text;
use crate::installation::hook_program::{HookProgram, remove_kept};
use crate::installation::{
    ForeignFile, InstallScope, Installation, InstallationRecord, digest, git_exclude, keep_backup, remove_folders,
};
use crate::view::SCHEMA;
use crate::view::install::{OwnFileChange, UninstallOutcome, UninstallView};

/// Removes haltline's entries, or only shows the change.
pub fn run(context: &Context, command: &Uninstall) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let verb = if command.is_purge { "uninstall --purge" } else { "uninstall" };
    if !command.is_dry_run {
        context.confirm(verb, None)?;
    }
    let (client, scope) = (command.client, InstallScope::from_project_flag(command.is_project));
    let own = as_text(&HookProgram::of_this_process()?.path)?;
    let (settings, file) = read_settings(client, scope, context)?;
    let state = engine.store().folder();
    let record = InstallationRecord::read(state)?;
    let known = record.find(&settings);
    if command.is_purge
        && let Some(other) = record.others(&settings).next()
    {
        let settings = other.settings.display();
        return Err(Failure::Plain(format!(
            "the hooks in {settings} still use this state; uninstall them first; haltline changed nothing"
        )));
    }
    let found = match &file.text {
        Some(text) => {
            find(text, client, &own).map_err(|error| file.failure(format!("{error}; haltline changed nothing")))?
        }
        None => Vec::new(),
    };
    let (outcome, after) = without_haltline(&file, client, &own, known)?;
    let before = file.text.as_deref().unwrap_or_default();
    let sidecars = SidecarFile::all(client, &settings)?;
    let change = |sidecar: &SidecarFile| match sidecar.file.as_ref().map(|file| &file.text) {
        Err(_) => OwnFileChange::LeftOut,
        Ok(Some(text)) if (sidecar.program.parse_hook)(text).is_some() => OwnFileChange::Removed,
        Ok(Some(_)) => OwnFileChange::Foreign,
        Ok(None) => OwnFileChange::Unchanged,
    };
    // Sidecar files that are hooks are counted among the hooks.
    let files =
        sidecars.iter().filter(|sidecar| sidecar.found().is_none()).map(|sidecar| sidecar.view(change(sidecar)));
    let layout = &client.protocol().layout;
    let listener = |event: &str| layout.listeners().find(|listener| listener.event == event);
    let handlers = found.iter().filter_map(|found| Some(layout.handler_text(&found.hook, listener(&found.event)?)));
    let mut view = UninstallView {
        schema: SCHEMA,
        client: client.name(),
        scope,
        settings: settings.display().to_string(),
        removed: found.len() + sidecars.iter().filter_map(SidecarFile::found).count(),
        files: files.collect(),
        diff: match layout.form {
            Form::Grouped | Form::Flat { .. } => unified(before, &after),
            Form::GeneratedFile(_) => String::new(),
        },
        outcome,
        is_dry_run: command.is_dry_run,
        backup: None,
        also: also(context, client, scope, &settings, &own),
        state: state.is_dir().then(|| state.display().to_string()),
        is_purge: command.is_purge,
        left_in_state: Vec::new(),
        handlers: handlers.collect(),
    };
    if !command.is_dry_run {
        if outcome != UninstallOutcome::Unchanged {
            let backup = keep_backup(state, engine.now().at, &settings, before)?;
            view.backup = Some(backup.display().to_string());
        }
        let changed = match outcome {
            UninstallOutcome::Unchanged => Ok(()),
            UninstallOutcome::Restored | UninstallOutcome::Edited => file.replace(&after, false),
            UninstallOutcome::Deleted => file.delete(),
        };
        changed.map_err(|failure| with_nothing_changed(&failure))?;
        for sidecar in sidecars.iter().filter(|sidecar| change(sidecar) == OwnFileChange::Removed) {
            match (sidecar.file.as_ref().map_or(Ok(()), ForeignFile::delete), sidecar.event) {
                (Ok(()), _) => {}
                (Err(failure), None) => {
                    view.files.retain(|file| Path::new(&file.file) != sidecar.path);
                    view.files.push(sidecar.left_out(&failure));
                }
                (Err(failure), Some(_)) => {
                    return Err(Failure::Plain(format!(
                        "{failure}; haltline has removed the other hooks: run the command again"
                    )));
                }
            }
        }
        remove_folders(known.map_or(&[], |known| &known.folders));
        let left = record.without(&settings);
        left.write(state)?;
        if left.is_empty() {
            remove_kept()?;
        }
        if let Some(path) = git_exclude::remove(engine.project())?.filter(|_| !context.is_json) {
            text::note(&format!("{}: haltline removed its lines", path.display()));
        }
        if command.is_purge {
            view.left_in_state = purge(state)?;
        }
    }
    context.print(&view, text::uninstall)
}

/// What haltline keeps in its state folder.
const STATE_NAMES: [&str; 20] = [
    "backtest.json",
    "backup",
    "clients",
    "courses",
    "guards",
    "installed.json",
    "latches",
    "memory",
    "mirrors",
    "paused",
    "roots",
    "runs",
    "settings-seen",
    "slices",
    "snapshots",
    "spool",
    "stuck.json",
    "told",
    "told.key",
    "trust",
];
/// The store's files and locks begin with one of these.
const STATE_PREFIXES: [&str; 2] = ["state.", "spool."];

/// Deletes haltline's files in the state folder, and the folder if nothing else is in it. Returns what else is in it.
fn purge(state: &Path) -> Result<Vec<String>, Failure> {
    let problem = |error: std::io::Error| Failure::Plain(format!("{}: {error}", state.display()));
    let mut left = Vec::new();
    for entry in fs::read_dir(state).map_err(problem)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_own = STATE_NAMES.contains(&name.as_str()) || STATE_PREFIXES.iter().any(|own| name.starts_with(own));
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        match (is_own, is_folder) {
            (false, _) => left.push(name),
            (true, true) => fs::remove_dir_all(entry.path()).map_err(problem)?,
            (true, false) => fs::remove_file(entry.path()).map_err(problem)?,
        }
    }
    if left.is_empty() {
        fs::remove_dir(state).map_err(problem)?;
    }
    Ok(left)
}

/// Returns the settings without haltline, and how they differ from the original.
fn without_haltline(
    file: &ForeignFile,
    client: Client,
    own: &str,
    known: Option<&Installation>,
) -> Result<(UninstallOutcome, String), Failure> {
    let Some(current) = &file.text else { return Ok((UninstallOutcome::Unchanged, String::new())) };
    if let Some(known) = known.filter(|known| known.after == digest(current)) {
        let original = known.backup.as_ref().and_then(|path| fs::read_to_string(path).ok());
        if let Some(original) = original.filter(|original| known.before.as_ref() == Some(&digest(original))) {
            return Ok((UninstallOutcome::Restored, original));
        }
    }
    let left = remove(current, client, own, known.map(|known| &known.trace))
        .map_err(|error| file.failure(format!("{error}; haltline changed nothing")))?;
    let Some(left) = left else { return Ok((UninstallOutcome::Unchanged, current.clone())) };
    // A file that `init` created is deleted only if it is empty now: the user may have added to it since.
    let is_empty = serde_json::from_str(&left).is_ok_and(|left: serde_json::Value| left == serde_json::json!({}));
    if left.is_empty() || is_empty && known.is_some_and(|known| known.is_new_file) {
        return Ok((UninstallOutcome::Deleted, String::new()));
    }
    let is_restored = known.is_some_and(|known| known.before.as_ref() == Some(&digest(&left)));
    Ok((if is_restored { UninstallOutcome::Restored } else { UninstallOutcome::Edited }, left))
}

/// The settings of the other scope, if they contain haltline's hooks.
fn also(context: &Context, client: Client, scope: InstallScope, settings: &Path, own: &str) -> Option<String> {
    let other = match scope {
        InstallScope::User => InstallScope::Project,
        InstallScope::Project => InstallScope::User,
    };
    // Unreadable settings are skipped; in the home folder both scopes share one file.
    let (path, file) = read_settings(client, other, context).ok().filter(|(path, _)| path != settings)?;
    let has_hooks = find(&file.text?, client, own).is_ok_and(|found| !found.is_empty());
    has_hooks.then(|| format!("{} (haltline uninstall{})", path.display(), other.options(client)))
}
