//! A running command: one loop that wakes on output, on the command's end, on a signal, or at the next deadline.

use std::process::Child;
use std::time::Duration;

use haltline_engine::clock::Deadline;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use signal_hook::consts::signal::{SIGCHLD, SIGCONT, SIGINT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};

use super::inbox::{self, EventSender, ProcessChange, SupervisorEvent};
use super::output_stream::StreamCopy;
use super::sweep::{self, EndTimes, RunProcesses, WaitResult};
use super::terminal::Foreground;
use super::{
    CommandExit, EndCause, EndedRun, Forwarded, Inbox, KeptOutput, Listener, OutputStream, Process, ProcessIdentity,
    RunControl, StartError, SupervisedCommand, Terminal, orphans, processes,
};

/// How often the listener is called.
const TICK: Duration = Duration::from_secs(1);
/// Processes that are left when a command ended by itself may finish within this time.
const VOLUNTARY_END_TIME: Duration = Duration::from_millis(100);
/// How long processes that are left get to end after SIGTERM.
const LEFT_BEHIND_GRACE_MAX: Duration = Duration::from_secs(2);
/// How long a killed process may take to be gone.
const KILLED_MAX: Duration = Duration::from_secs(20);
/// How often the supervisor checks whether the rest of the output is delivered.
const DELIVERY_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// More than fits into a pipe: output beyond this after the command's end is not the command's.
const AFTER_END_BYTES_MAX: u64 = 1 << 20;

/// A running command.
pub(super) struct Running<'a> {
    supervised: &'a SupervisedCommand<'a>,
    listener: &'a mut dyn Listener,
    inbox: &'a mut Inbox,
    child: Child,
    group: Group,
    adopts: bool,
    foreground: Option<Foreground>,
    copying: Vec<StreamCopy>,
    kept: KeptOutput,
    clock: Deadline,
    suspended: Duration,
    /// True if the SIGCONT that will be read next was handled already.
    is_resumed: bool,
    last_output: Duration,
    last_tick: Duration,
    after_end_bytes: u64,
    ending: Option<Ending>,
    cause: EndCause,
    interrupt_count: u32,
    exit: Option<CommandExit>,
    was_killed: bool,
}

/// The steps from the first request to end until the end.
struct Ending {
    /// When SIGTERM follows another signal, which may mean something else to the command.
    terminate_at: Option<Duration>,
    kill_at: Option<Duration>,
    /// When the supervisor stops waiting for a process that was killed.
    give_up_at: Option<Duration>,
}

impl<'a> Running<'a> {
    pub(super) fn new(
        supervised: &'a SupervisedCommand<'a>,
        listener: &'a mut dyn Listener,
        inbox: &'a mut Inbox,
        mut child: Child,
        adopts: bool,
    ) -> Result<Self, StartError> {
        let group = Group::from_child(&child);
        let foreground = (supervised.terminal == Terminal::Inherit).then(|| {
            let mut foreground = Foreground::new();
            foreground.give_to(group.pid);
            // It may have asked for the terminal a moment too early and be stopped now.
            group.signal(Signal::CONT);
            foreground
        });
        let is_forwarded = supervised.terminal != Terminal::Listen;
        let copying = spawn_watchers(&mut child, group.pid, &inbox.begin_run(), is_forwarded).map_err(|error| {
            // Without threads nothing can be supervised. Dropping the group kills it.
            StartError::Other(supervised.command.first().cloned().unwrap_or_default(), error)
        })?;
        Ok(Self {
            supervised,
            listener,
            inbox,
            child,
            group,
            adopts,
            foreground,
            copying,
            kept: KeptOutput::new(supervised.keep),
            clock: Deadline::new(Duration::MAX),
            suspended: Duration::ZERO,
            is_resumed: false,
            last_output: Duration::ZERO,
            last_tick: Duration::ZERO,
            after_end_bytes: 0,
            ending: None,
            cause: EndCause::Command,
            interrupt_count: 0,
            exit: None,
            was_killed: false,
        })
    }

    /// Follows the command to its end.
    pub(super) fn finish(mut self) -> EndedRun {
        if self.listener.on_start(self.group.leader) == RunControl::End {
            self.end(EndCause::Listener);
        }
        let exit = loop {
            if let Some(exit) = self.exit {
                break exit;
            }
            let left = self.next_deadline().saturating_sub(self.now());
            if let Some(event) = self.inbox.next(left) {
                self.handle_event(event);
            }
            self.check_deadlines();
        };
        let wall = self.now();
        if let Some(foreground) = &mut self.foreground {
            foreground.reclaim();
        }
        let left_behind = self.sweep();
        self.deliver_output();
        if exit != CommandExit::Unkillable {
            // It has ended; from now on its process id may be used again.
            self.child.wait().ok();
        }
        self.group.is_over = true;
        if let Some(foreground) = &self.foreground
            && !matches!(exit, CommandExit::Exited(_))
        {
            foreground.restore_modes();
        }
        EndedRun { exit, cause: self.cause, was_killed: self.was_killed, left_behind, wall, output: self.kept }
    }

    /// Time since the start, without the time we were suspended.
    fn now(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.suspended)
    }

    fn next_deadline(&self) -> Duration {
        let limits = &self.supervised.limits;
        let tick = self.last_tick + TICK;
        let deadlines = match &self.ending {
            None => [limits.wall, self.idle_limit().map(|idle| self.last_output.saturating_add(idle)), None],
            Some(ending) => [ending.terminate_at, ending.kill_at, ending.give_up_at],
        };
        deadlines.into_iter().flatten().fold(tick, Duration::min)
    }

    fn idle_limit(&self) -> Option<Duration> {
        self.supervised.limits.idle.filter(|_| self.supervised.terminal != Terminal::Inherit)
    }

    fn check_deadlines(&mut self) {
        let now = self.now();
        if now.saturating_sub(self.last_tick) >= TICK {
            self.last_tick = now;
            if self.listener.on_tick() == RunControl::End {
                self.end(EndCause::Listener);
            }
        }
        if self.ending.is_none() {
            if self.supervised.limits.wall.is_some_and(|wall| now >= wall) {
                self.end(EndCause::WallLimit);
            } else if self.idle_limit().is_some_and(|idle| now.saturating_sub(self.last_output) >= idle) {
                if self.copying.iter().any(|copying| copying.is_open && copying.is_blocked()) {
                    self.last_output = now;
                } else {
                    self.end(EndCause::IdleLimit);
                }
            }
        }
        let Some(ending) = &mut self.ending else { return };
        if ending.terminate_at.take_if(|at| *at <= now).is_some() {
            self.group.request_end(Signal::TERM);
        }
        if ending.kill_at.take_if(|at| *at <= now).is_some() {
            ending.terminate_at = None;
            ending.give_up_at = Some(now + KILLED_MAX);
            self.was_killed = true;
            self.group.signal(Signal::KILL);
        }
        if ending.give_up_at.is_some_and(|at| at <= now) && self.exit.is_none() {
            self.exit = Some(CommandExit::Unkillable);
        }
    }

    /// Asks the command to end; its grace starts now.
    fn end(&mut self, cause: EndCause) {
        if self.ending.is_none() && self.exit.is_none() {
            self.cause = cause;
            let kill_at = Some(self.now().saturating_add(self.supervised.limits.grace));
            self.ending = Some(Ending { terminate_at: None, kill_at, give_up_at: None });
            self.group.request_end(Signal::TERM);
        }
    }

    fn handle_event(&mut self, event: SupervisorEvent) {
        match event {
            SupervisorEvent::Output(stream, bytes) => self.handle_output(stream, &bytes),
            SupervisorEvent::Closed(stream, forwarded) => {
                self.kept.stream_mut(stream).forwarded = forwarded;
                self.copying
                    .iter_mut()
                    .filter(|copying| copying.stream == stream)
                    .for_each(|open| open.is_open = false);
            }
            SupervisorEvent::Command(ProcessChange::Exited(code)) => self.exit = Some(CommandExit::Exited(code)),
            SupervisorEvent::Command(ProcessChange::Signalled(signal)) => {
                self.exit = Some(CommandExit::Signalled(signal))
            }
            SupervisorEvent::Command(ProcessChange::Lost) => self.exit = Some(CommandExit::Unkillable),
            SupervisorEvent::Command(ProcessChange::Stopped(signal)) => self.handle_stop(signal),
            SupervisorEvent::Signal(signal) => self.handle_signal(signal),
        }
    }

    fn handle_output(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.last_output = self.now();
        self.kept.stream_mut(stream).push(bytes);
        if self.exit.is_some() {
            self.after_end_bytes += bytes.len() as u64;
        }
        self.copying.iter().filter(|copying| copying.stream == stream).for_each(StreamCopy::piece_handled);
        if self.listener.on_output(stream, bytes) == RunControl::End {
            self.end(EndCause::Listener);
        }
    }

    fn handle_signal(&mut self, signal: i32) {
        match signal {
            SIGCHLD => orphans::reap(self.group.leader.pid),
            SIGTSTP => self.suspend(),
            SIGCONT if self.is_resumed => self.is_resumed = false,
            SIGCONT => self.resume(),
            other if inbox::ENDING_SIGNALS.contains(&other) => self.handle_ending_signal(other),
            other => self.group.signal_raw(other),
        }
    }

    fn handle_ending_signal(&mut self, signal: i32) {
        if !matches!(self.cause, EndCause::Signal(_)) {
            self.cause = EndCause::Signal(signal);
        }
        self.interrupt_count += u32::from(signal == SIGINT);
        self.group.signal_raw(signal);
        self.group.signal(Signal::CONT);
        let (now, grace) = (self.now(), self.supervised.limits.grace);
        let ending = self.ending.get_or_insert(Ending {
            terminate_at: (signal != SIGTERM).then(|| now.saturating_add(grace / 2)),
            kill_at: Some(now.saturating_add(grace)),
            give_up_at: None,
        });
        if self.interrupt_count >= 2 && ending.kill_at.is_some() {
            ending.kill_at = Some(now);
        }
    }

    /// The command was stopped.
    fn handle_stop(&mut self, signal: i32) {
        // Outdated: while we were suspended nobody read the queue, and the command was continued meanwhile.
        if Process::read(self.group.leader.pid).is_some_and(|process| !process.is_stopped) {
            return;
        }
        let wants_terminal = matches!(signal, SIGTTIN | SIGTTOU);
        if self.ending.is_some() {
            self.group.signal(Signal::CONT);
            return;
        }
        let Some(foreground) = &mut self.foreground else {
            // Nobody will ever give it a terminal. If another signal stopped it, it is idle: somebody may continue it.
            if wants_terminal {
                self.end(EndCause::NeedsTerminal);
            }
            return;
        };
        let cannot_suspend = !self.inbox.handles(SIGTSTP) || processes::is_own_group_orphaned();
        let has_terminal = foreground.is_held_by(self.group.pid) || foreground.is_ours();
        if wants_terminal && has_terminal || cannot_suspend {
            // It asked before it got the terminal, or nobody could ever continue us.
            foreground.give_to(self.group.pid);
            self.group.signal(Signal::CONT);
            return;
        }
        // We stop as well, with everything in our process group, so that the shell notices and gets the terminal.
        foreground.reclaim();
        rustix::process::kill_current_process_group(Signal::TSTP).ok();
    }

    fn suspend(&mut self) {
        if processes::is_own_group_orphaned() {
            return;
        }
        self.group.signal(Signal::TSTP);
        if let Some(foreground) = &mut self.foreground {
            foreground.reclaim();
        }
        let before = self.clock.elapsed();
        inbox::suspend();
        self.suspended += self.clock.elapsed().saturating_sub(before);
        // We are running again, so SIGCONT has arrived. Continue the command before handling queued events: one of them
        // may report its stop, which would stop us again.
        self.resume();
        self.is_resumed = true;
    }

    fn resume(&mut self) {
        self.last_output = self.now();
        if let Some(foreground) = &mut self.foreground
            && self.exit.is_none()
        {
            foreground.give_to(self.group.pid);
        }
        self.group.signal(Signal::CONT);
    }

    fn sweep(&mut self) -> Vec<super::LeftProcess> {
        let run_id = self.supervised.run_id;
        let run_processes = RunProcesses { run_id, leader: self.group.leader, has_group: true, adopts: self.adopts };
        let short = LEFT_BEHIND_GRACE_MAX.min(self.supervised.limits.grace);
        let times = match &self.ending {
            None => EndTimes { voluntary: VOLUNTARY_END_TIME, grace: short },
            Some(_) if self.interrupt_count >= 2 => EndTimes { voluntary: Duration::ZERO, grace: Duration::ZERO },
            // Processes that got the signal together with the command have the rest of the same grace.
            Some(ending) => {
                let rest = ending.kill_at.unwrap_or_default().saturating_sub(self.now());
                EndTimes { voluntary: Duration::ZERO, grace: rest.max(short) }
            }
        };
        sweep::sweep(&run_processes, times, &mut |limit| self.wait_for_change(limit))
    }

    /// Handles events while the remaining processes end; returns early when a process has ended.
    fn wait_for_change(&mut self, limit: Duration) -> WaitResult {
        let deadline = Deadline::new(limit);
        while let Some(event) = self.inbox.next(deadline.remaining()) {
            let is_change = matches!(event, SupervisorEvent::Signal(SIGCHLD));
            self.handle_event(event);
            if is_change || deadline.remaining().is_zero() {
                break;
            }
        }
        if self.interrupt_count >= 2 { WaitResult::Hurry } else { WaitResult::Continue }
    }

    /// Waits until all output of the command is delivered, however slowly it is read, unless the run is out of time or
    /// a signal ends it. Does not wait for a pipe that other processes keep open.
    fn deliver_output(&mut self) {
        let before = (self.cause, self.interrupt_count);
        let grace = self.supervised.limits.grace.max(TICK);
        let mut give_up_at = self.ending.is_some().then(|| self.now().saturating_add(grace));
        loop {
            for copying in self.copying.iter_mut().filter(|copying| copying.is_open) {
                copying.is_open = !copying.is_caught_up() && self.after_end_bytes <= AFTER_END_BYTES_MAX;
            }
            if !self.copying.iter().any(|copying| copying.is_open) {
                break;
            }
            let now = self.now();
            if give_up_at.is_none() && self.supervised.limits.wall.is_some_and(|wall| now >= wall) {
                give_up_at = Some(now.saturating_add(grace));
            }
            if (self.cause, self.interrupt_count) != before || give_up_at.is_some_and(|at| at <= now) {
                for copying in self.copying.iter().filter(|copying| copying.is_open) {
                    self.kept.stream_mut(copying.stream).forwarded = Forwarded::GivenUp;
                }
                break;
            }
            if let Some(event) = self.inbox.next(DELIVERY_POLL_INTERVAL) {
                self.handle_event(event);
            }
        }
        // This ends the threads; the events they sent before are still handled.
        self.copying.clear();
        while let Some(event) = self.inbox.next(Duration::ZERO) {
            if matches!(event, SupervisorEvent::Output(..)) {
                self.handle_event(event);
            }
        }
    }
}

/// The command's process group. It is killed if this is dropped before the run is over, because then we have failed.
struct Group {
    leader: ProcessIdentity,
    pid: Pid,
    is_over: bool,
}

impl Group {
    fn from_child(child: &Child) -> Self {
        let pid = Pid::from_child(child);
        let number = pid.as_raw_nonzero().get();
        let leader = ProcessIdentity::from_pid(number).unwrap_or(ProcessIdentity { started: 0, pid: number });
        Self { leader, pid, is_over: false }
    }

    /// Signals the group, and also the command if it has left the group. The command is not reaped until the very end,
    /// so its process id cannot belong to another process.
    fn signal(&self, signal: Signal) {
        // The group may be empty or not ours to signal; the sweep will show.
        rustix::process::kill_process_group(self.pid, signal).ok();
        if rustix::process::getpgid(Some(self.pid)) != Ok(self.pid) {
            rustix::process::kill_process(self.pid, signal).ok();
        }
    }

    fn signal_raw(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            self.signal(signal);
        }
    }

    /// A stopped process does not handle signals, so it is also continued.
    fn request_end(&self, signal: Signal) {
        self.signal(signal);
        self.signal(Signal::CONT);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
        }
    }
}

/// Starts the threads that watch a command: one for each stream, one for its end.
fn spawn_watchers(
    child: &mut Child,
    pid: Pid,
    events: &EventSender,
    is_forwarded: bool,
) -> std::io::Result<Vec<StreamCopy>> {
    let own = events.clone();
    std::thread::Builder::new().name("command".to_owned()).spawn(move || report_changes(pid, &own))?;
    let mut copying = Vec::new();
    if let Some(out) = child.stdout.take() {
        copying.push(StreamCopy::start(OutputStream::Out, out.into(), events.clone(), is_forwarded)?);
    }
    if let Some(err) = child.stderr.take() {
        copying.push(StreamCopy::start(OutputStream::Err, err.into(), events.clone(), is_forwarded)?);
    }
    Ok(copying)
}

/// Reports every change of the command's process. Its end is observed but not reaped: until then neither its process id
/// nor its group id can be reused, and both can be signalled safely.
fn report_changes(pid: Pid, events: &EventSender) {
    let stop_or_continue = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
    loop {
        let status = match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | stop_or_continue | WaitIdOptions::NOWAIT) {
            Err(Errno::INTR) | Ok(None) => continue,
            Err(_no_child) => None,
            Ok(status) => status,
        };
        let end = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            None => Some(ProcessChange::Lost),
            Some((Some(code), _)) => Some(ProcessChange::Exited(code)),
            Some((None, Some(signal))) => Some(ProcessChange::Signalled(signal)),
            Some((None, None)) => None,
        };
        if let Some(end) = end {
            events.send(SupervisorEvent::Command(end));
            return;
        }
        // A stop or continue must be consumed, or it would be reported forever. It may be another one than a moment
        // ago.
        let Ok(Some(change)) = waitid(WaitId::Pid(pid), stop_or_continue | WaitIdOptions::NOHANG) else { continue };
        if let Some(signal) = change.stopping_signal()
            && !events.send(SupervisorEvent::Command(ProcessChange::Stopped(signal)))
        {
            return;
        }
    }
}
