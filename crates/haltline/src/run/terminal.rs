//! Who has the terminal: an interactive command gets it like a job of a shell, and gives it back (Ctrl-C, Ctrl-Z, `fg`).

use std::os::fd::BorrowedFd;

use nix::sys::signal::{SigSet, SigmaskHow, Signal as NixSignal};
use rustix::process::Pid;
use rustix::stdio;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use super::processes::own_group;

/// Where a command's input and output go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// It gets our terminal itself, in the foreground, as if it had been started without us: full-screen clients work.
    /// Its output cannot be heard or kept then, and idleness cannot be measured: [`super::Limits::idle`] does nothing.
    Inherit,
    /// Its output comes through pipes, is passed on and kept. Its input is ours, unless that is a terminal: a command
    /// in the background must not read one, so it gets none.
    Pipe,
    /// Its output is heard and kept, and nobody else sees it; it has no input.
    Listen,
}

impl Terminal {
    /// What fits this process: a terminal for a command whose input and output would be one.
    pub fn of_this_process() -> Self {
        if isatty(stdio::stdin()) && isatty(stdio::stdout()) { Terminal::Inherit } else { Terminal::Pipe }
    }
}

/// Our claim on the terminal while a command may have it. Dropped, it takes the terminal back.
pub(super) struct Foreground {
    /// Unknown in a container that was started from outside: the terminal is not ours to give then.
    own: Option<Pid>,
    modes: Option<Termios>,
    is_given: bool,
}

impl Foreground {
    pub(super) fn new() -> Self {
        Self { own: Pid::from_raw(own_group()), modes: tcgetattr(terminal()).ok(), is_given: false }
    }

    /// Lets a group have the terminal, if it is ours to give: in the background it is not.
    pub(super) fn offer(&mut self, group: Pid) {
        if self.is_ours() && without_sigttou(|| tcsetpgrp(terminal(), group)).is_ok() {
            self.is_given = true;
        }
    }

    /// Whether the terminal is with us, so that we are in the foreground.
    pub(super) fn is_ours(&self) -> bool {
        self.own.is_some_and(|own| tcgetpgrp(terminal()) == Ok(own))
    }

    /// Whether this group has it.
    pub(super) fn is_with(&self, group: Pid) -> bool {
        tcgetpgrp(terminal()) == Ok(group)
    }

    /// Takes it back, whoever of the command's jobs has it now.
    pub(super) fn take_back(&mut self) {
        if std::mem::take(&mut self.is_given)
            && let Some(own) = self.own
        {
            // A terminal that is gone cannot be taken back, and nobody misses it.
            without_sigttou(|| tcsetpgrp(terminal(), own)).ok();
        }
    }

    /// Puts the terminal back as it was: a command that was killed in the middle of a full screen could not.
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
        self.take_back();
    }
}

fn terminal() -> BorrowedFd<'static> {
    stdio::stdin()
}

/// A process in the background that touches the terminal is stopped by SIGTTOU, unless the signal is blocked. It is
/// blocked for this call and in this thread only: a command that starts meanwhile must not inherit it.
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
