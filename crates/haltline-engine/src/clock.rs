//! The only code that reads a clock (E3).

use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use haltline_core::{Boot, Instant, Moment};
use rustix::time::{ClockId, clock_gettime};

/// Length of a boot id as the kernel prints it.
#[cfg(target_os = "linux")]
const BOOT_ID_BYTES: usize = 37;
/// The file system of namespaces.
#[cfg(target_os = "linux")]
const NSFS_MAGIC: rustix::fs::FsWord = 0x6e73_6673;
/// The number that the kernel gives the first time namespace of every boot.
#[cfg(target_os = "linux")]
const FIRST_TIME_NAMESPACE: u32 = 0xEFFF_FFFA;

/// Where the present moment comes from.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The machine's clocks.
    System,
    /// Always this moment: for tests, and for replays of recorded time.
    Fixed(Moment),
}

impl Clock {
    pub fn now(self) -> Moment {
        match self {
            Clock::System => {
                let wall = clock_gettime(ClockId::Realtime);
                let millis = wall.tv_sec.saturating_mul(1000).saturating_add(wall.tv_nsec / 1_000_000);
                Moment { at: Instant::from_millis(millis), boot: boot() }
            }
            Clock::Fixed(moment) => moment,
        }
    }
}

/// A time limit that starts when it is created.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: std::time::Instant,
    limit: Duration,
}

impl Deadline {
    /// Starts now.
    pub fn new(limit: Duration) -> Self {
        Self { started: std::time::Instant::now(), limit }
    }

    /// The time that is left; zero when the limit is over.
    pub fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.started.elapsed())
    }

    /// The time since the start, which may exceed the limit.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The clock that runs since boot, including sleep. `None` where its boot or its time namespace cannot be told.
#[cfg(target_os = "linux")]
fn boot() -> Option<Boot> {
    /// Neither changes while a process runs.
    static IDENTITY: LazyLock<Option<(u64, u32)>> = LazyLock::new(|| Some((boot_id()?, time_namespace()?)));
    let (id, namespace) = (*IDENTITY)?;
    let up = clock_gettime(ClockId::Boottime);
    let uptime_ms = u64::try_from(up.tv_sec).ok()? * 1000 + u64::try_from(up.tv_nsec).ok()? / 1_000_000;
    Some(Boot { namespace, ..Boot::new(id, uptime_ms) })
}

/// The id of this boot, if `/proc` is the kernel's own: a folder that was mounted over it could name any boot.
#[cfg(target_os = "linux")]
fn boot_id() -> Option<u64> {
    let file = std::fs::File::open("/proc/sys/kernel/random/boot_id").ok()?;
    if rustix::fs::fstatfs(&file).ok()?.f_type != rustix::fs::PROC_SUPER_MAGIC {
        return None;
    }
    let mut id = Vec::with_capacity(BOOT_ID_BYTES);
    file.take(BOOT_ID_BYTES as u64).read_to_end(&mut id).ok()?;
    Some(short_boot_id(&id))
}

/// The time namespace of this process; 0 for the one that the machine started with, and on kernels without any.
#[cfg(target_os = "linux")]
fn time_namespace() -> Option<u32> {
    use rustix::fs::{Mode, OFlags};
    match rustix::fs::open("/proc/self/ns/time", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(namespace) => {
            let is_namespace = rustix::fs::fstatfs(&namespace).ok()?.f_type == NSFS_MAGIC;
            let number = u32::try_from(rustix::fs::fstat(&namespace).ok()?.st_ino).ok()?;
            is_namespace.then_some(if number == FIRST_TIME_NAMESPACE { 0 } else { number })
        }
        // Before Linux 5.6 there is no such file, and no way to shift the boot clock.
        Err(rustix::io::Errno::NOENT) => Path::new("/proc/self/ns/uts").exists().then_some(0),
        Err(_hidden) => None,
    }
}

/// Other systems have no cheap id of a boot, so only wall clock times are compared.
#[cfg(not(target_os = "linux"))]
fn boot() -> Option<Boot> {
    None
}

/// 48 bits of a boot id: enough to distinguish boots, and exact in every JSON reader.
#[cfg(target_os = "linux")]
fn short_boot_id(id: &[u8]) -> u64 {
    let hex = id.iter().filter_map(|&byte| char::from(byte).to_digit(16)).take(12);
    hex.fold(0, |value, digit| (value << 4) | u64::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_id_is_its_first_twelve_hex_digits() {
        assert_eq!(short_boot_id(b"01234567-89ab-cdef-0000-000000000000\n"), 0x0123_4567_89ab);
    }

    #[test]
    fn the_machine_has_one_boot_and_its_clock_does_not_run_back() {
        let (first, second) = (Clock::System.now(), Clock::System.now());
        assert_eq!(first.boot.map(|boot| boot.id), second.boot.map(|boot| boot.id));
        assert!(first.boot.map(|boot| boot.uptime_ms) <= second.boot.map(|boot| boot.uptime_ms));
    }
}
