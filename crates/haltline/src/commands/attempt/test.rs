//! `haltline attempt run` and `record`: a test is run, judged by its runner's words, and counted (A1–A3).

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::test_results::{Class, Exit, Judged, TestRun, judge};
use haltline_core::attempt::{Attempt, Happening, Output, Printed, Slice, TestName, TestResult};
use haltline_engine::redact::mask;
use haltline_engine::slice::SlicePlace;
use haltline_engine::store::Committed;

use super::tree::{Touched, Trees};
use super::{begun, code, known, place, read_input, take, test_name};
use crate::cli::{AttemptRecord, AttemptRun, ResultWord};
use crate::commands::run::folder::run_id;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::run::{Cause, Go, How, Inbox, Keep, Limits, Listener, StartError, Stream, Supervised, Terminal, supervise};
use crate::view::attempt::AttemptAnswerView;
use crate::workplace::Workplace;

/// How much of a run's output is read to judge it, from its end.
const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// The largest JUnit file that is read.
const JUNIT_BYTES_MAX: usize = 16 << 20;
/// How long a test command may put its things in order when its time is over.
const GRACE: Duration = Duration::from_secs(5);

/// What a test command said, both streams in the order they came.
#[derive(Default)]
struct Heard {
    bytes: Vec<u8>,
    /// How much came before what is kept.
    left_out: u64,
}

impl Listener for Heard {
    fn heard(&mut self, _stream: Stream, bytes: &[u8]) -> Go {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * OUTPUT_BYTES_MAX {
            let excess = self.bytes.len() - OUTPUT_BYTES_MAX;
            self.bytes.drain(..excess);
            self.left_out += excess as u64;
        }
        Go::On
    }

    fn ticked(&mut self) -> Go {
        Go::On
    }
}

/// A test command that was run.
struct Ran {
    exit: Exit,
    output: String,
    bytes: u64,
    /// What the process itself ends with.
    code: u8,
    /// A signal for us ended it.
    is_interrupted: bool,
}

/// Runs a test, and counts it.
pub fn run(workplace: &Workplace, command: &AttemptRun) -> Result<ExitCode, Failure> {
    let place = place(workplace, &command.slice)?;
    let slice = begun(workplace, &place)?;
    let test = test_name(&command.test)?;
    let strategy = command.strategy.clone();
    let asked = take(workplace, &place, Happening::Ask { test: Some(test.clone()), strategy: Some(strategy.clone()) })?;
    if asked.decision.verdict.refuses() {
        return answer(workplace, &place, &asked, None);
    }
    if let Some(reason) = asked.decision.verdict.reason() {
        text::warn(&reason.text);
    }
    let trees = Trees::of(workplace, &place);
    let touched = trees.touched();
    let checkpoint = first_checkpoint(&slice, &test, &trees);
    let reports: Vec<PathBuf> = command.junit.iter().map(|path| workplace.folder.join(path)).collect();
    let stamps: Vec<Option<Stamp>> = reports.iter().map(|path| stamp(path)).collect();
    let ran = match start(workplace, command) {
        Ok(ran) => ran,
        Err(error) => Ran {
            exit: Exit::NotStarted,
            output: error.to_string(),
            bytes: error.to_string().len() as u64,
            code: 127,
            is_interrupted: false,
        },
    };
    if ran.is_interrupted {
        text::warn("interrupted: nothing was counted");
        return Ok(ExitCode::from(ran.code));
    }
    let junit = junit(workplace, &reports, &stamps)?;
    let judged = judge(&TestRun {
        output: &ran.output,
        junit: &junit.iter().map(String::as_str).collect::<Vec<_>>(),
        exit: ran.exit,
        test: test.as_str(),
        files: &touched.files.iter().map(String::as_str).collect::<Vec<_>>(),
    });
    let result = command.result.map_or_else(|| result(judged.class), of_word);
    let attempt = Attempt {
        test,
        strategy,
        files: touched.files,
        files_more: touched.more,
        result,
        is_declared: command.result.is_some(),
        said: if command.result.is_some() { String::new() } else { judged.why.clone() },
        error: (result != TestResult::Pass).then(|| output(&ran, &judged)),
        checkpoint,
        generation: Some(slice.generation),
    };
    let committed = take(workplace, &place, Happening::Attempt(Box::new(attempt)))?;
    trees.settle(workplace.engine.now().at);
    answer(workplace, &place, &committed, Some((ran.code, result)))
}

/// Writes down an attempt that was run elsewhere.
pub fn record(workplace: &Workplace, command: &AttemptRecord) -> Result<ExitCode, Failure> {
    let place = place(workplace, &command.slice)?;
    let slice = begun(workplace, &place)?;
    let test = test_name(&command.test)?;
    let error = match &command.error_file {
        Some(path) => Some(read_input(workplace, "--error-file", path, OUTPUT_BYTES_MAX)?),
        None => None,
    };
    let trees = Trees::of(workplace, &place);
    let Touched { files, more } = trees.touched();
    let checkpoint = first_checkpoint(&slice, &test, &trees);
    let attempt = Attempt {
        test,
        strategy: command.strategy.clone(),
        files,
        files_more: more,
        result: of_word(command.result),
        is_declared: true,
        said: String::new(),
        error: error.map(|error| {
            let text = String::from_utf8_lossy(&error).into_owned();
            let bytes = error.len() as u64;
            verbatim(&text, bytes, tail(&text, Printed::EXCERPT_BYTES_MAX))
        }),
        checkpoint,
        // Whoever records says what happened just now.
        generation: None,
    };
    let committed = take(workplace, &place, Happening::Attempt(Box::new(attempt)))?;
    trees.settle(workplace.engine.now().at);
    answer(workplace, &place, &committed, None)
}

fn first_checkpoint(slice: &Slice, test: &TestName, trees: &Trees) -> Option<String> {
    let known = slice.tests.get(test).and_then(|state| state.checkpoint.as_ref());
    if known.is_some() { None } else { trees.begin_test(test) }
}

fn start(workplace: &Workplace, command: &AttemptRun) -> Result<Ran, StartError> {
    let other = |error: std::io::Error| StartError::Other(OsString::from("attempt run"), error);
    let run_id = run_id().map_err(|failure| other(std::io::Error::other(failure.to_string())))?;
    let supervised = Supervised {
        command: &command.command,
        folder: &workplace.folder,
        environment: &[],
        run_id: &run_id,
        // The answer has standard output to itself where it is JSON.
        terminal: if workplace.is_json { Terminal::Listen } else { Terminal::Pipe },
        limits: Limits { wall: command.timeout, idle: None, grace: GRACE },
        keep: Keep { first_bytes_max: 0, last_bytes_max: 0 },
    };
    let mut inbox = Inbox::open().map_err(other)?;
    let mut heard = Heard::default();
    let ended = supervise(&supervised, &mut heard, &mut inbox)?;
    let exit = match (ended.cause, ended.how) {
        (Cause::Wall | Cause::Idle, _) => Exit::TimedOut,
        (_, How::Exited(code)) => Exit::Code(code),
        (_, How::Signalled(signal)) => Exit::Signal(signal),
        (_, How::StillThere) => Exit::Signal(9),
    };
    Ok(Ran {
        exit,
        bytes: heard.left_out + heard.bytes.len() as u64,
        output: String::from_utf8_lossy(&heard.bytes).into_owned(),
        code: ended.how.exit_code(),
        is_interrupted: matches!(ended.cause, Cause::Signal(_)),
    })
}

/// What tells a file that was written anew.
type Stamp = (i64, i64, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.ctime(), file.ctime_nsec(), file.ino()))
}

/// The reports that this run wrote. One that never got so far writes none, and one from before tells of another run.
fn junit(workplace: &Workplace, reports: &[PathBuf], before: &[Option<Stamp>]) -> Result<Vec<String>, Failure> {
    let mut texts = Vec::new();
    for (path, before) in reports.iter().zip(before) {
        let now = stamp(path);
        if now.is_some() && now != *before {
            let bytes = read_input(workplace, "--junit", path, JUNIT_BYTES_MAX)?;
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(texts)
}

fn result(class: Class) -> TestResult {
    match class {
        Class::Passed => TestResult::Pass,
        Class::Failed => TestResult::Fail,
        Class::Infrastructure(_) => TestResult::Infra,
        Class::Unclear => TestResult::Unclear,
    }
}

fn of_word(word: ResultWord) -> TestResult {
    match word {
        ResultWord::Pass => TestResult::Pass,
        ResultWord::Fail => TestResult::Fail,
        ResultWord::Infra => TestResult::Infra,
    }
}

fn output(ran: &Ran, judged: &Judged) -> Output {
    let excerpt = match judged.excerpt.trim().is_empty() {
        true => tail(&ran.output, Printed::EXCERPT_BYTES_MAX),
        false => judged.excerpt.clone(),
    };
    verbatim(&ran.output, ran.bytes, excerpt)
}

/// Word for word, up to what is kept; a line says what is left out.
fn verbatim(text: &str, bytes: u64, excerpt: String) -> Output {
    let kept = tail(text, Printed::BYTES_MAX - 64);
    let left_out = bytes.saturating_sub(kept.len() as u64);
    let text = if left_out == 0 { kept } else { format!("[{left_out} bytes before this are left out]\n{kept}") };
    let has_secrets = matches!(mask(&text), std::borrow::Cow::Owned(_));
    Output { text, excerpt, bytes, has_secrets }
}

/// The end of a text.
fn tail(text: &str, bytes_max: usize) -> String {
    text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..].to_owned()
}

/// Says what came of it. The command's own code is passed on, unless that would say something else than what was seen.
fn answer(
    workplace: &Workplace,
    place: &SlicePlace,
    committed: &Committed,
    ran: Option<(u8, TestResult)>,
) -> Result<ExitCode, Failure> {
    let view = AttemptAnswerView::new("run", &place.name, committed, &known(workplace, place)?);
    workplace.answer(&view, text::attempt_answer)?;
    Ok(match ran {
        Some(_) if committed.decision.verdict.refuses() => exit_code::refused(),
        Some((0, TestResult::Pass)) => exit_code::FINE,
        Some((0, TestResult::Fail | TestResult::Infra | TestResult::Unclear)) => exit_code::ERROR,
        Some((own, _)) => ExitCode::from(own),
        None => code(committed),
    })
}
