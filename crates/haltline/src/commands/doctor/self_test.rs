//! The self-test: plays a loop through the installed hook command, exactly as the client runs it, on its own store.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use haltline_agents::Client;
use haltline_agents::install::{Hook, InstalledHook};
use haltline_agents::self_test::{AnswerEffect, SelfTest, SelfTestEvent, describe_mismatch};
use haltline_core::Mode;
use haltline_engine::Engine;
use haltline_engine::clock::Deadline;
use haltline_engine::store::Sqlite;

use crate::view::doctor::{CheckupView, SelfTestRoundView, SelfTestView};

/// No client waits longer than this for a hook.
const TIMEOUT_SECONDS: u64 = 5;
/// How often a running hook is polled.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// Name of the check.
const NAME: &str = "loop";

/// Plays the loop; returns the check's result and how long the hooks took.
pub fn run(
    client: Client,
    hooks: &[InstalledHook],
    engine: &Engine<Sqlite>,
    init: &str,
) -> (CheckupView, Option<SelfTestView>) {
    let session = format!("doctor-{}-{}", client.cli_name(), std::process::id());
    let self_test = &client.protocol().self_test;
    let folder = match Scratch::new(&session) {
        Ok(folder) => folder,
        Err(problem) => return (CheckupView::problem(NAME, problem, "make the temporary folder writable"), None),
    };
    let mut runner = SelfTestRunner {
        client,
        self_test,
        hooks,
        root: &engine.project().root,
        session,
        state: &folder.0,
        took_ms: Vec::new(),
    };
    let rounds = runner.play_rounds();
    let check = match &rounds {
        Err(problem) => CheckupView::problem(NAME, problem.clone(), init),
        Ok(rounds) => {
            let effects: Vec<AnswerEffect> = rounds.iter().map(|(effect, _)| *effect).collect();
            match describe_mismatch(&effects, &self_test.expected) {
                None => {
                    CheckupView::fine(NAME, format!("{}: a loop is {}", client.title(), expected_reaction(self_test)))
                }
                Some(wrong) if engine.config().policy().mode == Mode::Observe => {
                    CheckupView::problem(NAME, wrong, "set mode = \"enforce\": in observe mode nothing is refused")
                }
                Some(wrong) => CheckupView::problem(NAME, wrong, "haltline config show (which limits differ?)"),
            }
        }
    };
    let rounds = rounds.unwrap_or_default();
    let view = |(index, (effect, ms)): (usize, &(AnswerEffect, f64))| SelfTestRoundView {
        verdict: effect.as_str(),
        expected: self_test.expected.get(index).map_or("", |expected| expected.as_str()),
        ms: *ms,
    };
    runner.took_ms.sort_by(f64::total_cmp);
    let self_test = SelfTestView {
        client: client.title(),
        rounds: rounds.iter().enumerate().map(view).collect(),
        hook_calls: runner.took_ms.len(),
        median_ms: runner.took_ms.get(runner.took_ms.len() / 2).copied().unwrap_or_default(),
        slowest_ms: runner.took_ms.last().copied().unwrap_or_default(),
    };
    (check, (!rounds.is_empty()).then_some(self_test))
}

/// Describes what haltline should do about the loop.
fn expected_reaction(self_test: &SelfTest) -> &'static str {
    if self_test.expected.contains(&AnswerEffect::Stop) {
        "warned of, refused, and stopped"
    } else {
        "warned of and refused"
    }
}

struct SelfTestRunner<'a> {
    client: Client,
    self_test: &'static SelfTest,
    hooks: &'a [InstalledHook],
    root: &'a Path,
    session: String,
    state: &'a Path,
    took_ms: Vec<f64>,
}

impl SelfTestRunner<'_> {
    /// Plays the rounds up to the one that stops the agent. Returns each round's verdict and its slowest hook's time.
    fn play_rounds(&mut self) -> Result<Vec<(AnswerEffect, f64)>, String> {
        self.deliver(self.self_test.first_event, 0, false)?;
        let mut rounds = Vec::new();
        for number in 1..=self.self_test.expected.len() {
            let first = self.took_ms.len();
            let self_test = self.self_test;
            let effect = self_test.play_round(|event, is_denied| self.deliver(event, number, is_denied))?;
            rounds.push((effect, self.took_ms[first..].iter().copied().fold(0.0, f64::max)));
            if effect == AnswerEffect::Stop {
                break;
            }
        }
        Ok(rounds)
    }

    fn deliver(&mut self, event: &str, round: usize, is_denied: bool) -> Result<AnswerEffect, String> {
        let found = self.hooks.iter().find(|found| found.event == event);
        let hook = &found.ok_or_else(|| format!("no hook listens to {event}"))?.hook;
        let (state, root) = (self.state.to_string_lossy(), self.root.to_string_lossy());
        let hook = hook.with_option("--state", &state);
        if hook.option("--state") != Some(&state) {
            return Err(format!("the hook of {event} has no --state"));
        }
        let payload = SelfTestEvent { event, session: &self.session, folder: &root, round, is_denied };
        let payload = self.self_test.payload(&payload).to_string();
        let deadline = Deadline::new(Duration::from_secs(TIMEOUT_SECONDS));
        let out =
            self.run_hook(&hook, &payload, &deadline).map_err(|problem| format!("the hook of {event} {problem}"))?;
        self.took_ms.push(deadline.elapsed().as_secs_f64() * 1000.0);
        self.self_test.effect_of_output(event, &out)
    }

    /// Runs a hook as the client does and returns what it printed.
    fn run_hook(&self, hook: &Hook, payload: &str, deadline: &Deadline) -> Result<String, String> {
        let variables = self.client.protocol().variables;
        let mut command = Command::new(&hook.command);
        command.args(&hook.args).current_dir(self.root);
        for (name, value) in [
            (variables.marker, OsStr::new("1")),
            (variables.session, OsStr::new(&self.session)),
            (variables.project, self.root.as_os_str()),
        ] {
            if let Some(name) = name {
                command.env(name, value);
            }
        }
        run_command(&mut command, payload, deadline)
    }
}

/// Runs the command with the payload on standard input and returns its standard output.
fn run_command(command: &mut Command, payload: &str, deadline: &Deadline) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("does not start: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A hook that does not read its input has ended, and its exit code says more.
        input.write_all(payload.as_bytes()).ok();
    }
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if deadline.remaining().is_zero() => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("did not answer within {TIMEOUT_SECONDS} s"));
            }
            None => std::thread::park_timeout(POLL_INTERVAL),
        }
    };
    // The output fits into a pipe, so the hook never waits for us to read.
    let mut out = String::new();
    let mut complaint = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut out).map_err(|error| error.to_string())?;
    }
    if let Some(mut output) = child.stderr.take() {
        output.read_to_string(&mut complaint).ok();
    }
    if status.success() {
        return Ok(out);
    }
    let first = complaint.lines().next().unwrap_or_default();
    Err(format!("ended with {status}: {first}"))
}

/// A state folder for one self-test, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("haltline-{name}"));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| format!("folder {}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whatever cannot be removed stays in the temporary folder.
        fs::remove_dir_all(&self.0).ok();
    }
}
