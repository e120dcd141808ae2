//! Reads `GRAPH.json`: slices as a map or a list, and what each says about its files. Unknown keys belong to other
//! programs and are ignored.

use std::path::{Path, PathBuf};

use haltline_core::shorten;
use serde_json::{Map, Value};

use super::{ScopeError, read};

/// How many slices an error lists when the requested one is not found.
const LISTED_SLICES_MAX: usize = 8;

pub struct Graph {
    path: PathBuf,
    slices: Value,
    /// The SHA-256 of the file's bytes, as hex.
    pub digest: String,
}

/// What the graph says about a slice's files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GraphSlice {
    /// The explicit list, if there is one.
    pub files_in_scope: Option<Vec<String>>,
    /// Folders and files.
    pub packages: Vec<String>,
    /// Files, often with a remark.
    pub deliverables: Vec<String>,
    /// Ids or files of contracts.
    pub contracts: Vec<String>,
}

impl Graph {
    pub fn read(path: &Path) -> Result<Self, ScopeError> {
        let content = read(path)?;
        let bad = |problem| ScopeError::BadGraph { path: path.to_owned(), problem };
        let json = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
        let value: Value = serde_json::from_slice(json).map_err(|error| bad(format!("this is not JSON ({error})")))?;
        let Value::Object(mut top) = value else { return Err(bad(expected("the graph", &value, "an object"))) };
        let slices =
            top.remove("slices").ok_or_else(|| bad("slices is missing: expected a map or a list".to_owned()))?;
        Ok(Self { path: path.to_owned(), slices, digest: digest(&content) })
    }

    pub fn slice(&self, id: &str) -> Result<GraphSlice, ScopeError> {
        let bad = |problem| ScopeError::BadGraph { path: self.path.clone(), problem };
        let mut ids = Vec::new();
        let found = match &self.slices {
            Value::Object(slices) => {
                ids.extend(slices.keys().map(String::as_str));
                slices.get(id).map(|slice| (format!("slices.{id}"), slice))
            }
            Value::Array(slices) => {
                let mut found = None;
                for (at, slice) in slices.iter().enumerate() {
                    let name = format!("slices[{at}]");
                    let Value::Object(fields) = slice else { return Err(bad(expected(&name, slice, "an object"))) };
                    let slice_id = match fields.get("id") {
                        Some(Value::String(slice_id)) => slice_id.as_str(),
                        Some(other) => return Err(bad(expected(&format!("{name}.id"), other, "text"))),
                        None => return Err(bad(format!("{name}.id is missing: expected the slice's id"))),
                    };
                    if slice_id == id && found.is_some() {
                        return Err(bad(format!("{name}.id: slice {} appears twice", shorten(id))));
                    }
                    if slice_id == id {
                        found = Some((name, slice));
                    }
                    ids.push(slice_id);
                }
                found
            }
            other => return Err(bad(expected("slices", other, "a map or a list"))),
        };
        let Some((name, slice)) = found else {
            return Err(ScopeError::NoSuchSlice {
                slice: id.to_owned(),
                path: self.path.clone(),
                known: list_some(&ids),
            });
        };
        let Value::Object(fields) = slice else { return Err(bad(expected(&name, slice, "an object"))) };
        let texts = |field: &str| texts(fields, &name, field).map_err(bad);
        Ok(GraphSlice {
            files_in_scope: texts("files_in_scope")?,
            packages: texts("packages")?.unwrap_or_default(),
            deliverables: texts("deliverables")?.unwrap_or_default(),
            contracts: texts("contracts")?.unwrap_or_default(),
        })
    }
}

/// A list of texts; `None` if the key is missing or null, which is not the same as an empty list.
fn texts(fields: &Map<String, Value>, name: &str, field: &str) -> Result<Option<Vec<String>>, String> {
    let field_path = format!("{name}.{field}");
    let values = match fields.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(values)) => values,
        Some(other) => return Err(expected(&field_path, other, "a list of strings")),
    };
    let text = |(at, value): (usize, &Value)| match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(expected(&format!("{field_path}[{at}]"), other, "text")),
    };
    values.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
}

fn expected(name: &str, found: &Value, expected: &str) -> String {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(text) => shorten(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    format!("{name} is {found}: expected {expected}")
}

fn list_some(ids: &[&str]) -> String {
    let shown: Vec<String> = ids.iter().take(LISTED_SLICES_MAX).map(|id| shorten(id)).collect();
    match ids.len() {
        0 => "no slices".to_owned(),
        all if all > LISTED_SLICES_MAX => format!("{} and {} more", shown.join(", "), all - LISTED_SLICES_MAX),
        _ => shown.join(", "),
    }
}

/// The plain SHA-256 of the bytes, as `sha256sum` prints it, so that people can compare.
fn digest(content: &[u8]) -> String {
    haltline_core::attempt::file_digest(content)
}

/// A path without the remark that people write after it: `src/help.md (update)`, `src/a.ts: the service`,
/// `src/a.ts - new`.
pub fn without_remark(text: &str) -> &str {
    let text = text.trim();
    let text = match text.find(" (") {
        Some(at) if text.ends_with(')') && at > 0 => text[..at].trim_end(),
        Some(_) | None => text,
    };
    for separator in [": ", " - ", " – ", " — ", " -> ", " # "] {
        if let Some((head, _)) = text.split_once(separator)
            && !head.contains(char::is_whitespace)
            && head.contains(['/', '.'])
        {
            return head;
        }
    }
    text
}

/// True if a text may be a path at all. Prose among the deliverables would otherwise switch the scope lock on with
/// nothing real in scope.
pub fn is_path(text: &str) -> bool {
    if text.is_empty() || text.contains("://") {
        return false;
    }
    let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let has_ending = last.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=10).contains(&ending.len()) && ending.chars().all(|letter| letter.is_ascii_alphanumeric())
    });
    !text.contains(char::is_whitespace) || has_ending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_after_a_path_is_stripped() {
        for (text, expected) in [
            ("docs/help.md (update)", "docs/help.md"),
            ("cmd/install.go (manifest update +2)", "cmd/install.go"),
            ("a/b.md (rewrite <part>)", "a/b.md"),
            ("app/(auth)/page.tsx", "app/(auth)/page.tsx"),
            ("notes (old).md", "notes (old).md"),
            ("src/a.ts: the service", "src/a.ts"),
            ("src/a.ts — the service", "src/a.ts"),
            ("user guide - part.md", "user guide - part.md"),
            ("  src/a.ts ", "src/a.ts"),
        ] {
            assert_eq!(without_remark(text), expected, "{text:?}");
        }
    }

    #[test]
    fn prose_is_no_path() {
        for (text, expected) in [
            ("A working login page", false),
            ("Login and/or sign-up", false),
            ("https://example.org/a.md", false),
            ("", false),
            ("docs/user guide.md", true),
            ("internal/version", true),
            ("Makefile", true),
        ] {
            assert_eq!(is_path(text), expected, "{text:?}");
        }
    }
}
