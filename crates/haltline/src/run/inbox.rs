//! One queue for everything that reaches the supervisor: signals at any time, and events of the command while one runs.
//!
//! There is one per process, made before the first command and kept to the end, because a signal that was once taken
//! over does not get its default meaning back.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use haltline_engine::clock::Deadline;
use signal_hook::consts::signal::*;
use signal_hook::iterator::{Handle, Signals};

use super::processes;
use super::{Forwarded, OutputStream};

/// The signals that end a run.
pub(super) const ENDING_SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// The signals that are passed on to the command, or that the supervisor itself handles.
const OTHER_SIGNALS: [i32; 6] = [SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD];

#[derive(Debug)]
pub(super) enum SupervisorEvent {
    /// This process got a signal.
    Signal(i32),
    /// The command wrote output.
    Output(OutputStream, Vec<u8>),
    /// The command's output stream has ended, or our own output is closed.
    Closed(OutputStream, Forwarded),
    /// The state of the command's process changed.
    Command(ProcessChange),
}

/// What the system says about the command's own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessChange {
    /// It exited with this code and is not reaped yet, so its process id is still its own.
    Exited(i32),
    /// This signal ended it; it is not reaped yet.
    Signalled(i32),
    /// This signal stopped it.
    Stopped(i32),
    /// It cannot be waited for.
    Lost,
}

/// An event and the run it belongs to, because threads of an earlier run may be late.
type QueuedEvent = (Option<u64>, SupervisorEvent);

/// The supervisor's queue.
pub struct Inbox {
    receiver: Receiver<QueuedEvent>,
    sender: Sender<QueuedEvent>,
    run: u64,
    handled: Vec<i32>,
    signals: Handle,
}

/// Sends events of one run into the queue.
#[derive(Clone)]
pub(super) struct EventSender {
    sender: Sender<QueuedEvent>,
    run: u64,
}

impl EventSender {
    /// Returns false if nobody receives any more.
    pub(super) fn send(&self, event: SupervisorEvent) -> bool {
        self.sender.send((Some(self.run), event)).is_ok()
    }
}

impl Inbox {
    /// Takes over this process's signals.
    pub fn open() -> std::io::Result<Self> {
        let ignored = ignored_signals();
        // Under `nohup`, and in the background of a script, signals are ignored on purpose; the command ignores them
        // too.
        let is_handled = |signal: &i32| matches!(*signal, SIGCHLD | SIGCONT) || ignored & (1 << (signal - 1)) == 0;
        let handled: Vec<i32> = ENDING_SIGNALS.into_iter().chain(OTHER_SIGNALS).filter(is_handled).collect();
        let mut signals = Signals::new(&handled)?;
        let handle = signals.handle();
        let (sender, receiver) = channel();
        let out = sender.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if out.send((None, SupervisorEvent::Signal(signal))).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { receiver, sender, run: 0, handled, signals: handle })
    }

    /// Waits between commands, at most this long. Returns at once with a signal that ends the run.
    pub fn wait(&mut self, limit: Duration) -> Option<i32> {
        let deadline = Deadline::new(limit);
        loop {
            match self.next(deadline.remaining())? {
                SupervisorEvent::Signal(signal) if ENDING_SIGNALS.contains(&signal) => return Some(signal),
                SupervisorEvent::Signal(SIGTSTP) => suspend(),
                SupervisorEvent::Signal(_)
                | SupervisorEvent::Output(..)
                | SupervisorEvent::Closed(..)
                | SupervisorEvent::Command(_) => {}
            }
        }
    }

    /// True if the supervisor handles this signal.
    pub(super) fn handles(&self, signal: i32) -> bool {
        self.handled.contains(&signal)
    }

    /// Begins a new run: events that threads of earlier runs still send are dropped.
    pub(super) fn begin_run(&mut self) -> EventSender {
        self.run += 1;
        EventSender { sender: self.sender.clone(), run: self.run }
    }

    /// The next event of the current run, or `None` after this long.
    pub(super) fn next(&mut self, limit: Duration) -> Option<SupervisorEvent> {
        let deadline = Deadline::new(limit);
        loop {
            match self.receiver.recv_timeout(deadline.remaining()) {
                Ok((run, event)) if run.is_none_or(|run| run == self.run) => return Some(event),
                Ok(_late) => {}
                // This struct holds a sender, so the queue is never closed.
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

/// Stops this process as Ctrl-Z does and returns when it is continued. Does nothing if nobody could continue it.
pub(super) fn suspend() {
    if !processes::is_own_group_orphaned() {
        // SIGSTOP cannot fail.
        signal_hook::low_level::raise(SIGSTOP).ok();
    }
}

/// The signals that this process was started to ignore, as bits from SIGHUP on.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
