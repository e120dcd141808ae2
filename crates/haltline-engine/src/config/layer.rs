//! One configuration file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::key::{Key, Scope, Value};
use super::keys::KEYS;

/// The longest configuration file that is read, in bytes.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A file that was taken.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Where.
    pub path: PathBuf,
    /// What it holds, byte for byte.
    pub content: Vec<u8>,
    /// The keys it sets.
    pub values: Vec<(&'static Key, Value)>,
}

/// A file that cannot be taken, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("config {}: {problem}", path.display())]
pub struct ConfigError {
    /// Where.
    pub path: PathBuf,
    /// What, with the key, the value and what was expected.
    pub problem: String,
}

impl Layer {
    /// Reads a file; `None` where there is none.
    pub fn read(path: &Path, scope: Scope) -> Result<Option<Self>, ConfigError> {
        let Some(content) = read_file(path)? else { return Ok(None) };
        let values = parse(&content, scope).map_err(|problem| ConfigError { path: path.to_owned(), problem })?;
        Ok(Some(Self { path: path.to_owned(), content, values }))
    }
}

/// A file's bytes; `None` where there is none. A pipe or a device would be waited for without end.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let refuse = |problem: String| ConfigError { path: path.to_owned(), problem };
    match std::fs::metadata(path) {
        Ok(kind) if !kind.is_file() => return Err(refuse("expected a file".to_owned())),
        Ok(kind) if kind.len() > FILE_BYTES_MAX as u64 => {
            return Err(refuse(format!("{} bytes: expected at most {FILE_BYTES_MAX}", kind.len())));
        }
        Ok(_file) => {}
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(refuse(error.to_string())),
    }
    std::fs::read(path).map(Some).map_err(|error| refuse(error.to_string()))
}

/// The keys a file's content sets, or what is wrong with it.
pub fn parse(content: &[u8], scope: Scope) -> Result<Vec<(&'static Key, Value)>, String> {
    if content.len() > FILE_BYTES_MAX {
        return Err(format!("{} bytes: expected at most {FILE_BYTES_MAX}", content.len()));
    }
    let text = std::str::from_utf8(content).map_err(|error| format!("expected UTF-8: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| one_line(text, &error))?;
    let mut values = Vec::new();
    take_table("", &table, scope, &mut values)?;
    Ok(values)
}

/// Goes down as deep as the keys do.
fn take_table(
    path: &str,
    table: &toml::Table,
    scope: Scope,
    values: &mut Vec<(&'static Key, Value)>,
) -> Result<(), String> {
    for (name, value) in table {
        let name = format!("{path}{name}");
        match value {
            toml::Value::Table(inner) if is_table(&name) => take_table(&format!("{name}."), inner, scope, values)?,
            toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => values.push(take(&name, value, scope)?),
        }
    }
    Ok(())
}

/// Whether keys stand below this name.
fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

fn take(name: &str, value: &toml::Value, scope: Scope) -> Result<(&'static Key, Value), String> {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else { return Err(unknown(name)) };
    if scope == Scope::Project && key.scope == Scope::User {
        return Err(format!("{name} can only be set in the user's own file (see `haltline config path`)"));
    }
    match key.accept(value) {
        Some(value) => Ok((key, value)),
        None => Err(format!("{name} = {}: expected {}", short(value), key.expectation())),
    }
}

fn unknown(name: &str) -> String {
    if is_table(name) {
        return format!("{name}: expected a table, such as [{name}]");
    }
    let distance = |key: &&Key| strsim::damerau_levenshtein(key.name, name);
    let nearest = KEYS.iter().min_by_key(distance).filter(|key| distance(key) <= name.len() / 3 + 1);
    let shown: String = name.escape_debug().take(60).collect();
    match nearest {
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
