//! `haltline phase` (P1–P7).

use std::fs::File;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::status_block::{PhaseStatus, parse_phase_status};
use haltline_core::phase::{Choice, Course, ErrorSeen, Happening, Joining, Kind, Metrics, PhaseName, Report};
use haltline_core::{CircuitName, Operator};
use haltline_engine::course::CoursePlace;
use haltline_engine::store::Store;

use super::constraint::audit;
use crate::cli::{Phase, PhaseBegin, PhaseDecide, PhasePlace, PhaseReport};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::surroundings::{self, variable};
use crate::view::phase::{CourseView, PhaseAnswerView, PhaseHistoryView};
use crate::workplace::Workplace;

/// Where seed 001 keeps its session.
const SESSION_FOLDER: &str = ".prp-session";
/// The largest block or error file that is read.
const INPUT_BYTES_MAX: u64 = 1024 * 1024;
/// How many facts are looked at for the last error.
const ERROR_FACTS_MAX: usize = 256;

/// Runs a phase command.
pub fn run(workplace: &Workplace, command: Phase) -> Result<ExitCode, Failure> {
    match command {
        Phase::Begin(command) => begin(workplace, &command),
        Phase::Check { place } => check(workplace, &place),
        Phase::Report(command) => report(workplace, &command),
        Phase::Decide(command) => decide(workplace, &command),
        Phase::Status { place } => {
            let place = self::place(workplace, &place)?;
            let course = known(workplace, &place)?;
            workplace.answer(&view(workplace, &place.name, &course)?, text::phase_status)?;
            Ok(exit_code::FINE)
        }
        Phase::History { place, limit } => {
            let place = self::place(workplace, &place)?;
            let course = known(workplace, &place)?;
            workplace.answer(&PhaseHistoryView::new(&place.name, &course, limit), text::phase_history)?;
            Ok(exit_code::FINE)
        }
    }
}

/// The session folder of the plain events of a project: `PRP_SESSION_DIR`, or the seed's.
pub fn session_folder(root: &Path) -> PathBuf {
    variable("PRP_SESSION_DIR").map_or_else(|| root.join(SESSION_FOLDER), PathBuf::from)
}

fn place(workplace: &Workplace, place: &PhasePlace) -> Result<CoursePlace, Failure> {
    let project = workplace.engine.project();
    if let Some(run) = &place.run {
        return Ok(CoursePlace::run(project, run.as_deref()));
    }
    let folder = place.session_dir.clone().unwrap_or_else(|| session_folder(&project.root));
    Ok(CoursePlace::session(project, &folder))
}

/// A run reports of itself: what is in it must not count for it.
fn own_place(workplace: &Workplace, place: &PhasePlace) -> Result<CoursePlace, Failure> {
    if place.run.is_some() {
        return Err(Failure::Plain(
            "--run: the runner itself asks and reports; status, history, decide and begin --new-run take it".to_owned(),
        ));
    }
    self::place(workplace, place)
}

fn known(workplace: &Workplace, place: &CoursePlace) -> Result<Course, Failure> {
    let course = workplace.engine.course(place, None).map_err(Failure::of_course)?;
    course.ok_or_else(|| Failure::Plain(NOTHING_BEGUN.to_owned()))
}

/// What is said where nothing has begun.
pub const NOTHING_BEGUN: &str = "no phase has begun here; `haltline phase begin PHASE` does";

/// The view of a course under the limits in force.
pub fn view(workplace: &Workplace, name: &CircuitName, course: &Course) -> Result<CourseView, Failure> {
    let engine = &workplace.engine;
    let limits = &engine.config().policy().phase;
    let other = PhaseName::known("OTHER");
    let bounds = limits.bounds(course.phase.as_ref().unwrap_or(&other));
    let history = engine.store().history(engine.project().key, name, ERROR_FACTS_MAX)?;
    Ok(CourseView::new(name, course, bounds, limits.weights.enough, &history, engine.now()))
}

fn after(workplace: &Workplace, place: &CoursePlace) -> Result<Option<CourseView>, Failure> {
    let course = workplace.engine.known_course(&place.name)?;
    course.map(|course| view(workplace, &place.name, &course)).transpose()
}

fn phase_name(text: &str) -> Result<PhaseName, Failure> {
    PhaseName::parse(text).map_err(|error| Failure::Plain(error.to_string()))
}

fn begin(workplace: &Workplace, command: &PhaseBegin) -> Result<ExitCode, Failure> {
    let place =
        if command.is_new_run { place(workplace, &command.place)? } else { own_place(workplace, &command.place)? };
    let phase = phase_name(&command.phase)?;
    let operator = command
        .is_new_run
        .then(|| {
            confirm("phase begin --new-run", command.reason.as_deref(), Proof::Presence, workplace.engine.config())
        })
        .transpose()?;
    let joining = if command.is_new_run { Joining::New } else { Joining::Same };
    let what = Happening::Begin { phase, joining, operator };
    tell(workplace, &place, "begin", what)
}

fn check(workplace: &Workplace, place: &PhasePlace) -> Result<ExitCode, Failure> {
    let place = own_place(workplace, place)?;
    // Where nothing has begun there is nothing to write down.
    if workplace.engine.course(&place, None).map_err(Failure::of_course)?.is_none() {
        let view = PhaseAnswerView::nothing("check");
        workplace.answer(&view, text::phase_answer)?;
        return Ok(exit_code::FINE);
    }
    tell(workplace, &place, "check", Happening::Ask { start: None })
}

fn tell(workplace: &Workplace, place: &CoursePlace, verb: &'static str, what: Happening) -> Result<ExitCode, Failure> {
    let session = surroundings::session();
    let committed = workplace.engine.phase(place, None, session.as_deref(), what).map_err(Failure::of_course)?;
    let view = PhaseAnswerView::new(verb, &committed, after(workplace, place)?);
    for line in &view.log {
        eprintln!("{line}");
    }
    workplace.answer(&view, text::phase_answer)?;
    Ok(if committed.decision.verdict.refuses() { exit_code::refused() } else { exit_code::FINE })
}

fn report(workplace: &Workplace, command: &PhaseReport) -> Result<ExitCode, Failure> {
    let place = own_place(workplace, &command.place)?;
    let current = workplace.engine.course(&place, None).map_err(Failure::of_course)?.and_then(|course| course.phase);
    let report = if command.says_something() { of_arguments(command)? } else { of_input(command, current.as_ref())? };
    let session = surroundings::session();
    let what = Happening::Report(Box::new(report));
    let committed = workplace.engine.phase(&place, None, session.as_deref(), what).map_err(Failure::of_course)?;
    let view = PhaseAnswerView::new("report", &committed, after(workplace, &place)?);
    for line in &view.log {
        eprintln!("{line}");
    }
    let now = workplace.engine.now().at;
    workplace.answer(&view, |view| text::phase_report(view, now))?;
    Ok(exit_code::FINE)
}

fn of_arguments(command: &PhaseReport) -> Result<Report, Failure> {
    let mut metrics = Metrics::default();
    for metric in &command.metrics {
        let Some((name, value)) = metric.split_once('=') else {
            return Err(Failure::Plain(format!("--metric {metric:?}: expected NAME=NUMBER, such as tests_passing=3")));
        };
        metrics.set(name, value).map_err(|error| Failure::Plain(error.to_string()))?;
    }
    let message = match (&command.error_message, &command.error_file) {
        (Some(message), _) => Some(message.clone()),
        (None, Some(path)) => Some(read_file(path)?),
        (None, None) => None,
    };
    let error = match (&command.error_type, message) {
        (None, None) => None,
        (kind, message) => {
            Some(ErrorSeen::new(kind.as_deref().unwrap_or_default(), message.as_deref().unwrap_or_default()))
        }
    };
    if command.neutral.as_deref().is_some_and(|reason| reason.trim().is_empty()) {
        return Err(Failure::Plain(
            "--neutral \"\": expected why the iteration says nothing about progress".to_owned(),
        ));
    }
    let phase = command.phase.as_deref().map(phase_name).transpose()?;
    Ok(Report { phase, metrics, error, neutral: command.neutral.clone(), ..Report::default() })
}

fn read_file(path: &Path) -> Result<String, Failure> {
    let problem = |error: std::io::Error| Failure::Plain(format!("--error-file {}: {error}", path.display()));
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(INPUT_BYTES_MAX).read_to_end(&mut bytes)).map_err(problem)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const NOTHING_SAID: &str =
    "nothing to report: give --metric, --error-message or --neutral, or a PRP_PHASE_STATUS block on standard input";

fn of_input(command: &PhaseReport, current: Option<&PhaseName>) -> Result<Report, Failure> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Err(Failure::Plain(NOTHING_SAID.to_owned()));
    }
    let mut bytes = Vec::new();
    input.lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    let block = String::from_utf8_lossy(&bytes);
    if block.trim().is_empty() {
        return Err(Failure::Plain(NOTHING_SAID.to_owned()));
    }
    let status = parse_phase_status(&block).map_err(|error| Failure::Plain(error.to_string()))?;
    let named = command.phase.as_deref().or(status.phase.as_deref());
    let phase = named.map(phase_name).transpose()?;
    let kind = phase.as_ref().or(current).map_or(Kind::Other, PhaseName::kind);
    let metrics = metrics_of(&status, kind).map_err(|error| Failure::Plain(error.to_string()))?;
    Ok(Report { phase, metrics, ..Report::default() })
}

/// The numbers of a block under the names progress is measured by.
fn metrics_of(status: &PhaseStatus, kind: Kind) -> Result<Metrics, haltline_core::phase::MetricError> {
    let mut metrics = Metrics::default();
    for (name, value) in &status.metrics {
        metrics.set(name, &value.to_string())?;
    }
    let (tests, files) = (&status.tests, &status.files);
    let mut listed = vec![
        ("tests_total", tests.total),
        ("tests_passing", tests.passing),
        ("tests_failing", tests.failing),
        ("tests_skipped", tests.skipped),
    ];
    // RED and DOCUMENT have no number of their own in the block: what they make are tests and files.
    match kind {
        Kind::Red => listed.push(("tests_generated", tests.total)),
        Kind::Document => listed.push(("docs_generated", files.created)),
        Kind::Green | Kind::Refactor | Kind::Qa | Kind::Loop | Kind::Other => {}
    }
    for (name, value) in listed {
        if let Some(value) = value
            && metrics.get(name).is_none()
        {
            metrics.set(name, &value.to_string())?;
        }
    }
    Ok(metrics)
}

fn decide(workplace: &Workplace, command: &PhaseDecide) -> Result<ExitCode, Failure> {
    let place = place(workplace, &command.place)?;
    let course = known(workplace, &place)?;
    let (choice, guidance) = match command.choice {
        Some(choice) => (choice, command.guidance.clone()),
        None => ask(&view(workplace, &place.name, &course)?)?,
    };
    let verb = format!("phase decide {}", choice.word());
    let choice = match choice {
        Decided::Reset => Choice::Reset,
        Decided::Skip => Choice::Skip,
        Decided::Abort => Choice::Abort,
        Decided::Modify => {
            let guidance = guidance.filter(|guidance| !guidance.trim().is_empty());
            let missing = || Failure::Plain("--guidance TEXT is missing: what should be done differently?".to_owned());
            Choice::Modify { guidance: guidance.ok_or_else(missing)? }
        }
    };
    let operator = confirm(&verb, command.reason.as_deref(), Proof::Presence, workplace.engine.config())?;
    let who = operator.clone();
    let what = Happening::Decide { choice, operator };
    let committed = workplace.engine.phase(&place, None, None, what).map_err(Failure::of_course)?;
    let mut view = PhaseAnswerView::new("decide", &committed, after(workplace, &place)?);
    let Operator { who, reason } = who;
    view.audit = Some(audit(&committed, who, reason.as_deref()));
    for line in &view.log {
        eprintln!("{line}");
    }
    workplace.answer(&view, text::phase_answer)?;
    Ok(exit_code::FINE)
}

/// What a person chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Decided {
    /// Close, and count anew
    Reset,
    /// Leave the phase with its failures known
    Skip,
    /// End the run for good
    Abort,
    /// Close, and hand out guidance at the next check
    Modify,
}

impl Decided {
    fn word(self) -> &'static str {
        match self {
            Decided::Reset => "reset",
            Decided::Skip => "skip",
            Decided::Abort => "abort",
            Decided::Modify => "modify",
        }
    }
}

/// Shows the block at the terminal and reads the choice there (P6).
fn ask(course: &CourseView) -> Result<(Decided, Option<String>), Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let hint =
            "expected reset, skip, abort or modify: `haltline phase decide reset`; without one it asks at a terminal";
        return Err(Failure::Plain(format!("no choice: {hint}")));
    }
    let block = text::open_block(course);
    let prompt = block.split("Enter choice:").next().unwrap_or(&block);
    eprint!("{prompt}Enter choice: ");
    std::io::stderr().flush()?;
    let mut lines = input.lock().lines();
    let mut line = || lines.next().transpose().map(Option::unwrap_or_default);
    let choice = line()?;
    let choice = match choice.trim().to_ascii_lowercase().as_str() {
        "r" | "1" | "reset" => Decided::Reset,
        "s" | "2" | "skip" => Decided::Skip,
        "a" | "3" | "abort" => Decided::Abort,
        "m" | "4" | "modify" => Decided::Modify,
        other => {
            let shown = haltline_core::shorten(other);
            return Err(Failure::Plain(format!("choice {shown}: expected R, S, A or M; nothing was changed")));
        }
    };
    let guidance = match choice {
        Decided::Modify => {
            eprint!("Guidance: ");
            std::io::stderr().flush()?;
            Some(line()?)
        }
        Decided::Reset | Decided::Skip | Decided::Abort => None,
    };
    Ok((choice, guidance))
}
