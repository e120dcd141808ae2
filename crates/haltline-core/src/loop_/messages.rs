//! The messages to the agent and to the person (L10): a code, the fact, the evidence, one thing to do and one to avoid.
//! A message to the agent never says how to get past a denial; a message to the person does.

use std::fmt::Display;

use super::{EscalationLevel, Nature, Pattern, Trip};
use crate::identity::Digest;
use crate::{Mode, Moment};

/// Why haltline denies or warns, before it is written as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Explanation {
    pub pattern: Pattern,
    /// What it is about, such as the command that fails; `None` if that is not one thing.
    pub about: Option<String>,
    /// The identities of the calls that it is about.
    pub calls: Vec<Digest>,
    /// What a person can change in the configuration, as the end of a sentence.
    pub raise: Option<String>,
    /// A stable code with a page in the docs.
    pub code: &'static str,
    /// What happened, as a sentence without its full stop.
    pub fact: String,
    /// What the agent should do.
    pub instead: &'static str,
    /// What the agent should not do.
    pub avoid: &'static str,
}

/// The last sentence to an agent whose turn haltline ends.
pub const TURN_ENDS: &str =
    "This turn ends here: say what you tried and what is missing. A person decides what happens next.";
/// Begins the line of a stop that is written for the person.
pub(crate) const FOR_PERSON: &str = "For the person: ";

impl Explanation {
    pub fn new(pattern: Pattern, code: &'static str, fact: String, instead: &'static str, avoid: &'static str) -> Self {
        Self { pattern, about: None, calls: Vec::new(), raise: None, code, fact, instead, avoid }
    }

    /// Names the calls that it is about.
    pub fn about(self, shown: &str, calls: Vec<Digest>) -> Self {
        Self { about: Some(shown.to_owned()), calls, ..self }
    }

    /// Names the configuration key that lifts the limit, with its value.
    pub fn raise(self, key: &str, value: impl Display) -> Self {
        Self { raise: Some(format!("change {key} (now {value}) in your config")), ..self }
    }
}

/// Milliseconds in whole seconds, rounded up.
fn seconds(millis: u64) -> u64 {
    millis.div_ceil(1000)
}

/// How long the trip's cooldown still lasts, in the wording of seed 002. Fronts show its end in local time.
pub(super) fn cooldown(trip: &Trip, now: Moment) -> String {
    match trip.remaining_ms(now) {
        Some(left) => format!("Cooldown: {}s (until {})", seconds(left), trip.until().to_seconds_text()),
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
pub(super) fn denial(
    explanation: &Explanation,
    wait: Option<&str>,
    level: EscalationLevel,
    denials: u32,
    incident: Option<&str>,
) -> String {
    let tripped = match wait {
        Some(wait) => format!("Circuit breaker tripped: {}. {wait}.", explanation.fact),
        None => format!("{}.", sentence(&explanation.fact)),
    };
    let (word, end) = match level {
        EscalationLevel::Deny => ("denied", "Another such attempt ends this turn.".to_owned()),
        EscalationLevel::Stop => {
            let fact = sentence(&explanation.fact);
            let goes_on = "the agent continues when you write to it";
            let person = match incident {
                Some(id) => format!("{fact}. `haltline why {id}` shows the calls; {goes_on}."),
                None => format!("{fact}; {goes_on}."),
            };
            ("stopped", format!("{TURN_ENDS}\n{FOR_PERSON}{person}"))
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
    "HALTLINE HL-STOP-01: still stopped. haltline ended the agent's turn; the agent continues when a person writes to it."
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

/// What the person reads when a circuit trips or a limit is reached. `wait` is the cooldown of the circuit, if it has
/// one.
pub(super) fn notice(explanation: &Explanation, incident: &str, wait: Option<&str>, cost: &str, mode: Mode) -> String {
    let Explanation { pattern, code, fact, .. } = explanation;
    let nature = pattern.nature();
    let name = pattern.as_str();
    let (title, safe) = match (mode, wait) {
        (Mode::Observe, _) => (
            format!("haltline (observe mode): {name} ({code})"),
            "haltline denied nothing: observe mode only records".to_owned(),
        ),
        (Mode::Enforce, Some(wait)) => (
            format!("haltline: {name} ({code})"),
            format!("edits and commits stay; {wait}, then haltline allows one probe"),
        ),
        (Mode::Enforce, None) => {
            (format!("haltline: {name} ({code})"), "edits and commits stay as they are".to_owned())
        }
    };
    let alert = match (nature, mode) {
        (Nature::Resource, Mode::Enforce) => "\n  alert  Resource limit reached. Pausing to prevent exhaustion.",
        (Nature::Resource, Mode::Observe) | (Nature::Loop | Nature::Rule, _) => "",
    };
    let mut next = vec![format!("haltline why {incident}")];
    if mode == Mode::Enforce {
        next.extend(remedies(explanation, incident, wait.is_some()));
    }
    let next = next.join("\n         ");
    format!("{title}{alert}\n  why    {fact}\n  cost   session {cost}\n  safe   {safe}\n  next   {next}")
}

/// What a person can do so that work goes on, one line each.
fn remedies(explanation: &Explanation, incident: &str, has_circuit: bool) -> Vec<String> {
    let Explanation { pattern, code, raise, .. } = explanation;
    let mut lines = Vec::new();
    match (pattern.nature(), has_circuit) {
        (Nature::Rule, _) => return lines,
        (Nature::Loop | Nature::Resource, true) => {
            lines.push(format!("haltline resume {incident} [--hint TEXT]   allow one probe now"));
        }
        (Nature::Loop | Nature::Resource, false) => {
            lines.push(format!("haltline resume {incident} [--hint TEXT]   allow one more call"));
        }
    }
    let is_shared = matches!(pattern, Pattern::AgentSpawn | Pattern::ProviderLimit | Pattern::ProviderOverload);
    if has_circuit && !is_shared {
        lines.push(format!("haltline false-positive {incident}   never stop this call again in this project"));
    }
    if *pattern == Pattern::AgentSpawn && *code != "HL-SPAWN-05" {
        lines.push("a line SUDO PARALLEL in your next prompt lifts the limit until the prompt after that".to_owned());
    }
    lines.extend(raise.clone());
    lines
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
