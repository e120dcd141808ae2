//! When a limit ends, by clocks and zones.

use haltline_agents::headless::Reset;
use haltline_core::Instant;
use jiff::tz::{TimeZone, offset};

fn at(text: &str) -> Instant {
    Instant::parse(text).expect("an instant")
}

fn clock_at(hour: u8, minute: u8, zone: Option<&str>) -> Reset {
    Reset::Clock { hour, minute, zone: zone.map(str::to_owned) }
}

fn date(year: Option<u16>, (month, day): (u8, u8), (hour, minute): (u8, u8), zone: Option<&str>) -> Reset {
    Reset::Date { year, month, day, hour, minute, zone: zone.map(str::to_owned) }
}

/// On a machine whose clock shows UTC and that has no database of time zones.
fn in_utc(reset: &Reset, now: Instant) -> Instant {
    reset.moment(now, &TimeZone::UTC, |_name| None)
}

/// On a machine with this time zone, without a database of zones.
fn locally(reset: &Reset, now: Instant, zone: &TimeZone) -> Instant {
    reset.moment(now, zone, |_name| None)
}

#[test]
fn a_clock_means_the_next_time_it_shows_that() {
    let now = at("2026-02-12T14:30:00Z");
    assert_eq!(in_utc(&clock_at(15, 0, None), now), at("2026-02-12T15:00:00Z"));
    assert_eq!(in_utc(&clock_at(9, 15, None), now), at("2026-02-13T09:15:00Z"));
    // A notice that took a few minutes to arrive means now.
    assert_eq!(in_utc(&clock_at(14, 25, None), now), now);
    assert_eq!(in_utc(&clock_at(14, 20, None), now), now);
    assert_eq!(in_utc(&clock_at(14, 19, None), now), at("2026-02-13T14:19:00Z"));
    assert_eq!(in_utc(&clock_at(15, 0, Some("UTC+2")), now), at("2026-02-13T13:00:00Z"));
    assert_eq!(in_utc(&clock_at(15, 0, Some("GMT-05:30")), now), at("2026-02-12T20:30:00Z"));
    assert_eq!(in_utc(&clock_at(15, 0, Some("Etc/GMT+5")), now), at("2026-02-12T20:00:00Z"));
    let bogota = TimeZone::fixed(offset(-5));
    assert_eq!(locally(&clock_at(15, 0, None), now, &bogota), at("2026-02-12T20:00:00Z"));
    assert_eq!(locally(&clock_at(15, 0, Some("UTC")), now, &bogota), at("2026-02-12T15:00:00Z"));
}

#[test]
fn a_zone_that_nobody_knows_is_taken_as_that_of_the_machine() {
    let now = at("2026-02-12T14:30:00Z");
    let bogota = TimeZone::fixed(offset(-5));
    assert_eq!(locally(&clock_at(15, 0, Some("America/Bogota")), now, &bogota), at("2026-02-12T20:00:00Z"));
    let later = date(Some(2026), (2, 20), (11, 0), Some("America/Bogota"));
    assert_eq!(locally(&later, now, &bogota), at("2026-02-20T16:00:00Z"));
}

#[test]
fn a_date_without_a_year_is_the_nearest_and_one_that_is_over_is_now() {
    let now = at("2026-12-30T14:30:00Z");
    assert_eq!(in_utc(&date(None, (1, 3), (9, 0), None), now), at("2027-01-03T09:00:00Z"));
    assert_eq!(in_utc(&date(None, (12, 30), (9, 0), None), now), now);
    let ahead = TimeZone::fixed(offset(1));
    assert_eq!(locally(&date(None, (12, 31), (9, 0), None), now, &ahead), at("2026-12-31T08:00:00Z"));
    // A day or time that does not exist is tried within the hour.
    assert_eq!(in_utc(&date(Some(2026), (2, 30), (9, 0), None), now), at("2026-12-30T15:00:00Z"));
    assert_eq!(in_utc(&clock_at(99, 5, None), now), at("2026-12-30T15:05:00Z"));
    assert_eq!(in_utc(&Reset::At(at("2020-01-01T00:00:00Z")), now), now);
    assert_eq!(in_utc(&Reset::In(5000), now), at("2026-12-30T14:30:05Z"));
    assert!(in_utc(&Reset::In(u64::MAX), now) > now);
}

/// The rules of New York and Berlin, as the `TZ` variable has them: these tests need no database.
fn new_york() -> TimeZone {
    TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").expect("a zone")
}

fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone")
}

#[test]
fn a_time_after_the_clocks_change_has_the_offset_of_then() {
    // In the evening before, 3pm is tomorrow's, which is an hour earlier after the change to summer time.
    let spring = at("2026-03-07T22:00:00Z");
    assert_eq!(locally(&clock_at(15, 0, None), spring, &new_york()), at("2026-03-08T19:00:00Z"));
    let autumn = at("2026-10-31T22:00:00Z");
    assert_eq!(locally(&clock_at(15, 0, None), autumn, &new_york()), at("2026-11-01T20:00:00Z"));
    let weeks_later = date(None, (11, 5), (16, 0), None);
    assert_eq!(locally(&weeks_later, at("2026-10-20T12:00:00Z"), &berlin()), at("2026-11-05T15:00:00Z"));
}

#[test]
fn an_hour_that_is_left_out_is_read_by_the_offset_before_it() {
    // Clocks go from 02:00 to 03:00 on that day, at 07:00 UTC.
    let now = at("2026-03-08T06:30:00Z");
    assert_eq!(locally(&clock_at(2, 30, None), now, &new_york()), at("2026-03-08T07:30:00Z"));
    assert_eq!(locally(&date(None, (3, 8), (2, 30), None), now, &new_york()), at("2026-03-08T07:30:00Z"));
}

#[test]
fn an_hour_that_is_repeated_is_the_first_that_is_not_over() {
    // Clocks go from 03:00 back to 02:00 on that day, at 01:00 UTC: 02:30 is at 00:30 and at 01:30 UTC.
    for (now, expected) in [
        ("2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"),
        ("2026-10-25T00:50:00Z", "2026-10-25T01:30:00Z"),
        ("2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"),
        ("2026-10-25T02:00:00Z", "2026-10-26T01:30:00Z"),
    ] {
        assert_eq!(locally(&clock_at(2, 30, None), at(now), &berlin()), at(expected), "{now}");
    }
    let dated = date(None, (10, 25), (2, 30), None);
    assert_eq!(locally(&dated, at("2026-10-25T00:10:00Z"), &berlin()), at("2026-10-25T00:30:00Z"));
    assert_eq!(locally(&dated, at("2026-10-25T00:50:00Z"), &berlin()), at("2026-10-25T01:30:00Z"));
    assert_eq!(locally(&dated, at("2026-10-25T02:00:00Z"), &berlin()), at("2026-10-25T02:00:00Z"));
}

#[test]
fn the_year_is_that_of_the_zone() {
    let reset = date(None, (12, 31), (23, 0), None);
    // In New York it is still the evening of 31 December.
    assert_eq!(locally(&reset, at("2027-01-01T01:00:00Z"), &new_york()), at("2027-01-01T04:00:00Z"));
}

#[test]
fn a_named_zone_has_its_own_rules_and_not_those_of_the_machine() {
    if TimeZone::get("Europe/Berlin").is_err() {
        eprintln!("SKIPPED: this machine has no database of time zones; named zones are NOT tested");
        return;
    }
    let zones = |name: &str| TimeZone::get(name).ok();
    for (zone, now, expected) in [
        ("America/New_York", "2026-07-01T12:00:00Z", "2026-07-01T19:00:00Z"),
        ("America/New_York", "2026-01-15T12:00:00Z", "2026-01-15T20:00:00Z"),
        ("america/new_york", "2026-01-15T12:00:00Z", "2026-01-15T20:00:00Z"),
        ("America/New_York", "2026-03-07T22:00:00Z", "2026-03-08T19:00:00Z"),
        ("Europe/Berlin", "2026-07-01T12:00:00Z", "2026-07-01T13:00:00Z"),
        ("Europe/Warsaw", "2026-01-15T12:00:00Z", "2026-01-15T14:00:00Z"),
        ("Asia/Tokyo", "2026-07-01T12:00:00Z", "2026-07-02T06:00:00Z"),
        ("Asia/Kolkata", "2026-07-01T09:00:00Z", "2026-07-01T09:30:00Z"),
        ("Pacific/Auckland", "2026-01-15T12:00:00Z", "2026-01-16T02:00:00Z"),
        // The difference between summer and winter is half an hour here.
        ("Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-05T04:30:00Z"),
    ] {
        let moment = clock_at(15, 0, Some(zone)).moment(at(now), &berlin(), zones);
        assert_eq!(moment, at(expected), "3pm ({zone}) at {now}");
    }
    let dated = date(None, (2, 7), (11, 0), Some("Asia/Seoul")).moment(at("2026-02-01T00:00:00Z"), &berlin(), zones);
    assert_eq!(dated, at("2026-02-07T02:00:00Z"));
    // Names that a client could make up are unknown: no path leads out of the database.
    for name in ["Nowhere/Atlantis", "../../etc/passwd", "/etc/localtime", "A/".repeat(2000).as_str()] {
        let moment = clock_at(15, 0, Some(name)).moment(at("2026-07-01T12:00:00Z"), &TimeZone::UTC, zones);
        assert_eq!(moment, at("2026-07-01T15:00:00Z"), "{name}");
    }
}
