//! Values on the command line that are more than a text, and how they are read.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use haltline_agents::Client;
use haltline_agents::transcript::Format;
use haltline_core::Instant;
use haltline_core::loop_::Preset;

/// How transcripts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// As their content says.
    Auto,
    /// In this format.
    As(Format),
}

/// Where time begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// This many milliseconds before now.
    Ago(i64),
    /// At an instant.
    At(Instant),
}

/// `30m`, `2h` or `1d` in milliseconds, from a minute to a day.
pub fn lifetime(text: &str) -> Result<u64, String> {
    let expected = || format!("{text:?}: expected a time from 1m to 24h, such as 30m, 2h or 1d");
    let unit = match text.chars().last() {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        Some(_) | None => return Err(expected()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| expected())?;
    let millis = number.checked_mul(unit).ok_or_else(expected)?;
    if (60_000..=86_400_000).contains(&millis) { Ok(millis) } else { Err(expected()) }
}

/// A format by its name.
pub fn format(name: &str) -> Result<TranscriptFormat, String> {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    match Format::from_name(name) {
        Some(format) => Ok(TranscriptFormat::As(format)),
        None if name == "auto" => Ok(TranscriptFormat::Auto),
        None => Err(format!("{name:?}: expected auto, {}", names.join(", "))),
    }
}

/// A preset by its name.
pub fn preset(name: &str) -> Result<Preset, String> {
    match name {
        "default" => Ok(Preset::Default),
        "literal" => Ok(Preset::Literal),
        _other => Err(format!("{name:?}: expected default or literal")),
    }
}

/// `30d`, `12h`, `45m`, `2026-02-01` or an instant.
pub fn since(text: &str) -> Result<Since, String> {
    let expected = || format!("{text:?}: expected a time such as 30d, 12h, 2026-02-01 or 2026-02-01T10:00:00Z");
    if text.contains('-') {
        let instant = if text.contains('T') { text.to_owned() } else { format!("{text}T00:00:00Z") };
        return Instant::parse(&instant).map(Since::At).map_err(|_| expected());
    }
    let unit = match text.chars().last() {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        Some('w') => 604_800_000,
        Some(_) | None => return Err(expected()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| expected())?;
    Ok(Since::Ago(i64::from(number).saturating_mul(unit)))
}

/// Reads a client by the name that `haltline hook` uses for it; help and completions list the names.
pub fn client_parser() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(Client::ALL.map(Client::cli_name))
        .try_map(|name| Client::from_cli_name(&name).ok_or("expected the name of a client"))
}

/// How long haltline is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseLength {
    /// This many milliseconds.
    For(u64),
    /// Until midnight, local time.
    Today,
    /// Until the newest session of the project ends.
    Session,
}

/// `30m`, `2h`, `today` or `session`.
pub fn pause_length(text: &str) -> Result<PauseLength, String> {
    match text {
        "today" => Ok(PauseLength::Today),
        "session" => Ok(PauseLength::Session),
        _time => {
            let expected = |_| format!("{text:?}: expected today, session, or a time from 1m to 24h such as 30m");
            lifetime(text).map(PauseLength::For).map_err(expected)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_a_number_with_a_unit_up_to_a_day() {
        for (text, millis) in [("1m", 60_000), ("30m", 1_800_000), ("2h", 7_200_000), ("1d", 86_400_000)] {
            assert_eq!(lifetime(text), Ok(millis));
        }
        for text in ["", "0m", "25h", "2d", "10", "h", "-1h", "1.5h", "99999999999999999999d", "5é"] {
            assert!(lifetime(text).is_err(), "{text}");
        }
    }
}
