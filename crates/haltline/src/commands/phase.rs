//! `haltline phase` (P1–P7).

use std::fs::File;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::status_block::{PhaseStatus, parse_phase_status};
use haltline_core::phase::{Choice, Joining, Kind, Metrics, PhaseEvent, PhaseName, PhaseRun, Report, ReportedError};
use haltline_core::{CircuitName, Operator};
use haltline_engine::phase_run::PhaseRunLocation;
use haltline_engine::store::Store;

use super::constraint::audit;
use crate::cli::{Decided, Phase, PhaseBegin, PhaseDecide, PhaseReport, PhaseRunSelector};
use crate::context::Context;
use crate::environment::{self, variable};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::view::phase::{PhaseAnswerView, PhaseHistoryView, PhaseRunView};

/// The folder where seed 001 keeps its session.
const SESSION_FOLDER: &str = ".prp-session";
/// Largest status block or error file that is read.
const INPUT_BYTES_MAX: u64 = 1024 * 1024;
/// How many facts are searched for the last error.
const ERROR_FACTS_MAX: usize = 256;

pub fn run(context: &Context, command: Phase) -> Result<ExitCode, Failure> {
    match command {
        Phase::Begin(command) => begin(context, &command),
        Phase::Check { place } => check(context, &place),
        Phase::Report(command) => report(context, &command),
        Phase::Decide(command) => decide(context, &command),
        Phase::Status { place: selector } => {
            let location = self::locate(context, &selector)?;
            let phase_run = load_phase_run(context, &location)?;
            context.print(&view(context, &location.name, &phase_run)?, text::phase_status)?;
            Ok(exit_code::SUCCESS)
        }
        Phase::History { place: selector, limit } => {
            let location = self::locate(context, &selector)?;
            let phase_run = load_phase_run(context, &location)?;
            context.print(&PhaseHistoryView::new(&location.name, &phase_run, limit), text::phase_history)?;
            Ok(exit_code::SUCCESS)
        }
    }
}

/// The session folder for a project's plain events: `PRP_SESSION_DIR`, or the seed's folder.
pub fn session_folder(root: &Path) -> PathBuf {
    variable("PRP_SESSION_DIR").map_or_else(|| root.join(SESSION_FOLDER), PathBuf::from)
}

fn locate(context: &Context, selector: &PhaseRunSelector) -> Result<PhaseRunLocation, Failure> {
    let project = context.engine.project();
    if let Some(run) = &selector.run {
        return Ok(PhaseRunLocation::run(project, run.as_deref()));
    }
    let folder = selector.session_dir.clone().unwrap_or_else(|| session_folder(&project.root));
    Ok(PhaseRunLocation::session(project, &folder))
}

/// Like [`locate`], but rejects `--run`: the runner reports its own progress, and what runs inside it must not count.
fn locate_own(context: &Context, selector: &PhaseRunSelector) -> Result<PhaseRunLocation, Failure> {
    if selector.run.is_some() {
        return Err(Failure::Plain(
            "--run: the runner itself asks and reports; status, history, decide and begin --new-run take it".to_owned(),
        ));
    }
    self::locate(context, selector)
}

fn load_phase_run(context: &Context, location: &PhaseRunLocation) -> Result<PhaseRun, Failure> {
    let phase_run = context.engine.phase_run(location, None).map_err(Failure::for_phase_run)?;
    phase_run.ok_or_else(Failure::no_phase_begun)
}

/// The view of a phase run under the limits in force.
pub fn view(context: &Context, name: &CircuitName, phase_run: &PhaseRun) -> Result<PhaseRunView, Failure> {
    let engine = &context.engine;
    let limits = &engine.config().policy().phase;
    let other = PhaseName::from_static("OTHER");
    let bounds = limits.bounds(phase_run.phase.as_ref().unwrap_or(&other));
    let history = engine.store().history(engine.project().key, name, ERROR_FACTS_MAX)?;
    Ok(PhaseRunView::new(name, phase_run, bounds, limits.weights.enough, &history, engine.now()))
}

fn view_after(context: &Context, location: &PhaseRunLocation) -> Result<Option<PhaseRunView>, Failure> {
    let phase_run = context.engine.stored_phase_run(&location.name)?;
    phase_run.map(|phase_run| view(context, &location.name, &phase_run)).transpose()
}

fn phase_name(text: &str) -> Result<PhaseName, Failure> {
    PhaseName::parse(text).map_err(|error| Failure::Plain(error.to_string()))
}

fn begin(context: &Context, command: &PhaseBegin) -> Result<ExitCode, Failure> {
    let location =
        if command.is_new_run { locate(context, &command.place)? } else { locate_own(context, &command.place)? };
    let phase = phase_name(&command.phase)?;
    let operator = command
        .is_new_run
        .then(|| confirm("phase begin --new-run", command.reason.as_deref(), Proof::Presence, context.engine.config()))
        .transpose()?;
    let joining = if command.is_new_run { Joining::New } else { Joining::Same };
    let event = PhaseEvent::Begin { phase, joining, operator };
    commit_and_print(context, &location, "begin", event)
}

fn check(context: &Context, selector: &PhaseRunSelector) -> Result<ExitCode, Failure> {
    let location = locate_own(context, selector)?;
    // Where no phase has begun there is nothing to record.
    if context.engine.phase_run(&location, None).map_err(Failure::for_phase_run)?.is_none() {
        let view = PhaseAnswerView::nothing("check");
        context.print(&view, text::phase_answer)?;
        return Ok(exit_code::SUCCESS);
    }
    commit_and_print(context, &location, "check", PhaseEvent::Ask { start: None })
}

fn commit_and_print(
    context: &Context,
    location: &PhaseRunLocation,
    verb: &'static str,
    event: PhaseEvent,
) -> Result<ExitCode, Failure> {
    let session = environment::session();
    let committed = context.engine.phase(location, None, session.as_deref(), event).map_err(Failure::for_phase_run)?;
    let view = PhaseAnswerView::new(verb, &committed, view_after(context, location)?);
    for line in &view.log {
        text::note(line);
    }
    context.print(&view, text::phase_answer)?;
    Ok(if committed.decision.verdict.denies() { exit_code::denied() } else { exit_code::SUCCESS })
}

fn report(context: &Context, command: &PhaseReport) -> Result<ExitCode, Failure> {
    let location = locate_own(context, &command.place)?;
    let current = context
        .engine
        .phase_run(&location, None)
        .map_err(Failure::for_phase_run)?
        .and_then(|phase_run| phase_run.phase);
    let report = if command.has_content() {
        report_from_arguments(command)?
    } else {
        report_from_input(command, current.as_ref())?
    };
    let session = environment::session();
    let event = PhaseEvent::Report(Box::new(report));
    let committed = context.engine.phase(&location, None, session.as_deref(), event).map_err(Failure::for_phase_run)?;
    let view = PhaseAnswerView::new("report", &committed, view_after(context, &location)?);
    for line in &view.log {
        text::note(line);
    }
    let now = context.engine.now().at;
    context.print(&view, |view| text::phase_report(view, now))?;
    Ok(exit_code::SUCCESS)
}

fn report_from_arguments(command: &PhaseReport) -> Result<Report, Failure> {
    let mut metrics = Metrics::default();
    for metric in &command.metrics {
        let Some((name, value)) = metric.split_once('=') else {
            return Err(Failure::Plain(format!("--metric {metric:?}: expected NAME=NUMBER, such as tests_passing=3")));
        };
        metrics.set(name, value).map_err(|error| Failure::Plain(error.to_string()))?;
    }
    let message = match (&command.error_message, &command.error_file) {
        (Some(message), _) => Some(message.clone()),
        (None, Some(path)) => Some(read_error_file(path)?),
        (None, None) => None,
    };
    let error = match (&command.error_type, message) {
        (None, None) => None,
        (kind, message) => {
            Some(ReportedError::new(kind.as_deref().unwrap_or_default(), message.as_deref().unwrap_or_default()))
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

fn read_error_file(path: &Path) -> Result<String, Failure> {
    let problem = |error: std::io::Error| Failure::Plain(format!("--error-file {}: {error}", path.display()));
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(INPUT_BYTES_MAX).read_to_end(&mut bytes)).map_err(problem)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const NOTHING_TO_REPORT: &str =
    "nothing to report: give --metric, --error-message or --neutral, or a PRP_PHASE_STATUS block on standard input";

fn report_from_input(command: &PhaseReport, current: Option<&PhaseName>) -> Result<Report, Failure> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Err(Failure::Plain(NOTHING_TO_REPORT.to_owned()));
    }
    let mut bytes = Vec::new();
    input.lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    let block = String::from_utf8_lossy(&bytes);
    if block.trim().is_empty() {
        return Err(Failure::Plain(NOTHING_TO_REPORT.to_owned()));
    }
    let status = parse_phase_status(&block).map_err(|error| Failure::Plain(error.to_string()))?;
    let named = command.phase.as_deref().or(status.phase.as_deref());
    let phase = named.map(phase_name).transpose()?;
    let kind = phase.as_ref().or(current).map_or(Kind::Other, PhaseName::kind);
    let metrics = metrics_of(&status, kind).map_err(|error| Failure::Plain(error.to_string()))?;
    Ok(Report { phase, metrics, ..Report::default() })
}

/// The numbers of a status block under the names by which progress is measured.
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
    // The block has no number for RED and DOCUMENT: their products are tests and files.
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

fn decide(context: &Context, command: &PhaseDecide) -> Result<ExitCode, Failure> {
    let location = locate(context, &command.place)?;
    let phase_run = load_phase_run(context, &location)?;
    let (choice, guidance) = match command.choice {
        Some(choice) => (choice, command.guidance.clone()),
        None => ask(&view(context, &location.name, &phase_run)?)?,
    };
    let verb = format!("phase decide {}", choice.as_str());
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
    let operator = confirm(&verb, command.reason.as_deref(), Proof::Presence, context.engine.config())?;
    let who = operator.clone();
    let event = PhaseEvent::Decide { choice, operator };
    let committed = context.engine.phase(&location, None, None, event).map_err(Failure::for_phase_run)?;
    let mut view = PhaseAnswerView::new("decide", &committed, view_after(context, &location)?);
    let Operator { who, reason } = who;
    view.audit = Some(audit(&committed, who, reason.as_deref()));
    for line in &view.log {
        text::note(line);
    }
    context.print(&view, text::phase_answer)?;
    Ok(exit_code::SUCCESS)
}

/// Shows the OPEN block at the terminal and reads the choice there (P6).
fn ask(phase_run: &PhaseRunView) -> Result<(Decided, Option<String>), Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let hint =
            "expected reset, skip, abort or modify: `haltline phase decide reset`; without one it asks at a terminal";
        return Err(Failure::Plain(format!("no choice: {hint}")));
    }
    let block = text::open_block(phase_run);
    let prompt = block.split("Enter choice:").next().unwrap_or(&block);
    eprint!("{}Enter choice: ", text::escape_lines(prompt));
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
