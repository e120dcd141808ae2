//! Instants, and the one rule for comparing two of them (E3).
//!
//! A wall clock can be stepped; the clock that runs since boot cannot, but a process can start itself in a time
//! namespace in which that clock is shifted. So two moments are compared by the boot clock only if they belong to the
//! same boot and the same time namespace. Moments of different boots are compared by the wall clock. Where neither is
//! possible the result is [`Elapsed::Unknown`], and each rule defines what it does then: violations count, a cooldown
//! stays. [`Moment::doubt_since`] says why.

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
        write!(formatter, "time {}: expected RFC 3339, such as 2026-02-12T10:30:00Z", shorten(&self.text))
    }
}

/// A reading of the clock that runs since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Identifies one boot of one machine.
    pub id: u64,
    /// Milliseconds since that boot, including sleep.
    pub uptime_ms: u64,
    /// The time namespace in which the clock was read; 0 is the machine's own.
    pub namespace: u32,
}

impl Boot {
    /// A reading in the machine's own time namespace.
    pub fn new(id: u64, uptime_ms: u64) -> Self {
        Self { id, uptime_ms, namespace: 0 }
    }
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
    /// The moments cannot be compared; see [`ClockDoubt`].
    Unknown,
}

/// Why the time between two moments is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockDoubt {
    /// The wall clock went backwards and there is no boot clock to compare.
    WallClockBehind,
    /// Both moments belong to one boot, but this process reads its clock in another time namespace.
    OtherTimeNamespace,
    /// The earlier moment has a boot clock and this process cannot read one.
    NoBootClock,
}

impl ClockDoubt {
    /// The doubt as a clause for a person.
    pub fn explain(self) -> &'static str {
        match self {
            ClockDoubt::WallClockBehind => "the trip is later than this clock's time",
            ClockDoubt::OtherTimeNamespace => {
                "this process runs in another time namespace, whose clock haltline cannot compare"
            }
            ClockDoubt::NoBootClock => "this process cannot read the machine's boot clock",
        }
    }
}

impl Moment {
    /// Creates a moment that has only a wall-clock time.
    pub fn from_wall_clock(at: Instant) -> Self {
        Self { at, boot: None }
    }

    /// Returns the time from `earlier` to this moment.
    pub fn since(self, earlier: Moment) -> Elapsed {
        self.compare(earlier).map_or(Elapsed::Unknown, Elapsed::Known)
    }

    /// Returns why the time from `earlier` to this moment is unknown; `None` if it is known.
    pub fn doubt_since(self, earlier: Moment) -> Option<ClockDoubt> {
        self.compare(earlier).err()
    }

    fn compare(self, earlier: Moment) -> Result<u64, ClockDoubt> {
        match (self.boot, earlier.boot) {
            (Some(now), Some(then)) if now.id == then.id => match now.namespace == then.namespace {
                true => Ok(now.uptime_ms.saturating_sub(then.uptime_ms)),
                false => Err(ClockDoubt::OtherTimeNamespace),
            },
            (None, Some(_)) => Err(ClockDoubt::NoBootClock),
            (Some(_), Some(_)) | (Some(_) | None, None) => {
                let elapsed = self.at.as_millis().saturating_sub(earlier.at.as_millis());
                u64::try_from(elapsed).map_err(|_negative| ClockDoubt::WallClockBehind)
            }
        }
    }

    /// True if this moment certainly lies within `lifetime_ms` after `since`: a permission for a while never lasts longer
    /// than stated. A restart of the machine ends it, because nothing shows how long the machine was off; so does a wall
    /// clock that has passed the stated end or, without a boot clock, gone back before the start.
    pub fn is_certainly_within(self, since: Moment, lifetime_ms: u64) -> bool {
        let is_same_clock = match (since.boot, self.boot) {
            (Some(then), Some(now)) => (then.id, then.namespace) == (now.id, now.namespace),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let has_time_left = match self.since(since) {
            Elapsed::Known(elapsed) => elapsed < lifetime_ms,
            Elapsed::Unknown => false,
        };
        is_same_clock && has_time_left && self.at < since.plus_millis(lifetime_ms).at
    }

    /// Returns this moment moved forward by `millis` on each of its clocks.
    pub fn plus_millis(self, millis: u64) -> Self {
        Self {
            at: self.at.plus_millis(i64::try_from(millis).unwrap_or(i64::MAX)),
            boot: self.boot.map(|boot| Boot { uptime_ms: boot.uptime_ms.saturating_add(millis), ..boot }),
        }
    }
}

/// Stored as `[at]`, `[at, boot, uptime]` or `[at, boot, uptime, namespace]`, which is compact because circuits keep many
/// moments.
impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.boot {
            Some(Boot { id, uptime_ms, namespace: 0 }) => (self.at, id, uptime_ms).serialize(serializer),
            Some(Boot { id, uptime_ms, namespace }) => (self.at, id, uptime_ms, namespace).serialize(serializer),
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
                formatter.write_str("[at], [at, boot, uptime] or [at, boot, uptime, namespace]")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut parts: A) -> Result<Moment, A::Error> {
                let missing = || serde::de::Error::custom("a moment starts with its time");
                let at: i64 = parts.next_element()?.ok_or_else(missing)?;
                let boot = match (parts.next_element()?, parts.next_element()?) {
                    (Some(id), Some(uptime_ms)) => {
                        Some(Boot { id, uptime_ms, namespace: parts.next_element()?.unwrap_or(0) })
                    }
                    (None, None) | (None, Some(_)) | (Some(_), None) => None,
                };
                Ok(Moment { at: Instant::from_millis(at), boot })
            }
        }
        deserializer.deserialize_seq(Parts)
    }
}
