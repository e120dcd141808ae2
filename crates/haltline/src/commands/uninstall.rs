//! `haltline uninstall`: the settings as they were, plus what the user changed since (X2). For people (E6).

use std::fs;
use std::process::ExitCode;

use haltline_agents::install::{find, is_circuit_status, remove};

use super::init::{CLIENT, as_text, own_binary, settings_of, slash_command_of};
use crate::cli::Uninstall;
use crate::diff::unified;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::installation::{ForeignFile, Installation, Reach, Record, digest, keep_backup};
use crate::operator::{Proof, confirm};
use crate::view::SCHEMA;
use crate::view::install::{SlashCommandChange, SlashCommandView, UninstallOutcome, UninstallView};
use crate::workplace::Workplace;

/// Takes haltline's entries out, or only shows that.
pub fn run(workplace: &Workplace, command: &Uninstall) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    if !command.is_dry_run {
        confirm("uninstall", None, Proof::Presence, engine.config())?;
    }
    let reach = Reach::new(command.is_project);
    let own = as_text(&own_binary()?)?;
    let (settings, file) = settings_of(reach, workplace)?;
    let state = engine.store().folder();
    let record = Record::read(state)?;
    let known = record.of(&settings);
    let found = match &file.text {
        Some(text) => find(text, &own).map_err(|error| file.refused(format!("{error}; nothing was changed")))?,
        None => Vec::new(),
    };
    let (outcome, after) = without_haltline(&file, &own, known)?;
    let before = file.text.as_deref().unwrap_or_default();
    let slash_command = ForeignFile::read(&slash_command_of(&settings))?;
    let change = match &slash_command.text {
        Some(text) if is_circuit_status(text) => SlashCommandChange::Removed,
        Some(_) => SlashCommandChange::Foreign,
        None => SlashCommandChange::Unchanged,
    };
    let view = UninstallView {
        schema: SCHEMA,
        client: CLIENT,
        scope: reach,
        settings: settings.display().to_string(),
        removed: found.len(),
        slash_command: SlashCommandView { file: slash_command_of(&settings).display().to_string(), change },
        diff: unified(before, &after),
        outcome,
        is_dry_run: command.is_dry_run,
        also: also(workplace, reach, &own)?,
        handler: found.first().map(|found| found.hook.handler_text()).unwrap_or_default(),
    };
    if !command.is_dry_run {
        if outcome != UninstallOutcome::Unchanged {
            keep_backup(state, engine.now().at, &settings, before)?;
        }
        match outcome {
            UninstallOutcome::Unchanged => {}
            UninstallOutcome::Restored | UninstallOutcome::Edited => file.replace(&after)?,
            UninstallOutcome::Deleted => file.delete()?,
        }
        if change == SlashCommandChange::Removed {
            slash_command.delete()?;
        }
        for folder in known.iter().flat_map(|known| known.folders.iter().rev()) {
            // One that is not empty holds something of the user's, and stays.
            fs::remove_dir(folder).ok();
        }
        record.without(&settings).write(state)?;
    }
    workplace.answer(&view, text::uninstall)?;
    Ok(exit_code::FINE)
}

/// The settings without haltline, and how one gets there.
fn without_haltline(
    file: &ForeignFile,
    own: &str,
    known: Option<&Installation>,
) -> Result<(UninstallOutcome, String), Failure> {
    let Some(current) = &file.text else { return Ok((UninstallOutcome::Unchanged, String::new())) };
    if let Some(known) = known.filter(|known| known.after == digest(current)) {
        if known.is_new_file {
            return Ok((UninstallOutcome::Deleted, String::new()));
        }
        let original = known.backup.as_ref().and_then(|path| fs::read_to_string(path).ok());
        if let Some(original) = original.filter(|original| known.before.as_ref() == Some(&digest(original))) {
            return Ok((UninstallOutcome::Restored, original));
        }
    }
    let left = remove(current, own, known.map(|known| &known.trace))
        .map_err(|error| file.refused(format!("{error}; nothing was changed")))?;
    let Some(left) = left else { return Ok((UninstallOutcome::Unchanged, current.clone())) };
    let is_empty = serde_json::from_str(&left).is_ok_and(|left: serde_json::Value| left == serde_json::json!({}));
    if is_empty && known.is_some_and(|known| known.is_new_file) {
        return Ok((UninstallOutcome::Deleted, String::new()));
    }
    let is_restored = known.is_some_and(|known| known.before.as_ref() == Some(&digest(&left)));
    Ok((if is_restored { UninstallOutcome::Restored } else { UninstallOutcome::Edited }, left))
}

/// The settings of the other reach, where they have haltline's hooks.
fn also(workplace: &Workplace, reach: Reach, own: &str) -> Result<Option<String>, Failure> {
    let other = match reach {
        Reach::User => Reach::Project,
        Reach::Project => Reach::User,
    };
    let (path, file) = settings_of(other, workplace)?;
    let has_hooks = file.text.is_some_and(|text| find(&text, own).is_ok_and(|found| !found.is_empty()));
    Ok(has_hooks.then(|| format!("{} (haltline uninstall{})", path.display(), other.option())))
}
