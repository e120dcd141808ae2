//! Renders actual results in the language of `testdata/phase/*.txt`, so that they can be compared as text.
//!
//! Each part that a line expects is rendered in the same form; the runner compares the two.

use haltline_core::phase::{
    Fact as PhaseFact, HistoryEvent, HistoryLine, Iterated, Metrics, OverReason, PhaseName, PhaseRun, RunState, Spent,
    Totals, log_line, trip_text,
};
use haltline_core::{Fact, Recorded};

use crate::language::interpreter::Screen;
use crate::language::outcome::{Outcome, or_none, show, show_totals, yes_or_no};
use crate::phase::script::PhaseRules;

impl Screen for PhaseRules {
    fn last(&self) -> &Outcome {
        &self.last
    }

    /// `warn HALF_OPEN 2/1` or `rejected no phase run`, as short as `expected` is.
    fn headline(&self, expected: &str) -> String {
        let state = self.world.phase_run().map(|phase_run| {
            let state = match &phase_run.state {
                RunState::Over(OverReason::Aborted) => "OVER(aborted)",
                RunState::Over(OverReason::Completed) => "OVER(completed)",
                RunState::Over(OverReason::Skipped) => "OVER(skipped)",
                RunState::Closed | RunState::Warned | RunState::Open(_) => {
                    phase_run.state_name_at(self.world.clock.now())
                }
            };
            (state, format!("{}/{}", phase_run.no_progress, phase_run.same_error))
        });
        self.last.headline(expected, state.ok_or("nothing begun"))
    }

    fn part(&self, key: &str, expected: &str) -> Option<String> {
        let nothing = PhaseRun::new(self.world.clock.now());
        let phase_run = self.world.phase_run().unwrap_or(&nothing);
        let last = phase_run.last.clone().unwrap_or_default();
        Some(match key {
            "logs" => or_none(self.logs().iter().map(|line| format!("{line:?}")).collect()),
            "hands-out" => self.handed_out(),
            "filed" => self.filed(),
            "recommends" => format!("{:?}", phase_run.recommendation()),
            "opened" => match phase_run.trip() {
                Some(trip) => format!("{} {:?}", show(trip.since.at), trip_text(trip)),
                None => "null".to_owned(),
            },
            "by" => phase_run.trip().map_or("nothing", |trip| trip.cause.as_str()).to_owned(),
            "trips-in-history" => phase_run.history.iter().filter(|line| line.is_trip).count().to_string(),
            "incident" => phase_run.trip().map_or("none", |trip| &trip.incident).to_owned(),
            "phase" => phase_run.phase.as_ref().map_or("unknown", PhaseName::as_str).to_owned(),
            "file" => phase_run.state.as_file_str().to_owned(),
            "tripped" => yes_or_no(phase_run.is_tripped()),
            "iteration" => phase_run.iteration.to_string(),
            "underway" => phase_run.underway.map_or("no".to_owned(), |underway| show(underway.since.at)),
            "denials" => phase_run.permission_denials.to_string(),
            "neutral" => phase_run.neutral.to_string(),
            "last-progress" => phase_run.last_progress.to_string(),
            "opens" => phase_run.open_count.to_string(),
            "generation" => phase_run.generation.to_string(),
            "changed" => show(phase_run.changed.at),
            "closed" => phase_run.closed.map_or("never".to_owned(), show),
            "hash" => phase_run.error.as_ref().map_or("null", |error| &error.raw).to_owned(),
            "guidance" => phase_run.guidance.as_ref().map_or("none".to_owned(), |text| format!("{text:?}")),
            "known-failures" => {
                or_none(phase_run.known_failures.iter().map(|phase| phase.as_str().to_owned()).collect())
            }
            "finish" => phase_run.finish.map_or("none", haltline_core::phase::Finish::as_str).to_owned(),
            "baseline" => show_baseline(phase_run, expected)?,
            "gains" => or_none(last.gains),
            "signs" => show_signs(&last),
            "undone" => yes_or_no(last.undone),
            "trees" => phase_run.trees.len().to_string(),
            "spent" => show_spent(phase_run.spent),
            "lines" => phase_run.history.len().to_string(),
            "history" => show_history(&phase_run.history, expected.split(" ; ").count()),
            "totals" => show_totals(expected, |key| total(&phase_run.totals, key))?,
            _unknown => return None,
        })
    }
}

impl PhaseRules {
    /// The lines that the seed wants in a log.
    fn logs(&self) -> Vec<String> {
        let line = |recorded: &Recorded| match &recorded.fact {
            Fact::Phase(fact) => log_line(fact),
            _other => None,
        };
        self.last.facts().iter().filter_map(line).collect()
    }

    fn handed_out(&self) -> String {
        let guided = self.last.facts().iter().find_map(|recorded| match &recorded.fact {
            Fact::Phase(PhaseFact::Guided { guidance }) => Some(format!("{guidance:?}")),
            _other => None,
        });
        guided.unwrap_or_else(|| "nothing".to_owned())
    }

    /// The newest fact: its session, and the person who caused it.
    fn filed(&self) -> String {
        let Some(Recorded { fact: Fact::Phase(fact), texts, .. }) = self.last.facts().last() else {
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
            | PhaseFact::Denied
            | PhaseFact::Ignored { .. }
            | PhaseFact::Guided { .. }
            | PhaseFact::Finished { .. }
            | PhaseFact::Adopted(_) => "nobody",
        };
        format!("{} {who}", texts.session.as_deref().unwrap_or("none"))
    }
}

/// `baseline GREEN tests_passing=3`: the last metrics of a phase.
fn show_baseline(phase_run: &PhaseRun, expected: &str) -> Option<String> {
    let phase = expected.split_whitespace().next()?;
    let empty = Metrics::default();
    let known = phase_run.baselines.iter().find(|(name, _)| name.as_str() == phase).map_or(&empty, |(_, known)| known);
    let numbers: Vec<String> = known.iter().map(|(name, measure)| format!("{name}={measure}")).collect();
    Some(format!("{phase} {}", if numbers.is_empty() { "none".to_owned() } else { numbers.join(" ") }))
}

fn show_signs(last: &Iterated) -> String {
    let show = |signal: &haltline_core::phase::WeighedSignal| {
        format!("{} {} weighs {}", signal.source.as_str(), signal.count, signal.weight)
    };
    or_none(last.signals.iter().map(show).collect())
}

fn show_spent(spent: Spent) -> String {
    let or_unknown = |known: Option<u64>| known.map_or("unknown".to_owned(), |known| known.to_string());
    format!("{}ms tokens {} micros {}", spent.wall_ms, or_unknown(spent.tokens), or_unknown(spent.micros))
}

/// The newest history lines, as many as are expected.
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
        "denied" => totals.denied,
        "trips" => totals.trips,
        "unfinished" => totals.unfinished,
        _unknown => return None,
    })
}
