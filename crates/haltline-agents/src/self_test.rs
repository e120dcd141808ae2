//! The self-test: the events a client would send while one command fails again and again, and the effect of each answer
//! on the client. `haltline doctor` sends them through the installed command line (X2).

use serde_json::{Map, Value};

/// What a hook's answer does, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerEffect {
    Pass,
    /// The model receives a text.
    Warn,
    /// The call does not run.
    Deny,
    /// The agent ends.
    Stop,
}

impl AnswerEffect {
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerEffect::Pass => "pass",
            AnswerEffect::Warn => "warn",
            AnswerEffect::Deny => "deny",
            AnswerEffect::Stop => "stop",
        }
    }
}

/// The self-test of one client, as data.
///
/// Payloads are merged from templates: JSON objects in which `$event`, `$session`, `$folder` and `$round` are replaced.
#[derive(Debug)]
pub struct SelfTest {
    /// The event before the first round.
    pub first_event: &'static str,
    /// The events of one round, in order.
    pub round: &'static [SelfTestStep],
    /// The strongest effect that each round must have.
    pub expected: [AnswerEffect; ROUNDS],
    /// The template of every payload.
    pub envelope: &'static str,
    /// What the first event adds to the envelope.
    pub first_adds: &'static str,
    /// Returns the effect that the client gives an answer; no output is `null`. An error if the client would ignore the
    /// answer.
    pub effect_of_answer: fn(event: &str, answer: &Value) -> Result<AnswerEffect, String>,
}

/// Number of rounds, unless an answer ends the agent earlier.
pub const ROUNDS: usize = 5;

/// What haltline must do to a client whose agent an answer can end.
pub(crate) const ENDED: [AnswerEffect; ROUNDS] =
    [AnswerEffect::Pass, AnswerEffect::Pass, AnswerEffect::Warn, AnswerEffect::Deny, AnswerEffect::Stop];

/// What haltline must do to a client whose agent no answer can end.
pub(crate) const DENIED: [AnswerEffect; ROUNDS] =
    [AnswerEffect::Pass, AnswerEffect::Pass, AnswerEffect::Warn, AnswerEffect::Deny, AnswerEffect::Deny];

#[derive(Debug)]
pub struct SelfTestStep {
    pub event: &'static str,
    /// True if the client sends this event even when the call was denied.
    pub sent_when_denied: bool,
    /// Templates of what the event adds to the envelope.
    adds: &'static [&'static str],
    /// Templates of what replaces it when the call was denied.
    replaces_when_denied: &'static [&'static str],
}

impl SelfTestStep {
    /// An event that the client sends only if the call ran.
    pub(crate) const fn new(event: &'static str, adds: &'static [&'static str]) -> Self {
        Self { event, sent_when_denied: false, adds, replaces_when_denied: &[] }
    }

    /// The same event, if the client sends it in any case; after a denial these templates replace members.
    pub(crate) const fn even_when_denied(self, replaces_when_denied: &'static [&'static str]) -> Self {
        Self { sent_when_denied: true, replaces_when_denied, ..self }
    }
}

/// One event of the self-test, as [`SelfTest::payload`] needs it.
#[derive(Clone, Copy, Debug)]
pub struct SelfTestEvent<'a> {
    pub event: &'a str,
    pub session: &'a str,
    /// The folder the agent works in.
    pub folder: &'a str,
    /// Counted from 1.
    pub round: usize,
    /// True if the call of this round was denied.
    pub is_denied: bool,
}

impl SelfTestEvent<'_> {
    /// The members of a template's object, with this event's values.
    fn fill(&self, template: &str) -> Map<String, Value> {
        let escaped = |text: &str| {
            let quoted = Value::from(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let text = template
            .replace("$event", self.event)
            .replace("$round", &self.round.to_string())
            .replace("$session", &escaped(self.session))
            .replace("$folder", &escaped(self.folder));
        serde_json::from_str(&text).expect("every template is a JSON object: a test reads them all")
    }
}

impl SelfTest {
    pub fn payload(&self, event: &SelfTestEvent<'_>) -> Value {
        let step = self.round.iter().find(|step| step.event == event.event);
        let first = (self.first_event == event.event).then_some(self.first_adds);
        let adds = step.map_or(&[][..], |step| step.adds);
        let replaces = step.filter(|_| event.is_denied).map_or(&[][..], |step| step.replaces_when_denied);
        let templates = [self.envelope].into_iter().chain(first).chain(adds.iter().chain(replaces).copied());
        Value::Object(templates.flat_map(|template| event.fill(template)).collect())
    }

    /// Plays one round as the client would: a denied call sends no end, and nothing follows a stop. `deliver` gets the
    /// event and whether the call was denied; the result is the strongest effect.
    pub fn play_round<E>(
        &self,
        mut deliver: impl FnMut(&'static str, bool) -> Result<AnswerEffect, E>,
    ) -> Result<AnswerEffect, E> {
        let mut strongest = AnswerEffect::Pass;
        for step in self.round {
            let is_denied = strongest >= AnswerEffect::Deny;
            if is_denied && !step.sent_when_denied {
                continue;
            }
            strongest = strongest.max(deliver(step.event, is_denied)?);
            if strongest == AnswerEffect::Stop {
                break;
            }
        }
        Ok(strongest)
    }

    /// The effect of what a hook printed.
    pub fn effect_of_output(&self, event: &str, out: &str) -> Result<AnswerEffect, String> {
        let answer = match out.trim() {
            "" => Value::Null,
            text => {
                serde_json::from_str(text).map_err(|error| format!("the answer to {event} is not JSON ({error})"))?
            }
        };
        (self.effect_of_answer)(event, &answer)
    }
}

/// True if a field of an answer holds a text that is not blank.
pub(crate) fn has_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Describes how the rounds differ from the expected ones; `None` if they do not.
pub fn describe_mismatch(rounds: &[AnswerEffect], expected: &[AnswerEffect]) -> Option<String> {
    if rounds == expected {
        return None;
    }
    let list = |effects: &[AnswerEffect]| effects.iter().map(|effect| effect.as_str()).collect::<Vec<_>>().join(", ");
    let seen = if rounds.is_empty() { "nothing".to_owned() } else { list(rounds) };
    let strongest = rounds.iter().max().copied().unwrap_or(AnswerEffect::Pass);
    let meaning = match strongest {
        AnswerEffect::Pass => "haltline did not notice the loop",
        AnswerEffect::Warn => "haltline noticed the loop and denied nothing",
        AnswerEffect::Deny => "haltline denied the call and did not stop the agent",
        AnswerEffect::Stop => "haltline stopped the loop at another point",
    };
    Some(format!("{meaning}: {seen} instead of {}", list(expected)))
}
