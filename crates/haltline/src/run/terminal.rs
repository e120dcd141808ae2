//! Gives an interactive command the terminal like a shell does with a job, and takes it back (Ctrl-C, Ctrl-Z, `fg`).

use std::os::fd::BorrowedFd;

use nix::sys::signal::{SigSet, SigmaskHow, Signal as NixSignal};
use rustix::process::Pid;
use rustix::stdio;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use super::processes::own_group;

/// Where a command's input and output go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// It gets our terminal, in the foreground, as if it had been started without us: full-screen clients work. Its
    /// output cannot be read or kept then, and idleness cannot be measured: [`super::Limits::idle`] does nothing.
    Inherit,
    /// Its output comes through pipes, is forwarded and kept. Its input is ours, unless that is a terminal: a command
    /// in the background must not read from one, so it gets none.
    Pipe,
    /// Its output is read and kept, and nobody else sees it; it has no input.
    Listen,
}

impl Terminal {
    /// [`Terminal::Inherit`] if our input and output are a terminal, else [`Terminal::Pipe`].
    pub fn for_this_process() -> Self {
        if isatty(stdio::stdin()) && isatty(stdio::stdout()) { Terminal::Inherit } else { Terminal::Pipe }
    }
}

/// Controls the terminal while a command may have it. Dropping it takes the terminal back.
pub(super) struct Foreground {
    /// Unknown in a container that was started from outside: then the terminal is not ours to give.
    own: Option<Pid>,
    modes: Option<Termios>,
    is_given: bool,
}

impl Foreground {
    pub(super) fn new() -> Self {
        Self { own: Pid::from_raw(own_group()), modes: tcgetattr(terminal()).ok(), is_given: false }
    }

    /// Gives the terminal to a process group, if it is ours to give: in the background it is not.
    pub(super) fn give_to(&mut self, group: Pid) {
        if self.is_ours() && without_sigttou(|| tcsetpgrp(terminal(), group)).is_ok() {
            self.is_given = true;
        }
    }

    /// True if we have the terminal, so that we are in the foreground.
    pub(super) fn is_ours(&self) -> bool {
        self.own.is_some_and(|own| tcgetpgrp(terminal()) == Ok(own))
    }

    /// True if this process group has the terminal.
    pub(super) fn is_held_by(&self, group: Pid) -> bool {
        tcgetpgrp(terminal()) == Ok(group)
    }

    /// Takes the terminal back, whichever of the command's jobs has it now.
    pub(super) fn reclaim(&mut self) {
        if std::mem::take(&mut self.is_given)
            && let Some(own) = self.own
        {
            // A terminal that is gone cannot be taken back, which does no harm.
            without_sigttou(|| tcsetpgrp(terminal(), own)).ok();
        }
    }

    /// Restores the terminal's modes: a full-screen command that was killed could not.
    pub(super) fn restore_modes(&self) {
        if let Some(modes) = &self.modes
            && self.is_ours()
        {
            without_sigttou(|| tcsetattr(terminal(), OptionalActions::Drain, modes)).ok();
        }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        self.reclaim();
    }
}

fn terminal() -> BorrowedFd<'static> {
    stdio::stdin()
}

/// Runs `act` with SIGTTOU blocked, because that signal stops a process in the background that uses the terminal. It is
/// blocked in this thread and during this call only: a command that starts meanwhile must not inherit it.
fn without_sigttou<T>(act: impl FnOnce() -> T) -> T {
    let mut blocked = SigSet::empty();
    blocked.add(NixSignal::SIGTTOU);
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let result = act();
    if let Ok(before) = before {
        before.thread_set_mask().ok();
    }
    result
}
