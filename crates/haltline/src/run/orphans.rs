//! Adopts the orphans of a run while it lasts (Linux): their parent becomes this process instead of init. So a daemon
//! that left the command's process group and emptied its environment is still known, and its end is noticed.
//!
//! While a run lasts, anything else this process starts must stay in this process's own group, because that is how it
//! is distinguished from orphans.

#[cfg(target_os = "linux")]
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, WaitOptions};

#[cfg(target_os = "linux")]
use super::processes::{group_of, own_group};

/// How many orphans are reaped at once.
#[cfg(target_os = "linux")]
const REAPED_MAX: usize = 10_000;

/// While this exists, this process adopts orphans.
pub(super) struct Adoption {
    pub is_on: bool,
}

impl Adoption {
    pub(super) fn begin() -> Self {
        Self { is_on: set(true) }
    }
}

impl Drop for Adoption {
    fn drop(&mut self) {
        if self.is_on {
            set(false);
        }
    }
}

#[cfg(target_os = "linux")]
fn set(is_on: bool) -> bool {
    rustix::process::set_child_subreaper(is_on.then(rustix::process::getpid)).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn set(_is_on: bool) -> bool {
    false
}

/// Reaps orphans that have ended: a command may leave thousands of them in a night. The command itself and other
/// processes that we started are waited for elsewhere.
#[cfg(target_os = "linux")]
pub(super) fn reap(leader: i32) {
    let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    for _ in 0..REAPED_MAX {
        let (Ok(WaitStatus::Exited(ended, _)) | Ok(WaitStatus::Signaled(ended, _, _))) = waitid(Id::All, peek) else {
            return;
        };
        let Some(pid) = Pid::from_raw(ended.as_raw()).filter(|_| ended.as_raw() != leader) else { return };
        if group_of(ended.as_raw()) == Some(own_group()) {
            return;
        }
        if rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).is_err() {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reap(_leader: i32) {}
