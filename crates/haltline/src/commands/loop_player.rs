//! Plays a scripted loop through a hook command, as a client runs it, for `doctor` and `demo`.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use haltline_agents::Client;
use haltline_agents::install::Hook;
use haltline_agents::self_test::{AnswerEffect, SelfTest, SelfTestEvent};
use haltline_engine::clock::Deadline;

/// No client waits longer than this for a hook.
const TIMEOUT_SECONDS: u64 = 5;
/// How often a running hook is polled.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// A scripted loop and the hooks that it runs through.
pub struct LoopPlayer<'a> {
    pub client: Client,
    pub script: &'static SelfTest,
    /// The project in which the scripted agent works.
    pub root: &'a Path,
    /// The same folder as the client names it in its events.
    pub folder: &'a str,
    pub session: String,
    /// Returns the hook of an event.
    pub hook_of: &'a dyn Fn(&str) -> Result<Hook, String>,
    /// Changes the environment of a hook before it starts.
    pub prepare: &'a dyn Fn(&mut Command),
}

/// One round of the loop: the strongest effect of its answers, and the answers in order.
pub struct PlayedRound {
    pub effect: AnswerEffect,
    pub answers: Vec<PlayedAnswer>,
}

/// What a hook printed, and how long it took.
pub struct PlayedAnswer {
    pub output: String,
    pub ms: f64,
}

impl PlayedRound {
    /// The duration of the round's slowest hook.
    pub fn slowest_ms(&self) -> f64 {
        self.answers.iter().map(|answer| answer.ms).fold(0.0, f64::max)
    }
}

impl LoopPlayer<'_> {
    /// Plays the first event and then the rounds, up to the one that stops the agent.
    pub fn play(&self) -> Result<(PlayedAnswer, Vec<PlayedRound>), String> {
        let (_, first) = self.deliver(self.script.first_event, 0, false)?;
        let mut rounds = Vec::new();
        for number in 1..=self.script.expected.len() {
            let mut answers = Vec::new();
            let effect = self.script.play_round(|event, is_denied| {
                let (effect, answer) = self.deliver(event, number, is_denied)?;
                answers.push(answer);
                Ok::<_, String>(effect)
            })?;
            rounds.push(PlayedRound { effect, answers });
            if effect == AnswerEffect::Stop {
                break;
            }
        }
        Ok((first, rounds))
    }

    fn deliver(&self, event: &str, round: usize, is_denied: bool) -> Result<(AnswerEffect, PlayedAnswer), String> {
        let hook = (self.hook_of)(event)?;
        let payload = SelfTestEvent { event, session: &self.session, folder: self.folder, round, is_denied };
        let payload = self.script.payload(&payload).to_string();
        let deadline = Deadline::new(Duration::from_secs(TIMEOUT_SECONDS));
        let output =
            self.run_hook(&hook, &payload, &deadline).map_err(|problem| format!("the hook of {event} {problem}"))?;
        let ms = deadline.elapsed().as_secs_f64() * 1000.0;
        Ok((self.script.effect_of_output(event, &output)?, PlayedAnswer { output, ms }))
    }

    /// Runs a hook as the client does and returns what it printed.
    fn run_hook(&self, hook: &Hook, payload: &str, deadline: &Deadline) -> Result<String, String> {
        let variables = self.client.protocol().variables;
        let mut command = Command::new(&hook.command);
        command.args(&hook.args).current_dir(self.root);
        (self.prepare)(&mut command);
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

/// A folder below the temporary folder, removed on drop.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("haltline-{name}"));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| format!("folder {}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the temporary folder.
        fs::remove_dir_all(&self.0).ok();
    }
}
