//! `haltline uninstall`: the settings as they were, plus what the user changed since (X2). For people (E6).

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use haltline_agents::Client;
use haltline_agents::install::{Form, find, remove};

use super::init::{Beside, as_text, own_binary, settings_of, unchanged};
use crate::cli::Uninstall;
use crate::diff::unified;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::installation::{ForeignFile, Installation, Reach, Record, digest, keep_backup, remove_folders};
use crate::operator::{Proof, confirm};
use crate::view::SCHEMA;
use crate::view::install::{OwnFileChange, UninstallOutcome, UninstallView};
use crate::workplace::Workplace;

/// Takes haltline's entries out, or only shows that.
pub fn run(workplace: &Workplace, command: &Uninstall) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    if !command.is_dry_run {
        confirm("uninstall", None, Proof::Presence, engine.config())?;
    }
    let (client, reach) = (command.client, Reach::new(command.is_project));
    let own = as_text(&own_binary()?)?;
    let (settings, file) = settings_of(client, reach, workplace)?;
    let state = engine.store().folder();
    let record = Record::read(state)?;
    let known = record.of(&settings);
    let found = match &file.text {
        Some(text) => {
            find(text, client, &own).map_err(|error| file.refused(format!("{error}; nothing was changed")))?
        }
        None => Vec::new(),
    };
    let (outcome, after) = without_haltline(&file, client, &own, known)?;
    let before = file.text.as_deref().unwrap_or_default();
    let beside = Beside::all(client, &settings)?;
    let change = |beside: &Beside| match beside.file.as_ref().map(|file| &file.text) {
        Err(_) => OwnFileChange::LeftOut,
        Ok(Some(text)) if (beside.program.hook)(text).is_some() => OwnFileChange::Removed,
        Ok(Some(_)) => OwnFileChange::Foreign,
        Ok(None) => OwnFileChange::Unchanged,
    };
    // Those that are hooks are counted among them.
    let files = beside.iter().filter(|beside| beside.found().is_none()).map(|beside| beside.view(change(beside)));
    let layout = &client.protocol().layout;
    let listener = |event: &str| layout.listeners.iter().find(|listener| listener.event == event);
    let handlers = found.iter().filter_map(|found| Some(layout.handler_text(&found.hook, listener(&found.event)?)));
    let mut view = UninstallView {
        schema: SCHEMA,
        client: client.name(),
        scope: reach,
        settings: settings.display().to_string(),
        removed: found.len() + beside.iter().filter_map(Beside::found).count(),
        files: files.collect(),
        diff: match layout.form {
            Form::Grouped | Form::Flat { .. } => unified(before, &after),
            Form::Program(_) => String::new(),
        },
        outcome,
        is_dry_run: command.is_dry_run,
        also: also(workplace, client, reach, &settings, &own),
        handlers: handlers.collect(),
    };
    if !command.is_dry_run {
        if outcome != UninstallOutcome::Unchanged {
            keep_backup(state, engine.now().at, &settings, before)?;
        }
        let changed = match outcome {
            UninstallOutcome::Unchanged => Ok(()),
            UninstallOutcome::Restored | UninstallOutcome::Edited => file.replace(&after, false),
            UninstallOutcome::Deleted => file.delete(),
        };
        changed.map_err(|failure| unchanged(&failure))?;
        for beside in beside.iter().filter(|beside| change(beside) == OwnFileChange::Removed) {
            match (beside.file.as_ref().map_or(Ok(()), ForeignFile::delete), beside.event) {
                (Ok(()), _) => {}
                (Err(failure), None) => {
                    view.files.retain(|file| Path::new(&file.file) != beside.path);
                    view.files.push(beside.left_out(&failure));
                }
                (Err(failure), Some(_)) => {
                    return Err(Failure::Plain(format!("{failure}; other hooks are removed: run the command again")));
                }
            }
        }
        remove_folders(known.map_or(&[], |known| &known.folders));
        record.without(&settings).write(state)?;
    }
    workplace.answer(&view, text::uninstall)?;
    Ok(exit_code::FINE)
}

/// The settings without haltline, and how one gets there.
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
        .map_err(|error| file.refused(format!("{error}; nothing was changed")))?;
    let Some(left) = left else { return Ok((UninstallOutcome::Unchanged, current.clone())) };
    // A file that `init` made goes only where nothing is left in it: the user may have added to it since.
    let is_empty = serde_json::from_str(&left).is_ok_and(|left: serde_json::Value| left == serde_json::json!({}));
    if left.is_empty() || is_empty && known.is_some_and(|known| known.is_new_file) {
        return Ok((UninstallOutcome::Deleted, String::new()));
    }
    let is_restored = known.is_some_and(|known| known.before.as_ref() == Some(&digest(&left)));
    Ok((if is_restored { UninstallOutcome::Restored } else { UninstallOutcome::Edited }, left))
}

/// The settings of the other reach, where they have haltline's hooks.
fn also(workplace: &Workplace, client: Client, reach: Reach, settings: &Path, own: &str) -> Option<String> {
    let other = match reach {
        Reach::User => Reach::Project,
        Reach::Project => Reach::User,
    };
    // Of what cannot be read nothing is known; in the home folder itself both are one.
    let (path, file) = settings_of(client, other, workplace).ok().filter(|(path, _)| path != settings)?;
    let has_hooks = find(&file.text?, client, own).is_ok_and(|found| !found.is_empty());
    has_hooks.then(|| format!("{} (haltline uninstall{})", path.display(), other.options(client)))
}
