//! Which files are read, in which order, and which of them belong together.
//!
//! Claude Code writes what sub-agents do into files of their own: `SESSION/subagents/agent-*.jsonl`, or `agent-*.jsonl`
//! beside the session's. They are read together with the session's file, by time: replayed after it, their calls would
//! all seem to come late, and limits on what the tree of agents does within some seconds would see nothing right.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haltline_agents::transcript::places::Place;
use haltline_engine::replay::Pieces;

/// The folder of a session's sub-agents.
const SUBAGENTS: &str = "subagents";

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
    /// By device and number: a file is read once, whatever its names.
    seen: BTreeSet<(u64, u64)>,
}

impl Found {
    fn take(&mut self, path: &Path, kind: &fs::Metadata, files: &mut Vec<PathBuf>) {
        if self.seen.insert((kind.dev(), kind.ino())) {
            self.bytes += kind.len();
            files.push(path.to_owned());
        }
    }
}

/// All files of these paths; folders are walked in the order of their names. With a session's file go those of its
/// sub-agents.
pub fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let (mut files, mut named) = (Vec::new(), BTreeSet::new());
    for path in paths {
        match fs::metadata(path) {
            Ok(kind) if kind.is_dir() => walk(path, &|_every| true, &mut files, &mut found),
            Ok(kind) => {
                named.insert(path.clone());
                found.take(path, &kind, &mut files);
                let agents = bare(path).join(SUBAGENTS);
                if agents.is_dir() {
                    walk(&agents, &is_of_agent, &mut files, &mut found);
                }
            }
            Err(error) => found.problems.push(problem(path, &error)),
        }
    }
    found.recordings = together(&files, &named);
    found
}

/// All transcripts in the places where clients keep them.
pub fn find_own(places: &[Place]) -> Found {
    let mut found = Found::default();
    let mut files = Vec::new();
    for place in places.iter().filter(|place| place.folder.is_dir()) {
        walk(&place.folder, &|path| place.holds(path), &mut files, &mut found);
    }
    found.recordings = together(&files, &BTreeSet::new());
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
                Ok(kind) if kind.is_file() => found.take(&path, &kind, files),
                Ok(_neither) => {}
                Err(error) => found.problems.push(problem(&path, &error)),
            },
            Err(error) => found.problems.push(problem(&path, &error)),
        }
    }
}

/// Puts the files of sub-agents to that of their session. Where it is missing they still belong together.
fn together(files: &[PathBuf], named: &BTreeSet<PathBuf>) -> Vec<Recording> {
    let places: BTreeMap<PathBuf, usize> = files.iter().enumerate().map(|(place, path)| (bare(path), place)).collect();
    let mut orphans: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut leaders = Vec::new();
    for (place, path) in files.iter().enumerate() {
        let sessions = sessions_of(path);
        let main = sessions.iter().find_map(|session| places.get(session)).copied();
        leaders.push(match (main.filter(|main| *main != place), sessions.last()) {
            (Some(main), _) => main,
            (None, Some(session)) => *orphans.entry(session.clone()).or_insert(place),
            (None, None) => place,
        });
    }
    let mut recordings: BTreeMap<usize, Recording> = BTreeMap::new();
    // Sessions first: the first file names the result.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|place| leaders[*place] != *place);
    for place in order {
        // Files that name each other are led by themselves, so none is lost.
        let leader = if leaders[leaders[place]] == leaders[place] { leaders[place] } else { place };
        let recording = recordings.entry(leader).or_insert(Recording { files: Vec::new(), is_named: false });
        recording.is_named |= named.contains(&files[place]);
        recording.files.push(files[place].clone());
    }
    recordings.into_values().collect()
}

/// The path without the endings that say how it is packed and written.
fn bare(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    path.with_file_name(name.strip_suffix(".jsonl").unwrap_or(name))
}

/// Whether a file is named like one of a sub-agent.
fn is_of_agent(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("agent-") && name.contains(".jsonl")
}

/// For a file of a sub-agent, where its session's file may be, without endings. The last is the likeliest.
fn sessions_of(path: &Path) -> Vec<PathBuf> {
    let Some(folder) = path.parent().filter(|_| is_of_agent(path)) else { return Vec::new() };
    let folders = folder.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == SUBAGENTS));
    let above: Vec<PathBuf> = folders.filter_map(Path::parent).map(Path::to_owned).collect();
    if !above.is_empty() {
        return above;
    }
    let pieces = Pieces::open(path, &Arc::default()).ok();
    pieces.and_then(|pieces| session_in(pieces.head())).map(|session| folder.join(session)).into_iter().collect()
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
        write("b/three/subagents/flow/agent-3.jsonl", "");
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
            &["b/three/subagents/agent-9.jsonl", "b/three/subagents/flow/agent-3.jsonl"],
            &["b/two.jsonl.gz", "b/agent-7.jsonl"],
        ];
        assert_eq!(shown, expected);
        assert_eq!(found.problems.len(), 1);
    }

    #[test]
    fn a_named_session_brings_its_sub_agents_and_no_file_is_read_twice() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (main, agents) = (folder.path().join("one.jsonl"), folder.path().join("one/subagents"));
        fs::create_dir_all(&agents).expect("created");
        let agent = agents.join("agent-1.jsonl");
        for path in [&main, &agent, &agents.join("notes.txt")] {
            fs::write(path, "x").expect("written");
        }
        let link = folder.path().join("again.jsonl");
        fs::hard_link(&main, &link).expect("linked");
        for paths in [vec![main.clone()], vec![agent.clone(), main.clone(), link, main.clone()]] {
            let found = find(&paths);
            let expected = Recording { files: vec![main.clone(), agent.clone()], is_named: true };
            assert_eq!((found.recordings, found.bytes), (vec![expected], 2));
        }
    }
}
