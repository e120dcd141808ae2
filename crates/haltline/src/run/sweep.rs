//! Nothing stays behind: what is left of a run once its command has ended is asked to end, then made to.
//!
//! What belongs to a run (Linux): the command's process group, every process whose environment bears the run's mark,
//! every orphan that came to us because we stand in for init while the run lasts, and all that descends from these.
//! That holds for daemons that left the group and emptied their environment. Elsewhere, and in a sandbox without
//! `/proc`, it is the group alone.
//! Never hit: this process, those above it, and what we started ourselves, which shares our own group.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use haltline_engine::clock::Patience;
use rustix::process::{Pid, Signal, WaitOptions};

use super::processes::{self, Identity, Process, own_group};

/// How often one looks again while processes are given time. The end of a child of ours is noticed at once.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long killing may take. A process that survives this is not ours to kill, or hangs in the kernel.
const KILLING_MAX: Duration = Duration::from_secs(10);
/// Between two rounds of killing.
const ROUND: Duration = Duration::from_millis(2);
/// How often those born meanwhile are stopped before one kills what stands still.
const STOP_ROUNDS_MAX: u32 = 32;
/// Looks in a row that must find nothing: one that forks and ends while one looks can be missed once.
const EMPTY_LOOKS: u32 = 3;

/// A process that was still there when the command had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftProcess {
    /// Its number.
    pub pid: i32,
    /// Its name; the system shortens it to 15 letters.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// What became of a process that was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was asked to end (SIGTERM) and did.
    Terminated,
    /// It was killed.
    Killed,
    /// It is still there: it belongs to another user, or hangs in the kernel.
    StillThere,
}

/// Which processes belong to a run.
#[derive(Clone, Debug)]
pub(super) struct Belonging<'a> {
    pub run_id: &'a str,
    /// The command's own process, whose number is the group's.
    pub leader: Identity,
    /// Whether the group's number is certainly still that of the run: its leader lives, or was not taken note of.
    pub has_group: bool,
    /// Whether orphans of the run come to this process.
    pub adopts: bool,
}

impl Belonging<'_> {
    /// What is alive of the run, the leader excepted if it has ended.
    pub(super) fn find(&self) -> Vec<Process> {
        self.look(&mut |_| ())
    }

    /// The same, and each is acted on in the moment it is seen: one that starts a successor and ends would be gone at
    /// the end of the look. Takes note of orphans that have ended.
    fn look(&self, on_sight: &mut dyn FnMut(&Process)) -> Vec<Process> {
        let line = processes::own_line();
        let mut others = Vec::new();
        let mut found = Vec::new();
        for pid in processes::numbers() {
            let Some(process) = Process::read(pid).filter(|_| !line.contains(&pid)) else { continue };
            // What was there before the command is none of it, whatever it says of itself.
            if process.identity.started < self.leader.started {
                continue;
            }
            match (process.is_zombie, self.is_adopted(&process)) {
                (true, true) => reap(pid),
                (true, false) => {}
                (false, is_adopted) if is_adopted || self.is_known(&process) => {
                    on_sight(&process);
                    found.push(process);
                }
                (false, _) => others.push(process),
            }
        }
        // Parents come before their children, so that one pass finds nearly all.
        others.sort_by_key(|process| process.identity);
        let mut numbers: BTreeSet<i32> = found.iter().map(|process| process.identity.pid).collect();
        loop {
            let (below, rest): (Vec<Process>, Vec<Process>) = others
                .into_iter()
                .partition(|process| numbers.contains(&process.parent) && numbers.insert(process.identity.pid));
            below.iter().for_each(&mut *on_sight);
            others = rest;
            if below.is_empty() {
                return found;
            }
            found.extend(below);
        }
    }

    fn is_known(&self, process: &Process) -> bool {
        process.identity == self.leader
            || self.has_group && process.group == self.leader.pid
            || process.is_marked(self.run_id)
    }

    /// An orphan of the run that came to us. What we started ourselves is in our own group.
    fn is_adopted(&self, process: &Process) -> bool {
        self.adopts
            && process.parent == rustix::process::getpid().as_raw_nonzero().get()
            && process.group != own_group()
            && process.identity.pid != self.leader.pid
    }

    /// To the whole group at once: nobody can fork away from that.
    fn signal_group(&self, signal: Signal) {
        if self.has_group
            && let Some(group) = Pid::from_raw(self.leader.pid)
        {
            // Nobody may be left in it.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }

    /// Whether anybody is left in the group, where no more can be known.
    fn is_group_empty(&self) -> bool {
        let group = Pid::from_raw(self.leader.pid).filter(|_| self.has_group);
        group.is_none_or(|group| rustix::process::test_kill_process_group(group).is_err())
    }
}

/// Takes note of the end of an orphan.
fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may be noted already.
        rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).ok();
    }
}

/// How the wait inside a sweep went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// Go on as planned.
    Patiently,
    /// A person has no patience left.
    Hurry,
}

/// How much time processes get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// To end by themselves, before anybody is asked.
    pub settle: Duration,
    /// To end when asked.
    pub grace: Duration,
}

/// Ends what is left of a run. `wait` waits at most as long as it is told and may return early.
pub(super) fn sweep(
    belonging: &Belonging<'_>,
    times: Times,
    wait: &mut dyn FnMut(Duration) -> Waited,
) -> Vec<LeftProcess> {
    if processes::numbers().is_empty() {
        sweep_group(belonging, times, wait);
        return Vec::new();
    }
    let settling = Patience::new(times.settle);
    while !is_over(belonging) {
        if settling.left().is_zero() || wait(settling.left().min(LOOK_EVERY)) == Waited::Hurry {
            return end(belonging, times.grace, wait);
        }
    }
    Vec::new()
}

/// Asks, waits, kills.
fn end(belonging: &Belonging<'_>, grace: Duration, wait: &mut dyn FnMut(Duration) -> Waited) -> Vec<LeftProcess> {
    let mut left = Left::default();
    let asking = Patience::new(grace);
    loop {
        let found = belonging.find();
        left.saw(&found, Outcome::Terminated);
        if found.is_empty() || asking.left().is_zero() {
            break;
        }
        for process in found.iter().filter(|process| left.asked.insert(process.identity)) {
            process.identity.signal(Signal::TERM);
            // One that stands still hears nothing.
            process.identity.signal(Signal::CONT);
        }
        if wait(asking.left().min(LOOK_EVERY)) == Waited::Hurry {
            break;
        }
    }
    let killing = Patience::new(KILLING_MAX);
    while !is_over(belonging) && !killing.left().is_zero() {
        stop_all(belonging, &mut left);
        belonging.signal_group(Signal::KILL);
        belonging.look(&mut |process| {
            process.identity.signal(Signal::KILL);
        });
        wait(ROUND);
    }
    left.told(&belonging.find())
}

/// Whether nothing is left.
fn is_over(belonging: &Belonging<'_>) -> bool {
    (0..EMPTY_LOOKS).all(|_| belonging.find().is_empty())
}

/// One that stands still cannot fork: all are stopped, those born meanwhile as well, before any is killed.
fn stop_all(belonging: &Belonging<'_>, left: &mut Left) {
    let mut stopped = BTreeSet::new();
    for _round in 0..STOP_ROUNDS_MAX {
        let before = stopped.len();
        belonging.signal_group(Signal::STOP);
        let found = belonging.look(&mut |process| {
            if stopped.insert(process.identity) {
                process.identity.signal(Signal::STOP);
            }
        });
        left.saw(&found, Outcome::Killed);
        if stopped.len() == before {
            return;
        }
    }
}

fn sweep_group(belonging: &Belonging<'_>, times: Times, wait: &mut dyn FnMut(Duration) -> Waited) {
    let asking = Patience::new(times.grace);
    if !belonging.is_group_empty() {
        belonging.signal_group(Signal::TERM);
        belonging.signal_group(Signal::CONT);
    }
    while !belonging.is_group_empty() && !asking.left().is_zero() {
        if wait(asking.left().min(LOOK_EVERY)) == Waited::Hurry {
            break;
        }
    }
    belonging.signal_group(Signal::KILL);
}

/// What was seen of those left behind.
#[derive(Default)]
struct Left {
    asked: BTreeSet<Identity>,
    seen: BTreeMap<Identity, LeftProcess>,
}

impl Left {
    /// How many are told by name: a storm has thousands.
    const TOLD_MAX: usize = 100;

    fn saw(&mut self, found: &[Process], outcome: Outcome) {
        for process in found {
            let pid = process.identity.pid;
            if let Some(known) = self.seen.get_mut(&process.identity) {
                known.outcome = outcome;
            } else if self.seen.len() < Self::TOLD_MAX {
                self.seen.insert(process.identity, LeftProcess { pid, name: process.name.clone(), outcome });
            }
        }
    }

    fn told(mut self, still_there: &[Process]) -> Vec<LeftProcess> {
        for process in still_there {
            let (pid, name) = (process.identity.pid, process.name.clone());
            self.seen.insert(process.identity, LeftProcess { pid, name, outcome: Outcome::StillThere });
        }
        self.seen.into_values().collect()
    }
}
