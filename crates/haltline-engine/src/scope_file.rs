//! Builds the scope of a slice, the files it may change, when its first attempt begins (A5): from an explicit list, or
//! else from contracts and the graph.
//!
//! Entries are resolved like the paths they will be compared with: an entry that goes through a symbolic link stands
//! for the link's target at that moment. An unusable entry is reported in a note; in an explicit list it is an error,
//! because leaving it out would deny changes to the very files that were meant.

mod contract;
mod graph;
mod mention;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haltline_core::attempt::{Entry, Scope, Source};
use haltline_core::shorten;

use crate::file::{Links, read_regular};
use crate::scope_path::{PathError, ProjectRoot, ResolvedPath};
use graph::{Graph, GraphSlice};

/// How large a graph or a contract may be.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How many entries a scope may have.
const ENTRIES_MAX: usize = 4096;
/// How many notes are reported.
const NOTES_MAX: usize = 40;
/// Where to find the graph, relative to the project's root.
const GRAPH_FILES: [&str; 2] = [".greenlight/GRAPH.json", "GRAPH.json"];
/// Where to find contracts if none are given and the graph names some by id.
const CONTRACTS_FILE: &str = ".greenlight/CONTRACTS.md";

/// Why no scope could be built.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    /// A requested file cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: {problem}", .path.display())]
    BadGraph {
        path: PathBuf,
        /// What is wrong, and what was expected.
        problem: String,
    },
    #[error("slice {} is not in {}, which has {known}; name another slice, another graph, or the files in scope", shorten(.slice), .path.display())]
    NoSuchSlice {
        slice: String,
        path: PathBuf,
        /// Some of the slices that the graph has.
        known: String,
    },
    /// A path of an explicit list cannot be used.
    #[error("{field} = {}: {problem}", shorten(.value))]
    BadEntry { field: &'static str, value: String, problem: String },
    #[error("more than {ENTRIES_MAX} entries are in scope; name folders instead of files")]
    TooMany,
}

/// The input for building a scope.
#[derive(Clone, Copy, Debug)]
pub struct ScopeRequest<'request> {
    pub slice: &'request str,
    /// The working directory of the command; relative paths start here.
    pub folder: &'request Path,
    /// The graph's file, if the command names one.
    pub graph: Option<&'request Path>,
    pub contracts: &'request [PathBuf],
    /// The files in scope, if the command lists them; an empty list leaves nothing in scope.
    pub in_scope: Option<&'request [String]>,
}

/// A scope, and what a person should know about how it was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltScope {
    pub scope: Scope,
    /// What was left out, and which parts of which files were read.
    pub notes: Vec<String>,
}

pub fn build(project_root: &ProjectRoot, request: ScopeRequest<'_>) -> Result<BuiltScope, ScopeError> {
    let graph = find_graph(project_root, request)?;
    let slice = graph.as_ref().map(|graph| graph.slice(request.slice)).transpose()?.unwrap_or_default();
    let digest = graph.map(|graph| graph.digest);
    let mut builder = ScopeBuilder { project_root, entries: Vec::new(), notes: Vec::new() };
    if let Some(listed) = request.in_scope {
        builder.add_all(request.folder, listed, "--in-scope", &Source::Given)?;
        return builder.finish(|entries| Scope::explicit(entries, digest));
    }
    if let Some(listed) = &slice.files_in_scope {
        builder.add_all(project_root.path(), listed, "files_in_scope", &Source::FilesInScope)?;
        return builder.finish(|entries| Scope::explicit(entries, digest));
    }
    builder.add_contracts(request, &slice)?;
    for (field, listed, source) in
        [("packages", &slice.packages, Source::Packages), ("deliverables", &slice.deliverables, Source::Deliverables)]
    {
        for text in listed {
            builder.add_listed(field, text, &source);
        }
    }
    builder.finish(|entries| Scope::inferred(entries, digest))
}

/// A graph that the command names must exist. A default graph need not, and is ignored if the command lists files.
fn find_graph(project_root: &ProjectRoot, request: ScopeRequest<'_>) -> Result<Option<Graph>, ScopeError> {
    if let Some(path) = request.graph {
        return Graph::read(&request.folder.join(path)).map(Some);
    }
    if request.in_scope.is_some() {
        return Ok(None);
    }
    let found = GRAPH_FILES.iter().map(|name| project_root.path().join(name)).find(|path| path.is_file());
    found.map(|path| Graph::read(&path)).transpose()
}

/// A file's content, within the limit. Anything that is not a regular file is an error, so reading never blocks.
fn read(path: &Path) -> Result<Vec<u8>, ScopeError> {
    let unreadable = |source| ScopeError::Unreadable { path: path.to_owned(), source };
    read_regular(path, FILE_BYTES_MAX, Links::Follow).map_err(unreadable)
}

struct ScopeBuilder<'ground> {
    project_root: &'ground ProjectRoot,
    entries: Vec<Entry>,
    notes: Vec<String>,
}

impl ScopeBuilder<'_> {
    fn finish(mut self, scope: impl FnOnce(Vec<Entry>) -> Scope) -> Result<BuiltScope, ScopeError> {
        if self.entries.len() > ENTRIES_MAX {
            return Err(ScopeError::TooMany);
        }
        if self.notes.len() > NOTES_MAX {
            let more = self.notes.len() - NOTES_MAX;
            self.notes.truncate(NOTES_MAX);
            self.notes.push(format!("{more} more notes are not shown"));
        }
        Ok(BuiltScope { scope: scope(self.entries), notes: self.notes })
    }

    /// Adds an explicit list, in which each path must be usable.
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

    /// Adds a path of the graph's other lists, which may contain prose as well.
    fn add_listed(&mut self, field: &str, text: &str, source: &Source) {
        let path = graph::without_remark(text);
        let root = self.project_root.path();
        let is_there = root.join(path).exists();
        if field == "packages" && !is_there && !path.contains(['.', '*']) {
            self.notes.push(format!("{field}: {} does not exist yet; name a package by its folder", shorten(text)));
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

    /// Adds a path as it will be compared: its target, and the links at its end.
    fn add(&mut self, folder: &Path, text: &str, source: &Source) -> Result<(), String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("it is empty; expected a path".to_owned());
        }
        let (fixed, pattern) = split_pattern(self.project_root.path(), folder, text);
        let start = if fixed.is_empty() { "." } else { fixed };
        let resolved =
            self.project_root.resolve(folder, Path::new(start)).map_err(|error: PathError| error.to_string())?;
        let outside = |path: &Path| format!("it leads out of the project, to {}", path.display());
        let mut paths = vec![&resolved.real];
        paths.extend(&resolved.links);
        for (at, path) in paths.into_iter().enumerate() {
            let path = match path {
                ResolvedPath::Inside(path) => path,
                ResolvedPath::Outside(path) if at == 0 => return Err(outside(path)),
                ResolvedPath::Outside(_) => continue,
            };
            let path = match (path.is_empty(), pattern.is_empty()) {
                (true, true) => ".".to_owned(),
                (true, false) => pattern.to_owned(),
                (false, true) if fixed.ends_with('/') => format!("{path}/"),
                (false, true) => self.file_or_folder(path, source),
                (false, false) => format!("{path}/{pattern}"),
            };
            self.entries.push(Entry::parse(&path, source.clone()).map_err(|error| format!("it {error}"))?);
        }
        Ok(())
    }

    /// An entry of an explicit list without a trailing `/` is one file, unless a folder of that name exists.
    fn file_or_folder(&mut self, path: &str, source: &Source) -> String {
        let is_explicit = match source {
            Source::Given | Source::FilesInScope => true,
            Source::Contract { .. } | Source::Packages | Source::Deliverables => false,
        };
        let found = self.project_root.path().join(path);
        if is_explicit && found.is_dir() {
            return format!("{path}/");
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if is_explicit && !name.contains('.') && !found.exists() {
            let written = shorten(path);
            self.notes.push(format!(
                "{written} does not exist yet, so haltline treats it as a file; end a folder's name with `/`"
            ));
        }
        path.to_owned()
    }

    fn add_contracts(&mut self, request: ScopeRequest<'_>, slice: &GraphSlice) -> Result<(), ScopeError> {
        let mut ids: Vec<&str> = Vec::new();
        for named in &slice.contracts {
            let path = self.project_root.path().join(named);
            if named.contains(['/', '.']) && path.is_file() {
                self.add_contract(&path, &contract::WantedSections::Whole)?;
            } else {
                ids.push(named);
            }
        }
        let wanted = contract::WantedSections::PreferContracts { ids: &ids, slice: request.slice };
        for path in request.contracts {
            self.add_contract(&request.folder.join(path), &wanted)?;
        }
        let default_contracts = self.project_root.path().join(CONTRACTS_FILE);
        if request.contracts.is_empty() && !ids.is_empty() && default_contracts.is_file() {
            self.add_contract(&default_contracts, &contract::WantedSections::OnlyContracts { ids: &ids })?;
        }
        Ok(())
    }

    fn add_contract(&mut self, path: &Path, wanted: &contract::WantedSections<'_>) -> Result<(), ScopeError> {
        let content = read(path)?;
        let text = String::from_utf8_lossy(&content);
        let root = self.project_root.path().to_owned();
        let real = fs::canonicalize(path).unwrap_or_else(|_moved| path.to_owned());
        let name = real.strip_prefix(&root).unwrap_or(path).display().to_string();
        let lines: Vec<&str> = text.lines().collect();
        for part in contract::parts(&lines, &name, wanted, &mut self.notes) {
            let source = Source::Contract { file: part.name };
            for found in mention::paths(&lines[part.lines], &root) {
                match found {
                    mention::Mention::Path(path) => {
                        if let Err(problem) = self.add(&root, &path, &source) {
                            self.notes.push(format!("{name}: {} is left out: {problem}", shorten(&path)));
                        }
                    }
                    mention::Mention::LeftOut { path, why } => {
                        self.notes.push(format!("{name}: {} is left out: {why}", shorten(&path)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Splits a path before its first name with a `*` or `?`. If a file of that exact name exists, it is no pattern.
fn split_pattern<'text>(root: &Path, folder: &Path, text: &'text str) -> (&'text str, &'text str) {
    // Go's notation for "and everything below".
    let text = match text.strip_suffix("...") {
        Some(rest) if rest.is_empty() || rest.ends_with('/') => rest,
        Some(_) | None => text,
    };
    let is_there = |path: &str| root.join(path).exists() || folder.join(path).exists();
    match text.find(['*', '?']) {
        Some(at) if !is_there(text) => {
            let start = text[..at].rfind('/').map_or(0, |slash| slash + 1);
            // A pattern below `/` stays absolute, and is then rejected as outside the project.
            (&text[..start], &text[start..])
        }
        Some(_) | None => (text, ""),
    }
}
