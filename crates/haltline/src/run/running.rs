//! A command that runs: one loop that wakes on output, on the command's end, on a signal, or at the next deadline.

use std::process::Child;
use std::time::Duration;

use haltline_engine::clock::Patience;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use signal_hook::consts::signal::{SIGCHLD, SIGCONT, SIGINT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};

use super::inbox::{self, Change, Happening, Notes};
use super::stream::Copying;
use super::sweep::{self, Belonging, Times, Waited};
use super::terminal::Foreground;
use super::{
    Cause, Ended, Go, How, Identity, Inbox, Kept, Listener, Process, Shown, StartError, Stream, Supervised, Terminal,
    orphans, processes,
};

/// How often the listener is asked.
const TICK: Duration = Duration::from_secs(1);
/// What is left of a command that ended by itself may finish within this.
const SETTLE: Duration = Duration::from_millis(100);
/// How long what is left gets to end when asked.
const LEFT_GRACE_MAX: Duration = Duration::from_secs(2);
/// How long a killed process may take to be gone.
const KILLED_MAX: Duration = Duration::from_secs(20);
/// How often one looks whether the rest of the output is delivered.
const DELIVERY_LOOK: Duration = Duration::from_millis(50);
/// More than fits into a pipe: what comes after the command's end is not the command's.
const AFTER_END_BYTES_MAX: u64 = 1 << 20;

/// A command on its way.
pub(super) struct Running<'a> {
    wanted: &'a Supervised<'a>,
    listener: &'a mut dyn Listener,
    inbox: &'a mut Inbox,
    child: Child,
    group: Group,
    adopts: bool,
    foreground: Option<Foreground>,
    copying: Vec<Copying>,
    kept: Kept,
    clock: Patience,
    suspended: Duration,
    /// Whether the SIGCONT that will be read next was answered already.
    is_resumed: bool,
    last_heard: Duration,
    last_tick: Duration,
    after_end_bytes: u64,
    ending: Option<Ending>,
    cause: Cause,
    interrupts: u32,
    how: Option<How>,
    killed_hard: bool,
}

/// The way from the first wish that it ends to its end.
struct Ending {
    /// When SIGTERM follows a signal that was not SIGTERM and may mean something else to the command.
    ask_at: Option<Duration>,
    kill_at: Option<Duration>,
    /// When one stops waiting for a process that was killed.
    give_up_at: Option<Duration>,
}

impl<'a> Running<'a> {
    pub(super) fn new(
        wanted: &'a Supervised<'a>,
        listener: &'a mut dyn Listener,
        inbox: &'a mut Inbox,
        mut child: Child,
        adopts: bool,
    ) -> Result<Self, StartError> {
        let group = Group::of(&child);
        let foreground = (wanted.terminal == Terminal::Inherit).then(|| {
            let mut foreground = Foreground::new();
            foreground.offer(group.pid);
            // It may have asked for the terminal a moment too early and stand still now.
            group.signal(Signal::CONT);
            foreground
        });
        let is_passed_on = wanted.terminal != Terminal::Listen;
        let copying = watch(&mut child, group.pid, &inbox.begin(), is_passed_on).map_err(|error| {
            // Without threads nothing can be supervised. The group is killed on the way out.
            StartError::Other(wanted.command.first().cloned().unwrap_or_default(), error)
        })?;
        Ok(Self {
            wanted,
            listener,
            inbox,
            child,
            group,
            adopts,
            foreground,
            copying,
            kept: Kept::new(wanted.keep),
            clock: Patience::new(Duration::MAX),
            suspended: Duration::ZERO,
            is_resumed: false,
            last_heard: Duration::ZERO,
            last_tick: Duration::ZERO,
            after_end_bytes: 0,
            ending: None,
            cause: Cause::Own,
            interrupts: 0,
            how: None,
            killed_hard: false,
        })
    }

    /// Follows it to its end.
    pub(super) fn finish(mut self) -> Ended {
        if self.listener.started(self.group.leader) == Go::End {
            self.end(Cause::Asked);
        }
        let how = loop {
            if let Some(how) = self.how {
                break how;
            }
            let left = self.next_deadline().saturating_sub(self.now());
            if let Some(happening) = self.inbox.next(left) {
                self.handle(happening);
            }
            self.look_at_the_time();
        };
        let wall = self.now();
        if let Some(foreground) = &mut self.foreground {
            foreground.take_back();
        }
        let left_behind = self.sweep();
        self.deliver();
        if how != How::StillThere {
            // It has ended; now its number may be used again.
            self.child.wait().ok();
        }
        self.group.is_over = true;
        if let Some(foreground) = &self.foreground
            && !matches!(how, How::Exited(_))
        {
            foreground.restore_modes();
        }
        Ended { how, cause: self.cause, killed_hard: self.killed_hard, left_behind, wall, output: self.kept }
    }

    /// Since the start, without the time we were suspended.
    fn now(&self) -> Duration {
        self.clock.used().saturating_sub(self.suspended)
    }

    fn next_deadline(&self) -> Duration {
        let limits = &self.wanted.limits;
        let tick = self.last_tick + TICK;
        let wished = match &self.ending {
            None => [limits.wall, self.idle_limit().map(|idle| self.last_heard.saturating_add(idle)), None],
            Some(ending) => [ending.ask_at, ending.kill_at, ending.give_up_at],
        };
        wished.into_iter().flatten().fold(tick, Duration::min)
    }

    fn idle_limit(&self) -> Option<Duration> {
        self.wanted.limits.idle.filter(|_| self.wanted.terminal != Terminal::Inherit)
    }

    fn look_at_the_time(&mut self) {
        let now = self.now();
        if now.saturating_sub(self.last_tick) >= TICK {
            self.last_tick = now;
            if self.listener.ticked() == Go::End {
                self.end(Cause::Asked);
            }
        }
        if self.ending.is_none() {
            if self.wanted.limits.wall.is_some_and(|wall| now >= wall) {
                self.end(Cause::Wall);
            } else if self.idle_limit().is_some_and(|idle| now.saturating_sub(self.last_heard) >= idle) {
                if self.copying.iter().any(|copying| copying.is_open && copying.is_held_up()) {
                    self.last_heard = now;
                } else {
                    self.end(Cause::Idle);
                }
            }
        }
        let Some(ending) = &mut self.ending else { return };
        if ending.ask_at.take_if(|at| *at <= now).is_some() {
            self.group.ask(Signal::TERM);
        }
        if ending.kill_at.take_if(|at| *at <= now).is_some() {
            ending.ask_at = None;
            ending.give_up_at = Some(now + KILLED_MAX);
            self.killed_hard = true;
            self.group.signal(Signal::KILL);
        }
        if ending.give_up_at.is_some_and(|at| at <= now) && self.how.is_none() {
            self.how = Some(How::StillThere);
        }
    }

    /// The run shall end: the command is asked, and has its grace from now.
    fn end(&mut self, cause: Cause) {
        if self.ending.is_none() && self.how.is_none() {
            self.cause = cause;
            let kill_at = Some(self.now().saturating_add(self.wanted.limits.grace));
            self.ending = Some(Ending { ask_at: None, kill_at, give_up_at: None });
            self.group.ask(Signal::TERM);
        }
    }

    fn handle(&mut self, happening: Happening) {
        match happening {
            Happening::Heard(stream, bytes) => self.heard(stream, &bytes),
            Happening::Closed(stream, shown) => {
                self.kept.of(stream).shown = shown;
                self.copying
                    .iter_mut()
                    .filter(|copying| copying.stream == stream)
                    .for_each(|open| open.is_open = false);
            }
            Happening::Command(Change::Exited(code)) => self.how = Some(How::Exited(code)),
            Happening::Command(Change::Signalled(signal)) => self.how = Some(How::Signalled(signal)),
            Happening::Command(Change::Lost) => self.how = Some(How::StillThere),
            Happening::Command(Change::Stopped(signal)) => self.stopped(signal),
            Happening::Signal(signal) => self.signalled(signal),
        }
    }

    fn heard(&mut self, stream: Stream, bytes: &[u8]) {
        self.last_heard = self.now();
        self.kept.of(stream).push(bytes);
        if self.how.is_some() {
            self.after_end_bytes += bytes.len() as u64;
        }
        self.copying.iter().filter(|copying| copying.stream == stream).for_each(Copying::listened);
        if self.listener.heard(stream, bytes) == Go::End {
            self.end(Cause::Asked);
        }
    }

    fn signalled(&mut self, signal: i32) {
        match signal {
            SIGCHLD => orphans::take_note(self.group.leader.pid),
            SIGTSTP => self.suspend(),
            SIGCONT if self.is_resumed => self.is_resumed = false,
            SIGCONT => self.resume(),
            other if inbox::ENDING.contains(&other) => self.asked_to_end(other),
            other => self.group.signal_raw(other),
        }
    }

    fn asked_to_end(&mut self, signal: i32) {
        if !matches!(self.cause, Cause::Signal(_)) {
            self.cause = Cause::Signal(signal);
        }
        self.interrupts += u32::from(signal == SIGINT);
        self.group.signal_raw(signal);
        self.group.signal(Signal::CONT);
        let (now, grace) = (self.now(), self.wanted.limits.grace);
        let ending = self.ending.get_or_insert(Ending {
            ask_at: (signal != SIGTERM).then(|| now.saturating_add(grace / 2)),
            kill_at: Some(now.saturating_add(grace)),
            give_up_at: None,
        });
        if self.interrupts >= 2 && ending.kill_at.is_some() {
            ending.kill_at = Some(now);
        }
    }

    /// The command stands still.
    fn stopped(&mut self, signal: i32) {
        // Old news: while we were suspended nobody read the queue, and meanwhile it was continued.
        if Process::read(self.group.leader.pid).is_some_and(|process| !process.is_stopped) {
            return;
        }
        let wants_terminal = matches!(signal, SIGTTIN | SIGTTOU);
        if self.ending.is_some() {
            self.group.signal(Signal::CONT);
            return;
        }
        let Some(foreground) = &mut self.foreground else {
            // Nobody will ever give it a terminal. Stopped by anything else, it is idle: somebody may continue it.
            if wants_terminal {
                self.end(Cause::NeedsTerminal);
            }
            return;
        };
        let cannot_suspend = !self.inbox.heeds(SIGTSTP) || processes::is_own_group_orphaned();
        let has_terminal = foreground.is_with(self.group.pid) || foreground.is_ours();
        if wants_terminal && has_terminal || cannot_suspend {
            // It asked before it got the terminal; or nobody could ever continue us.
            foreground.offer(self.group.pid);
            self.group.signal(Signal::CONT);
            return;
        }
        // We stop as well, with all that was started together with us: then the shell knows, and has the terminal.
        foreground.take_back();
        rustix::process::kill_current_process_group(Signal::TSTP).ok();
    }

    fn suspend(&mut self) {
        if processes::is_own_group_orphaned() {
            return;
        }
        self.group.signal(Signal::TSTP);
        if let Some(foreground) = &mut self.foreground {
            foreground.take_back();
        }
        let before = self.clock.used();
        inbox::suspend();
        self.suspended += self.clock.used().saturating_sub(before);
        // Here we are again, so SIGCONT has come. The command goes on before anything that was queued is looked at: the
        // news of its stop may be among that, and would stop us again.
        self.resume();
        self.is_resumed = true;
    }

    fn resume(&mut self) {
        self.last_heard = self.now();
        if let Some(foreground) = &mut self.foreground
            && self.how.is_none()
        {
            foreground.offer(self.group.pid);
        }
        self.group.signal(Signal::CONT);
    }

    fn sweep(&mut self) -> Vec<super::LeftProcess> {
        let run_id = self.wanted.run_id;
        let belonging = Belonging { run_id, leader: self.group.leader, has_group: true, adopts: self.adopts };
        let short = LEFT_GRACE_MAX.min(self.wanted.limits.grace);
        let times = match &self.ending {
            None => Times { settle: SETTLE, grace: short },
            Some(_) if self.interrupts >= 2 => Times { settle: Duration::ZERO, grace: Duration::ZERO },
            // What was asked together with the command has the rest of the same grace.
            Some(ending) => {
                let rest = ending.kill_at.unwrap_or_default().saturating_sub(self.now());
                Times { settle: Duration::ZERO, grace: rest.max(short) }
            }
        };
        sweep::sweep(&belonging, times, &mut |limit| self.wait_for_a_change(limit))
    }

    /// Goes on listening while what is left ends; returns early when a process ended.
    fn wait_for_a_change(&mut self, limit: Duration) -> Waited {
        let patience = Patience::new(limit);
        while let Some(happening) = self.inbox.next(patience.left()) {
            let is_change = matches!(happening, Happening::Signal(SIGCHLD));
            self.handle(happening);
            if is_change || patience.left().is_zero() {
                break;
            }
        }
        if self.interrupts >= 2 { Waited::Hurry } else { Waited::Patiently }
    }

    /// Everything the command said arrives, however slowly it is read, unless the run is out of time or somebody wants
    /// it to be over. A pipe that others hold open is not waited for.
    fn deliver(&mut self) {
        let wishes = (self.cause, self.interrupts);
        let grace = self.wanted.limits.grace.max(TICK);
        let mut give_up_at = self.ending.is_some().then(|| self.now().saturating_add(grace));
        loop {
            for copying in self.copying.iter_mut().filter(|copying| copying.is_open) {
                copying.is_open = !copying.is_caught_up() && self.after_end_bytes <= AFTER_END_BYTES_MAX;
            }
            if !self.copying.iter().any(|copying| copying.is_open) {
                break;
            }
            let now = self.now();
            if give_up_at.is_none() && self.wanted.limits.wall.is_some_and(|wall| now >= wall) {
                give_up_at = Some(now.saturating_add(grace));
            }
            if (self.cause, self.interrupts) != wishes || give_up_at.is_some_and(|at| at <= now) {
                for copying in self.copying.iter().filter(|copying| copying.is_open) {
                    self.kept.of(copying.stream).shown = Shown::GivenUp;
                }
                break;
            }
            if let Some(happening) = self.inbox.next(DELIVERY_LOOK) {
                self.handle(happening);
            }
        }
        // This ends the threads; what they told before is still to be heard.
        self.copying.clear();
        while let Some(happening) = self.inbox.next(Duration::ZERO) {
            if matches!(happening, Happening::Heard(..)) {
                self.handle(happening);
            }
        }
    }
}

/// The command's process group. Dropped before the run is over, it is killed: then something of ours went wrong.
struct Group {
    leader: Identity,
    pid: Pid,
    is_over: bool,
}

impl Group {
    fn of(child: &Child) -> Self {
        let pid = Pid::from_child(child);
        let number = pid.as_raw_nonzero().get();
        let leader = Identity::of(number).unwrap_or(Identity { started: 0, pid: number });
        Self { leader, pid, is_over: false }
    }

    /// To everybody in the group, and to the command if it has left it. The command's end is not taken note of until
    /// the very end, so the number is not anybody else's.
    fn signal(&self, signal: Signal) {
        // Nobody may be left, or it is not ours to signal: the sweep will tell.
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

    /// One that stands still hears nothing, so it is also continued.
    fn ask(&self, signal: Signal) {
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
fn watch(child: &mut Child, pid: Pid, notes: &Notes, is_passed_on: bool) -> std::io::Result<Vec<Copying>> {
    let own = notes.clone();
    std::thread::Builder::new().name("command".to_owned()).spawn(move || wait_for_the_end(pid, &own))?;
    let mut copying = Vec::new();
    if let Some(out) = child.stdout.take() {
        copying.push(Copying::start(Stream::Out, out.into(), notes.clone(), is_passed_on)?);
    }
    if let Some(err) = child.stderr.take() {
        copying.push(Copying::start(Stream::Err, err.into(), notes.clone(), is_passed_on)?);
    }
    Ok(copying)
}

/// Tells every change of the command's process. Its end is looked at but left untaken: as long as it is, neither its
/// number nor its group's can become another's, and both may be signalled without danger.
fn wait_for_the_end(pid: Pid, notes: &Notes) {
    let steps = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
    loop {
        let status = match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | steps | WaitIdOptions::NOWAIT) {
            Err(Errno::INTR) | Ok(None) => continue,
            Err(_no_child) => None,
            Ok(status) => status,
        };
        let end = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            None => Some(Change::Lost),
            Some((Some(code), _)) => Some(Change::Exited(code)),
            Some((None, Some(signal))) => Some(Change::Signalled(signal)),
            Some((None, None)) => None,
        };
        if let Some(end) = end {
            notes.send(Happening::Command(end));
            return;
        }
        // A step is taken note of, or it would be told for ever. It may be another than a moment ago.
        let Ok(Some(step)) = waitid(WaitId::Pid(pid), steps | WaitIdOptions::NOHANG) else { continue };
        if let Some(signal) = step.stopping_signal()
            && !notes.send(Happening::Command(Change::Stopped(signal)))
        {
            return;
        }
    }
}
