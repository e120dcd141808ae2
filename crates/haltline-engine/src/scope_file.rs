//! What a slice may change, put together when its attempt begins (A5): from a list, else from contracts and graph.
//!
//! Entries are resolved like the paths they will be compared with: one that goes through a symbolic link stands for
//! where it leads, as it does at that moment. What cannot be used is told in a note; in a list that somebody wrote
//! for the lock it is an error, because leaving it out would refuse the very files that were meant.

mod contract;
mod graph;
mod mention;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use haltline_core::attempt::{Entry, Scope, Source};
use haltline_core::shorten;

use crate::scope_path::{Ground, Landing, PathError};
use graph::{Graph, Slice};

/// How large a graph or a contract may be.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How many entries a scope may have.
const ENTRIES_MAX: usize = 4096;
/// How many notes are told.
const NOTES_MAX: usize = 40;
/// Where the graph is looked for, below the project's root.
const GRAPHS: [&str; 2] = [".greenlight/GRAPH.json", "GRAPH.json"];
/// Where contracts are looked for if none are given and the graph names some by their ids.
const CONTRACTS: &str = ".greenlight/CONTRACTS.md";

/// Why there is no scope.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    /// A file that was asked for cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The graph is not one.
    #[error("{}: {problem}", .path.display())]
    BadGraph {
        /// Its file.
        path: PathBuf,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// The graph has no such slice.
    #[error("slice {} is not in {}, which has {known}; name another slice, another graph, or the files in scope", shorten(.slice), .path.display())]
    NoSuchSlice {
        /// The slice.
        slice: String,
        /// The graph.
        path: PathBuf,
        /// Some of those it has.
        known: String,
    },
    /// A path of an explicit list cannot be used.
    #[error("{field} = {}: {problem}", shorten(.value))]
    BadEntry {
        /// Which list.
        field: &'static str,
        /// The path.
        value: String,
        /// Why not.
        problem: String,
    },
    /// There is too much of it.
    #[error("more than {ENTRIES_MAX} entries are in scope; name folders instead of files")]
    TooMany,
}

/// What is known when an attempt begins.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'asked> {
    /// The slice.
    pub slice: &'asked str,
    /// Where the command was given; paths on it start here.
    pub folder: &'asked Path,
    /// The graph's file, if named.
    pub graph: Option<&'asked Path>,
    /// The contracts' files.
    pub contracts: &'asked [PathBuf],
    /// The files in scope, if listed; an empty list leaves nothing in scope.
    pub in_scope: Option<&'asked [String]>,
}

/// A scope, and what a person should know of how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// What is in scope.
    pub scope: Scope,
    /// What was left out, and which parts of which files were read.
    pub notes: Vec<String>,
}

/// Puts a scope together.
pub fn build(ground: &Ground, asked: Asked<'_>) -> Result<Built, ScopeError> {
    let graph = find_graph(ground, asked)?;
    let slice = graph.as_ref().map(|graph| graph.slice(asked.slice)).transpose()?.unwrap_or_default();
    let digest = graph.map(|graph| graph.digest);
    let mut builder = Builder { ground, entries: Vec::new(), notes: Vec::new() };
    if let Some(listed) = asked.in_scope {
        builder.add_all(asked.folder, listed, "--in-scope", &Source::Given)?;
        return builder.finish(|entries| Scope::explicit(entries, digest));
    }
    if let Some(listed) = &slice.files_in_scope {
        builder.add_all(ground.root(), listed, "files_in_scope", &Source::FilesInScope)?;
        return builder.finish(|entries| Scope::explicit(entries, digest));
    }
    builder.add_contracts(asked, &slice)?;
    for (field, listed, source) in
        [("packages", &slice.packages, Source::Packages), ("deliverables", &slice.deliverables, Source::Deliverables)]
    {
        for text in listed {
            builder.add_listed(field, text, &source);
        }
    }
    builder.finish(|entries| Scope::inferred(entries, digest))
}

/// A named graph must be there; one that is only looked for need not, and does not matter where a list is given.
fn find_graph(ground: &Ground, asked: Asked<'_>) -> Result<Option<Graph>, ScopeError> {
    if let Some(path) = asked.graph {
        return Graph::read(&asked.folder.join(path)).map(Some);
    }
    if asked.in_scope.is_some() {
        return Ok(None);
    }
    let found = GRAPHS.iter().map(|name| ground.root().join(name)).find(|path| path.is_file());
    found.map(|path| Graph::read(&path)).transpose()
}

/// A file's content, within the limit. A pipe or a device in its place is not waited for.
fn read(path: &Path) -> Result<Vec<u8>, ScopeError> {
    let unreadable = |source| ScopeError::Unreadable { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    let mut content = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(io::Error::other(format!("it is larger than {FILE_BYTES_MAX} bytes"))));
    }
    Ok(content)
}

struct Builder<'ground> {
    ground: &'ground Ground,
    entries: Vec<Entry>,
    notes: Vec<String>,
}

impl Builder<'_> {
    fn finish(mut self, scope: impl FnOnce(Vec<Entry>) -> Scope) -> Result<Built, ScopeError> {
        if self.entries.len() > ENTRIES_MAX {
            return Err(ScopeError::TooMany);
        }
        if self.notes.len() > NOTES_MAX {
            let more = self.notes.len() - NOTES_MAX;
            self.notes.truncate(NOTES_MAX);
            self.notes.push(format!("{more} more notes are not shown"));
        }
        Ok(Built { scope: scope(self.entries), notes: self.notes })
    }

    /// A list written for the lock: each path must be usable.
    fn add_all(
        &mut self,
        folder: &Path,
        listed: &[String],
        field: &'static str,
        source: &Source,
    ) -> Result<(), ScopeError> {
        for text in listed.iter().take(ENTRIES_MAX + 1) {
            self.add(folder, graph::without_remark(text), source).map_err(|problem| ScopeError::BadEntry {
                field,
                value: text.clone(),
                problem,
            })?;
        }
        Ok(())
    }

    /// A path of the graph's other lists, which may hold prose as well.
    fn add_listed(&mut self, field: &str, text: &str, source: &Source) {
        let path = graph::without_remark(text);
        let root = self.ground.root();
        let is_there = root.join(path).exists();
        if field == "packages" && !is_there && !path.contains(['.', '*']) {
            self.notes.push(format!("{field}: {} is not there yet; a package is named by its folder", shorten(text)));
        }
        let added = if graph::is_path(path) || is_there {
            self.add(root, path, source)
        } else {
            Err("it does not look like a path".to_owned())
        };
        if let Err(problem) = added {
            self.notes.push(format!("{field}: {} is left out: {problem}", shorten(text)));
        }
    }

    /// Adds a path as it will be met: where it leads, and the links at its end.
    fn add(&mut self, folder: &Path, text: &str, source: &Source) -> Result<(), String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("it is empty; expected a path".to_owned());
        }
        let (fixed, pattern) = split_pattern(self.ground.root(), folder, text);
        let start = if fixed.is_empty() { "." } else { fixed };
        let landings = self.ground.landings(folder, Path::new(start)).map_err(|error: PathError| error.to_string())?;
        let outside = |path: &Path| format!("it leads out of the project, to {}", path.display());
        let mut places = vec![&landings.real];
        places.extend(&landings.links);
        for (at, place) in places.into_iter().enumerate() {
            let path = match place {
                Landing::Inside(path) => path,
                Landing::Outside(path) if at == 0 => return Err(outside(path)),
                Landing::Outside(_) => continue,
            };
            let path = match (path.is_empty(), pattern.is_empty()) {
                (true, true) => ".".to_owned(),
                (true, false) => pattern.to_owned(),
                (false, true) if fixed.ends_with('/') => format!("{path}/"),
                (false, true) => path.clone(),
                (false, false) => format!("{path}/{pattern}"),
            };
            self.entries.push(Entry::parse(&path, source.clone()).map_err(|error| format!("it {error}"))?);
        }
        Ok(())
    }

    fn add_contracts(&mut self, asked: Asked<'_>, slice: &Slice) -> Result<(), ScopeError> {
        let mut ids: Vec<&str> = Vec::new();
        for named in &slice.contracts {
            let path = self.ground.root().join(named);
            if named.contains(['/', '.']) && path.is_file() {
                self.add_contract(&path, &contract::Wanted::Whole)?;
            } else {
                ids.push(named);
            }
        }
        let wanted = contract::Wanted::Of { ids: &ids, slice: asked.slice };
        for path in asked.contracts {
            self.add_contract(&asked.folder.join(path), &wanted)?;
        }
        let known = self.ground.root().join(CONTRACTS);
        if asked.contracts.is_empty() && !ids.is_empty() && known.is_file() {
            self.add_contract(&known, &contract::Wanted::Only { ids: &ids })?;
        }
        Ok(())
    }

    fn add_contract(&mut self, path: &Path, wanted: &contract::Wanted<'_>) -> Result<(), ScopeError> {
        let content = read(path)?;
        let text = String::from_utf8_lossy(&content);
        let root = self.ground.root().to_owned();
        let real = fs::canonicalize(path).unwrap_or_else(|_moved| path.to_owned());
        let name = real.strip_prefix(&root).unwrap_or(path).display().to_string();
        let lines: Vec<&str> = text.lines().collect();
        for part in contract::parts(&lines, &name, wanted, &mut self.notes) {
            let source = Source::Contract { file: part.name };
            for found in mention::paths(&lines[part.lines], &root) {
                match found {
                    mention::Found::Path(path) => {
                        if let Err(problem) = self.add(&root, &path, &source) {
                            self.notes.push(format!("{name}: {} is left out: {problem}", shorten(&path)));
                        }
                    }
                    mention::Found::LeftOut { path, why } => {
                        self.notes.push(format!("{name}: {} is left out: {why}", shorten(&path)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A path up to its first name with a `*` or `?`, and the rest. A name that is there is no pattern, whatever it holds.
fn split_pattern<'text>(root: &Path, folder: &Path, text: &'text str) -> (&'text str, &'text str) {
    let text = match text {
        "..." => "",
        _ => text.strip_suffix("/...").map_or(text, |rest| if rest.is_empty() { "/" } else { rest }),
    };
    let is_there = |path: &str| root.join(path).exists() || folder.join(path).exists();
    match text.find(['*', '?']) {
        Some(at) if !is_there(text) => {
            let start = text[..at].rfind('/').map_or(0, |slash| slash + 1);
            // A pattern below the root of the file system stays absolute, and is then told to be outside.
            (&text[..start], &text[start..])
        }
        Some(_) | None => (text, ""),
    }
}

#[cfg(test)]
mod tests;
