//! What the agent and the person are told (L10): a code, the fact, the evidence, one thing to do and one not to do.
//! The agent never reads how to get past a refusal; the person does.

use super::{Nature, Pattern, Step, Trip};
use crate::{Instant, Moment};

/// A reason to refuse or to warn, before it is put into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grounds {
    /// The kind.
    pub pattern: Pattern,
    /// A stable code with a page in the docs.
    pub code: &'static str,
    /// What was seen, as a sentence without its full stop.
    pub fact: String,
    /// What helps.
    pub instead: &'static str,
    /// What does not.
    pub avoid: &'static str,
}

/// `19:12:05` of an instant.
fn clock(at: Instant) -> String {
    let text = at.to_seconds_text();
    let time = text.split_once('T').map_or(text.as_str(), |(_, time)| time);
    time.trim_end_matches('Z').to_owned()
}

/// Whole seconds, never shorter than it is.
fn seconds(millis: u64) -> u64 {
    millis.div_ceil(1000)
}

/// The wait a trip asks for, in the seed's words.
pub(super) fn cooldown(trip: &Trip, now: Moment) -> String {
    match trip.remaining_ms(now) {
        Some(left) => format!("Cooldown: {}s (until {} UTC)", seconds(left), clock(trip.until())),
        None => "Cooldown: 0s".to_owned(),
    }
}

/// One line that goes along while the agent goes on.
pub(super) fn warning(grounds: &Grounds) -> String {
    format!("HALTLINE {}: {}. Do: {} Do not: {}", grounds.code, grounds.fact, grounds.instead, grounds.avoid)
}

/// What a refused agent reads. The number of refusals keeps two of them from being the same.
pub(super) fn refusal(grounds: &Grounds, wait: Option<&str>, step: Step, refused: u32) -> String {
    let tripped = match wait {
        Some(wait) => format!("Circuit breaker tripped: {}. {wait}.", grounds.fact),
        None => format!("{}.", sentence(&grounds.fact)),
    };
    let (word, end) = match step {
        Step::Deny => ("refused", "Another such attempt ends this turn."),
        Step::Stop => ("stopped", "This turn ends here; say what you tried and what is missing, a person decides."),
    };
    let times = if refused > 1 { format!(" ({refused} times now)") } else { String::new() };
    format!(
        "HALTLINE {}: {word}{times}. {tripped}\nDo: {}\nDo not: {}\n{end}",
        grounds.code, grounds.instead, grounds.avoid
    )
}

/// What a stopped agent's client hears when it wants to set it going again by itself.
pub(super) fn still_stopped() -> String {
    "HALTLINE HL-STOP-01: still stopped. The agent's turn was ended here; it goes on when a person writes to it."
        .to_owned()
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What it cost so far, in words; unknown is never nothing.
pub(super) fn cost(micros: u64, is_priced: bool, is_partial: bool) -> String {
    match (is_priced, is_partial) {
        (false, _) => "unknown".to_owned(),
        (true, false) => dollars(micros),
        (true, true) => format!("at least {}", dollars(micros)),
    }
}

/// `$1.23`; small sums keep their digits.
pub fn dollars(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if rest % 10_000 == 0 { format!("${whole}.{:02}", rest / 10_000) } else { format!("${whole}.{:04}", rest / 100) }
}

/// What the person reads when something tripped.
pub(super) fn notice(grounds: &Grounds, incident: &str, wait: Option<&str>, cost: &str) -> String {
    let safe = match wait {
        Some(wait) => format!("nothing was undone; {wait}, then one probe is allowed"),
        None => "nothing was undone; edits and commits stay as they are".to_owned(),
    };
    let nature = grounds.pattern.nature();
    let limit = match nature {
        Nature::Resource => "\n  alert  Resource limit reached. Pausing to prevent exhaustion.",
        Nature::Loop | Nature::Rule => "",
    };
    let false_alarm = "\n         haltline false-positive INCIDENT   never trip on this again here";
    let bypass = match (grounds.pattern, nature) {
        (Pattern::AgentSpawn, _) => {
            "\n         SUDO PARALLEL on a line of your next prompt lifts rate and concurrency once"
        }
        (Pattern::Budget, _) => "\n         raise the limit in [budget] of your config",
        (_, Nature::Loop | Nature::Resource) => false_alarm,
        (_, Nature::Rule) => "",
    };
    let resume = match nature {
        Nature::Rule => String::new(),
        Nature::Loop | Nature::Resource => {
            format!("\n         haltline resume {incident} [--hint TEXT]   allow one probe now")
        }
    };
    format!(
        "haltline: {} ({}){limit}\n  why    {}\n  cost   session {cost}\n  safe   {safe}\n  next   haltline why {incident}{resume}{}",
        grounds.pattern.word(),
        grounds.code,
        grounds.fact,
        bypass.replace("INCIDENT", incident),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_reads_as_dollars_and_small_sums_keep_their_digits() {
        assert_eq!(dollars(0), "$0.00");
        assert_eq!(dollars(1_230_000), "$1.23");
        assert_eq!(dollars(12_300), "$0.0123");
        assert_eq!(cost(0, false, true), "unknown");
        assert_eq!(cost(340_000, true, true), "at least $0.34");
    }
}
