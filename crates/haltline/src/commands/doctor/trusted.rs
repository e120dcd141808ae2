//! Whether Codex trusts the hooks it has: it skips a hook silently until a person has trusted its words.

use std::fs;

use haltline_agents::Client;
use haltline_agents::codex::trust;

use super::Layer;
use crate::view::doctor::CheckupView;

/// What to do about hooks that nobody has trusted.
const FIX: &str = "open Codex, type /hooks and trust haltline's hooks";

/// One line for each of Codex's files that has our hooks.
pub fn look(layers: &[Layer]) -> Vec<CheckupView> {
    let installed = layers.iter().filter(|layer| layer.client == Client::Codex && layer.is_installed());
    installed.filter_map(|layer| look_at(layer, layers)).collect()
}

fn look_at(layer: &Layer, layers: &[Layer]) -> Option<CheckupView> {
    // What is trusted stands in the user's own configuration, whichever file has the hooks.
    let user = layers.iter().find(|layer| layer.client == Client::Codex)?;
    let config = fs::read_to_string(user.path.with_file_name("config.toml")).unwrap_or_default();
    let file = fs::canonicalize(&layer.path).unwrap_or_else(|_gone| layer.path.clone());
    let file = file.to_str()?;
    let is_trusted = |event: &str, group, handler| trust::is_trusted(&config, file, event, group, handler);
    let skipped: Vec<&str> = layer
        .hooks
        .iter()
        .filter(|found| !is_trusted(&found.event, found.group, found.handler))
        .map(|found| found.event.as_str())
        .collect();
    Some(if skipped.is_empty() {
        CheckupView::fine("trust", format!("Codex has a trusted hash for every hook in {file}"))
    } else {
        let says = format!("Codex skips the hooks of {} in {file}: nobody has trusted them", skipped.join(", "));
        CheckupView::problem("trust", says, FIX)
    })
}
