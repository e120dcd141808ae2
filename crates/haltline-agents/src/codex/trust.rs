//! Which hooks the person has trusted. Codex runs a hook only while the hash it keeps for it is the hook's own, and says
//! nothing of one that it skips. What is trusted stands in its `config.toml`, under the hook's file, event and place.
//!
//! How the hash is made is the client's own affair and changes with it: here it is only read whether there is one.

/// Whether `config.toml` has a trusted hash for the hook of an event in this file. `event` is as the hooks' file spells
/// it, `group` and `handler` are places counted from 0.
pub fn is_trusted(config: &str, file: &str, event: &str, group: usize, handler: usize) -> bool {
    let Ok(config) = config.parse::<toml::Table>() else { return false };
    let key = format!("{file}:{}:{group}:{handler}", snake_case(event));
    let state = config.get("hooks").and_then(|hooks| hooks.get("state")).and_then(|state| state.get(&key));
    state
        .and_then(|state| state.get("trusted_hash"))
        .and_then(|hash| hash.as_str())
        .is_some_and(|hash| !hash.is_empty())
}

/// `PreToolUse` as the keys spell it.
fn snake_case(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
