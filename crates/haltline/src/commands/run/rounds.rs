//! The loop: one iteration per run of the command, until the work is done, a circuit opens, or a limit is used up (P8).

mod judge;
mod rest;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::headless::{Headless, Told};
use haltline_agents::price::Price;
use haltline_agents::status_block::last_block;
use haltline_agents::test_results::{TestCounts, from_output};
use haltline_core::phase::{
    Course, Fact as PhaseFact, Happening, Joining, Over, PhaseName, Spent, Stand, Start, trip_text,
};
use haltline_core::{Fact, Verdict};
use haltline_engine::EngineError;
use haltline_engine::changes::{Look, LookOptions};
use haltline_engine::course::CoursePlace;
use haltline_engine::store::Committed;
use rustix::fs::{FileType, SeekFrom};

use super::budget::Budget;
use super::ears::{Ears, InLoop};
use super::ending::{self, End, RoundView, RunView};
use super::folder::{self, RunFolder};
use super::iteration;
use super::{grace, prices, tests};
use crate::cli::Run;
use crate::commands::phase;
use crate::error::Failure;
use crate::front::text;
use crate::run::{
    Cause, Ended, Go, Inbox, Keep, Lease, Limits, Listener, StartError, Stream, Supervised, Taken, Terminal, supervise,
};
use crate::surroundings;
use crate::workplace::Workplace;

/// A test or completion command that takes longer is ended.
const CHECK_WALL: Duration = Duration::from_secs(15 * 60);
/// What is kept of each stream of an iteration.
const KEEP: Keep = Keep { first_bytes_max: 64 * 1024, last_bytes_max: 256 * 1024 };

/// Runs the loop to its end.
pub fn run(workplace: &Workplace, command: &Run) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let place = CoursePlace::run(engine.project(), command.name.as_deref());
    let folder = RunFolder::open(engine.state_folder(), &place.name, engine.project().key.0)?;
    let run_id = folder::run_id()?;
    let mut inbox = Inbox::open()?;
    let lease = match Lease::take(&folder.lease(), &run_id)? {
        Taken::Held(lease) => *lease,
        Taken::Busy { pid } => {
            let by = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            let name = command.name.as_deref().unwrap_or(haltline_engine::DEFAULT_RUN);
            return Err(Failure::Plain(format!(
                "a loop named {name:?} is going on in this work tree{by}; give this one a name of its own: --name NAME"
            )));
        }
    };
    let mut rounds = Rounds {
        workplace,
        command,
        place,
        folder,
        run_id,
        lease,
        prices: prices(workplace),
        budget: Budget::new(command),
        iteration: 0,
        spent: Spent::default(),
        session: None,
        views: Vec::new(),
        is_begun: false,
        interrupted: None,
        troubles: 0,
        is_unknown_told: false,
        ahead_of_utc_s: ahead_of_utc_s(),
    };
    rounds.clear_leftovers(&mut inbox);
    let end = rounds.go(&mut inbox)?;
    rounds.finish(end)
}

/// A loop under way.
struct Rounds<'a> {
    workplace: &'a Workplace,
    command: &'a Run,
    place: CoursePlace,
    folder: RunFolder,
    run_id: String,
    lease: Lease,
    prices: Vec<Price>,
    budget: Budget,
    /// The iteration under way, or the last one. In observe mode it goes on where the course stands still.
    iteration: u64,
    /// All of it, with what a resumed run took before.
    spent: Spent,
    /// The client's last session and what it said it took, where it counts whole sessions.
    session: Option<(String, Spent)>,
    views: Vec<RoundView>,
    /// The course is ours: whatever ends it now, ends this run.
    is_begun: bool,
    /// A signal that came while a command of the loop's own ran, or an iteration.
    interrupted: Option<i32>,
    /// Waits in a row for trouble nobody said the end of.
    troubles: u32,
    is_unknown_told: bool,
    /// Clients print the machine's local time.
    ahead_of_utc_s: i32,
}

/// An iteration that was run.
struct Round {
    ended: Ended,
    told: Told,
    /// What is used up, where it was ended for that.
    over: Option<String>,
}

/// Listens to a command that is only asked how it ends.
struct Deaf;

impl Listener for Deaf {
    fn heard(&mut self, _stream: Stream, _bytes: &[u8]) -> Go {
        Go::On
    }

    fn ticked(&mut self) -> Go {
        Go::On
    }
}

impl Rounds<'_> {
    fn say(&self, text: &str) {
        if !self.command.is_quiet {
            eprintln!("haltline: {text}");
        }
    }

    fn told(&self, what: Happening) -> Result<Committed, EngineError> {
        let session = surroundings::session();
        self.workplace.engine.phase(&self.place, None, session.as_deref(), what)
    }

    fn tell(&self, what: Happening) -> Result<Committed, Failure> {
        self.told(what).map_err(Failure::of_course)
    }

    fn course(&self) -> Result<Option<Course>, Failure> {
        Ok(self.workplace.engine.known_course(&self.place.name)?)
    }

    /// A runner that was killed could not clear up.
    fn clear_leftovers(&self, inbox: &mut Inbox) {
        let Some(leftovers) = self.lease.leftovers() else { return };
        let names: Vec<String> = leftovers.names().into_iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
        self.say(&format!("a runner that was killed left {}: ending it", names.join(", ")));
        let grace = grace(self.workplace, self.command);
        leftovers.end(grace, &mut |limit| inbox.wait(limit).is_some());
    }

    fn go(&mut self, inbox: &mut Inbox) -> Result<End, Failure> {
        if let Some(end) = self.begin()? {
            return Ok(end);
        }
        let options = LookOptions { excluded: self.command.ignore.clone(), ..LookOptions::default() };
        let root = &self.workplace.engine.project().root;
        let mut before = Look::take(root, &options);
        before.problems().for_each(|problem| self.say(&problem));
        loop {
            if let Some(end) = self.limit_reached() {
                return Ok(end);
            }
            let start = Some(Start { tree: Some(iteration::digest(&before)) });
            let committed = self.tell(Happening::Ask { start })?;
            if let Some(end) = self.halted(&committed.decision.verdict)? {
                return Ok(end);
            }
            self.iteration += 1;
            let reports = tests::Reports::look(&self.command.junit);
            let round = match self.iterate(inbox, guidance(&committed))? {
                Ok(round) => round,
                Err(error) => return Ok(End::Unstartable { problem: error.to_string() }),
            };
            let mut problems = Vec::new();
            let counts = self.tests(inbox, &round, &reports, &mut problems)?;
            let after = Look::take(root, &options);
            let changes = after.changes_since(&before);
            before = after;
            problems.iter().for_each(|problem| self.say(problem));
            let end = self.judge(inbox, &round, &changes, &before, counts)?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Begins or resumes the course; `Some` where that is refused.
    fn begin(&mut self) -> Result<Option<End>, Failure> {
        let joining = if self.command.is_resumed { Joining::Resumed } else { Joining::New };
        let phase = PhaseName::known(PhaseName::LOOP);
        let committed = self.tell(Happening::Begin { phase, joining, operator: None })?;
        if let Some(end) = self.halted(&committed.decision.verdict)? {
            return Ok(Some(end));
        }
        for recorded in &committed.decision.facts {
            if let Fact::Phase(PhaseFact::Resumed { unfinished }) = &recorded.fact {
                let course = self.course()?;
                let iterations = course.as_ref().map_or(0, |course| course.iteration);
                let cut = unfinished.map_or(String::new(), |number| format!("; iteration {number} was cut off"));
                self.say(&format!("resumed after {}{cut}", text::count(iterations, "iteration")));
                self.iteration = iterations;
                self.spent = course.map(|course| course.spent).unwrap_or_default();
            }
        }
        self.is_begun = true;
        Ok(None)
    }

    /// What a refusal means for the loop. What a person ended is over in every mode.
    fn halted(&self, verdict: &Verdict) -> Result<Option<End>, Failure> {
        let course = self.course()?;
        let is_over = course.as_ref().is_some_and(|course| matches!(course.stand, Stand::Over(_)));
        if is_over && self.is_begun {
            return self.ended_by_a_person();
        }
        if !verdict.refuses() && !is_over {
            return Ok(None);
        }
        let reason = match course.as_ref().and_then(Course::trip) {
            Some(trip) => format!("{} (haltline why {})", trip_text(trip), trip.incident),
            None => {
                let said = verdict.reason().map(|reason| reason.text.as_str()).unwrap_or_default();
                let name = self.command.name.as_ref().map_or_else(String::new, |name| format!("={name}"));
                format!("{said}; `haltline phase begin LOOP --new-run --run{name}` allows another")
            }
        };
        Ok(Some(End::Tripped { reason }))
    }

    /// The end of a run that a person ended while it went on.
    fn ended_by_a_person(&self) -> Result<Option<End>, Failure> {
        let is_skipped = self.course()?.is_some_and(|course| course.stand == Stand::Over(Over::Skipped));
        Ok(Some(End::Aborted { is_skipped }))
    }

    fn limit_reached(&self) -> Option<End> {
        if let Some(limit) = self.command.max_iterations
            && self.iteration >= limit
        {
            return Some(End::budget(text::count(limit, "iteration")));
        }
        if self.time_left() == Some(Duration::ZERO) {
            return Some(End::budget(self.time_text()));
        }
        self.budget.exceeded(self.spent).map(End::budget)
    }

    fn time_text(&self) -> String {
        format!("its time of {}", ending::span(self.command.max_time.unwrap_or_default()))
    }

    /// Counts time that is the loop's own and no iteration's.
    fn took(&mut self, time: Duration) {
        let wall_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.spent = self.spent.plus(Spent { wall_ms, ..Spent::default() });
    }

    fn time_left(&self) -> Option<Duration> {
        self.command.max_time.map(|limit| limit.saturating_sub(Duration::from_millis(self.spent.wall_ms)))
    }

    fn iterate(&mut self, inbox: &mut Inbox, guidance: Option<String>) -> Result<Result<Round, StartError>, Failure> {
        rewind_input();
        let mut environment = vec![(OsString::from("HALTLINE_ITERATION"), OsString::from(self.iteration.to_string()))];
        if let Some(guidance) = guidance {
            self.say(&format!("guidance: {guidance}"));
            environment.push(("HALTLINE_GUIDANCE".into(), guidance.into()));
        }
        let wall = [self.time_left(), self.command.iteration_time].into_iter().flatten().min();
        let supervised = Supervised {
            command: &self.command.command,
            folder: &self.workplace.folder,
            environment: &environment,
            run_id: &self.run_id,
            terminal: Terminal::Pipe,
            limits: Limits { wall, idle: self.command.idle, grace: grace(self.workplace, self.command) },
            keep: KEEP,
        };
        let (engine, name) = (&self.workplace.engine, &self.place.name);
        let mut is_over = || {
            let course = engine.known_course(name).ok().flatten();
            course.is_some_and(|course| matches!(course.stand, Stand::Over(_)))
        };
        let session = self.session.as_ref();
        let loops = InLoop { lease: &mut self.lease, iteration: self.iteration, session, is_over: &mut is_over };
        let mut ears = Ears::new(Headless::with_prices(&self.prices), &self.budget, self.spent, Some(loops));
        let ended = match supervise(&supervised, &mut ears, inbox) {
            Ok(ended) => ended,
            Err(error) => return Ok(Err(error)),
        };
        let over = ears.over();
        Ok(Ok(Round { ended, told: ears.finish(), over }))
    }

    /// Test results: report files before a test command before what was printed before what the agent says.
    fn tests(
        &mut self,
        inbox: &mut Inbox,
        round: &Round,
        reports: &tests::Reports,
        problems: &mut Vec<String>,
    ) -> Result<Option<TestCounts>, Failure> {
        let printed = match &self.command.test {
            Some(line) => {
                let ended = self.check(inbox, line)?;
                let output = ended.output.out.text() + "\n" + &ended.output.err.text();
                from_output(&output)
            }
            None => tests::of_output(&round.told, &round.ended.output.out.text()),
        };
        let reported = reports.counts(problems);
        Ok(reported.or(printed).or_else(|| tests::of_block(last_block(&round.told.words).as_ref())))
    }

    /// Runs a command of the loop's own, quietly. A signal that comes meanwhile ends the loop.
    fn check(&mut self, inbox: &mut Inbox, line: &str) -> Result<Ended, Failure> {
        let supervised = Supervised {
            command: &tests::shell(line),
            folder: &self.workplace.folder,
            environment: &[],
            run_id: &self.run_id,
            terminal: Terminal::Listen,
            limits: Limits { wall: Some(CHECK_WALL), idle: None, grace: grace(self.workplace, self.command) },
            keep: KEEP,
        };
        let ended = supervise(&supervised, &mut Deaf, inbox).map_err(|error| Failure::Plain(error.to_string()))?;
        self.took(ended.wall);
        if let Cause::Signal(signal) = ended.cause {
            self.interrupted = Some(signal);
        }
        Ok(ended)
    }

    fn finish(self, end: End) -> Result<ExitCode, Failure> {
        if let Some(how) = end.finish() {
            self.tell(Happening::Finish(how))?;
        }
        let course = self.course()?;
        let rounds = self.iteration.max(course.as_ref().map_or(0, |course| course.iteration));
        let course = course.map(|course| phase::view(self.workplace, &self.place.name, &course)).transpose()?;
        if let (End::Tripped { .. }, Some(course)) = (&end, &course)
            && course.state == "OPEN"
        {
            eprint!("{}", text::open_block(course));
            course.options.iter().for_each(|option| eprintln!("  {option}"));
        }
        let Self { command, lease, views, spent, .. } = self;
        let mut view = RunView::unstarted(&end);
        view.wall_seconds = spent.wall_ms / 1000;
        view.iterations = views;
        view.course = course;
        view.rounds = Some(rounds);
        ending::tell(command, &view)?;
        lease.release().ok();
        Ok(end.exit_code())
    }
}

/// What is handed to the command this time.
fn guidance(committed: &Committed) -> Option<String> {
    committed.decision.facts.iter().find_map(|recorded| match &recorded.fact {
        Fact::Phase(PhaseFact::Guided { guidance }) => Some(guidance.clone()),
        _other => None,
    })
}

/// Every iteration reads a file on standard input from its beginning; what comes through a pipe can be read only once.
fn rewind_input() {
    let input = rustix::stdio::stdin();
    let is_file = rustix::fs::fstat(input).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
    if is_file {
        rustix::fs::seek(input, SeekFrom::Start(0)).ok();
    }
}

/// How far the machine's clock is ahead of UTC, by `date`; a machine without it counts as UTC.
fn ahead_of_utc_s() -> i32 {
    let output = std::process::Command::new("date").arg("+%z").output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let (sign, digits) = match text.split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        Some(_) | None => return 0,
    };
    match (
        digits.get(..2).and_then(|hours| hours.parse::<i32>().ok()),
        digits.get(2..4).and_then(|rest| rest.parse::<i32>().ok()),
    ) {
        (Some(hours), Some(minutes)) => sign * (hours * 3_600 + minutes * 60),
        _unreadable => 0,
    }
}
