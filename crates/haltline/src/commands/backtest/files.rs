//! Which files are read, in which order, and which of them belong together.
//!
//! Claude Code writes the work of sub-agents into separate files: `SESSION/subagents/agent-*.jsonl`, or `agent-*.jsonl`
//! next to the session's file. They are merged with the session's file by time. Replayed after it, all their calls
//! would seem to come late, and limits on what a tree of agents does within seconds would see the wrong picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haltline_agents::transcript::locations::TranscriptLocation;
use haltline_engine::replay::RecordingReader;

/// Name of the folder with a session's sub-agents.
const SUBAGENTS: &str = "subagents";

/// Files that are read together; the first one names the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    pub files: Vec<PathBuf>,
    /// True if the user named the file, so that an unreadable one must be reported.
    pub is_named: bool,
}

#[derive(Debug, Default)]
pub struct Found {
    /// In reading order.
    pub recordings: Vec<Recording>,
    /// Total size in bytes.
    pub bytes: u64,
    /// Paths that could not be read, one message each.
    pub problems: Vec<String>,
    /// Device and inode numbers, so that a file with several names is read once.
    seen: BTreeSet<(u64, u64)>,
}

impl Found {
    fn add(&mut self, path: &Path, kind: &fs::Metadata, files: &mut Vec<PathBuf>) {
        if self.seen.insert((kind.dev(), kind.ino())) {
            self.bytes += kind.len();
            files.push(path.to_owned());
        }
    }
}

/// Finds all files of these paths; folders are walked in name order. The files of a session's sub-agents come with it.
pub fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let (mut files, mut named) = (Vec::new(), BTreeSet::new());
    for path in paths {
        match fs::metadata(path) {
            Ok(kind) if kind.is_dir() => walk(path, &|_every| true, &mut files, &mut found),
            Ok(kind) => {
                named.insert(path.clone());
                found.add(path, &kind, &mut files);
                let agents = without_suffixes(path).join(SUBAGENTS);
                if agents.is_dir() {
                    walk(&agents, &is_sub_agent_file, &mut files, &mut found);
                }
            }
            Err(error) => found.problems.push(problem(path, &error)),
        }
    }
    found.recordings = group(&files, &named);
    found
}

/// Finds all transcripts in the folders where clients keep them.
pub fn find_own(locations: &[TranscriptLocation]) -> Found {
    let mut found = Found::default();
    let mut files = Vec::new();
    for location in locations.iter().filter(|location| location.folder.is_dir()) {
        walk(&location.folder, &|path| location.contains(path), &mut files, &mut found);
    }
    found.recordings = group(&files, &BTreeSet::new());
    found
}

/// Formats an error about a path on one line.
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
        // A link to a folder may lead in circles; a link to a file cannot.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, is_wanted, files, found),
            Ok(_other) if !is_wanted(&path) => {}
            Ok(_other) => match fs::metadata(&path) {
                Ok(kind) if kind.is_file() => found.add(&path, &kind, files),
                Ok(_neither) => {}
                Err(error) => found.problems.push(problem(&path, &error)),
            },
            Err(error) => found.problems.push(problem(&path, &error)),
        }
    }
}

/// Groups the files of sub-agents with that of their session, or with each other where the session's file is missing.
fn group(files: &[PathBuf], named: &BTreeSet<PathBuf>) -> Vec<Recording> {
    let indexes: BTreeMap<PathBuf, usize> =
        files.iter().enumerate().map(|(index, path)| (without_suffixes(path), index)).collect();
    let mut orphans: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut leaders = Vec::new();
    for (index, path) in files.iter().enumerate() {
        let sessions = session_candidates(path);
        let main = sessions.iter().find_map(|session| indexes.get(session)).copied();
        leaders.push(match (main.filter(|main| *main != index), sessions.last()) {
            (Some(main), _) => main,
            (None, Some(session)) => *orphans.entry(session.clone()).or_insert(index),
            (None, None) => index,
        });
    }
    let mut recordings: BTreeMap<usize, Recording> = BTreeMap::new();
    // Sessions first: the first file names the result.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|index| leaders[*index] != *index);
    for index in order {
        // Files that lead each other become their own leaders, so that none is lost.
        let leader = if leaders[leaders[index]] == leaders[index] { leaders[index] } else { index };
        let recording = recordings.entry(leader).or_insert(Recording { files: Vec::new(), is_named: false });
        recording.is_named |= named.contains(&files[index]);
        recording.files.push(files[index].clone());
    }
    recordings.into_values().collect()
}

/// Strips the suffixes `.gz` and `.jsonl`.
fn without_suffixes(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    path.with_file_name(name.strip_suffix(".jsonl").unwrap_or(name))
}

/// True if the file is named like that of a sub-agent.
fn is_sub_agent_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("agent-") && name.contains(".jsonl")
}

/// Returns where the session's file of a sub-agent's file may be, without suffixes. The last is the likeliest.
fn session_candidates(path: &Path) -> Vec<PathBuf> {
    let Some(folder) = path.parent().filter(|_| is_sub_agent_file(path)) else { return Vec::new() };
    let folders = folder.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == SUBAGENTS));
    let above: Vec<PathBuf> = folders.filter_map(Path::parent).map(Path::to_owned).collect();
    if !above.is_empty() {
        return above;
    }
    let pieces = RecordingReader::open(path, &Arc::default()).ok();
    pieces.and_then(|pieces| session_in(pieces.head())).map(|session| folder.join(session)).into_iter().collect()
}

/// Returns the session id that the first records of a file contain.
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
    fn files_of_sub_agents_are_grouped_with_their_session() {
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
