//! The supervision of one command: what to run, who listens, how it ended (P8).

use std::ffi::OsString;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use super::orphans::Adoption;
use super::running::Running;
use super::{Inbox, KeepLimits, KeptOutput, LeftProcess, OutputStream, ProcessIdentity, StartError, Terminal, start};

/// A command and what it may do.
#[derive(Clone, Copy, Debug)]
pub struct SupervisedCommand<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    pub folder: &'a Path,
    /// Variables that the command gets in addition to ours.
    pub environment: &'a [(OsString, OsString)],
    /// The id of the run, which identifies its processes: letters, digits, `-`, `_` and `.`. It must differ from that
    /// of any other current run, or the two would end each other's processes.
    pub run_id: &'a str,
    /// Where its input and output go.
    pub terminal: Terminal,
    pub limits: Limits,
    /// How much of its output is kept.
    pub keep: KeepLimits,
}

/// How long a command may run. Time during which we were suspended (Ctrl-Z) or the machine slept does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From its start.
    pub wall: Option<Duration>,
    /// Without a byte of output. A command that is blocked because nobody reads our own output is not idle. Has no
    /// meaning with [`Terminal::Inherit`].
    pub idle: Option<Duration>,
    /// From the request to end until the kill: the time to save its work.
    pub grace: Duration,
}

/// Whether a run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunControl {
    Continue,
    /// The run ends; the listener that returned this knows why.
    End,
}

/// Follows a run and may end it at any time. It still receives the output after that.
pub trait Listener {
    /// The command runs as this process; its process group has the same id.
    fn on_start(&mut self, _command: ProcessIdentity) -> RunControl {
        RunControl::Continue
    }
    /// The command wrote output. Lines and characters may be cut anywhere.
    fn on_output(&mut self, stream: OutputStream, bytes: &[u8]) -> RunControl;
    /// A second has passed.
    fn on_tick(&mut self) -> RunControl;
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// How the command's own process ended.
    pub exit: CommandExit,
    /// Who ended it.
    pub cause: EndCause,
    /// True if it did not end within its grace and was killed.
    pub was_killed: bool,
    /// Processes it left behind, which had to be ended after it.
    pub left_behind: Vec<LeftProcess>,
    /// How long it ran.
    pub wall: Duration,
    /// What is kept of its output.
    pub output: KeptOutput,
}

/// How a command's own process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandExit {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It could not be killed: it belongs to another user (`sudo`), or hangs in the kernel.
    Unkillable,
}

impl CommandExit {
    /// The exit code that a shell would show for it.
    pub fn exit_code(self) -> u8 {
        match self {
            CommandExit::Exited(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            CommandExit::Signalled(signal) => u8::try_from(128 + (signal & 0x7f)).unwrap_or(u8::MAX),
            CommandExit::Unkillable => 128 + 9,
        }
    }
}

/// Who ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// The command itself. Ctrl-C in its own terminal counts as that too: it shows in [`CommandExit::Signalled`].
    Command,
    /// Its time limit.
    WallLimit,
    /// It wrote no output for too long.
    IdleLimit,
    /// The listener ended it.
    Listener,
    /// It wanted a terminal that it does not have and would have stopped forever (SIGTTIN, SIGTTOU).
    NeedsTerminal,
    /// This process got a signal that ends it. This applies even if a limit, or the command, was faster.
    Signal(i32),
}

/// Runs a command to its end and leaves none of its processes behind.
///
/// Our own output and the terminal belong to the command meanwhile: write nothing to them before this returns.
pub fn supervise(
    supervised: &SupervisedCommand<'_>,
    listener: &mut dyn Listener,
    inbox: &mut Inbox,
) -> Result<EndedRun, StartError> {
    let adoption = Adoption::begin();
    let child: Child = start::start(supervised)?;
    let running = Running::new(supervised, listener, inbox, child, adoption.is_on)?;
    Ok(running.finish())
}
