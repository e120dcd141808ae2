//! The local day, night and week of a moment, by the rules of the machine's time zone (L7). The core gets them as data.

use haltline_core::Instant;
use haltline_core::ledger::{Calendar, Window};
use haltline_core::loop_::Budgets;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// The calendar at an instant, or `None` if no budget of the whole machine is set.
pub fn calendar(at: Instant, budgets: &Budgets) -> Option<Calendar> {
    budgets.is_machine_set().then(|| in_zone(at, budgets, &TimeZone::system()))
}

/// The calendar at an instant in a time zone.
pub fn in_zone(at: Instant, budgets: &Budgets, zone: &TimeZone) -> Calendar {
    let now = Timestamp::from_millisecond(at.as_millis()).unwrap_or(Timestamp::UNIX_EPOCH);
    let local = now.to_zoned(zone.clone()).datetime();
    let today = local.date();
    let days = |date: Date, days: i64| date.checked_add(days.days()).unwrap_or(date);
    let starts = |date: Date, hour: u32| {
        let hour = i8::try_from(hour.min(23)).unwrap_or_default();
        // A time that does not exist on that day, because the clock is put forward, is the one after the gap.
        let start = zone.to_timestamp(date.at(hour, 0, 0, 0)).unwrap_or(now);
        Instant::from_millis(start.as_millisecond())
    };
    let (from, to) = (budgets.night_from_hour, budgets.night_to_hour);
    let nights = [days(today, -1), today].map(|evening| {
        let morning = if to > from { evening } else { days(evening, 1) };
        Window { start: starts(evening, from), end: starts(morning, to) }
    });
    let since_monday = i64::from(today.weekday().since(Weekday::Monday));
    let monday = days(today, -since_monday);
    Calendar {
        day: Window { start: starts(today, 0), end: starts(days(today, 1), 0) },
        night: nights.into_iter().find(|night| night.start <= at && at < night.end),
        week: Window { start: starts(monday, 0), end: starts(days(monday, 7), 0) },
    }
}
