//! The files that a slice may change without a justification (A5), fixed when the slice begins.
//!
//! An explicit list replaces everything else. Without one, the scope is what the contracts name and the graph lists.
//! Without either the scope lock is off. That differs from an empty list, which leaves nothing in scope.
//!
//! An entry covers its own path and everything below it. Whether `internal/version` is a file or a folder need not be
//! known: there is nothing below a file. Whole names are compared, so `src/user` never covers `src/users.rs`.
//! Paths are relative to the project, with `/`; the engine resolves where a write really goes.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::glob_matches;

/// What a scope was made from.
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
    /// The graph's `files_in_scope`.
    FilesInScope,
    /// A contract names it.
    Contract {
        /// The contract's file, with the section if only that was read.
        file: String,
    },
    /// The graph's `packages`.
    Packages,
    /// The graph's `deliverables`.
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
            EntryError::Climbs => "has `..` in it; expected a path below the project's root",
            EntryError::Unwritable => "holds a control character; expected a path",
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

    /// True if `path` is this entry's path or below it.
    fn covers(&self, path: &str, case_sensitivity: CaseSensitivity) -> bool {
        match case_sensitivity {
            CaseSensitivity::Sensitive => covers(self.bare_path(), path),
            CaseSensitivity::Insensitive => covers(&self.bare_path().to_lowercase(), &path.to_lowercase()),
        }
    }
}

fn covers(entry_path: &str, path: &str) -> bool {
    if entry_path.is_empty() {
        return true;
    }
    // The literal name is tried first: a file can be called `what?.md`.
    let is_below = path.strip_prefix(entry_path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_below || (entry_path.contains(['*', '?']) && is_matched(entry_path, path))
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

/// Whether a scope covers a path.
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

fn entry_paths(scope: &Scope) -> Vec<&str> {
    let mut paths: Vec<&str> = scope.entries.iter().map(Entry::bare_path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry::parse(path, Source::Given).expect("a path")
    }

    fn scope(paths: &[&str]) -> Scope {
        Scope::explicit(paths.iter().map(|path| entry(path)).collect(), None)
    }

    fn is_in(paths: &[&str], path: &str) -> bool {
        matches!(scope(paths).covers(path, CaseSensitivity::Sensitive), Covered::By(_))
    }

    #[test]
    fn an_entry_covers_itself_and_everything_below_but_no_name_that_only_begins_the_same() {
        for (entry, path, expected) in [
            ("src/users/", "src/users/service.ts", true),
            ("src/users/", "src/users/deep/er/x.ts", true),
            ("src/users/", "src/users", true),
            ("src/users/", "src/users.rs", false),
            ("src/users/", "src/usersx/a.ts", false),
            ("src/user", "src/users.rs", false),
            ("src/user", "src/user", true),
            ("internal/version", "internal/version/version.go", true),
            ("internal/version", "internal/version.go", false),
            ("internal/cmd/version.go", "internal/cmd/version.go", true),
            ("internal/cmd/version.go", "internal/cmd/version_test.go", false),
            ("./internal//version/.", "internal/version/a.go", true),
            ("internal/...", "internal/a/b.go", true),
            ("./...", "any/file", true),
            (".", "any/file", true),
            ("./", "any", true),
            ("users", "src/users/a", false),
            ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
            ("app/(auth)/page.tsx", "app/(auth)/page.tsx", true),
            ("what?.md", "what?.md", true),
            ("a b/c.md", "a b/c.md", true),
            ("ö/ä", "ö/ä/ü", true),
            ("Src", "src/a", false),
        ] {
            assert_eq!(is_in(&[entry], path), expected, "{entry:?} on {path:?}");
        }
    }

    #[test]
    fn one_star_stays_within_a_name_and_two_stars_match_any_number_of_names() {
        for (entry, path, expected) in [
            ("src/*.ts", "src/a.ts", true),
            ("src/*.ts", "src/deep/a.ts", false),
            ("src/**/*.ts", "src/deep/er/a.ts", true),
            ("src/**/*.ts", "src/a.ts", true),
            ("src/**/*.ts", "src/a.rs", false),
            ("src/**", "src/a/b", true),
            ("**/users.rs", "users.rs", true),
            ("**/users.rs", "a/b/users.rs", true),
            ("**/users.rs", "a/b/xusers.rs", false),
            ("packages/*/src", "packages/one/src/deep/a.ts", true),
            ("packages/*/src", "packages/one/test/a.ts", false),
            ("src/v?.rs", "src/v1.rs", true),
            ("**", "a", true),
            ("a/**/b/**/c", "a/x/b/y/z/c/d", true),
            ("a/**/b/**/c", "a/x/c", false),
        ] {
            assert_eq!(is_in(&[entry], path), expected, "{entry:?} on {path:?}");
        }
    }

    #[test]
    fn many_stars_take_linear_time() {
        let pattern = vec!["**"; 400].join("/") + "/x";
        let path = vec!["a"; 2000].join("/");
        assert!(!is_in(&[&pattern], &path));
    }

    #[test]
    fn an_empty_list_leaves_nothing_in_scope_and_no_list_leaves_the_lock_off() {
        let empty = Scope::explicit(Vec::new(), None);
        assert_eq!(empty.covers("a", CaseSensitivity::Sensitive), Covered::Outside);
        let off = Scope::inferred(Vec::new(), Some("00".to_owned()));
        assert_eq!((off.origin, off.covers("a", CaseSensitivity::Sensitive)), (Origin::None, Covered::LockOff));
        assert!(!empty.is_same(&off));
        assert_eq!(empty.sentence(3), "The list of files in scope is empty: nothing is in scope.");
    }

    #[test]
    fn inferred_entries_are_merged_and_keep_their_sources() {
        let contract = Source::Contract { file: "CONTRACTS.md".to_owned() };
        let entries = vec![
            Entry::parse("src/users/", Source::Packages).expect("a path"),
            Entry::parse("src/users/", contract.clone()).expect("a path"),
            Entry::parse("src/users/", Source::Packages).expect("a path"),
        ];
        let scope = Scope::inferred(entries, None);
        let expected = Entry { path: "src/users/".to_owned(), source: contract };
        assert_eq!(scope.entries.len(), 2);
        assert_eq!(scope.covers("src/users/a", CaseSensitivity::Sensitive), Covered::By(&expected));
        assert_eq!(scope.sentence(1), "In scope: src/users/ (named in CONTRACTS.md) and 1 more.");
    }

    #[test]
    fn scopes_are_the_same_when_they_allow_the_same() {
        let one = Scope::explicit(vec![entry("a/"), entry("b")], Some("11".to_owned()));
        let other = Scope::inferred(vec![entry("./b"), entry("a"), entry("a/")], Some("22".to_owned()));
        assert!(one.is_same(&other));
        assert!(!one.is_same(&scope(&["a"])));
        assert!(!one.is_same(&scope(&["a", "b", "c"])));
    }

    #[test]
    fn a_text_that_is_not_a_project_path_is_not_an_entry() {
        for (text, expected) in [
            ("", EntryError::Empty),
            ("  ", EntryError::Empty),
            ("/etc/passwd", EntryError::Absolute),
            ("src/../../x", EntryError::Climbs),
            ("..", EntryError::Climbs),
            ("a\0b", EntryError::Unwritable),
            ("a\nb", EntryError::Unwritable),
        ] {
            assert_eq!(Entry::parse(text, Source::Given), Err(expected), "{text:?}");
        }
        assert_eq!(entry("..a/b..").path, "..a/b..");
    }

    #[test]
    fn case_is_ignored_only_where_the_file_system_ignores_it() {
        let scope = scope(&["Src/Users/", "docs/*.MD"]);
        for path in ["src/users/a.ts", "Docs/a.md"] {
            assert_eq!(scope.covers(path, CaseSensitivity::Sensitive), Covered::Outside, "{path}");
            assert!(matches!(scope.covers(path, CaseSensitivity::Insensitive), Covered::By(_)), "{path}");
        }
    }

    #[test]
    fn a_scope_survives_serialization() {
        let scope = Scope::inferred(vec![entry("a/"), entry("**/b")], Some("ab".to_owned()));
        let text = serde_json::to_string(&scope).expect("written");
        assert_eq!(
            text,
            r#"{"origin":"inferred","entries":[{"path":"**/b","source":"given"},{"path":"a/","source":"given"}],"graph":"ab"}"#
        );
        assert_eq!(serde_json::from_str::<Scope>(&text).expect("read"), scope);
    }
}
