//! What really is, in the words of `testdata/attempt/*.txt`, so that it can be compared as text.
//!
//! Each part that a line expects is answered in the same form; the runner compares the two.

use haltline_core::attempt::{
    Deviation, Fact as AttemptFact, Letters, Scope, Slice, TestName, TestState, Totals, prior_attempts, trip_text,
};
use haltline_core::{Fact, Recorded};

use crate::outcome::{Outcome, holds, or_none, show, show_totals, yes_or_no};
use crate::slices::{World, slice_name};

/// The lines of a terminal, and how long each is.
const SCREEN_BYTES: usize = 24 * 80;

impl Outcome {
    /// `warn CLOSED 2/5` or `rejected no slice`, as short as `expected` is.
    pub fn headline(&self, world: &World, test: Option<&TestName>, expected: &str) -> String {
        let verdict = match self.verdict() {
            Ok(verdict) => verdict,
            Err(rejected) => return rejected,
        };
        let Some(slice) = world.slice() else { return format!("{verdict} nothing begun") };
        let state = slice.stand.word();
        match expected.split_whitespace().count() {
            0..=2 => format!("{verdict} {state}"),
            _with_counts => {
                let of_test = test.and_then(|test| slice.tests.get(test)).map_or(0, |test| test.attempt_count);
                format!("{verdict} {state} {of_test}/{}", slice.total_failed_attempts)
            }
        }
    }

    /// The answer to one expected part. `None` where there is no such part.
    pub fn part_of(&self, world: &World, expected: &str) -> Option<String> {
        let (key, rest) = expected.split_once(' ')?;
        let nothing = Slice::new(Scope::inferred(Vec::new(), None), None, world.sessions.clock.now());
        let slice = world.slice().unwrap_or(&nothing);
        let first = rest.split_whitespace().next().unwrap_or_default();
        let answer = match key {
            "facts" => or_none(self.words(|fact| matches!(fact, Fact::Attempt(_)))),
            "stream-facts" => or_none(self.words(|fact| !matches!(fact, Fact::Attempt(_)))),
            "filed" => self.filed(),
            "fits" => self.fits(),
            "differs" => self.differs(world),
            "tests" => {
                or_none(slice.tests.iter().map(|(name, test)| format!("{name}={}", test.attempt_count)).collect())
            }
            "how-many-tests" => slice.tests.len().to_string(),
            "failing" => or_none(slice.failing().map(|(name, _)| name.to_string()).collect()),
            "log" => format!("{first} {}", of_test(slice, first, show_log)),
            "attempts" => format!("{first} {}", of_test(slice, first, show_attempts)),
            "kept" => format!("{first} {}", of_test(slice, first, |test| test.attempts.len().to_string())),
            "in-vain" => format!("{first} {}", of_test(slice, first, |test| test.infrastructure_in_a_row.to_string())),
            "files" => format!("{first} {}", of_test(slice, first, |test| or_none(test.files_touched.clone()))),
            "error" => format!("{first} {}", of_test(slice, first, show_error)),
            "report" => format!("{first} {}", of_test(slice, first, |test| yes_or_no(test.report.is_some()))),
            "began-at" => format!("{first} {}", of_test(slice, first, |test| or_nothing(test.checkpoint.as_deref()))),
            "checkpoint" => or_nothing(slice.checkpoint.as_deref()),
            "scope" => holds(rest, &slice.scope.sentence(8)),
            "opened" => {
                slice.trip().map_or("null".to_owned(), |trip| format!("{} {:?}", show(trip.since.at), trip_text(trip)))
            }
            "by" => slice.trip().map_or("nothing", |trip| trip.cause.word()).to_owned(),
            "incident" => slice.trip().map_or("none", |trip| &trip.incident).to_owned(),
            "refused" => slice.trip().map_or(0, |trip| trip.refused).to_string(),
            "refused-paths" => or_none(slice.refused.iter().map(|refused| refused.path.clone()).collect()),
            "justified" => or_none(slice.justified.iter().map(|known| known.file.clone()).collect()),
            "is-justified" => show_justified(slice, rest, world.letters)?,
            "strayed" => or_none(slice.strayed.clone()),
            "how-many-strayed" => slice.strayed.len().to_string(),
            "deviations" => or_none(slice.deviations.iter().map(show_deviation).collect()),
            "tried" => show_tried(slice, rest)?,
            "priors" => slice.priors.len().to_string(),
            "prior" => holds(rest, &prior_attempts(slice).unwrap_or_default()),
            "untold" => yes_or_no(slice.is_prior_untold),
            "generation" => slice.generation.to_string(),
            "begun" => show(slice.begun.at),
            "changed" => show(slice.changed.at),
            "held" => yes_or_no(slice.is_held()),
            "of" => {
                let name = slice_name(first).ok()?;
                let word = world.slice_of(&name).map_or("nothing", |slice| slice.stand.word());
                format!("{first} {word}")
            }
            "totals" => show_totals(rest, |key| total(&slice.totals, key))?,
            _shared => self.part(key, rest)?,
        };
        Some(format!("{key} {answer}"))
    }

    fn words(&self, is_wanted: impl Fn(&Fact) -> bool) -> Vec<String> {
        let wanted = self.facts().iter().filter(|recorded| is_wanted(&recorded.fact));
        wanted.map(|recorded| recorded.fact.word().to_owned()).collect()
    }

    /// The newest fact: its session, and who did it where a person did.
    fn filed(&self) -> String {
        let newest = self.facts().iter().rev().find_map(|Recorded { fact, texts, .. }| match fact {
            Fact::Attempt(fact) => Some((fact, texts)),
            _other => None,
        });
        let Some((fact, texts)) = newest else { return "nothing".to_owned() };
        let who = match fact {
            AttemptFact::Rescoped { who, .. }
            | AttemptFact::RolledBack { who, .. }
            | AttemptFact::Reset { who, .. } => who,
            AttemptFact::Ended { who } => who.as_deref().unwrap_or("nobody"),
            _of_agents => "nobody",
        };
        format!("{} {who}", texts.session.as_deref().unwrap_or("none"))
    }

    /// Whether what is said fits a screen.
    fn fits(&self) -> String {
        let bytes = self.reason().map_or(0, |reason| reason.text.len());
        if bytes <= SCREEN_BYTES { "a screen".to_owned() } else { format!("{bytes} bytes") }
    }

    /// Whether nobody was told this before, word for word.
    fn differs(&self, world: &World) -> String {
        let text = self.reason().map_or("", |reason| &reason.text);
        match world.said.iter().filter(|said| *said == text).count() {
            0 | 1 => "from all before".to_owned(),
            times => format!("not: said {times} times"),
        }
    }
}

fn of_test(slice: &Slice, name: &str, show: impl Fn(&TestState) -> String) -> String {
    let test = slice.tests.iter().find(|(known, _)| known.as_str() == name);
    test.map_or("unknown".to_owned(), |(_, test)| show(test))
}

/// The numbers and strategies of the failures that count.
fn show_log(test: &TestState) -> String {
    or_none(test.log().iter().map(|attempt| format!("{} {:?}", attempt.number, attempt.strategy)).collect())
}

/// The newest attempt: its number, what came of it, and what is special about it.
fn show_attempts(test: &TestState) -> String {
    let Some(last) = test.last() else { return "none".to_owned() };
    let marks = [(last.is_declared, " by-hand"), (last.is_stale, " stale")];
    let marks: String = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark).collect();
    format!("{} {}{marks}", test.attempts_total, last.result.word())
}

fn show_error(test: &TestState) -> String {
    match test.last().and_then(|attempt| attempt.error.as_ref()) {
        Some(error) => format!("{:?}{}", error.excerpt, if error.has_secrets { " secret" } else { "" }),
        None => "none".to_owned(),
    }
}

fn or_nothing(text: Option<&str>) -> String {
    text.unwrap_or("none").to_owned()
}

fn show_deviation(deviation: &Deviation) -> String {
    let file = deviation.file.as_ref().map(|file| format!(" in {file}")).unwrap_or_default();
    format!("{} {:?}{file}", deviation.rule.word(), deviation.description)
}

/// `is-justified PATH "reason"`, or `no`.
fn show_justified(slice: &Slice, rest: &str, letters: Letters) -> Option<String> {
    let path = rest.split_whitespace().next()?;
    let known = slice.justification(path, letters);
    Some(known.map_or(format!("{path} no"), |known| format!("{path} {:?}", known.reason)))
}

/// `tried TEST "strategy" in 2`: the number of the attempt that failed with it, or `never`.
fn show_tried(slice: &Slice, rest: &str) -> Option<String> {
    let (test, strategy) = rest.split_once(" \"")?;
    let (strategy, _) = strategy.split_once('"')?;
    let tried = TestName::parse(test).ok().and_then(|test| slice.tried_before(&test, strategy).cloned());
    let answer = tried.map_or("never".to_owned(), |tried| format!("in {}", tried.number));
    Some(format!("{test} {strategy:?} {answer}"))
}

fn total(totals: &Totals, key: &str) -> Option<u64> {
    Some(match key {
        "passed" => totals.passed,
        "failed" => totals.failed,
        "infrastructure" => totals.infrastructure,
        "refused" => totals.refused,
        "stale" => totals.stale,
        "trips" => totals.trips,
        "resets" => totals.resets,
        _unknown => return None,
    })
}
