//! When a limit ends, by clocks and zones.

use haltline_agents::headless::Reset;
use haltline_core::Instant;

fn at(text: &str) -> Instant {
    Instant::parse(text).expect("an instant")
}

fn clock_at(hour: u8, minute: u8, zone: Option<&str>) -> Reset {
    Reset::Clock { hour, minute, zone: zone.map(str::to_owned) }
}

fn date(year: Option<u16>, (month, day): (u8, u8), (hour, minute): (u8, u8), zone: Option<&str>) -> Reset {
    Reset::Date { year, month, day, hour, minute, zone: zone.map(str::to_owned) }
}

#[test]
fn a_clock_means_the_next_time_it_shows_that() {
    let now = at("2026-02-12T14:30:00Z");
    assert_eq!(clock_at(15, 0, None).moment(now), at("2026-02-12T15:00:00Z"));
    assert_eq!(clock_at(9, 15, None).moment(now), at("2026-02-13T09:15:00Z"));
    // A notice that took a few minutes to arrive means now.
    assert_eq!(clock_at(14, 25, None).moment(now), now);
    assert_eq!(clock_at(15, 0, Some("UTC+2")).moment(now), at("2026-02-13T13:00:00Z"));
    assert_eq!(clock_at(15, 0, Some("Etc/GMT+5")).moment(now), at("2026-02-12T20:00:00Z"));
    assert_eq!(clock_at(15, 0, None).moment_locally(now, -18_000), at("2026-02-12T20:00:00Z"));
    assert_eq!(clock_at(15, 0, Some("America/Bogota")).moment_locally(now, -18_000), at("2026-02-12T20:00:00Z"));
    assert_eq!(clock_at(15, 0, Some("UTC")).moment_locally(now, -18_000), at("2026-02-12T15:00:00Z"));
}

#[test]
fn a_clock_in_an_unknown_zone_is_tried_within_the_hour() {
    let now = at("2026-02-12T14:30:00Z");
    assert_eq!(clock_at(3, 45, Some("Asia/Tokyo")).moment(now), at("2026-02-12T14:45:00Z"));
    assert_eq!(clock_at(3, 0, Some("Asia/Tokyo")).moment(now), at("2026-02-12T15:00:00Z"));
    let later = date(Some(2026), (2, 20), (11, 0), Some("Asia/Seoul"));
    assert_eq!(later.moment(now), at("2026-02-19T21:00:00Z"));
    let soon = date(Some(2026), (2, 12), (16, 0), Some("Asia/Seoul"));
    assert_eq!(soon.moment(now), at("2026-02-12T15:00:00Z"));
}

#[test]
fn a_date_without_a_year_is_the_nearest_and_one_that_is_over_is_now() {
    let now = at("2026-12-30T14:30:00Z");
    assert_eq!(date(None, (1, 3), (9, 0), None).moment(now), at("2027-01-03T09:00:00Z"));
    assert_eq!(date(None, (12, 30), (9, 0), None).moment(now), now);
    assert_eq!(date(None, (12, 31), (9, 0), None).moment_locally(now, 3600), at("2026-12-31T08:00:00Z"));
    assert_eq!(date(Some(2026), (2, 30), (9, 0), None).moment(now), at("2026-12-30T15:00:00Z"));
    assert_eq!(Reset::At(at("2020-01-01T00:00:00Z")).moment(now), now);
    assert_eq!(Reset::In(5000).moment(now), at("2026-12-30T14:30:05Z"));
    assert!(Reset::In(u64::MAX).moment(now) > now);
}
