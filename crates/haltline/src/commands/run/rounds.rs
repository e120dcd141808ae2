//! The loop: one iteration per run of the command, until the work is done, a circuit opens, or a limit is used up (P8).

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::headless::{Headless, Told};
use haltline_agents::price::Price;
use haltline_agents::status_block::last_block;
use haltline_agents::test_results::{TestCounts, from_output};
use haltline_core::phase::{
    Course, Fact as PhaseFact, Happening, Iterated, Joining, Over, PhaseName, Signal, Source, Spent, Stand, Start,
    trip_text,
};
use haltline_core::{Fact, Instant, Verdict};
use haltline_engine::changes::{Change, Look, LookOptions};
use haltline_engine::course::CoursePlace;
use haltline_engine::store::Committed;
use rustix::fs::{FileType, SeekFrom};

use super::budget::Budget;
use super::ears::{Ears, InLoop};
use super::ending::{self, CommandView, End, ITERATIONS_MAX, RoundView, RunView};
use super::folder::{self, RunFolder};
use super::iteration::{self, Seen, Wait};
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

/// How long a loop waits after trouble outside, at first and at most, where nobody said until when.
const WAIT_FIRST: Duration = Duration::from_secs(30);
const WAIT_LONGEST: Duration = Duration::from_secs(15 * 60);
/// A limit that was said to be over is over a moment later.
const WAIT_SPARE_MS: i64 = 5_000;
/// How often a person's abort is looked for while waiting.
const LOOK_EVERY: Duration = Duration::from_secs(2);
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
    over: Option<String>,
    is_aborted: bool,
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

    fn tell(&self, what: Happening) -> Result<Committed, Failure> {
        let session = surroundings::session();
        self.workplace.engine.phase(&self.place, None, session.as_deref(), what).map_err(Failure::of_course)
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
            if let Some(end) = self.limit_reached()? {
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
        Ok(None)
    }

    /// What a refusal means for the loop.
    fn halted(&self, verdict: &Verdict) -> Result<Option<End>, Failure> {
        if !verdict.refuses() {
            return Ok(None);
        }
        let course = self.course()?;
        let is_aborted = course.as_ref().is_some_and(|course| course.stand == Stand::Over(Over::Aborted));
        if is_aborted && !self.views.is_empty() {
            return Ok(Some(End::Aborted));
        }
        let reason = match course.as_ref().and_then(Course::trip) {
            Some(trip) => format!("{} (haltline why {})", trip_text(trip), trip.incident),
            None => {
                let said = verdict.reason().map(|reason| reason.text.as_str()).unwrap_or_default();
                format!("{said}; `haltline phase begin LOOP --new-run --run` allows another")
            }
        };
        Ok(Some(End::Tripped { reason }))
    }

    fn limit_reached(&self) -> Result<Option<End>, Failure> {
        if let Some(limit) = self.command.max_iterations
            && self.iteration >= limit
        {
            return Ok(Some(End::budget(text::count(limit, "iteration"))));
        }
        if self.time_left() == Some(Duration::ZERO) {
            return Ok(Some(End::budget(self.time_text())));
        }
        Ok(self.budget.exceeded(self.spent).map(End::budget))
    }

    fn time_text(&self) -> String {
        format!("its time of {}", ending::span(self.command.max_time.unwrap_or_default()))
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
        let folder = std::env::current_dir()?;
        let supervised = Supervised {
            command: &self.command.command,
            folder: &folder,
            environment: &environment,
            run_id: &self.run_id,
            terminal: Terminal::Pipe,
            limits: Limits { wall, idle: self.command.idle, grace: grace(self.workplace, self.command) },
            keep: KEEP,
        };
        let (engine, name) = (&self.workplace.engine, &self.place.name);
        let mut aborted = || {
            let course = engine.known_course(name).ok().flatten();
            course.is_some_and(|course| course.stand == Stand::Over(Over::Aborted))
        };
        let loops = InLoop { lease: &mut self.lease, iteration: self.iteration, aborted: &mut aborted };
        let mut ears = Ears::new(Headless::with_prices(&self.prices), &self.budget, self.spent, Some(loops));
        let ended = match supervise(&supervised, &mut ears, inbox) {
            Ok(ended) => ended,
            Err(error) => return Ok(Err(error)),
        };
        let (over, is_aborted) = (ears.over(), ears.is_aborted());
        Ok(Ok(Round { ended, told: ears.finish(), over, is_aborted }))
    }

    /// Test results: report files before a test command before what was printed before what the agent says.
    fn tests(
        &self,
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

    /// Runs a command of the loop's own, quietly.
    fn check(&self, inbox: &mut Inbox, line: &str) -> Result<Ended, Failure> {
        let folder = std::env::current_dir()?;
        let supervised = Supervised {
            command: &tests::shell(line),
            folder: &folder,
            environment: &[],
            run_id: &self.run_id,
            terminal: Terminal::Listen,
            limits: Limits { wall: Some(CHECK_WALL), idle: None, grace: grace(self.workplace, self.command) },
            keep: KEEP,
        };
        supervise(&supervised, &mut Deaf, inbox).map_err(|error| Failure::Plain(error.to_string()))
    }

    /// Reports the iteration, and says whether the loop is over.
    fn judge(
        &mut self,
        inbox: &mut Inbox,
        round: &Round,
        changes: &[Change],
        after: &Look,
        counts: Option<TestCounts>,
    ) -> Result<Option<End>, Failure> {
        let Round { ended, told, over, is_aborted } = round;
        let seen = Seen {
            ended,
            told,
            changes,
            after,
            metrics: counts.map(tests::metrics).unwrap_or_default(),
            limit: self.command.iteration_time,
        };
        let (mut report, mut outlook) = iteration::report(&seen, self.workplace.engine.now().at, self.ahead_of_utc_s);
        report.iteration = Some(self.iteration);
        report.spent = self.own_share(told, report.spent);
        // What was cut off by us says nothing about the work.
        let is_cut_off = *is_aborted || matches!(ended.cause, Cause::Signal(_)) || over.is_some();
        if is_cut_off {
            report.error = None;
            report.neutral.get_or_insert_with(|| "cut off".to_owned());
        } else {
            outlook.is_done = self.done(inbox, told, outlook.is_done.take())?;
        }
        // Work that is done needs no further sign.
        report.signals.extend(outlook.is_done.is_some().then_some(Signal { source: Source::Caller, count: 1 }));
        let (error, neutral) = (report.error.as_ref().map(|error| error.shown.clone()), report.neutral.clone());
        self.spent = self.spent.plus(report.spent);
        if *is_aborted {
            self.note_round(ended, told, changes, None, error, neutral);
            return Ok(Some(End::Aborted));
        }
        let committed = self.tell(Happening::Report(Box::new(report)))?;
        let iterated = committed.decision.facts.iter().find_map(|recorded| match &recorded.fact {
            Fact::Phase(PhaseFact::Iterated(iterated)) => Some(iterated.as_ref().clone()),
            _other => None,
        });
        self.note_round(ended, told, changes, iterated.as_ref(), error, neutral);
        if let Some(warning) = self.budget.unknown(self.spent).filter(|_| !self.is_unknown_told) {
            self.is_unknown_told = true;
            text::warn(warning);
        }
        if let Cause::Signal(signal) = ended.cause {
            return Ok(Some(End::Interrupted { signal }));
        }
        if let Some(over) = over {
            return Ok(Some(End::budget(over.clone())));
        }
        if let Some(by) = outlook.is_done {
            return Ok(Some(End::Completed { by }));
        }
        if let Some(end) = self.halted(&committed.decision.verdict)? {
            return Ok(Some(end));
        }
        match outlook.wait {
            Some(wait) => self.wait(inbox, &wait),
            None => {
                self.troubles = 0;
                self.pause(inbox)
            }
        }
    }

    /// Who says that the work is done: the agent's status block, its words, or a command of the user's.
    fn done(&self, inbox: &mut Inbox, told: &Told, block: Option<String>) -> Result<Option<String>, Failure> {
        if block.is_some() {
            return Ok(block);
        }
        if let Some(text) = &self.command.done_text
            && told.words.lines().any(|line| line.trim() == text.trim())
        {
            return Ok(Some(format!("the agent said {text:?}")));
        }
        if let Some(line) = &self.command.done_if
            && self.check(inbox, line)?.how.exit_code() == 0
        {
            return Ok(Some(format!("`{line}` succeeded")));
        }
        Ok(None)
    }

    /// A client that counts whole sessions is asked for the difference.
    fn own_share(&mut self, told: &Told, spent: Spent) -> Spent {
        let Some(session) = told.session.clone().filter(|_| told.spent.whole_session) else { return spent };
        let before = match self.session.replace((session.clone(), spent)) {
            Some((known, before)) if known == session => before,
            Some(_) | None => Spent::default(),
        };
        let rest = |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
        Spent {
            wall_ms: spent.wall_ms,
            tokens: rest(spent.tokens, before.tokens),
            micros: rest(spent.micros, before.micros),
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

    /// Waits for a limit to be over. Waiting beyond the run's own time makes no sense: it ends, and says when to go on.
    fn wait(&mut self, inbox: &mut Inbox, wait: &Wait) -> Result<Option<End>, Failure> {
        let now = self.workplace.engine.now().at;
        let until = match wait.until {
            // A time that is past already was read wrongly, or the limit was not the one that was told.
            Some(until) if until > now => until.plus_millis(WAIT_SPARE_MS),
            Some(_) | None => {
                let longer = WAIT_FIRST.saturating_mul(1 << self.troubles.min(10)).min(WAIT_LONGEST);
                self.troubles = self.troubles.saturating_add(1);
                now.plus_millis(i64::try_from(longer.as_millis()).unwrap_or(i64::MAX))
            }
        };
        let why = text::fit(&wait.why, 120);
        let left = Duration::from_millis(u64::try_from(until.as_millis() - now.as_millis()).unwrap_or(0));
        let is_beyond = self.time_left().is_some_and(|time| left >= time);
        if self.command.is_impatient || is_beyond {
            return Ok(Some(End::Budget { what: format!("the API's limit ({why})"), retry_at: Some(until) }));
        }
        self.say(&format!("waiting until {} ({why})", until.to_seconds_text()));
        let waited = self.rest(inbox, left, until)?;
        self.spent.wall_ms = self.spent.wall_ms.saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        Ok(waited)
    }

    fn pause(&self, inbox: &mut Inbox) -> Result<Option<End>, Failure> {
        let pause = self.command.pause.unwrap_or_default();
        let until = self.workplace.engine.now().at.plus_millis(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
        self.rest(inbox, pause, until)
    }

    /// Waits, and looks up now and then whether a person aborted the run.
    fn rest(&self, inbox: &mut Inbox, left: Duration, until: Instant) -> Result<Option<End>, Failure> {
        let mut left = left;
        loop {
            let step = left.min(LOOK_EVERY);
            if let Some(signal) = inbox.wait(step) {
                return Ok(Some(End::Interrupted { signal }));
            }
            left -= step;
            // A machine that slept may be past it already.
            if left.is_zero() || self.workplace.engine.now().at >= until {
                return Ok(None);
            }
            if self.course()?.is_some_and(|course| course.stand == Stand::Over(Over::Aborted)) {
                return Ok(Some(End::Aborted));
            }
        }
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
