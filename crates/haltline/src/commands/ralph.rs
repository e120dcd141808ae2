//! `haltline ralph`: the circuit breaker of a Ralph loop, behind Ralph's own files, variables and exit codes (P8).
//!
//! `record` ends with 1 where the circuit is open, `halt` with 1 where the loop may go on. Whatever else is wrong must
//! not look like either: bad input ends with 2, and a store that fails is told and does not halt the loop, unless the
//! user wants it so (E7).

mod files;
mod settings;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::ralph::{Analysis, error_of};
use haltline_core::phase::{Choice, Course, ErrorSeen, Happening, Joining, PhaseName, Report, Signal, Source};
use haltline_core::{Mode, Verdict, shorten};
use haltline_engine::EngineError;
use haltline_engine::clock::Clock;
use haltline_engine::config::Fail;
use haltline_engine::course::CoursePlace;
use haltline_engine::store::Committed;

use self::files::{analysis_of, head_of, newest_output, tail_of};
use self::settings::Settings;
use super::constraint::audit;
use crate::cli::{Ralph, RalphRecord};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{agent_around, outside_agents};
use crate::surroundings::{self, variable};
use crate::view::ralph::{RalphView, transitions};
use crate::workplace::Workplace;

/// Where Ralph keeps its files.
const FOLDER: &str = ".ralph";
/// The largest error file, and how much of the end of an output is looked at.
const ERROR_BYTES_MAX: u64 = 1024 * 1024;
/// Ralph's word for a reset without a reason.
const MANUAL_RESET: &str = "Manual reset";

/// Runs a command of the bridge.
pub fn run(command: &Ralph, folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let workplace = Workplace::open(folder, is_json, clock).map_err(|failure| Failure::Usage(failure.to_string()))?;
    workplace.tell_config_errors();
    let here = folder.unwrap_or(Path::new("."));
    let name = variable("RALPH_DIR").unwrap_or_else(|| FOLDER.to_owned());
    let folder = here.join(&name);
    let place = CoursePlace::ralph(workplace.engine.project(), &folder);
    let bridge = Bridge { workplace: &workplace, here, name, folder, place, settings: Settings::read(here) };
    let result = match command {
        Ralph::Init => bridge.init(),
        Ralph::Record(command) => bridge.record(command),
        Ralph::Status => bridge.status(),
        Ralph::Reset { reason } => bridge.reset(reason.as_deref()),
        Ralph::Halt => bridge.halt(),
    };
    workplace.tell_notices();
    result
}

/// One loop's folder, and how its circuit is kept.
struct Bridge<'a> {
    workplace: &'a Workplace,
    /// The folder the loop runs in.
    here: &'a Path,
    /// Ralph's folder as the user calls it.
    name: String,
    folder: PathBuf,
    place: CoursePlace,
    settings: Settings,
}

impl Bridge<'_> {
    fn init(&self) -> Result<ExitCode, Failure> {
        let course = self.taken_in()?;
        match course {
            None => drop(self.happen(begin())?),
            Some(course) if self.settings.auto_reset && course.trip().is_some() => match agent_around() {
                Some(agent) => text::warn(&format!(
                    "CB_AUTO_RESET is for people and is refused inside an agent ({agent}); the circuit stays as it is"
                )),
                None => drop(self.happen(Happening::AutoReset)?),
            },
            Some(_) => {}
        }
        let course = self.current()?;
        self.answer_json(course.as_ref())?;
        Ok(exit_code::FINE)
    }

    fn record(&self, command: &RalphRecord) -> Result<ExitCode, Failure> {
        let loop_number = number("LOOP", &command.loop_number)?;
        let files_changed = number("FILES_CHANGED", &command.files_changed)?;
        let has_errors = flag("HAS_ERRORS", &command.has_errors)?;
        number("OUTPUT_LENGTH", &command.output_length)?;
        let analysis = analysis_of(&self.folder, loop_number).unwrap_or_default();
        let error = if has_errors { Some(self.error(command, &analysis)?) } else { None };
        let signs = files_changed.max(analysis.files_modified).max(u64::from(analysis.is_complete));
        let report = Report {
            phase: Some(PhaseName::known(PhaseName::RALPH)),
            iteration: Some(loop_number),
            signals: vec![Signal { source: Source::Caller, count: signs }],
            error,
            neutral: analysis.asks.then(|| "asked a question".to_owned()),
            denied: analysis.denied,
            ..Report::default()
        };
        let committed = match self.happen(Happening::Report(Box::new(report))) {
            Ok(committed) => committed,
            Err(failure) => return Ok(self.go_on(&failure, exit_code::FINE, exit_code::ERROR)),
        };
        self.answer_json(self.workplace.engine.known_course(&self.place.name)?.as_ref())?;
        let is_open = matches!(committed.decision.verdict, Verdict::Stop(_));
        Ok(if is_open && !self.only_observes() { exit_code::ERROR } else { exit_code::FINE })
    }

    /// The error of a loop: as it was given, else as the agent's output tells it.
    fn error(&self, command: &RalphRecord, analysis: &Analysis) -> Result<ErrorSeen, Failure> {
        let given = match (&command.error_message, &command.error_file) {
            (Some(message), _) => Some(message.clone()),
            (None, Some(path)) => {
                let problem = |error| Failure::Usage(format!("--error-file {}: {error}", path.display()));
                Some(head_of(path, ERROR_BYTES_MAX).map_err(problem)?)
            }
            (None, None) => None,
        };
        if let Some(message) = given.filter(|message| !message.trim().is_empty()) {
            return Ok(ErrorSeen::new("", &message));
        }
        let named = analysis.output_file.as_ref().map(|path| self.here.join(path));
        let output = named.filter(|path| path.is_file()).or_else(|| newest_output(&self.folder));
        let found = output.and_then(|path| tail_of(&path, ERROR_BYTES_MAX).ok()).and_then(|text| error_of(&text));
        Ok(match found {
            Some(error) => error,
            None => self.untold_error()?,
        })
    }

    /// Nobody says which error it was: it cannot be told from the one before, and counts as the same.
    fn untold_error(&self) -> Result<ErrorSeen, Failure> {
        let mut error = ErrorSeen::new("", "");
        let known = self.workplace.engine.known_course(&self.place.name);
        if let Some(mark) = known.unwrap_or_default().and_then(|course| course.error) {
            error.mark = mark;
        }
        error.shown = "an error that no output tells of".to_owned();
        Ok(error)
    }

    fn status(&self) -> Result<ExitCode, Failure> {
        self.taken_in()?;
        let course = self.current()?;
        self.workplace.answer(&self.view(course.as_ref()), text::ralph_status)?;
        Ok(exit_code::FINE)
    }

    fn reset(&self, reason: Option<&str>) -> Result<ExitCode, Failure> {
        let reason = reason.filter(|reason| !reason.trim().is_empty()).unwrap_or(MANUAL_RESET);
        let operator = outside_agents("ralph reset", Some(reason))?;
        if self.taken_in()?.is_none() {
            self.happen(begin())?;
        }
        let who = operator.who.clone();
        let committed = self.happen(Happening::Decide { choice: Choice::Reset, operator })?;
        let course = self.workplace.engine.known_course(&self.place.name)?;
        let mut view = self.view(course.as_ref());
        view.audit = Some(audit(&committed, who, Some(reason)));
        self.workplace.answer(&view, text::ralph_reset)?;
        Ok(exit_code::FINE)
    }

    fn halt(&self) -> Result<ExitCode, Failure> {
        let course = match self.taken_in().and_then(|_| self.current()) {
            Ok(course) => course,
            Err(failure) => return Ok(self.go_on(&failure, exit_code::ERROR, exit_code::FINE)),
        };
        let view = self.view(course.as_ref());
        if view.open.is_none() || self.only_observes() {
            self.answer_json(course.as_ref())?;
            return Ok(exit_code::ERROR);
        }
        self.workplace.answer(&view, |view| text::ralph_halt(view, &self.name))?;
        Ok(exit_code::FINE)
    }

    /// The course, after what its file says was taken in.
    fn taken_in(&self) -> Result<Option<Course>, Failure> {
        let course = self.workplace.engine.course(&self.place, Some(self.settings.bounds));
        course.map_err(failure_of)
    }

    /// The course as it is now. A cooldown that is over is written down first, so that the files say so too.
    fn current(&self) -> Result<Option<Course>, Failure> {
        let engine = &self.workplace.engine;
        let course = engine.known_course(&self.place.name)?;
        let is_cooled = |course: &Course| course.trip().is_some_and(|trip| trip.cooled(engine.now()).is_some());
        if course.as_ref().is_some_and(is_cooled) {
            self.happen(Happening::Ask { start: None })?;
            return Ok(engine.known_course(&self.place.name)?);
        }
        Ok(course)
    }

    /// Takes an event, and says on standard error what it changed.
    fn happen(&self, what: Happening) -> Result<Committed, Failure> {
        let session = surroundings::session();
        let bounds = Some(self.settings.bounds);
        let committed = self.workplace.engine.phase(&self.place, bounds, session.as_deref(), what);
        let committed = committed.map_err(failure_of)?;
        for line in transitions(&committed) {
            eprintln!("{line}");
        }
        Ok(committed)
    }

    fn view(&self, course: Option<&Course>) -> RalphView {
        let engine = &self.workplace.engine;
        let nothing = Course::new(engine.now());
        let course = course.unwrap_or(&nothing);
        let mut view = RalphView::new(&self.place.name, course, self.settings.bounds, engine.now());
        if let Some(said) = engine.said_at_reset(&self.place.name, course) {
            view.reason = said;
        }
        view
    }

    /// Verbs that have nothing to say in words still answer a program that asks.
    fn answer_json(&self, course: Option<&Course>) -> Result<(), Failure> {
        if self.workplace.is_json {
            self.workplace.answer(&self.view(course), text::ralph_status)?;
        }
        Ok(())
    }

    /// Whether an open circuit is only told of.
    fn only_observes(&self) -> bool {
        let is_so = self.workplace.engine.config().policy().mode == Mode::Observe;
        if is_so {
            text::warn("mode = \"observe\": the loop goes on");
        }
        is_so
    }

    /// haltline itself failed: the loop goes on, unless the user wants it halted (E7).
    fn go_on(&self, failure: &Failure, goes_on: ExitCode, halts: ExitCode) -> ExitCode {
        text::complain(failure);
        match self.workplace.engine.config().fail() {
            Fail::Open => goes_on,
            Fail::Closed => halts,
        }
    }
}

fn begin() -> Happening {
    Happening::Begin { phase: PhaseName::known(PhaseName::RALPH), joining: Joining::Same, operator: None }
}

fn failure_of(error: EngineError) -> Failure {
    match error {
        EngineError::Store(error) => error.into(),
        EngineError::Rejected(_over) => Failure::Plain("this loop's circuit is closed for good".to_owned()),
    }
}

fn number(name: &str, text: &str) -> Result<u64, Failure> {
    text.trim().parse().map_err(|_| bad(name, text, "a whole number such as 4"))
}

fn flag(name: &str, text: &str) -> Result<bool, Failure> {
    match text.trim() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _other => Err(bad(name, text, "true or false")),
    }
}

fn bad(name: &str, value: &str, expected: impl Display) -> Failure {
    Failure::Usage(format!("{name} {}: expected {expected}; nothing was counted", shorten(value)))
}
