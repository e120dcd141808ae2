//! Reads the machine's processes from `/proc` and signals them without ever hitting another process.
//!
//! A process id is reused, but not together with the start time of the process. A signal goes through a handle whose
//! process is compared after the handle was opened, so a process id that was reused in between does no harm.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

use nix::unistd::{getpgid, getpgrp, getsid};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// More environment than a process can have on Linux (6 MB).
const ENVIRONMENT_BYTES_MAX: u64 = 8 << 20;

/// One process, distinguished from every other that ever had or will have its process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Start time in ticks since boot; 0 if the system does not provide it.
    pub started: u64,
    pub pid: i32,
}

impl ProcessIdentity {
    /// The process that has this process id now.
    pub fn from_pid(pid: i32) -> Option<Self> {
        if cfg!(target_os = "linux") {
            Some(Process::read(pid)?.identity)
        } else {
            Some(Self { started: 0, pid }).filter(|_| exists(pid))
        }
    }

    /// This process.
    pub fn current() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self::from_pid(pid).unwrap_or(Self { started: 0, pid })
    }

    /// Sends a signal to this process and to no other. False if it is gone, or not ours to signal.
    pub(crate) fn signal(self, signal: Signal) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        #[cfg(target_os = "linux")]
        if let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            return Self::from_pid(self.pid) == Some(self)
                && rustix::process::pidfd_send_signal(handle, signal).is_ok();
        }
        // There are no handles here (an old kernel, a sandbox). The comparison comes first, so that only a process id
        // that is reused within this moment is a danger.
        Self::from_pid(self.pid) == Some(self) && rustix::process::kill_process(pid, signal).is_ok()
    }
}

fn exists(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// What `/proc/PID/stat` says about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub identity: ProcessIdentity,
    pub name: String,
    pub parent: i32,
    pub group: i32,
    /// The process that leads its session; 0 if that one is outside of this PID namespace.
    pub session: i32,
    /// The number of its controlling terminal; 0 if it has none.
    pub terminal: i32,
    /// It has ended and its parent has not reaped it yet.
    pub is_zombie: bool,
    /// It is stopped until it is continued.
    pub is_stopped: bool,
}

impl Process {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let mut bytes = Vec::with_capacity(512);
        File::open(format!("/proc/{pid}/stat")).ok()?.take(4096).read_to_end(&mut bytes).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&bytes))
    }

    fn parse(pid: i32, stat: &str) -> Option<Self> {
        // The name is in brackets and may contain anything, brackets included.
        let (before, after) = stat.rsplit_once(')')?;
        let name = before.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = after.split_ascii_whitespace().take(20).collect();
        let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
        let started = fields.get(19)?.parse().ok()?;
        // A process whose first thread has ended lives on while others run.
        let state = *fields.first()?;
        let is_zombie = matches!(state, "Z" | "X" | "x") && number(17)? <= 1;
        Some(Self {
            identity: ProcessIdentity { started, pid },
            name,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            terminal: number(4)?,
            is_zombie,
            is_stopped: state == "T",
        })
    }

    /// True if its environment says that it belongs to this run, or to a run inside it.
    pub(super) fn has_run_marker(&self, run_id: &str) -> bool {
        let Ok(file) = File::open(format!("/proc/{}/environ", self.identity.pid)) else { return false };
        let mut bytes = Vec::new();
        // A process that ends while it is read has no environment any more.
        if file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut bytes).is_err() {
            return false;
        }
        has_run(&bytes, run_id)
    }
}

fn has_run(environment: &[u8], run_id: &str) -> bool {
    environment.split(|&byte| byte == 0).any(|line| {
        if let Some(id) = line.strip_prefix(super::RUN_VARIABLE.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) {
            return id == run_id.as_bytes();
        }
        line.strip_prefix(super::OUTER_RUNS_VARIABLE.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(|ids| ids.split(|&byte| byte == b':').any(|id| id == run_id.as_bytes()))
    })
}

/// All process ids in descending order, so roughly the newest first. Empty if there is no `/proc`.
pub(crate) fn all_pids() -> Vec<i32> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut pids: Vec<i32> = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by(|one, other| other.cmp(one));
    pids
}

/// The process ids of this process and its ancestors.
pub(super) fn own_ancestry() -> BTreeSet<i32> {
    let mut pids = BTreeSet::new();
    let mut next = Some(rustix::process::getpid().as_raw_nonzero().get());
    while let Some(pid) = next
        && pids.insert(pid)
    {
        next = Process::read(pid).map(|process| process.parent);
    }
    pids
}

/// Our process group. In a container it may be one from outside, whose id is 0 there.
pub(super) fn own_group() -> i32 {
    getpgrp().as_raw()
}

pub(super) fn group_of(pid: i32) -> Option<i32> {
    getpgid(Some(nix::unistd::Pid::from_raw(pid))).ok().map(nix::unistd::Pid::as_raw)
}

/// True if nobody could continue our process group after a stop: its parent is in another session, or gone. The kernel
/// ignores Ctrl-Z for such a group, and so do we.
pub(super) fn is_own_group_orphaned() -> bool {
    let session = getsid(None).ok();
    let mut above = rustix::process::getppid();
    // A script that started us may be in our group; what matters is the process that started the script.
    for _ in 0..64 {
        let Some(parent) = above else { return true };
        let pid = parent.as_raw_nonzero().get();
        if getsid(Some(nix::unistd::Pid::from_raw(pid))).ok() != session {
            return true;
        }
        if group_of(pid) != Some(own_group()) {
            return false;
        }
        above = Process::read(pid).and_then(|process| Pid::from_raw(process.parent));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_brackets_and_spaces() {
        let stat = "7 (a) b (c) S 3 5 6 34816 5 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9911 1 2 3";
        let expected = Process {
            identity: ProcessIdentity { started: 9911, pid: 7 },
            name: "a) b (c".to_owned(),
            parent: 3,
            group: 5,
            session: 6,
            terminal: 34816,
            is_zombie: false,
            is_stopped: false,
        };
        assert_eq!(Process::parse(7, stat), Some(expected));
        let stopped = Process::parse(7, &stat.replacen(" S ", " T ", 1)).map(|process| process.is_stopped);
        assert_eq!(stopped, Some(true));
        assert_eq!(Process::parse(7, "7 (a) S 3"), None);
        assert_eq!(Process::parse(7, ""), None);
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_is_no_zombie_while_others_run() {
        let stat = |threads: u32| format!("7 (a) Z 3 5 6 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 9911 0");
        let is_zombie = |threads| Process::parse(7, &stat(threads)).map(|process| process.is_zombie);
        assert_eq!((is_zombie(1), is_zombie(2)), (Some(true), Some(false)));
    }

    #[test]
    fn a_marker_is_the_whole_run_id_or_one_of_the_outer_run_ids() {
        assert!(has_run(b"A=1\0HALTLINE_RUN=ab\0", "ab"));
        assert!(!has_run(b"HALTLINE_RUN=abc\0XHALTLINE_RUN=ab\0", "ab"));
        assert!(has_run(b"HALTLINE_RUN_OUTER=x:ab\0HALTLINE_RUN=inner\0", "ab"));
        assert!(!has_run(b"HALTLINE_RUN_OUTER=x:abc\0", "ab"));
        assert!(!has_run(b"", "ab"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_found_and_another_one_with_its_pid_is_not_signalled() {
        let own = ProcessIdentity::current();
        assert!(all_pids().contains(&own.pid) && own_ancestry().contains(&own.pid) && own_ancestry().len() > 1);
        let stranger = ProcessIdentity { started: own.started + 1, ..own };
        assert!(!stranger.signal(Signal::KILL), "the number is ours, the process is not");
    }
}
