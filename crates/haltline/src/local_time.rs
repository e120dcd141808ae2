//! Instants in the machine's time zone, as people read them.

use std::borrow::Cow;

use haltline_agents::headless::Reset;
use haltline_core::Instant;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

fn zoned(at: Instant) -> Zoned {
    Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_zoned(TimeZone::system())
}

/// The instant that a client means, which names the time of the machine unless it names a zone.
pub fn stated_instant(reset: &Reset, now: Instant) -> Instant {
    reset.moment(now, &TimeZone::system(), |name| TimeZone::get(name).ok())
}

/// `14:32`, with the date if it is another day than `now`.
pub fn clock_time(at: Instant, now: Instant) -> String {
    let (at, now) = (zoned(at), zoned(now));
    let is_same_day = at.date() == now.date();
    at.strftime(if is_same_day { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
}

/// A sentence of the core with its instants in local time: the core knows no time zone and writes `until
/// 2026-02-01T10:00:10Z`. Only an instant after one of these words is haltline's own; the results of calls stay as
/// they are.
pub fn in_sentence(text: &str, now: Instant) -> Cow<'_, str> {
    if !text.contains("Z") || !OWN_WORDS.iter().any(|word| text.contains(word)) {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = OWN_WORDS.iter().filter_map(|word| Some(rest.find(word)? + word.len())).min() {
        let (before, after) = rest.split_at(start);
        shown.push_str(before);
        rest = after;
        if let Some(at) = after.get(..STAMP_LENGTH).filter(|stamp| stamp.ends_with('Z'))
            && let Ok(at) = Instant::parse(at)
        {
            shown.push_str(&clock_time_near(at, now));
            rest = &after[STAMP_LENGTH..];
        }
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// The words before an instant in a sentence of the core.
const OWN_WORDS: [&str; 5] = ["until ", "since ", "ends ", "passes ", " at "];
/// Length of `2026-02-01T10:00:10Z`.
const STAMP_LENGTH: usize = 20;

/// `14:32:08` within an hour of `now`, else like [`clock_time`].
fn clock_time_near(at: Instant, now: Instant) -> String {
    if at.as_millis().abs_diff(now.as_millis()) >= 3_600_000 || zoned(at).date() != zoned(now).date() {
        return clock_time(at, now);
    }
    zoned(at).strftime("%H:%M:%S").to_string()
}

/// Milliseconds from `now` to the next midnight.
pub fn until_midnight_ms(now: Instant) -> u64 {
    let tomorrow = zoned(now).start_of_day().and_then(|today| today.checked_add(1.day()));
    let end = tomorrow.map_or(now.as_millis(), |tomorrow| tomorrow.timestamp().as_millisecond());
    u64::try_from(end - now.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instants_of_haltlines_own_sentences_become_local() {
        let now = Instant::parse("2026-02-01T10:00:00Z").expect("an instant");
        let at = Instant::parse("2026-02-01T10:00:10Z").expect("an instant");
        let local = clock_time_near(at, now);
        let text = "Cooldown: 10s (until 2026-02-01T10:00:10Z).\nLast answer: 2026-02-01T10:00:10Z boom until Zoe";
        let expected = format!("Cooldown: 10s (until {local}).\nLast answer: 2026-02-01T10:00:10Z boom until Zoe");
        assert_eq!(in_sentence(text, now), expected);
        for text in ["nothing until now", "since 2026-02-01", "", "until ÄÄÄÄÄÄÄÄÄÄÄÄÄZ"] {
            assert_eq!(in_sentence(text, now), text);
        }
    }
}
