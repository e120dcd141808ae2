//! Whether Codex trusts the hooks it has: it skips a hook silently until a person has trusted its words.

use std::fs;

use haltline_agents::Client;
use haltline_agents::codex::trust::{self, Trust};

use super::Layer;
use crate::view::doctor::CheckupView;

/// What to do about hooks that nobody has trusted.
const FIX: &str = "open Codex, type /hooks and trust haltline's hooks";

/// One line for each of Codex's files that has our hooks.
pub fn look(layers: &[Layer], own: &str) -> Vec<CheckupView> {
    // What is trusted stands in the user's own configuration, whichever file has the hooks.
    let of_codex = || layers.iter().filter(|layer| layer.client == Client::Codex);
    let config = of_codex().next().map(|user| user.path.with_file_name("config.toml"));
    let config = config.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    of_codex().filter(|layer| layer.is_installed()).filter_map(|layer| look_at(layer, &config, own)).collect()
}

fn look_at(layer: &Layer, config: &str, own: &str) -> Option<CheckupView> {
    let file = layer.path.to_str()?;
    let hooks = trust::hooks(layer.text.as_deref()?, file, config, own);
    let events = |wanted: Trust| -> Vec<&str> {
        hooks.iter().filter(|hook| hook.trust == wanted).map(|hook| hook.event.as_str()).collect()
    };
    let told = [
        (Trust::Missing, "nobody has trusted them"),
        (Trust::Outdated, "other words were trusted than they have now"),
        (Trust::SwitchedOff, "they are switched off"),
    ];
    let skipped: Vec<String> = told
        .into_iter()
        .map(|(trust, why)| (events(trust), why))
        .filter(|(events, _)| !events.is_empty())
        .map(|(events, why)| format!("{}: {why}", events.join(", ")))
        .collect();
    Some(if skipped.is_empty() {
        CheckupView::fine("trust", format!("Codex trusts the hooks in {file}"))
    } else {
        CheckupView::problem("trust", format!("Codex silently skips hooks in {file}. {}", skipped.join("; ")), FIX)
    })
}
