//! Reads one configuration file.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file::{Links, read_regular};

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
    /// Reads a file; `None` if it does not exist. Returns all of its errors if it has any.
    pub fn read(path: &Path, scope: Scope) -> Result<Option<Self>, Vec<ConfigError>> {
        let Some(content) = read_file(path).map_err(|error| vec![error])? else { return Ok(None) };
        let to_error = |problem| ConfigError { path: path.to_owned(), problem };
        let values =
            parse(&content, scope).map_err(|problems| problems.into_iter().map(to_error).collect::<Vec<_>>())?;
        Ok(Some(Self { path: path.to_owned(), content, values }))
    }
}

/// A file's bytes; `None` if it does not exist. Pipes and devices are rejected, because reading them might never end.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let failed = |problem: String| ConfigError { path: path.to_owned(), problem };
    match read_regular(path, FILE_BYTES_MAX as u64, Links::Follow) {
        Ok(content) => Ok(Some(content)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The keys that a file's content sets, or everything that is wrong with it. After an error of the syntax the rest
/// cannot be read.
pub fn parse(content: &[u8], scope: Scope) -> Result<Vec<(&'static Key, Value)>, Vec<String>> {
    let table = parse_table(content).map_err(|problem| vec![problem])?;
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for value in read_table("", &table, scope) {
        match value {
            Ok(value) => values.push(value),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

fn parse_table(content: &[u8]) -> Result<toml::Table, String> {
    if content.len() > FILE_BYTES_MAX {
        return Err(format!("{} bytes: expected at most {FILE_BYTES_MAX}", content.len()));
    }
    let text = std::str::from_utf8(content).map_err(|error| format!("expected UTF-8: {error}"))?;
    text.parse().map_err(|error| one_line(text, &error))
}

/// Reads a table and the tables within it, as deep as the keys go.
fn read_table(path: &str, table: &toml::Table, scope: Scope) -> Vec<Result<(&'static Key, Value), String>> {
    let mut values = Vec::new();
    for (name, value) in table {
        let name = format!("{path}{name}");
        match value {
            toml::Value::Table(inner) if is_table(&name) => {
                values.extend(read_table(&format!("{name}."), inner, scope));
            }
            toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => values.push(read_value(&name, value, scope)),
        }
    }
    values
}

/// True if there are keys below this name.
fn is_table(name: &str) -> bool {
    name == "budget.session"
        || KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

fn read_value(name: &str, value: &toml::Value, scope: Scope) -> Result<(&'static Key, Value), String> {
    let key = find_key(name, scope)?;
    match key.from_toml(value) {
        Some(value) => Ok((key, value)),
        // An address may carry a secret.
        None if name == "notify.to" || name == "notify.webhook" => {
            Err(format!("{name}: expected {}", key.expectation()))
        }
        None => Err(format!("{name} = {}: expected {}", short(value), key.expectation())),
    }
}

/// The key with this name, if a file of this scope may set it.
pub(super) fn find_key(name: &str, scope: Scope) -> Result<&'static Key, String> {
    let known = known_name(name);
    let Some(key) = KEYS.iter().find(|key| key.name == known) else { return Err(unknown_key_message(name)) };
    if scope == Scope::Project && key.scope == Scope::User {
        return Err(format!("only the user's own file can set {name} (see `haltline config path`)"));
    }
    Ok(key)
}

/// The name by which a key is known: the keys of a session's budget may also be set in `[budget.session]`.
fn known_name(name: &str) -> Cow<'_, str> {
    match name.strip_prefix("budget.session.") {
        Some(rest) => Cow::Owned(format!("budget.{rest}")),
        None => Cow::Borrowed(name),
    }
}

/// Longest unknown name for which a similar key is looked for.
const COMPARED_NAME_BYTES_MAX: usize = 80;

fn unknown_key_message(name: &str) -> String {
    if is_table(name) {
        return format!("{name}: expected a table, such as [{name}]");
    }
    // The distance takes time in proportion to both lengths, and a project's file can hold a name of any length.
    let distance = |key: &&Key| strsim::damerau_levenshtein(key.name, name);
    let is_comparable = name.len() <= COMPARED_NAME_BYTES_MAX;
    let closest = KEYS.iter().filter(|_key| is_comparable).min_by_key(distance);
    let closest = closest.filter(|key| distance(key) <= name.len() / 3 + 1);
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
