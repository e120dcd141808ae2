//! Instants, and the one rule for comparing two of them (E3).
//!
//! A wall clock can be stepped; the clock that runs since boot cannot. Two moments of the same boot are compared
//! by the boot clock, so a stepped wall clock has no effect. Moments of different boots are compared by the wall clock;
//! if that would give a negative duration, the result is [`Elapsed::Unknown`], and each rule defines what it does
//! then: violations count, a cooldown stays.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shorten;

/// A point in UTC time, in whole milliseconds since the epoch, which is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(i64);

/// The text is not an RFC 3339 instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstantError {
    pub text: String,
}

impl Instant {
    /// Creates an instant from milliseconds since the epoch, clamped to the years a calendar can print (about ±9999).
    pub fn from_millis(millis: i64) -> Self {
        let (low, high) = (jiff::Timestamp::MIN.as_millisecond(), jiff::Timestamp::MAX.as_millisecond());
        Self(millis.clamp(low, high))
    }

    /// Milliseconds since the epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Parses RFC 3339, with or without a fraction.
    pub fn parse(text: &str) -> Result<Self, InstantError> {
        match text.trim().parse::<jiff::Timestamp>() {
            Ok(timestamp) => Ok(Self(timestamp.as_millisecond())),
            Err(_unreadable) => Err(InstantError { text: text.to_owned() }),
        }
    }

    /// Formats as `2026-02-12T10:30:00Z`: whole seconds, as in seed 003's files.
    pub fn to_seconds_text(self) -> String {
        let second = jiff::Timestamp::from_second(self.0.div_euclid(1000)).unwrap_or(jiff::Timestamp::MIN);
        second.to_string()
    }

    /// Formats as `2026-02-12`.
    pub fn to_date_text(self) -> String {
        let mut text = self.to_seconds_text();
        text.truncate(text.find('T').unwrap_or(text.len()));
        text
    }

    /// Returns this instant moved by `millis`, which may be negative.
    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Returns the start of this instant's second.
    pub fn whole_second(self) -> Self {
        Self(self.0.div_euclid(1000) * 1000)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MIN);
        write!(formatter, "{timestamp:.3}")
    }
}

impl fmt::Display for InstantError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "instant {}: expected RFC 3339, such as 2026-02-12T10:30:00Z", shorten(&self.text))
    }
}

/// A reading of the clock that runs since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Identifies one boot of one machine.
    pub id: u64,
    /// Milliseconds since that boot, including sleep.
    pub uptime_ms: u64,
}

/// When something happened, by the wall clock and, if it was read, by the boot clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub at: Instant,
    /// The boot clock; absent for recorded or imported moments.
    pub boot: Option<Boot>,
}

/// How much time passed between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elapsed {
    /// Milliseconds.
    Known(u64),
    /// The wall clock went backwards and there is no boot clock to compare.
    Unknown,
}

impl Moment {
    /// Creates a moment that has only a wall-clock time.
    pub fn from_wall_clock(at: Instant) -> Self {
        Self { at, boot: None }
    }

    /// Returns the time from `earlier` to this moment.
    pub fn since(self, earlier: Moment) -> Elapsed {
        if let (Some(now), Some(then)) = (self.boot, earlier.boot)
            && now.id == then.id
        {
            return Elapsed::Known(now.uptime_ms.saturating_sub(then.uptime_ms));
        }
        match u64::try_from(self.at.as_millis().saturating_sub(earlier.at.as_millis())) {
            Ok(millis) => Elapsed::Known(millis),
            Err(_negative) => Elapsed::Unknown,
        }
    }

    /// Returns this moment moved forward by `millis` on each of its clocks.
    pub fn plus_millis(self, millis: u64) -> Self {
        Self {
            at: self.at.plus_millis(i64::try_from(millis).unwrap_or(i64::MAX)),
            boot: self.boot.map(|boot| Boot { uptime_ms: boot.uptime_ms.saturating_add(millis), ..boot }),
        }
    }
}

/// Stored as `[at]` or `[at, boot, uptime]`, which is compact because circuits keep many moments.
impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.boot {
            Some(boot) => (self.at, boot.id, boot.uptime_ms).serialize(serializer),
            None => [self.at].serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> serde::de::Visitor<'de> for Parts {
            type Value = Moment;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("[at] or [at, boot, uptime]")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut parts: A) -> Result<Moment, A::Error> {
                let missing = || serde::de::Error::custom("a moment starts with its instant");
                let at: i64 = parts.next_element()?.ok_or_else(missing)?;
                let boot = match (parts.next_element()?, parts.next_element()?) {
                    (Some(id), Some(uptime_ms)) => Some(Boot { id, uptime_ms }),
                    (None, None) | (None, Some(_)) | (Some(_), None) => None,
                };
                Ok(Moment { at: Instant::from_millis(at), boot })
            }
        }
        deserializer.deserialize_seq(Parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at: i64, boot: Option<(u64, u64)>) -> Moment {
        Moment { at: Instant::from_millis(at), boot: boot.map(|(id, uptime_ms)| Boot { id, uptime_ms }) }
    }

    #[test]
    fn within_one_boot_the_wall_clock_does_not_matter() {
        let (first, second) = (moment(1_000_000, Some((7, 500))), moment(0, Some((7, 800))));
        assert_eq!(second.since(first), Elapsed::Known(300));
    }

    #[test]
    fn across_boots_a_wall_clock_that_went_back_gives_an_unknown_duration() {
        let (first, second) = (moment(1_000, Some((7, 500))), moment(900, Some((8, 1))));
        assert_eq!(second.since(first), Elapsed::Unknown);
        assert_eq!(first.since(second), Elapsed::Known(100));
        assert_eq!(moment(900, None).since(first), Elapsed::Unknown);
    }

    #[test]
    fn a_moment_survives_serialization() {
        for moment in [moment(12, None), moment(-5, Some((3, 9)))] {
            let text = serde_json::to_string(&moment).expect("a moment can be written");
            assert_eq!(serde_json::from_str::<Moment>(&text).expect("and read"), moment);
        }
        assert_eq!(serde_json::to_string(&moment(12, Some((3, 9)))).expect("json"), "[12,3,9]");
    }

    #[test]
    fn instants_read_and_print_as_rfc_3339() {
        let instant = Instant::parse("2026-02-12T10:30:00.250Z").expect("valid");
        assert_eq!(instant.to_string(), "2026-02-12T10:30:00.250Z");
        assert_eq!(instant.to_seconds_text(), "2026-02-12T10:30:00Z");
        assert_eq!(instant.to_date_text(), "2026-02-12");
        assert_eq!(instant.whole_second().as_millis() % 1000, 0);
        assert!(Instant::parse("yesterday").is_err());
    }

    #[test]
    fn a_moment_moves_on_both_clocks() {
        assert_eq!(moment(5, Some((1, 2))).plus_millis(10), moment(15, Some((1, 12))));
    }
}
