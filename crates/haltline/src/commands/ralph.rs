//! `haltline ralph`: the circuit breaker of a Ralph loop, with Ralph's own files, variables and exit codes (P8).
//!
//! `record` exits with 1 if the circuit is open, `halt` exits with 1 if the loop may go on. No other problem may look
//! like either: bad input exits with 2, and a failing store prints a warning and does not halt the loop unless the user
//! set `fail = "closed"` (E7).

mod files;
mod settings;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::ralph::{Analysis, find_error};
use haltline_core::phase::{Choice, Joining, PhaseEvent, PhaseName, PhaseRun, Report, ReportedError, Signal, Source};
use haltline_core::{Mode, Verdict, shorten};
use haltline_engine::EngineError;
use haltline_engine::clock::Clock;
use haltline_engine::config::FailMode;
use haltline_engine::phase_run::PhaseRunLocation;
use haltline_engine::store::Committed;

use self::files::{analysis_of, head_of, newest_output, tail_of};
use self::settings::Settings;
use crate::cli::{Ralph, RalphRecord};
use crate::context::Context;
use crate::environment::{self, variable};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{detect_agent, reject_agent};
use crate::view::AuditView;
use crate::view::ralph::{RalphView, transitions};

/// Where Ralph keeps its files.
const FOLDER: &str = ".ralph";
/// Largest error file, and how much of the end of an output is searched for an error.
const ERROR_BYTES_MAX: u64 = 1024 * 1024;
/// Ralph's reason for a reset without one.
const MANUAL_RESET: &str = "Manual reset";

pub fn run(command: &Ralph, folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let context = Context::open(folder, is_json, clock).map_err(|failure| Failure::Usage(failure.to_string()))?;
    context.print_config_errors();
    let here = folder.unwrap_or(Path::new("."));
    let name = variable("RALPH_DIR").unwrap_or_else(|| FOLDER.to_owned());
    let folder = here.join(&name);
    let location = PhaseRunLocation::ralph(context.engine.project(), &folder);
    let bridge = RalphBridge { context: &context, here, name, folder, location, settings: Settings::read(here) };
    let result = match command {
        Ralph::Init => bridge.init(),
        Ralph::Record(command) => bridge.record(command),
        Ralph::Status => bridge.status(),
        Ralph::Reset { reason } => bridge.reset(reason.as_deref()),
        Ralph::Halt => bridge.halt(),
    };
    context.print_notices();
    result
}

/// One loop's folder and its circuit.
struct RalphBridge<'a> {
    context: &'a Context,
    /// The folder the loop runs in.
    here: &'a Path,
    /// Ralph's folder as the user wrote it.
    name: String,
    folder: PathBuf,
    location: PhaseRunLocation,
    settings: Settings,
}

impl RalphBridge<'_> {
    fn init(&self) -> Result<ExitCode, Failure> {
        let phase_run = self.load_synced()?;
        match phase_run {
            None => drop(self.commit(begin())?),
            Some(phase_run) if self.settings.auto_reset && phase_run.trip().is_some() => match detect_agent() {
                Some(agent) => text::warn(&format!(
                    "CB_AUTO_RESET is for people, and haltline denies it inside an agent ({agent}); the circuit stays as it is"
                )),
                None => drop(self.commit(PhaseEvent::AutoReset)?),
            },
            Some(_) => {}
        }
        let phase_run = self.current()?;
        self.answer_json(phase_run.as_ref())?;
        Ok(exit_code::SUCCESS)
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
            phase: Some(PhaseName::from_static(PhaseName::RALPH)),
            iteration: Some(loop_number),
            signals: vec![Signal { source: Source::Caller, count: signs }],
            error,
            neutral: analysis.asks_question.then(|| "asked a question".to_owned()),
            permission_denied: analysis.is_permission_denied,
            ..Report::default()
        };
        let committed = match self.commit(PhaseEvent::Report(Box::new(report))) {
            Ok(committed) => committed,
            Err(failure) => return Ok(self.exit_code_after_failure(&failure, exit_code::SUCCESS, exit_code::ERROR)),
        };
        self.answer_json(self.context.engine.stored_phase_run(&self.location.name)?.as_ref())?;
        let is_open = matches!(committed.decision.verdict, Verdict::Stop(_));
        Ok(if is_open && !self.only_observes() { exit_code::ERROR } else { exit_code::SUCCESS })
    }

    /// The error of a loop: the given one, or else the one in the agent's output.
    fn error(&self, command: &RalphRecord, analysis: &Analysis) -> Result<ReportedError, Failure> {
        let given = match (&command.error_message, &command.error_file) {
            (Some(message), _) => Some(message.clone()),
            (None, Some(path)) => {
                let problem = |error| Failure::Usage(format!("--error-file {}: {error}", path.display()));
                Some(head_of(path, ERROR_BYTES_MAX).map_err(problem)?)
            }
            (None, None) => None,
        };
        if let Some(message) = given.filter(|message| !message.trim().is_empty()) {
            return Ok(ReportedError::new("", &message));
        }
        let named = analysis.output_file.as_ref().map(|path| self.here.join(path));
        let output = named.filter(|path| path.is_file()).or_else(|| newest_output(&self.folder));
        let found = output.and_then(|path| tail_of(&path, ERROR_BYTES_MAX).ok()).and_then(|text| find_error(&text));
        Ok(match found {
            Some(error) => error,
            None => self.unknown_error()?,
        })
    }

    /// An error without any text. It cannot be distinguished from the previous error, so it counts as the same one.
    fn unknown_error(&self) -> Result<ReportedError, Failure> {
        let mut error = ReportedError::new("", "");
        let known = self.context.engine.stored_phase_run(&self.location.name);
        if let Some(error_mark) = known.unwrap_or_default().and_then(|phase_run| phase_run.error) {
            error.fingerprint = error_mark;
        }
        error.shown = "an error that no output describes".to_owned();
        Ok(error)
    }

    fn status(&self) -> Result<ExitCode, Failure> {
        self.load_synced()?;
        let phase_run = self.current()?;
        self.context.print(&self.view(phase_run.as_ref()), text::ralph_status)
    }

    fn reset(&self, reason: Option<&str>) -> Result<ExitCode, Failure> {
        let reason = reason.filter(|reason| !reason.trim().is_empty()).unwrap_or(MANUAL_RESET);
        let operator = reject_agent("ralph reset", Some(reason))?;
        if self.load_synced()?.is_none() {
            self.commit(begin())?;
        }
        let committed = self.commit(PhaseEvent::Decide { choice: Choice::Reset, operator: operator.clone() })?;
        let phase_run = self.context.engine.stored_phase_run(&self.location.name)?;
        let mut view = self.view(phase_run.as_ref());
        view.audit = Some(AuditView::new(&committed, operator));
        self.context.print(&view, text::ralph_reset)
    }

    fn halt(&self) -> Result<ExitCode, Failure> {
        let phase_run = match self.load_synced().and_then(|_| self.current()) {
            Ok(phase_run) => phase_run,
            Err(failure) => return Ok(self.exit_code_after_failure(&failure, exit_code::ERROR, exit_code::SUCCESS)),
        };
        let view = self.view(phase_run.as_ref());
        if view.open.is_none() || self.only_observes() {
            self.answer_json(phase_run.as_ref())?;
            return Ok(exit_code::ERROR);
        }
        self.context.print(&view, |view| text::ralph_halt(view, &self.name))
    }

    /// Loads the phase run after importing changes from its state file.
    fn load_synced(&self) -> Result<Option<PhaseRun>, Failure> {
        let phase_run = self.context.engine.phase_run(&self.location, Some(self.settings.bounds));
        phase_run.map_err(failure_of)
    }

    /// Loads the phase run. If its cooldown has ended, that is committed first, so that Ralph's files say so too.
    fn current(&self) -> Result<Option<PhaseRun>, Failure> {
        let engine = &self.context.engine;
        let phase_run = engine.stored_phase_run(&self.location.name)?;
        let is_cooled =
            |phase_run: &PhaseRun| phase_run.trip().is_some_and(|trip| trip.cooldown_ended_at(engine.now()).is_some());
        if phase_run.as_ref().is_some_and(is_cooled) {
            self.commit(PhaseEvent::Ask { start: None })?;
            return Ok(engine.stored_phase_run(&self.location.name)?);
        }
        Ok(phase_run)
    }

    /// Commits an event and prints its state changes to standard error.
    fn commit(&self, event: PhaseEvent) -> Result<Committed, Failure> {
        let session = environment::session();
        let bounds = Some(self.settings.bounds);
        let committed = self.context.engine.phase(&self.location, bounds, session.as_deref(), event);
        let committed = committed.map_err(failure_of)?;
        for line in transitions(&committed) {
            text::note(&line);
        }
        Ok(committed)
    }

    fn view(&self, phase_run: Option<&PhaseRun>) -> RalphView {
        let engine = &self.context.engine;
        let nothing = PhaseRun::new(engine.now());
        let phase_run = phase_run.unwrap_or(&nothing);
        let mut view = RalphView::new(&self.location.name, phase_run, self.settings.bounds, engine.now());
        if let Some(reason) = engine.reset_reason(&self.location.name, phase_run) {
            view.reason = reason;
        }
        view
    }

    /// Prints JSON for verbs that print no text.
    fn answer_json(&self, phase_run: Option<&PhaseRun>) -> Result<(), Failure> {
        if self.context.is_json {
            self.context.print(&self.view(phase_run), text::ralph_status)?;
        }
        Ok(())
    }

    /// True in observe mode, where an open circuit does not halt the loop; prints a warning then.
    fn only_observes(&self) -> bool {
        let is_observing = self.context.engine.config().policy().mode == Mode::Observe;
        if is_observing {
            text::warn("mode = \"observe\": the loop continues");
        }
        is_observing
    }

    /// The exit code after a failure of haltline itself: the loop goes on unless the user set `fail = "closed"` (E7).
    fn exit_code_after_failure(&self, failure: &Failure, goes_on: ExitCode, halts: ExitCode) -> ExitCode {
        text::print_failure(failure);
        match self.context.engine.config().fail_mode() {
            FailMode::Open => goes_on,
            FailMode::Closed => halts,
        }
    }
}

fn begin() -> PhaseEvent {
    PhaseEvent::Begin { phase: PhaseName::from_static(PhaseName::RALPH), joining: Joining::Same, operator: None }
}

fn failure_of(error: EngineError) -> Failure {
    match error {
        EngineError::Store(error) => error.into(),
        EngineError::Rejected(_over) => Failure::Plain("this loop's circuit stays CLOSED".to_owned()),
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
    Failure::Usage(format!("{name} {}: expected {expected}; haltline counted nothing", shorten(value)))
}
