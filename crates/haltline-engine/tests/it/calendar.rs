//! Tests of `calendar.rs`: where days, nights and weeks begin in a time zone.

use haltline_core::Instant;
use haltline_core::ledger::Window;
use haltline_core::loop_::Budgets;
use haltline_engine::calendar::{calendar, in_zone};
use jiff::tz::TimeZone;

fn at(text: &str) -> Instant {
    Instant::parse(text).expect(text)
}

fn window(start: &str, end: &str) -> Window {
    Window { start: at(start), end: at(end) }
}

fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a rule")
}

#[test]
fn a_day_and_a_week_begin_at_local_midnight() {
    // Wednesday, 18 November 2026, half past midnight in Berlin.
    let found = in_zone(at("2026-11-17T23:30:00Z"), &Budgets::default(), &berlin());
    assert_eq!(found.day, window("2026-11-17T23:00:00Z", "2026-11-18T23:00:00Z"));
    assert_eq!(found.week, window("2026-11-15T23:00:00Z", "2026-11-22T23:00:00Z"));
    assert_eq!(found.night, Some(window("2026-11-17T21:00:00Z", "2026-11-18T07:00:00Z")));
}

#[test]
fn a_night_lasts_over_midnight_and_ends_at_its_last_instant() {
    let night = |text: &str| in_zone(at(text), &Budgets::default(), &TimeZone::UTC).night;
    let expected = Some(window("2026-11-17T22:00:00Z", "2026-11-18T08:00:00Z"));
    for inside in ["2026-11-17T22:00:00Z", "2026-11-18T00:00:00Z", "2026-11-18T07:59:59.999Z"] {
        assert_eq!(night(inside), expected, "{inside}");
    }
    for outside in ["2026-11-17T21:59:59.999Z", "2026-11-18T08:00:00Z", "2026-11-18T12:00:00Z"] {
        assert_eq!(night(outside), None, "{outside}");
    }
    let early = Budgets { night_from_hour: 1, night_to_hour: 5, ..Budgets::default() };
    let found = in_zone(at("2026-11-18T04:00:00Z"), &early, &TimeZone::UTC).night;
    assert_eq!(found, Some(window("2026-11-18T01:00:00Z", "2026-11-18T05:00:00Z")));
}

#[test]
fn a_day_on_which_the_clock_is_changed_has_its_own_length() {
    let day = |text: &str| in_zone(at(text), &Budgets::default(), &berlin()).day;
    assert_eq!(day("2026-03-29T12:00:00Z"), window("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"));
    assert_eq!(day("2026-10-25T12:00:00Z"), window("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"));
}

#[test]
fn without_a_budget_of_the_machine_there_is_no_calendar() {
    assert_eq!(calendar(at("2026-11-18T12:00:00Z"), &Budgets::default()), None);
    let mut budgets = Budgets::default();
    budgets.week.calls.soft = Some(1);
    assert!(calendar(at("2026-11-18T12:00:00Z"), &budgets).is_some());
}
