//! Which hooks the person has trusted. Codex runs a hook only if the hash that it stored for the hook matches, and
//! skips any other hook silently.
//!
//! Trust is stored in the user's `config.toml`, under the hook's file, event and position. The hash covers the hook's
//! definition as JSON with sorted keys; this is how version 0.166.0 computes it, and a test with the real client checks
//! it. haltline only compares the hash: only a person may trust a hook.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Client;
use crate::install::Hook;

/// Whether the client runs a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The client runs it.
    Trusted,
    /// Nobody has trusted it: the client skips it.
    Missing,
    /// The person trusted another text than the hook has now: the client skips it.
    Outdated,
    /// Somebody disabled it.
    Disabled,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedHook {
    /// The event, as the file spells it.
    pub event: String,
    /// The key under which Codex stores the trust.
    pub key: String,
    pub hash: String,
    pub trust: Trust,
}

/// haltline's hooks in the text of a `hooks.json` that is stored at `file`, with their trust according to the text of
/// `config.toml`. A text that cannot be parsed counts as empty.
pub fn hooks(text: &str, file: &str, config: &str, own_binary: &str) -> Vec<TrustedHook> {
    let settings: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    let config: toml::Table = config.parse().unwrap_or_default();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let mut all = Vec::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        let groups = groups.as_array().into_iter().flatten().enumerate();
        for (group_index, group) in groups {
            let handlers = group["hooks"].as_array().into_iter().flatten().enumerate();
            for (handler_index, handler) in handlers {
                let hook = handler["command"].as_str().and_then(Hook::from_shell_line);
                if !hook.is_some_and(|hook| hook.is_ours(Client::Codex, own_binary)) {
                    continue;
                }
                let event_key = snake_case(event);
                let key = format!("{file}:{event_key}:{group_index}:{handler_index}");
                let hash = hash(&event_key, group, handler);
                let trust = trust_of(state.and_then(|state| state.get(&key)), &hash);
                all.push(TrustedHook { event: event.clone(), key, hash, trust });
            }
        }
    }
    all
}

/// True if `config.toml` trusts a project, by any of its folders. Codex loads no hooks of a project that is not
/// trusted.
pub fn is_project_trusted(config: &str, folders: &[&str]) -> bool {
    let config: toml::Table = config.parse().unwrap_or_default();
    let projects = config.get("projects");
    let trust_level = |folder: &&str| projects?.get(*folder)?.get("trust_level")?.as_str();
    // The nearest folder with an entry decides.
    folders.iter().find_map(trust_level) == Some("trusted")
}

fn trust_of(state: Option<&toml::Value>, hash: &str) -> Trust {
    let Some(state) = state else { return Trust::Missing };
    if state.get("enabled").and_then(toml::Value::as_bool) == Some(false) {
        return Trust::Disabled;
    }
    match state.get("trusted_hash").and_then(toml::Value::as_str) {
        Some(trusted) if trusted == hash => Trust::Trusted,
        Some(_) => Trust::Outdated,
        None => Trust::Missing,
    }
}

/// The hash of one handler: of its event, its matcher, and the handler with the defaults that the client adds.
fn hash(event: &str, group: &Value, handler: &Value) -> String {
    let mut whole: BTreeMap<&str, Value> = BTreeMap::new();
    for (key, value) in handler.as_object().into_iter().flatten() {
        whole.insert(key, value.clone());
    }
    whole.entry("async").or_insert(json!(false));
    let mut identity = BTreeMap::from([("event_name", json!(event)), ("hooks", json!([whole]))]);
    if let Some(matcher) = group.get("matcher").filter(|matcher| matcher.is_string()) {
        identity.insert("matcher", matcher.clone());
    }
    let text = json!(identity).to_string();
    let hex: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// `PreToolUse` as the keys spell it: `pre_tool_use`.
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
