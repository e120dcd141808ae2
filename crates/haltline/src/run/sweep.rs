//! Ends the processes that are left of a run after its command has ended: first a request to end, then a kill.
//!
//! The processes of a run (Linux) are the command's process group, every process with the run's marker in its
//! environment, every orphan that this process adopted while the run lasts, and all descendants of these. That includes
//! daemons that left the group and emptied their environment. On other systems, and in a sandbox without `/proc`, it is
//! the group alone. Never signalled: this process, its ancestors, and processes that we started ourselves, which share
//! our own group.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use haltline_engine::clock::Deadline;
use rustix::process::{Pid, Signal, WaitOptions};

use super::processes::{self, Process, ProcessIdentity, own_group};

/// How often processes are checked while they are given time. The end of one of our own children is noticed at once.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long killing may take. A process that survives this is not ours to kill, or hangs in the kernel.
const KILLING_MAX: Duration = Duration::from_secs(10);
/// Time between two rounds of killing.
const KILL_INTERVAL: Duration = Duration::from_millis(2);
/// How often new processes are stopped before the stopped ones are killed.
const STOP_ROUNDS_MAX: u32 = 32;
/// Number of successive scans that must find nothing: one scan can miss a process that forks and ends meanwhile.
const EMPTY_SCANS: u32 = 3;

/// A process that was still alive when the command had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftProcess {
    pub pid: i32,
    /// Its name; the system shortens it to 15 characters.
    pub name: String,
    pub outcome: ProcessOutcome,
}

/// What became of a process that was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessOutcome {
    /// It ended after SIGTERM.
    Terminated,
    Killed,
    /// It is still alive: it belongs to another user, or hangs in the kernel.
    Unkillable,
}

/// Defines which processes belong to a run.
#[derive(Clone, Debug)]
pub(super) struct RunProcesses<'a> {
    pub run_id: &'a str,
    /// The command's own process, whose process id is also the id of the group.
    pub leader: ProcessIdentity,
    /// True if the group id certainly still belongs to the run: its leader lives, or is not reaped yet.
    pub has_group: bool,
    /// True if this process adopts orphans of the run.
    pub adopts: bool,
}

impl RunProcesses<'_> {
    /// The living processes of the run, without the leader if it has ended.
    pub(super) fn find(&self) -> Vec<Process> {
        self.scan(&mut |_| ())
    }

    /// The same, but calls `on_sight` for each process the moment it is found: one that starts a successor and ends
    /// would be gone at the end of the scan. Reaps orphans that have ended.
    fn scan(&self, on_sight: &mut dyn FnMut(&Process)) -> Vec<Process> {
        let own_ancestry = processes::own_ancestry();
        let mut others = Vec::new();
        let mut found = Vec::new();
        for pid in processes::all_pids() {
            let Some(process) = Process::read(pid).filter(|_| !own_ancestry.contains(&pid)) else { continue };
            // A process that existed before the command does not belong to it, whatever its environment says.
            if process.identity.started < self.leader.started {
                continue;
            }
            match (process.is_zombie, self.is_adopted(&process)) {
                (true, true) => reap(pid),
                (true, false) => {}
                (false, is_adopted) if is_adopted || self.belongs(&process) => {
                    on_sight(&process);
                    found.push(process);
                }
                (false, _) => others.push(process),
            }
        }
        // Parents come before their children, so that one pass finds nearly all.
        others.sort_by_key(|process| process.identity);
        let mut pids: BTreeSet<i32> = found.iter().map(|process| process.identity.pid).collect();
        loop {
            let (below, rest): (Vec<Process>, Vec<Process>) = others
                .into_iter()
                .partition(|process| pids.contains(&process.parent) && pids.insert(process.identity.pid));
            below.iter().for_each(&mut *on_sight);
            others = rest;
            if below.is_empty() {
                return found;
            }
            found.extend(below);
        }
    }

    fn belongs(&self, process: &Process) -> bool {
        process.identity == self.leader
            || self.has_group && process.group == self.leader.pid
            || process.has_run_marker(self.run_id)
    }

    /// True for an orphan of the run that this process adopted. Processes that we started ourselves are in our own
    /// group.
    fn is_adopted(&self, process: &Process) -> bool {
        self.adopts
            && process.parent == rustix::process::getpid().as_raw_nonzero().get()
            && process.group != own_group()
            && process.identity.pid != self.leader.pid
    }

    /// Signals the whole group at once, which no process can escape by forking.
    fn signal_group(&self, signal: Signal) {
        if self.has_group
            && let Some(group) = Pid::from_raw(self.leader.pid)
        {
            // The group may be empty.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }

    /// True if the group has no process left; used where nothing more can be known.
    fn is_group_empty(&self) -> bool {
        let group = Pid::from_raw(self.leader.pid).filter(|_| self.has_group);
        group.is_none_or(|group| rustix::process::test_kill_process_group(group).is_err())
    }
}

/// Reaps an orphan that has ended.
fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have been reaped already.
        rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).ok();
    }
}

/// The result of a wait during a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitResult {
    /// Continue as planned.
    Continue,
    /// The person wants it to end now.
    Hurry,
}

/// How much time processes get.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndTimes {
    /// To end by themselves, before any signal.
    pub voluntary: Duration,
    /// To end after SIGTERM.
    pub grace: Duration,
}

/// Ends the remaining processes of a run. `wait` waits at most as long as its argument and may return early.
pub(super) fn sweep(
    run_processes: &RunProcesses<'_>,
    times: EndTimes,
    wait: &mut dyn FnMut(Duration) -> WaitResult,
) -> Vec<LeftProcess> {
    if processes::all_pids().is_empty() {
        sweep_group(run_processes, times, wait);
        return Vec::new();
    }
    let voluntary = Deadline::new(times.voluntary);
    while !have_all_ended(run_processes) {
        if voluntary.remaining().is_zero() || wait(voluntary.remaining().min(POLL_INTERVAL)) == WaitResult::Hurry {
            return end(run_processes, times.grace, wait);
        }
    }
    Vec::new()
}

/// Sends SIGTERM, waits, kills.
fn end(
    run_processes: &RunProcesses<'_>,
    grace: Duration,
    wait: &mut dyn FnMut(Duration) -> WaitResult,
) -> Vec<LeftProcess> {
    let mut left = LeftProcesses::default();
    let grace_deadline = Deadline::new(grace);
    loop {
        let found = run_processes.find();
        left.record(&found, ProcessOutcome::Terminated);
        if found.is_empty() || grace_deadline.remaining().is_zero() {
            break;
        }
        for process in found.iter().filter(|process| left.signalled.insert(process.identity)) {
            process.identity.signal(Signal::TERM);
            // A stopped process does not handle signals.
            process.identity.signal(Signal::CONT);
        }
        if wait(grace_deadline.remaining().min(POLL_INTERVAL)) == WaitResult::Hurry {
            break;
        }
    }
    let kill_deadline = Deadline::new(KILLING_MAX);
    while !have_all_ended(run_processes) && !kill_deadline.remaining().is_zero() {
        stop_all(run_processes, &mut left);
        run_processes.signal_group(Signal::KILL);
        run_processes.scan(&mut |process| {
            process.identity.signal(Signal::KILL);
        });
        wait(KILL_INTERVAL);
    }
    left.finish(&run_processes.find())
}

/// True if no process is left.
fn have_all_ended(run_processes: &RunProcesses<'_>) -> bool {
    (0..EMPTY_SCANS).all(|_| run_processes.find().is_empty())
}

/// Stops all processes, including new ones, before any is killed, because a stopped process cannot fork.
fn stop_all(run_processes: &RunProcesses<'_>, left: &mut LeftProcesses) {
    let mut stopped = BTreeSet::new();
    for _round in 0..STOP_ROUNDS_MAX {
        let before = stopped.len();
        run_processes.signal_group(Signal::STOP);
        let found = run_processes.scan(&mut |process| {
            if stopped.insert(process.identity) {
                process.identity.signal(Signal::STOP);
            }
        });
        left.record(&found, ProcessOutcome::Killed);
        if stopped.len() == before {
            return;
        }
    }
}

fn sweep_group(run_processes: &RunProcesses<'_>, times: EndTimes, wait: &mut dyn FnMut(Duration) -> WaitResult) {
    let grace_deadline = Deadline::new(times.grace);
    if !run_processes.is_group_empty() {
        run_processes.signal_group(Signal::TERM);
        run_processes.signal_group(Signal::CONT);
    }
    while !run_processes.is_group_empty() && !grace_deadline.remaining().is_zero() {
        if wait(grace_deadline.remaining().min(POLL_INTERVAL)) == WaitResult::Hurry {
            break;
        }
    }
    run_processes.signal_group(Signal::KILL);
}

/// The processes that were found after the command's end.
#[derive(Default)]
struct LeftProcesses {
    signalled: BTreeSet<ProcessIdentity>,
    processes: BTreeMap<ProcessIdentity, LeftProcess>,
}

impl LeftProcesses {
    /// How many are listed by name, because a fork bomb has thousands.
    const LISTED_MAX: usize = 100;

    fn record(&mut self, found: &[Process], outcome: ProcessOutcome) {
        for process in found {
            let pid = process.identity.pid;
            if let Some(listed) = self.processes.get_mut(&process.identity) {
                listed.outcome = outcome;
            } else if self.processes.len() < Self::LISTED_MAX {
                self.processes.insert(process.identity, LeftProcess { pid, name: process.name.clone(), outcome });
            }
        }
    }

    fn finish(mut self, still_there: &[Process]) -> Vec<LeftProcess> {
        for process in still_there {
            let (pid, name) = (process.identity.pid, process.name.clone());
            self.processes.insert(process.identity, LeftProcess { pid, name, outcome: ProcessOutcome::Unkillable });
        }
        self.processes.into_values().collect()
    }
}
