//! The loop: runs the command once per iteration, until the work is done, a circuit opens, or a limit is reached (P8).

mod evaluate;
mod pause;
mod provider;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::headless::{HeadlessParser, HeadlessReport};
use haltline_agents::price::Price;
use haltline_agents::status_block::last_block;
use haltline_agents::test_results::{TestCounts, from_output};
use haltline_core::phase::{
    Fact as PhaseFact, Joining, OverReason, PhaseEvent, PhaseName, PhaseRun, RunState, Spent, Start, trip_text,
};
use haltline_core::{Fact, Verdict};
use haltline_engine::EngineError;
use haltline_engine::changes::{SnapshotOptions, WorkTreeSnapshot};
use haltline_engine::phase_run::PhaseRunLocation;
use haltline_engine::store::Committed;
use jiff::tz::TimeZone;
use rustix::fs::{FileType, SeekFrom};

use super::budget::Budget;
use super::ending::{self, End, IterationReportView, RunView};
use super::folder::{self, RunFolder};
use super::iteration;
use super::output_listener::{LoopContext, OutputListener};
use super::{grace, prices, tests};
use crate::cli::{Decided, Run};
use crate::commands::phase;
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::front::text::{self, BlockForm};
use crate::run::{
    EndCause, EndedRun, Inbox, KeepLimits, Lease, LeaseAttempt, Limits, Listener, OutputStream, RunControl, StartError,
    SupervisedCommand, Terminal, supervise,
};

/// Longest time of a test or completion command.
const CHECK_WALL: Duration = Duration::from_secs(15 * 60);
/// How much of each output stream of an iteration is kept.
const KEEP: KeepLimits = KeepLimits { first_bytes_max: 64 * 1024, last_bytes_max: 256 * 1024 };

/// Runs the loop to its end.
pub fn run(context: &Context, command: &Run) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let location = PhaseRunLocation::run(engine.project(), command.name.as_deref());
    let folder = RunFolder::open(engine.state_folder(), &location.name, engine.project().key.0)?;
    let run_id = folder::run_id()?;
    let mut inbox = Inbox::open()?;
    let lease = match Lease::acquire(&folder.lease(), &run_id)? {
        LeaseAttempt::Acquired(lease) => *lease,
        LeaseAttempt::Busy { pid } => {
            let by = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            let name = command.name.as_deref().unwrap_or(haltline_engine::DEFAULT_RUN);
            return Err(Failure::Plain(format!(
                "a loop named {name:?} is running in this work tree{by}; give this loop another name: --run=NAME"
            )));
        }
    };
    let mut runner = LoopRunner {
        context,
        command,
        location,
        folder,
        run_id,
        lease,
        prices: prices(context),
        budget: Budget::new(command),
        iteration: 0,
        spent: Spent::default(),
        session: None,
        views: Vec::new(),
        is_begun: false,
        interrupted: None,
        troubles: 0,
        is_unknown_limit_reported: false,
        is_block_shown: false,
        zone: TimeZone::system(),
    };
    runner.clear_leftovers(&mut inbox);
    let mut end = match runner.begin()? {
        Some(end) => end,
        None => runner.go(&mut inbox)?,
    };
    while runner.is_resumed_by_person(&mut end)? {
        end = runner.go(&mut inbox)?;
    }
    runner.finish(end)
}

/// A loop in progress.
struct LoopRunner<'a> {
    context: &'a Context,
    command: &'a Run,
    location: PhaseRunLocation,
    folder: RunFolder,
    run_id: String,
    lease: Lease,
    prices: Vec<Price>,
    budget: Budget,
    /// The current or last iteration. In observe mode it goes on counting where the phase run does not.
    iteration: u64,
    /// What the run has spent, including what a resumed run spent before.
    spent: Spent,
    /// The client's last session and what it had spent, if the client reports totals of whole sessions.
    session: Option<(String, Spent)>,
    views: Vec<IterationReportView>,
    /// True once the phase run is ours: whatever ends it from then on ends this run.
    is_begun: bool,
    /// A signal that arrived during an iteration or a check command.
    interrupted: Option<i32>,
    /// Number of consecutive waits for trouble whose end is unknown.
    troubles: u32,
    is_unknown_limit_reported: bool,
    /// The person has seen the block of the OPEN circuit.
    is_block_shown: bool,
    /// The machine's time zone, because clients print local time.
    zone: TimeZone,
}

/// An iteration whose command has ended.
struct FinishedIteration {
    ended: EndedRun,
    client_report: HeadlessReport,
    /// The limit that is used up, if the iteration was ended for that.
    over: Option<String>,
}

/// Ignores the output of a command of which only the exit code matters.
struct SilentListener;

impl Listener for SilentListener {
    fn on_output(&mut self, _stream: OutputStream, _bytes: &[u8]) -> RunControl {
        RunControl::Continue
    }

    fn on_tick(&mut self) -> RunControl {
        RunControl::Continue
    }
}

impl LoopRunner<'_> {
    fn say(&self, text: &str) {
        if !self.command.is_quiet {
            text::note(&format!("haltline: {text}"));
        }
    }

    fn try_commit(&self, event: PhaseEvent) -> Result<Committed, EngineError> {
        let session = environment::session();
        self.context.engine.phase(&self.location, None, session.as_deref(), event)
    }

    fn commit(&self, event: PhaseEvent) -> Result<Committed, Failure> {
        self.try_commit(event).map_err(Failure::for_phase_run)
    }

    fn phase_run(&self) -> Result<Option<PhaseRun>, Failure> {
        Ok(self.context.engine.stored_phase_run(&self.location.name)?)
    }

    /// Ends the processes that a killed runner left behind.
    fn clear_leftovers(&self, inbox: &mut Inbox) {
        let Some(leftovers) = self.lease.leftovers() else { return };
        let names: Vec<String> =
            leftovers.processes().into_iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
        self.say(&format!("a killed runner left {}, which haltline now ends", names.join(", ")));
        let grace = grace(self.context, self.command);
        leftovers.end(grace, &mut |limit| inbox.wait(limit).is_some());
    }

    /// Runs iterations until the run ends.
    fn go(&mut self, inbox: &mut Inbox) -> Result<End, Failure> {
        let options = SnapshotOptions { excluded: self.command.ignore.clone(), ..SnapshotOptions::default() };
        let root = &self.context.engine.project().root;
        let mut before = WorkTreeSnapshot::capture(root, &options);
        before.problems().for_each(|problem| self.say(&problem));
        loop {
            if let Some(end) = self.limit_reached() {
                return Ok(end);
            }
            if let Some(end) = self.await_provider(inbox)? {
                return Ok(end);
            }
            let start = Some(Start { tree: Some(iteration::digest(&before)) });
            let committed = self.commit(PhaseEvent::Ask { start })?;
            if let Some(end) = self.halted(&committed.decision.verdict)? {
                return Ok(end);
            }
            self.iteration += 1;
            let reports = tests::Reports::snapshot(&self.command.junit);
            let finished = match self.iterate(inbox, guidance(&committed))? {
                Ok(finished) => finished,
                Err(error) => return Ok(End::unstartable(&error)),
            };
            let mut problems = Vec::new();
            let counts = self.tests(inbox, &finished, &reports, &mut problems)?;
            let after = WorkTreeSnapshot::capture(root, &options);
            let changes = after.changes_since(&before);
            before = after;
            problems.iter().for_each(|problem| self.say(problem));
            let end = self.evaluate(inbox, &finished, &changes, &before, counts)?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Begins or resumes the phase run; returns an end if that is denied.
    fn begin(&mut self) -> Result<Option<End>, Failure> {
        let joining = if self.command.is_resumed { Joining::Resumed } else { Joining::New };
        let phase = PhaseName::from_static(PhaseName::LOOP);
        let committed = self.commit(PhaseEvent::Begin { phase, joining, operator: None })?;
        if let Some(end) = self.halted(&committed.decision.verdict)? {
            return Ok(Some(end));
        }
        for recorded in &committed.decision.facts {
            if let Fact::Phase(PhaseFact::Resumed { unfinished }) = &recorded.fact {
                let phase_run = self.phase_run()?;
                let iterations = phase_run.as_ref().map_or(0, |phase_run| phase_run.iteration);
                let cut = unfinished.map_or(String::new(), |number| format!("; iteration {number} was interrupted"));
                self.say(&format!("resumed after {}{cut}", text::count(iterations, "iteration")));
                self.iteration = iterations;
                self.spent = phase_run.map(|phase_run| phase_run.spent).unwrap_or_default();
            }
        }
        self.is_begun = true;
        Ok(None)
    }

    /// Asks the person at the terminal about a trip. Returns whether the loop goes on; an abort changes the end.
    fn is_resumed_by_person(&mut self, end: &mut End) -> Result<bool, Failure> {
        if !matches!(end, End::Tripped { .. }) || !phase::choice::can_ask(self.context) {
            return Ok(false);
        }
        let Some(phase_run) = self.phase_run()?.filter(|phase_run| phase_run.trip().is_some()) else {
            return Ok(false);
        };
        let view = phase::view(self.context, &self.location.name, &phase_run)?;
        eprint!("{}", text::for_stderr(&text::open_block(&view, BlockForm::Screen)));
        self.is_block_shown = true;
        let Some((decided, guidance)) = phase::choice::ask(&view)? else { return Ok(false) };
        let choice = phase::choice::to_choice(decided, guidance)?;
        let verb = format!("phase decide {} --run", decided.as_str());
        self.context.operate(&verb, None, |operator| self.commit(PhaseEvent::Decide { choice, operator }))?;
        self.is_block_shown = false;
        if decided == Decided::Abort {
            *end = End::Aborted { is_skipped: false };
            return Ok(false);
        }
        self.say("the loop continues");
        Ok(true)
    }

    /// What a denial means for the loop. A run that a person ended is over in every mode.
    fn halted(&self, verdict: &Verdict) -> Result<Option<End>, Failure> {
        let phase_run = self.phase_run()?;
        let is_over = phase_run.as_ref().is_some_and(|phase_run| matches!(phase_run.state, RunState::Over(_)));
        if is_over && self.is_begun {
            return self.ended_by_a_person();
        }
        if !verdict.denies() && !is_over {
            return Ok(None);
        }
        let reason = match phase_run.as_ref().and_then(PhaseRun::trip) {
            Some(trip) => format!("{} (haltline why {})", trip_text(trip), trip.incident),
            None => {
                let denial = verdict.reason().map(|reason| reason.text.as_str()).unwrap_or_default();
                let name = self.command.name.as_ref().map_or_else(String::new, |name| format!("={name}"));
                format!("{denial}; `haltline phase begin LOOP --new-run --run{name}` allows another")
            }
        };
        Ok(Some(End::Tripped { reason }))
    }

    /// How a run ends that a person ended while it was in progress.
    fn ended_by_a_person(&self) -> Result<Option<End>, Failure> {
        let is_skipped =
            self.phase_run()?.is_some_and(|phase_run| phase_run.state == RunState::Over(OverReason::Skipped));
        Ok(Some(End::Aborted { is_skipped }))
    }

    fn limit_reached(&self) -> Option<End> {
        if let Some(limit) = self.command.max_iterations
            && self.iteration >= limit
        {
            return Some(End::budget(format!("reached --max-iterations {limit}")));
        }
        if self.time_left() == Some(Duration::ZERO) {
            return Some(End::budget(self.time_text()));
        }
        self.budget.exceeded(self.spent).map(End::budget)
    }

    fn time_text(&self) -> String {
        format!("reached --max-time {}", ending::span(self.command.max_time.unwrap_or_default()))
    }

    /// Counts time that belongs to the loop and to no iteration.
    fn took(&mut self, time: Duration) {
        let wall_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.spent = self.spent.plus(Spent { wall_ms, ..Spent::default() });
    }

    fn time_left(&self) -> Option<Duration> {
        self.command.max_time.map(|limit| limit.saturating_sub(Duration::from_millis(self.spent.wall_ms)))
    }

    fn iterate(
        &mut self,
        inbox: &mut Inbox,
        guidance: Option<String>,
    ) -> Result<Result<FinishedIteration, StartError>, Failure> {
        rewind_input();
        let mut environment = vec![(OsString::from("HALTLINE_ITERATION"), OsString::from(self.iteration.to_string()))];
        if let Some(guidance) = guidance {
            self.say(&format!("guidance: {guidance}"));
            environment.push(("HALTLINE_GUIDANCE".into(), guidance.into()));
        }
        let wall = [self.time_left(), self.command.iteration_time].into_iter().flatten().min();
        let supervised = SupervisedCommand {
            command: &self.command.command,
            folder: &self.context.folder,
            environment: &environment,
            run_id: &self.run_id,
            terminal: Terminal::Pipe,
            limits: Limits { wall, idle: self.command.idle, grace: grace(self.context, self.command) },
            keep: KEEP,
        };
        let (engine, name) = (&self.context.engine, &self.location.name);
        let mut is_over = || {
            let phase_run = engine.stored_phase_run(name).ok().flatten();
            phase_run.is_some_and(|phase_run| matches!(phase_run.state, RunState::Over(_)))
        };
        let session = self.session.as_ref();
        let loops = LoopContext { lease: &mut self.lease, iteration: self.iteration, session, is_over: &mut is_over };
        let mut listener =
            OutputListener::new(HeadlessParser::with_prices(&self.prices), &self.budget, self.spent, Some(loops));
        let ended = match supervise(&supervised, &mut listener, inbox) {
            Ok(ended) => ended,
            Err(error) => return Ok(Err(error)),
        };
        let over = listener.over();
        Ok(Ok(FinishedIteration { ended, client_report: listener.finish(), over }))
    }

    /// Returns test results, by priority: report files, the test command, the printed output, the agent's own report.
    fn tests(
        &mut self,
        inbox: &mut Inbox,
        finished: &FinishedIteration,
        reports: &tests::Reports,
        problems: &mut Vec<String>,
    ) -> Result<Option<TestCounts>, Failure> {
        let printed = match &self.command.test {
            Some(line) => {
                let ended = self.check(inbox, line)?;
                let output = ended.output.out.text() + "\n" + &ended.output.err.text();
                from_output(&output)
            }
            None => tests::counts_in_output(&finished.client_report, &finished.ended.output.out.text()),
        };
        let reported = reports.counts(problems);
        Ok(reported.or(printed).or_else(|| tests::counts_in_block(last_block(&finished.client_report.text).as_ref())))
    }

    /// Runs a test or completion command without output. A signal during it ends the loop.
    fn check(&mut self, inbox: &mut Inbox, line: &str) -> Result<EndedRun, Failure> {
        let supervised = SupervisedCommand {
            command: &tests::shell(line),
            folder: &self.context.folder,
            environment: &[],
            run_id: &self.run_id,
            terminal: Terminal::Listen,
            limits: Limits { wall: Some(CHECK_WALL), idle: None, grace: grace(self.context, self.command) },
            keep: KEEP,
        };
        let ended = supervise(&supervised, &mut SilentListener, inbox).map_err(Failure::plain)?;
        self.took(ended.wall);
        if let EndCause::Signal(signal) = ended.cause {
            self.interrupted = Some(signal);
        }
        Ok(ended)
    }

    fn finish(self, end: End) -> Result<ExitCode, Failure> {
        if let Some(how) = end.finish() {
            self.commit(PhaseEvent::Finish(how))?;
        }
        let phase_run = self.phase_run()?;
        let iteration_count = self.iteration.max(phase_run.as_ref().map_or(0, |phase_run| phase_run.iteration));
        let phase_run =
            phase_run.map(|phase_run| phase::view(self.context, &self.location.name, &phase_run)).transpose()?;
        if let (End::Tripped { .. }, Some(phase_run)) = (&end, &phase_run)
            && phase_run.is_open()
        {
            if !self.is_block_shown {
                eprint!("{}", text::for_stderr(&text::open_block(phase_run, BlockForm::Screen)));
            }
            phase_run.options.iter().for_each(|option| text::note(&format!("  {option}")));
        }
        let Self { command, lease, views, spent, .. } = self;
        let mut view = RunView::unstarted(&end);
        view.wall_seconds = spent.wall_ms / 1000;
        view.iterations = views;
        view.phase_run = phase_run;
        view.iteration_count = Some(iteration_count);
        ending::print_end(command, &view, self.context.is_json)?;
        lease.release().ok();
        Ok(end.exit_code())
    }
}

/// The guidance for the next iteration.
fn guidance(committed: &Committed) -> Option<String> {
    committed.decision.facts.iter().find_map(|recorded| match &recorded.fact {
        Fact::Phase(PhaseFact::Guided { guidance }) => Some(guidance.clone()),
        _other => None,
    })
}

/// Rewinds standard input if it is a file, so that every iteration reads it from the start. A pipe can be read once.
fn rewind_input() {
    let input = rustix::stdio::stdin();
    let is_file = rustix::fs::fstat(input).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
    if is_file {
        rustix::fs::seek(input, SeekFrom::Start(0)).ok();
    }
}
