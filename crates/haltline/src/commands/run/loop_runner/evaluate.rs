//! Evaluates an iteration and decides whether the loop ends after it.

use haltline_agents::headless::{Ending, HeadlessReport};
use haltline_agents::test_results::TestCounts;
use haltline_core::Fact;
use haltline_core::loop_::dollars;
use haltline_core::phase::{Fact as PhaseFact, Iterated, PhaseEvent, Report, Signal, Source, Spent};
use haltline_engine::EngineError;
use haltline_engine::changes::{Change, WorkTreeSnapshot};
use haltline_engine::store::Committed;

use super::super::budget::spent_since;
use super::super::ending::{self, CommandView, End, ITERATIONS_MAX, IterationReportView};
use super::super::iteration::{self, ObservedIteration};
use super::super::tests;
use super::{FinishedIteration, LoopRunner};
use crate::error::Failure;
use crate::front::text;
use crate::run::{EndCause, EndedRun, Inbox};

impl LoopRunner<'_> {
    /// Reports the iteration; returns the end if the loop is over.
    pub(super) fn evaluate(
        &mut self,
        inbox: &mut Inbox,
        finished: &FinishedIteration,
        changes: &[Change],
        after: &WorkTreeSnapshot,
        counts: Option<TestCounts>,
    ) -> Result<Option<End>, Failure> {
        let FinishedIteration { ended, client_report, over } = finished;
        self.report_answer(client_report)?;
        let metrics = counts.map(tests::metrics).unwrap_or_default();
        let limit = self.command.iteration_time;
        let observed = ObservedIteration { ended, client_report, changes, after, metrics, limit };
        let (mut report, outlook) = iteration::report(&observed, self.context.engine.now().at, &self.zone);
        report.iteration = Some(self.iteration);
        report.spent = self.own_share(client_report, report.spent);
        if let EndCause::Signal(signal) = ended.cause {
            self.interrupted = Some(signal);
        }
        let done = if self.interrupted.is_some() || over.is_some() {
            None
        } else {
            self.done(inbox, client_report, outlook.is_done)?
        };
        // An iteration that haltline cut off says nothing about the work.
        if self.interrupted.is_some()
            || over.is_some()
            || ended.cause == EndCause::Listener
            || self.is_out_of_time(ended)
        {
            report.error = None;
            report.neutral.get_or_insert_with(|| "interrupted".to_owned());
        }
        // Finished work needs no other sign of progress.
        report.signals.extend(done.is_some().then_some(Signal { source: Source::Caller, count: 1 }));
        let (error, neutral) = (report.error.as_ref().map(|error| error.shown.clone()), report.neutral.clone());
        let spent = report.spent;
        self.spent = self.spent.plus(spent);
        let committed = self.file_report(report)?;
        let iterated = committed.as_ref().and_then(iterated);
        let outcome = IterationOutcome { error, neutral, done: done.as_deref(), spent };
        self.record_iteration(ended, client_report, changes, iterated, outcome);
        let Some(committed) = committed else { return self.ended_by_a_person() };
        if let Some(warning) = self.budget.unknown(self.spent).filter(|_| !self.is_unknown_limit_reported) {
            self.is_unknown_limit_reported = true;
            text::warn(warning);
        }
        if let Some(signal) = self.interrupted {
            return Ok(Some(End::Interrupted { signal }));
        }
        if let Some(over) = over {
            return Ok(Some(End::budget(over.clone())));
        }
        // A circuit that opened stays open, whatever the agent says about its work.
        if let Some(end) = self.halted(&committed.decision.verdict)? {
            return Ok(Some(end));
        }
        if let Some(by) = done {
            return Ok(Some(End::Completed { by }));
        }
        match outlook.wait {
            Some(wait) => self.wait(inbox, &wait),
            None => self.pause(inbox),
        }
    }

    /// Files the report; returns `None` if a person ended the run meanwhile.
    fn file_report(&self, report: Report) -> Result<Option<Committed>, Failure> {
        match self.try_commit(PhaseEvent::Report(Box::new(report))) {
            Ok(committed) => Ok(Some(committed)),
            Err(EngineError::Rejected(_run_over)) => Ok(None),
            Err(error) => Err(Failure::for_phase_run(error)),
        }
    }

    /// Returns what declares the work done, if anything does.
    fn done(
        &mut self,
        inbox: &mut Inbox,
        client_report: &HeadlessReport,
        by_block: Option<String>,
    ) -> Result<Option<String>, Failure> {
        if by_block.is_some() {
            return Ok(by_block);
        }
        if let Some(text) = &self.command.done_text
            && client_report.text.lines().any(|line| line.trim() == text.trim())
        {
            return Ok(Some(format!("the agent said {text:?}")));
        }
        let Some(line) = &self.command.done_if else { return Ok(None) };
        let is_done = self.check(inbox, line)?.exit.exit_code() == 0 && self.interrupted.is_none();
        Ok(is_done.then(|| format!("`{line}` succeeded")))
    }

    /// True if the time limit of the loop, not that of the iteration, ended the iteration.
    fn is_out_of_time(&self, ended: &EndedRun) -> bool {
        let is_shorter = |left| self.command.iteration_time.is_none_or(|limit| left <= limit);
        ended.cause == EndCause::WallLimit && self.time_left().is_some_and(is_shorter)
    }

    /// What the iteration has spent. For a client that reports totals of whole sessions it is the difference.
    fn own_share(&mut self, client_report: &HeadlessReport, spent: Spent) -> Spent {
        let Some(session) = client_report.session.clone().filter(|_| client_report.spent.whole_session) else {
            return spent;
        };
        match self.session.replace((session.clone(), spent)) {
            Some((known, before)) if known == session => spent_since(spent, before),
            Some(_) | None => spent,
        }
    }

    fn record_iteration(
        &mut self,
        ended: &EndedRun,
        client_report: &HeadlessReport,
        changes: &[Change],
        iterated: Option<&Iterated>,
        outcome: IterationOutcome<'_>,
    ) {
        let IterationOutcome { error, neutral, done, spent } = outcome;
        let iteration = self.iteration;
        let output = match self.folder.keep(iteration, &ended.output) {
            Ok(path) => Some(path.display().to_string()),
            Err(problem) => {
                self.say(&format!("the output of iteration {iteration} was not kept: {problem}"));
                None
            }
        };
        let judged = iterated.map_or("neutral", Iterated::as_str);
        let signs = iterated.map(|iterated| iterated.signals.clone()).unwrap_or_default();
        let details: Vec<String> = signs
            .iter()
            .filter(|sign| sign.weight > 0 && sign.source != Source::Caller)
            .map(|sign| format!("{} {}", sign.source.as_str(), sign.count))
            .chain(done.map(|by| format!("done: {by}")))
            .chain(own_stop_text(&client_report.ending).or_else(|| error.clone().map(|text| text::fit(&text, 100))))
            .chain(neutral.clone().map(|text| text::fit(&text, 100)))
            .collect();
        let cost = spent.micros.map(|micros| format!(", {}", dollars(micros))).unwrap_or_default();
        let time = ending::span(ended.wall);
        let left = match ended.left_behind.len() {
            0 => String::new(),
            left => format!("; {} left behind, ended", text::count(left as u64, "process")),
        };
        let judged_text = judged.replace('_', " ");
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        self.say(&format!("iteration {iteration}: {judged_text}{details}, {time}{cost}{left}"));
        let gains = iterated.map(|iterated| iterated.gains.clone()).unwrap_or_default();
        self.views.push(IterationReportView {
            iteration,
            judged,
            signs,
            gains,
            changed: changes.iter().flat_map(|change| change.examples.clone()).take(10).collect(),
            error,
            neutral,
            wall_seconds: ended.wall.as_secs(),
            command: CommandView::new(ended, &client_report.ending),
            output,
        });
        let excess = self.views.len().saturating_sub(ITERATIONS_MAX);
        self.views.drain(..excess);
    }
}

/// How an iteration went, besides what was counted.
struct IterationOutcome<'a> {
    error: Option<String>,
    neutral: Option<String>,
    /// What declared the work done.
    done: Option<&'a str>,
    spent: Spent,
}

/// Why haltline's own hook stopped the agent, if it did.
fn own_stop_text(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Hook { reason: Some(reason) } => {
            ending::own_stop(reason).map(|own| format!("haltline's hook stopped the agent: {own}"))
        }
        Ending::Hook { reason: None }
        | Ending::Silent
        | Ending::Finished
        | Ending::ApiLimit { .. }
        | Ending::Infrastructure { .. }
        | Ending::Turns
        | Ending::Failed { .. } => None,
    }
}

/// How the core evaluated the iteration; `None` if its report had no effect.
fn iterated(committed: &Committed) -> Option<&Iterated> {
    committed.decision.facts.iter().find_map(|recorded| match &recorded.fact {
        Fact::Phase(PhaseFact::Iterated(iterated)) => Some(iterated.as_ref()),
        _other => None,
    })
}
