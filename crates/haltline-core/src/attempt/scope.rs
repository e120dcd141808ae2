//! The files a slice may change without saying why (A5), frozen when its attempt begins.
//!
//! An explicit list replaces all else. Without one, what the contracts name and what the graph lists are joined. With
//! neither the lock is off, which is not the same as an empty list: that one leaves nothing in scope.
//!
//! An entry covers its own path and everything below it. Whether `internal/version` is a file or a folder need not be
//! known: below a file there is nothing. Whole names are compared, so `src/user` never covers `src/users.rs`.
//! Paths are the project's own, with `/`; where a write really lands is for the engine to find out.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::glob_matches;

/// What a scope was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A list somebody wrote down for this slice.
    Explicit,
    /// Contracts and graph.
    Inferred,
    /// Nothing says what is in scope: the lock is off.
    None,
}

/// Where an entry comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It was given when the attempt began.
    Given,
    /// The graph's `files_in_scope`.
    FilesInScope,
    /// A contract names it.
    Contract {
        /// The contract's file, and its section where only that was read.
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

/// Something in scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// A file or folder of the project; `*`, `**` and `?` stand for names. A trailing `/` is kept to be shown; the
    /// project itself is `.`.
    pub path: String,
    /// Where it comes from.
    pub source: Source,
}

/// Why a text is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryError {
    /// Nothing is left of it.
    Empty,
    /// It begins at the root of the file system.
    Absolute,
    /// It climbs out of where it starts.
    Climbs,
    /// It holds a character no path has.
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

/// A path in one spelling: no `.`, no doubled or trailing `/`, the root as the empty text.
///
/// `..` is refused and not resolved: what it leads to depends on links, which only the file system knows.
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
    /// An entry as people write it: `src/users/`, `./internal/version`, `internal/...`, `src/**/*.rs`.
    pub fn parse(text: &str, source: Source) -> Result<Self, EntryError> {
        let text = text.trim();
        // Go's way to say "and everything below".
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

    /// Whether the entry holds characters that stand for others.
    pub fn is_pattern(&self) -> bool {
        self.path.contains(['*', '?'])
    }

    /// The path without what is only shown; the project itself is empty.
    pub fn place(&self) -> &str {
        match self.path.as_str() {
            "." => "",
            path => path.trim_end_matches('/'),
        }
    }

    /// Whether `path` is this entry's, or below it.
    fn covers(&self, path: &str, letters: Letters) -> bool {
        match letters {
            Letters::Distinct => covers(self.place(), path),
            Letters::Alike => covers(&self.place().to_lowercase(), &path.to_lowercase()),
        }
    }
}

fn covers(place: &str, path: &str) -> bool {
    if place.is_empty() {
        return true;
    }
    // The name as it stands comes first: a file may well be called `what?.md`.
    let is_below = path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_below || (place.contains(['*', '?']) && is_matched(place, path))
}

/// Whether the pattern describes the path or a folder above it. `*` and `?` stay within one name, `**` is any number
/// of names. Work is bounded by the product of both lengths.
fn is_matched(pattern: &str, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    // Which beginnings of the path, by number of names, the pattern so far describes.
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    for part in pattern.split('/') {
        let mut next = vec![false; names.len() + 1];
        if part == "**" {
            let first = reached.iter().position(|&is_reached| is_reached).unwrap_or(reached.len());
            next[first.min(names.len() + 1)..].fill(true);
        } else {
            for (at, name) in names.iter().enumerate() {
                next[at + 1] = reached[at] && glob_matches(part, name);
            }
        }
        reached = next;
    }
    // The empty beginning is the project itself, which only `**` alone describes.
    reached.contains(&true)
}

/// Whether names that differ by capitals only are one name, as the file system has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// `A` and `a` are two files.
    Distinct,
    /// `A` and `a` are one file.
    Alike,
}

impl Letters {
    /// Whether both paths name one file.
    pub fn is_same(self, one: &str, other: &str) -> bool {
        match self {
            Letters::Distinct => one == other,
            Letters::Alike => one == other || one.to_lowercase() == other.to_lowercase(),
        }
    }
}

/// What a scope says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered<'scope> {
    /// In scope, by this entry.
    By(&'scope Entry),
    /// Not in scope: a justification is owed.
    Outside,
    /// Nothing says what is in scope.
    LockOff,
}

/// What a slice may change, as it was when its attempt began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// What it was made from.
    pub origin: Origin,
    /// What is in scope, in order and each once.
    pub entries: Vec<Entry>,
    /// The SHA-256 of the graph's file, as hex, where one was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
}

impl Scope {
    /// A list that replaces all else. An empty one leaves nothing in scope.
    pub fn explicit(entries: Vec<Entry>, graph: Option<String>) -> Self {
        Self { origin: Origin::Explicit, entries: in_order(entries), graph }
    }

    /// What contracts and graph name, joined. If they name nothing the lock is off.
    pub fn inferred(entries: Vec<Entry>, graph: Option<String>) -> Self {
        let origin = if entries.is_empty() { Origin::None } else { Origin::Inferred };
        Self { origin, entries: in_order(entries), graph }
    }

    /// Whether nothing says what is in scope.
    pub fn is_off(&self) -> bool {
        match self.origin {
            Origin::None => true,
            Origin::Explicit | Origin::Inferred => false,
        }
    }

    /// Whether a path is in scope. The path is the project's, normalised, and is where the write lands.
    pub fn covers(&self, path: &str, letters: Letters) -> Covered<'_> {
        if self.is_off() {
            return Covered::LockOff;
        }
        let path = path.trim_end_matches('/');
        // Nobody knows where it lands: it ought to have been resolved.
        if path.split('/').any(|name| name == "..") {
            return Covered::Outside;
        }
        match self.entries.iter().find(|entry| entry.covers(path, letters)) {
            Some(entry) => Covered::By(entry),
            None => Covered::Outside,
        }
    }

    /// Whether both allow the same, wherever they have it from: a graph that changed elsewhere is no other scope.
    pub fn is_same(&self, other: &Self) -> bool {
        self.is_off() == other.is_off() && places(self) == places(other)
    }

    /// What is in scope in one sentence, for a refusal; at most `entries_max` entries are named.
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

/// The SHA-256 of a file's bytes as hex, as `sha256sum` prints it, so that people can compare.
pub fn file_digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort();
    entries.dedup();
    entries
}

fn places(scope: &Scope) -> Vec<&str> {
    let mut places: Vec<&str> = scope.entries.iter().map(Entry::place).collect();
    places.sort_unstable();
    places.dedup();
    places
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
        matches!(scope(paths).covers(path, Letters::Distinct), Covered::By(_))
    }

    #[test]
    fn an_entry_covers_itself_and_all_below_it_and_no_name_that_only_begins_alike() {
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
    fn stars_stay_within_a_name_and_two_stars_are_any_number_of_names() {
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
    fn many_stars_cost_no_more_than_their_number() {
        let pattern = vec!["**"; 400].join("/") + "/x";
        let path = vec!["a"; 2000].join("/");
        assert!(!is_in(&[&pattern], &path));
    }

    #[test]
    fn an_empty_list_leaves_nothing_in_scope_and_no_list_leaves_the_lock_off() {
        let empty = Scope::explicit(Vec::new(), None);
        assert_eq!(empty.covers("a", Letters::Distinct), Covered::Outside);
        let off = Scope::inferred(Vec::new(), Some("00".to_owned()));
        assert_eq!((off.origin, off.covers("a", Letters::Distinct)), (Origin::None, Covered::LockOff));
        assert!(!empty.is_same(&off));
        assert_eq!(empty.sentence(3), "The list of files in scope is empty: nothing is in scope.");
    }

    #[test]
    fn inferred_entries_are_a_union_and_say_where_they_come_from() {
        let contract = Source::Contract { file: "CONTRACTS.md".to_owned() };
        let entries = vec![
            Entry::parse("src/users/", Source::Packages).expect("a path"),
            Entry::parse("src/users/", contract.clone()).expect("a path"),
            Entry::parse("src/users/", Source::Packages).expect("a path"),
        ];
        let scope = Scope::inferred(entries, None);
        let expected = Entry { path: "src/users/".to_owned(), source: contract };
        assert_eq!(scope.entries.len(), 2);
        assert_eq!(scope.covers("src/users/a", Letters::Distinct), Covered::By(&expected));
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
    fn what_is_no_path_of_the_project_is_no_entry() {
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
    fn capitals_are_one_name_only_where_the_file_system_says_so() {
        let scope = scope(&["Src/Users/", "docs/*.MD"]);
        for path in ["src/users/a.ts", "Docs/a.md"] {
            assert_eq!(scope.covers(path, Letters::Distinct), Covered::Outside, "{path}");
            assert!(matches!(scope.covers(path, Letters::Alike), Covered::By(_)), "{path}");
        }
    }

    #[test]
    fn a_scope_is_read_back_as_it_was_written() {
        let scope = Scope::inferred(vec![entry("a/"), entry("**/b")], Some("ab".to_owned()));
        let text = serde_json::to_string(&scope).expect("written");
        assert_eq!(
            text,
            r#"{"origin":"inferred","entries":[{"path":"**/b","source":"given"},{"path":"a/","source":"given"}],"graph":"ab"}"#
        );
        assert_eq!(serde_json::from_str::<Scope>(&text).expect("read"), scope);
    }
}
