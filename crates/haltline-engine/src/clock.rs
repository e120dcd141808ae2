//! The only code that reads a clock (E3).

use std::time::Duration;

use haltline_core::{Boot, Instant, Moment};
use rustix::time::{ClockId, clock_gettime};

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

/// The clock that runs since boot, including sleep, and an id of that boot.
#[cfg(target_os = "linux")]
fn boot() -> Option<Boot> {
    let id = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let up = clock_gettime(ClockId::Boottime);
    let uptime_ms = u64::try_from(up.tv_sec).ok()? * 1000 + u64::try_from(up.tv_nsec).ok()? / 1_000_000;
    Some(Boot { id: short_boot_id(&id), uptime_ms })
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
