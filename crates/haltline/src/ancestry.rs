//! Finds out which processes are agent clients (E6). A hook knows its own client for certain and records it, so that
//! operator actions started anywhere below it are recognised even with an empty environment. The record also lists the
//! sessions that began in the process, because haltline may only interrupt a process that has a single session, and how
//! the client hands events to its hooks (`provenance.rs`).

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haltline_core::digest_hex;

use crate::environment;
use crate::run;

/// How many ancestors are searched at most.
const ANCESTORS_MAX: usize = 64;

/// An ancestor of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AncestorProcess {
    pub id: i32,
    pub name: String,
    pub parent: i32,
    /// The leader of its session, and the number of its controlling terminal; 0 if there is none.
    pub session: i32,
    pub terminal: i32,
    /// Start time in ticks since boot: process ids are reused, this is not.
    pub started: u64,
}

impl AncestorProcess {
    pub fn read(id: i32) -> Option<Self> {
        let run::Process { identity, name, parent, session, terminal, .. } = run::Process::read(id)?;
        Some(Self { id, name, parent, session, terminal, started: identity.started })
    }

    /// This process.
    pub fn current() -> Option<Self> {
        Self::read(run::ProcessIdentity::current().pid)
    }

    /// The first two entries of its command line: the program, and the script if it is an interpreter.
    pub fn program_and_script(&self) -> Vec<String> {
        self.command_line().into_iter().take(2).collect()
    }

    pub fn command_line(&self) -> Vec<String> {
        let line = fs::read(format!("/proc/{}/cmdline", self.id)).unwrap_or_default();
        let line = line.strip_suffix(b"\0").unwrap_or(&line);
        line.split(|&byte| byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
    }

    /// Its arguments after the name of this client's program or script.
    pub fn arguments(&self, client: &str) -> Vec<String> {
        let mut arguments = self.command_line();
        let index = arguments.iter().take(2).position(|argument| is_client_program(argument, client)).unwrap_or(0);
        arguments.drain(..arguments.len().min(index + 1));
        arguments
    }

    /// A variable of the environment it was started with.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.environment().variable(name)
    }

    /// The environment it was started with; empty if it belongs to another account.
    pub fn environment(&self) -> Environment {
        Environment { lines: fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default() }
    }

    /// True if its name, program or script is this client's.
    pub fn is_client(&self, client: &str) -> bool {
        is_client_program(&self.name, client)
            || self.program_and_script().iter().any(|argument| is_client_program(argument, client))
    }

    /// The agent it is, by its name or by the script it runs: `node /usr/bin/claude`.
    pub fn agent(&self) -> Option<&'static str> {
        let of_path = |path: &str| haltline_agents::markers_of_program(path.rsplit('/').next().unwrap_or_default());
        let by_script = || self.program_and_script().iter().find_map(|argument| of_path(argument));
        haltline_agents::markers_of_program(&self.name).or_else(by_script).map(|known| known.client)
    }

    fn is_agent(&self) -> bool {
        self.agent().is_some()
    }

    /// Interrupts it as Ctrl-C does, and never another process that has its process id now.
    pub fn interrupt(&self) -> bool {
        run::ProcessIdentity { started: self.started, pid: self.id }.signal(rustix::process::Signal::INT)
    }

    fn record_path(&self, state_folder: &Path) -> PathBuf {
        folder(state_folder).join(format!("{}-{}", self.id, self.started))
    }

    /// What a hook recorded about this process; `None` if no hook did.
    pub fn client_record(&self, state_folder: &Path) -> Option<ClientRecord> {
        fs::read_to_string(self.record_path(state_folder)).ok().map(|text| ClientRecord { text })
    }
}

/// The environment that a process was started with.
#[derive(Debug)]
pub struct Environment {
    lines: Vec<u8>,
}

impl Environment {
    /// A variable's value; an empty one counts as unset.
    pub fn variable(&self, name: &str) -> Option<String> {
        let mut lines = self.lines.split(|&byte| byte == 0);
        let value = lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
    }
}

/// The record of a client's process: one line for each session that began in it, and one for its channel.
#[derive(Debug)]
pub struct ClientRecord {
    text: String,
}

/// The line that says how the client hands events to its hooks.
const CHANNEL: &str = "channel ";
/// The line that names the configuration file of the client's hooks.
const CONFIG: &str = "config ";
/// The line that names the state folder of the client's hooks, in a record that is elsewhere.
const STATE: &str = "state ";
/// The line that names the PID namespace in which the client's process id is valid.
const NAMESPACE: &str = "namespace ";

impl ClientRecord {
    /// Only a session's line is one word.
    fn sessions(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| !line.contains(' '))
    }

    fn word(&self, key: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(key))
    }

    /// The configuration file that the client's hooks read.
    pub fn config(&self) -> Option<&Path> {
        self.word(CONFIG).map(Path::new)
    }

    /// The state folder that the client's hooks use, if this record is in another one.
    pub fn state(&self) -> Option<&Path> {
        self.word(STATE).map(Path::new)
    }

    pub fn has_session(&self, session: &str) -> bool {
        let digest = session_digest(session);
        self.sessions().any(|recorded| recorded == digest)
    }

    fn has_sessions(&self) -> bool {
        self.sessions().next().is_some()
    }

    /// The word for how the client handed over its first event; `None` in records of earlier versions.
    pub fn channel(&self) -> Option<&str> {
        self.word(CHANNEL)
    }
}

/// True if a path or name is that of this client's program.
fn is_client_program(path: &str, client: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    haltline_agents::markers_of_program(name).is_some_and(|known| known.client == client)
}

fn folder(state_folder: &Path) -> PathBuf {
    state_folder.join("clients")
}

/// The ancestors of this process, nearest first.
pub fn ancestors() -> impl Iterator<Item = AncestorProcess> {
    ancestors_of(rustix::process::getppid().map(|id| id.as_raw_nonzero().get()))
}

/// The process with this id and its ancestors, nearest first.
pub fn ancestors_of(mut next: Option<i32>) -> impl Iterator<Item = AncestorProcess> {
    std::iter::from_fn(move || {
        let process = AncestorProcess::read(next?)?;
        next = Some(process.parent).filter(|&parent| parent > 0);
        Some(process)
    })
    .take(ANCESTORS_MAX)
}

/// The client that started this hook: the process that the client names, if it is an ancestor; else the nearest
/// ancestor with the client's name, because there may be a shell in between; else our parent.
pub fn find_client(named: Option<i32>, name: &str) -> Option<AncestorProcess> {
    let ancestors: Vec<AncestorProcess> = ancestors().collect();
    let is_named = |process: &&AncestorProcess| Some(process.id) == named;
    let by_name = || ancestors.iter().find(|process| named.is_none() && process.is_client(name));
    ancestors.iter().find(is_named).or_else(by_name).or_else(|| ancestors.first()).cloned()
}

/// The nearest ancestor with this client's name, if a hook recorded that this session began in it, and no other session
/// did. An ancestor further up would belong to another session. So would this one if the session's own process had an
/// unknown name.
pub fn recorded_client(state_folder: &Path, name: &str, session: &str) -> Option<AncestorProcess> {
    let nearest = ancestors().find(|process| process.is_client(name))?;
    let record = nearest.client_record(state_folder)?;
    record.sessions().eq([session_digest(session)]).then_some(nearest)
}

/// The value of `HALTLINE` that switches haltline off for a client.
pub const OFF: &str = "off";

/// True if a person started this client with `HALTLINE=off`: the variable is in the client's own environment. Below an
/// agent the variable is ignored.
pub fn is_switched_off(state_folder: &Path, client: &AncestorProcess, name: &str) -> bool {
    client.variable("HALTLINE").as_deref() == Some(OFF) && is_started_by_person(state_folder, client, name)
}

/// True if neither the environment nor an ancestor of this client shows that an agent started it.
pub fn is_started_by_person(state_folder: &Path, client: &AncestorProcess, name: &str) -> bool {
    if haltline_agents::marker_in(|marker| client.variable(marker).is_some()).is_some() {
        return false;
    }
    let is_recorded = |process: &AncestorProcess| process.record_path(state_folder).exists();
    let above = ancestors_of(Some(client.parent).filter(|&parent| parent > 1));
    // A client may start itself through a launcher of the same name, which no hook has recorded. A command of an agent has
    // left its client's session of the operating system.
    let is_launcher = |process: &AncestorProcess| process.is_client(name) && process.session == client.session;
    above.enumerate().all(|(index, process)| {
        !is_recorded(&process) && (!process.is_agent() || (index == 0 && is_launcher(&process)))
    })
}

/// True if the nearest client above this process is switched off.
pub fn is_client_switched_off(state_folder: &Path) -> bool {
    if environment::variable("HALTLINE").as_deref() != Some(OFF) {
        return false;
    }
    let client = ancestors().find_map(|process| process.agent().map(|name| (process, name)));
    client.is_some_and(|(process, name)| is_switched_off(state_folder, &process, name))
}

/// The clients that hooks have recorded and that still run.
pub fn running_clients(state_folder: &Path) -> Vec<AncestorProcess> {
    let files = fs::read_dir(folder(state_folder)).into_iter().flatten().flatten();
    let read = |file: fs::DirEntry| {
        let name = file.file_name().to_string_lossy().into_owned();
        let process = AncestorProcess::read(name.split('-').next()?.parse().ok()?)?;
        (process.record_path(state_folder) == file.path()).then_some(process)
    };
    files.filter_map(read).collect()
}

/// True if a client that still runs has recorded this session.
pub fn is_session_running(state_folder: &Path, session: &str) -> bool {
    !clients_of_session(state_folder, session).is_empty()
}

/// The clients that still run and have recorded this session: one, unless a person opened the session twice.
pub fn clients_of_session(state_folder: &Path, session: &str) -> Vec<AncestorProcess> {
    let mut clients = running_clients(state_folder);
    clients.retain(|client| client.client_record(state_folder).is_some_and(|record| record.has_session(session)));
    clients
}

/// True if this process runs below a client in which sessions began. `haltline run` is recorded without any.
pub fn is_below_client(state_folder: &Path) -> bool {
    let has_sessions =
        |process: &AncestorProcess| process.client_record(state_folder).is_some_and(|record| record.has_sessions());
    folder(state_folder).exists() && ancestors().any(|process| has_sessions(&process))
}

/// A session as recorded: a digest, because a session id may contain anything.
fn session_digest(session: &str) -> String {
    digest_hex(&[b"session", session.as_bytes()], 8)
}

/// What a hook knows of its client.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientFacts<'a> {
    /// The session that begins in it.
    pub session: Option<&'a str>,
    /// How its first event came.
    pub channel: Option<&'a str>,
    /// The configuration file that its hooks read.
    pub config: Option<&'a Path>,
}

/// Records that a process is a client, and removes records of processes that are gone.
pub fn record(state_folder: &Path, client: &AncestorProcess, facts: ClientFacts<'_>) -> std::io::Result<()> {
    let folder = folder(state_folder);
    make_folder(&folder)?;
    for file in fs::read_dir(&folder)?.flatten() {
        if !may_be_running(&file, state_folder) {
            fs::remove_file(file.path()).ok();
        }
    }
    let path = client.record_path(state_folder);
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let is_known = |session: &String| recorded.lines().any(|recorded| recorded == session);
    let session = facts.session.map(session_digest).filter(|session| !is_known(session));
    let first = [
        facts.channel.map(|channel| format!("{CHANNEL}{channel}")),
        facts.config.and_then(Path::to_str).map(|config| format!("{CONFIG}{config}")),
        own_namespace().map(|number| format!("{NAMESPACE}{number}")),
    ];
    let first = first.into_iter().flatten().filter(|_| recorded.is_empty());
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    // Two sessions that begin at the same time each append their line.
    first.chain(session).try_for_each(|line| file.write_all(format!("{line}\n").as_bytes()))
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// True if the process of this record runs, or may run in another PID namespace.
fn may_be_running(file: &fs::DirEntry, state_folder: &Path) -> bool {
    let name = file.file_name().to_string_lossy().into_owned();
    let id = name.split('-').next().and_then(|id| id.parse().ok());
    id.and_then(AncestorProcess::read).is_some_and(|process| process.record_path(state_folder) == file.path())
        || is_of_other_namespace(&file.path())
}

/// True if a process of another PID namespace recorded this client since the machine started.
fn is_of_other_namespace(record: &Path) -> bool {
    let text = fs::read_to_string(record).unwrap_or_default();
    let named = ClientRecord { text }.word(NAMESPACE).map(str::to_owned);
    let is_recent = || {
        let (recorded, booted) = (fs::metadata(record).and_then(|found| found.modified()).ok(), boot_time());
        recorded.zip(booted).is_none_or(|(recorded, booted)| recorded > booted)
    };
    named.is_some() && named != own_namespace().map(|number| number.to_string()) && is_recent()
}

/// When the machine started.
pub fn boot_time() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The number of our PID namespace.
fn own_namespace() -> Option<u64> {
    Some(fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

/// The number of the namespace in which every process of the machine is visible.
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// True if a client of another PID namespace is recorded here, and this process cannot see that namespace.
pub fn has_hidden_client(state_folder: &Path) -> bool {
    let files = || fs::read_dir(folder(state_folder)).into_iter().flatten().flatten();
    own_namespace().is_some_and(|own| own != INITIAL_PID_NAMESPACE)
        && files().any(|file| is_of_other_namespace(&file.path()))
}

/// Records in the folder that a process below this client would ask that the client's hooks use another state folder.
pub fn record_elsewhere(default: &Path, client: &AncestorProcess, state_folder: &Path) -> std::io::Result<()> {
    let path = client.record_path(default);
    if path.exists() {
        return Ok(());
    }
    make_folder(&folder(default))?;
    fs::write(path, format!("{STATE}{}\n", state_folder.display()))
}

/// Records that everything this process starts belongs to an agent, whatever happens to its environment.
pub fn record_own(state_folder: &Path, config: &Path) -> std::io::Result<()> {
    let facts = ClientFacts { config: Some(config), ..ClientFacts::default() };
    AncestorProcess::current().map_or(Ok(()), |own| record(state_folder, &own, facts))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_process_is_found_among_our_ancestors_and_others_are_not() {
        let folder = tempfile::tempdir().expect("temp folder");
        let recorded = || ancestors().find(|process| process.client_record(folder.path()).is_some());
        assert_eq!(recorded(), None);
        let parent = find_client(None, "nobody").expect("a test has a parent");
        fs::create_dir_all(folder.path().join("clients")).expect("folder");
        fs::write(folder.path().join("clients/999999-1"), b"").expect("a dead one");
        assert_eq!(recorded(), None);
        let facts = |session| ClientFacts { session, ..ClientFacts::default() };
        record(folder.path(), &parent, facts(None)).expect("written");
        assert_eq!(recorded(), Some(parent.clone()));
        record(folder.path(), &parent, facts(Some("a session\nin two lines"))).expect("written");
        record(folder.path(), &parent, facts(Some("a session\nin two lines"))).expect("written again");
        record(folder.path(), &parent, facts(Some("another"))).expect("written");
        let sessions = fs::read_to_string(parent.record_path(folder.path())).expect("a record");
        assert_eq!(sessions.lines().filter(|line| !line.contains(' ')).count(), 2, "{sessions}");
        assert!(!folder.path().join("clients/999999-1").exists(), "the dead one is forgotten");
        assert!(parent.variable("PATH").is_some());
    }
}
