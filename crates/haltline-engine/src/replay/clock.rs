//! The clock of a replay: recorded times, and a boot clock that never goes back.
//!
//! Transcripts are not always in order: records of sub-agents come a little late, and clocks are set. The core compares
//! moments of one boot by the boot clock (E3), so a replay has its own boot clock, which follows the latest time seen.
//! An earlier time does not move it; after a real step back it continues from there.

use haltline_core::{Boot, Instant, Moment};

/// A record that is at most this much earlier is late; if it is earlier than that, the clock was set back.
const LATE_MS: i64 = 3_600_000;
/// Without recorded times, each call is assumed to come this long after the one before.
const CALL_MS: u64 = 10_000;

/// A clock of recorded time.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayClock {
    /// The time up to which the boot clock has advanced.
    latest: Option<Instant>,
    last: Option<Instant>,
    uptime_ms: u64,
}

impl ReplayClock {
    /// The moment of the next record.
    pub fn advance(&mut self, at: Option<Instant>, is_call: bool) -> Moment {
        match (at, self.latest) {
            (Some(at), None) => self.latest = Some(at),
            (Some(at), Some(latest)) => {
                let difference = at.as_millis().saturating_sub(latest.as_millis());
                if !(-LATE_MS..=0).contains(&difference) {
                    self.uptime_ms = self.uptime_ms.saturating_add(u64::try_from(difference).unwrap_or(0));
                    self.latest = Some(at);
                }
            }
            (None, None) if is_call => self.uptime_ms = self.uptime_ms.saturating_add(CALL_MS),
            (None, None | Some(_)) => {}
        }
        self.last = at.or(self.last);
        let untold = || Instant::from_millis(i64::try_from(self.uptime_ms).unwrap_or(i64::MAX));
        Moment { at: self.last.unwrap_or_else(untold), boot: Some(Boot::new(1, self.uptime_ms)) }
    }
}

#[cfg(test)]
mod tests {
    use haltline_core::Elapsed;

    use super::*;

    fn passed(instants: &[Option<i64>]) -> u64 {
        let mut clock = ReplayClock::default();
        let moments: Vec<Moment> =
            instants.iter().map(|at| clock.advance(at.map(Instant::from_millis), true)).collect();
        match moments[moments.len() - 1].since(moments[0]) {
            Elapsed::Known(millis) => millis,
            Elapsed::Unknown => panic!("the boot clock always knows"),
        }
    }

    #[test]
    fn a_late_record_does_not_move_the_clock_and_a_clock_set_back_continues_from_there() {
        assert_eq!(passed(&[Some(0), Some(5_000)]), 5_000);
        assert_eq!(passed(&[Some(0), Some(5_000), Some(3_000), Some(6_000)]), 6_000);
        assert_eq!(passed(&[Some(9_000_000), Some(1_000), Some(4_000)]), 3_000);
    }

    #[test]
    fn without_a_time_the_last_one_applies_and_without_any_calls_are_ten_seconds_apart() {
        assert_eq!(passed(&[Some(1_000), None, None]), 0);
        assert_eq!(passed(&[None, None, None]), 2 * CALL_MS);
    }
}
