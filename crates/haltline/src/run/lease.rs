//! One runner for each name: a file that is locked while its runner lives, and what a runner that was killed left.
//!
//! The lock goes with the process, `kill -9` included. What stands in the file stays, so the next runner knows where
//! the last one was, and which processes of it may still be alive. The file is never removed: a lock on a file that
//! somebody else is about to create anew would be worth nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use haltline_engine::clock::Clock;
use serde::{Deserialize, Serialize};

use super::LeftProcess;
use super::processes::Identity;
use super::sweep::{Belonging, Times, Waited, sweep};

/// No lease is longer.
const BYTES_MAX: u64 = 64 << 10;
/// A lease is filled up to a multiple of this, so that it is replaced by one write and never cut.
const FILLED_BYTES: usize = 1 << 10;

/// Runs that were killed one after the other before anybody saw to what they left.
const TRACES_MAX: usize = 8;

/// What a runner writes down about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// The version of this format.
    pub schema: u32,
    /// Its run.
    pub run_id: String,
    /// The runner itself.
    pub runner: Identity,
    /// The command that ran, if one did.
    pub command: Option<Identity>,
    /// Which boot of the machine that was; process numbers mean nothing in another.
    pub boot: Option<u64>,
    /// The iteration that ran.
    pub iteration: u64,
    /// Whether the run ended in order, so that nothing of it can be left.
    pub is_over: bool,
    /// Runs before this one that did not, and were not seen to yet.
    #[serde(default)]
    pub earlier: Vec<Trace>,
}

/// By what the processes of a run are known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    run_id: String,
    leader: Identity,
}

impl Former {
    fn traces(&self) -> Vec<Trace> {
        let mut traces = self.earlier.clone();
        if !self.is_over {
            traces.push(Trace { run_id: self.run_id.clone(), leader: self.command.unwrap_or(self.runner) });
        }
        traces.split_off(traces.len().saturating_sub(TRACES_MAX))
    }
}

/// A runner's right to a name.
#[derive(Debug)]
pub struct Lease {
    file: File,
    now: Former,
    former: Option<Former>,
}

/// What asking for a lease came to.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Held(Box<Lease>),
    /// Somebody holds it.
    Busy {
        /// Who; unknown while they are just about to write it down.
        pid: Option<i32>,
    },
}

impl Lease {
    /// Takes the lease in this file, for this run. The folder must be there.
    pub fn take(path: &Path, run_id: &str) -> io::Result<Taken> {
        loop {
            let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Ok(Taken::Busy { pid: read(&file).map(|holder| holder.runner.pid) });
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Somebody may have removed the file between our opening and our locking it.
            let (opened, named) = (file.metadata()?, std::fs::metadata(path));
            if !named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
                continue;
            }
            let former = read(&file);
            let boot = Clock::System.now().boot.map(|boot| boot.id);
            let earlier = former.as_ref().filter(|former| former.boot == boot).map(Former::traces).unwrap_or_default();
            let now = Former {
                schema: 1,
                run_id: run_id.to_owned(),
                runner: Identity::own(),
                command: None,
                boot,
                iteration: 0,
                is_over: false,
                earlier,
            };
            let lease = Self { file, now, former };
            lease.write()?;
            return Ok(Taken::Held(Box::new(lease)));
        }
    }

    /// What the last runner of this name wrote down, unless the file is new or damaged.
    pub fn former(&self) -> Option<&Former> {
        self.former.as_ref()
    }

    /// What is still alive of runs whose runner died in the middle of them.
    pub fn leftovers(&self) -> Option<Leftovers> {
        let leftovers = Leftovers { traces: self.now.earlier.clone() };
        Some(leftovers).filter(|leftovers| !leftovers.names().is_empty())
    }

    /// Writes down which command runs now. Whatever earlier runs left has been seen to by then, and is forgotten.
    pub fn note(&mut self, command: Option<Identity>, iteration: u64) -> io::Result<()> {
        self.now.earlier.clear();
        self.now.command = command;
        self.now.iteration = iteration;
        self.write()
    }

    /// Gives the lease back after a run that ended in order.
    pub fn release(mut self) -> io::Result<()> {
        self.now.is_over = true;
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.now)?;
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(0).max(text.len() + 1);
        text.resize(length.next_multiple_of(FILLED_BYTES) - 1, b' ');
        text.push(b'\n');
        self.file.write_all_at(&text, 0)
    }
}

fn read(file: &File) -> Option<Former> {
    let mut bytes = Vec::new();
    // Each handle is read once, from its beginning.
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Processes that killed runners left.
#[derive(Clone, Debug)]
pub struct Leftovers {
    traces: Vec<Trace>,
}

impl Leftovers {
    /// Numbers and names of those alive.
    pub fn names(&self) -> Vec<(i32, String)> {
        let found = self.traces.iter().flat_map(|trace| trace.belonging().find());
        found.map(|process| (process.identity.pid, process.name)).collect()
    }

    /// Ends them: asked, given this grace, killed. `wait` waits at most as long as it is told; true means hurry.
    pub fn end(&self, grace: Duration, wait: &mut dyn FnMut(Duration) -> bool) -> Vec<LeftProcess> {
        let times = Times { settle: Duration::ZERO, grace };
        let mut wait = |limit| if wait(limit) { Waited::Hurry } else { Waited::Patiently };
        self.traces.iter().flat_map(|trace| sweep(&trace.belonging(), times, &mut wait)).collect()
    }
}

impl Trace {
    /// The group's number may be another's by now, unless its leader is still there.
    fn belonging(&self) -> Belonging<'_> {
        let has_group = Identity::of(self.leader.pid) == Some(self.leader);
        Belonging { run_id: &self.run_id, leader: self.leader, has_group, adopts: false }
    }
}
