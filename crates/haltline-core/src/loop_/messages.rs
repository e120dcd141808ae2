//! The messages to the agent and to the person (L10): a code, the fact, the evidence, one thing to do and one to avoid.
//! A message to the agent never says how to get past a denial; a message to the person does.

use super::{EscalationLevel, Nature, Pattern, Trip};
use crate::{Instant, Moment};

/// Why haltline denies or warns, before it is written as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Explanation {
    pub pattern: Pattern,
    /// A stable code with a page in the docs.
    pub code: &'static str,
    /// What happened, as a sentence without its full stop.
    pub fact: String,
    /// What the agent should do.
    pub instead: &'static str,
    /// What the agent should not do.
    pub avoid: &'static str,
}

/// The time of day of an instant, such as `19:12:05`.
fn clock(at: Instant) -> String {
    let text = at.to_seconds_text();
    let time = text.split_once('T').map_or(text.as_str(), |(_, time)| time);
    time.trim_end_matches('Z').to_owned()
}

/// Milliseconds in whole seconds, rounded up.
fn seconds(millis: u64) -> u64 {
    millis.div_ceil(1000)
}

/// How long the trip's cooldown still lasts, in the wording of seed 002.
pub(super) fn cooldown(trip: &Trip, now: Moment) -> String {
    match trip.remaining_ms(now) {
        Some(left) => format!("Cooldown: {}s (until {} UTC)", seconds(left), clock(trip.until())),
        None => "Cooldown: 0s".to_owned(),
    }
}

/// The one-line warning that the agent gets while its call runs.
pub(super) fn warning(explanation: &Explanation) -> String {
    format!(
        "HALTLINE {}: {}. Do: {} Do not: {}",
        explanation.code, explanation.fact, explanation.instead, explanation.avoid
    )
}

/// What the agent reads when haltline denies a call. The number of denials makes each text different from the last.
pub(super) fn denial(explanation: &Explanation, wait: Option<&str>, level: EscalationLevel, denials: u32) -> String {
    let tripped = match wait {
        Some(wait) => format!("Circuit breaker tripped: {}. {wait}.", explanation.fact),
        None => format!("{}.", sentence(&explanation.fact)),
    };
    let (word, end) = match level {
        EscalationLevel::Deny => ("refused", "Another such attempt ends this turn."),
        EscalationLevel::Stop => {
            ("stopped", "This turn ends here; say what you tried and what is missing, a person decides.")
        }
    };
    let times = if denials > 1 { format!(" ({denials} times now)") } else { String::new() };
    format!(
        "HALTLINE {}: {word}{times}. {tripped}\nDo: {}\nDo not: {}\n{end}",
        explanation.code, explanation.instead, explanation.avoid
    )
}

/// What the client of a stopped agent reads when it tries to resume the agent by itself.
pub(super) fn still_stopped() -> String {
    "HALTLINE HL-STOP-01: still stopped. The agent's turn was ended here; it goes on when a person writes to it."
        .to_owned()
}

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The cost so far, for people; an unknown cost is never shown as zero.
pub(super) fn cost(micros: u64, is_priced: bool, is_partial: bool) -> String {
    match (is_priced, is_partial) {
        (false, _) => "unknown".to_owned(),
        (true, false) => dollars(micros),
        (true, true) => format!("at least {}", dollars(micros)),
    }
}

/// An amount such as `$1.23`; small amounts keep their digits.
pub fn dollars(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if rest % 10_000 == 0 { format!("${whole}.{:02}", rest / 10_000) } else { format!("${whole}.{:04}", rest / 100) }
}

/// What the person reads when a circuit trips.
pub(super) fn notice(explanation: &Explanation, incident: &str, wait: Option<&str>, cost: &str) -> String {
    let safe = match wait {
        Some(wait) => format!("nothing was undone; {wait}, then one probe is allowed"),
        None => "nothing was undone; edits and commits stay as they are".to_owned(),
    };
    let nature = explanation.pattern.nature();
    let limit = match nature {
        Nature::Resource => "\n  alert  Resource limit reached. Pausing to prevent exhaustion.",
        Nature::Loop | Nature::Rule => "",
    };
    let false_positive = "\n         haltline false-positive INCIDENT   never trip on this again here";
    let bypass = match (explanation.pattern, nature) {
        (Pattern::AgentSpawn, _) => {
            "\n         SUDO PARALLEL on a line of your next prompt lifts rate and concurrency once"
        }
        (Pattern::Budget, _) => "\n         raise the limit in [budget] of your config",
        (_, Nature::Loop | Nature::Resource) => false_positive,
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
        explanation.pattern.as_str(),
        explanation.code,
        explanation.fact,
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
