//! Finds out who started an operator action (E6): a person at a terminal, an agent, or a process of which nobody can tell.
//!
//! An agent can choose its environment, leave its client's process tree and open a terminal of its own. It cannot make a
//! process older than its client, change the program of a package that belongs to the system, or attach a person's
//! terminal to a multiplexer. So a terminal counts as the person's if what opened it is older than every client that
//! runs; otherwise it must be a terminal program of the system or a login, and the person types the token back.
//! docs/concepts/operator.md says what this prevents and what not.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::ancestry::{self, AncestorProcess};
use crate::environment::{self, variable};
use crate::run;

/// Programs that open terminals for people, and services through which people log in.
const TERMINALS: &[&str] = &[
    "alacritty",
    "code",
    "codium",
    "contour",
    "cool-retro-term",
    "cursor",
    "deepin-terminal",
    "dropbear",
    "foot",
    "ghostty",
    "gnome-terminal-server",
    "gotty",
    "guake",
    "hyper",
    "in.telnetd",
    "kgx",
    "kitty",
    "konsole",
    "login",
    "lxterminal",
    "mate-terminal",
    "mosh-server",
    "ptyxis",
    "ptyxis-agent",
    "qterminal",
    "rio",
    "rxvt",
    "sakura",
    "sshd",
    "sshd-auth",
    "sshd-session",
    "st",
    "tabby",
    "terminator",
    "terminology",
    "termite",
    "tilix",
    "tilda",
    "ttyd",
    "urxvt",
    "urxvtd",
    "warp",
    "warp-terminal",
    "wezterm-gui",
    "wezterm-mux-server",
    "windsurf",
    "xfce4-terminal",
    "xterm",
    "yakuake",
    "zed",
    "zed-editor",
];

/// Programs that keep a terminal while nobody looks at it. Any process of the account can type into it.
const MULTIPLEXERS: &[&str] = &["abduco", "dtach", "screen", "tmux", "zellij"];

/// Services that start commands later, without a person.
const SCHEDULERS: &[&str] = &["anacron", "atd", "cron", "crond", "cronie", "fcron"];

/// How many ticks of process start times are in a second: the same on all systems that Rust runs on.
const TICKS_PER_SECOND: u64 = 100;

/// Who started this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Person,
    /// Nothing shows an agent, but an agent could look the same. The person types a token.
    Doubtful(String),
    /// An agent is above this process, or has marked it.
    Agent(String),
    /// The process has lost what started it, or no person's terminal is above it.
    Lost(String),
    /// A scheduler started it: no person, and no agent either unless one told the scheduler to.
    Scheduled(String),
}

/// Who started this process, as far as the machine can tell.
pub fn current() -> Origin {
    if let Some(sign) = agent_sign() {
        return Origin::Agent(sign);
    }
    let folders = environment::state_folders();
    if folders.iter().any(|folder| ancestry::has_hidden_client(folder)) {
        return Origin::Agent(
            "a client is recorded in another PID namespace, which cannot be seen from here".to_owned(),
        );
    }
    let clients = running_clients(&folders);
    let chain = chain_of(AncestorProcess::current());
    let trees = ClientTrees::new(&clients);
    trees.judge(&chain, |server| trees.is_attached(server))
}

/// Who started this client, as far as the machine can tell.
pub fn of_client(client: &AncestorProcess, state_folder: &Path) -> Origin {
    let mut folders = environment::state_folders();
    folders.insert(state_folder.to_owned());
    let trees = ClientTrees::new(&running_clients(&folders));
    trees.judge(&chain_of(Some(client.clone())), |server| trees.is_attached(server))
}

/// What shows that this process runs inside an agent.
pub fn agent_sign() -> Option<String> {
    if let Some(marker) = haltline_agents::marker_in(|name| variable(name).is_some()) {
        return Some(format!("{marker} is set"));
    }
    let folders = environment::state_folders();
    let ancestors: Vec<AncestorProcess> = ancestry::ancestors().collect();
    let is_recorded = |process: &AncestorProcess| {
        folders
            .iter()
            .any(|folder| process.client_record(folder).is_some())
            .then(|| format!("process {} is a client that haltline's hook knows", process.id))
    };
    let is_named = |process: &AncestorProcess| {
        Some(format!("it runs below the agent {}, process {}", process.agent()?, process.id))
    };
    let is_marked = |process: &AncestorProcess| {
        let environment = process.environment();
        let marker = haltline_agents::marker_in(|name| environment.variable(name).is_some())?;
        Some(format!("{marker} is set in process {}, {:?}, above it", process.id, process.name))
    };
    let find = |sign: &dyn Fn(&AncestorProcess) -> Option<String>| ancestors.iter().find_map(sign);
    find(&is_recorded).or_else(|| find(&is_named)).or_else(|| find(&is_marked))
}

/// The clients that run and use one of these state folders: those that hooks recorded, and those with a client's name,
/// because an agent can delete a record.
pub fn running_clients(folders: &BTreeSet<PathBuf>) -> Vec<AncestorProcess> {
    let mut found: Vec<AncestorProcess> = folders.iter().flat_map(|folder| ancestry::running_clients(folder)).collect();
    let own = rustix::process::getuid().as_raw();
    let named = run::all_pids().into_iter().filter(|id| owner(*id) == Some(own)).filter_map(AncestorProcess::read);
    let named = named.filter(|process| process.agent().is_some());
    found.extend(
        named.filter(|process| environment::folder_of(process).is_some_and(|folder| folders.contains(&folder))),
    );
    found
}

/// One process of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    process: AncestorProcess,
    /// Name of the program file; the process's own name if the system does not tell.
    program: String,
    /// True if the program file is not one that the account could have made since the first client started.
    is_genuine: bool,
    is_own: bool,
}

fn chain_of(process: Option<AncestorProcess>) -> Vec<AncestorProcess> {
    let above = process.as_ref().map(|process| process.parent).filter(|&parent| parent > 0);
    process.into_iter().chain(ancestry::ancestors_of(above)).collect()
}

/// The account that a process runs as. The owner of its files in `/proc` may be another one.
fn owner(id: i32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.parse().ok()
}

/// The clients that run, and what of them matters.
struct ClientTrees {
    /// When the first of them started, in ticks since boot; `None` if none runs.
    first_client: Option<u64>,
    /// The processes that clients run below.
    above_clients: BTreeSet<i32>,
}

impl ClientTrees {
    fn new(clients: &[AncestorProcess]) -> Self {
        let above = |client: &AncestorProcess| chain_of(Some(client.clone())).into_iter().map(|process| process.id);
        Self {
            first_client: clients.iter().map(|client| client.started).min(),
            above_clients: clients.iter().flat_map(above).collect(),
        }
    }

    fn link(&self, process: &AncestorProcess) -> Link {
        let file = fs::read_link(format!("/proc/{}/exe", process.id)).ok();
        let name = file.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let is_own = owner(process.id) == Some(rustix::process::getuid().as_raw());
        let is_genuine = !is_own || file.is_some_and(|_| self.is_genuine(process.id));
        Link { process: process.clone(), program: name.unwrap_or_else(|| process.name.clone()), is_genuine, is_own }
    }

    fn is_genuine(&self, id: i32) -> bool {
        // The link of the kernel leads to the file that runs, even if another one has its name now.
        let Ok(file) = fs::metadata(format!("/proc/{id}/exe")) else { return false };
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(file.ctime().try_into().unwrap_or(u64::MAX / 4));
        let first = ancestry::boot_time()
            .zip(self.first_client)
            .map(|(boot, ticks)| boot + Duration::from_secs(ticks / TICKS_PER_SECOND));
        (file.uid() == 0 && file.mode() & 0o022 == 0) || first.is_some_and(|first| changed < first)
    }

    /// Judges a process and everything above it, nearest first.
    fn judge(&self, chain: &[AncestorProcess], is_attached: impl Fn(&Link) -> bool) -> Origin {
        let links: Vec<Link> = chain.iter().map(|process| self.link(process)).collect();
        judge(&links, self, is_attached)
    }

    /// True if a person's terminal shows this multiplexer: a process of the same program that is not below it, at a
    /// terminal that counts as a person's.
    fn is_attached(&self, server: &Link) -> bool {
        let file = |id: i32| fs::metadata(format!("/proc/{id}/exe")).ok().map(|file| (file.dev(), file.ino()));
        let Some(wanted) = file(server.process.id) else { return false };
        run::all_pids().into_iter().filter(|&id| file(id) == Some(wanted)).any(|id| {
            let chain = chain_of(AncestorProcess::read(id));
            let is_viewer = chain.first().is_some_and(|viewer| viewer.terminal != 0);
            let is_above_agent = chain.iter().any(|process| process.agent().is_some());
            is_viewer
                && !is_above_agent
                && chain.iter().all(|process| process.id != server.process.id)
                && matches!(self.judge(&chain, |_| false), Origin::Person | Origin::Doubtful(_))
        })
    }
}

/// True if nothing that this process has started matters, because it adopts what others have lost.
fn is_adopter(link: &Link, own: &Link) -> bool {
    let AncestorProcess { id, parent, ref name, .. } = link.process;
    // The shell of a container is the first process, and may be a person's.
    let is_leader = own.process.session == id && own.process.terminal != 0;
    (id == 1 && !is_leader) || (parent == 1 && name == "systemd")
}

fn judge(links: &[Link], trees: &ClientTrees, is_attached: impl Fn(&Link) -> bool) -> Origin {
    let Some((own, first_client)) = links.first().zip(trees.first_client) else { return Origin::Person };
    let is = |link: &Link, names: &[&str]| names.contains(&link.program.as_str());
    let adopted = links.iter().rev().take_while(|link| is_adopter(link, own)).count();
    let links = &links[..(links.len() - adopted).max(1)];
    let top = links.last().unwrap_or(own);
    if is(top, SCHEDULERS) {
        return Origin::Scheduled(format!("{:?} started it", top.program));
    }
    if own.process.terminal != 0 && links.iter().all(|link| link.process.id != own.process.session) {
        return Origin::Lost("what opened its terminal is not among the processes above it".to_owned());
    }
    if let Some(server) = links.iter().find(|link| is(link, MULTIPLEXERS) && link.process.terminal == 0) {
        let shared = trees.above_clients.contains(&server.process.id);
        if shared || server.process.started < first_client {
            return Origin::Doubtful(format!(
                "{:?} keeps its terminal, and any program can type there",
                server.program
            ));
        }
        return if is_attached(server) {
            Origin::Doubtful(format!("{:?} started while a client ran", server.program))
        } else {
            Origin::Lost(format!("{:?} started while a client ran, and no person's terminal shows it", server.program))
        };
    }
    let (id, program) = (top.process.id, &top.program);
    let is_old = |link: &Link| link.process.started < first_client;
    let is_terminal = |link: &Link| is(link, TERMINALS) && link.is_genuine;
    // The innermost process without a terminal that has one with a terminal below it.
    let mut opened = links.iter().zip(links.iter().skip(1));
    let opener = opened.position(|(below, above)| above.process.terminal == 0 && below.process.terminal != 0);
    let opener = opener.map(|index| index + 1).or_else(|| is_terminal(top).then_some(links.len() - 1));
    let is_login = |link: &Link| is_terminal(link) && !link.is_own;
    let is_from_outside = top.process.parent == 0 && id != 1;
    match opener.map(|index| (&links[index], links[index..].iter().any(is_login))) {
        _ if is_from_outside => Origin::Person,
        Some((_, true)) => Origin::Person,
        Some((opener, false)) if is_old(opener) => Origin::Person,
        Some((opener, false)) if is_terminal(opener) => {
            Origin::Doubtful(format!("{:?} started while a client ran", opener.program))
        }
        Some((opener, false)) if is_old(top) => {
            Origin::Doubtful(format!("{:?} opened its terminal while a client ran", opener.program))
        }
        None if is_old(top) => Origin::Person,
        Some(_) | None => {
            Origin::Lost(format!("process {id}, {program:?}, started while a client ran and has lost what started it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The client started at tick 100 and runs below the processes with these ids.
    fn trees(above_clients: &[i32]) -> ClientTrees {
        ClientTrees { first_client: Some(100), above_clients: above_clients.iter().copied().collect() }
    }

    /// A chain, nearest first: program, start, terminal. The process that leads the session of the innermost terminal is
    /// the outermost one that has it. The first process of the machine comes last.
    fn chain(processes: &[(&str, u64, i32)]) -> Vec<Link> {
        let count = i32::try_from(processes.len()).expect("few");
        let terminal = processes[0].2;
        let leader = processes.iter().take_while(|process| process.2 == terminal).count();
        let session = count + 2 - i32::try_from(leader - 1).expect("few");
        let link = |(index, &(program, started, terminal)): (usize, &(&str, u64, i32))| {
            let id = count + 2 - i32::try_from(index).expect("few");
            let parent = if id == 3 { 1 } else { id - 1 };
            let name = program.to_owned();
            let process = AncestorProcess { id, name: name.clone(), parent, session, terminal, started };
            Link { process, program: name, is_genuine: true, is_own: true }
        };
        let first = AncestorProcess { id: 1, name: "init".into(), parent: 0, session: 1, terminal: 0, started: 1 };
        let first = Link { process: first, program: "init".into(), is_genuine: true, is_own: false };
        processes.iter().enumerate().map(link).chain([first]).collect()
    }

    fn judged(links: &[Link]) -> &'static str {
        judged_with(links, &[], false)
    }

    fn judged_with(links: &[Link], above_clients: &[i32], is_attached: bool) -> &'static str {
        match judge(links, &trees(above_clients), |_| is_attached) {
            Origin::Person => "person",
            Origin::Doubtful(_) => "doubtful",
            Origin::Agent(_) => "agent",
            Origin::Lost(_) => "lost",
            Origin::Scheduled(_) => "scheduled",
        }
    }

    const OWN: (&str, u64, i32) = ("haltline", 500, 34816);
    const SHELL: (&str, u64, i32) = ("bash", 400, 34816);

    #[test]
    fn a_terminal_older_than_every_client_is_a_persons() {
        assert_eq!(judged(&chain(&[OWN, SHELL, ("gnome-terminal-server", 50, 0)])), "person");
        assert_eq!(judged(&chain(&[OWN, ("bash", 90, 34816), ("my-own-terminal", 80, 0)])), "person");
        assert_eq!(judged(&chain(&[OWN, SHELL, ("code", 400, 0), ("code", 50, 0)])), "doubtful", "a window since then");
        let systemd = |mut links: Vec<Link>| {
            let last = links.len() - 2;
            links[last].process.name = "systemd".to_owned();
            links
        };
        assert_eq!(judged(&systemd(chain(&[OWN, SHELL, ("konsole", 50, 0), ("systemd", 20, 0)]))), "person");
    }

    #[test]
    fn a_login_is_a_persons_however_young_it_is() {
        let mut ssh = chain(&[OWN, SHELL, ("sshd-session", 390, 0), ("sshd-session", 385, 0), ("sshd", 10, 0)]);
        for index in [3, 4] {
            ssh[index].is_own = false;
        }
        ssh[2].is_genuine = false;
        assert_eq!(judged(&ssh), "person");
        let mut console = chain(&[OWN, SHELL, ("login", 390, 34816)]);
        console[2].is_own = false;
        assert_eq!(judged(&console), "person");
    }

    #[test]
    fn a_shell_in_a_container_is_a_persons() {
        let mut entered = chain(&[OWN, SHELL]);
        entered.pop();
        entered[1].process.parent = 0;
        assert_eq!(judged(&entered), "person", "docker exec");
        let mut first = chain(&[OWN]);
        first[0].process.session = 1;
        first[1].process.terminal = OWN.2;
        assert_eq!(judged(&first), "person", "docker run");
    }

    #[test]
    fn a_terminal_program_that_started_since_needs_the_token_and_must_belong_to_the_system() {
        let mut links = chain(&[OWN, SHELL, ("kitty", 390, 0)]);
        assert_eq!(judged(&links), "doubtful");
        links[2].is_genuine = false;
        assert_eq!(judged(&links), "lost");
        assert_eq!(judged(&chain(&[OWN, SHELL, ("unknown", 390, 0), ("sway", 20, 0)])), "doubtful");
    }

    #[test]
    fn what_left_a_client_is_lost() {
        assert_eq!(judged(&chain(&[OWN, ("script", 480, 0)])), "lost");
        assert_eq!(judged(&chain(&[OWN, ("sh", 490, 34816), ("python3", 480, 0), ("sh", 470, 0)])), "lost");
        assert_eq!(judged(&chain(&[("haltline", 500, 0)])), "lost", "setsid without a terminal");
        let systemd_run = chain(&[OWN]);
        assert_eq!(judged(&systemd_run), "lost", "a service starts it at a terminal");
        let mut double_fork = chain(&[OWN]);
        double_fork[0].process.session = 77;
        assert_eq!(judged(&double_fork), "lost", "the leader of its terminal is not above it");
        assert_eq!(judged(&chain(&[OWN, ("script", 480, 0), ("sh", 470, 0), ("cron", 5, 0)])), "scheduled");
    }

    #[test]
    fn a_multiplexer_needs_the_token_and_one_that_started_since_a_viewer() {
        let old = chain(&[OWN, SHELL, ("tmux", 50, 0)]);
        assert_eq!(judged(&old), "doubtful");
        let young = chain(&[OWN, SHELL, ("tmux", 300, 0)]);
        assert_eq!(judged_with(&young, &[], false), "lost");
        assert_eq!(judged_with(&young, &[], true), "doubtful");
        let server = young[2].process.id;
        assert_eq!(judged_with(&young, &[server], false), "doubtful", "the client runs in it");
    }

    #[test]
    fn without_a_client_every_terminal_is_a_persons() {
        let none = ClientTrees { first_client: None, above_clients: BTreeSet::new() };
        assert_eq!(judge(&chain(&[OWN, ("script", 480, 0)]), &none, |_| false), Origin::Person);
    }
}
