//! `haltline phase` (P1–P7).

pub mod choice;

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::status_block::{PhaseStatus, parse_phase_status};
use haltline_core::CircuitName;
use haltline_core::phase::{Choice, Joining, Kind, Metrics, PhaseEvent, PhaseName, PhaseRun, Report, ReportedError};
use haltline_engine::phase_run::PhaseRunLocation;
use haltline_engine::store::{Committed, Store};

use crate::cli::{Decided, Phase, PhaseBegin, PhaseDecide, PhaseReport, PhaseRunSelector};
use crate::context::Context;
use crate::environment::{self, variable};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text::{self, BlockForm};
use crate::view::phase::{PhaseAnswerView, PhaseHistoryView, PhaseRunView, PhaseVerb};

/// The folder where seed 001 keeps its session.
const SESSION_FOLDER: &str = ".prp-session";
/// Largest status block or error file that is read.
const INPUT_BYTES_MAX: u64 = 1024 * 1024;
/// How many facts are searched for the last error.
const ERROR_FACTS_MAX: usize = 256;

pub fn run(context: &Context, command: Phase) -> Result<ExitCode, Failure> {
    match command {
        Phase::Begin(command) => begin(context, &command),
        Phase::Check(selector) => check(context, &selector),
        Phase::Report(command) => report(context, &command),
        Phase::Decide(command) => decide(context, &command),
        Phase::Status(selector) => {
            let location = self::locate(context, &selector)?;
            let Some(phase_run) = find_phase_run(context, &location)? else { return nothing_begun(context) };
            context.print(&view(context, &location.name, &phase_run)?, text::phase_status)
        }
        Phase::History { place: selector, limit } => {
            let location = self::locate(context, &selector)?;
            let Some(phase_run) = find_phase_run(context, &location)? else { return nothing_begun(context) };
            context.print(&PhaseHistoryView::new(&location.name, &phase_run, limit), text::phase_history)
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
            "--run: only status, history, decide and begin --new-run accept it; the runner itself checks and reports"
                .to_owned(),
        ));
    }
    self::locate(context, selector)
}

fn load_phase_run(context: &Context, location: &PhaseRunLocation) -> Result<PhaseRun, Failure> {
    find_phase_run(context, location)?.ok_or_else(Failure::no_phase_begun)
}

fn find_phase_run(context: &Context, location: &PhaseRunLocation) -> Result<Option<PhaseRun>, Failure> {
    context.engine.phase_run(location, None).map_err(Failure::for_phase_run)
}

fn nothing_begun(context: &Context) -> Result<ExitCode, Failure> {
    context.print_nothing("No phase has begun here. Begin one with `haltline phase begin PHASE`.")
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

fn phase_name(text: &str) -> Result<PhaseName, Failure> {
    PhaseName::parse(text).map_err(Failure::plain)
}

fn begin(context: &Context, command: &PhaseBegin) -> Result<ExitCode, Failure> {
    let location =
        if command.is_new_run { locate(context, &command.place)? } else { locate_own(context, &command.place)? };
    let phase = phase_name(&command.phase)?;
    let operator =
        command.is_new_run.then(|| context.confirm("phase begin --new-run", command.reason.as_deref())).transpose()?;
    let joining = if command.is_new_run { Joining::New } else { Joining::Same };
    let event = PhaseEvent::Begin { phase, joining, operator };
    let folder = context.engine.project().root.join(SESSION_FOLDER);
    let is_new = !folder.exists();
    let code = commit_and_print(context, &location, PhaseVerb::Begin, event)?;
    if is_new && folder.exists() && choice::can_ask(context) {
        text::note("note: `haltline init --git-exclude` keeps .prp-session/ out of `git status`");
    }
    Ok(code)
}

fn check(context: &Context, selector: &PhaseRunSelector) -> Result<ExitCode, Failure> {
    let location = locate_own(context, selector)?;
    // Where no phase has begun there is nothing to record.
    if context.engine.phase_run(&location, None).map_err(Failure::for_phase_run)?.is_none() {
        let view = PhaseAnswerView::nothing(PhaseVerb::Check);
        return context.print(&view, |view| text::phase_answer(view, block_form()));
    }
    // A person who looks at the screen must not use up what is meant for the agent.
    let event = if choice::can_ask(context) { PhaseEvent::Look } else { PhaseEvent::Ask { start: None } };
    commit_and_print(context, &location, PhaseVerb::Check, event)
}

fn commit_and_print(
    context: &Context,
    location: &PhaseRunLocation,
    verb: PhaseVerb,
    event: PhaseEvent,
) -> Result<ExitCode, Failure> {
    let committed = commit(context, location, environment::session().as_deref(), event)?;
    let view = answer(context, location, verb, &committed)?;
    context.print(&view, |view| text::phase_answer(view, block_form()))?;
    let is_denied = committed.decision.verdict.denies();
    let decided = if is_denied { offer_choice(context, location, view.phase_run.as_ref())? } else { None };
    Ok(exit_code::unless_denied(decided.map_or(is_denied, |may_go_on| !may_go_on)))
}

fn commit(
    context: &Context,
    location: &PhaseRunLocation,
    session: Option<&str>,
    event: PhaseEvent,
) -> Result<Committed, Failure> {
    context.engine.phase(location, None, session, event).map_err(Failure::for_phase_run)
}

/// The view of a committed event. Prints the seed's log lines to standard error.
fn answer(
    context: &Context,
    location: &PhaseRunLocation,
    verb: PhaseVerb,
    committed: &Committed,
) -> Result<PhaseAnswerView, Failure> {
    let phase_run = context.engine.stored_phase_run(&location.name)?;
    let phase_run = phase_run.map(|phase_run| view(context, &location.name, &phase_run)).transpose()?;
    let view = PhaseAnswerView::new(verb, committed, phase_run);
    view.log.iter().for_each(|line| text::note(line));
    Ok(view)
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
    let event = PhaseEvent::Report(Box::new(report));
    let committed = commit(context, &location, environment::session().as_deref(), event)?;
    let view = answer(context, &location, PhaseVerb::Report, &committed)?;
    let now = context.engine.now().at;
    context.print(&view, |view| text::phase_report(view, now, block_form()))?;
    offer_choice(context, &location, view.phase_run.as_ref())?;
    Ok(exit_code::SUCCESS)
}

fn report_from_arguments(command: &PhaseReport) -> Result<Report, Failure> {
    let mut metrics = Metrics::default();
    for metric in &command.metrics {
        let Some((name, value)) = metric.split_once('=') else {
            return Err(Failure::Plain(format!("--metric {metric:?}: expected NAME=NUMBER, such as tests_passing=3")));
        };
        metrics.set(name, value).map_err(Failure::plain)?;
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
            "--neutral \"\": expected the reason why haltline must not judge the iteration".to_owned(),
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
    let status = parse_phase_status(&block).map_err(Failure::plain)?;
    let named = command.phase.as_deref().or(status.phase.as_deref());
    let phase = named.map(phase_name).transpose()?;
    let kind = phase.as_ref().or(current).map_or(Kind::Other, PhaseName::kind);
    let metrics = metrics_of(&status, kind).map_err(Failure::plain)?;
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
        Some(choice) => (choice, command.hint.clone()),
        None => choice::ask_for_decision(&view(context, &location.name, &phase_run)?)?,
    };
    carry_out(context, &location, choice, guidance, command.reason.as_deref())?;
    Ok(exit_code::SUCCESS)
}

/// Carries out what a person decided, and prints the result.
fn carry_out(
    context: &Context,
    location: &PhaseRunLocation,
    decided: Decided,
    guidance: Option<String>,
    reason: Option<&str>,
) -> Result<(), Failure> {
    let choice = choice::to_choice(decided, guidance)?;
    decide_at(context, location, &format!("phase decide {}", decided.as_str()), choice, reason)
}

fn decide_at(
    context: &Context,
    location: &PhaseRunLocation,
    verb: &str,
    choice: Choice,
    reason: Option<&str>,
) -> Result<(), Failure> {
    let (committed, audit) = context
        .operate(verb, reason, |operator| commit(context, location, None, PhaseEvent::Decide { choice, operator }))?;
    let mut view = answer(context, location, PhaseVerb::Decide, &committed)?;
    view.audit = Some(audit);
    context.print(&view, |view| text::phase_answer(view, block_form())).map(drop)
}

/// Lets the phase run in this row go on: with guidance if there is a hint, else with its counts at zero.
pub fn resume(
    context: &Context,
    row: &CircuitName,
    verb: &str,
    hint: Option<&str>,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let project = context.engine.project();
    let (kind, scope) = row.scope().split_once('/').unwrap_or_default();
    // The last part of a row in a linked work tree names that tree.
    let scope = scope.rsplit_once('@').map_or(scope, |(scope, _worktree)| scope);
    let folder = project.root.join(scope.replace("%2F", "/").replace("%7E", "~").replace("%25", "%"));
    let location = match kind {
        "run" => PhaseRunLocation::run(project, Some(scope)),
        "ralph" => PhaseRunLocation::ralph(project, &folder),
        _session => PhaseRunLocation::session(project, &folder),
    };
    if location.name != *row {
        return Err(Failure::Plain(format!("{row} belongs to another work tree: run this there, or with -C FOLDER")));
    }
    let choice = match hint {
        Some(hint) => Choice::Modify { guidance: hint.to_owned() },
        None => Choice::Reset,
    };
    decide_at(context, &location, verb, choice, reason)?;
    Ok(exit_code::SUCCESS)
}

/// Programs get the seed's block as it is; a person gets one without a prompt that nothing reads.
fn block_form() -> BlockForm {
    if std::io::stdout().is_terminal() { BlockForm::Screen } else { BlockForm::Seed }
}

/// Asks the person at the terminal about an OPEN circuit and carries out the choice. Returns whether work may go on, or
/// `None` if nobody was asked or the person decides later.
fn offer_choice(
    context: &Context,
    location: &PhaseRunLocation,
    phase_run: Option<&PhaseRunView>,
) -> Result<Option<bool>, Failure> {
    let Some(phase_run) = phase_run.filter(|phase_run| phase_run.is_open() && choice::can_ask(context)) else {
        return Ok(None);
    };
    let Some((decided, guidance)) = choice::ask(phase_run)? else { return Ok(None) };
    carry_out(context, location, decided, guidance, None)?;
    Ok(Some(decided != Decided::Abort))
}
