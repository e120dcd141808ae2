//! One supervisor per name: a file that is locked while its supervisor lives, and what a killed supervisor left behind.
//!
//! The lock ends with the process, `kill -9` included. The content of the file stays, so the next supervisor knows how
//! far the last one was and which of its processes may still be alive. The file is never removed: a lock on a file that
//! another process is about to create again would be worthless.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use haltline_engine::clock::Clock;
use serde::{Deserialize, Serialize};

use super::LeftProcess;
use super::processes::ProcessIdentity;
use super::sweep::{EndTimes, RunProcesses, WaitResult, sweep};

/// The longest lease file that is read.
const BYTES_MAX: u64 = 64 << 10;
/// A lease is padded to a multiple of this size, so that one write replaces it and it is never truncated.
const PADDED_BYTES: usize = 1 << 10;

/// How many killed runs are remembered until their processes are ended.
const TRACES_MAX: usize = 8;

/// What a supervisor records about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// The version of this format.
    pub schema: u32,
    pub run_id: String,
    /// The supervisor's own process.
    pub runner: ProcessIdentity,
    /// The command that ran, if one did.
    pub command: Option<ProcessIdentity>,
    /// The boot of the machine; process ids mean nothing in another.
    pub boot: Option<u64>,
    /// The iteration that ran.
    pub iteration: u64,
    /// True if the run ended normally, so that none of its processes can be left.
    pub is_over: bool,
    /// Earlier runs that did not end normally, and whose processes are not ended yet.
    #[serde(default)]
    pub earlier: Vec<RunTrace>,
}

/// Identifies the processes of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTrace {
    run_id: String,
    leader: ProcessIdentity,
}

impl LeaseRecord {
    fn traces(&self) -> Vec<RunTrace> {
        let mut traces = self.earlier.clone();
        if !self.is_over {
            traces.push(RunTrace { run_id: self.run_id.clone(), leader: self.command.unwrap_or(self.runner) });
        }
        traces.split_off(traces.len().saturating_sub(TRACES_MAX))
    }
}

/// The right to run under a name.
#[derive(Debug)]
pub struct Lease {
    file: File,
    current: LeaseRecord,
    previous: Option<LeaseRecord>,
}

/// The result of asking for a lease.
#[derive(Debug)]
pub enum LeaseAttempt {
    Acquired(Box<Lease>),
    /// Another process holds it.
    Busy {
        /// The holder; unknown while it is just about to record itself.
        pid: Option<i32>,
    },
}

impl Lease {
    /// Acquires the lease in this file for this run. The folder must exist.
    pub fn acquire(path: &Path, run_id: &str) -> io::Result<LeaseAttempt> {
        loop {
            let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Ok(LeaseAttempt::Busy { pid: read(&file).map(|holder| holder.runner.pid) });
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Another process may have removed the file after we opened it and before we locked it.
            let (opened, named) = (file.metadata()?, std::fs::metadata(path));
            if !named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
                continue;
            }
            let previous = read(&file);
            let boot = Clock::System.now().boot.map(|boot| boot.id);
            let earlier =
                previous.as_ref().filter(|previous| previous.boot == boot).map(LeaseRecord::traces).unwrap_or_default();
            let current = LeaseRecord {
                schema: 1,
                run_id: run_id.to_owned(),
                runner: ProcessIdentity::current(),
                command: None,
                boot,
                iteration: 0,
                is_over: false,
                earlier,
            };
            let lease = Self { file, current, previous };
            lease.write()?;
            return Ok(LeaseAttempt::Acquired(Box::new(lease)));
        }
    }

    /// What the last supervisor of this name recorded, unless the file is new or damaged.
    pub fn previous(&self) -> Option<&LeaseRecord> {
        self.previous.as_ref()
    }

    /// The living processes of runs whose supervisor died.
    pub fn leftovers(&self) -> Option<Leftovers> {
        let leftovers = Leftovers { traces: self.current.earlier.clone() };
        Some(leftovers).filter(|leftovers| !leftovers.processes().is_empty())
    }

    /// Records which command runs now, and forgets earlier runs, whose processes are ended by then.
    pub fn record_command(&mut self, command: Option<ProcessIdentity>, iteration: u64) -> io::Result<()> {
        self.current.earlier.clear();
        self.current.command = command;
        self.current.iteration = iteration;
        self.write()
    }

    /// Gives the lease back after a run that ended normally.
    pub fn release(mut self) -> io::Result<()> {
        self.current.is_over = true;
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.current)?;
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(0).max(text.len() + 1);
        text.resize(length.next_multiple_of(PADDED_BYTES) - 1, b' ');
        text.push(b'\n');
        self.file.write_all_at(&text, 0)
    }
}

fn read(file: &File) -> Option<LeaseRecord> {
    let mut bytes = Vec::new();
    // Each handle is read once, from its beginning.
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Processes that killed supervisors left.
#[derive(Clone, Debug)]
pub struct Leftovers {
    traces: Vec<RunTrace>,
}

impl Leftovers {
    /// Process ids and names of those alive.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let found = self.traces.iter().flat_map(|trace| trace.run_processes().find());
        found.map(|process| (process.identity.pid, process.name)).collect()
    }

    /// Ends them: a request to end, this grace, then a kill. `wait` waits at most as long as its argument; true means
    /// hurry.
    pub fn end(&self, grace: Duration, wait: &mut dyn FnMut(Duration) -> bool) -> Vec<LeftProcess> {
        let times = EndTimes { voluntary: Duration::ZERO, grace };
        let mut wait = |limit| if wait(limit) { WaitResult::Hurry } else { WaitResult::Continue };
        self.traces.iter().flat_map(|trace| sweep(&trace.run_processes(), times, &mut wait)).collect()
    }
}

impl RunTrace {
    /// The id of the process group may belong to another group by now, unless its leader is still alive.
    fn run_processes(&self) -> RunProcesses<'_> {
        let has_group = ProcessIdentity::from_pid(self.leader.pid) == Some(self.leader);
        RunProcesses { run_id: &self.run_id, leader: self.leader, has_group, adopts: false }
    }
}
