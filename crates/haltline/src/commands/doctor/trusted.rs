//! Checks whether Codex trusts its hooks. Codex silently skips a hook until a person has trusted its exact text, and
//! all hooks of a project that is not trusted.

use std::fs;
use std::path::PathBuf;

use haltline_agents::Client;
use haltline_agents::codex::trust::{self, Trust};
use haltline_agents::install::Relocation;
use haltline_engine::project::Project;

use super::Layer;
use crate::environment::variable;
use crate::installation::InstallScope;
use crate::view::doctor::CheckupView;

/// The fix for hooks that nobody has trusted.
const FIX: &str = "open Codex, type /hooks and trust haltline's hooks";

/// Checks each of Codex's files that contains haltline's hooks.
pub fn check(layers: &[Layer], own: &str, project: &Project) -> Vec<CheckupView> {
    // Trust is stored in the user's own configuration, whichever file has the hooks.
    let of_codex = || layers.iter().filter(|layer| layer.client == Client::Codex);
    let config = of_codex().next().map(|user| user.path.with_file_name("config.toml"));
    let config = config.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let installed = of_codex().filter(|layer| layer.is_installed());
    let check_layer = |layer| [not_loaded(layer, &config, project), untrusted(layer, &config, own)];
    installed.flat_map(check_layer).flatten().collect()
}

/// Reports hooks of a project that Codex does not even load.
fn not_loaded(layer: &Layer, config: &str, project: &Project) -> Option<CheckupView> {
    let folders = [project.root.to_str()?, project.main_checkout().to_str()?];
    let is_trusted = layer.scope != Some(InstallScope::Project) || trust::is_project_trusted(config, &folders);
    let (file, folder) = (layer.path.display(), folders[1]);
    let says = format!("Codex does not load {file}: the project is not trusted");
    let fix = format!("open Codex in {folder} and trust it");
    (!is_trusted).then(|| CheckupView::problem("trust", says, fix))
}

/// The file's path as Codex stores it with its trust: links are resolved in a folder that a variable names.
fn codex_path(layer: &Layer) -> PathBuf {
    let name = layer.client.protocol().layout.user.relocation.and_then(Relocation::variable);
    let is_named = layer.scope == Some(InstallScope::User) && name.and_then(variable).is_some();
    let folder = layer.path.parent().filter(|_| is_named).and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, layer.path.file_name()) {
        (Some(folder), Some(file)) => folder.join(file),
        (_, _) => layer.path.clone(),
    }
}

fn untrusted(layer: &Layer, config: &str, own: &str) -> Option<CheckupView> {
    let path = codex_path(layer);
    let file = path.to_str()?;
    let hooks = trust::hooks(layer.text.as_deref()?, file, config, own);
    let events = |wanted: Trust| -> Vec<&str> {
        hooks.iter().filter(|hook| hook.trust == wanted).map(|hook| hook.event.as_str()).collect()
    };
    let reasons = [
        (Trust::Missing, "you have not trusted them yet"),
        (Trust::Outdated, "they changed after you trusted them"),
        (Trust::Disabled, "they are disabled"),
    ];
    let skipped: Vec<String> = reasons
        .into_iter()
        .map(|(trust, why)| (events(trust), why))
        .filter(|(events, _)| !events.is_empty())
        .map(|(events, why)| format!("{}: {why}", events.join(", ")))
        .collect();
    Some(if skipped.is_empty() {
        CheckupView::fine("trust", format!("Codex trusts the hooks in {file}"))
    } else {
        CheckupView::problem(
            "trust",
            format!("Codex skips hooks in {file} without a message. {}", skipped.join("; ")),
            FIX,
        )
    })
}
