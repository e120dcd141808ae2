//! `haltline attempt run` and `record`: run a test, classify it by what its runner reports, and count it (A1–A3).

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::test_results::{Classification, Exit, TestClass, TestRun, classify, failed_tests};
use haltline_core::attempt::{self, Attempt, AttemptEvent, Output, Printed, Slice, TestName, TestResult};
use haltline_core::{Fact, Recorded};
use haltline_engine::file::Stamp;
use haltline_engine::redact::mask;
use haltline_engine::slice::SliceLocation;
use haltline_engine::store::Committed;

use super::checkpoints::{SliceCheckpoints, TouchedFiles};
use super::{commit_event, find_slice, load_begun_slice, load_slice, read_input, test_name};
use crate::cli::{AttemptRecord, AttemptRun, DeclaredResult};
use crate::commands::run::folder::run_id;
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::run::{
    CommandExit, EndCause, Inbox, KeepLimits, Limits, Listener, OutputStream, RunControl, StartError,
    SupervisedCommand, Terminal, supervise,
};
use crate::view::attempt::{AttemptAnswerView, AttemptVerb, slice_id};

/// How much of a run's output is classified, counted from its end.
const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// Largest JUnit file that is read.
const JUNIT_BYTES_MAX: usize = 16 << 20;
/// The exit code for a command that could not be started, as shells use it.
const NOT_STARTED: u8 = 127;
/// How long a test command may clean up after its timeout.
const GRACE: Duration = Duration::from_secs(5);

/// Output of a test command: both streams in order of arrival.
#[derive(Default)]
struct CapturedOutput {
    bytes: Vec<u8>,
    /// Number of bytes that were dropped before those in `bytes`.
    bytes_dropped: u64,
}

impl Listener for CapturedOutput {
    fn on_output(&mut self, _stream: OutputStream, bytes: &[u8]) -> RunControl {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * OUTPUT_BYTES_MAX {
            let excess = self.bytes.len() - OUTPUT_BYTES_MAX;
            self.bytes.drain(..excess);
            self.bytes_dropped += excess as u64;
        }
        RunControl::Continue
    }

    fn on_tick(&mut self) -> RunControl {
        RunControl::Continue
    }
}

struct FinishedCommand {
    exit: Exit,
    output: String,
    bytes: u64,
    /// The exit code that the command itself ended with.
    code: u8,
    /// haltline received a signal and ended the command.
    is_interrupted: bool,
    /// Why the command could not be started.
    start_error: Option<String>,
}

impl FinishedCommand {
    fn not_started(error: &StartError) -> Self {
        let output = error.to_string();
        Self {
            exit: Exit::NotStarted,
            bytes: output.len() as u64,
            start_error: Some(output.clone()),
            output,
            code: NOT_STARTED,
            is_interrupted: false,
        }
    }
}

/// Runs a test and counts the attempt.
pub fn run(context: &Context, command: &AttemptRun) -> Result<ExitCode, Failure> {
    let location = find_slice(context, &command.slice)?;
    let slice = load_begun_slice(context, &location)?;
    let wanted = command.test.as_deref().map(test_name).transpose()?;
    let strategy = command.strategy.clone().unwrap_or_default();
    // Without a strategy there is nothing to compare with earlier ones.
    let compared = command.strategy.clone().filter(|_| wanted.is_some());
    let check = commit_event(context, &location, AttemptEvent::Ask { test: wanted.clone(), strategy: compared })?;
    if check.decision.verdict.denies() {
        return print_result(context, &location, &check, None);
    }
    if let Some(reason) = check.decision.verdict.reason() {
        text::warn(&reason.text);
    }
    let checkpoints = SliceCheckpoints::open(context, &location);
    let touched = checkpoints.files_touched();
    let reports: Vec<PathBuf> = command.junit.iter().map(|path| context.folder.join(path)).collect();
    let stamps: Vec<Option<Stamp>> = reports.iter().map(|path| Stamp::read(path)).collect();
    let ran = run_command(context, command).unwrap_or_else(|error| FinishedCommand::not_started(&error));
    if ran.is_interrupted {
        text::warn("interrupted: haltline counted nothing");
        return Ok(ExitCode::from(ran.code));
    }
    let junit = junit(context, &reports, &stamps)?;
    let junit: Vec<&str> = junit.iter().map(String::as_str).collect();
    let files: Vec<&str> = touched.files.iter().map(String::as_str).collect();
    let test_run = TestRun { output: &ran.output, junit: &junit, exit: ran.exit, test: "", files: &files };
    let tests = match wanted {
        Some(test) => vec![test],
        None => failed_tests_of_slice(&slice, &test_run)?,
    };
    if tests.is_empty() {
        let id = slice_id(&location.name);
        let why = match &ran.start_error {
            Some(error) => format!("the test command could not be started: {error}"),
            None => "the runner names no failed test".to_owned(),
        };
        text::note(&format!("slice {id}: {why}, so haltline counted nothing"));
        return Ok(ExitCode::from(ran.code));
    }
    let mut done = None;
    for test in tests {
        let classification = classify(&TestRun { test: test.as_str(), ..test_run });
        let result = command.result.map_or_else(|| result_of_class(classification.class), declared_result);
        let summary = match (command.result, &ran.start_error) {
            (Some(_), _) => String::new(),
            (None, Some(error)) => format!("the test command could not be started: {error}"),
            (None, None) => classification.why.clone(),
        };
        let attempt = Attempt {
            checkpoint: first_checkpoint(&slice, &test, &checkpoints),
            test,
            strategy: strategy.clone(),
            files: touched.files.clone(),
            files_more: touched.more,
            result,
            is_declared: command.result.is_some(),
            summary,
            error: (result != TestResult::Pass).then(|| output(&ran, &classification)),
            generation: Some(slice.generation),
        };
        let committed = commit_event(context, &location, AttemptEvent::Attempt(Box::new(attempt)))?;
        let is_stopped = committed.decision.verdict.denies();
        if let Some((earlier, result)) = done.replace((committed, result)) {
            print_result(context, &location, &earlier, Some((ran.code, result)))?;
        }
        if is_stopped {
            break;
        }
    }
    checkpoints.keep_last_tree(context.engine.now().at);
    let (committed, result) = done.expect("at least one test was counted");
    print_result(context, &location, &committed, Some((ran.code, result)))
}

/// The failed tests that a run without `--test` is about: the ones the slice has tried before or, if it has tried none
/// of them, the only one. Whole suites fail for reasons that this slice is not about, so several new failures do not
/// count until somebody says which one is worked on.
fn failed_tests_of_slice(slice: &Slice, run: &TestRun<'_>) -> Result<Vec<TestName>, Failure> {
    let failed = failed_tests(run);
    let tried = slice.tests.keys().filter(|test| {
        let run = TestRun { test: test.as_str(), ..*run };
        matches!(classify(&run).class, TestClass::Failed | TestClass::Passed)
    });
    let tried: Vec<TestName> = tried.cloned().collect();
    match failed.as_slice() {
        _ if !tried.is_empty() => Ok(tried),
        [] => Ok(Vec::new()),
        [only] => Ok(vec![test_name(only)?]),
        several => {
            let names: Vec<String> = several.iter().map(|name| format!("--test {name:?}")).collect();
            Err(Failure::Plain(format!(
                "{} tests failed, so haltline counted nothing; name the one you work on: {}",
                several.len(),
                names.join(" | ")
            )))
        }
    }
}

/// Records an attempt that was run elsewhere.
pub fn record(context: &Context, command: &AttemptRecord) -> Result<ExitCode, Failure> {
    let location = find_slice(context, &command.slice)?;
    let slice = load_begun_slice(context, &location)?;
    let test = test_name(&command.test)?;
    let error = match &command.error_file {
        Some(path) => Some(read_input(context, "--error-file", path, OUTPUT_BYTES_MAX)?),
        None => None,
    };
    let checkpoints = SliceCheckpoints::open(context, &location);
    let TouchedFiles { files, more } = checkpoints.files_touched();
    let checkpoint = first_checkpoint(&slice, &test, &checkpoints);
    let attempt = Attempt {
        test,
        strategy: command.strategy.clone(),
        files,
        files_more: more,
        result: declared_result(command.result),
        is_declared: true,
        summary: String::new(),
        error: error.map(|error| {
            let text = String::from_utf8_lossy(&error).into_owned();
            let bytes = error.len() as u64;
            verbatim(&text, bytes, tail(&text, Printed::EXCERPT_BYTES_MAX))
        }),
        checkpoint,
        // The caller reports what happened just now, so the attempt cannot be stale.
        generation: None,
    };
    let committed = commit_event(context, &location, AttemptEvent::Attempt(Box::new(attempt)))?;
    checkpoints.keep_last_tree(context.engine.now().at);
    let code = print_result(context, &location, &committed, None)?;
    // As with the other breakers, what is recorded is a success, even if it opened the circuit. `check` says whether work
    // may go on. An attempt while the circuit is OPEN is denied and not recorded.
    let is_recorded = |recorded: &Recorded| matches!(recorded.fact, Fact::Attempt(attempt::Fact::Attempted { .. }));
    Ok(if committed.decision.facts.iter().any(is_recorded) { exit_code::SUCCESS } else { code })
}

fn first_checkpoint(slice: &Slice, test: &TestName, checkpoints: &SliceCheckpoints) -> Option<String> {
    let known = slice.tests.get(test).and_then(|state| state.checkpoint.as_ref());
    if known.is_some() { None } else { checkpoints.begin_test(test) }
}

fn run_command(context: &Context, command: &AttemptRun) -> Result<FinishedCommand, StartError> {
    let other = |error: std::io::Error| StartError::Other(OsString::from("attempt run"), error);
    let run_id = run_id().map_err(|failure| other(std::io::Error::other(failure.to_string())))?;
    let supervised = SupervisedCommand {
        command: &command.command,
        folder: &context.folder,
        environment: &[],
        run_id: &run_id,
        // With --json, standard output carries only the JSON result.
        terminal: if context.is_json { Terminal::Listen } else { Terminal::Pipe },
        limits: Limits { wall: command.timeout, idle: None, grace: GRACE },
        keep: KeepLimits { first_bytes_max: 0, last_bytes_max: 0 },
    };
    let mut inbox = Inbox::open().map_err(other)?;
    let mut captured = CapturedOutput::default();
    let ended = supervise(&supervised, &mut captured, &mut inbox)?;
    let exit = match (ended.cause, ended.exit) {
        (EndCause::WallLimit | EndCause::IdleLimit, _) => Exit::TimedOut,
        (_, CommandExit::Exited(code)) => Exit::Code(code),
        (_, CommandExit::Signalled(signal)) => Exit::Signal(signal),
        (_, CommandExit::Unkillable) => Exit::Signal(9),
    };
    Ok(FinishedCommand {
        exit,
        bytes: captured.bytes_dropped + captured.bytes.len() as u64,
        output: String::from_utf8_lossy(&captured.bytes).into_owned(),
        code: ended.exit.exit_code(),
        is_interrupted: matches!(ended.cause, EndCause::Signal(_)),
        start_error: None,
    })
}

/// Reads the reports that this run wrote. A run that was cut short writes none, and an unchanged file belongs to an
/// earlier run.
fn junit(context: &Context, reports: &[PathBuf], before: &[Option<Stamp>]) -> Result<Vec<String>, Failure> {
    let mut texts = Vec::new();
    for (path, before) in reports.iter().zip(before) {
        let now = Stamp::read(path);
        if now.is_some() && now != *before {
            let bytes = read_input(context, "--junit", path, JUNIT_BYTES_MAX)?;
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(texts)
}

fn result_of_class(class: TestClass) -> TestResult {
    match class {
        TestClass::Passed => TestResult::Pass,
        TestClass::Failed => TestResult::Fail,
        TestClass::Infrastructure(_) => TestResult::Infra,
        TestClass::Unclear => TestResult::Unclear,
    }
}

fn declared_result(declared: DeclaredResult) -> TestResult {
    match declared {
        DeclaredResult::Pass => TestResult::Pass,
        DeclaredResult::Fail => TestResult::Fail,
        DeclaredResult::Infra => TestResult::Infra,
    }
}

fn output(ran: &FinishedCommand, classification: &Classification) -> Output {
    let excerpt = match classification.excerpt.trim().is_empty() {
        true => tail(&ran.output, Printed::EXCERPT_BYTES_MAX),
        false => classification.excerpt.clone(),
    };
    Output { exit: ran.start_error.is_none().then_some(ran.code), ..verbatim(&ran.output, ran.bytes, excerpt) }
}

/// Keeps the output verbatim up to the size limit; a first line says how much was left out.
fn verbatim(text: &str, bytes: u64, excerpt: String) -> Output {
    let kept = tail(text, Printed::BYTES_MAX - 64);
    let left_out = bytes.saturating_sub(kept.len() as u64);
    let text = if left_out == 0 { kept } else { format!("[{left_out} bytes before this are omitted]\n{kept}") };
    let has_secrets = matches!(mask(&text), std::borrow::Cow::Owned(_));
    Output { text, excerpt, bytes, has_secrets, exit: None }
}

fn tail(text: &str, bytes_max: usize) -> String {
    text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..].to_owned()
}

/// Prints the result. Passes on the command's own exit code unless it contradicts the result.
fn print_result(
    context: &Context,
    location: &SliceLocation,
    committed: &Committed,
    ran: Option<(u8, TestResult)>,
) -> Result<ExitCode, Failure> {
    let view = AttemptAnswerView::new(AttemptVerb::Run, &location.name, committed, &load_slice(context, location)?);
    context.print(&view, text::attempt_answer)?;
    Ok(match ran {
        Some(_) if committed.decision.verdict.denies() => exit_code::denied(),
        Some((0, TestResult::Pass)) => exit_code::SUCCESS,
        Some((0, TestResult::Fail | TestResult::Infra | TestResult::Unclear)) => exit_code::ERROR,
        Some((own, _)) => ExitCode::from(own),
        None => exit_code::unless_denied(committed.decision.verdict.denies()),
    })
}
