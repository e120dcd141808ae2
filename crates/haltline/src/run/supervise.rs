//! The supervision of one command: what is asked for, who listens, how it ended (P8).

use std::ffi::OsString;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use super::orphans::Adoption;
use super::running::Running;
use super::{Identity, Inbox, Keep, Kept, LeftProcess, StartError, Stream, Terminal, start};

/// A command and what it may do.
#[derive(Clone, Copy, Debug)]
pub struct Supervised<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Where it runs.
    pub folder: &'a Path,
    /// Variables it gets beside ours.
    pub environment: &'a [(OsString, OsString)],
    /// The name of the run, by which its processes are known again: letters, digits, `-`, `_` and `.`, and never that
    /// of another run that goes on, or the two would end each other's processes.
    pub run_id: &'a str,
    /// Where its input and output go.
    pub terminal: Terminal,
    /// How long it may go on.
    pub limits: Limits,
    /// How much of its output is kept.
    pub keep: Keep,
}

/// How long a command may go on. Time during which we were suspended (Ctrl-Z) or the machine slept does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From its start.
    pub wall: Option<Duration>,
    /// Without a byte on either of its streams. A command that cannot go on because nobody reads our own output is not
    /// idle. Means nothing with [`Terminal::Inherit`].
    pub idle: Option<Duration>,
    /// From being asked to end until it is killed: the time to save its work.
    pub grace: Duration,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// It does.
    On,
    /// It ends. Who said so knows why.
    End,
}

/// Who follows a run and may end it at any time. What is said after that is still heard.
pub trait Listener {
    /// The command runs: this is its process, and its group has the same number.
    fn started(&mut self, _command: Identity) -> Go {
        Go::On
    }
    /// It said something. Lines and letters may be cut anywhere.
    fn heard(&mut self, stream: Stream, bytes: &[u8]) -> Go;
    /// A second has passed.
    fn ticked(&mut self) -> Go;
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What the command's own process came to.
    pub how: How,
    /// Who ended it.
    pub cause: Cause,
    /// Whether it did not end within its grace and was killed.
    pub killed_hard: bool,
    /// What it left behind and had to be ended after it.
    pub left_behind: Vec<LeftProcess>,
    /// How long it ran.
    pub wall: Duration,
    /// What is kept of its output.
    pub output: Kept,
}

/// What a command's own process came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It ended with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It could not even be killed: it belongs to another user (`sudo`), or hangs in the kernel.
    StillThere,
}

impl How {
    /// The exit code a shell would show for it.
    pub fn exit_code(self) -> u8 {
        match self {
            How::Exited(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            How::Signalled(signal) => u8::try_from(128 + (signal & 0x7f)).unwrap_or(u8::MAX),
            How::StillThere => 128 + 9,
        }
    }
}

/// Who ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The command did. Ctrl-C in its own terminal is its own affair as well: it shows in [`How::Signalled`].
    Own,
    /// Its time was over.
    Wall,
    /// It said nothing for too long.
    Idle,
    /// The listener wished it.
    Asked,
    /// It asked for a terminal that it does not have and stood still for ever (SIGTTIN, SIGTTOU).
    NeedsTerminal,
    /// This process got a signal that ends it. Holds also where a limit, or the command, was faster.
    Signal(i32),
}

/// Runs a command to its end and leaves nothing of it behind.
///
/// Our own output and the terminal belong to the command meanwhile: write nothing to them before this returns.
pub fn supervise(wanted: &Supervised<'_>, listener: &mut dyn Listener, inbox: &mut Inbox) -> Result<Ended, StartError> {
    let adoption = Adoption::begin();
    let child: Child = start::start(wanted)?;
    let running = Running::new(wanted, listener, inbox, child, adoption.is_on)?;
    Ok(running.finish())
}
