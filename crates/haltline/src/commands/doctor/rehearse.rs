//! A synthetic loop through the installed command line, exactly as the client would run it, on a store of its own.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use haltline_agents::Client;
use haltline_agents::install::{Found, Hook};
use haltline_agents::rehearsal::{Answer, Rehearsal, Told, judge};
use haltline_core::Mode;
use haltline_engine::Engine;
use haltline_engine::clock::Patience;
use haltline_engine::store::Sqlite;

use crate::view::doctor::{CheckupView, RehearsalView, RoundView};

/// No client waits longer for a hook.
const TIMEOUT_SECONDS: u64 = 5;
/// How often a hook that runs is looked at.
const LOOK_EVERY: Duration = Duration::from_micros(200);
/// The check's name.
const NAME: &str = "loop";

/// Plays the loop; what came of it, and how long the hooks took.
pub fn run(
    client: Client,
    hooks: &[Found],
    engine: &Engine<Sqlite>,
    init: &str,
) -> (CheckupView, Option<RehearsalView>) {
    let session = format!("doctor-{}-{}", client.word(), std::process::id());
    let rehearsal = &client.protocol().rehearsal;
    let folder = match Scratch::new(&session) {
        Ok(folder) => folder,
        Err(problem) => return (CheckupView::problem(NAME, problem, "make the temporary folder writable"), None),
    };
    let mut play =
        Play { client, rehearsal, hooks, root: &engine.project().root, session, state: &folder.0, took_ms: Vec::new() };
    let rounds = play.all();
    let check = match &rounds {
        Err(problem) => CheckupView::problem(NAME, problem.clone(), init),
        Ok(rounds) => {
            let answers: Vec<Answer> = rounds.iter().map(|(answer, _)| *answer).collect();
            match judge(&answers, &rehearsal.expected) {
                None => CheckupView::fine(NAME, format!("{}: a loop is {}", client.title(), course(rehearsal))),
                Some(wrong) if engine.config().policy().mode == Mode::Observe => {
                    CheckupView::problem(NAME, wrong, "set mode = \"enforce\": in observe mode nothing is refused")
                }
                Some(wrong) => CheckupView::problem(NAME, wrong, "haltline config show (which limits differ?)"),
            }
        }
    };
    let rounds = rounds.unwrap_or_default();
    let view = |(place, (answer, ms)): (usize, &(Answer, f64))| RoundView {
        verdict: answer.word(),
        expected: rehearsal.expected.get(place).map_or("", |expected| expected.word()),
        ms: *ms,
    };
    play.took_ms.sort_by(f64::total_cmp);
    let rehearsal = RehearsalView {
        client: client.title(),
        rounds: rounds.iter().enumerate().map(view).collect(),
        hook_calls: play.took_ms.len(),
        median_ms: play.took_ms.get(play.took_ms.len() / 2).copied().unwrap_or_default(),
        slowest_ms: play.took_ms.last().copied().unwrap_or_default(),
    };
    (check, (!rounds.is_empty()).then_some(rehearsal))
}

/// What a loop comes to.
fn course(rehearsal: &Rehearsal) -> &'static str {
    if rehearsal.expected.contains(&Answer::Stop) { "warned of, refused, and stopped" } else { "warned of and refused" }
}

struct Play<'a> {
    client: Client,
    rehearsal: &'static Rehearsal,
    hooks: &'a [Found],
    root: &'a Path,
    session: String,
    state: &'a Path,
    took_ms: Vec<f64>,
}

impl Play<'_> {
    /// What each round came to, and how long its slowest hook took; up to the one that stops the agent.
    fn all(&mut self) -> Result<Vec<(Answer, f64)>, String> {
        self.tell(self.rehearsal.opening, 0, false)?;
        let mut rounds = Vec::new();
        for number in 1..=self.rehearsal.expected.len() {
            let first = self.took_ms.len();
            let answer = self.round(number)?;
            rounds.push((answer, self.took_ms[first..].iter().copied().fold(0.0, f64::max)));
            if answer == Answer::Stop {
                break;
            }
        }
        Ok(rounds)
    }

    /// As the client goes through a call: what is refused does not fail, and nothing follows a stop.
    fn round(&mut self, number: usize) -> Result<Answer, String> {
        let mut strongest = Answer::Pass;
        for beat in self.rehearsal.round {
            let is_denied = strongest >= Answer::Deny;
            if is_denied && !beat.comes_when_denied {
                continue;
            }
            strongest = strongest.max(self.tell(beat.event, number, is_denied)?);
            if strongest == Answer::Stop {
                break;
            }
        }
        Ok(strongest)
    }

    fn tell(&mut self, event: &str, round: usize, is_denied: bool) -> Result<Answer, String> {
        let found = self.hooks.iter().find(|found| found.event == event);
        let hook = &found.ok_or_else(|| format!("no hook listens to {event}"))?.hook;
        let (state, root) = (self.state.to_string_lossy(), self.root.to_string_lossy());
        let hook = hook.with_option("--state", &state);
        if hook.option("--state") != Some(&state) {
            return Err(format!("the hook of {event} has no --state"));
        }
        let told = Told { event, session: &self.session, folder: &root, round, is_denied };
        let told = self.rehearsal.payload(&told).to_string();
        let patience = Patience::new(Duration::from_secs(TIMEOUT_SECONDS));
        let out = self.start(&hook, &told, &patience).map_err(|problem| format!("the hook of {event} {problem}"))?;
        self.took_ms.push(patience.used().as_secs_f64() * 1000.0);
        self.rehearsal.read_answer(event, &out)
    }

    /// Runs a hook as the client does; what it printed.
    fn start(&self, hook: &Hook, told: &str, patience: &Patience) -> Result<String, String> {
        let variables = self.client.protocol().variables;
        let mut command = Command::new(&hook.command);
        command.args(&hook.args).current_dir(self.root);
        for (name, value) in [
            (variables.inside, OsStr::new("1")),
            (variables.session, OsStr::new(&self.session)),
            (variables.project, self.root.as_os_str()),
        ] {
            if let Some(name) = name {
                command.env(name, value);
            }
        }
        answer(&mut command, told, patience)
    }
}

/// What a started hook printed.
fn answer(command: &mut Command, told: &str, patience: &Patience) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("does not start: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // One that does not read has ended, and its exit code says more.
        input.write_all(told.as_bytes()).ok();
    }
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if patience.left().is_zero() => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("did not answer within {TIMEOUT_SECONDS} s"));
            }
            None => std::thread::park_timeout(LOOK_EVERY),
        }
    };
    // An answer is smaller than a pipe, so nobody waits for us to read.
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

/// A state folder for one rehearsal, gone with it.
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
        // What is left over lies in the temporary folder.
        fs::remove_dir_all(&self.0).ok();
    }
}
