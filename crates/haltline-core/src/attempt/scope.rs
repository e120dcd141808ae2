//! The files that a slice may change without a justification (A5), fixed when the slice begins.
//!
//! An explicit list replaces everything else. Without one, the scope is what the contracts name and the graph lists.
//! Without either the scope lock is off. That differs from an empty list, which leaves nothing in scope.
//!
//! An entry that ends with `/` covers its folder and everything below it. Without the `/`, an entry of an explicit list
//! is one file and covers nothing else; an inferred entry such as `internal/version` may be either, so it covers what is
//! below it as well. Whole names are compared, so `src/user` never covers `src/users.rs`.
//! Paths are relative to the project, with `/`; the engine resolves where a write really goes.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::glob_matches;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A list that was written for this slice.
    Explicit,
    /// Contracts and graph.
    Inferred,
    /// Nothing defines the scope: the lock is off.
    #[default]
    None,
}

/// Where an entry comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It was given when the slice began.
    Given,
    FilesInScope,
    Contract {
        /// The contract's file, with the section if only that was read.
        file: String,
    },
    Packages,
    Deliverables,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Given => formatter.write_str("given at begin"),
            Source::FilesInScope => formatter.write_str("files_in_scope of the graph"),
            Source::Contract { file } => write!(formatter, "named in {file}"),
            Source::Packages => formatter.write_str("packages of the graph"),
            Source::Deliverables => formatter.write_str("deliverables of the graph"),
        }
    }
}

/// A file, folder or pattern in scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// A file or folder of the project; `*`, `**` and `?` are wildcards. A trailing `/` is kept for display; the
    /// project itself is `.`.
    pub path: String,
    pub source: Source,
}

/// Why a text is not a valid entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryError {
    Empty,
    /// It begins at the root of the file system.
    Absolute,
    /// It contains `..`.
    Climbs,
    /// It contains a control character.
    Unwritable,
}

impl fmt::Display for EntryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            EntryError::Empty => "is empty; expected a path of the project",
            EntryError::Absolute => "is absolute; expected a path relative to the project's root",
            EntryError::Climbs => "contains `..`; expected a path below the project's root",
            EntryError::Unwritable => "contains a control character; expected a path",
        })
    }
}

/// Normalises a path: no `.`, no doubled or trailing `/`; the root becomes the empty string.
///
/// `..` is an error and is not resolved: where it leads depends on links, which only the file system knows.
pub fn normalise(path: &str) -> Result<String, EntryError> {
    if path.chars().any(char::is_control) {
        return Err(EntryError::Unwritable);
    }
    if path.starts_with('/') {
        return Err(EntryError::Absolute);
    }
    if path.is_empty() {
        return Err(EntryError::Empty);
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(EntryError::Climbs);
    }
    Ok(parts.join("/"))
}

impl Entry {
    /// Parses an entry as people write it: `src/users/`, `./internal/version`, `internal/...`, `src/**/*.rs`.
    pub fn parse(text: &str, source: Source) -> Result<Self, EntryError> {
        let text = text.trim();
        // Go's notation for "and everything below".
        let text = text.strip_suffix("...").filter(|rest| rest.is_empty() || rest.ends_with('/')).unwrap_or(text);
        let is_folder = text.is_empty() || text.ends_with('/');
        let path = if text.is_empty() { Err(EntryError::Empty) } else { normalise(text) }?;
        let path = match (path.is_empty(), is_folder) {
            (true, _) => ".".to_owned(),
            (false, true) => format!("{path}/"),
            (false, false) => path,
        };
        Ok(Self { path, source })
    }

    /// The path without the parts that are kept only for display; empty for the project itself.
    pub fn bare_path(&self) -> &str {
        match self.path.as_str() {
            "." => "",
            path => path.trim_end_matches('/'),
        }
    }

    /// True if `path` is this entry's path or, unless the entry is one file, below it.
    fn covers(&self, path: &str, case_sensitivity: CaseSensitivity) -> bool {
        let is_file = self.is_file();
        match case_sensitivity {
            CaseSensitivity::Sensitive => covers(self.bare_path(), is_file, path),
            CaseSensitivity::Insensitive => covers(&self.bare_path().to_lowercase(), is_file, &path.to_lowercase()),
        }
    }

    /// True if the entry names one file: an explicit list writes folders with a trailing `/`.
    pub(super) fn is_file(&self) -> bool {
        let is_explicit = match &self.source {
            Source::Given | Source::FilesInScope => true,
            Source::Contract { .. } | Source::Packages | Source::Deliverables => false,
        };
        is_explicit && self.path != "." && !self.path.ends_with('/')
    }

    /// What the entry allows, for comparison: the bare path, with a `/` unless it is one file.
    fn allowed(&self) -> String {
        if self.is_file() { self.bare_path().to_owned() } else { format!("{}/", self.bare_path()) }
    }
}

fn covers(entry_path: &str, is_file: bool, path: &str) -> bool {
    if entry_path.is_empty() {
        return true;
    }
    // The literal name is tried first: a file can be called `what?.md`.
    let is_covered = |rest: &str| rest.is_empty() || (!is_file && rest.starts_with('/'));
    path.strip_prefix(entry_path).is_some_and(is_covered)
        || (entry_path.contains(['*', '?']) && is_matched(entry_path, path))
}

/// True if the pattern matches the path or a folder above it. `*` and `?` stay within one name, `**` matches any number
/// of names. The work is bounded by the product of both lengths.
fn is_matched(pattern: &str, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    // `reached[n]`: the pattern so far matches the first n names of the path.
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    for part in pattern.split('/') {
        let mut next = vec![false; names.len() + 1];
        if part == "**" {
            let first = reached.iter().position(|&is_reached| is_reached).unwrap_or(reached.len());
            next[first.min(names.len() + 1)..].fill(true);
        } else {
            for (index, name) in names.iter().enumerate() {
                next[index + 1] = reached[index] && glob_matches(part, name);
            }
        }
        reached = next;
    }
    // The empty prefix is the project itself, which only `**` alone matches.
    reached.contains(&true)
}

/// Whether the file system treats names that differ only in case as one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseSensitivity {
    /// `A` and `a` are two files.
    Sensitive,
    /// `A` and `a` are one file.
    Insensitive,
}

impl CaseSensitivity {
    /// True if both paths name one file.
    pub fn is_same(self, one: &str, other: &str) -> bool {
        match self {
            CaseSensitivity::Sensitive => one == other,
            CaseSensitivity::Insensitive => one == other || one.to_lowercase() == other.to_lowercase(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered<'scope> {
    /// In scope, by this entry.
    By(&'scope Entry),
    /// Out of scope: the change needs a justification.
    Outside,
    /// Nothing defines the scope.
    LockOff,
}

/// What a slice may change; fixed when the slice begins. By default nothing defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub origin: Origin,
    /// The entries, sorted and without duplicates.
    pub entries: Vec<Entry>,
    /// The SHA-256 of the graph's file in hex, if one was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
}

impl Scope {
    /// A list that replaces everything else. An empty one leaves nothing in scope.
    pub fn explicit(entries: Vec<Entry>, graph: Option<String>) -> Self {
        Self { origin: Origin::Explicit, entries: in_order(entries), graph }
    }

    /// What contracts and graph name together. If they name nothing the lock is off.
    pub fn inferred(entries: Vec<Entry>, graph: Option<String>) -> Self {
        let origin = if entries.is_empty() { Origin::None } else { Origin::Inferred };
        Self { origin, entries: in_order(entries), graph }
    }

    /// True if nothing defines the scope.
    pub fn is_lock_off(&self) -> bool {
        self.origin == Origin::None
    }

    /// Whether a path is in scope. The path must be relative to the project, normalised, and resolved to where the
    /// write really goes.
    pub fn covers(&self, path: &str, case_sensitivity: CaseSensitivity) -> Covered<'_> {
        if self.is_lock_off() {
            return Covered::LockOff;
        }
        let path = path.trim_end_matches('/');
        // Where `..` leads is unknown; the engine should have resolved it.
        if path.split('/').any(|name| name == "..") {
            return Covered::Outside;
        }
        match self.entries.iter().find(|entry| entry.covers(path, case_sensitivity)) {
            Some(entry) => Covered::By(entry),
            None => Covered::Outside,
        }
    }

    /// True if both allow the same paths, from whatever source: a graph that changed elsewhere does not change the
    /// scope.
    pub fn is_same(&self, other: &Self) -> bool {
        self.is_lock_off() == other.is_lock_off() && entry_paths(self) == entry_paths(other)
    }

    /// Describes the scope in one sentence for a denial; names at most `entries_max` entries.
    pub fn sentence(&self, entries_max: usize) -> String {
        let in_list = match self.origin {
            Origin::None => return "Nothing says which files are in scope, so the scope lock is off.".to_owned(),
            Origin::Explicit if self.entries.is_empty() => {
                return "The list of files in scope is empty: nothing is in scope.".to_owned();
            }
            Origin::Explicit | Origin::Inferred => &self.entries,
        };
        let shown: Vec<String> =
            in_list.iter().take(entries_max).map(|entry| format!("{} ({})", entry.path, entry.source)).collect();
        let more = match in_list.len().saturating_sub(entries_max) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("In scope: {}{more}.", shown.join(", "))
    }
}

/// The SHA-256 of a file's bytes in hex, as `sha256sum` prints it, so that people can compare.
pub fn file_digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort();
    entries.dedup();
    entries
}

fn entry_paths(scope: &Scope) -> Vec<String> {
    let mut paths: Vec<String> = scope.entries.iter().map(Entry::allowed).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
