//! Which processes are agent clients: a hook knows its own client for certain and writes it down, so that operator
//! verbs started anywhere below it are recognised even with an empty environment (E6). With it stand the sessions that
//! began in it: an interruption must hit the only one it has, or nobody.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use haltline_core::digest_hex;

use crate::run;

/// How far up the line of parents one looks.
const ANCESTORS_MAX: usize = 64;

/// One process of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: i32,
    /// Its name.
    pub name: String,
    parent: i32,
    /// When it started, in ticks since boot: numbers are used again, this is not.
    started: u64,
}

impl Process {
    fn read(id: i32) -> Option<Self> {
        let process = run::Process::read(id)?;
        Some(Self { id, name: process.name, parent: process.parent, started: process.identity.started })
    }

    /// The first words of its command line.
    pub fn command_words(&self) -> Vec<String> {
        self.words().into_iter().take(2).collect()
    }

    fn words(&self) -> Vec<String> {
        let line = fs::read(format!("/proc/{}/cmdline", self.id)).unwrap_or_default();
        let line = line.strip_suffix(b"\0").unwrap_or(&line);
        line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// What it was started with, after the name of this client's program or script.
    pub fn arguments(&self, client: &str) -> Vec<String> {
        let mut words = self.words();
        let place = words.iter().take(2).position(|word| is_program(word, client)).unwrap_or(0);
        words.drain(..words.len().min(place + 1));
        words
    }

    /// A variable of the environment it was started with.
    pub fn variable(&self, name: &str) -> Option<String> {
        let environment = fs::read(format!("/proc/{}/environ", self.id)).ok()?;
        let start = format!("{name}=");
        let mut lines = environment.split(|&byte| byte == 0);
        let line = lines.find_map(|line| line.strip_prefix(start.as_bytes()))?;
        Some(String::from_utf8_lossy(line).into_owned()).filter(|value| !value.is_empty())
    }

    /// Whether it is called as this client's process is, or runs its script.
    fn is_of(&self, client: &str) -> bool {
        is_program(&self.name, client) || self.command_words().iter().any(|word| is_program(word, client))
    }

    /// Interrupts it as Ctrl-C would, and no other process that has its number now.
    pub fn interrupt(&self) -> bool {
        run::Identity { started: self.started, pid: self.id }.signal(rustix::process::Signal::INT)
    }

    fn record(&self, state_folder: &Path) -> PathBuf {
        folder(state_folder).join(format!("{}-{}", self.id, self.started))
    }
}

/// Whether a path or a name is that of this client's program.
fn is_program(path: &str, client: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    haltline_agents::of_program(name).is_some_and(|marks| marks.name == client)
}

fn folder(state_folder: &Path) -> PathBuf {
    state_folder.join("clients")
}

/// The parents of this process, nearest first.
pub fn ancestors() -> impl Iterator<Item = Process> {
    let mut next = rustix::process::getppid().map(|id| id.as_raw_nonzero().get());
    std::iter::from_fn(move || {
        let process = Process::read(next?)?;
        next = Some(process.parent).filter(|&parent| parent > 1);
        Some(process)
    })
    .take(ANCESTORS_MAX)
}

/// The client that started this hook: the process it names, if that is above us; else the nearest that is called as the
/// client is, for there may be a shell between; else our parent.
pub fn client(named: Option<i32>, name: &str) -> Option<Process> {
    let line: Vec<Process> = ancestors().collect();
    let is_named = |process: &&Process| Some(process.id) == named;
    let by_name = || line.iter().find(|process| named.is_none() && process.is_of(name));
    line.iter().find(is_named).or_else(by_name).or_else(|| line.first()).cloned()
}

/// The nearest process above us that is called as this client is, where a hook wrote down that this session began in it,
/// and no other did. One further up would be another session; so would this one, if the session's own process has a name
/// that nobody knows.
pub fn recorded_client(state_folder: &Path, name: &str, session: &str) -> Option<Process> {
    let nearest = ancestors().find(|process| process.is_of(name))?;
    let sessions = fs::read_to_string(nearest.record(state_folder)).ok()?;
    (sessions.lines().eq([mark(session)])).then_some(nearest)
}

/// A session as it stands in a record: its name may hold anything.
fn mark(session: &str) -> String {
    digest_hex(&[b"session", session.as_bytes()], 8)
}

/// Writes down that a process is a client, and which session begins in it; forgets those that are gone.
pub fn record(state_folder: &Path, client: &Process, session: Option<&str>) -> std::io::Result<()> {
    let folder = folder(state_folder);
    fs::create_dir_all(&folder)?;
    for file in fs::read_dir(&folder)?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let id = name.split('-').next().and_then(|id| id.parse().ok());
        let is_alive = id.and_then(Process::read).is_some_and(|process| process.record(state_folder) == file.path());
        if !is_alive {
            fs::remove_file(file.path()).ok();
        }
    }
    let path = client.record(state_folder);
    let known = fs::read_to_string(&path).unwrap_or_default();
    let new = session.map(mark).filter(|session| !known.lines().any(|known| known == session));
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    // Two sessions that begin at once each leave their line.
    new.map_or(Ok(()), |session| file.write_all(format!("{session}\n").as_bytes()))
}

/// Writes down that what this process starts is an agent's, whatever becomes of its environment.
pub fn record_own(state_folder: &Path) -> std::io::Result<()> {
    match i32::try_from(std::process::id()).ok().and_then(Process::read) {
        Some(own) => record(state_folder, &own, None),
        None => Ok(()),
    }
}

/// The nearest process above us that a hook or a runner wrote down as a client.
pub fn recorded(state_folder: &Path) -> Option<Process> {
    if !folder(state_folder).exists() {
        return None;
    }
    ancestors().find(|process| process.record(state_folder).exists())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_written_down_is_found_above_us_and_others_are_not() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert_eq!(recorded(folder.path()), None);
        let parent = client(None, "nobody").expect("a test has a parent");
        fs::create_dir_all(folder.path().join("clients")).expect("folder");
        fs::write(folder.path().join("clients/999999-1"), b"").expect("a dead one");
        assert_eq!(recorded(folder.path()), None);
        record(folder.path(), &parent, None).expect("written");
        assert_eq!(recorded(folder.path()), Some(parent.clone()));
        record(folder.path(), &parent, Some("a session\nin two lines")).expect("written");
        record(folder.path(), &parent, Some("a session\nin two lines")).expect("written again");
        record(folder.path(), &parent, Some("another")).expect("written");
        let sessions = fs::read_to_string(parent.record(folder.path())).expect("a record");
        assert_eq!(sessions.lines().count(), 2, "{sessions}");
        assert!(!folder.path().join("clients/999999-1").exists(), "the dead one is forgotten");
        assert!(parent.variable("PATH").is_some());
    }
}
