//! A loop that never happened: what a client would tell its hooks while one command fails again and again, and what
//! their answers do to it. `haltline doctor` plays it through the installed command line (X2).

use serde_json::Value;

/// What a hook's answer does, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Nothing.
    Pass,
    /// The model is told something.
    Warn,
    /// The call does not happen.
    Deny,
    /// The agent ends.
    Stop,
}

impl Answer {
    /// As it is spelled.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Pass => "pass",
            Answer::Warn => "warn",
            Answer::Deny => "deny",
            Answer::Stop => "stop",
        }
    }
}

/// How a loop is played to the hooks of one client.
#[derive(Debug)]
pub struct Rehearsal {
    /// What happens before the first round.
    pub opening: &'static str,
    /// What happens in a round, in order.
    pub round: &'static [Beat],
    /// What each round has to come to.
    pub expected: [Answer; ROUNDS],
    /// What the client says about an event: all members of these objects, in one.
    pub says: fn(&Told<'_>) -> Vec<Value>,
    /// What an answer to an event does, as the client takes it; silence is `null`. An error where the client would ignore it.
    pub takes: fn(event: &str, answer: &Value) -> Result<Answer, String>,
}

impl Rehearsal {
    /// What a hook is told of an event.
    pub fn payload(&self, told: &Told<'_>) -> Value {
        let members = (self.says)(told).into_iter().filter_map(|part| match part {
            Value::Object(members) => Some(members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        });
        Value::Object(members.flatten().collect())
    }

    /// What the output of a hook does.
    pub fn read_answer(&self, event: &str, out: &str) -> Result<Answer, String> {
        let answer = match out.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text)
                .map_err(|error| format!("{event} was answered with what is not JSON ({error})"))?,
        };
        (self.takes)(event, &answer)
    }
}

/// How many rounds are played, where none ends the agent before.
pub const ROUNDS: usize = 5;

/// One event of a round.
#[derive(Debug)]
pub struct Beat {
    /// The event.
    pub event: &'static str,
    /// Whether it comes though the call was refused.
    pub comes_when_denied: bool,
}

/// An event of a rehearsal.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Which.
    pub event: &'a str,
    /// The session.
    pub session: &'a str,
    /// Where the agent works.
    pub folder: &'a str,
    /// The round, from 1.
    pub round: usize,
    /// Whether the call was refused.
    pub is_denied: bool,
}

/// Whether a field of an answer says anything.
pub(crate) fn is_said(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// What is wrong with the rounds, if anything.
pub fn judge(rounds: &[Answer], expected: &[Answer]) -> Option<String> {
    if rounds == expected {
        return None;
    }
    let words = |answers: &[Answer]| answers.iter().map(|answer| answer.word()).collect::<Vec<_>>().join(", ");
    let seen = if rounds.is_empty() { "nothing".to_owned() } else { words(rounds) };
    let strongest = rounds.iter().max().copied().unwrap_or(Answer::Pass);
    let meaning = match strongest {
        Answer::Pass => "the loop was not noticed",
        Answer::Warn => "the loop was noticed and not refused",
        Answer::Deny => "the loop was refused and the agent not stopped",
        Answer::Stop => "the loop was stopped, at another point",
    };
    Some(format!("{meaning}: {seen} instead of {}", words(expected)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_judged_by_what_they_came_to() {
        let expected = [Answer::Pass, Answer::Pass, Answer::Warn, Answer::Deny, Answer::Stop];
        assert_eq!(judge(&expected, &expected), None);
        let said = |rounds: &[Answer]| judge(rounds, &expected).unwrap_or_default();
        assert!(said(&[Answer::Pass; 5]).starts_with("the loop was not noticed: pass, pass, pass, pass, pass "));
        assert!(said(&[]).contains("nothing instead of pass, pass, warn, deny, stop"));
        assert!(said(&[Answer::Pass, Answer::Warn, Answer::Stop]).starts_with("the loop was stopped, at another"));
    }
}
