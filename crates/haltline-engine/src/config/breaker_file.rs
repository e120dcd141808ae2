//! Reads seed 002's own configuration, `circuit_breaker_config.json`, without changing it (L11).
//!
//! It is the lowest layer of files. Its values count as they were when haltline first saw them: a later change that
//! tightens applies at once, one that loosens, deleting the file included, waits for the operator (E9). A value that
//! cannot be read costs that key only.

use std::path::{Path, PathBuf};

use haltline_core::shorten;
use haltline_core::trust::Values;
use serde_json::Value as Json;

use super::key::{Key, Kind, Value};
use super::keys::KEYS;
use super::layer::{ConfigError, read_file};
use super::money;

/// Path of the file, relative to the project's root.
pub const BREAKER_FILE: &str = ".claude/memory/circuit_breaker_config.json";

/// How many warnings are listed one by one, because a file of another kind is full of unknown keys.
const WARNINGS_MAX: usize = 10;
const PATTERNS: [&str; 5] = ["hook_recursion", "tool_failure", "sequential_tools", "agent_spawn", "external_api"];
const PATTERN_FIELDS: [&str; 6] =
    ["enabled", "threshold", "window_turns", "window_seconds", "cooldown_base_seconds", "session_max"];
const RESOURCES: [(&str, &str); 7] = [
    ("max_concurrent_agents", "agents.max_concurrent"),
    ("max_agents_per_session", "agents.max_per_session"),
    ("agent_spawn_cooldown_seconds", "agents.spawn_cooldown_seconds"),
    ("api_rate_limit_per_minute", "loop.external_api.threshold"),
    ("api_session_max", "loop.external_api.session_max"),
    ("api_cost_warn_usd", "api.cost_warn_usd"),
    ("api_cost_block_usd", "api.cost_block_usd"),
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakerFile {
    /// Limits that differ from the built-in ones.
    pub values: Values,
    /// Values that were rejected, one line each.
    pub warnings: Vec<ConfigError>,
}

impl BreakerFile {
    /// Reads a project's file; `None` if it does not exist.
    pub fn read(root: &Path) -> Option<Self> {
        let path = root.join(BREAKER_FILE);
        match read_file(&path) {
            Ok(content) => content.map(|content| Self::parse(&content, &path)),
            Err(warning) => Some(Self { values: Values::new(), warnings: vec![warning] }),
        }
    }

    pub fn parse(content: &[u8], path: &Path) -> Self {
        let mut parser = Parser { path: path.to_owned(), found: Vec::new(), warnings: Vec::new() };
        match serde_json::from_slice(content) {
            Ok(Json::Object(sections)) => {
                sections.iter().for_each(|(name, section)| parser.read_section(name, section))
            }
            Ok(other) => parser.warn(format!("{}: expected an object; haltline uses the defaults", show(&other))),
            Err(error) => {
                parser.warn(format!("not JSON (line {}); haltline uses the defaults", error.line()));
            }
        }
        let more = parser.warnings.len().saturating_sub(WARNINGS_MAX);
        parser.warnings.truncate(WARNINGS_MAX);
        if more > 0 {
            parser.warn(format!("{more} more such warnings"));
        }
        Self { values: parser.strictest(), warnings: parser.warnings }
    }
}

struct Parser {
    path: PathBuf,
    /// The name in the file, the key it sets, and the value.
    found: Vec<(String, &'static Key, i64)>,
    warnings: Vec<ConfigError>,
}

impl Parser {
    fn warn(&mut self, problem: String) {
        self.warnings.push(ConfigError { path: self.path.clone(), problem });
    }

    fn read_section(&mut self, name: &str, section: &Json) {
        let is_known = ["circuit_breakers", "memory_limits", "resource_limits"].contains(&name);
        match section {
            Json::Object(fields) if is_known => {
                for (field, value) in fields {
                    match (name, value) {
                        ("circuit_breakers", Json::Object(below)) if PATTERNS.contains(&field.as_str()) => {
                            below.iter().for_each(|(last, value)| self.read_value(&[name, field, last], value));
                        }
                        (_, value) => self.read_value(&[name, field], value),
                    }
                }
            }
            other if is_known => self.warn(format!("{name} = {}: expected an object", show(other))),
            _unknown => self.warn(format!("unknown key {}; haltline ignores it", shorten(name))),
        }
    }

    fn read_value(&mut self, path: &[&str], value: &Json) {
        let name = path.join(".");
        let Some(key) = key_for(path) else {
            return self.warn(format!("unknown key {}; haltline ignores it", shorten(&name)));
        };
        match number(key, value) {
            Some(number) => self.found.push((name, key, number)),
            None => {
                let (expected, default) = (key.expectation(), key.default_value());
                self.warn(format!(
                    "{name} = {}: expected {expected}; haltline uses the default {default}",
                    show(value)
                ));
            }
        }
    }

    /// The limits that differ from the defaults; if two names set one limit, the stricter value.
    fn strictest(&self) -> Values {
        let mut values = Values::new();
        for (_, key, number) in &self.found {
            let stricter = values.get(key.name).is_some_and(|other| other <= number);
            if !stricter {
                values.insert(key.name.to_owned(), *number);
            }
        }
        let named = |name: &str| self.found.iter().find(|(found, ..)| found == name).map(|(.., number)| *number);
        let per_minute = named("resource_limits.api_rate_limit_per_minute");
        let window = named("circuit_breakers.external_api.window_seconds").unwrap_or(60);
        // If the window is not a minute, the two are compared as rates.
        if let Some(per_minute) = per_minute.filter(|_| window != 60) {
            let threshold = named("circuit_breakers.external_api.threshold").unwrap_or(10);
            let is_per_minute = per_minute * window < threshold * 60;
            let (threshold, window) = if is_per_minute { (per_minute, 60) } else { (threshold, window) };
            values.insert("loop.external_api.threshold".to_owned(), threshold);
            values.insert("loop.external_api.window_seconds".to_owned(), window);
        }
        values.retain(|name, number| {
            KEYS.iter().any(|key| key.name == name && to_value(key, *number) != key.default_value())
        });
        values
    }
}

/// The key that a name in the file sets.
fn key_for(path: &[&str]) -> Option<&'static Key> {
    let name = match path {
        ["circuit_breakers", pattern, field] if PATTERN_FIELDS.contains(field) => format!("loop.{pattern}.{field}"),
        ["memory_limits", field] if *field != "directory" => format!("memory.{field}"),
        ["resource_limits", field] => {
            RESOURCES.iter().find(|(theirs, _)| theirs == field).map(|(_, ours)| (*ours).to_owned())?
        }
        _other => return None,
    };
    KEYS.iter().find(|key| key.name == name)
}

/// The value as the key's type, in the form in which it is recorded.
fn number(key: &Key, value: &Json) -> Option<i64> {
    match &key.kind {
        Kind::Number { low, high, .. } => {
            value.as_i64().filter(|number| (i64::from(*low)..=i64::from(*high)).contains(number))
        }
        Kind::Flag(_) => value.as_bool().map(i64::from),
        Kind::Money { low, .. } => {
            let micros = money::from_number(value.as_f64()?).filter(|micros| micros >= low)?;
            i64::try_from(micros).ok()
        }
        Kind::Choice(_)
        | Kind::Text(_)
        | Kind::List(_)
        | Kind::Cost
        | Kind::Prices
        | Kind::Targets
        | Kind::Folder(_) => None,
    }
}

/// Converts a recorded value into the key's type. A value out of range, which only a damaged store has, becomes the
/// default.
pub(super) fn to_value(key: &Key, number: i64) -> Value {
    match key.kind {
        Kind::Number { low, high, .. } if (i64::from(low)..=i64::from(high)).contains(&number) => Value::Number(number),
        Kind::Flag(_) => Value::Flag(number != 0),
        Kind::Money { default, .. } => {
            Value::Money(u64::try_from(number).ok().filter(|micros| *micros <= money::MICROS_MAX).unwrap_or(default))
        }
        Kind::Number { .. }
        | Kind::Choice(_)
        | Kind::Text(_)
        | Kind::List(_)
        | Kind::Cost
        | Kind::Prices
        | Kind::Targets
        | Kind::Folder(_) => key.default_value(),
    }
}

/// The values in force if the file sets `requested` and `seen` was in force before, and the values that wait for trust.
pub(super) fn apply_trust(seen: &Values, requested: &Values) -> (Values, Vec<(&'static Key, Value)>) {
    let (mut in_force, mut waiting) = (Values::new(), Vec::new());
    for key in KEYS {
        let (before, after) = (seen.get(key.name), requested.get(key.name));
        let value = |number: Option<&i64>| number.map_or_else(|| key.default_value(), |number| to_value(key, *number));
        let kept = if before != after && key.looser.is_looser(&value(before), &value(after)) {
            waiting.push((key, value(after)));
            before
        } else {
            after
        };
        if let Some(number) = kept {
            in_force.insert(key.name.to_owned(), *number);
        }
    }
    (in_force, waiting)
}

fn show(value: &Json) -> String {
    value.to_string().escape_debug().take(60).collect::<String>().replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_loosening_waits_and_tightening_applies_at_once() {
        let values = |threshold, enabled| -> Values {
            [("loop.tool_failure.threshold", threshold), ("loop.repeat.enabled", enabled)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        let (in_force, waiting) = apply_trust(&values(4, 1), &values(2, 0));
        assert_eq!(in_force, values(2, 1));
        assert_eq!(waiting.iter().map(|(key, _)| key.name).collect::<Vec<_>>(), ["loop.repeat.enabled"]);
        let (in_force, waiting) = apply_trust(&values(2, 1), &Values::new());
        assert_eq!((in_force.len(), waiting.len()), (1, 1), "deleting the file loosens as well");
        assert_eq!(in_force.get("loop.tool_failure.threshold"), Some(&2));
    }
}
