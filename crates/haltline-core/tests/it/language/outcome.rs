//! Renders the result of an event, as far as all breakers share it: facts, effects, the reason and the texts.

use haltline_core::{Decision, Effect, Fact, Instant, Reason, Recorded, Rejection, Retry};

/// The result of the last event of a paragraph, and the text that the journal keeps as its cause where rules name it.
#[derive(Default)]
pub struct Outcome {
    pub result: Option<Result<Decision, Rejection>>,
    pub cause: Option<&'static str>,
}

impl Outcome {
    /// Renders the actual value for a part that every breaker has.
    pub fn part(&self, key: &str, rest: &str) -> Option<String> {
        Some(match key {
            "facts" => self.fact_names(|_| true),
            "effects" => self.show_effects(),
            "cause" => self.cause?.to_owned(),
            "code" => self.reason().map_or("none", |reason| reason.code).to_owned(),
            "retry" => self.retry(),
            "says" => contains(rest, &self.text()),
            "texts" => or_none(self.texts().map(|text| format!("{text:?}")).collect()),
            "dated" => self.dated(rest),
            _unknown => return None,
        })
    }

    /// `warn CLOSED 4/5` or `rejected no slice`, as short as `expected` is, from the state and the counts
    /// or a text for no state.
    pub fn headline(&self, expected: &str, state: Result<(&str, String), &str>) -> String {
        match (self.verdict(), state) {
            (Err(rejected), _) => rejected,
            (Ok(verdict), Err(nothing)) => format!("{verdict} {nothing}"),
            (Ok(verdict), Ok((state, _))) if expected.split_whitespace().count() <= 2 => format!("{verdict} {state}"),
            (Ok(verdict), Ok((state, counts))) => format!("{verdict} {state} {counts}"),
        }
    }

    /// `deny HL-LOOP-01`: the text of the verdict and its code, or why there is no verdict.
    pub fn verdict_and_code(&self) -> Result<String, String> {
        let code = self.reason().map(|reason| format!(" {}", reason.code)).unwrap_or_default();
        Ok(format!("{}{code}", self.verdict()?))
    }

    /// The text of the verdict, or why there is none.
    pub fn verdict(&self) -> Result<&'static str, String> {
        match &self.result {
            Some(Ok(decision)) => Ok(decision.verdict.as_str()),
            Some(Err(rejection)) => Err(format!("rejected {}", show_rejection(rejection))),
            None => Ok("nothing happened"),
        }
    }

    pub fn facts(&self) -> &[Recorded] {
        self.decision().map_or(&[], |decision| &decision.facts)
    }

    pub fn reason(&self) -> Option<&Reason> {
        self.decision().and_then(|decision| decision.verdict.reason())
    }

    /// The message of the verdict or of a claim's rejection.
    pub fn text(&self) -> String {
        match &self.result {
            Some(Err(Rejection::Claim(problem))) => problem.to_string(),
            Some(_) | None => self.reason().map(|reason| reason.text.clone()).unwrap_or_default(),
        }
    }

    pub fn notices(&self) -> &[String] {
        self.decision().map_or(&[], |decision| &decision.notices)
    }

    pub fn effects(&self) -> &[Effect] {
        self.decision().map_or(&[], |decision| &decision.effects)
    }

    /// The texts of the facts that are wanted.
    pub fn fact_names(&self, is_wanted: impl Fn(&Fact) -> bool) -> String {
        let wanted = self.facts().iter().filter(|recorded| is_wanted(&recorded.fact));
        or_none(wanted.map(|recorded| recorded.fact.as_str().to_owned()).collect())
    }

    fn decision(&self) -> Option<&Decision> {
        self.result.as_ref().and_then(|result| result.as_ref().ok())
    }

    fn show_effects(&self) -> String {
        let show = |effect: &Effect| match effect {
            Effect::Notify { circuit, .. } => format!("notify {circuit}"),
            Effect::Mirror => "mirror".to_owned(),
            Effect::Archive(circuit) => format!("archive {circuit}"),
        };
        or_none(self.effects().iter().map(show).collect())
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
        match self.facts().iter().find(|recorded| recorded.fact.as_str() == word) {
            Some(recorded) => format!("{word} {}", show(recorded.at.at)),
            None => format!("no {word}"),
        }
    }
}

/// Returns `expected` if the text contains it, otherwise the text. `\n` stands for a line break.
pub fn contains(expected: &str, text: &str) -> String {
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

/// Renders only the totals that `expected` names, in its order: `trips 1, denied 2`.
pub fn show_totals(expected: &str, number_of: impl Fn(&str) -> Option<u64>) -> Option<String> {
    let shown = expected.split(", ").map(|part| {
        let (key, _number) = part.rsplit_once(' ')?;
        Some(format!("{key} {}", number_of(key)?))
    });
    shown.collect::<Option<Vec<_>>>().map(|shown| shown.join(", "))
}

fn show_rejection(rejection: &Rejection) -> String {
    let text = match rejection {
        Rejection::NotFound { retired: None } => "not found",
        Rejection::NotFound { retired: Some(at) } => return format!("not found, retired {}", show(*at)),
        Rejection::InvalidTransition { from } => {
            return format!("Invalid transition from {}", from.dashed().replace('-', "_"));
        }
        Rejection::NoIncident => "no incident",
        Rejection::NotResumable => "not resumable",
        Rejection::NoOverride => "no override",
        Rejection::NoSlice => "no slice",
        Rejection::ScopeFrozen => "scope frozen",
        Rejection::SliceConflict { by } => return format!("conflict with {}", by.scope()),
        Rejection::SliceFailing => "slice failing",
        Rejection::NoTest => "no test",
        Rejection::NoPhaseRun => "no phase run",
        Rejection::RunOver => "run over",
        Rejection::MissingContext => "missing context",
        Rejection::NothingToTrust => "nothing to trust",
        // A problem with a claim up to what was expected instead.
        Rejection::Claim(problem) => {
            let problem = problem.to_string();
            return problem.split([':', ';']).next().unwrap_or_default().to_owned();
        }
    };
    text.to_owned()
}
