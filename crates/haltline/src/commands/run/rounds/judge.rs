//! What an iteration was, and whether the loop is over after it.

use haltline_agents::headless::Told;
use haltline_agents::test_results::TestCounts;
use haltline_core::Fact;
use haltline_core::phase::{Fact as PhaseFact, Happening, Iterated, Report, Signal, Source, Spent};
use haltline_engine::EngineError;
use haltline_engine::changes::{Change, Look};
use haltline_engine::store::Committed;

use super::super::budget::beyond;
use super::super::ending::{self, CommandView, End, ITERATIONS_MAX, RoundView};
use super::super::iteration::{self, Seen};
use super::super::tests;
use super::{Round, Rounds};
use crate::error::Failure;
use crate::front::text;
use crate::run::{Cause, Ended, Inbox};

impl Rounds<'_> {
    /// Reports the iteration, and says whether the loop is over.
    pub(super) fn judge(
        &mut self,
        inbox: &mut Inbox,
        round: &Round,
        changes: &[Change],
        after: &Look,
        counts: Option<TestCounts>,
    ) -> Result<Option<End>, Failure> {
        let Round { ended, told, over } = round;
        let metrics = counts.map(tests::metrics).unwrap_or_default();
        let limit = self.command.iteration_time;
        let seen = Seen { ended, told, changes, after, metrics, limit };
        let (mut report, outlook) = iteration::report(&seen, self.workplace.engine.now().at, self.ahead_of_utc_s);
        report.iteration = Some(self.iteration);
        report.spent = self.own_share(told, report.spent);
        if let Cause::Signal(signal) = ended.cause {
            self.interrupted = Some(signal);
        }
        let done =
            if self.interrupted.is_some() || over.is_some() { None } else { self.done(inbox, told, outlook.is_done)? };
        // What was cut off by us says nothing about the work.
        if self.interrupted.is_some() || over.is_some() || ended.cause == Cause::Asked || self.is_out_of_time(ended) {
            report.error = None;
            report.neutral.get_or_insert_with(|| "cut off".to_owned());
        }
        // Work that is done needs no further sign.
        report.signals.extend(done.is_some().then_some(Signal { source: Source::Caller, count: 1 }));
        let (error, neutral) = (report.error.as_ref().map(|error| error.shown.clone()), report.neutral.clone());
        self.spent = self.spent.plus(report.spent);
        let committed = self.file(report)?;
        let iterated = committed.as_ref().and_then(iterated);
        self.note_round(ended, told, changes, iterated, error, neutral);
        let Some(committed) = committed else { return self.ended_by_a_person() };
        if let Some(warning) = self.budget.unknown(self.spent).filter(|_| !self.is_unknown_told) {
            self.is_unknown_told = true;
            text::warn(warning);
        }
        if let Some(signal) = self.interrupted {
            return Ok(Some(End::Interrupted { signal }));
        }
        if let Some(over) = over {
            return Ok(Some(End::budget(over.clone())));
        }
        // A circuit that opened stays open, whatever the agent says of its work.
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

    /// Files the report; `None` where a person ended the run meanwhile.
    fn file(&self, report: Report) -> Result<Option<Committed>, Failure> {
        match self.told(Happening::Report(Box::new(report))) {
            Ok(committed) => Ok(Some(committed)),
            Err(EngineError::Rejected(_run_over)) => Ok(None),
            Err(error) => Err(Failure::of_course(error)),
        }
    }

    /// Who says that the work is done, where somebody does.
    fn done(&mut self, inbox: &mut Inbox, told: &Told, by_block: Option<String>) -> Result<Option<String>, Failure> {
        if by_block.is_some() {
            return Ok(by_block);
        }
        if let Some(text) = &self.command.done_text
            && told.words.lines().any(|line| line.trim() == text.trim())
        {
            return Ok(Some(format!("the agent said {text:?}")));
        }
        let Some(line) = &self.command.done_if else { return Ok(None) };
        let is_done = self.check(inbox, line)?.how.exit_code() == 0 && self.interrupted.is_none();
        Ok(is_done.then(|| format!("`{line}` succeeded")))
    }

    /// Whether the loop's own time ended the iteration, and not the iteration's.
    fn is_out_of_time(&self, ended: &Ended) -> bool {
        let is_shorter = |left| self.command.iteration_time.is_none_or(|limit| left <= limit);
        ended.cause == Cause::Wall && self.time_left().is_some_and(is_shorter)
    }

    /// A client that counts whole sessions is asked for the difference.
    fn own_share(&mut self, told: &Told, spent: Spent) -> Spent {
        let Some(session) = told.session.clone().filter(|_| told.spent.whole_session) else { return spent };
        match self.session.replace((session.clone(), spent)) {
            Some((known, before)) if known == session => beyond(spent, before),
            Some(_) | None => spent,
        }
    }

    fn note_round(
        &mut self,
        ended: &Ended,
        told: &Told,
        changes: &[Change],
        iterated: Option<&Iterated>,
        error: Option<String>,
        neutral: Option<String>,
    ) {
        let iteration = self.iteration;
        let output = match self.folder.keep(iteration, &ended.output) {
            Ok(path) => Some(path.display().to_string()),
            Err(problem) => {
                self.say(&format!("the output of iteration {iteration} was not kept: {problem}"));
                None
            }
        };
        let judged = iterated.map_or("neutral", |iterated| PhaseFact::Iterated(Box::new(iterated.clone())).word());
        let signs = iterated.map(|iterated| iterated.signs.clone()).unwrap_or_default();
        let words: Vec<String> = signs
            .iter()
            .filter(|sign| sign.weight > 0)
            .map(|sign| format!("{} {}", sign.source.word(), sign.count))
            .chain(error.clone().into_iter().chain(neutral.clone()).map(|text| text::fit(&text, 100)))
            .collect();
        let time = ending::span(ended.wall);
        let left = match ended.left_behind.len() {
            0 => String::new(),
            left => format!("; {} left behind, ended", text::count(left as u64, "process")),
        };
        let judged_text = judged.replace('_', " ");
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        self.say(&format!("iteration {iteration}: {judged_text}{words}, {time}{left}"));
        let gains = iterated.map(|iterated| iterated.gains.clone()).unwrap_or_default();
        self.views.push(RoundView {
            iteration,
            judged,
            signs,
            gains,
            changed: changes.iter().flat_map(|change| change.examples.clone()).take(10).collect(),
            error,
            neutral,
            wall_seconds: ended.wall.as_secs(),
            command: CommandView::new(ended, &told.ending),
            output,
        });
        let excess = self.views.len().saturating_sub(ITERATIONS_MAX);
        self.views.drain(..excess);
    }
}

/// How an iteration was judged; one that changes nothing any more was not.
fn iterated(committed: &Committed) -> Option<&Iterated> {
    committed.decision.facts.iter().find_map(|recorded| match &recorded.fact {
        Fact::Phase(PhaseFact::Iterated(iterated)) => Some(iterated.as_ref()),
        _other => None,
    })
}
