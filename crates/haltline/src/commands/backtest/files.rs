//! Which files are read, in which order, and which of them belong together.
//!
//! Claude Code writes what sub-agents do into files of their own: `SESSION/subagents/agent-*.jsonl`, or `agent-*.jsonl`
//! beside the session's. They are read together with the session's file, by time: replayed after it, their calls would
//! all seem to come late, and limits on what the tree of agents does within some seconds would see nothing right.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haltline_agents::transcript::places::Place;
use haltline_engine::replay::Pieces;

/// Files that are read together; the first names the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Their paths.
    pub files: Vec<PathBuf>,
    /// Somebody named it, and wants to hear if it cannot be read.
    pub is_named: bool,
}

/// What there is to read.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order they are read.
    pub recordings: Vec<Recording>,
    /// The size of all of them, in bytes.
    pub bytes: u64,
    /// What could not be looked into.
    pub problems: Vec<String>,
}

/// All files of these paths; folders are walked in the order of their names.
pub fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        match fs::metadata(path) {
            Ok(kind) if kind.is_dir() => {
                let mut files = Vec::new();
                walk(path, &|_every| true, &mut files, &mut found);
                found.recordings.extend(together(files));
            }
            Ok(kind) => {
                found.bytes += kind.len();
                found.recordings.push(Recording { files: vec![path.clone()], is_named: true });
            }
            Err(error) => found.problems.push(problem(path, &error)),
        }
    }
    found
}

/// All transcripts in the places where clients keep them.
pub fn find_own(places: &[Place]) -> Found {
    let mut found = Found::default();
    for place in places.iter().filter(|place| place.folder.is_dir()) {
        let mut files = Vec::new();
        walk(&place.folder, &|path| place.holds(path), &mut files, &mut found);
        found.recordings.extend(together(files));
    }
    found
}

/// What is wrong with a path, on one line.
pub fn problem(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn walk(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool, files: &mut Vec<PathBuf>, found: &mut Found) {
    let mut entries: Vec<fs::DirEntry> = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().collect(),
        Err(error) => return found.problems.push(problem(folder, &error)),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link to a folder may lead in circles; one to a file does not.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, is_wanted, files, found),
            Ok(_other) if !is_wanted(&path) => {}
            Ok(_other) => match fs::metadata(&path) {
                Ok(kind) if kind.is_file() => {
                    found.bytes += kind.len();
                    files.push(path);
                }
                Ok(_neither) => {}
                Err(error) => found.problems.push(problem(&path, &error)),
            },
            Err(error) => found.problems.push(problem(&path, &error)),
        }
    }
}

/// Puts the files of sub-agents to those of their sessions.
fn together(files: Vec<PathBuf>) -> Vec<Recording> {
    let places: BTreeMap<PathBuf, usize> = files.iter().enumerate().map(|(place, path)| (bare(path), place)).collect();
    let parents: Vec<Option<usize>> = files
        .iter()
        .enumerate()
        .map(|(place, path)| {
            let parent = parent(path).and_then(|parent| places.get(&parent)).copied();
            parent.filter(|parent| *parent != place)
        })
        .collect();
    let mut children: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
    for (path, parent) in files.iter().zip(&parents) {
        if let Some(parent) = parent {
            children.entry(*parent).or_default().push(path.clone());
        }
    }
    let mut recordings = Vec::new();
    for (place, path) in files.into_iter().enumerate() {
        if parents[place].is_none() {
            let mut files = vec![path];
            files.extend(children.remove(&place).unwrap_or_default());
            recordings.push(Recording { files, is_named: false });
        }
    }
    recordings
}

/// The path without the endings that say how it is packed and written.
fn bare(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    path.with_file_name(name.strip_suffix(".jsonl").unwrap_or(name))
}

/// The bare path of the session's file, for a file of one of its sub-agents.
fn parent(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?;
    if !name.starts_with("agent-") || !name.contains(".jsonl") {
        return None;
    }
    if folder.file_name().is_some_and(|name| name == "subagents") {
        return folder.parent().map(Path::to_owned);
    }
    let session = session_in(Pieces::open(path, &Arc::default()).ok()?.head())?;
    Some(folder.join(session))
}

/// The session that the first records of a file name.
fn session_in(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let rest = head.split_once("\"sessionId\":\"")?.1;
    let session = rest.split_once('"')?.0;
    (!session.is_empty() && !session.contains(['/', '\\'])).then(|| session.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_sub_agents_go_with_their_session_and_the_rest_stands_alone() {
        let folder = tempfile::tempdir().expect("temp folder");
        let write = |path: &str, content: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("below")).expect("created");
            fs::write(path, content).expect("written");
        };
        write("b/one.jsonl", "");
        write("b/one/subagents/agent-2.jsonl", "");
        write("b/one/subagents/agent-1.jsonl.gz", "");
        write("b/agent-7.jsonl", "{\"sessionId\":\"two\",\"agentId\":\"7\"}\n");
        write("b/agent-8.jsonl", "{\"sessionId\":\"../two\"}\n");
        write("b/two.jsonl.gz", "");
        write("b/three/subagents/agent-9.jsonl", "");
        write("a.json", "");
        let found = find(&[folder.path().to_owned(), folder.path().join("missing")]);
        let shown: Vec<Vec<String>> = found
            .recordings
            .iter()
            .map(|recording| {
                let name = |path: &PathBuf| path.strip_prefix(folder.path()).expect("below").display().to_string();
                recording.files.iter().map(name).collect()
            })
            .collect();
        let expected: [&[&str]; 5] = [
            &["a.json"],
            &["b/agent-8.jsonl"],
            &["b/one.jsonl", "b/one/subagents/agent-1.jsonl.gz", "b/one/subagents/agent-2.jsonl"],
            &["b/three/subagents/agent-9.jsonl"],
            &["b/two.jsonl.gz", "b/agent-7.jsonl"],
        ];
        assert_eq!(shown, expected);
        assert_eq!(found.problems.len(), 1);
    }
}
