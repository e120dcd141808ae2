//! Instants in the machine's time zone, as people read them.

use haltline_core::Instant;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

fn zoned(at: Instant) -> Zoned {
    Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_zoned(TimeZone::system())
}

/// `14:32`, with the date if it is another day than `now`.
pub fn clock_time(at: Instant, now: Instant) -> String {
    let (at, now) = (zoned(at), zoned(now));
    let is_same_day = at.date() == now.date();
    at.strftime(if is_same_day { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
}

/// Milliseconds from `now` to the next midnight.
pub fn until_midnight_ms(now: Instant) -> u64 {
    let tomorrow = zoned(now).start_of_day().and_then(|today| today.checked_add(1.day()));
    let end = tomorrow.map_or(now.as_millis(), |tomorrow| tomorrow.timestamp().as_millisecond());
    u64::try_from(end - now.as_millis()).unwrap_or_default()
}
