//! Tells an event that the client sent from one that a command of its agent made up (E6, L8): only the client speaks for
//! the person.
//!
//! An agent can write any payload, choose any environment and start haltline with the client's own words. It cannot choose
//! who made the socket behind haltline's standard input, nor put its command back into a session that it was taken out of.
//! So the first event of a client, which comes before any call, is recorded with its channel: how the client hands events
//! to its hooks. Later events of the same session count only if they come through the same channel from the same
//! process. What real clients do is listed in docs/concepts/provenance.md.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use haltline_agents::hook::{EventSet, HookCall, HookEvent};
use nix::unistd::{Pid, getsid};

use crate::ancestry::{self, AncestorProcess};
use crate::origin::{self, Origin};

/// The events that could free an agent: they reset counts, lift limits, close circuits, or end something that is counted.
const CHECKED: EventSet = EventSet::of(&[
    HookEvent::SessionStart,
    HookEvent::Prompt,
    HookEvent::ModelStart,
    HookEvent::ToolEnd,
    HookEvent::Batch,
    HookEvent::SpawnEnd,
    HookEvent::Stop,
    HookEvent::StopFailed,
    HookEvent::Interrupted,
    HookEvent::Compaction,
    HookEvent::SessionEnd,
    HookEvent::SettingsChanged,
]);

/// Who sent an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The client that the session began in.
    Client,
    /// A command of an agent, or a process that such a command left behind.
    Agent,
    /// Nothing is recorded to compare the event with, or the system does not say. Such an event is believed: to lose a
    /// person's prompt is worse, because the agent would stay stopped although the person answered.
    Unknown,
}

/// Who sent this hook's event, for events that could free an agent; others are never questioned.
pub fn of_event(state_folder: &Path, hook_call: &HookCall) -> Provenance {
    if !CHECKED.contains(hook_call.event) {
        return Provenance::Unknown;
    }
    let input = Input::current();
    let ancestors = ancestry::ancestors();
    of_session(state_folder, &hook_call.agent.session, hook_call.client.name(), input, ancestors)
}

/// True if this hook's prompt is proven to be a person's: it comes from the one client that runs the session, through a
/// channel that no command of an agent has, and a person started that client. What haltline believes in doubt
/// ([`Provenance::Unknown`]) is not proven.
pub fn is_prompt_of_person(state_folder: &Path, hook_call: &HookCall) -> bool {
    let (session, name) = (hook_call.agent.session.as_str(), hook_call.client.name());
    let clients = ancestry::clients_of_session(state_folder, session);
    let [client] = clients.as_slice() else { return false };
    let ancestors: Vec<AncestorProcess> = ancestry::ancestors().collect();
    let Some(index) = ancestors.iter().position(|ancestor| ancestor == client) else { return false };
    let channel = Channel::of(Input::current(), client, &ancestors[..index]);
    let is_client = hook_call.event == HookEvent::Prompt
        && channel.is_proof()
        && client.client_record(state_folder).is_some_and(|record| record.channel() == Some(channel.word()));
    is_client
        && ancestry::is_started_by_person(state_folder, client, name)
        && match origin::of_client(client, state_folder) {
            Origin::Person | Origin::Doubtful(_) => true,
            Origin::Agent(_) | Origin::Lost(_) | Origin::Scheduled(_) => false,
        }
}

fn of_session(
    state_folder: &Path,
    session: &str,
    client: &str,
    input: Input,
    rest: impl Iterator<Item = AncestorProcess>,
) -> Provenance {
    // Nearly always the client is the parent and has made the socket, and nothing else needs to be read.
    let mut ancestors: Vec<AncestorProcess> = Vec::new();
    for ancestor in rest {
        let record = ancestor.client_record(state_folder);
        if let Some(record) = record.filter(|record| record.has_session(session)) {
            return match record.channel() {
                None | Some(Channel::OTHER) => Provenance::Unknown,
                Some(recorded) if recorded == Channel::of(input, &ancestor, &ancestors).word() => Provenance::Client,
                Some(_) => Provenance::Agent,
            };
        }
        ancestors.push(ancestor);
    }
    if !ancestry::is_session_running(state_folder, session) {
        return Provenance::Unknown;
    }
    // The session's client runs, and this process is not below it: a person resumed the session in another client, or a
    // command of the agent left its client.
    let is_creator = |ancestor: &AncestorProcess| input == Input::Socket { creator: ancestor.id };
    if ancestors.iter().take(2).any(is_creator) || ancestors.iter().any(|ancestor| ancestor.is_client(client)) {
        Provenance::Unknown
    } else {
        Provenance::Agent
    }
}

/// What haltline's standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A socket, and the process that made it.
    Socket {
        creator: i32,
    },
    Pipe,
    /// A file, a terminal, or something whose creator is in another PID namespace.
    Other,
}

impl Input {
    pub fn current() -> Self {
        let stdin = std::io::stdin();
        let Ok(stat) = rustix::fs::fstat(stdin.as_fd()) else { return Self::Other };
        match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
            rustix::fs::FileType::Fifo => Self::Pipe,
            rustix::fs::FileType::Socket => {
                creator(stdin.as_fd()).map_or(Self::Other, |creator| Self::Socket { creator })
            }
            _file => Self::Other,
        }
    }

    /// The ancestor that made the socket: it is the client, whatever its name.
    pub fn creating_ancestor(self) -> Option<AncestorProcess> {
        match self {
            Self::Socket { creator } => ancestry::ancestors().find(|ancestor| ancestor.id == creator),
            Self::Pipe | Self::Other => None,
        }
    }
}

/// The process that made a socket pair. The kernel keeps it with the socket.
#[cfg(target_os = "linux")]
fn creator(socket: impl AsFd) -> Option<i32> {
    let creator = rustix::net::sockopt::socket_peercred(socket).ok()?.pid.as_raw_pid();
    // 0 stands for a process outside of this PID namespace.
    (creator > 0).then_some(creator)
}

#[cfg(not(target_os = "linux"))]
fn creator(_socket: impl AsFd) -> Option<i32> {
    None
}

/// How a client hands events to its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A socket that the client made.
    Socket,
    /// A pipe, in the client's own session of the operating system. Commands of its agents run in sessions of their own.
    Pipe,
    /// A pipe, in a new session.
    PipeInNewSession,
    /// Anything else, such as a file.
    Other,
}

impl Channel {
    const OTHER: &str = "other";

    /// The channel between a client and this process; `between` are the processes that stand between them.
    pub fn of(input: Input, client: &AncestorProcess, between: &[AncestorProcess]) -> Self {
        match input {
            Input::Socket { creator } if creator == client.id => Self::Socket,
            // Nobody can tell who made a pipe, so what stands between must be a hook's shell and nothing else.
            Input::Pipe if is_hook_line(between) && !has_marks_of_command(client) => {
                // In a PID namespace both may be 0: the session began outside.
                let own = getsid(None);
                if own == getsid(Some(Pid::from_raw(client.id))) { Self::Pipe } else { Self::PipeInNewSession }
            }
            Input::Socket { .. } | Input::Pipe | Input::Other => Self::Other,
        }
    }

    /// True if no command of an agent can have this channel to the client: it cannot make a socket as the client, nor
    /// return to the client's session of the operating system.
    fn is_proof(self) -> bool {
        match self {
            Self::Socket | Self::Pipe => true,
            Self::PipeInNewSession | Self::Other => false,
        }
    }

    /// The word in the client's record.
    pub fn word(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Pipe => "pipe",
            Self::PipeInNewSession => "pipe-new-session",
            Self::Other => Self::OTHER,
        }
    }
}

/// True if the client started this process directly, or through one shell whose command line begins with haltline.
fn is_hook_line(between: &[AncestorProcess]) -> bool {
    match between {
        [] => true,
        [shell] => {
            let program = std::env::args().next().unwrap_or_default();
            let line = shell.command_line();
            let script = line.iter().skip_while(|word| *word != "-c").nth(1);
            let before = script.and_then(|script| script.split_once(program.as_str())).map(|(before, _)| before);
            before.is_some_and(|before| !before.contains(['|', '<', '>', ';', '&', '(', '\n']))
        }
        _more => false,
    }
}

/// True if this process has what some clients give only to the commands of their agents: a signal at the client's death
/// (Codex), or a sandbox that nothing can leave and the client itself is not in.
fn has_marks_of_command(client: &AncestorProcess) -> bool {
    is_killed_with_parent() || no_new_privileges("self") != no_new_privileges(&client.id.to_string())
}

#[cfg(target_os = "linux")]
fn is_killed_with_parent() -> bool {
    rustix::process::parent_process_death_signal().is_ok_and(|signal| signal.is_some())
}

#[cfg(not(target_os = "linux"))]
fn is_killed_with_parent() -> bool {
    false
}

fn no_new_privileges(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("NoNewPrivs:")).map(|value| value.trim().to_owned())
}
