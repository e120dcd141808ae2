//! What reaches the runner, in one queue: signals at any time, and what happens to the command while one runs.
//!
//! One per process, made before the first command and kept to the end: a signal that was once taken over does not get
//! its default meaning back.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use haltline_engine::clock::Patience;
use signal_hook::consts::signal::*;
use signal_hook::iterator::{Handle, Signals};

use super::processes;
use super::{Shown, Stream};

/// The signals that end a run.
pub(super) const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// The signals that are the command's business, or need an answer of ours.
const OTHER: [i32; 6] = [SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD];

/// Something that happened.
#[derive(Debug)]
pub(super) enum Happening {
    /// This process got a signal.
    Signal(i32),
    /// The command said something.
    Heard(Stream, Vec<u8>),
    /// The command's stream is at its end, or our output is.
    Closed(Stream, Shown),
    /// The command itself changed.
    Command(Change),
}

/// What the system says of the command's own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It has ended and was not taken note of yet, so its number is still its own.
    Exited(i32),
    /// The same, by a signal.
    Signalled(i32),
    /// It stands still, by this signal.
    Stopped(i32),
    /// It cannot be waited for.
    Lost,
}

/// A happening and the run it belongs to: threads of an earlier run may be late.
type Note = (Option<u64>, Happening);

/// The runner's queue.
pub struct Inbox {
    receiver: Receiver<Note>,
    sender: Sender<Note>,
    run: u64,
    heeded: Vec<i32>,
    signals: Handle,
}

/// Where the threads of one run send what they see.
#[derive(Clone)]
pub(super) struct Notes {
    sender: Sender<Note>,
    run: u64,
}

impl Notes {
    /// False where nobody listens any more.
    pub(super) fn send(&self, happening: Happening) -> bool {
        self.sender.send((Some(self.run), happening)).is_ok()
    }
}

impl Inbox {
    /// Takes over this process's signals.
    pub fn open() -> std::io::Result<Self> {
        let ignored = ignored_signals();
        // Under `nohup`, and in the background of a script, signals are ignored on purpose: so be it, for the command too.
        let is_heeded = |signal: &i32| matches!(*signal, SIGCHLD | SIGCONT) || ignored & (1 << (signal - 1)) == 0;
        let heeded: Vec<i32> = ENDING.into_iter().chain(OTHER).filter(is_heeded).collect();
        let mut signals = Signals::new(&heeded)?;
        let handle = signals.handle();
        let (sender, receiver) = channel();
        let out = sender.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if out.send((None, Happening::Signal(signal))).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { receiver, sender, run: 0, heeded, signals: handle })
    }

    /// Waits between commands, at most this long. Returns at once with a signal that asks us to end.
    pub fn wait(&mut self, limit: Duration) -> Option<i32> {
        let patience = Patience::new(limit);
        loop {
            match self.next(patience.left())? {
                Happening::Signal(signal) if ENDING.contains(&signal) => return Some(signal),
                Happening::Signal(SIGTSTP) => suspend(),
                Happening::Signal(_) | Happening::Heard(..) | Happening::Closed(..) | Happening::Command(_) => {}
            }
        }
    }

    /// Whether a signal reaches us at all.
    pub(super) fn heeds(&self, signal: i32) -> bool {
        self.heeded.contains(&signal)
    }

    /// Begins a new run: what threads of earlier ones still send is passed over.
    pub(super) fn begin(&mut self) -> Notes {
        self.run += 1;
        Notes { sender: self.sender.clone(), run: self.run }
    }

    /// The next happening of the present run, or `None` after this long.
    pub(super) fn next(&mut self, limit: Duration) -> Option<Happening> {
        let patience = Patience::new(limit);
        loop {
            match self.receiver.recv_timeout(patience.left()) {
                Ok((run, happening)) if run.is_none_or(|run| run == self.run) => return Some(happening),
                Ok(_late) => {}
                // We hold a sender ourselves, so the queue is never closed.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.signals.close();
    }
}

/// Stops this process as Ctrl-Z does; returns when it was continued. Where nobody could continue it, it goes on.
pub(super) fn suspend() {
    if !processes::is_own_group_orphaned() {
        // SIGSTOP cannot fail.
        signal_hook::low_level::raise(SIGSTOP).ok();
    }
}

/// The signals this process was started to ignore, as bits from SIGHUP on.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
