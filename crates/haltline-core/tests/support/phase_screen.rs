//! What really is, in the words of `testdata/phase/*.txt`, so that it can be compared as text.
//!
//! Each part that a line expects is answered in the same form; the runner compares the two.

use haltline_core::phase::{
    Course, Fact as PhaseFact, Happening, HistoryEvent, HistoryLine, Iterated, Metrics, Over, PhaseName, Spent, Stand,
    Totals, log_line, trip_text,
};
use haltline_core::{Event, Fact, Recorded};

use crate::courses::World;
use crate::outcome::{Outcome, or_none, show, show_totals, yes_or_no};

impl Outcome {
    pub fn of(world: &mut World, what: Happening) -> Self {
        let (course, session, bounds) = (world.name.clone(), None, None);
        let cause = Event::Phase { course, session, bounds, what: what.clone() }.cause();
        Self { result: Some(world.tell(what)), cause }
    }

    /// `warn HALF_OPEN 2/1` or `rejected no course`, as short as `expected` is.
    pub fn headline(&self, world: &World, expected: &str) -> String {
        let verdict = match self.verdict() {
            Ok(verdict) => verdict,
            Err(rejected) => return rejected,
        };
        let Some(course) = world.course() else { return format!("{verdict} nothing begun") };
        let state = match &course.stand {
            Stand::Over(Over::Aborted) => "OVER(aborted)",
            Stand::Over(Over::Completed) => "OVER(completed)",
            Stand::Over(Over::Skipped) => "OVER(skipped)",
            Stand::Closed | Stand::Warned | Stand::Open(_) => course.word_at(world.clock.now()),
        };
        match expected.split_whitespace().count() {
            0..=2 => format!("{verdict} {state}"),
            _with_counts => format!("{verdict} {state} {}/{}", course.no_progress, course.same_error),
        }
    }

    /// The answer to one expected part. `None` where there is no such part.
    pub fn part_of(&self, world: &World, expected: &str) -> Option<String> {
        let (key, rest) = expected.split_once(' ')?;
        let nothing = Course::new(world.clock.now());
        let course = world.course().unwrap_or(&nothing);
        let last = course.last.clone().unwrap_or_default();
        let answer = match key {
            "logs" => or_none(self.logs().iter().map(|line| format!("{line:?}")).collect()),
            "hands-out" => self.handed_out(),
            "filed" => self.filed(),
            "recommends" => format!("{:?}", course.recommendation()),
            "opened" => match course.trip() {
                Some(trip) => format!("{} {:?}", show(trip.since.at), trip_text(trip)),
                None => "null".to_owned(),
            },
            "by" => course.trip().map_or("nothing", |trip| trip.cause.word()).to_owned(),
            "openings" => course.history.iter().filter(|line| line.is_trip).count().to_string(),
            "incident" => course.trip().map_or("none", |trip| &trip.incident).to_owned(),
            "phase" => course.phase.as_ref().map_or("unknown", PhaseName::as_str).to_owned(),
            "file" => course.stand.file_word().to_owned(),
            "held" => yes_or_no(course.is_held()),
            "iteration" => course.iteration.to_string(),
            "underway" => course.underway.map_or("no".to_owned(), |underway| show(underway.since.at)),
            "denials" => course.denials.to_string(),
            "neutral" => course.neutral.to_string(),
            "last-progress" => course.last_progress.to_string(),
            "opens" => course.opens.to_string(),
            "generation" => course.generation.to_string(),
            "changed" => show(course.changed.at),
            "closed" => course.closed.map_or("never".to_owned(), show),
            "hash" => course.error.as_ref().map_or("null", |error| &error.raw).to_owned(),
            "guidance" => course.guidance.as_ref().map_or("none".to_owned(), |text| format!("{text:?}")),
            "known-failures" => or_none(course.known_failures.iter().map(|phase| phase.as_str().to_owned()).collect()),
            "finish" => course.finish.map_or("none", haltline_core::phase::Finish::word).to_owned(),
            "baseline" => show_baseline(course, rest)?,
            "gains" => or_none(last.gains),
            "signs" => show_signs(&last),
            "undone" => yes_or_no(last.undone),
            "trees" => course.trees.len().to_string(),
            "spent" => show_spent(course.spent),
            "lines" => course.history.len().to_string(),
            "history" => show_history(&course.history, rest.split(" ; ").count()),
            "totals" => show_totals(rest, |key| total(&course.totals, key))?,
            _shared => self.part(key, rest)?,
        };
        Some(format!("{key} {answer}"))
    }

    /// The lines the seed wants in a log.
    fn logs(&self) -> Vec<String> {
        let line = |recorded: &Recorded| match &recorded.fact {
            Fact::Phase(fact) => log_line(fact),
            Fact::Constraint(_)
            | Fact::Lane(_)
            | Fact::Tree(_)
            | Fact::Exempt(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_) => None,
        };
        self.facts().iter().filter_map(line).collect()
    }

    fn handed_out(&self) -> String {
        let guided = self.facts().iter().find_map(|recorded| match &recorded.fact {
            Fact::Phase(PhaseFact::Guided { guidance }) => Some(format!("{guidance:?}")),
            _other => None,
        });
        guided.unwrap_or_else(|| "nothing".to_owned())
    }

    /// The newest fact: its session, and who did it where a person did.
    fn filed(&self) -> String {
        let Some(Recorded { fact: Fact::Phase(fact), texts, .. }) = self.facts().last() else {
            return "nothing".to_owned();
        };
        let who = match fact {
            PhaseFact::Reset { who, .. }
            | PhaseFact::Skipped { who, .. }
            | PhaseFact::Aborted { who }
            | PhaseFact::Modified { who, .. } => who,
            PhaseFact::Began { who, .. } => who.as_deref().unwrap_or("nobody"),
            PhaseFact::Entered { .. }
            | PhaseFact::Resumed { .. }
            | PhaseFact::Started { .. }
            | PhaseFact::Iterated(_)
            | PhaseFact::Warned { .. }
            | PhaseFact::Tripped { .. }
            | PhaseFact::Recovered
            | PhaseFact::HalfOpened
            | PhaseFact::Refused
            | PhaseFact::Ignored { .. }
            | PhaseFact::Guided { .. }
            | PhaseFact::Finished { .. }
            | PhaseFact::Adopted(_) => "nobody",
        };
        format!("{} {who}", texts.session.as_deref().unwrap_or("none"))
    }
}

/// `baseline GREEN tests_passing=3`: all last numbers of a phase.
fn show_baseline(course: &Course, expected: &str) -> Option<String> {
    let phase = expected.split_whitespace().next()?;
    let empty = Metrics::default();
    let known = course.baselines.iter().find(|(name, _)| name.as_str() == phase).map_or(&empty, |(_, known)| known);
    let numbers: Vec<String> = known.iter().map(|(name, measure)| format!("{name}={measure}")).collect();
    Some(format!("{phase} {}", if numbers.is_empty() { "none".to_owned() } else { numbers.join(" ") }))
}

fn show_signs(last: &Iterated) -> String {
    let show =
        |sign: &haltline_core::phase::Weighed| format!("{} {} weighs {}", sign.source.word(), sign.count, sign.weight);
    or_none(last.signs.iter().map(show).collect())
}

fn show_spent(spent: Spent) -> String {
    let or_unknown = |known: Option<u64>| known.map_or("unknown".to_owned(), |known| known.to_string());
    format!("{}ms tokens {} micros {}", spent.wall_ms, or_unknown(spent.tokens), or_unknown(spent.micros))
}

/// The newest lines, as many as are asked for.
fn show_history(history: &[HistoryLine], count: usize) -> String {
    let newest = &history[history.len().saturating_sub(count)..];
    let show = |line: &HistoryLine| match line.event {
        HistoryEvent::StateChange => format!("{} to {} {:?}", line.from, line.to, line.reason),
        HistoryEvent::Progress => format!("progress while {} {:?}", line.to, line.reason),
        HistoryEvent::Error => format!("error while {} {:?}", line.to, line.reason),
    };
    let shown: Vec<String> = newest.iter().map(show).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(" ; ") }
}

fn total(totals: &Totals, key: &str) -> Option<u64> {
    Some(match key {
        "iterations" => totals.iterations,
        "progress" => totals.progress,
        "errors" => totals.errors,
        "neutral" => totals.neutral,
        "refused" => totals.refused,
        "trips" => totals.trips,
        "unfinished" => totals.unfinished,
        _unknown => return None,
    })
}
