//! The wait of an OPEN circuit, and the one rule for when it is over (E3, E13).

use crate::{Elapsed, Instant, Moment};

/// The cooldown of the n-th trip in a row is the base times the n-th of these (L5).
const COOLDOWN_FACTORS: [u64; 5] = [1, 2, 6, 12, 60];

/// The time that an OPEN circuit waits before it is HALF_OPEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPeriod {
    pub since: Moment,
    /// Fixed at the trip, so a later configuration does not change it (E3).
    pub cooldown_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooldown {
    Over,
    Running {
        remaining_ms: u64,
    },
    /// The cooldown starts in the future of this clock, so the circuit stays OPEN (E3).
    Unreadable,
}

impl OpenPeriod {
    pub fn end(self) -> Moment {
        self.since.plus_millis(self.cooldown_ms)
    }

    /// When the cooldown ends, by the wall clock of the trip.
    pub fn until(self) -> Instant {
        self.end().at
    }

    /// How far the cooldown has progressed at `now`. It is over exactly at its end instant (E13).
    pub fn cooldown(self, now: Moment) -> Cooldown {
        match now.since(self.since) {
            Elapsed::Known(elapsed) if elapsed >= self.cooldown_ms => Cooldown::Over,
            Elapsed::Known(elapsed) => Cooldown::Running { remaining_ms: self.cooldown_ms - elapsed },
            Elapsed::Unknown => Cooldown::Unreadable,
        }
    }

    /// The moment at which the cooldown ended, if it has.
    pub fn ended_at(self, now: Moment) -> Option<Moment> {
        (self.cooldown(now) == Cooldown::Over).then(|| self.end())
    }

    /// The rest of the cooldown at `now`, in milliseconds; `None` once it is over. If the time since the trip is
    /// unknown, the whole cooldown remains (E3).
    pub fn remaining_ms(self, now: Moment) -> Option<u64> {
        match self.cooldown(now) {
            Cooldown::Over => None,
            Cooldown::Running { remaining_ms } => Some(remaining_ms),
            Cooldown::Unreadable => Some(self.cooldown_ms),
        }
    }
}

/// The cooldown of a trip, in milliseconds. `streak` is the number of trips in a row, this one included.
pub fn cooldown_ms_in_streak(base_s: u32, streak: u32) -> u64 {
    let index = usize::try_from(streak.saturating_sub(1)).unwrap_or(usize::MAX).min(COOLDOWN_FACTORS.len() - 1);
    u64::from(base_s) * 1000 * COOLDOWN_FACTORS[index]
}
