//! Renders actual results in the language of `testdata/attempt/*.txt`, so that they can be compared as text.
//!
//! Each part that a line expects is rendered in the same form; the runner compares the two.

use haltline_core::attempt::{
    CaseSensitivity, Deviation, Fact as AttemptFact, Scope, Slice, TestName, TestState, Totals, prior_attempts,
    trip_text,
};
use haltline_core::{Fact, Recorded};

use crate::attempt::script::AttemptRules;
use crate::attempt::world::slice_name;
use crate::language::interpreter::Screen;
use crate::language::outcome::{Outcome, contains, or_none, show, show_totals, yes_or_no};

/// Bytes of a terminal screen of 24 lines with 80 columns.
const SCREEN_BYTES: usize = 24 * 80;

impl Screen for AttemptRules {
    fn last(&self) -> &Outcome {
        &self.last
    }

    /// `warn CLOSED 2/5` or `rejected no slice`, as short as `expected` is.
    fn headline(&self, expected: &str) -> String {
        let state = self.world.slice().map(|slice| {
            let of_test =
                self.test.as_ref().and_then(|test| slice.tests.get(test)).map_or(0, |test| test.attempt_count);
            (slice.state.as_str(), format!("{of_test}/{}", slice.total_failed_attempts))
        });
        self.last.headline(expected, state.ok_or("nothing begun"))
    }

    fn part(&self, key: &str, expected: &str) -> Option<String> {
        let world = &self.world;
        let nothing = Slice::new(Scope::inferred(Vec::new(), None), None, world.sessions.clock.now());
        let slice = world.slice().unwrap_or(&nothing);
        let first = expected.split_whitespace().next().unwrap_or_default();
        Some(match key {
            "facts" => self.last.fact_names(|fact| matches!(fact, Fact::Attempt(_))),
            "agent-facts" => self.last.fact_names(|fact| !matches!(fact, Fact::Attempt(_))),
            "filed" => self.filed(),
            "fits" => self.fits(),
            "differs" => self.differs(),
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
            "scope" => contains(expected, &slice.scope.sentence(8)),
            "opened" => {
                slice.trip().map_or("null".to_owned(), |trip| format!("{} {:?}", show(trip.since.at), trip_text(trip)))
            }
            "by" => slice.trip().map_or("nothing", |trip| trip.cause.as_str()).to_owned(),
            "incident" => slice.trip().map_or("none", |trip| &trip.incident).to_owned(),
            "denied" => slice.trip().map_or(0, |trip| trip.denials).to_string(),
            "denied-paths" => or_none(slice.denied_paths.iter().map(|denied| denied.path.clone()).collect()),
            "justified" => or_none(slice.justified.iter().map(|known| known.file.clone()).collect()),
            "is-justified" => show_justified(slice, expected, world.case_sensitivity)?,
            "out-of-scope" => or_none(slice.out_of_scope_changes.clone()),
            "how-many-out-of-scope" => slice.out_of_scope_changes.len().to_string(),
            "deviations" => or_none(slice.deviations.iter().map(show_deviation).collect()),
            "tried" => show_tried(slice, expected)?,
            "priors" => slice.priors.len().to_string(),
            "prior" => contains(expected, &prior_attempts(slice).unwrap_or_default()),
            "undelivered" => yes_or_no(slice.has_undelivered_prior),
            "generation" => slice.generation.to_string(),
            "begun" => show(slice.begun.at),
            "changed" => show(slice.changed.at),
            "tripped" => yes_or_no(slice.is_tripped()),
            "of" => {
                let name = slice_name(first).ok()?;
                let word = world.slice_of(&name).map_or("nothing", |slice| slice.state.as_str());
                format!("{first} {word}")
            }
            "totals" => show_totals(expected, |key| total(&slice.totals, key))?,
            _unknown => return None,
        })
    }
}

impl AttemptRules {
    /// The newest fact: its session, and the person who caused it.
    fn filed(&self) -> String {
        let newest = self.last.facts().iter().rev().find_map(|Recorded { fact, texts, .. }| match fact {
            Fact::Attempt(fact) => Some((fact, texts)),
            _other => None,
        });
        let Some((fact, texts)) = newest else { return "nothing".to_owned() };
        let who = match fact {
            AttemptFact::Rescoped { who, .. }
            | AttemptFact::RolledBack { who, .. }
            | AttemptFact::Reset { who, .. } => who,
            AttemptFact::Ended { who } | AttemptFact::Began { who, .. } => who.as_deref().unwrap_or("nobody"),
            _of_agents => "nobody",
        };
        format!("{} {who}", texts.session.as_deref().unwrap_or("none"))
    }

    /// Whether the verdict's message fits a screen.
    fn fits(&self) -> String {
        let bytes = self.last.reason().map_or(0, |reason| reason.text.len());
        if bytes <= SCREEN_BYTES { "a screen".to_owned() } else { format!("{bytes} bytes") }
    }

    /// Whether no earlier verdict had the same message.
    fn differs(&self) -> String {
        let text = self.last.reason().map_or("", |reason| &reason.text);
        match self.world.messages.iter().filter(|message| *message == text).count() {
            0 | 1 => "from all before".to_owned(),
            times => format!("not: sent {times} times"),
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

/// The newest attempt: its number, its result, and what is special about it.
fn show_attempts(test: &TestState) -> String {
    let Some(last) = test.last() else { return "none".to_owned() };
    let marks = [(last.is_declared, " by-hand"), (last.is_stale, " stale")];
    let marks: String = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark).collect();
    format!("{} {}{marks}", test.attempts_total, last.result.as_str())
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
    format!("{} {:?}{file}", deviation.rule.as_str(), deviation.description)
}

/// `is-justified PATH "reason"`, or `no`.
fn show_justified(slice: &Slice, rest: &str, case_sensitivity: CaseSensitivity) -> Option<String> {
    let path = rest.split_whitespace().next()?;
    let known = slice.justification(path, case_sensitivity);
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
        "denied" => totals.denied,
        "stale" => totals.stale,
        "trips" => totals.trips,
        "resets" => totals.resets,
        _unknown => return None,
    })
}
