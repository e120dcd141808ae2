//! What an event came to, in words that every family shares: facts, effects, the reason, and who is named where.

use haltline_core::{Decision, Effect, Instant, Reason, Recorded, Rejection, Retry};

/// What the last event of a paragraph came to, and the word the journal keeps for it.
#[derive(Default)]
pub struct Outcome {
    pub result: Option<Result<Decision, Rejection>>,
    pub cause: &'static str,
}

impl Outcome {
    /// The answer to a part that every family has.
    pub fn part(&self, key: &str, rest: &str) -> Option<String> {
        Some(match key {
            "facts" => or_none(self.facts().iter().map(|recorded| recorded.fact.word().to_owned()).collect()),
            "effects" => self.effects(),
            "cause" => self.cause.to_owned(),
            "code" => self.reason().map_or("none", |reason| reason.code).to_owned(),
            "retry" => self.retry(),
            "says" => holds(rest, self.reason().map_or("", |reason| &reason.text)),
            "texts" => or_none(self.texts().map(|text| format!("{text:?}")).collect()),
            "dated" => self.dated(rest),
            _unknown => return None,
        })
    }

    /// The word of the verdict, or why there is none.
    pub fn verdict(&self) -> Result<&'static str, String> {
        match &self.result {
            Some(Ok(decision)) => Ok(decision.verdict.word()),
            Some(Err(rejection)) => Err(format!("rejected {}", show_rejection(rejection))),
            None => Ok("nothing happened"),
        }
    }

    pub fn facts(&self) -> &[Recorded] {
        match &self.result {
            Some(Ok(decision)) => &decision.facts,
            Some(Err(_)) | None => &[],
        }
    }

    pub fn reason(&self) -> Option<&Reason> {
        match &self.result {
            Some(Ok(decision)) => decision.verdict.reason(),
            Some(Err(_)) | None => None,
        }
    }

    fn effects(&self) -> String {
        let effects = match &self.result {
            Some(Ok(decision)) => decision.effects.as_slice(),
            Some(Err(_)) | None => &[],
        };
        let show = |effect: &Effect| match effect {
            Effect::Notify { circuit, .. } => format!("notify {circuit}"),
            Effect::Mirror => "mirror".to_owned(),
            Effect::Archive(circuit) => format!("archive {circuit}"),
        };
        or_none(effects.iter().map(show).collect())
    }

    fn retry(&self) -> String {
        match self.reason().map(|reason| reason.retry) {
            Some(Retry::At(instant)) => show(instant),
            Some(Retry::Person) => "by a person".to_owned(),
            Some(Retry::Now) => "now".to_owned(),
            None => "without reason".to_owned(),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.facts().iter().filter_map(|recorded| recorded.texts.text.as_deref())
    }

    fn dated(&self, expected: &str) -> String {
        let word = expected.split_whitespace().next().unwrap_or_default();
        match self.facts().iter().find(|recorded| recorded.fact.word() == word) {
            Some(recorded) => format!("{word} {}", show(recorded.at.at)),
            None => format!("no {word}"),
        }
    }
}

/// The expected words again where the text holds them, else the text. `\n` ends a line.
pub fn holds(expected: &str, text: &str) -> String {
    let wanted = expected.trim_matches('"').replace("\\n", "\n");
    if !wanted.is_empty() && text.contains(&wanted) { expected.to_owned() } else { format!("{text:?}") }
}

pub fn show(instant: Instant) -> String {
    if instant == instant.whole_second() { instant.to_seconds_text() } else { instant.to_string() }
}

pub fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes".to_owned() } else { "no".to_owned() }
}

pub fn or_none(words: Vec<String>) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// Only the totals that `expected` names, in its order: `trips 1, refused 2`.
pub fn show_totals(expected: &str, number_of: impl Fn(&str) -> Option<u64>) -> Option<String> {
    let shown = expected.split(", ").map(|part| {
        let (key, _number) = part.rsplit_once(' ')?;
        Some(format!("{key} {}", number_of(key)?))
    });
    shown.collect::<Option<Vec<_>>>().map(|shown| shown.join(", "))
}

fn show_rejection(rejection: &Rejection) -> String {
    match rejection {
        Rejection::NoSlice => "no slice".to_owned(),
        Rejection::ScopeFrozen => "scope frozen".to_owned(),
        Rejection::SliceFailing => "slice failing".to_owned(),
        Rejection::NoTest => "no test".to_owned(),
        Rejection::NoCourse => "no course".to_owned(),
        Rejection::RunOver => "run over".to_owned(),
        Rejection::NotFound { .. }
        | Rejection::InvalidTransition { .. }
        | Rejection::NoIncident
        | Rejection::NoOverride
        | Rejection::Claim(_)
        | Rejection::NothingToTrust => format!("{rejection:?}, which is another family's"),
    }
}
