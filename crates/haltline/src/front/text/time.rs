//! Times as people read them: local, with an age. JSON has UTC instead.

use haltline_core::Instant;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// `14:32, 3 min ago`; within a minute with seconds, on another day with the date.
pub fn with_age(at: Instant, now: Instant, zone: &TimeZone) -> String {
    format!("{}, {}", local(at, now, zone), age(at, now))
}

/// `14:32`, `14:32:08` within a minute of now, or `2026-02-01 14:32` on another day.
pub fn local(at: Instant, now: Instant, zone: &TimeZone) -> String {
    let (shown, today) = (zoned(at, zone), zoned(now, zone));
    let is_near = at.as_millis().abs_diff(now.as_millis()) < 60_000;
    match (shown.date() == today.date(), is_near) {
        (true, true) => shown.strftime("%H:%M:%S"),
        (true, false) => shown.strftime("%H:%M"),
        (false, true) => shown.strftime("%Y-%m-%d %H:%M:%S"),
        (false, false) => shown.strftime("%Y-%m-%d %H:%M"),
    }
    .to_string()
}

/// `2026-02-01 14:32:08`.
pub fn stamp(at: Instant, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn zoned(at: Instant, zone: &TimeZone) -> Zoned {
    let timestamp = Timestamp::from_millisecond(at.as_millis()).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.to_zoned(zone.clone())
}

/// `3 min ago`, or `in 8 s`.
pub fn age(at: Instant, now: Instant) -> String {
    let length = duration(at.as_millis().abs_diff(now.as_millis()));
    match length {
        None => "now".to_owned(),
        Some(length) if at > now => format!("in {length}"),
        Some(length) => format!("{length} ago"),
    }
}

/// The length in its largest unit; `None` below a second.
fn duration(millis: u64) -> Option<String> {
    let seconds = millis / 1000;
    Some(match seconds {
        0 => return None,
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _days => format!("{} days", seconds / 86_400),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Instant {
        Instant::parse(text).expect("an instant")
    }

    #[test]
    fn times_are_local_and_have_an_age() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        let now = at("2026-07-01T12:00:00Z");
        for (text, shown) in [
            ("2026-07-01T11:57:00Z", "13:57, 3 min ago"),
            ("2026-07-01T11:59:52.500Z", "13:59:52, 7 s ago"),
            ("2026-07-01T12:00:08Z", "14:00:08, in 8 s"),
            ("2026-07-01T12:00:00.400Z", "14:00:00, now"),
            ("2026-06-30T22:30:00Z", "00:30, 13 h ago"),
            ("2026-06-30T21:30:00Z", "2026-06-30 23:30, 14 h ago"),
            ("2026-01-01T12:00:00Z", "2026-01-01 13:00, 181 days ago"),
            ("2026-07-02T12:00:00Z", "2026-07-02 14:00, in 24 h"),
        ] {
            assert_eq!(with_age(at(text), now, &berlin), shown);
        }
        assert_eq!(stamp(now, &berlin), "2026-07-01 14:00:00");
    }
}
