//! The run itself, inside the namespaces: brings loopback up, serves the model, and runs the stages one after the
//! other.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use haltline_agents::Client;
use serde_json::Value;

use super::drivers::{self, Driver};
use super::outcome::{CommandReport, Outcome, SessionReport};
use super::plan::{Plan, Session, Stage};
use super::scripted_model::ScriptedModel;

/// Carries out the plan in this file and writes the outcome to the same folder, as `outcome.json`.
///
/// # Errors
/// When loopback, the model or a client cannot be started.
pub fn carry_out(plan: &Path) -> io::Result<()> {
    let folder = plan.parent().unwrap_or(Path::new("."));
    let plan: Plan = serde_json::from_slice(&fs::read(plan)?)?;
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    if !up.success() {
        return Err(io::Error::other("`ip link set lo up` failed: loopback of the namespace stays down"));
    }
    let model = ScriptedModel::new(plan.scripts.clone(), plan.requests_max);
    let address = model.serve()?;
    let mut sessions = Vec::new();
    let mut commands = Vec::new();
    let config = fs::read_to_string(plan.home.join(".config/haltline/config.toml")).unwrap_or_default();
    if config.contains("unattended = true") {
        let confirmed = type_command(&plan, "script -qec 'haltline trust' /dev/null", None)?;
        // A second run in the same home finds it confirmed already.
        let is_confirmed =
            ["Trusted:", "Nothing waits for trust."].iter().any(|text| confirmed.output.starts_with(text));
        if !is_confirmed {
            return Err(io::Error::other(format!("the configuration is not confirmed: {}", confirmed.output)));
        }
    }
    for stage in &plan.stages {
        match stage {
            Stage::Command(command) => commands.push(type_command(&plan, command, None)?),
            Stage::Loop(command) => commands.push(type_command(&plan, command, Some(address))?),
            Stage::Clients(parallel) => {
                let started: io::Result<Vec<Running>> =
                    parallel.iter().map(|session| Running::start(&plan, session, address)).collect();
                for running in started? {
                    sessions.push(running.finish(plan.seconds_max)?);
                }
            }
        }
    }
    let outcome = Outcome { exchanges: model.exchanges(), sessions, commands };
    fs::write(folder.join("outcome.json"), serde_json::to_vec(&outcome)?)
}

/// A program in the project, with nothing of the surrounding environment except the folders of programs.
fn program(plan: &Plan, name: &Path) -> Command {
    let system = PathBuf::from("/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin");
    let folders: Vec<String> = plan.programs.iter().chain([&system]).map(|path| path.display().to_string()).collect();
    let mut command = Command::new(name);
    command
        .current_dir(&plan.project)
        .env_clear()
        .env("PATH", folders.join(":"))
        .env("HOME", &plan.home)
        // The client keeps sockets and the output of background work there.
        .env("TMPDIR", &plan.temporary)
        .env("CLAUDE_CODE_TMPDIR", &plan.temporary)
        .env("USER", "ana")
        .env("LANG", "C.UTF-8")
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null());
    command
}

/// The driver of the plan's client.
fn driver(plan: &Plan) -> io::Result<&'static Driver> {
    let client = Client::from_cli_name(&plan.client);
    client.map(drivers::installed).ok_or_else(|| io::Error::other(format!("no client {}", plan.client)))
}

fn type_command(plan: &Plan, command: &str, model: Option<SocketAddr>) -> io::Result<CommandReport> {
    let mut shell = program(plan, Path::new("sh"));
    if let Some(model) = model {
        shell.envs((driver(plan)?.environment)(model));
    }
    let output = shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(CommandReport { command: command.to_owned(), exit: output.status.code(), output: text })
}

struct Running {
    child: Child,
    since: Instant,
    lines: mpsc::Receiver<Vec<Value>>,
    errors: thread::JoinHandle<String>,
}

impl Running {
    fn start(plan: &Plan, session: &Session, model: SocketAddr) -> io::Result<Self> {
        let driver = driver(plan)?;
        let mut child = program(plan, &plan.program)
            .args((driver.arguments)(session, model))
            .envs((driver.environment)(model))
            .envs(&session.environment)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut errors = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            let lines = lines.map(|line| serde_json::from_str(&line).unwrap_or(Value::String(line)));
            // Nobody receives any more when the client was overdue.
            sender.send(lines.collect()).unwrap_or_default();
        });
        let errors = thread::spawn(move || {
            let mut bytes = Vec::new();
            errors.read_to_end(&mut bytes).map_or_else(|error| error.to_string(), |_| text(&bytes))
        });
        Ok(Self { child, since: Instant::now(), lines, errors })
    }

    fn finish(mut self, seconds_max: u64) -> io::Result<SessionReport> {
        let limit = Duration::from_secs(seconds_max).saturating_sub(self.since.elapsed());
        let mut lines = self.lines.recv_timeout(limit);
        let is_overdue = lines.is_err();
        if is_overdue {
            self.child.kill()?;
            lines = self.lines.recv_timeout(Duration::from_secs(5));
        }
        let exit = self.child.wait()?.code();
        let milliseconds = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        // A process that the client left behind may hold the pipe open forever.
        let errors = if is_overdue { String::new() } else { self.errors.join().unwrap_or_default() };
        Ok(SessionReport { exit, is_overdue, milliseconds, lines: lines.unwrap_or_default(), errors })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
