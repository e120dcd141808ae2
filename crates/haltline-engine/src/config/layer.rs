//! Reads one configuration file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::key::{Key, Scope, Value};
use super::keys::KEYS;

/// The longest configuration file that is read.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A configuration file without errors.
#[derive(Clone, Debug)]
pub struct Layer {
    pub path: PathBuf,
    /// The file's content, byte for byte.
    pub content: Vec<u8>,
    /// The keys it sets.
    pub values: Vec<(&'static Key, Value)>,
}

/// A file or value that was rejected, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("config {}: {problem}", path.display())]
pub struct ConfigError {
    pub path: PathBuf,
    /// What is wrong, with the key, the value and what was expected.
    pub problem: String,
}

impl Layer {
    /// Reads a file; `None` if it does not exist.
    pub fn read(path: &Path, scope: Scope) -> Result<Option<Self>, ConfigError> {
        let Some(content) = read_file(path)? else { return Ok(None) };
        let values = parse(&content, scope).map_err(|problem| ConfigError { path: path.to_owned(), problem })?;
        Ok(Some(Self { path: path.to_owned(), content, values }))
    }
}

/// A file's bytes; `None` if it does not exist. Pipes and devices are rejected, because reading them might never end.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let failed = |problem: String| ConfigError { path: path.to_owned(), problem };
    match std::fs::metadata(path) {
        Ok(kind) if !kind.is_file() => return Err(failed("expected a file".to_owned())),
        Ok(kind) if kind.len() > FILE_BYTES_MAX as u64 => {
            return Err(failed(format!("{} bytes: expected at most {FILE_BYTES_MAX}", kind.len())));
        }
        Ok(_file) => {}
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    }
    std::fs::read(path).map(Some).map_err(|error| failed(error.to_string()))
}

/// The keys that a file's content sets, or what is wrong with it.
pub fn parse(content: &[u8], scope: Scope) -> Result<Vec<(&'static Key, Value)>, String> {
    if content.len() > FILE_BYTES_MAX {
        return Err(format!("{} bytes: expected at most {FILE_BYTES_MAX}", content.len()));
    }
    let text = std::str::from_utf8(content).map_err(|error| format!("expected UTF-8: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| one_line(text, &error))?;
    let mut values = Vec::new();
    read_table("", &table, scope, &mut values)?;
    Ok(values)
}

/// Reads a table and the tables within it, as deep as the keys go.
fn read_table(
    path: &str,
    table: &toml::Table,
    scope: Scope,
    values: &mut Vec<(&'static Key, Value)>,
) -> Result<(), String> {
    for (name, value) in table {
        let name = format!("{path}{name}");
        match value {
            toml::Value::Table(inner) if is_table(&name) => read_table(&format!("{name}."), inner, scope, values)?,
            toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => values.push(read_value(&name, value, scope)?),
        }
    }
    Ok(())
}

/// True if there are keys below this name.
fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

fn read_value(name: &str, value: &toml::Value, scope: Scope) -> Result<(&'static Key, Value), String> {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else { return Err(unknown_key_message(name)) };
    if scope == Scope::Project && key.scope == Scope::User {
        return Err(format!("{name} can only be set in the user's own file (see `haltline config path`)"));
    }
    match key.from_toml(value) {
        Some(value) => Ok((key, value)),
        None => Err(format!("{name} = {}: expected {}", short(value), key.expectation())),
    }
}

fn unknown_key_message(name: &str) -> String {
    if is_table(name) {
        return format!("{name}: expected a table, such as [{name}]");
    }
    let distance = |key: &&Key| strsim::damerau_levenshtein(key.name, name);
    let closest = KEYS.iter().min_by_key(distance).filter(|key| distance(key) <= name.len() / 3 + 1);
    let shown: String = name.escape_debug().take(60).collect();
    match closest {
        Some(key) => format!("unknown key `{shown}`; did you mean `{}`?", key.name),
        None => format!("unknown key `{shown}`; `haltline config show` lists them all"),
    }
}

fn short(value: &toml::Value) -> String {
    let text: String = value.to_string().escape_debug().take(60).collect();
    text.replace("\\\"", "\"")
}

fn one_line(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message: Vec<&str> = error.message().lines().map(str::trim).collect();
    format!("line {line}: {}", message.join(", "))
}
