//! Parses when a limit of the service ends, in the many ways clients word it, and resolves it to an instant.
//!
//! This crate reads no files, so a caller passes in the machine's time zone and how a zone is found by its name.

use haltline_core::Instant;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone};

/// When the limit ends, as the client gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reset {
    At(Instant),
    /// This many milliseconds after the message.
    In(u64),
    /// The next time a clock shows this.
    Clock {
        /// 0 to 23.
        hour: u8,
        /// 0 to 59.
        minute: u8,
        /// The time zone, as the client spelt it.
        zone: Option<String>,
    },
    Date {
        year: Option<u16>,
        /// 1 to 12.
        month: u8,
        /// 1 to 31.
        day: u8,
        /// 0 to 23.
        hour: u8,
        /// 0 to 59.
        minute: u8,
        /// The time zone, as the client spelt it.
        zone: Option<String>,
    },
}

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// A clock time that passed less than this ago means that time, not tomorrow's: the notice took a while to arrive.
const GRACE: i64 = 10 * MINUTE;
/// Longer waits are cut to this.
const WAIT_MAX: u64 = 366 * 24 * 60 * 60 * 1000;

impl Reset {
    /// The instant that is meant, never before `now`. Times are in the zone that they name if it contains its offset
    /// (`UTC+2`) or `zone_by_name` knows it, otherwise in `local`. A day or time that does not exist is tried within the hour:
    /// trying too early costs one rejected request, trying too late costs a night.
    pub fn moment(&self, now: Instant, local: &TimeZone, zone_by_name: impl Fn(&str) -> Option<TimeZone>) -> Instant {
        let zone_of = |name: &Option<String>| {
            let named = name.as_deref().and_then(|name| fixed_zone(name).or_else(|| zone_by_name(name)));
            named.unwrap_or_else(|| local.clone())
        };
        let moment = match self {
            Reset::At(instant) => Some(*instant),
            Reset::In(millis) => Some(now.plus_millis(i64::try_from(*millis).unwrap_or(i64::MAX))),
            Reset::Clock { hour, minute, zone } => {
                let zone = zone_of(zone);
                let today = date_in(&zone, now);
                let days = [Some(today), today.tomorrow().ok()].into_iter().flatten();
                let grace_start = now.plus_millis(-GRACE);
                days.flat_map(|day| instants_of(day, *hour, *minute, &zone)).find(|at| *at >= grace_start)
            }
            Reset::Date { year, month, day, hour, minute, zone } => {
                let zone = zone_of(zone);
                let at = |year: i16| {
                    let date = Date::new(year, month.cast_signed(), day.cast_signed()).ok()?;
                    let instants = instants_of(date, *hour, *minute, &zone);
                    instants.iter().copied().find(|at| *at >= now).or(instants.last().copied())
                };
                match year {
                    Some(year) => at(year.cast_signed()),
                    // The nearest such date that is not long over.
                    None => {
                        let this_year = date_in(&zone, now).year();
                        let long_over = now.plus_millis(-180 * DAY);
                        at(this_year).filter(|there| *there > long_over).or_else(|| at(this_year + 1))
                    }
                }
            }
        };
        moment.unwrap_or_else(|| next_hour_at(self.minute(), now)).max(now)
    }

    fn minute(&self) -> u8 {
        match self {
            Reset::Clock { minute, .. } | Reset::Date { minute, .. } => *minute,
            Reset::At(_) | Reset::In(_) => 0,
        }
    }
}

/// The instants at which a clock of the zone shows this, in order: two equal ones, except for an hour that is repeated
/// when clocks are set back. An hour that is left out when clocks are set forward is read by the offset before it.
fn instants_of(date: Date, hour: u8, minute: u8, zone: &TimeZone) -> Vec<Instant> {
    let Ok(time) = Time::new(hour.cast_signed(), minute.cast_signed(), 0, 0) else { return Vec::new() };
    let shown = zone.to_ambiguous_timestamp(date.to_datetime(time));
    let instants = [shown.compatible(), shown.later()].into_iter().flatten();
    instants.map(|timestamp| Instant::from_millis(timestamp.as_millisecond())).collect()
}

/// The date that a calendar in the zone shows.
fn date_in(zone: &TimeZone, now: Instant) -> Date {
    zone.to_datetime(Timestamp::from_millisecond(now.as_millis()).unwrap_or_default()).date()
}

/// The next time within an hour that a clock shows this minute.
fn next_hour_at(minute: u8, now: Instant) -> Instant {
    let this = now.as_millis().div_euclid(HOUR) * HOUR + i64::from(minute) * MINUTE;
    Instant::from_millis(if this > now.as_millis() { this } else { this + HOUR })
}

/// A zone whose name contains its offset: `UTC`, `GMT+2`, `-05:30`, `Etc/GMT+5`.
fn fixed_zone(name: &str) -> Option<TimeZone> {
    let lower = name.to_ascii_lowercase();
    // `Etc/GMT+5` is five hours behind UTC: its sign is reversed.
    let (name, sign) = match lower.strip_prefix("etc/") {
        Some(name) => (name, -1),
        None => (lower.as_str(), 1),
    };
    let prefixes = ["utc", "gmt", "z"];
    let seconds = match prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        Some("") => 0,
        Some(distance) => sign * signed_hours(distance)?,
        None => signed_hours(name)?,
    };
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// The seconds in `+2`, `-05:30`.
fn signed_hours(text: &str) -> Option<i32> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':').unwrap_or((&text[1..], "0"));
    let hours = hours.parse::<i32>().ok().filter(|hours| (0..=14).contains(hours))?;
    let minutes = minutes.parse::<i32>().ok().filter(|minutes| (0..60).contains(minutes))?;
    Some(sign * (hours * 3600 + minutes * 60))
}

const MESSAGE_BYTES_MAX: usize = 4096;

/// When the limit of this message ends, if it says so.
pub(super) fn find_in(message: &str) -> Option<Reset> {
    let end = message.floor_char_boundary(MESSAGE_BYTES_MAX);
    let message = &message[..end];
    if let Some(reset) = parse_timestamp(message) {
        return Some(reset);
    }
    let words: Vec<&str> = message.split_whitespace().map(without_punctuation).collect();
    let is = |index: usize, word: &str| words.get(index).is_some_and(|other| other.eq_ignore_ascii_case(word));
    let mut starts = (0..words.len()).filter(|&index| {
        ["reset", "resets", "retry"].iter().any(|word| is(index, word))
            || (is(index, "again") && index > 0 && is(index - 1, "try"))
    });
    starts.find_map(|index| parse_after_keyword(&words[index + 1..]))
}

fn without_punctuation(word: &str) -> &str {
    word.trim_matches(|letter: char| !letter.is_alphanumeric() && !"+-".contains(letter))
}

/// `…|1749924000`, and the fields of an error that is JSON.
fn parse_timestamp(message: &str) -> Option<Reset> {
    let digits = |text: &str| -> Option<u64> {
        let text = text.trim_start_matches(['"', ':', ' ']);
        let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let after = |marker: &str| message.find(marker).map(|index| &message[index + marker.len()..]);
    let at =
        ["resets_at", "resetsAt", "|"].iter().filter_map(|marker| instant_from_epoch(digits(after(marker)?)?)).next();
    let seconds = || after("resets_in_seconds").and_then(digits);
    at.map(Reset::At).or_else(|| seconds().map(|seconds| Reset::In(seconds.saturating_mul(1000).min(WAIT_MAX))))
}

/// Seconds or milliseconds since the epoch, if they can be a time of this century.
pub(super) fn instant_from_epoch(number: u64) -> Option<Instant> {
    let millis = match number {
        1_000_000_000..=4_100_000_000 => number * 1000,
        1_000_000_000_000..=4_100_000_000_000 => number,
        _ => return None,
    };
    i64::try_from(millis).ok().map(Instant::from_millis)
}

fn parse_after_keyword(mut words: &[&str]) -> Option<Reset> {
    const FILLERS: [&str; 9] = ["", "at", "on", "will", "be", "by", "around", "is", "again"];
    while let Some((first, rest)) = words.split_first() {
        if !FILLERS.iter().any(|filler| filler.eq_ignore_ascii_case(first)) {
            break;
        }
        words = rest;
    }
    let first = words.first()?;
    if ["in", "after"].iter().any(|word| word.eq_ignore_ascii_case(first)) {
        return parse_duration(&words[1..]);
    }
    if first.len() > 15
        && let Ok(instant) = Instant::parse(first)
    {
        return Some(Reset::At(instant));
    }
    parse_duration(words).or_else(|| parse_date(words)).or_else(|| {
        let (hour, minute, used) = parse_clock(words)?;
        Some(Reset::Clock { hour, minute, zone: parse_zone(words.get(used)) })
    })
}

/// `5 days 22 hours 11 minutes`, `3h12m5s`, `17 seconds`.
fn parse_duration(words: &[&str]) -> Option<Reset> {
    let mut millis: Option<u64> = None;
    let mut add = |number: u64, each: u64| {
        millis = Some(millis.unwrap_or(0).saturating_add(number.saturating_mul(each)).min(WAIT_MAX));
    };
    let mut index = 0;
    while let Some(word) = words.get(index) {
        if word.eq_ignore_ascii_case("and") {
            index += 1;
        } else if let Ok(number) = word.parse::<u64>() {
            let Some(each) = words.get(index + 1).and_then(|word| unit_millis(word)) else { break };
            add(number, each);
            index += 2;
        } else if let Some(parts) = parse_compact_duration(word) {
            parts.into_iter().for_each(|(number, each)| add(number, each));
            index += 1;
        } else {
            break;
        }
    }
    millis.map(Reset::In)
}

/// `3h12m5s`.
fn parse_compact_duration(word: &str) -> Option<Vec<(u64, u64)>> {
    let mut rest = word;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let number = rest[..digits].parse().ok()?;
        parts.push((number, unit_millis(&rest[digits..digits + letters])?));
        rest = &rest[digits + letters..];
    }
    (!parts.is_empty()).then_some(parts)
}

/// Milliseconds of one such unit.
fn unit_millis(word: &str) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    Some(match word.as_str() {
        "d" | "day" | "days" => 86_400_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1000,
        "ms" => 1,
        _ => return None,
    })
}

/// `Feb 7, 11am (Asia/Seoul)`, `Jul 5th, 2026 8:19 PM`, `Aug 18`.
fn parse_date(words: &[&str]) -> Option<Reset> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = words.first()?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| name.starts_with(month) && name.len() <= 9)?;
    let day = words.get(1)?;
    let digits = day.bytes().take_while(u8::is_ascii_digit).count();
    let suffix = day[digits..].to_ascii_lowercase();
    let day: u8 = day[..digits].parse().ok().filter(|day| (1..=31).contains(day))?;
    if !["", "st", "nd", "rd", "th"].contains(&suffix.as_str()) {
        return None;
    }
    let mut rest = &words[2..];
    let year = rest.first().and_then(|word| word.parse().ok()).filter(|year| (2020..2100).contains(year));
    rest = if year.is_some() { &rest[1..] } else { rest };
    rest = match rest.split_first() {
        Some((first, after)) if first.is_empty() || first.eq_ignore_ascii_case("at") => after,
        Some(_) | None => rest,
    };
    let (hour, minute, used) = parse_clock(rest).unwrap_or((0, 0, 0));
    let month = u8::try_from(month + 1).ok()?;
    Some(Reset::Date { year, month, day, hour, minute, zone: parse_zone(rest.get(used)) })
}

/// `3pm`, `12:50am`, `3:28 PM`, `15:00`: the hour, the minute and the number of words they consist of.
fn parse_clock(words: &[&str]) -> Option<(u8, u8, usize)> {
    let word = words.first()?.to_ascii_lowercase();
    let half_of = |text: &str| match text {
        "am" | "a.m" => Some(false),
        "pm" | "p.m" => Some(true),
        _ => None,
    };
    let digits = word.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
    let (hour, minute) = match word[..digits].split_once(':') {
        Some((hour, minute)) => (hour, Some(minute)),
        None => (&word[..digits], None),
    };
    let hour: u8 = hour.parse().ok()?;
    let (half, used) =
        match (half_of(&word[digits..]), words.get(1).and_then(|next| half_of(&next.to_ascii_lowercase()))) {
            (Some(half), _) => (Some(half), 1),
            (None, _) if digits < word.len() => return None,
            (None, Some(half)) => (Some(half), 2),
            (None, None) => (None, 1),
        };
    // A bare number is not a time of day.
    if half.is_none() && minute.is_none() {
        return None;
    }
    let minute: u8 = minute.unwrap_or("0").get(..2.min(minute.unwrap_or("0").len()))?.parse().ok()?;
    let hour = match half {
        Some(is_after_noon) if (1..=12).contains(&hour) => hour % 12 + if is_after_noon { 12 } else { 0 },
        Some(_) => return None,
        None => hour,
    };
    (hour < 24 && minute < 60).then_some((hour, minute, used))
}

/// The name of a zone after a time.
fn parse_zone(word: Option<&&str>) -> Option<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "/_+-:".contains(letter);
    let word = word?.split(|letter| !is_part(letter)).next()?;
    let is_zone =
        word.contains('/') || ["utc", "gmt", "z"].iter().any(|name| word.to_ascii_lowercase().starts_with(name));
    (is_zone && word.len() <= 40).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn every_wording_that_clients_use_is_understood() {
        let cases = [
            ("Claude AI usage limit reached|1749924000", Reset::At(Instant::from_millis(1_749_924_000_000))),
            (
                "Claude usage limit reached. Your limit will reset at 5pm (Europe/Warsaw).",
                clock_at(17, 0, Some("Europe/Warsaw")),
            ),
            ("5-hour limit reached ∙ resets 5am", clock_at(5, 0, None)),
            (
                "You've hit your session limit · resets 12:50am (America/Los_Angeles)",
                clock_at(0, 50, Some("America/Los_Angeles")),
            ),
            (
                "You've hit your limit - resets Feb 7, 11am (Asia/Seoul)/login to",
                date(None, (2, 7), (11, 0), Some("Asia/Seoul")),
            ),
            (
                "You've hit your limit · resets Apr 23 at 4pm (America/Recife)",
                date(None, (4, 23), (16, 0), Some("America/Recife")),
            ),
            ("You're out of extra usage · resets 9pm", clock_at(21, 0, None)),
            (
                "Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 11\nminutes.",
                Reset::In(511_860_000),
            ),
            ("or try again in 3 hours 12 minutes", Reset::In(11_520_000)),
            ("to purchase more credits or try again at 3:28 PM.", clock_at(15, 28, None)),
            ("or try again at Jul 5th, 2026 8:19 PM.", date(Some(2026), (7, 5), (20, 19), None)),
            ("try again at Aug 20, 2026, 7:38 AM", date(Some(2026), (8, 20), (7, 38), None)),
            ("Try again Aug 18.", date(None, (8, 18), (0, 0), None)),
            ("Rate limit is exceeded. Try again in 17 seconds.", Reset::In(17_000)),
            ("Your quota will reset after 3h12m5s.", Reset::In(11_525_000)),
            (
                r#"{"type":"usage_limit_reached","resets_at":1777936568,"resets_in_seconds":13872}"#,
                Reset::At(Instant::from_millis(1_777_936_568_000)),
            ),
            (r#"{"type":"usage_limit_reached","resets_in_seconds":13872}"#, Reset::In(13_872_000)),
            ("resets at 15:00 UTC", clock_at(15, 0, Some("UTC"))),
            ("Resets at 3pm (UTC)", clock_at(15, 0, Some("UTC"))),
            ("limit resets 2026-02-12T10:30:00Z", Reset::At(at("2026-02-12T10:30:00Z"))),
        ];
        for (message, expected) in cases {
            assert_eq!(find_in(message), Some(expected), "{message}");
        }
    }

    #[test]
    fn a_message_without_a_time_has_no_reset() {
        for message in [
            "",
            "You've hit your usage limit. To get more access now, send a request to your admin.",
            "wait for limits to reset (every 5h and every week.).",
            "This request would exceed your account's rate limit. Please try again later.",
            "a|b|12",
            "resets 25:00",
            "resets 13pm",
            "try again at 10 de jul. de 2026, 11:52",
        ] {
            assert_eq!(find_in(message), None, "{message}");
        }
    }
}
